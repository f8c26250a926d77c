"""Every write is linked to the turn of the conversation that made it."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from gitmem.errors import RefusedFetch
from gitmem.memory.gate.admission import Admission
from gitmem.memory.gate.ledger import Ledger
from gitmem.memory.history.log import History
from gitmem.memory.history.restore import restore
from gitmem.memory.history.revert import Undo
from gitmem.memory.memory import Memory
from gitmem.memory.pages import write_note
from gitmem.okf import layout
from gitmem.okf.concept import Concept
from gitmem.okf.curated import CuratedFile
from gitmem.okf.entries import entry_hash, section_key, turns_of
from gitmem.okf.events import Event, EventsFile

from tests.index.compare import same_as_rebuilt
from tests.memory.sync.test_engine import Machines, machines
from tests.memory.sync.test_keeping import Peer

__all__ = ["machines"]
AT = "2026-06-30T14:00:00.000Z"
PIN = "The canteen PIN is 4711"


def turns(memory: Memory, text: str, target: str = "memory") -> tuple[str, ...]:
    entries = memory.curated.entries(target)  # type: ignore[arg-type]
    return turns_of(next(one.extra for one in entries if one.text == text))


def said(memory: Memory, session: str) -> dict[str, str]:
    """The turn of each event, by what it says."""
    return {one.text: one.turn for one in memory.sessions.events(session)}


def test_whatever_a_turn_writes_names_it(bundle: Memory) -> None:
    """Entries, the user's profile, decisions, plans, notes and skills; events, and the commit."""
    with bundle.session("talk") as session:
        turn = session.said("Remember this")
        session.remember(PIN)
        session.remember("Likes tea", target="user")
        session.record_decision("Use the ferry")
        plan = bundle.plans.create("Move", ["pack"], origin=session.origin())
        note, _ = write_note(bundle, "Ferries", "They float.", origin=session.origin())
        bundle.skills.create(
            "ferry", "---\nname: ferry\ndescription: By boat\n---\nGo.\n", origin=session.origin()
        )
        session.answered("Done.")
        later = session.said("Next")
        bundle.plans.complete_step(plan.name, 1, "packed", origin=session.origin())
        session.answered("Done.")
    assert ((turn,), (turn,)) == (turns(bundle, PIN), turns(bundle, "Likes tea", "user"))
    index = bundle.index.current()
    skill = next(path for path, _ in bundle.tree().files("skills") if path.endswith("SKILL.md"))
    [decision] = [span.path for span in index.spans(now=True, type="Decision")]
    [profile] = [
        span
        for span in index.spans(now=True, type="UserProfile")
        if "/profile" in span.path or span.path != layout.USER
    ]
    written = {path: index.turns_of(path, "") for path in (decision, note, skill)}
    assert [[turn]] * 3 == list(written.values())
    assert [turn] == index.turns_of(profile.path, profile.key)
    assert sorted([turn, later]) == index.turns_of(plan.path, "")
    assert {"decision", "turn"} == {one.type for one in index.events_of_turn(turn)}
    assert {turn} <= {value for entry in bundle.log() for value in entry.trailers.get("Turn", ())}
    assert [] == same_as_rebuilt(bundle)


def test_a_turn_that_nobody_announced_ends_when_it_is_recorded(bundle: Memory) -> None:
    """What was written before it belongs to it; the next write to the next."""
    with bundle.session("talk") as session:
        session.remember(PIN)
        session.record_observation("seen")
        session.record_turn("the first", "yes")
        session.remember("Second fact")
        session.record_turn("the second", "yes")
    first, second = (turns(bundle, text)[0] for text in (PIN, "Second fact"))
    assert first != second
    assert [first, first, second] == [one.turn for one in bundle.sessions.events("talk")]


def test_a_turn_reported_late_keeps_its_own_id(bundle: Memory) -> None:
    """A host reports a turn on another thread, when the next one has begun."""
    with bundle.session("talk") as session:
        first = session.said("the first")
        second = session.said("the second")
        session.remember(PIN)
        [told] = session.answered("yes", user="the first")
        assert first == told.id
        session.answered("yes", user="the second")
    assert (second,) == turns(bundle, PIN)
    assert [first, second] == list(said(bundle, "talk").values())


