"""The provider, driven hook by hook: what is in the bundle after each; and nothing ever stops the host."""

from __future__ import annotations

import json
import os
import shutil
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from gitmem.git.lock import BundleLock
from gitmem.hosts.hermes.provider import GitMemProvider
from gitmem.hosts.hermes.transcript import Transcript
from gitmem.memory.abandoned import pending_count

from tests.hosts.conftest import Driver, HermesHome

Begin = Callable[..., Driver]


def user(text: str) -> dict[str, Any]:
    return {"role": "user", "content": text}


def answer(text: str, **more: Any) -> dict[str, Any]:
    return {"role": "assistant", "content": text, **more}


def tool_call(name: str, identity: str, **arguments: Any) -> dict[str, Any]:
    function = {"name": name, "arguments": json.dumps(arguments)}
    return answer("", tool_calls=[{"id": identity, "type": "function", "function": function}])


def result(identity: str, text: str) -> dict[str, Any]:
    return {"role": "tool", "tool_call_id": identity, "content": text}


def turn(provider: Driver, messages: list[dict[str, Any]], said: str, answered: str) -> None:
    provider.on_turn_start(len(messages), said)
    messages += [user(said), answer(answered)]
    provider.sync_turn(said, answered, session_id="", messages=messages)


def events(home: HermesHome, session: str = "s1") -> list[tuple[str, dict[str, str]]]:
    return [(event.kind, dict(event.fields)) for event in home.bundle().sessions.events(session)]


# --- the transcript --------------------------------------------------------------------------------------


def test_only_the_new_tail_is_stored() -> None:
    """The host hands over the whole conversation every time."""
    transcript, messages = Transcript(), [user("one"), answer("1")]
    assert ["one"] == [one.user for one in transcript.turn("one", "1", messages)]
    messages += [user("two"), tool_call("terminal", "c1", cmd="ls"), result("c1", "files"), answer("2")]
    [second] = transcript.turn("two", "2", messages)
    assert ("two", "2", ["terminal"]) == (second.user, second.answer, [call.name for call in second.calls])
    assert [] == transcript.calls(messages)


def test_an_interrupted_turn_is_stored_with_the_next() -> None:
    """The host tells no turn that was interrupted; its messages stand in the list."""
    transcript, messages = Transcript(), [user("one"), answer("1")]
    transcript.turn("one", "1", messages)
    messages += [user("stop this"), answer("I began"), user("two"), answer("2")]
    assert ["stop this", "two"] == [one.user for one in transcript.turn("two", "2", messages)]


def test_recalled_text_is_never_stored() -> None:
    """Neither `api_content`, nor a fence in the text, nor what our own tools answered."""
    transcript = Transcript()
    messages = [
        {**user("hello"), "api_content": "hello\n\n<memory-context>SECRET RECALL</memory-context>"},
        tool_call("gitmem_search", "c1", query="x"),
        result("c1", "SECRET RECALL"),
        answer("hi <memory-context>SECRET RECALL</memory-context>"),
    ]
    [one] = transcript.turn("hello", "hi", messages)
    assert "SECRET" not in repr(one)
    assert [("gitmem_search", "", "")] == [(call.name, call.arguments, call.result) for call in one.calls]


def test_a_conversation_that_was_cut_is_not_stored_again() -> None:
    """After a compaction the list is another one: what is known is not told twice."""
    transcript = Transcript()
    messages = [user("one"), tool_call("terminal", "c1"), result("c1", "ok"), answer("1")]
    transcript.turn("one", "1", messages)
    transcript.reset()
    cut = [answer("[summary]"), user("three"), tool_call("terminal", "c1"), result("c1", "ok"), answer("3")]
    [one] = transcript.turn("three", "3", cut)
    assert ("three", "3", []) == (one.user, one.answer, one.calls)


def test_parts_of_a_message_are_joined() -> None:
    """Pictures are left out, their captions are not."""
    transcript = Transcript()
    first = [user("hello"), answer("hi")]
    transcript.turn("hello", "hi", first)
    content = [{"type": "text", "text": "look"}, {"type": "image_url", "image_url": {"url": "data:"}}]
    messages = [*first, {"role": "user", "content": content}, answer("a cat"), user("so"), answer("yes")]
    assert ["look", "so"] == [one.user for one in transcript.turn("so", "yes", messages)]


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


