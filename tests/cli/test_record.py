"""`gitmem record`, `session` and `plan`: events from a shell and from other programs."""

from __future__ import annotations

import io
import json
import os
import sys
from types import SimpleNamespace

import pytest
from gitmem.config import Config
from gitmem.memory.opening import open_bundle
from gitmem.world import World

from tests.cli.conftest import Cli


def feed(monkeypatch: pytest.MonkeyPatch, *lines: object) -> None:
    """Give these lines on standard input, as they are or as JSON."""
    data = b"".join(
        (line if isinstance(line, bytes) else json.dumps(line).encode()) + b"\n" for line in lines
    )
    monkeypatch.setattr(sys, "stdin", SimpleNamespace(buffer=io.BytesIO(data), isatty=lambda: False))


def events(cli: Cli, session: str) -> list[tuple[str, str]]:
    """Kind and first field of each event of a session, from the files."""
    found = []
    for path in sorted(cli.cwd.glob(f"sessions/*/*/{session}/*.md")):
        for block in path.read_text().split("\n## ")[1:]:
            kind = block.split("\n")[0].rpartition(" ")[2]
            found.append((kind, block.split("\n> ")[1].split("\n")[0]))
    return found


def test_each_kind_is_committed_when_the_command_returns(mem: Cli) -> None:
    """Observation, decision, tool call and turn go into the session that is open."""
    mem("session", "start", "s1")
    mem("record", "observation", "the build needs node 20", "--category", "Environment")
    mem("record", "decision", "use Postgres", "--rationale", "JSON", "--tag", "db", "--tag", "prod")
    mem("record", "tool-call", "terminal", "--args", "ls", "--result", "x" * 900)
    mem("record", "turn", "--user", "hello", "--assistant", "hi")
    assert sorted(events(mem, "s1")) == [
        ("decision", "use Postgres"),
        ("observation", "the build needs node 20"),
        ("tool_call", "terminal"),
        ("turn", "hello"),
    ]
    assert mem.git("log", "-1", "--format=%(trailers:key=Trigger,valueonly)").strip() == "explicit"
    assert mem.git("status", "--porcelain") == ""
    [decision] = mem.cwd.glob("decisions/use-postgres_*.md")
    assert "db" in decision.read_text()
    shown = mem("show", "s1", "--json").json
    assert len(shown["commits"]) == 4
    assert "use Postgres" in json.dumps(shown["changes"])


def test_starting_a_session_is_no_commit(mem: Cli) -> None:
    """The first command that commits in it makes its page, with what `start` was given; no journal is left."""
    tip = mem.git("rev-parse", "HEAD")
    mem("session", "start", "s1", "--title", "About tabs", "--model", "m1")
    assert tip == mem.git("rev-parse", "HEAD")
    assert not list((mem.cwd / ".git/gitmem/journal").glob("*"))
    assert "s1" == mem("show", "s1", "--json").json["session"]
    mem("record", "observation", "the build needs node 20")
    [page] = mem.cwd.glob("sessions/*/*/s1.md")
    assert "title: About tabs" in page.read_text()
    assert "model: m1" in page.read_text()
    assert "s1 started" in (mem.cwd / "log.md").read_text()
    mem("session", "end")
    assert "status: closed" in page.read_text()
    assert 2 == len(mem.git("rev-list", f"{tip.strip()}..HEAD").split())


def test_where_events_go(mem: Cli) -> None:
    """`--session`, then $GITMEM_SESSION, then the open session, then today's."""
    mem("record", "observation", "one")
    mem("session", "start", "open-one")
    mem("record", "observation", "two")
    mem.env["GITMEM_SESSION"] = "from-env"
    mem("record", "observation", "three")
    mem("record", "observation", "four", "--session", "named")
    found = {name: events(mem, name) for name in ("daily-laptop-2026-06-30", "open-one", "from-env", "named")}
    assert [[text for _, text in found[name]] for name in found] == [["one"], ["two"], ["three"], ["four"]]


