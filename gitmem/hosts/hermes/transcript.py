"""What is new in a conversation: the host hands over the whole of it after every turn."""

from __future__ import annotations

import hashlib
import json
import re
from collections import OrderedDict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from gitmem.memory.gate.hearing import calls_of, said_in, without_recall

Message = Mapping[str, Any]

TEXT_LIMIT = 1_000_000
RESULT_LIMIT = 2_000
ARGUMENTS_LIMIT = 4_000
_REMEMBERED = 1_000
# What these ask for and answer is memory already: stored again it would feed on itself, and a search would
# find the searches before it.
_RECALLING = re.compile(r"gitmem_|session_search$")


@dataclass(frozen=True, slots=True)
class Call:
    """A tool call with the beginning of its result."""

    name: str
    arguments: str
    result: str

    def argument(self, name: str) -> str:
        """One of its arguments, as far as they are kept; empty where it has none such."""
        try:
            found = json.loads(self.arguments)
        except ValueError:  # they were cut: then only what is whole in front of it can be told
            whole = re.search(rf'"{name}": ?("(?:[^"\\]|\\.)*")', self.arguments)
            return str(json.loads(whole.group(1), strict=False)) if whole else ""
        return str(found.get(name) or "") if isinstance(found, Mapping) else ""


@dataclass(slots=True)
class Turn:
    """What was said from one message of the user up to the next, and the tools that were used."""

    user: str = ""
    assistant: list[str] = field(default_factory=list)
    calls: list[Call] = field(default_factory=list)

    @property
    def answer(self) -> str:
        return "\n\n".join(self.assistant)


class Transcript:
    """Which messages of a session are stored. Never `api_content`: that is the message with recall in it."""

    def __init__(self) -> None:
        self._last: Message | None = None
        self._last_mark = b""
        self._calls: OrderedDict[bytes, None] = OrderedDict()

    def reset(self) -> None:
        """The host cut the conversation: what comes next is told by its own turn."""
        self._last, self._last_mark = None, b""

    def turn(self, user: str, assistant: str, messages: Sequence[Message] | None) -> list[Turn]:
        """The turns that are new, the last one in the host's own words for it."""
        asked = clean(user)
        turns = self._turns(messages or (), asked)
        if not turns:
            turns = [Turn()]
        last = turns[-1]
        last.user = asked
        answer = clean(assistant)
        if answer and (not last.assistant or last.assistant[-1] != answer):
            last.assistant.append(answer)
        return turns

    def calls(self, messages: Sequence[Message]) -> list[Call]:
        """The tool calls that are new, in a turn that is not over."""
        return [call for turn in self._turns(messages, "") for call in turn.calls]

    def _turns(self, messages: Sequence[Message], user: str) -> list[Turn]:
        """What is new up to the end of the turn that began with the words of `user`, where they are known."""
        fresh = _of_turn(self._fresh(messages, user), user)
        if fresh:
            self._last, self._last_mark = fresh[-1], _mark(fresh[-1])
        turns: list[Turn] = []
        asked: dict[str, tuple[Turn, str, str]] = {}
        for message in fresh:
            role = message.get("role")
            if role == "user" or (role in ("assistant", "tool") and not turns):
                turns.append(Turn(user=said(message) if role == "user" else ""))
            if role == "assistant":
                if text := said(message):
                    turns[-1].assistant.append(text)
                for name, arguments, identity in calls_of(message):
                    asked[identity] = (turns[-1], name, arguments)
            elif role == "tool":
                identity = str(message.get("tool_call_id", ""))
                turn, name, arguments = asked.pop(
                    identity, (turns[-1], str(message.get("name") or message.get("tool_name") or ""), "")
                )
                self._add(turn, name, arguments, said(message), identity)
        for identity, (turn, name, arguments) in asked.items():  # no answer came
            self._add(turn, name, arguments, "", identity)
        return turns

    def _add(self, turn: Turn, name: str, arguments: str, result: str, identity: str) -> None:
        if not name:
            return
        if _RECALLING.match(name):
            arguments = result = ""
        mark = _digest(name, arguments, result[:RESULT_LIMIT], identity)
        if mark in self._calls:
            return
        self._calls[mark] = None
        if len(self._calls) > _REMEMBERED:
            self._calls.popitem(last=False)
        turn.calls.append(Call(name, cut(arguments, ARGUMENTS_LIMIT), cut(result, RESULT_LIMIT)))

    def _fresh(self, messages: Sequence[Message], user: str) -> Sequence[Message]:
        """The messages behind the last one that is stored; else those of the present turn."""
        if self._last is not None:
            for index in range(len(messages) - 1, -1, -1):
                if messages[index] is self._last:
                    return messages[index + 1 :]
            for index in range(len(messages) - 1, -1, -1):
                if _mark(messages[index]) == self._last_mark:
                    return messages[index + 1 :]
        begins = [index for index, message in enumerate(messages) if message.get("role") == "user"]
        known = [index for index in begins if user and said(messages[index]) == user]
        begin = (known or begins or [0])[-1]
        return messages[begin:]


def _of_turn(messages: Sequence[Message], user: str) -> Sequence[Message]:
    """The messages up to the end of a turn. The host tells on a thread of its own: the next may be there already."""
    found = False
    for index, message in enumerate(messages):
        if message.get("role") == "user":
            if found:
                return messages[:index]
            found = bool(user) and said(message) == user
    return messages


def said(message: Message) -> str:
    """The text of a message, without what was recalled into it."""
    return clean(said_in(message))


def clean(text: object) -> str:
    """A text of the conversation as it is stored."""
    if not isinstance(text, str):
        return ""
    return cut(without_recall(text).strip(), TEXT_LIMIT)


def cut(text: str, limit: int) -> str:
    return text if len(text) <= limit else f"{text[: limit - 1]}…"


def _mark(message: Message) -> bytes:
    return _digest(
        str(message.get("role")),
        str(message.get("content")),
        str(message.get("tool_call_id", "")),
        str(message.get("tool_calls", "")),
    )


def _digest(*parts: str) -> bytes:
    return hashlib.sha256("\0".join(parts).encode("utf-8", "replace")).digest()
