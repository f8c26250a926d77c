"""A patch of a text: one passage replaced by another, and what may be meant where that cannot be done."""

from __future__ import annotations

from difflib import SequenceMatcher, unified_diff

from gitmem.errors import InvalidContent, UsageError

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


def readable_diff(before: str, after: str, name: str) -> str:
    """Return what changed in a text, line by line with three lines around it."""
    old, new = before.splitlines(), after.splitlines()
    return "\n".join(unified_diff(old, new, f"a/{name}", f"b/{name}", lineterm=""))


def _lines_of(text: str, old: str) -> list[int]:
    found: list[int] = []
    place = text.find(old)
    while place >= 0 and len(found) < 2 * _NEAR:
        found.append(text.count("\n", 0, place) + 1)
        place = text.find(old, place + len(old))
    return found


def _near(text: str, old: str) -> list[tuple[int, str]]:
    """The passages of as many lines that are most like it, with the lines they begin in."""
    wanted = old.strip("\n").split("\n")
    matcher = SequenceMatcher(autojunk=False)
    matcher.set_seq2(" ".join(wanted[0].split())[:400])
    found: list[tuple[float, int, str]] = []
    for number, line in enumerate(text.split("\n")[:_LINES], 1):
        # The first line decides: to compare whole passages would take as long as the file is.
        matcher.set_seq1(" ".join(line.split())[:400])
        if line.strip() and matcher.real_quick_ratio() >= _LIKE and matcher.quick_ratio() >= _LIKE:
            likeness = matcher.ratio()
            if likeness >= _LIKE:
                shown = line if len(line) <= _SHOWN else line[: _SHOWN - 1] + "…"
                found.append((likeness, number, shown))
    best = sorted(found, key=lambda one: (-one[0], one[1]))[:_NEAR]
    return [(number, shown) for _, number, shown in best]
