"""A remote that claims turns of ours: it hides nothing that was said here, and what it does hide is reported."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from gitmem.memory.memory import Memory
from gitmem.memory.sync.sync import Sync
from gitmem.okf import layout
from gitmem.okf.concept import Concept
from gitmem.okf.curated import CuratedFile
from gitmem.okf.entries import EntryKey, retraction_hash

from tests.memory.conftest import Clock
from tests.memory.sync.test_engine import Machines
from tests.memory.sync.test_keeping import Peer, without

SAID = "the heron nests behind the mill"
THEIRS = "A fact of somebody else."


@pytest.fixture
def machines(tmp_path: Path, clock: Clock) -> Iterator[Machines]:
    made = Machines(tmp_path, clock, "git")
    yield made
    for bundle in made.all.values():
        bundle.repository.store.close()


@pytest.fixture
def ours(machines: Machines) -> Memory:
    """A machine that recorded a turn, and wrote an entry in it."""
    memory = machines.first()
    for number in range(8):
        memory.curated.add(f"fact {number}")
    with memory.session("talk") as session:
        session.said(SAID)
        session.remember("Herons are here.")
        session.answered("A fine place.")
    machines.sync(memory)
    return memory


def turn_of(memory: Memory) -> str:
    [event] = [one for one in memory.sessions.events("talk") if one.kind == "turn"]
    return event.turn


def is_found(memory: Memory) -> bool:
    return any(SAID in hit.text for hit in memory.search("heron mill", type="turn"))


def with_turns(text: str, turn: str) -> Callable[[Path], object]:
    """MEMORY.md with an entry that names a turn as its own."""

    def work(root: Path) -> None:
        path = root / layout.MEMORY
        file = CuratedFile.parse(path.read_bytes()).add(text, "2026-07-01T00:00:00.000Z", turns=[turn])
        path.write_bytes(file.render())

    return work


def test_an_entry_that_claims_our_turn_takes_nothing_with_it(machines: Machines, ours: Memory) -> None:
    """Somebody adds an entry with our turn in its links, and removes it again."""
    peer = Peer(machines)
    peer.push(with_turns(THEIRS, turn_of(ours)))
    Sync(ours).run()
    peer.push(without(THEIRS))
    Sync(ours).run()
    assert THEIRS not in [entry.text for entry in ours.curated.entries("memory")]
    assert is_found(ours)


def test_an_undo_that_claims_our_turn_takes_nothing_with_it(machines: Machines, ours: Memory) -> None:
    """Somebody records that the user took back a turn, which is ours."""
    turn = turn_of(ours)
    other = machines.another("evil")
    with other.session("elsewhere") as session:
        session._recorded.append((turn, ""))
        session.was_rewound()
    machines.sync(other)
    Sync(ours).run()
    assert other.sessions.events("elsewhere")[0].turn == turn
    assert is_found(ours)


def retracting(name: str) -> Callable[[Path], object]:
    def work(root: Path) -> None:
        path = root / layout.retraction(name)
        path.parent.mkdir(parents=True, exist_ok=True)
        concept = Concept.new(
            layout.RETRACTION, "", state="reverted", counter=1, at="2026-07-01T00:00:00.000Z"
        )
        path.write_bytes(concept.render())

    return work


def test_what_a_retraction_from_elsewhere_hides_is_reported(machines: Machines, ours: Memory) -> None:
    """One's own second machine may take back what was said here; a sync says how much of it agents no longer get."""
    [event] = [one for one in ours.sessions.events("talk") if one.kind == "turn"]
    Peer(machines).push(retracting(retraction_hash(EntryKey("event", event.id))))
    done = Sync(ours).run()
    assert not is_found(ours)
    assert "records-hidden" in [notice.kind for notice in done.notices]
