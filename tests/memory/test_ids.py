"""Every id that is shown is accepted, also shortened; one that several have lists them."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from gitmem.errors import StoreRefusal, UnknownRevision
from gitmem.memory.memory import Memory
from gitmem.okf.entries import entry_hash
from gitmem.okf.short_ids import short

from tests.memory.find.support_index import Clock, new_bundle


@pytest.fixture
def memory(tmp_path: Path) -> Iterator[Memory]:
    made = new_bundle(tmp_path / "b", clock=Clock())
    for name in ("20260630_090000_aaaa", "20260630_100000_bbbb"):
        with made.session(name) as session:
            session.record_turn(f"Said in {name}", "Heard.")
    yield made
    made.index.close()
    made.repository.store.close()


def test_an_entry_is_replaced_and_removed_by_its_short_id(memory: Memory) -> None:
    memory.remember("The server runs Debian 12")
    memory.replace(short(entry_hash("The server runs Debian 12")), "The server runs Debian 13")
    assert [one.text for one in memory.curated.entries("memory")] == ["The server runs Debian 13"]
    memory.forget(short(entry_hash("The server runs Debian 13")))
    assert memory.curated.entries("memory") == []


def test_a_text_that_looks_like_an_id_is_a_text_first(memory: Memory) -> None:
    other = "Another fact"
    memory.remember(f"The build is {short(entry_hash(other))}")
    memory.remember(other)
    memory.forget(short(entry_hash(other)))
    assert [one.text for one in memory.curated.entries("memory")] == [other]


def test_an_id_that_nothing_has_is_refused_as_a_text(memory: Memory) -> None:
    memory.remember("A fact")
    with pytest.raises(StoreRefusal, match="No entry of the curated store contains 'ffffffff'"):
        memory.forget("ffffffff")


def test_an_entry_is_traced_by_its_id_also_when_it_is_gone(memory: Memory) -> None:
    memory.remember("The door code is on the fridge")
    name = short(entry_hash("The door code is on the fridge"))
    memory.forget("door code")
    lives = memory.trace(name).lives
    assert {life.text for life in lives} == {"The door code is on the fridge"}
    assert lives[0].left is not None


def test_an_event_is_found_by_its_short_id_with_or_without_its_session(memory: Memory) -> None:
    line = memory.read_session("20260630_090000_aaaa").lines[0]
    for session in ("", "20260630_090000_aaaa", "20260630_09"):
        reading = memory.read_session(session, around=short(line.id))
        assert reading.about.session == "20260630_090000_aaaa"
        assert [one.id for one in reading.lines if one.matches] == [line.id]
    with pytest.raises(UnknownRevision, match="'20260630_100000_bbbb' has no entry"):
        memory.read_session("20260630_100000_bbbb", around=short(line.id))


def test_a_session_is_known_by_its_beginning_wherever_it_is_read(memory: Memory) -> None:
    whole, begun = "20260630_100000_bbbb", "20260630_1"
    assert memory.read_session(begun).about.session == whole
    assert {entry.session for entry in memory.log(session=begun)} == {whole}
    assert memory.diff(session=begun).changes == memory.diff(session=whole).changes
    assert [hit.session for hit in memory.search("said", session=begun)] == [whole]
    assert memory.resolve(f"session:{begun}") == memory.resolve(f"session:{whole}")
    assert (
        memory.revert(session=begun, dry_run=True).commits
        == memory.revert(session=whole, dry_run=True).commits
    )


def test_a_beginning_that_two_sessions_have_lists_them(memory: Memory) -> None:
    with pytest.raises(UnknownRevision, match="2 sessions begin with '20260630'") as caught:
        memory.read_session("20260630")
    assert caught.value.hint == "Give more of one: 20260630_090000_aaaa, 20260630_100000_bbbb."


def test_who_writes_names_a_session_in_full(memory: Memory) -> None:
    memory.record_observation("A new session", session="20260630_1")
    assert memory.read_session("20260630_1").about.session == "20260630_1"


def test_a_plan_and_a_held_text_are_known_by_their_beginnings(memory: Memory) -> None:
    plan = memory.plans.create("Move the server", ["Back it up"])
    memory.plans.create("Move the printer", ["Unplug it"])
    assert memory.plans.get("move-the-s").path == plan.path
    with pytest.raises(UnknownRevision, match="2 plans begin with 'move-the'"):
        memory.plans.get("move-the")
    memory.remember("The gate code is posted in the hall")
    memory.revert(text="gate code")
    (held,) = memory.remember("The gate code is posted in the hall").held
    assert memory.ledger.get(held[:6]).id == held
