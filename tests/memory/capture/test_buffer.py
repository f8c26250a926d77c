"""The hot buffer: when it flushes, what the settings leave out, and what a failure keeps."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from typing import Any

import pytest
from gitmem.errors import BundleBusy, BundleUnusable, GitMemError, InvalidContent
from gitmem.memory.capture import recorder
from gitmem.memory.capture.buffer import HotMemoryBuffer
from gitmem.memory.capture.decorators import memorize_decision, memorize_tool
from gitmem.memory.capture.session_page import SessionInfo
from gitmem.memory.distill.compression import Compressor
from gitmem.memory.memory import Memory
from gitmem.memory.origin import Trigger
from gitmem.okf import layout
from gitmem.okf.events import EventsFile
from gitmem.world import World
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.git.support import run_git, wrong


def buffer_of(bundle: Memory, session: str = "s1", **more: int) -> HotMemoryBuffer:
    return HotMemoryBuffer(bundle, SessionInfo(session, agent="hermes", machine="laptop"), **more)


def contents(bundle: Memory, session: str = "s1") -> list[str]:
    return [event.fields["content"] for event in bundle.sessions.events(session)]


def trailers(bundle: Memory, key: str, revision: str = "HEAD") -> list[str]:
    """What plain git reads of a trailer, newest first."""
    told = run_git(bundle.root, "log", f"--format=%(trailers:key={key},valueonly,separator=%x2C)", revision)
    return told.split("\n")


# --- triggers --------------------------------------------------------------------------------------------


def flush_by_hand(bundle: Memory, buffer: HotMemoryBuffer) -> None:
    buffer.flush()


def fill_up(bundle: Memory, buffer: HotMemoryBuffer) -> None:
    while len(buffer):
        buffer.push(content="one more")


def end_session(bundle: Memory, buffer: HotMemoryBuffer) -> None:
    bundle.sessions.end("s1", buffer=buffer)


def complete_plan(bundle: Memory, buffer: HotMemoryBuffer) -> None:
    bundle.plans.complete(bundle.plans.create("A plan", ["a step"]).name)


def compress(bundle: Memory, buffer: HotMemoryBuffer) -> None:
    Compressor(bundle, buffer).compress([])


def end_turn(bundle: Memory, buffer: HotMemoryBuffer) -> None:
    buffer.flush("turn")


def shut_down(bundle: Memory, buffer: HotMemoryBuffer) -> None:
    buffer.close()


def take_snapshot(bundle: Memory, buffer: HotMemoryBuffer) -> None:
    bundle.snapshots.create("before", origin=bundle.origin())


def go_back(bundle: Memory, buffer: HotMemoryBuffer) -> None:
    bundle.restore("HEAD")


@pytest.mark.parametrize(
    ("act", "trigger"),
    [
        (flush_by_hand, "explicit"),
        (fill_up, "buffer-max"),
        (end_session, "session-end"),
        (complete_plan, "plan-complete"),
        (compress, "pre-compress"),
        (end_turn, "turn"),
        (shut_down, "shutdown"),
        (take_snapshot, "explicit"),
        (go_back, "explicit"),
    ],
)
def test_each_trigger_is_in_its_commit(
    bundle: Memory, act: Callable[[Memory, HotMemoryBuffer], None], trigger: Trigger
) -> None:
    """Whatever makes a flush, the commit that holds the event names it, for plain git too."""
    buffer = buffer_of(bundle, max_items=5)
    buffer.push(content="waits")
    act(bundle, buffer)
    first = run_git(bundle.root, "log", "--reverse", "--format=%H", "--", ":(glob)sessions/*/*/s1/*").split(
        "\n"
    )[0]
    assert trailers(bundle, "Trigger", first)[0] == trigger
    assert trailers(bundle, "Session", first)[0] == "s1"
    assert trailers(bundle, "Kind", first)[0] == ("compress" if act is compress else "flush")
    buffer.close()


def test_a_snapshot_holds_what_was_pushed_before_it(bundle: Memory) -> None:
    """Events of every open buffer of this process are in the snapshot's commit, and in no later one."""
    first, second = buffer_of(bundle, "s1"), buffer_of(bundle, "s2")
    first.push(content="one")
    second.push(content="two")
    made = bundle.snapshots.create("both", origin=bundle.origin())
    tree = bundle.repository.tree(made.commit)
    held = b"".join(tree.read(path) or b"" for path, _ in tree.files("sessions"))
    assert b"> one" in held
    assert b"> two" in held
    assert (len(first), len(second)) == (0, 0)
    first.close()
    second.close()


