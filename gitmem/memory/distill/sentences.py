"""Sentences that a speaker said: no code, no quotations, no tables, no tagged blocks."""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Iterable, Iterator

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
