"""The ways in of agents other than Hermes: every hook of the loop, and every tool of an MCP client that writes."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from gitmem.hosts.loop.agent_session import AgentSession
from gitmem.hosts.loop.manager import MemoryManager
from gitmem.hosts.mcp.connection import Connection
from gitmem.memory.endpoint import Reply, ToolCall

from tests.hosts.doors import (
    ASKED,
    COMPRESSION,
    EVENTS,
    PAGE,
    SKILL_STORE,
    SNAPSHOT,
    STORE,
    conversation,
    skill_page,
)
from tests.hosts.places import Enter, Fate, Kind, Otherwise, Place, Sample, door, refuse

LOOP_HOOKS = {
    "AgentSession.turn": ("a turn of a loop",),
    "AgentSession.done": ("a turn of a loop",),
    "AgentSession.tool_result": ("a result in a loop",),
    "AgentSession.compress": ("a fact before a loop is compressed",),
    "AgentSession.review": ("a fact by the review of a loop",),
    "AgentSession.end": ("a fact at the end of a loop",),
    "AgentSession.tool_call": ("remember fact in a loop", "a skill in a loop"),
    "MemoryManager.session": ("the title of a session of a loop",),
    "MemoryManager.on_delegation": ("a delegation of a loop",),
}
"""The methods by which a program hands a text to the memory, with the doors that try them."""

TOOL_DOORS = {
    "remember": ("remember fact", "remember preference", "remember decision", "remember observation"),
    "revise": ("revise",),
    "note": ("note",),
    "snapshot": ("snapshot",),
    "undo": (),
    "skill_manage": ("a skill",),
}
"""The doors of each tool that writes; an undo brings nothing that was not there, and repeats its reason to nobody."""

NOT_REFUSED: Otherwise = {Kind.BLOCKED: (Fate.LEFT_OUT, "The model goes on in any case.")}


@contextmanager
def _loop(place: Place, session: str, **known: Any) -> Iterator[tuple[MemoryManager, AgentSession]]:
    """A session of a loop with its manager, both ended behind the block."""
    with (
        MemoryManager(place.memory) as manager,
        manager.session(session, **known) as one,
    ):
        yield manager, one


@door("loop", "TALK", EVENTS)
def a_turn_of_a_loop(place: Place, sample: Sample) -> None:
    with _loop(place, f"loop {sample.topic}") as (_, session):
        session.turn(sample.text)
        session.done(sample.text)


@door("loop", "EVENT", EVENTS)
def a_result_in_a_loop(place: Place, sample: Sample) -> None:
    with _loop(place, f"calls {sample.topic}") as (_, session):
        session.turn("What did it print?")
        session.tool_result("terminal", {"command": sample.text}, sample.text)
        session.done("Nothing.")


@door("loop", "EVENT", EVENTS)
def a_delegation_of_a_loop(place: Place, sample: Sample) -> None:
    with _loop(place, f"delegates {sample.topic}") as (manager, session):
        session.turn("What did it find?")
        manager.on_delegation(sample.text, sample.text)
        session.done("Nothing.")


@door("loop", "NOTE", EVENTS, otherwise=NOT_REFUSED)
def the_title_of_a_session_of_a_loop(place: Place, sample: Sample) -> None:
    with _loop(place, f"titled loop {sample.topic}", title=sample.text) as (_, session):
        session.turn(f"what of the {sample.topic}?")
        session.done("it is fine")
    assert place.memory.sessions.events(f"titled loop {sample.topic}")


@door("loop", "ENTRY", COMPRESSION, entries=True, otherwise=NOT_REFUSED)
def a_fact_before_a_loop_is_compressed(place: Place, sample: Sample) -> None:
    with _loop(place, f"compressed loop {sample.topic}") as (_, session):
        session.turn("go on")
        session.compress(conversation(sample.reminder))


@door("loop", "ENTRY", COMPRESSION, entries=True, otherwise=NOT_REFUSED)
def a_fact_at_the_end_of_a_loop(place: Place, sample: Sample) -> None:
    with _loop(place, f"ended loop {sample.topic}") as (_, session):
        session.end(conversation(sample.reminder))


@door("loop", "ENTRY", STORE, entries=True, otherwise=NOT_REFUSED)
def a_fact_by_the_review_of_a_loop(place: Place, sample: Sample) -> None:
    class Model:
        def chat(self, *_: object) -> Reply:
            asked = json.dumps({"kind": "fact", "text": sample.text})
            return Reply("", (ToolCall("remember", asked),))

    with _loop(place, f"reviewed loop {sample.topic}") as (_, session):
        assert session.review(conversation("Look at this"), Model()).result(120) == 1


def _in_a_loop(tool: str, arguments: dict[str, Any], place: Place, sample: Sample) -> None:
    with _loop(place, f"{tool} in a loop {sample.topic}") as (_, session):
        session.turn("Please keep this")
        told = session.tool_call(tool, arguments)
        session.done("Done.")
    refuse(*([told] if "error" in json.loads(told) else []))


def _over_mcp(tool: str, arguments: dict[str, Any], place: Place, sample: Sample) -> None:
    client = Connection(place.home.world, place.home.home.bundle, "client", "1")
    answer = client.call(tool, arguments)
    client.close()
    refuse(*([answer.text] if answer.failed else []))


def _remembered(call: Any, kind: str) -> Enter:
    return lambda place, sample: call("remember", {"kind": kind, "text": sample.text}, place, sample)


def _revised(call: Any) -> Enter:
    def enter(place: Place, sample: Sample) -> None:
        old = f"The {sample.topic} is to be revised"
        place.memory.curated.add(old)
        call("revise", {"id": old, "text": sample.text, "why": "it changed"}, place, sample)

    return enter


def _noted(call: Any) -> Enter:
    return lambda place, sample: call(
        "note", {"title": f"Page of the {sample.topic}", "text": sample.text}, place, sample
    )


def _tagged(call: Any) -> Enter:
    return lambda place, sample: call(
        "snapshot", {"name": f"n-{sample.topic}", "note": sample.text}, place, sample
    )


for _house, _where, _call in (("loop", "in a loop", _in_a_loop), ("mcp", "over MCP", _over_mcp)):
    for _kind in ("fact", "preference"):
        door(_house, "ENTRY", STORE, entries=True, name=f"remember {_kind} {_where}")(
            _remembered(_call, _kind)
        )
    for _kind in ("decision", "observation"):
        door(_house, "EVENT", EVENTS, name=f"remember {_kind} {_where}")(_remembered(_call, _kind))
    door(_house, "ENTRY", STORE, entries=True, name=f"revise {_where}")(_revised(_call))
    door(_house, "NOTE", PAGE, name=f"note {_where}")(_noted(_call))
    door(_house, "NOTE", SNAPSHOT, name=f"snapshot {_where}")(_tagged(_call))


@door("loop", "SKILL", SKILL_STORE, otherwise=ASKED)
def a_skill_in_a_loop(place: Place, sample: Sample) -> None:
    _in_a_loop(
        "skill_manage",
        {"action": "create", "name": sample.topic, "content": skill_page(sample)},
        place,
        sample,
    )
