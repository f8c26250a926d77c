"""The protocol: handshake, lists, cancellation, and what a client does wrong."""

from __future__ import annotations

import json
import subprocess
import sys
import threading
from pathlib import Path

import gitmem
import pytest
from gitmem.hosts.mcp import wire
from gitmem.hosts.mcp.catalogue import INSTRUCTIONS, VERSIONS
from gitmem.hosts.mcp.connection import Connection
from gitmem.hosts.tools.calls import ToolAnswer
from gitmem.hosts.tools.table import TOOLS, offered

from tests.hosts.mcp.client import Inside, Process, text_of
from tests.hosts.mcp.conftest import Connect, Place

HOME = Path(gitmem.__file__).parents[1]


@pytest.mark.parametrize("version", VERSIONS)
def test_a_client_gets_the_version_that_it_asks_for(connect: Connect, version: str) -> None:
    """From the first to the last that there is by handshake."""
    client = connect(begun=False)
    assert version == client.ask("initialize", protocolVersion=version)["protocolVersion"]


def test_a_newer_client_falls_back(connect: Connect) -> None:
    """It looks for a newer protocol first, and is told that there is none."""
    client = connect(begun=False)
    assert wire.NO_METHOD == client.error("server/discover")[0]
    begun = client.ask("initialize", protocolVersion="2026-07-28", clientInfo={"name": "new"})
    assert VERSIONS[-1] == begun["protocolVersion"]
    assert {"tools", "prompts"} == begun["capabilities"].keys()


def test_the_lists(client: Inside) -> None:
    """Tools and prompts; undo is not among them."""
    names = [tool["name"] for tool in client.ask("tools/list")["tools"]]
    assert [
        "search",
        "fetch",
        "recall",
        "remember",
        "revise",
        "note",
        "history",
        "diff",
        "snapshot",
        "skills",
    ] == names
    assert ["brief", "why", "handoff", "tidy", "review"] == [
        prompt["name"] for prompt in client.ask("prompts/list")["prompts"]
    ]


def test_tools_alone(connect: Connect) -> None:
    """For a host that makes more tools of prompts."""
    client = connect(begun=False, tools_only=True)
    assert ["tools"] == list(client.begin("mcp")["capabilities"])
    assert wire.NO_METHOD == client.error("prompts/list")[0]
    assert wire.NO_METHOD == client.error("prompts/get", name="brief")[0]
    assert client.ask("tools/list")["tools"]


def test_what_a_model_reads_is_small() -> None:
    """Clients cut what is longer, and every session pays for it."""
    sizes = {row.name: len(json.dumps(row.without_past().for_mcp())) for row in offered("mcp", undo=True)}
    assert max(sizes.values()) <= 2048
    assert sum(sizes.values()) <= 6 * 1024
    assert len(INSTRUCTIONS) <= 500
    assert all(len(json.dumps(row.for_model())) <= 2048 for row in TOOLS.values())


def test_the_hints() -> None:
    """Who only reads says so; who takes something away says so."""
    hints = {row.name: row.for_mcp()["annotations"] for row in offered("mcp", undo=True)}
    reading = {name for name, told in hints.items() if told.get("readOnlyHint")}
    assert {"search", "fetch", "recall", "history", "diff", "skills"} == reading
    assert {"revise", "undo"} == {name for name, told in hints.items() if told.get("destructiveHint")}
    assert hints["remember"]["idempotentHint"]
    assert TOOLS["undo"].for_mcp()["_meta"] == {"anthropic/requiresUserInteraction": True}


def test_no_tool_accepts_what_waits() -> None:
    """What waits for a person waits for a person."""
    words = ("accept", "approve", "release", "quarantine", "confirmed")
    told = json.dumps([row.for_mcp() for row in TOOLS.values()]).lower()
    assert [] == [word for word in words if word in told]


# --- what takes long, and what nobody wants any more -----------------------------------------------------


class Gate:
    """Makes every call of one tool wait until a test lets it go on."""

    def __init__(self, patch: pytest.MonkeyPatch, tool: str) -> None:
        self.reached, self.open = threading.Event(), threading.Event()
        call = Connection.call

        def waiting(connection: Connection, name: str, arguments: dict[str, object]) -> ToolAnswer:
            if name == tool:
                self.reached.set()
                assert self.open.wait(120)
            return call(connection, name, arguments)

        patch.setattr(Connection, "call", waiting)