def test_a_restore_takes_what_waits_along_into_the_past(bundle: Memory) -> None:
    """What was pushed before a restore is flushed before it, and so it is taken back by it."""
    start = bundle.tip
    buffer = buffer_of(bundle)
    buffer.push(content="before the restore")
    bundle.restore(start, dry_run=True, everything=True)
    assert len(buffer) == 1
    bundle.restore(start, everything=True)
    assert len(buffer) == 0
    buffer.push(content="after the restore")
    buffer.close()
    assert contents(bundle) == ["after the restore"]
    kinds = run_git(bundle.root, "log", "--format=%s").split("\n")
    assert [kind.partition(":")[0] for kind in kinds[:3]] == ["flush", "restore", "flush"]


def test_a_plan_names_its_snapshot_after_the_flush(bundle: Memory) -> None:
    """Completion: flush, archive, snapshot, in this order."""
    buffer = buffer_of(bundle)
    plan = bundle.plans.create("A plan", ["a step"])
    buffer.push(content="done")
    bundle.plans.complete(plan.name)
    [snapshot] = [one for one in bundle.snapshots.all() if one.is_automatic]
    assert snapshot.commit == bundle.tip
    assert trailers(bundle, "Trigger")[:2] == ["plan-complete", "plan-complete"]
    assert contents(bundle) == ["done"]
    buffer.close()


def test_closed_and_forgotten_buffers_are_left_alone(bundle: Memory) -> None:
    """Only buffers that still take events are flushed for a snapshot."""
    buffer_of(bundle).close()
    left = buffer_of(bundle)
    left.push(content="left")
    left.abandon()
    dropped = buffer_of(bundle)
    dropped.push(content="dropped")
    del dropped
    assert bundle.flush_buffers() == []
    bundle.recover_journals()
    assert sorted(contents(bundle)) == ["dropped", "left"]


def test_one_buffer_that_fails_does_not_stop_the_others(
    bundle: Memory, monkeypatch: pytest.MonkeyPatch
) -> None:
    """All are tried before the failure is told."""
    good, bad = buffer_of(bundle, "good"), buffer_of(bundle, "bad")
    good.push(content="fine")
    bad.push(content="waits")
    real = HotMemoryBuffer.flush

    def flush(self: HotMemoryBuffer, *args: Any, **more: Any) -> Any:
        if self is bad:
            raise BundleUnusable("The disk is full.")
        return real(self, *args, **more)

    with monkeypatch.context() as patch:
        patch.setattr(HotMemoryBuffer, "flush", flush)
        with pytest.raises(BundleUnusable, match="disk is full"):
            bundle.flush_buffers()
    assert contents(bundle, "good") == ["fine"]
    good.close()
    bad.close()


# --- settings --------------------------------------------------------------------------------------------


@pytest.mark.parametrize("way", ["push", "session", "through", "decorator"])
def test_what_the_settings_leave_out_is_recorded_nowhere(
    make_bundle: Callable[..., Memory], way: str
) -> None:
    """`log_tool_calls` and `log_decisions` hold for every way in; the rest is recorded as ever."""
    bundle = make_bundle(log_tool_calls=False, log_decisions=False)
    tip = bundle.tip
    if way == "push":
        buffer = buffer_of(bundle)
        assert buffer.push("tool_call", tool_name="t", result="r") == ""
        assert buffer.push(_kind="decision", decision="d") == ""
        assert len(buffer) == 0
        assert buffer.flush().events == ()
        buffer.close()
    elif way == "session":
        with bundle.session("s1") as session:
            assert session.record_tool_call("t", result="r") == ""
            assert session.record_decision("d") == ""
        assert bundle.sessions.events("s1") == []
        return
    elif way == "through":
        assert bundle.record_tool_call("t", result="r") == ""
        assert bundle.record_decision("d") == ""
    else:
        memorize_tool(bundle)(len)("abc")
        memorize_decision(bundle)(str)("abc")
    assert bundle.tip == tip
    assert bundle.record_observation("all the same") != ""
    assert bundle.tip != tip


