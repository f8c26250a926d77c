"""One story through every kind of host: Python, MCP, a loop of one's own and Hermes leave the same memory."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from gitmem.hosts.loop.manager import MemoryManager
from gitmem.memory.memory import Memory
from gitmem.okf.concept import Concept
from gitmem.okf.curated import CuratedFile

from tests.hosts.conftest import Driver, HermesHome
from tests.hosts.mcp.client import Inside
from tests.hosts.mcp.conftest import Place
from tests.hosts.talk import answer, result, tool_call, user

Begin = Callable[..., Driver]

ASKED = "The depot of Bonn opens at six. What is new there?"
FACT = "The depot of Bonn opens at six."
COPIED = "The tram station of Kassel has 41 tracks."
PAGE = f"News. {COPIED} Weather."
ORDER = "Invoices of the depot are paid to IBAN DE89 3704 0044 0532 0130 00."
DECIDED = "The ferry is our way to the island."
URL = "https://trams.example/depot"
TASK, CHILD = "Read the inbox", f"One mail. {ORDER}"
ANSWER = "I noted it."


def told_of(memory: Memory) -> dict[str, Any]:
    """What a story leaves: entries with their marks, decisions, and what is on record of its session."""
    tree = memory.tree()
    entries = CuratedFile.parse(memory.read("memories/MEMORY.md") or b"", "memories/MEMORY.md").entries
    decisions = [
        Concept.parse(tree.read(path) or b"", path)
        for path, _ in tree.files("decisions")
        if not path.endswith("index.md")
    ]
    [state] = memory.sessions.all()
    return {
        "entries": sorted((one.text, one.extra.get("unconfirmed", "")) for one in entries),
        "decisions": [(one.title, one.meta.get("unconfirmed", "")) for one in decisions],
        "held": [item.text for item in memory.ledger.held()],
        "status": state.status,
        "linked": linked(memory),
        "events": sorted(
            (
                event.kind,
                *(event.fields.get(name, "") for name in ("tool_name", "user", "assistant", "content")),
            )
            for event in memory.sessions.events(state.id)
        ),
    }


def linked(memory: Memory) -> dict[str, list[str]]:
    """What the user said in the turn that wrote each entry and decision, found by link."""
    index, found = memory.index.current(), {}
    for span in [*index.spans(now=True, type="CuratedMemory"), *index.spans(now=True, type="Decision")]:
        turns = index.turns_of(span.path, "" if span.space == "concept" else span.key)
        assert turns, f"no turn wrote {span.text}"
        events = [one for turn in turns for one in index.events_of_turn(turn)]
        found[span.text] = [one.text for one in events if one.type == "turn"]
    return found


def by_python(place: Place) -> Memory:
    with place.memory.session("s1") as session:
        session.said(ASKED)
        session.remember(FACT)
        session.remember(COPIED)  # before it is known that a page says it
        session.returned("web_extract", {"urls": [URL]}, PAGE)
        session.delegated(TASK, CHILD, "child-1")
        session.remember(ORDER)
        session.record_decision(DECIDED)
        session.answered(ANSWER)
    return place.memory


def by_the_loop(place: Place) -> Memory:
    manager = MemoryManager(place.memory)
    with manager, manager.session("s1") as session:
        session.turn(ASKED)
        for text in (FACT, COPIED):
            session.tool_call("remember", {"text": text})
        session.tool_result("web_extract", {"urls": [URL]}, PAGE)
        manager.on_delegation(TASK, CHILD, child_session_id="child-1")
        session.tool_call("remember", {"text": ORDER})
        session.tool_call("remember", {"text": DECIDED, "kind": "decision"})
        session.done(ANSWER)
    assert [] == manager.warnings
    return place.memory


def by_hermes(home: HermesHome, provider: Driver) -> Memory:
    messages = [user(ASKED)]
    provider.on_turn_start(1, ASKED)
    for text in (FACT, COPIED):
        provider.handle_tool_call("gitmem_remember", {"text": text})
    messages += [tool_call("web_extract", "c1", urls=[URL]), result("c1", PAGE)]
    provider.on_delegation(TASK, CHILD, child_session_id="child-1")
    provider.handle_tool_call("gitmem_remember", {"text": ORDER})
    provider.handle_tool_call("gitmem_remember", {"text": DECIDED, "kind": "decision"})
    messages += [answer(ANSWER)]
    provider.sync_turn(ASKED, ANSWER, session_id="s1", messages=messages)
    provider.shutdown()
    return home.bundle()


def by_mcp(place: Place) -> Memory:
    client = Inside(place.world, str(place.root))
    client.begin("codex", "1.2")
    client.use("remember", text=FACT)
    client.use("remember", text=COPIED, source=URL)
    client.call("remember", text=ORDER, source="the agent child-1")
    client.use("remember", text=DECIDED, kind="decision")
    client.close()
    return place.memory


@pytest.fixture
def expected(tmp_path: Path) -> dict[str, Any]:
    """The story as plain Python tells it."""
    place = Place(tmp_path / "python")
    found = told_of(by_python(place))
    place.close()
    return found


def test_the_story(expected: dict[str, Any]) -> None:
    """The user's fact stands, the page's is marked, the order of another agent waits, and all of it is on record."""
    assert [(FACT, ""), (COPIED, "web")] == expected["entries"]
    assert ([(DECIDED, "")], [ORDER], "closed") == (
        expected["decisions"],
        expected["held"],
        expected["status"],
    )
    assert ["decision", "observation", "tool_call", "turn"] == [event[0] for event in expected["events"]]


def test_the_loop_tells_the_same(expected: dict[str, Any], tmp_path: Path) -> None:
    """A loop of one's own leaves what plain Python leaves."""
    place = Place(tmp_path / "loop")
    assert expected == told_of(by_the_loop(place))
    place.close()


def test_hermes_tells_the_same(expected: dict[str, Any], home: HermesHome, begin: Begin) -> None:
    """So does Hermes, which reports what its tools returned when the turn is over."""
    assert expected == told_of(by_hermes(home, begin()))


def test_mcp_tells_the_same(expected: dict[str, Any], tmp_path: Path) -> None:
    """A client of MCP records no conversation; what it knows, and from where, is the same."""
    place = Place(tmp_path / "mcp")
    found = told_of(by_mcp(place))
    alone: dict[str, list[str]] = {text: [] for text in expected["linked"]}
    assert {**expected, "events": [("decision", "", "", "", "")], "linked": alone} == found
    turns = {str(one.extra["turns"]) for one in place.memory.curated.entries("memory")}
    assert 2 == len(turns)  # each call is a turn of its own
    place.close()


def test_tools_of_the_loop_answer_in_json(tmp_path: Path) -> None:
    """What is judged at the end of a turn was stored when the tool answered."""
    place = Place(tmp_path / "loop")
    manager = MemoryManager(place.memory)
    with manager, manager.session("s1") as session:
        session.turn(ASKED)
        told = json.loads(session.tool_call("remember", {"text": COPIED}))
        assert "Kept." in told["result"]
        assert [COPIED] == place.curated()
        session.tool_result("web_extract", {"urls": [URL]}, PAGE)
        session.done(ANSWER)
    [entry] = place.memory.curated.entries("memory")
    assert ("web", URL) == (entry.extra["unconfirmed"], entry.extra["source"])
    place.close()