def test_a_ping_waits_for_nobody(client: Inside, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nor does a list, while a call is under way."""
    gate = Gate(monkeypatch, "history")
    slow = client.post("tools/call", name="history")
    assert gate.reached.wait(120)
    assert {} == client.ask("ping")
    assert client.ask("tools/list")["tools"]
    gate.open.set()
    assert "result" in client.answer(slow)


def test_a_cancelled_call_is_not_answered(
    client: Inside, place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Neither the one under way nor one that waits, which then does nothing."""
    gate = Gate(monkeypatch, "history")
    slow = client.post("tools/call", name="history")
    assert gate.reached.wait(120)
    waiting = client.post("tools/call", name="remember", arguments={"text": "never"})
    for ident in (slow, waiting, "nobody"):
        client.tell({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": ident}})
    assert {} == client.ask("ping")
    gate.open.set()
    assert "kept" in client.use("remember", text="kept, not cancelled").lower()
    assert [] == [one for one in client.heard if one.get("id") in (slow, waiting)]
    assert ["kept, not cancelled"] == place.curated()


# --- bad input -------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("line", "code"),
    [
        (b"{", wire.PARSE_ERROR),
        (b"\xff\xfe{}", wire.PARSE_ERROR),
        (b"[" * 100_000, wire.PARSE_ERROR),
        (b"[]", wire.INVALID_REQUEST),
        (b"7", wire.INVALID_REQUEST),
        (b'{"id": 1, "method": "ping"}', wire.INVALID_REQUEST),
        (b'{"jsonrpc": "2.0", "id": 1}', wire.INVALID_REQUEST),
        (b'{"jsonrpc": "2.0", "id": null, "method": "ping"}', wire.INVALID_REQUEST),
        (b'{"jsonrpc": "2.0", "id": true, "method": "ping"}', wire.INVALID_REQUEST),
        (b'{"jsonrpc": "2.0", "id": [1], "method": "ping"}', wire.INVALID_REQUEST),
        (b'{"jsonrpc": "2.0", "id": 1, "method": 7}', wire.INVALID_REQUEST),
        (b'{"jsonrpc": "2.0", "id": 1, "method": "ping", "params": [1]}', wire.INVALID_PARAMS),
        (b'{"jsonrpc": "2.0", "id": 1, "method": "burn"}', wire.NO_METHOD),
        (b'{"jsonrpc": "2.0", "id": 1, "method": "tools/call"}', wire.INVALID_PARAMS),
        (
            b'{"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": "burn"}}',
            wire.INVALID_PARAMS,
        ),
        (
            b'{"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": "search", "arguments": 7}}',
            wire.INVALID_PARAMS,
        ),
        (
            b'{"jsonrpc": "2.0", "id": 1, "method": "prompts/get", "params": {"name": "why"}}',
            wire.INVALID_PARAMS,
        ),
        (
            b'{"jsonrpc": "2.0", "id": 1, "method": "resources/read", "params": {"uri": "file:///etc/passwd"}}',
            wire.NO_METHOD,
        ),
        (b'[{"jsonrpc": "2.0", "id": 1, "method": "ping"}]', wire.INVALID_REQUEST),
    ],
)
def test_a_bad_message_gets_an_error_and_the_server_goes_on(client: Inside, line: bytes, code: int) -> None:
    client.send(line + b"\n")
    assert code == client.receive()["error"]["code"]
    assert {} == client.ask("ping")


def test_what_needs_no_answer_gets_none(client: Inside) -> None:
    """Answers to questions that nobody asked, notifications that nobody knows, empty lines."""
    client.send(b"\n  \n")
    client.tell({"jsonrpc": "2.0", "id": 1, "result": {}})
    client.tell({"jsonrpc": "2.0", "method": "notifications/roots/list_changed"})
    client.tell({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": {}}})
    assert {} == client.ask("ping")
    assert [] == client.heard


def test_nothing_before_the_handshake(connect: Connect) -> None:
    """But a ping."""
    client = connect(begun=False)
    assert {} == client.ask("ping")
    for method in ("tools/list", "tools/call", "prompts/get"):
        code, told = client.error(method)
        assert (wire.INVALID_REQUEST, True) == (code, "initialize" in told)


def test_an_id_that_is_in_use(client: Inside, monkeypatch: pytest.MonkeyPatch) -> None:
    """The second is refused; 1 and "1" are two, and later it may be used again."""
    gate = Gate(monkeypatch, "history")
    request = {"jsonrpc": "2.0", "id": 900, "method": "tools/call", "params": {"name": "history"}}
    client.tell(request)
    assert gate.reached.wait(120)
    client.tell(request)
    assert "under way" in client.answer(900)["error"]["message"]
    client.tell({"jsonrpc": "2.0", "id": "900", "method": "ping"})
    assert {} == client.answer("900")["result"]
    gate.open.set()
    assert "result" in client.answer(900)
    client.tell(request)
    assert "result" in client.answer(900)


def test_a_very_long_argument(client: Inside) -> None:
    """Ten megabytes get one sentence that names the limit."""
    told = client.fail("remember", text="x" * 10 * 2**20)
    assert "10,485,760" in told
    assert "2,200" in told
    assert {} == client.ask("ping")


def test_a_line_that_is_too_long(client: Inside, monkeypatch: pytest.MonkeyPatch) -> None:
    """It is not read, and what follows it is."""
    monkeypatch.setattr(wire, "_LONGEST_LINE", 100_000)
    client.send(b'{"jsonrpc": "' + b"x" * 300_000 + b'"}\n')
    assert "too long" in client.receive()["error"]["message"]
    assert {} == client.ask("ping")


@pytest.mark.parametrize(
    ("tool", "arguments", "named"),
    [
        ("search", {"query": 7}, "query"),
        ("search", {"query": None}, "query"),
        ("search", {"query": "x", "limit": "many"}, "limit"),
        ("search", {"query": "x", "removed": "yes"}, "removed"),
        ("search", {"query": "x", "as_of": "yesterday"}, "as_of"),
        ("search", {"query": "x", "colour": "red"}, "colour"),
        ("search", {"query": "\ud800"}, "query"),
        ("remember", {"text": "  "}, "text"),
        ("remember", {"text": "x", "kind": "poem"}, "kind"),
        ("remember", {"text": "x", "kind": "decision", "tags": "db"}, "tags"),
        ("remember", {"text": "x", "kind": "decision", "tags": [7]}, "tags"),
        ("remember", {"text": "x", "kind": "decision", "here_only": True}, "fact"),
        ("revise", {"id": "nothing", "why": "x", "remove": True}, "nothing"),
        ("fetch", {"id": "../outside.md"}, "../outside.md"),
        ("fetch", {"id": "x", "level": "whole"}, "level"),
        ("recall", {"around": "x"}, "around"),
        ("recall", {"session": "never"}, "never"),
        ("diff", {"a": "never"}, "never"),
        ("history", {"id": "no/such/file.md"}, "no/such/file.md"),
        ("snapshot", {"name": "../x"}, "x"),
    ],
)
def test_a_tool_that_is_asked_wrongly(
    client: Inside, tool: str, arguments: dict[str, object], named: str
) -> None:
    """A sentence that names what is wrong, which the model reads."""
    told = client.fail(tool, **arguments)
    assert named in told
    assert "\n" not in told


# --- the start -------------------------------------------------------------------------------------------

STARTED = """
import sys
before = set(sys.modules)
sys.argv[1:] = ["-C", "nowhere", "mcp"]
from gitmem.__main__ import main
main()
sys.stderr.write(" ".join(sorted(set(sys.modules) - before)))
"""


def test_a_start_loads_next_to_nothing() -> None:
    """Until the first call: a client waits for it, and some give up."""
    asked = [
        {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {}},
        {"jsonrpc": "2.0", "id": 2, "method": "tools/list"},
        {"jsonrpc": "2.0", "id": 3, "method": "prompts/list"},
    ]
    done = subprocess.run(
        [sys.executable, "-I", "-S", "-c", f"import sys; sys.path[:0] = {[str(HOME)]!r}\n{STARTED}"],
        input="".join(json.dumps(one) + "\n" for one in asked),
        capture_output=True,
        text=True,
        check=True,
    )
    assert [1, 2, 3] == [json.loads(line)["id"] for line in done.stdout.splitlines()]
    ours = {name for name in done.stderr.split() if name.startswith("gitmem.") and name.count(".") > 1}
    assert {
        "gitmem.hosts.mcp",
        "gitmem.hosts.mcp.catalogue",
        "gitmem.hosts.mcp.server",
        "gitmem.hosts.mcp.wire",
        "gitmem.hosts.tools",
        "gitmem.hosts.tools.table",
    } == ours
    heavy = {
        "click",
        "dataclasses",
        "dulwich",
        "inspect",
        "logging",
        "sqlite3",
        "threading",
        "typing",
        "yaml",
    }
    assert set() == heavy & set(done.stderr.split())


# --- processes -------------------------------------------------------------------------------------------


def test_a_process(place: Place) -> None:
    """As a client starts it: protocol on standard output, and nothing else anywhere."""
    with Process("-C", str(place.root), "mcp", "--allow-undo", env=place.env) as client:
        client.begin()
        assert "undo" in [tool["name"] for tool in client.ask("tools/list")["tools"]]
        assert "Kept" in client.use("remember", text="The port is 8443")
        assert 0 == client.close()
    assert ["The port is 8443"] == place.curated()


def test_half_a_line_at_the_end(place: Place) -> None:
    """A client that dies while it writes: an error that nobody reads, and a proper end."""
    with Process("-C", str(place.root), "mcp", env=place.env) as client:
        client.begin()
        client.use("remember", text="kept before")
        client.send(b'{"jsonrpc": "2.0", "id": 9, "meth')
        assert client.process.stdin is not None
        client.process.stdin.close()
        assert wire.PARSE_ERROR == client.receive()["error"]["code"]
        assert 0 == client.process.wait(120)
    assert ["kept before"] == place.curated()


def test_a_client_that_goes_away_in_the_middle_of_a_call(place: Place) -> None:
    """What it asked for is done, and its session is closed."""
    with Process("-C", str(place.root), "mcp", env=place.env) as client:
        client.begin()
        client.post("tools/call", name="remember", arguments={"text": "asked for and gone"})
        assert client.process.stdin is not None
        assert client.process.stdout is not None
        client.process.stdout.close()
        client.process.stdin.close()
        assert 0 == client.process.wait(120)
    assert ["asked for and gone"] == place.curated()
    assert [] == [state.id for state in place.memory.sessions.all() if state.status != "closed"]


@pytest.mark.parametrize("sign", [15, 9])
def test_a_server_that_is_killed_loses_nothing(place: Place, sign: int) -> None:
    """What was acknowledged is in the journal; the next one commits it in its client's name, and the session is over."""
    with Process("-C", str(place.root), "mcp", env=place.env) as client:
        client.begin()
        client.use("remember", text="Use tabs", kind="decision", why="habit")
        client.process.send_signal(sign)
        assert client.process.wait(120)
    with Process("-C", str(place.root), "mcp", env=place.env) as client:
        client.begin("claude")
        assert "Use tabs" in client.use("search", query="tabs")
        assert 0 == client.close()
    [decision] = [path for path in place.memory.list_concepts() if path.startswith("decisions/")]
    assert "use-tabs" in decision
    assert ["codex/1.2"] == [one.agent for one in place.memory.log(path=decision)]
    assert {"closed"} == {state.status for state in place.memory.sessions.all()}


def test_a_client_that_does_not_wait_for_the_end(place: Place) -> None:
    """Some close their end, or do not, and ask again and again: the last commit is made all the same."""
    for closes in (True, False):
        with Process("-C", str(place.root), "mcp", env=place.env) as client:
            client.begin()
            client.use("remember", text=f"Use tabs, {closes}", kind="decision")
            assert client.process.stdin is not None
            if closes:
                client.process.stdin.close()
            while client.process.poll() is None:
                client.process.terminate()
            # The last: when all is done and the interpreter goes, it hands signals back.
            assert client.process.returncode in (0, 143, -15)
    assert ["closed", "closed"] == [state.status for state in place.memory.sessions.all()]


def test_without_a_bundle(tmp_path: Path, place: Place) -> None:
    """The tools are listed all the same, and each says what to do."""
    empty = tmp_path / "empty"
    empty.mkdir()
    with Process("mcp", env={**place.env, "HOME": str(empty)}, cwd=str(empty)) as client:
        client.begin()
        assert client.ask("tools/list")["tools"]
        assert "gitmem init" in client.fail("search", query="x")
        assert wire.INTERNAL_ERROR == client.error("prompts/get", name="brief")[0]
        assert "gitmem init" in text_of(client.call("remember", text="x"))
        assert 0 == client.close()