def test_a_fact_kept_at_a_compaction_names_the_turn_it_was_said_in(
    make_bundle: Callable[..., Memory],
) -> None:
    """Not the one in which the host forgot its messages."""
    memory = make_bundle(flush_min_turns=1)
    with memory.session("talk") as session:
        turn = session.said("Please remember that the canteen PIN is 4711.")
        session.answered("Yes.")
        session.said("And now?")
        messages = [
            {"role": "user", "content": "Please remember that the canteen PIN is 4711."},
            {"role": "assistant", "content": "Yes."},
            {"role": "user", "content": "And now?"},
        ]
        [fact] = session.compress(messages).facts
    assert (turn,) == turns(memory, fact.text)


def test_links_survive_what_happens_to_an_entry(bundle: Memory) -> None:
    """A restore, an undo, a hand edit of the body, and the archive bring the entry back with them."""
    with bundle.session("talk") as session:
        turn = session.said("Remember this")
        session.remember(PIN)
        session.answered("Done.")
    tip = bundle.tip
    bundle.curated.remove(PIN)
    restore(bundle, tip, origin=bundle.origin())
    assert (turn,) == turns(bundle, PIN)
    bundle.curated.remove(PIN)
    bundle.part(Undo).undo(origin=bundle.origin())
    assert (turn,) == turns(bundle, PIN)
    path = Path(bundle.repository.worktree.path(layout.MEMORY))
    path.write_text(path.read_text() + "§\nby hand\n")
    bundle.take_in_edits(strict=True)
    assert ((turn,), ()) == (turns(bundle, PIN), turns(bundle, "by hand"))


def test_a_retraction_and_a_held_text_name_the_turn(bundle: Memory) -> None:
    """What is taken back or waits for a person is linked like what is there."""
    with bundle.session("talk") as session:
        turn = session.said("Remember this")
        commit = session.remember(PIN).commit
        session.answered("Done.")
    bundle.part(Undo).revert([bundle.part(History).entry(commit).commit], origin=bundle.origin())
    where = layout.retraction(entry_hash(PIN))
    assert (turn,) == turns_of(Concept.parse(bundle.read(where) or b"").meta)
    with bundle.session("more") as session:
        session.said("Again")
        origin = session.origin()
        answer = bundle.curated.add(PIN, origin=origin)
    [held] = answer.held
    assert (origin.turn,) == bundle.part(Ledger).get(held).turns


@pytest.mark.parametrize("call", ["call_9", "a b", "x-->", "y" * 65, "", "a\nb"])
def test_a_call_id_cannot_end_its_comment(call: str) -> None:
    """It is the host's: one of another form is left out, and the event is read back as it was."""
    event = Event("w-1", "tool_call", AT, {"result": "x"}, turn="0123456789ab", call=call)
    [found] = EventsFile.parse(EventsFile.new("s").append([event]).render()).events
    assert ("0123456789ab", call if call == "call_9" else "") == (found.turn, found.call)


def shown(memory: Memory, query: str) -> str:
    return "\n".join(hit.text for hit in memory.search(query))


def test_a_remote_hides_no_conversation_of_ours(machines: Machines) -> None:
    """An entry that claims our turn and goes again, or a retraction with it, hides nothing; its own turns it may hide."""
    here = machines.first()
    with here.session("talk") as session:
        turn = session.said("The tulips of the festival are yellow")
        session.answered("Very well.")
    machines.sync(here)
    peer = Peer(machines)

    def claim(root: Path) -> None:
        file = CuratedFile.parse((root / layout.MEMORY).read_bytes())
        (root / layout.MEMORY).write_bytes(file.add("The lamp is lit", AT, turns=[turn]).render())

    def withdraw(root: Path) -> None:
        file = CuratedFile.parse((root / layout.MEMORY).read_bytes())
        (root / layout.MEMORY).write_bytes(file.remove(section_key("The lamp is lit").id).render())
        gone = root / layout.retraction(entry_hash("The lamp is lit"))
        gone.parent.mkdir(parents=True, exist_ok=True)
        gone.write_bytes(
            Concept.new(layout.RETRACTION, "", state="reverted", counter=1, turns=[turn]).render()
        )

    for work in (claim, withdraw):
        peer.push(work)
        machines.sync(here)
        assert "yellow" in shown(here, "tulips festival")


