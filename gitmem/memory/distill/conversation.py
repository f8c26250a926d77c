"""A conversation as a distiller reads it: what user and assistant said, bounded, without recalled memory."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

_HEAD, _TAIL = 4000, 2000  # of one message; longer ones are mostly pasted
_TOTAL = 200_000  # of all the user's messages, the newest first; of the assistant's a quarter
_OPEN, _CLOSE = "<memory-context", "</memory-context>"
_FENCE = re.compile(r"<memory-context\b.*?(?:</memory-context>|\Z)", re.S | re.I)
_LATE_CLOSE = re.compile(r"\A.*</memory-context>", re.S | re.I)
CONTROL = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f\x85\u2028\u2029]")
# Notes that hosts put into the conversation in the user's name, such as an earlier summary.
_HOST_NOTE = re.compile(r"\s*\[(?:[A-Z][A-Z —:_-]{11,}|[Ss]ystem\b[^\]]{0,40}:)")


@dataclass(frozen=True)
class Said:
    role: Literal["user", "assistant"]
    turn: int
    text: str


def said_in(messages: Sequence[Mapping[str, Any]], head: int = _HEAD, tail: int = _TAIL) -> list[Said]:
    """What user and assistant said, cut to a bounded size; the newest survive."""
    found: list[Said] = []
    turn = 0
    for message in messages:
        role = message.get("role") if isinstance(message, Mapping) else None
        if role not in ("user", "assistant"):
            continue
        turn += role == "user"
        # `api_content` is the same message with recalled memory in it: saving that feeds memory to itself.
        text = _cut(_content(message.get("content")), head, tail)
        if text.strip() and not _HOST_NOTE.match(text):
            found.append(Said("user" if role == "user" else "assistant", turn, text))
    left = {"user": _TOTAL, "assistant": _TOTAL // 4}
    kept: list[Said] = []
    for item in reversed(found):
        if left[item.role] > 0:
            left[item.role] -= len(item.text)
            kept.append(item)
    return kept[::-1]


def _content(content: object) -> str:
    if isinstance(content, str):
        return content
    parts: list[str] = []
    for part in content if isinstance(content, list | tuple) else ():
        said = part
        if isinstance(part, Mapping) and part.get("type", "text") in ("text", "input_text", "output_text"):
            said = part.get("text")
        if isinstance(said, str):
            parts.append(said)
    return "\n\n".join(parts)


def _cut(text: str, head: int, tail: int) -> str:
    """The beginning and the end of a message, without recalled memory, as valid text."""
    if len(text) > head + tail:
        middle = len(text) - tail
        end = text[middle:]
        if text.rfind(_OPEN, 0, middle) > text.rfind(_CLOSE, 0, middle):
            # The cut is inside a fence, or none of this is fenced: then the tail is not ours to judge.
            end = _LATE_CLOSE.sub("", end) if _CLOSE in end else ""
        text = _FENCE.sub("\n", text[:head]) + "\n\n" + end
    if _OPEN in text.lower():
        text = _FENCE.sub("\n", text)
    if not text.isascii():
        text = text.encode("utf-8", "replace").decode()
    return CONTROL.sub(" ", text)