def test_undo_leaves_a_mark(home: HermesHome, begin: Begin) -> None:
    """The record of what was said stays; that it was taken back is said."""
    provider = begin("s1")
    messages: list[dict[str, Any]] = []
    turn(provider, messages, "one", "1")
    turn(provider, messages, "two", "2")
    provider.on_session_switch("s1", parent_session_id="", rewound=True)
    turn(provider, messages[:2], "three", "3")
    provider.settle()
    kinds = [kind for kind, _ in events(home)]
    assert ["turn", "turn", "observation", "turn"] == kinds


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
    """What the user said is taken up by the next start, with its session."""
    provider = begin("s1")
    provider.on_turn_start(1, "do something that never ends")
    keeper = provider._keeper
    assert keeper is not None
    provider._closed = True  # nobody shuts it down
    for journal in (keeper.notices._journal, keeper._buffers["s1"].journal):
        journal.close()
    begin("s2")
    begin("s3")
    assert ["do something that never ends"] == [fields["user"] for _, fields in events(home)]


# --- what must not happen --------------------------------------------------------------------------------


def test_nothing_is_written_for_another_context(home: HermesHome, begin: Begin) -> None:
    """Cron jobs and subagents never write to their parent's memory."""
    tip = home.bundle().tip
    home.write("changed by the host")
    provider = begin("s1", agent_context="cron")
    turn(provider, [], "one", "1")
    provider.on_memory_write("add", "memory", "x", metadata={})
    provider.on_delegation("a", "b")
    assert "" == provider.on_pre_compress([user("x")] * 20)
    assert "error" in json.loads(
        provider.handle_tool_call("gitmem_remember", {"kind": "memory", "text": "x"})
    )
    provider.shutdown()
    assert tip == home.bundle().tip
    assert "" != provider.system_prompt_block()


def test_schemas_before_initialize(bare_home: HermesHome) -> None:
    """Also in a home without anything, and with a broken configuration."""
    (bare_home.path / "config.yaml").write_text("a: [")
    names = [schema["name"] for schema in GitMemProvider().get_tool_schemas()]
    assert ["gitmem_search", "gitmem_recall", "gitmem_history", "gitmem_snapshot", "gitmem_remember"] == names
    assert all(
        set(schema) == {"name", "description", "parameters"} for schema in GitMemProvider().get_tool_schemas()
    )


def _drive(provider: Driver) -> None:
    """Every hook once."""
    assert provider.get_tool_schemas()
    assert "" == provider.system_prompt_block()
    provider.on_turn_start(1, "hello")
    assert "" == provider.prefetch("hello")
    provider.on_memory_write("add", "memory", "x", metadata={"session_id": "s1"})
    provider.sync_turn("hello", "hi", session_id="s1", messages=[user("hello"), answer("hi")])
    provider.queue_prefetch("hello")
    provider.on_delegation("task", "result")
    assert "" == provider.on_pre_compress([user("hello")])
    provider.on_session_switch("s2", parent_session_id="s1", reset=True)
    assert "error" in json.loads(provider.handle_tool_call("gitmem_search", {"query": "x"}))
    provider.on_session_end([])
    provider.shutdown()
    provider.shutdown()


def _deleted(home: HermesHome) -> None:
    shutil.rmtree(home.path / "gitmem")


def _without_git_dir(home: HermesHome) -> None:
    shutil.rmtree(home.home.git_dir)


def _without_branch(home: HermesHome) -> None:
    Path(home.home.git_dir, "refs/heads/main").unlink()


def _with_a_bad_setting(home: HermesHome) -> None:
    (home.path / "gitmem.yaml").write_text("no_such_setting: 1\n")


def _with_a_journal_that_is_a_file(home: HermesHome) -> None:
    journal = Path(home.home.git_dir, "gitmem/journal")
    shutil.rmtree(journal, ignore_errors=True)
    journal.write_text("in the way")


@pytest.mark.parametrize(
    "harm",
    [_deleted, _without_git_dir, _without_branch, _with_a_bad_setting, _with_a_journal_that_is_a_file],
)
def test_a_failed_start_leaves_hooks_that_do_nothing(
    bare_home: HermesHome, harm: Callable[[HermesHome], None]
) -> None:
    """One line for the user, the error kept for `status`, and every hook returns."""
    bare_home.install()
    harm(bare_home)
    provider = Driver()
    provider.initialize(
        "s1", hermes_home=str(bare_home.path), platform="cli", warning_callback=provider.warned.append
    )
    _drive(provider)
    assert 1 == len(provider.warned), provider.warned
    assert provider.warned[0].startswith("gitmem: This session runs without versioned memory: ")
    assert "Traceback" not in provider.warned[0]
    assert "bug" not in provider.warned[0]
    assert provider.error
    assert provider.error in Path(bare_home.home.trouble).read_text()


