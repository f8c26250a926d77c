"""A conversation as the host hands it over, and what the bundle has of it."""

from __future__ import annotations

import json
from typing import Any

from tests.hosts.conftest import Driver, HermesHome


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
