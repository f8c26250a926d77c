"""A conversation as a host hands it over: what each message says, and which messages are new."""

from __future__ import annotations

import hashlib
import json
import re
from collections import OrderedDict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from gitmem.okf.plain import cut

Message = Mapping[str, Any]

_TEXT_LIMIT = 1_000_000
_REMEMBERED = 1_000
_PARTS = ("text", "input_text", "output_text")
_RECALLED = re.compile(r"<memory-context\b.*?(?:</memory-context>|\Z)", re.DOTALL | re.IGNORECASE)
# Notes that hosts put into the conversation in the user's name, such as a summary of what was compacted.
_HOST_NOTE = re.compile(r"\s*\[(?:[A-Z][A-Z —:_-]{11,}|[Ss]ystem\b[^\]]{0,40}:)")
_SUMMARY = re.compile(r"\[(?:CONTEXT COMPACTION|CONTEXT SUMMARY|END OF PRIOR CONTEXT)")


@dataclass(frozen=True, slots=True)
class Call:
    """A tool call with its result; the arguments are JSON, as far as the model wrote JSON."""

    name: str
    arguments: str
    result: str
    id: str = ""

    def argument(self, name: str) -> str:
        """One of its arguments as text; empty where it has none of that name."""
        try:
            found = json.loads(self.arguments)
        except (ValueError, RecursionError):
            return ""
        return str(found.get(name) or "") if isinstance(found, Mapping) else ""


@dataclass(slots=True)
class Turn:
    """One message of the user, the answers up to the next, and the tools that were used; `id` is the session's for it."""

    user: str = ""
    assistant: list[str] = field(default_factory=list)
    calls: list[Call] = field(default_factory=list)
    id: str = ""

    @property
    def answer(self) -> str:
        return "\n\n".join(self.assistant)


class Conversation:
    """One session's messages. The host hands over its whole list each time; what is new is found here.

    Never `api_content`: that is the message with recalled memory in it.
    """

    def __init__(self) -> None:
        self._last: Message | None = None
        self._last_mark = b""
        self._calls: OrderedDict[bytes, None] = OrderedDict()

    def reset(self) -> None:
        """The host cut the conversation: only the next turn of its list is new."""
        self._last, self._last_mark = None, b""

    def fresh(self, messages: Sequence[Message], user: str, assistant: str) -> list[Turn]:
        """The turns that are new, the last one in the host's own words for it."""
        asked = clean(user)
        turns = self._turns(messages, asked) or [Turn()]
        last = turns[-1]
        last.user = asked
        answer = clean(assistant)
        if answer and (not last.assistant or last.assistant[-1] != answer):
            last.assistant.append(answer)
        return turns

    def calls(self, messages: Sequence[Message]) -> list[Call]:
        """The tool calls that are new, in a turn that is not over."""
        return [call for turn in self._turns(messages, "") for call in turn.calls]

    def behind(self, messages: Sequence[Message]) -> Sequence[Message]:
        """The messages behind the last known one, or all of them; the last of them is known from here on."""
        found = messages[self._known(messages) + 1 :]
        self._remember(messages)
        return found

    def _turns(self, messages: Sequence[Message], user: str) -> list[Turn]:
        """Return what is new up to the end of the turn that began with the words of `user`, where they are known."""
        fresh = _of_turn(self._of_present(messages, user), user)
        self._remember(fresh)
        turns: list[Turn] = []
        asked: dict[str, tuple[Turn, str, str]] = {}
        for message in fresh:
            role = message.get("role")
            if role == "user" or (role in ("assistant", "tool") and not turns):
                turns.append(Turn(user=clean_text(message) if role == "user" else ""))
            if role == "assistant":
                if text := clean_text(message):
                    turns[-1].assistant.append(text)
                for name, arguments, identity in calls_of(message):
                    asked[identity] = (turns[-1], name, arguments)
            elif role == "tool":
                identity = str(message.get("tool_call_id", ""))
                turn, name, arguments = asked.pop(identity, (turns[-1], name_of(message), ""))
                self._add(turn, Call(name, arguments, clean_text(message), identity))
        for identity, (turn, name, arguments) in asked.items():  # no result yet
            self._add(turn, Call(name, arguments, "", identity))
        return turns

    def _add(self, turn: Turn, call: Call) -> None:
        mark = _digest(call.name, call.arguments, call.result, call.id)
        if call.name and mark not in self._calls:
            self._calls[mark] = None
            turn.calls.append(call)
            if len(self._calls) > _REMEMBERED:
                self._calls.popitem(last=False)

    def _of_present(self, messages: Sequence[Message], user: str) -> Sequence[Message]:
        """The messages behind the last known one; without one, those of the present turn."""
        known = self._known(messages)
        if known >= 0:
            return messages[known + 1 :]
        begins = [index for index, message in enumerate(messages) if message.get("role") == "user"]
        named = [index for index in begins if user and clean_text(messages[index]) == user]
        return messages[(named or begins or [0])[-1] :]

    def _known(self, messages: Sequence[Message]) -> int:
        """Return where the last known message is in a list: the same object, else the same words; -1 without one."""
        if self._last is None:
            return -1
        backwards = range(len(messages) - 1, -1, -1)
        same = next((index for index in backwards if messages[index] is self._last), -1)
        if same >= 0:
            return same
        return next((index for index in backwards if mark(messages[index]) == self._last_mark), -1)

    def _remember(self, messages: Sequence[Message]) -> None:
        if messages:
            self._last, self._last_mark = messages[-1], mark(messages[-1])


