"""A patch of a text: one passage replaced by another, and what may be meant where that cannot be done."""

from __future__ import annotations

import re
from difflib import get_close_matches
from itertools import islice

from gitmem.errors import InvalidContent, UsageError
from gitmem.okf.plain import shortened

_LINES = 4_000
_WIDTH = 400
_SHOWN = 90
_MOST = 6
"""Lines that an error names."""


def patched(text: str, old: str, new: str, *, every: bool = False, where: str = "the file") -> str:
    """The text with `old` replaced by `new`: where it is once, or everywhere.

    Raises with the lines that may be meant where it is nowhere, or more than once and not every one is wanted.
    """
    if not old:
        raise UsageError("Say which text to replace.")
    if old == new:
        raise UsageError("The old and the new text are the same.")
    times = text.count(old)
    if times == 1 or (every and times):
        return text.replace(old, new)
    if times:
        places = islice(re.finditer(re.escape(old), text), _MOST)
        lines = ", ".join(str(text.count("\n", 0, place.start()) + 1) for place in places)
        raise InvalidContent(
            f"The text is in {where} {times} times, from lines {lines}.",
            hint="Take more of the text around it, or replace every one (--all).",
        )
    # Only the first line of it: a search for whole passages would take too long.
    wanted = old.strip().partition("\n")[0].strip()[:_WIDTH]
    known = [one.strip()[:_WIDTH] for one in text.split("\n")[:_LINES]]
    near = [
        f"line {known.index(one) + 1}: {shortened(one, _SHOWN)!r}" for one in get_close_matches(wanted, known)
    ]
    raise InvalidContent(
        f"The text is not in {where}." + (f" Near to it: {'; '.join(near)}." if near else ""),
        hint="Copy the old text as it is there, blanks included.",
    )