def test_automatic_snapshots_stand_once_on_a_commit(bundle: Memory) -> None:
    """Nothing changed since the last one, named or not: no other."""
    origin = bundle.origin()
    assert bundle.snapshots.automatic() is not None
    assert bundle.snapshots.automatic() is None
    bundle.snapshots.create("named", origin=origin)
    assert bundle.snapshots.automatic() is None
    bundle.snapshots.delete("named")
    made = bundle.snapshots.automatic()
    assert made is not None
    bundle.snapshots.delete(made.name)
    assert bundle.snapshots.automatic() is not None


# --- failures --------------------------------------------------------------------------------------------


def test_a_failed_flush_says_that_everything_is_kept(bundle: Memory, monkeypatch: pytest.MonkeyPatch) -> None:
    """The error is the commit's own, and says where the events are."""
    buffer = buffer_of(bundle)
    buffer.push(content="one")
    buffer.push(content="two")

    def refuse(*_: object, **__: object) -> None:
        raise BundleBusy("The bundle is in use.", hint="Wait.")

    with monkeypatch.context() as patch:
        patch.setattr(bundle, "commit", refuse)
        with pytest.raises(
            BundleBusy, match=r"in use\. 2 events wait in the journal for the next flush"
        ) as caught:
            buffer.flush()
        assert caught.value.hint == "Wait."
    assert len(buffer) == 2
    assert [event.fields["content"] for event in buffer.flush().events] == ["one", "two"]
    assert contents(bundle) == ["one", "two"]
    buffer.close()


