"""The provider, driven hook by hook: what is in the bundle after each."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

import pytest
from gitmem.memory.capture.recovery import pending_count

from tests.hosts.conftest import Driver, HermesHome
from tests.hosts.talk import answer, events, result, tool_call, turn, user

Begin = Callable[..., Driver]

# --- a session -------------------------------------------------------------------------------------------


def test_a_turn_is_committed_with_its_tools(home: HermesHome, begin: Begin) -> None:
    """User, assistant, tool calls with cut results; one commit, of that session, at the end of the turn."""
    provider = begin("s1")
    messages = [user("list"), tool_call("terminal", "c1", cmd="ls"), result("c1", "r" * 3000), answer("done")]
    provider.sync_turn("list", "done", session_id="s1", messages=messages)
    provider.settle()
    kinds = events(home)
    assert ["tool_call", "turn"] == [kind for kind, _ in kinds]
    assert ("terminal", '{"cmd": "ls"}', 500) == (
        kinds[0][1]["tool_name"],
        kinds[0][1]["args"],
        len(kinds[0][1]["result"]),
    )
    assert {"user": "list", "assistant": "done"} == kinds[1][1]
    [flush] = [entry for entry in home.log() if entry.kind == "flush"]
    assert ("s1", "turn") == (flush.session, flush.first("Trigger"))


def test_nothing_depends_on_the_end_of_the_session(home: HermesHome, begin: Begin) -> None:
    """After the turn's own task it is in the bundle; an end that comes twice, and early, adds nothing."""
    provider = begin("s1")
    messages: list[dict[str, Any]] = []
    provider.on_session_end(messages)
    turn(provider, messages, "one", "1")
    provider.settle()
    assert ["turn"] == [kind for kind, _ in events(home)]
    provider.on_session_end(messages)
    provider.on_session_end(messages)
    turn(provider, messages, "two", "2")
    provider.settle()
    assert ["turn", "turn"] == [kind for kind, _ in events(home)]


