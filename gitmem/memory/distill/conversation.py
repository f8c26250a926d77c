"""A conversation as a distiller reads it: what was said, bounded, without recalled memory, and its sentences."""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from gitmem.memory.conversation import content_of, is_host_note

_HEAD, _TAIL = 4000, 2000  # of one message; longer ones are mostly pasted
_TOTAL = 200_000  # of all the user's messages, the newest first; of the assistant's a quarter
_OPEN, _CLOSE = "<memory-context", "</memory-context>"
_FENCE = re.compile(r"<memory-context\b.*?(?:</memory-context>|\Z)", re.S | re.I)
_LATE_CLOSE = re.compile(r"\A.*</memory-context>", re.S | re.I)
CONTROL = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f\x85\u2028\u2029]")

_CODE_FENCE = re.compile(r"^\s*(?:```|~~~)")
_DROPPED_LINE = re.compile(r"^(?:\s*>|\t| {4,}|\s*\||.*\|.*\|)")
_LIST_MARK = re.compile(r"^\s*(?:[-*+•]|\d{1,2}[.)])\s+")
_TAG = re.compile(r"<(/?)([A-Za-z][\w-]*+)[^<>]*>")
_QUOTE = re.compile(r'"[^"\n]*"|“[^“”\n]*”|«[^«»\n]*»|„[^„“”\n]*[“”]')
_QUOTED = "\ufffc"  # stands for a quotation that is too long to be a name
# The character goes first and the abbreviations are looked back at: the other way round is slow.
_NO_ABBREVIATION = (
    r"(?<!\be\.g\.)(?<!\bi\.e\.)(?<!\bvs\.)(?<!\betc\.)(?<!\bDr\.)(?<!\bMr\.)(?<!\bMrs\.)(?<!\bMs\.)"
)
_END = re.compile(r"[.!?…](?<![.!?…].)" + _NO_ABBREVIATION + r"[.!?…]*[\"')\]]*(?=\s|$)")
_MARKUP = re.compile(r"\*\*|__(?=\w)|(?<=\w)__")


@dataclass(frozen=True)
class Said:
    role: Literal["user", "assistant"]
    turn: int
    text: str


def said_in(messages: Sequence[Mapping[str, Any]], head: int = _HEAD, tail: int = _TAIL) -> list[Said]:
    """Return what user and assistant said, cut to a bounded size; the newest survive."""
    found: list[Said] = []
    turn = 0
    for message in messages:
        role = message.get("role") if isinstance(message, Mapping) else None
        if role not in ("user", "assistant"):
            continue
        turn += role == "user"
        # `api_content` is the same message with recalled memory in it: saving that feeds memory to itself.
        text = _cut(content_of(message), head, tail)
        if text.strip() and not is_host_note(text):
            found.append(Said("user" if role == "user" else "assistant", turn, text))
    left = {"user": _TOTAL, "assistant": _TOTAL // 4}
    kept: list[Said] = []
    for item in reversed(found):
        if left[item.role] > 0:
            left[item.role] -= len(item.text)
            kept.append(item)
    return kept[::-1]


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


def sentences_of(text: str) -> Iterator[str]:
    """The sentences that the speaker said: no code, no quotations, no tables, no tagged blocks."""
    text = text.replace("’", "'").replace("‘", "'").replace("\r\n", "\n").replace("\r", "\n")
    for raw in _joined(_prose(_without_blocks(text))):
        line = _MARKUP.sub("", _QUOTE.sub(lambda match: match[0] if _is_name(match[0]) else _QUOTED, raw))
        start = 0
        for match in [*_END.finditer(line), None]:
            sentence = line[start : match.end() if match else len(line)].strip()
            start = match.end() if match else start
            if sentence and _QUOTED not in sentence and sentence.count('"') % 2 == 0:
                yield sentence


def _is_name(quotation: str) -> bool:
    return len(quotation) <= 40 and not re.search(r"[.!?]\s|[.!?].$|\bI\b", quotation)


def _without_blocks(text: str) -> str:
    """`<document> … </document>` over several lines is pasted, not said."""
    if "</" not in text:
        return text
    tags = list(_TAG.finditer(text))
    closing: dict[str, list[int]] = {}
    for tag in tags:
        if tag[1]:
            closing.setdefault(tag[2].lower(), []).append(tag.end())
    kept, position = [], 0
    for tag in tags:
        ends = closing.get(tag[2].lower(), [])
        at = bisect_left(ends, tag.end() + 1)
        if tag[1] or tag.start() < position or at == len(ends) or "\n" not in text[tag.start() : ends[at]]:
            continue
        kept.append(text[position : tag.start()])
        position = ends[at]
    kept.append(text[position:])
    return "\n\n".join(kept)


def _prose(text: str) -> Iterator[str]:
    in_code = False
    for line in text.split("\n"):
        if _CODE_FENCE.match(line):
            in_code = not in_code
            yield ""
        elif in_code or _DROPPED_LINE.match(line):
            yield ""
        else:
            yield line


def _joined(lines: Iterable[str]) -> Iterator[str]:
    """Lines that an editor wrapped are one again; lines that a person ended are not."""
    held, last = "", ""
    for line in lines:
        text = line.strip()
        wrapped = len(last) >= 50 and last[-1:] not in ".!?:;" and text[:1].islower()
        if held and text and wrapped and not _LIST_MARK.match(line):
            held += " " + text
        else:
            if held:
                yield held
            held = _LIST_MARK.sub("", line).strip()
        last = text
    if held:
        yield held