def test_json_lines_from_another_program(mem: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    """Kinds, sessions and times are taken from the lines; all of it is one commit."""
    before = mem.git("rev-list", "--count", "HEAD").strip()
    feed(
        monkeypatch,
        {"content": "no kind"},
        {"_kind": None, "content": "no kind either", "category": "Note"},
        {"_kind": "turn", "user": "q", "assistant": "a", "session": "s2"},
        b"",
        {"_kind": "tool_call", "tool_name": "t", "args": {"a": 1}, "timestamp": "2026-01-02T03:04:05+02:00"},
        {"content": "back", "session": ""},
        {"content": "odd names", "self": "x", "kind": "y", "_session": "z"},
    )
    told = mem("record", "--stdin", "--session", "s1", "--json").json
    assert (told["recorded"], told["skipped"], told["problems"]) == (6, 0, [])
    assert [kind for kind, _ in events(mem, "s1")] == ["observation"] * 2 + ["tool_call"] + [
        "observation"
    ] * 2
    assert events(mem, "s2") == [("turn", "q")]
    [part] = mem.cwd.glob("sessions/2026-06/30/s1/*.md")
    assert "## 2026-01-02T01:04:05.000Z tool_call" in part.read_text()
    assert int(mem.git("rev-list", "--count", "HEAD").strip()) == int(before) + 1


def test_a_bad_line_is_told_with_its_number_and_the_rest_goes_on(
    mem: Cli, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Broken JSON, bad bytes, unknown kinds, wrong times, depth without end: each costs its own line only."""
    bad: list[object] = [
        b"{not json",
        b"[1, 2]",
        b"\xff\xfe",
        {"_kind": "dream", "content": "x"},
        {"content": "   "},
        {"_kind": "decision"},
        {"_kind": "tool_call", "result": "x"},
        {"content": "x", "timestamp": "yesterday"},
        b"[" * 100_000,
        b'{"content": "x", "a": ' + b"[" * 100_000,
    ]
    feed(monkeypatch, {"content": "first"}, *bad, {"content": "last"})
    result = mem("record", "--stdin", "--session", "s1", "--json", code=1)
    told = result.json
    assert told["recorded"] == 2
    assert [problem.split(" is left out")[0] for problem in told["problems"]] == [
        f"Line {number}" for number in range(2, 12)
    ]
    assert "observation, decision, tool_call, turn" in told["problems"][3]
    assert "10 of 12 lines were left out" in result.err
    assert [text for _, text in events(mem, "s1")] == ["first", "last"]


def test_many_lines_are_flushed_as_they_come(mem: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    """A long stream does not wait for its end: every fifty events are a commit."""
    feed(monkeypatch, *[{"content": f"event {number}"} for number in range(120)])
    mem("record", "--stdin", "--session", "s1")
    triggers = mem.git("log", "-3", "--format=%(trailers:key=Trigger,valueonly)").split()
    assert triggers == ["explicit", "buffer-max", "buffer-max"]
    assert len(events(mem, "s1")) == 120


def test_what_the_settings_leave_out_is_said(mem: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    """`log_tool_calls: false` holds on the command line and for lines from outside."""
    mem.env["GITMEM_LOG_TOOL_CALLS"] = "false"
    mem.env["GITMEM_LOG_DECISIONS"] = "false"
    tip = mem.git("rev-parse", "HEAD")
    assert "settings leave out" in mem("record", "tool-call", "t").out
    assert mem("record", "decision", "d", "--json").json["event"] is None
    assert mem.git("rev-parse", "HEAD") == tip
    feed(monkeypatch, {"_kind": "tool_call", "tool_name": "t"}, {"content": "kept"})
    told = mem("record", "--stdin", "--session", "s1", "--json").json
    assert (told["recorded"], told["skipped"]) == (1, 1)
    assert events(mem, "s1") == [("observation", "kept")]


def test_a_dead_writers_events_come_first(mem: Cli) -> None:
    """The next write of anybody commits what was left, and says so."""
    from gitmem.memory.capture.buffer import HotMemoryBuffer

    bundle = open_bundle(World(os.environ, clock=lambda: mem.now), str(mem.cwd), "as is", config=Config())
    buffer = HotMemoryBuffer(bundle, "dead")
    buffer.push(content="left behind")
    buffer.abandon()
    result = mem.run("record", "observation", "new", "--session", "s1")
    assert result.code == 0
    assert "Recovered 1 event" in result.err
    assert events(mem, "dead") == [("observation", "left behind")]
    kinds = mem.git("log", "-2", "--format=%(trailers:key=Kind,valueonly)").split()
    assert kinds == ["flush", "recover"]


def test_plans_on_the_command_line(mem: Cli) -> None:
    """Create, a step with its result, complete: the plan is in the archive as it stood."""
    mem("plan", "create", "Move the server", "copy data", "switch DNS")
    mem("plan", "step", "move-the-server", "2", "--result", "done early")
    assert mem("plan", "list", "--json").json["plans"][0]["done_count"] == 1
    again = mem.run("plan", "step", "move-the-server", "2")
    assert "Step 2 was done already; nothing was changed." in again.err
    assert "switch DNS: done early" in again.out
    completed = mem.run("plan", "complete", "move-the-server", "--json")
    assert "Move the server is finished with open steps: 1." in completed.err
    done = completed.json
    assert done["archived"] is True
    assert mem("plan", "list").out == "There is no open plan.\n"
    assert mem("plan", "list", "--all").out.endswith("archived\n")
    assert "no plan 'other'" in mem.fails("plan", "step", "other", "1")
    assert mem.git("log", "-1", "--format=%(trailers:key=Trigger,valueonly)").strip() == "plan-complete"


def test_one_side_of_a_turn_is_enough(gitmem: Cli) -> None:
    """A question without an answer is a turn; neither of them is none."""
    gitmem.init()
    gitmem("record", "turn", "--user", "Are the tomatoes ripe?")
    assert "[user] Are the tomatoes ripe?" in gitmem("search", "tomatoes", "--json").json["hits"][0]["text"]
    assert "--assistant" in gitmem.fails("record", "turn", code=2)


def test_record_says_that_it_redacted_a_secret(mem: Cli) -> None:
    """Whoever records a secret reads that it was not kept; the text has a marker in its place."""
    result = mem.run("record", "observation", "the card is 4242 4242 4242 4242", "--session", "s1")
    assert "A secret in what was recorded in session s1 is redacted." in result.err
    assert "4242 4242" not in mem.run("search", "card").out


def test_starting_a_session_says_what_it_meets(mem: Cli) -> None:
    """One that is there goes on, one that is open stays open until it is ended by its name; an empty id is refused."""
    mem("session", "start", "none")
    assert "still open" not in mem.run("session", "start", "one").err
    mem("record", "observation", "something")
    second = mem.run("session", "start", "two")
    assert "one is still open: `gitmem session end one` ends it." in second.err
    assert "one ended\n" == mem("session", "end", "one").out
    assert "two was there already and goes on." in mem.run("session", "start", "two").err
    assert "cannot be empty" in mem.fails("session", "start", "", code=2)


def test_a_declared_source_marks_no_decision_of_another_call(mem: Cli) -> None:
    """Of the daily session, of the next process and of this one."""
    mem("remember", "Ports are listed online", "--source", "https://docs.example/ports")
    mem("record", "decision", "Use Kafka", "--rationale", "we like it")
    told = mem("search", "Kafka").out
    assert "Use Kafka" in told
    assert "unconfirmed" not in told