def test_shutdown_closes_the_session_and_may_come_twice(home: HermesHome, begin: Begin) -> None:
    """The last commit is there; a second call, or two at once, change nothing."""
    provider = begin("s1")
    turn(provider, [], "one", "1")
    threads = [threading.Thread(target=provider.shutdown) for _ in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    state = home.bundle().sessions.get("s1")
    assert "closed" == state.status
    tip = home.bundle().tip
    provider.shutdown()
    assert tip == home.bundle().tip
    assert 0 == pending_count(home.bundle().journal_dir)


def test_a_turn_that_is_told_after_shutdown_waits_in_the_journal(home: HermesHome, begin: Begin) -> None:
    """The host's own worker may outlive the provider: the next start commits what it told."""
    provider = begin("s1")
    provider.shutdown()
    provider.sync_turn("late", "reply", session_id="s1", messages=[user("late"), answer("reply")])
    assert 1 == pending_count(home.bundle().journal_dir)
    begin("s2")
    assert [("turn", {"user": "late", "assistant": "reply"})] == events(home)
    assert "recover" in [entry.kind for entry in home.log()]


def test_a_closed_session_that_goes_on_is_open_again(home: HermesHome, begin: Begin) -> None:
    """`hermes --resume` after an exit."""
    provider = begin("s1")
    turn(provider, [], "one", "1")
    provider.shutdown()
    again = begin("s1")
    turn(again, [], "two", "2")
    again.settle()
    assert "open" == home.bundle().sessions.get("s1").status
    assert ["one", "two"] == [fields["user"] for _, fields in events(home)]


def test_the_prompt_of_a_session_is_on_record(home: HermesHome, begin: Begin) -> None:
    """`trace` can say which sessions had an entry in their prompt."""
    home.write("Likes tea")
    provider = begin("s1")
    turn(provider, [], "one", "1")
    provider.settle()
    blocks = home.bundle().sessions.get("s1").concept.meta["prompt_blocks"]
    assert isinstance(blocks, list)
    assert "Likes tea" in (home.bundle().read("memories/MEMORY.md", blocks[0]["commit"]) or b"").decode()


@pytest.mark.parametrize(
    ("reason", "reset", "parent"),
    [("new_session", True, ""), ("resume", False, ""), ("branch", False, "s1"), ("compression", False, "s1")],
)
def test_a_switch_starts_another_session(
    home: HermesHome, begin: Begin, reason: str, reset: bool, parent: str
) -> None:
    """Each session keeps its own events and its own commits; only a branch or a continuation has a parent."""
    provider = begin("s1")
    messages: list[dict[str, Any]] = []
    turn(provider, messages, "one", "1")
    provider.on_session_switch("s2", parent_session_id="s1", reset=reset, reason=reason)
    turn(provider, [], "two", "2")
    provider.settle()
    assert ["one"] == [fields["user"] for _, fields in events(home, "s1")]
    assert ["two"] == [fields["user"] for _, fields in events(home, "s2")]
    assert parent == home.bundle().sessions.get("s2").get("parent")
    flushes = [entry.session for entry in home.log() if entry.kind == "flush"]
    assert ["s1", "s2"] == flushes


def test_a_turn_of_the_session_that_was_left_stays_its_own(home: HermesHome, begin: Begin) -> None:
    """`/resume` switches on the main thread while the last turn is still on its way."""
    provider = begin("s1")
    provider.on_session_switch("s2", parent_session_id="s1", reason="resume")
    provider.sync_turn("old", "reply", session_id="s1", messages=None)
    provider.settle()
    assert [("turn", {"user": "old", "assistant": "reply"})] == events(home, "s1")


def test_a_compaction_in_place_is_no_fork(home: HermesHome, begin: Begin) -> None:
    """The id stays, parent and id are the same: one session, without a parent."""
    provider = begin("s1")
    messages: list[dict[str, Any]] = []
    for number in range(7):
        turn(provider, messages, f"I prefer tabs over spaces in project {number}.", "noted")
    text = provider.on_pre_compress(messages)
    provider.on_session_end(messages)
    provider.on_session_switch("s1", parent_session_id="s1", reason="compression")
    cut = [answer("[summary]"), *messages[-2:]]
    turn(provider, cut, "go on", "gladly")
    provider.settle()
    bundle = home.bundle()
    assert ["s1"] == [state.id for state in bundle.sessions.all()]
    assert "" == bundle.sessions.get("s1").get("parent")
    assert 8 == sum(kind == "turn" for kind, _ in events(home))
    assert "compress" in [entry.kind for entry in home.log()]
    assert "tabs over spaces" in text
    assert any("tabs over spaces" in entry for entry in home.entries() + home.entries("USER.md"))


def test_undo_takes_the_last_turn_from_agents(home: HermesHome, begin: Begin) -> None:
    """The record of what was said stays for people; two in a row take back two turns."""
    provider = begin("s1")
    messages: list[dict[str, Any]] = []
    for number, flower in enumerate(("aster", "begonia", "cyclamen")):
        turn(provider, messages, f"the {flower} grows in the greenhouse of the castle", f"Row {number}.")
    provider.on_session_switch("s1", parent_session_id="", rewound=True)
    provider.on_session_switch("s1", parent_session_id="", rewound=True)
    turn(provider, messages[:2], "the dahlia grows in the greenhouse of the castle", "Fine.")
    provider.settle()
    kinds = [kind for kind, _ in events(home)]
    assert ["turn", "turn", "turn", "observation", "observation", "turn"] == kinds
    shown = " ".join(hit.text for hit in home.bundle().search("greenhouse castle", type="turn"))
    assert "aster" in shown
    assert "dahlia" in shown
    assert "begonia" not in shown
    assert "cyclamen" not in shown


@pytest.mark.parametrize("kept", [0, 1])
def test_several_turns_are_taken_back_at_once(home: HermesHome, begin: Begin, kept: int) -> None:
    """The host tells of one rewind and not of how many turns; the next list that it hands over says it."""
    provider = begin("s1")
    messages: list[dict[str, Any]] = []
    flowers = ("aster", "begonia", "cyclamen")
    for number, flower in enumerate(flowers):
        turn(provider, messages, f"the {flower} grows in the greenhouse of the castle", f"Row {number}.")
    provider.on_session_switch("s1", parent_session_id="", rewound=True)
    turn(provider, messages[: 2 * kept], "the dahlia grows in the greenhouse of the castle", "Fine.")
    provider.settle()
    shown = " ".join(hit.text for hit in home.bundle().search("greenhouse castle", type="turn"))
    assert [*flowers[:kept], "dahlia"] == [one for one in (*flowers, "dahlia") if one in shown]


def test_a_delegation_is_an_observation(home: HermesHome, begin: Begin) -> None:
    """Task, cut result, and the child's session."""
    provider = begin("s1")
    provider.on_delegation("count the files", "there are " + "7" * 9000, child_session_id="child-1")
    provider.on_session_end([])
    provider.settle()
    [(kind, fields)] = events(home)
    assert ("observation", "child-1", "Delegation") == (kind, fields["child_session"], fields["category"])
    assert len(fields["content"]) < 5000


def test_a_process_that_died_in_a_turn(home: HermesHome, begin: Begin) -> None:
    """What the user said is taken up by the next start, with its session; also where the turn before is told late."""
    provider = begin("s1")
    provider.on_turn_start(1, "hello")
    provider.on_turn_start(2, "do something that never ends")
    provider.sync_turn("hello", "hi", session_id="s1", messages=[])
    provider.settle()
    provider.die()
    begin("s2")
    begin("s3")
    # Two writers, two part files: which comes first in the listing is by chance.
    assert ["do something that never ends", "hello"] == sorted(fields["user"] for _, fields in events(home))


def test_a_turn_that_is_told_when_the_next_is_there_already(home: HermesHome, begin: Begin) -> None:
    """The conversation has gone on while the host's thread told the turn before: each is stored once, as it was."""
    provider = begin("s1")
    messages: list[dict[str, Any]] = []
    for number in range(4):
        messages += [user(f"question {number}"), answer(f"answer {number}")]
    for number in range(4):
        provider.sync_turn(f"question {number}", f"answer {number}", session_id="s1", messages=messages)
    provider.settle()
    stored = [(fields["user"], fields["assistant"]) for _, fields in events(home, "s1")]
    assert [(f"question {number}", f"answer {number}") for number in range(4)] == stored


def test_a_turn_that_is_told_after_the_end_is_kept_once(home: HermesHome, begin: Begin) -> None:
    """The host's own thread may be slower than its shutdown; the next start has what was said, and has it once."""
    provider = begin("s1")
    provider.on_turn_start(1, "again")
    turn(provider, [], "again", "first")
    provider.on_turn_start(2, "again")
    provider.shutdown()
    provider.sync_turn("again", "second", session_id="s1", messages=[])
    begin("s2")
    said = sorted((fields["user"], fields.get("assistant", "")) for _, fields in events(home, "s1"))
    assert [("again", "first"), ("again", "second")] == said


def test_every_turn_that_nobody_told_is_taken_up(home: HermesHome, begin: Begin) -> None:
    """Also one before a turn that was reported; a turn that was reported is not stored twice."""
    provider = begin("s1")
    for number in range(4):
        provider.on_turn_start(number, f"turn {number}")
        if number == 1:
            provider.sync_turn("turn 1", "ok", session_id="s1", messages=[])
    provider.settle()
    provider.die()
    begin("s2")
    # Of one moment: which of two writers comes first is not said.
    assert ["turn 0", "turn 1", "turn 2", "turn 3"] == sorted(fields["user"] for _, fields in events(home))


# --- the prompt ------------------------------------------------------------------------------------------


def test_the_block_is_the_same_bytes_for_the_whole_session(home: HermesHome, begin: Begin) -> None:
    """Whatever is written meanwhile; and it has no commit in it."""
    provider = begin("s1")
    first = provider.system_prompt_block()
    turn(provider, [], "one", "1")
    provider.settle()
    provider.on_session_switch("s1", parent_session_id="s1", reason="compression")
    assert first == provider.system_prompt_block()
    assert home.bundle().tip[:8] not in first
    assert "gitmem_search" in first
    assert "gitmem_undo" not in first


def test_since_the_last_session(home: HermesHome, begin: Begin) -> None:
    """A restore and a person's edit are told in a line each, without anybody's text."""
    provider = begin("s1")
    home.write("Likes tea")
    provider.compare()
    bundle = home.bundle()
    bundle.snapshots.create("good", origin=bundle.origin())
    home.write("Likes tea", "Ignore nothing")
    provider.compare()
    provider.shutdown()
    assert "Since your last session" not in begin("s2").system_prompt_block()
    bundle = home.bundle()
    bundle.restore("good")
    block = begin("s3").system_prompt_block()
    assert "Since your last session here:\n- " in block
    assert "put back to an earlier state" in block
    assert block.endswith("- of your entries, 1 went in all")
    assert "Ignore nothing" not in block


def test_many_changes_are_one_line(home: HermesHome, begin: Begin) -> None:
    """A day's changes of one kind are counted; what touches no memory is not told."""
    begin("s1").shutdown()
    bundle = home.bundle()
    for number in range(3):
        bundle.curated.add(f"fact {number}", origin=bundle.origin())
    bundle.snapshots.create("good", origin=bundle.origin())
    _, lines = begin("s2").system_prompt_block().split("Since your last session here:\n")
    today = bundle.now()[:10]
    assert [f"- {today}: a person changed the memory (3 times)", "- of your entries, 3 came in all"] == (
        lines.splitlines()
    )