def test_a_take_back_on_one_machine_hides_the_turn_on_the_other(machines: Machines) -> None:
    """It came from there, and so did what was said."""
    here, there = machines.first(), machines.another("b")
    with here.session("talk") as session:
        session.said("Der Türcode ist siebentausend")
        session.remember("Door code: seven thousand")
        session.answered("Notiert.")
    machines.settle()
    assert "Türcode" in shown(there, "Türcode")
    there.forget("Door code: seven thousand")
    machines.settle()
    assert "" == shown(here, "Türcode")
    assert "" == shown(there, "Türcode")


@pytest.mark.parametrize(
    "claimed", [["x" * 1000], [f"{number:012x}" for number in range(65)], "0" * 12, [7], [{"a": 1}]]
)
def test_a_remote_names_few_turns_in_their_form(machines: Machines, claimed: object) -> None:
    """In an entry as in a concept; anything else is refused before it enters."""
    here = machines.first()
    tip = here.tip
    peer = Peer(machines)

    def in_an_entry(root: Path) -> None:
        file = CuratedFile.parse((root / layout.MEMORY).read_bytes())
        (root / layout.MEMORY).write_bytes(file.add("The lamp is lit", AT, turns=claimed).render())

    peer.push(in_an_entry)
    with pytest.raises(RefusedFetch, match="turns"):
        machines.sync(here)
    assert tip == here.tip


def test_a_remote_moves_no_event_to_another_turn(machines: Machines) -> None:
    """A later take-back would miss it."""
    here = machines.first()
    with here.session("talk") as session:
        turn = session.said("The tulips of the festival are yellow")
        session.answered("Very well.")
    machines.sync(here)

    def move(root: Path) -> None:
        [part] = (root / "sessions").rglob("*-0001.md")
        part.write_text(part.read_text().replace(f"turn {turn}", f"turn {'f' * 12}"))

    Peer(machines).push(move)
    with pytest.raises(RefusedFetch, match="another turn"):
        machines.sync(here)


def test_an_entry_that_admission_lets_in_has_its_turn(bundle: Memory) -> None:
    """Whoever lays it, the host's files included."""
    with bundle.session("talk") as session:
        session.said("Remember this")
        admitted = Admission(bundle, origin=session.origin()).entry(PIN, layout.MEMORY)
        assert [session.turn] == admitted.marks["turns"]  # type: ignore[union-attr]


def test_what_is_remembered_after_a_recorded_turn_belongs_to_it(bundle: Memory) -> None:
    """A program records the turn and then its fact; the next turn is about something else."""
    with bundle.session("s") as session:
        session.record_turn("Our depot in Bonn opens at six.", "Noted.")
        session.remember("The depot in Bonn opens at six.")
        session.record_decision("Take the depot in Bonn", "it opens at six")
        session.record_turn("What is for lunch?", "Soup.")
        session.remember("The user is allergic to nuts.")
        session.record_turn("I am allergic to nuts, by the way.", "I see.")
    index, found = bundle.index.current(), {}
    for span in (*index.spans(type="CuratedMemory"), *index.spans(type="Decision")):
        turns = index.turns_of(span.path, "" if span.space == "concept" else span.key)
        events = [event for turn in turns for event in index.events_of_turn(turn)]
        found[span.text.partition("\n")[0]] = [event.text for event in events if event.type == "turn"]
    depot = "[user] Our depot in Bonn opens at six.\n[assistant] Noted."
    nuts = "[user] I am allergic to nuts, by the way.\n[assistant] I see."
    assert {
        "The depot in Bonn opens at six.": [depot],
        "Take the depot in Bonn": [depot],
        "The user is allergic to nuts.": [nuts],
    } == found
