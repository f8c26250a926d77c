"""Parts of an answer as lines for a model: one line for each thing, ids first. The words have passed the gate."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any

from gitmem.okf.timestamps import parse

Lines = Sequence[str | Sequence[str]]
"""An answer line by line; a sequence is one long text in pieces, as no single text of an answer may be that long."""
_PIECE = 1_400
_SPANS = ((365 * 86400, "y"), (30 * 86400, "mo"), (86400, "d"), (3600, "h"), (60, "m"))


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
