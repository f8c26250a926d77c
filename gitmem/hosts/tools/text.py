"""Answers as lines for a model: one line for each thing, ids first. The words have passed the gate."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from typing import TYPE_CHECKING, Any

from gitmem.memory.gate.egress import FLAGGED, GONE
from gitmem.okf import layout
from gitmem.okf.learned import BOOKKEEPING, noun_of, skill_file_of, without_parts_of_skills
from gitmem.okf.timestamps import parse

if TYPE_CHECKING:
    from gitmem.memory.gate.egress import Egress
    from gitmem.okf.entries import Change

Lines = Sequence[str | Sequence[str]]
"""An answer line by line; a sequence is one long text in pieces, as no single text of an answer may be that long."""
_PIECE = 1_400
_SPANS = ((365 * 86400, "y"), (30 * 86400, "mo"), (86400, "d"), (3600, "h"), (60, "m"))
_SIGNS = {"add": "+", "remove": "-", "change": "~", "move": ">"}


def line(*parts: object) -> str:
    """The parts that say something, as one line."""
    return " · ".join(str(part) for part in parts if part)


def flat(text: object) -> str:
    return " ".join(str(text).split())


def in_pieces(text: str) -> list[str]:
    return [text[start : start + _PIECE] for start in range(0, len(text), _PIECE)]


def age(at: str, now: datetime) -> str:
    """The time that has passed, in a few characters; empty where it is not known."""
    moment = parse(at)
    if moment is None:
        return ""
    seconds = (now - moment).total_seconds()
    return next((f"{int(seconds // span)}{name}" for span, name in _SPANS if seconds >= span), "now")


def marked(known: Mapping[str, Any], words: str) -> str:
    """A text with its worth, where that is less than what the memory holds; `known` is from `egress.worth`."""
    marks = {"said": "said: ", "tool": f"tool output, untrusted ({known.get('source', '')}): "}
    unconfirmed = f"unconfirmed ({known['unconfirmed']}): " if known.get("unconfirmed") else ""
    return marks.get(known.get("rank", ""), "") + unconfirmed + flat(words)


# --- changes ---------------------------------------------------------------------------------------------


def is_knowledge(path: str) -> bool:
    """Return whether a file says something: not bookkeeping, nor a record of a conversation."""
    return not layout.is_record(path) and not path.startswith(("config/", "."))


def knowledge(egress: Egress, changes: Iterable[Change]) -> Iterator[str]:
    """Changes of what is known, in the words that hold now: a line for each thing, and one for a skill that came or went."""
    named: set[str] = set()
    for change in without_parts_of_skills(changes):
        if not is_knowledge(change.path) or not egress.tells(change):
            continue
        is_part = change.key.space in ("meta", "body")
        if is_part and (change.key.id in BOOKKEEPING or change.path in named):
            continue
        known = egress.change(change)
        words = known["new"] if known["new"] is not None else known["old"]
        if words == GONE:
            continue
        if is_part:
            named.add(change.path)
            words = egress.name(change.title) if change.title else words
        if change.path.startswith("skills/") and words != FLAGGED:
            words = egress.name(" ".join(filter(None, skill_file_of(change.path))))
        yield f"{_SIGNS.get(change.op, change.op)} {_noun(change)}: {marked(known, words)}"


def _noun(change: Change) -> str:
    if change.path.startswith("memories/"):
        return "preference" if change.path.endswith("/USER.md") else "fact"
    entry = change.new or change.old
    return noun_of(change.path, entry.kind if entry is not None and not change.title else "")