def test_a_journal_that_can_not_forget_costs_no_commit(
    bundle: Memory, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The flush is told as made; the next one has only what is new, and nothing is stored twice."""
    buffer = buffer_of(bundle)
    buffer.push(content="one")

    def fail(*_: object) -> None:
        raise BundleUnusable("The journal still holds events that are committed.")

    with monkeypatch.context() as patch:
        patch.setattr(buffer.journal, "forget", fail)
        flushed = buffer.flush()
        assert flushed.published is not None
        assert [event.fields["content"] for event in flushed.events] == ["one"]
        assert "still holds" in bundle.warnings[-1]
        assert (len(buffer), buffer.waiting()) == (0, [])
        assert buffer.flush().published is None
        buffer.push(content="two")
        assert [event.fields["content"] for event in buffer.flush().events] == ["two"]
    buffer.abandon()
    assert bundle.recover_journals() == []
    assert contents(bundle) == ["one", "two"]


def test_a_flush_inside_a_flush_is_refused(bundle: Memory, monkeypatch: pytest.MonkeyPatch) -> None:
    """A signal handler that flushes in the middle of one gets an error, not a deadlock."""
    buffer = buffer_of(bundle)
    buffer.push(content="one")
    real = recorder.record

    def record(*args: Any, **more: Any) -> Any:
        with pytest.raises(BundleBusy, match="in the middle of a flush"):
            buffer.flush()
        return real(*args, **more)

    monkeypatch.setattr(recorder, "record", record)
    assert buffer.flush().published is not None
    buffer.close()
    assert contents(bundle) == ["one"]


def test_a_tool_call_without_a_name_is_refused_at_the_door(bundle: Memory) -> None:
    """It must not reach the journal, where it would stop every later flush."""
    buffer = buffer_of(bundle)
    for fields in ({}, {"tool_name": " "}, {"tool_name": None}):
        with pytest.raises(InvalidContent, match="name of the tool"):
            buffer.push("tool_call", result="x", **fields)
    buffer.push(content="fine")
    assert len(buffer.flush().events) == 1
    buffer.close()


def test_fields_may_have_any_name(bundle: Memory) -> None:
    """Names that mean something to Python are names like any other."""
    buffer = buffer_of(bundle)
    buffer.push(**{"content": "a", "self": "b", "kind": "c", "session": "d", "_session": "e", "": "f"})
    buffer.close()
    [event] = bundle.sessions.events("s1")
    assert dict(event.fields) == {
        "content": "a",
        "self": "b",
        "kind": "c",
        "session": "d",
        "_session": "e",
        "": "f",
    }


WORDS = st.text(
    st.characters(categories=None) | st.sampled_from("\0\ud800\n\r§*-#<>[]`|\u2028/\\"), max_size=40
)
EVENTS = st.lists(
    st.tuples(
        st.sampled_from(["observation", "decision", "tool_call", "turn"]),
        WORDS,
        st.dictionaries(WORDS, WORDS | st.none() | st.integers() | st.lists(WORDS, max_size=2), max_size=3),
    ),
    min_size=1,
    max_size=4,
)
MAIN_FIELD = {"observation": "content", "decision": "decision", "tool_call": "tool_name", "turn": "user"}


@settings(deadline=None, max_examples=25, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(events=EVENTS, session=WORDS)
def test_no_event_that_is_taken_in_stops_a_flush(
    bundle: Memory, events: list[tuple[str, str, dict[str, Any]]], session: str
) -> None:
    """Whatever the texts, names and session are: what `push` accepts is committed, once."""
    buffer = HotMemoryBuffer(bundle, SessionInfo(session or "s", agent="hermes"), max_items=100)
    taken = []
    for kind, text, more in events:
        try:
            taken.append(buffer.push(kind, **{**more, MAIN_FIELD[kind]: text}))
        except GitMemError:
            continue
    flushed = buffer.flush()
    assert [event.id for event in flushed.events] == taken
    buffer.close()
    if taken:
        recorded = [event.id for event in bundle.sessions.events(flushed.events[0].session)]
        assert [one for one in recorded if one in taken] == taken
    assert wrong(bundle) == []


# --- writing through -------------------------------------------------------------------------------------


def test_what_is_written_through_shares_its_part(bundle: Memory) -> None:
    """Many single writes of one process do not leave as many files."""
    for number in range(5):
        bundle.record_observation(f"fact {number}")
    bundle.record_observation("elsewhere", session="s2")
    [daily] = [state for state in bundle.sessions.all() if state.id != "s2"]
    assert contents(bundle, daily.id) == [f"fact {number}" for number in range(5)]
    names = [path for path in bundle.list_concepts("sessions") if path.count("/") == 4]
    assert len(names) == 2
    assert contents(bundle, "s2") == ["elsewhere"]


def test_a_written_event_that_could_not_be_committed_comes_with_the_next(
    bundle: Memory, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The error says that it waits, and the next write brings it along."""

    def refuse(*_: object, **__: object) -> None:
        raise BundleBusy("The bundle is in use.")

    with monkeypatch.context() as patch:
        patch.setattr(bundle, "commit", refuse)
        with pytest.raises(BundleBusy, match="1 event waits in the journal"):
            bundle.record_observation("first", session="s1")
    bundle.record_observation("second", session="s1")
    assert contents(bundle) == ["first", "second"]


def test_a_bundle_leaves_no_journal_behind(make_bundle: Callable[..., Memory]) -> None:
    """When nobody has the bundle any more, the journal of what it wrote through is gone too."""
    import gc

    from gitmem.memory.upkeep.create import create

    made = make_bundle()
    bundle, _ = create(World(os.environ, clock=made.world.clock), made.root, config=made.config)
    bundle.record_observation("a")
    assert len(os.listdir(bundle.journal_dir)) == 2
    del bundle
    gc.collect()
    assert os.listdir(made.journal_dir) == []


FORKING = """
import os, sys
from gitmem.memory.opening import open_bundle
from gitmem.world import World
bundle = open_bundle(World(), sys.argv[1], "read")
bundle.record_observation("parent", session="s1")
child = os.fork()
if child == 0:
    bundle.record_observation("child", session="s1")
    os._exit(0)
assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
bundle.record_observation("parent again", session="s1")
"""


def test_a_forked_child_writes_through_a_journal_of_its_own(bundle: Memory) -> None:
    """It neither fails nor writes into its parent's."""
    command = [sys.executable, "-W", "ignore::DeprecationWarning", "-c", FORKING, bundle.root]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    assert contents(bundle) == ["parent", "child", "parent again"]
    parts = [path for path in bundle.list_concepts("sessions") if "/s1/" in path]
    assert len(parts) == 2


# --- tools and decorators --------------------------------------------------------------------------------


def test_a_tool_call_may_bring_its_description(bundle: Memory) -> None:
    """Description and schema go to the tool's concept, in the same commit, and not into the event."""
    before = bundle.tip
    bundle.record_event(
        "tool_call",
        session="s1",
        tool_name="web search",
        result="ok",
        description="Finds pages",
        schema={"type": "object"},
    )
    assert bundle.show("HEAD").entry.commit.parents == (before,)
    concept = bundle.concept(layout.tool("web search"))
    assert concept is not None
    assert concept.meta["description"] == "Finds pages"
    assert json.loads(concept.body.strip().strip("`").removeprefix("json")) == {"type": "object"}
    [event] = bundle.sessions.events("s1")
    assert dict(event.fields) == {"tool_name": "web search", "result": "ok"}


def test_register_tool_before_its_first_use(bundle: Memory) -> None:
    """A tool can be made known first; again, and by a call, it changes nothing."""
    path = bundle.register_tool("terminal", "Runs commands", {"type": "object"})
    tip = bundle.tip
    assert bundle.register_tool("terminal", "Runs commands", {"type": "object"}) == path
    assert bundle.tip == tip
    bundle.record_tool_call("terminal", result="ok")
    concept = bundle.concept(path)
    assert concept is not None
    assert concept.meta["description"] == "Runs commands"


def test_a_memorized_tool_is_known_by_its_docstring(bundle: Memory) -> None:
    """The first call registers it; coroutines are awaited; failures are recorded."""
    import asyncio

    @memorize_tool(bundle, session="s1")
    async def fetch(url: str, retries: int = 3) -> str:
        """Fetch a page.

        More words.
        """
        if url == "bad":
            raise ValueError("no such page")
        return f"<{url}>"

    assert asyncio.run(fetch("good")) == "<good>"
    with pytest.raises(ValueError, match="no such page"):
        asyncio.run(fetch("bad"))
    concept = bundle.concept(layout.tool("fetch"))
    assert concept is not None
    assert concept.meta["description"] == "Fetch a page."
    results = [event.fields["result"] for event in bundle.sessions.events("s1")]
    assert results == ["<good>", "failed: ValueError: no such page"]


def test_a_memory_that_fails_does_not_cost_a_result(bundle: Memory, monkeypatch: pytest.MonkeyPatch) -> None:
    """A decorated function returns what it has; the bundle's warnings say what is missing."""

    def refuse(*_: object, **__: object) -> None:
        raise BundleBusy("The bundle is in use.")

    with monkeypatch.context() as patch:
        patch.setattr(bundle, "commit", refuse)
        assert memorize_tool(bundle)(lambda: 42)() == 42
    assert "was not recorded: The bundle is in use." in bundle.warnings[-1]


# --- parts -----------------------------------------------------------------------------------------------


def test_parts_are_bounded_in_bytes(bundle: Memory) -> None:
    """Sixteen KB are bytes, also of texts whose characters take three, and of many short lines."""
    buffer = buffer_of(bundle, max_items=1000)
    for number in range(40):
        buffer.push(content=f"{number} " + "日本語" * 100)
        buffer.push(content="x\n" * 400)
    buffer.close()
    sizes = [
        len(bundle.read(path) or b"") for path in bundle.list_concepts("sessions") if path.count("/") == 4
    ]
    assert len(sizes) > 3
    assert max(sizes) <= 16 * 1024 + 2000
    [first] = [path for path in bundle.list_concepts("sessions") if path.endswith("-0001.md")]
    assert EventsFile.parse(bundle.read(first) or b"").events[0].fields["content"].startswith("0 日本語")