def _of_turn(messages: Sequence[Message], user: str) -> Sequence[Message]:
    """The messages up to the end of a turn. A host reports on a thread of its own: the next may be there already."""
    found = False
    for index, message in enumerate(messages):
        if message.get("role") == "user":
            if found:
                return messages[:index]
            found = bool(user) and clean_text(message) == user
    return messages


# --- one message -----------------------------------------------------------------------------------------


def messages_in(messages: Sequence[Any] | None) -> list[Message]:
    """A copy of the host's live list, without what is not a message."""
    return [message for message in list(messages or ()) if isinstance(message, Mapping)]


def content_of(message: Message) -> str:
    """The text of a message, its parts joined; pictures are left out."""
    content = message.get("content")
    if isinstance(content, str):
        return content
    parts: list[str] = []
    for part in content if isinstance(content, list | tuple) else ():
        text = part
        if isinstance(part, Mapping) and part.get("type", "text") in _PARTS:
            text = part.get("text")
        if isinstance(text, str):
            parts.append(text)
    return "\n\n".join(parts)


def said_in(message: Message) -> str:
    """The text of a message, without what was recalled into it."""
    return without_recall(content_of(message))


def clean_text(message: Message) -> str:
    """The text of a message as it is stored."""
    return clean(content_of(message))


def clean(text: object) -> str:
    """A text of a conversation as it is stored."""
    if not isinstance(text, str):
        return ""
    return cut(without_recall(text).strip(), _TEXT_LIMIT)


def without_recall(text: str) -> str:
    """A text of a conversation without what was recalled into it."""
    return _RECALLED.sub("", text) if "<memory-context" in text.lower() else text


def is_host_note(text: str) -> bool:
    """Return whether a message in the user's name is the host's: its words may have any origin."""
    return bool(_HOST_NOTE.match(text) or _SUMMARY.search(text))


def name_of(message: Message) -> str:
    """The tool that a result names itself."""
    return str(message.get("name") or message.get("tool_name") or "")


def calls_of(message: Message) -> Iterator[tuple[str, str, str]]:
    """The tool calls of a message: name, arguments as text, id."""
    calls = message.get("tool_calls")
    for call in calls if isinstance(calls, list | tuple) else ():
        function = call.get("function") if isinstance(call, Mapping) else None
        if isinstance(function, Mapping):
            yield str(function.get("name", "")), as_text(function.get("arguments")), str(call.get("id", ""))


def as_text(value: object) -> str:
    """A value of a call as text; empty where it has no JSON."""
    if isinstance(value, str):
        return value
    try:
        return json.dumps(value, ensure_ascii=False, default=str)
    except (ValueError, RecursionError):  # it contains itself, or is nested too deeply
        return ""


def mark(message: object) -> bytes:
    """The identity of a message by what it says; what the host added for the model does not count."""
    known = message if isinstance(message, Mapping) else {"content": message}
    content = known.get("content")
    said = [
        known.get("role"),
        content.strip() if isinstance(content, str) else content,
        known.get("tool_call_id"),
        known.get("tool_calls"),
    ]
    try:
        return _digest(json.dumps(said, default=str))
    except (ValueError, RecursionError):  # it contains itself, or is nested too deeply
        return _digest(f"{known.get('role')} {id(message)}")


def _digest(*parts: str) -> bytes:
    return hashlib.sha256("\0".join(parts).encode("utf-8", "replace")).digest()
