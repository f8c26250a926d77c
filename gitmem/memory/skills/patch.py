"""A patch of a text: one passage replaced by another, and what may be meant where that cannot be done."""

from __future__ import annotations

import re
from difflib import get_close_matches
from itertools import islice

from gitmem.errors import InvalidContent, UsageError
from gitmem.okf.plain import shortened

_NEAR = 3
_LIKE = 0.6
_LINES = 4_000
_SHOWN = 90


def patched(text: str, old: str, new: str, *, every: bool = False, where: str = "the file") -> str:
    """The text with `old` replaced by `new`: where it stands once, or everywhere.

    Raises with the lines that may be meant where it stands nowhere, or more than once and not every one is wanted.
    """
    if not old:
        raise UsageError("Say which text to replace.")
    if old == new:
        raise UsageError("The old and the new text are the same.")
    times = text.count(old)
    if times == 1 or (every and times):
        return text.replace(old, new)
    if times:
        lines = ", ".join(map(str, _lines_of(text, old)))
        raise InvalidContent(
            f"The text is in {where} {times} times, from lines {lines}.",
            hint="Take more of what stands around it, or replace every one (--all).",
        )
    near = _near(text, old)
    told = "; ".join(f"line {line}: {passage!r}" for line, passage in near)
    raise InvalidContent(
        f"The text is not in {where}." + (f" Near to it: {told}." if near else ""),
        hint="Copy the old text as it is there, blanks included.",
    )


def _lines_of(text: str, old: str) -> list[int]:
    places = islice(re.finditer(re.escape(old), text), 2 * _NEAR)
    return [text.count("\n", 0, place.start()) + 1 for place in places]


def _near(text: str, old: str) -> list[tuple[int, str]]:
    """The lines that are most like the first one of it, with their numbers: whole passages would take too long."""
    lines: dict[str, int] = {}
    for number, line in enumerate(text.split("\n")[:_LINES], 1):
        lines.setdefault(" ".join(line.split())[:400], number)
    wanted = " ".join(old.strip("\n").split("\n")[0].split())[:400]
    return [(lines[line], shortened(line, _SHOWN)) for line in get_close_matches(wanted, lines, _NEAR, _LIKE)]