def test_a_bundle_that_is_in_use_blocks_no_hook(home: HermesHome, begin: Begin) -> None:
    """Another process holds the lock: hooks return while it does, tools say `queued`, the journal keeps it all."""
    provider = begin("s1")
    lock = BundleLock(home.bundle().state_dir)
    with lock.hold("a long gc"):
        turn(provider, [], "one", "1")
        provider.on_memory_write("add", "memory", "x", metadata={})
        provider.on_session_end([])
        text = provider.handle_tool_call("gitmem_remember", {"kind": "decision", "text": "Use tabs"})
        assert "queued" == json.loads(text)["status"]
        assert "prefers tabs" in provider.on_pre_compress([user("I prefer tabs.")] * 10)
        provider.shutdown()
        assert pending_count(home.bundle().journal_dir) >= 1
    provider.settle()  # the worker goes on as soon as it can
    assert "turn" in [kind for kind, _ in events(home)]


def test_a_full_disk_is_told_and_stops_nothing(
    home: HermesHome, begin: Begin, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The journal can not be written: one line, and the session goes on."""
    provider = begin("s1")

    def full(*_: object) -> int:
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr("gitmem.memory.journal.write_all", full)
        turn(provider, [], "lost", "lost too")
    provider.on_turn_start(2, "next")
    assert any("No space left" in line for line in provider.warned)
    turn(provider, [], "two", "2")
    provider.settle()
    assert ["two"] == [fields["user"] for _, fields in events(home)]


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write anywhere")
def test_a_read_only_home(bare_home: HermesHome) -> None:
    """Told in one line."""
    bare_home.install()
    for directory in (bare_home.home.git_dir, str(bare_home.path)):
        os.chmod(directory, 0o555)
    provider = Driver()
    try:
        provider.initialize("s1", hermes_home=str(bare_home.path), warning_callback=provider.warned.append)
        _drive(provider)
    finally:
        for directory in (bare_home.home.git_dir, str(bare_home.path)):
            os.chmod(directory, 0o755)
    assert provider.warned


def test_an_older_shim_is_told(home: HermesHome) -> None:
    """It works all the same."""
    provider = Driver()
    provider._shim = 0
    provider.initialize("s1", hermes_home=str(home.path), warning_callback=provider.warned.append)
    provider.on_turn_start(1, "hi")
    assert ["gitmem: The plugin files of gitmem are of an older version: run `gitmem hermes install`."] == [
        line for line in provider.warned if "older" in line
    ]
    provider.shutdown()


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
    assert "gitmem_revert" not in first


def test_since_the_last_session(home: HermesHome, begin: Begin) -> None:
    """A restore and a person's edit are told in a line each, without anybody's text."""
    from gitmem.memory.restore import restore

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
    restore(bundle, "good", origin=bundle.origin())
    block = begin("s3").system_prompt_block()
    assert "Since your last session here:\n- " in block
    assert "put back to an earlier state" in block
    assert "Ignore nothing" not in block


# --- tools -----------------------------------------------------------------------------------------------


def use(provider: Driver, name: str, /, **arguments: Any) -> dict[str, Any]:
    answered = provider.handle_tool_call(name, arguments)
    assert isinstance(answered, str)
    found = json.loads(answered)
    assert isinstance(found, dict)
    return found


def test_remember_a_decision_and_a_fact(home: HermesHome, begin: Begin) -> None:
    """With reason and source in the commit; a fact is in the agent's own file at once."""
    provider = begin("s1")
    assert use(provider, "gitmem_remember", kind="decision", text="Use PostgreSQL", reason="joins")["success"]
    kept = use(
        provider, "gitmem_remember", kind="memory", text="CI runs on Fridays", reason="told so", source="ada"
    )
    assert kept["success"]
    assert ["CI runs on Fridays"] == home.entries()
    entry = next(one for one in home.log() if one.kind == "memory")
    assert ("s1", "told so", "ada") == (entry.session, entry.first("Reason"), entry.first("Source"))
    assert any(path.startswith("decisions/use-postgresql") for path in home.bundle().list_concepts())


def test_history_and_snapshot(home: HermesHome, begin: Begin) -> None:
    """Log, diff and blame of entries; a name for the present."""
    provider = begin("s1")
    use(provider, "gitmem_remember", kind="memory", text="alpha", reason="because")
    assert "good" == use(provider, "gitmem_snapshot", name="good", note="all well")["snapshot"]
    use(provider, "gitmem_remember", kind="memory", text="beta")
    log = use(provider, "gitmem_history", action="log", limit=3)["commits"]
    assert "memory: add beta" == log[0]["subject"]
    changed = use(provider, "gitmem_history", action="diff", since="good", path="memories")["changes"]
    assert [("add", "beta")] == [(one["op"], one["new"]) for one in changed]
    [blamed] = use(provider, "gitmem_history", action="blame", text="alpha")["entries"]
    assert "because" in json.dumps(blamed)


def test_the_model_can_not_take_back_unless_configured(
    home: HermesHome, begin: Begin, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It must not be talked into erasing memory."""
    provider = begin("s1")
    use(provider, "gitmem_remember", kind="memory", text="alpha")
    commit = use(provider, "gitmem_history", action="log", limit=1)["commits"][0]["commit"]
    assert "error" in use(provider, "gitmem_revert", commit=commit, reason="x")
    monkeypatch.setenv("GITMEM_UNDO_TOOLS", "true")
    allowed = begin("s2")
    assert "gitmem_revert" in [schema["name"] for schema in allowed.get_tool_schemas()]
    assert use(allowed, "gitmem_revert", commit=commit, reason="the user asked")["success"]
    assert [] == home.entries() == home.curated()


def test_a_tool_that_is_asked_wrongly_says_so(home: HermesHome, begin: Begin) -> None:
    """A sentence, never an exception."""
    provider = begin("s1")
    for name, arguments in (
        ("gitmem_search", {}),
        ("gitmem_history", {"action": "burn"}),
        ("gitmem_history", {"action": "diff", "since": "never"}),
        ("gitmem_remember", {"kind": "poem", "text": "x"}),
        ("gitmem_nothing", {}),
        ("gitmem_snapshot", {"name": "../x"}),
    ):
        assert set(use(provider, name, **arguments)) == {"error"}
    assert "error" in json.loads(provider.handle_tool_call("gitmem_search", None))


@pytest.mark.parametrize(("mode", "searching"), [("context", False), ("tools", True), ("hybrid", True)])
def test_the_recall_mode_chooses_tools(
    home: HermesHome, begin: Begin, monkeypatch: pytest.MonkeyPatch, mode: str, searching: bool
) -> None:
    """context: injected; tools: only tools; hybrid: both."""
    monkeypatch.setenv("GITMEM_RECALL_MODE", mode)
    provider = begin("s1")
    use(provider, "gitmem_remember", kind="decision", text="Use PostgreSQL for billing", reason="joins")
    provider.shutdown()
    again = begin("s2")
    names = [schema["name"] for schema in again.get_tool_schemas()]
    assert searching == ("gitmem_search" in names)
    recalled = again.prefetch("which database did we choose for billing, PostgreSQL?")
    assert (mode != "tools") == ("PostgreSQL" in recalled)


def test_search_finds_and_finds_as_of(home: HermesHome, begin: Begin) -> None:
    """What was removed is found as of then."""
    provider = begin("s1")
    use(provider, "gitmem_remember", kind="memory", text="The staging port is 8443")
    use(provider, "gitmem_snapshot", name="then")
    home.write("something else")
    provider.compare()
    assert [] == use(provider, "gitmem_search", query="staging port")["hits"]
    [hit] = use(provider, "gitmem_search", query="staging port", as_of="then")["hits"]
    assert "8443" in hit["text"]


def test_recall_tells_earlier_sessions(home: HermesHome, begin: Begin) -> None:
    """Which session, and what was said."""
    provider = begin("s1")
    turn(provider, [], "how do we deploy the billing service?", "with make deploy")
    provider.shutdown()
    [found] = use(begin("s2"), "gitmem_recall", query="deploy billing")["sessions"]
    assert "s1" == found["session"]
    assert "make deploy" in json.dumps(found)
