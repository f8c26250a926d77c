"""Where entries come from, for people: the lines of `gitmem blame` and `gitmem trace`."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from gitmem.json_shapes import written_line
from gitmem.okf.plain import shortened

if TYPE_CHECKING:
    from gitmem.memory.history.blame import Blamed
    from gitmem.memory.history.log import LogEntry
    from gitmem.memory.history.trace import Exposed, Traced

_PULLED = " on another machine, which counts as a machine's word here"


def blame_line(one: Blamed) -> str:
    """The story of one entry."""
    parts = [_event("added", one.introduced)]
    if one.times:
        parts.append(_event(f"reworded {one.times}x, last", one.changed))
    if one.verified:
        pulled = one.verified.startswith("human:") and not one.verified_here
        parts.append(f"verified by {one.verified}" + (_PULLED if pulled else ""))
    if one.left is not None:
        parts.append(_event("left", one.left))
    return "; ".join(parts)


def _event(verb: str, entry: LogEntry) -> str:
    who = " ".join(
        f"{word} {value}"
        for word, value in (
            ("in session", entry.session),
            ("by", entry.first("Agent") or entry.commit.author.name),
            ("on", entry.first("Machine")),
        )
        if value
    )
    why = "; ".join(
        f"{word}: {value}"
        for word, value in (("reason", entry.first("Reason")), ("source", entry.first("Source")))
        if value
    )
    return f"{verb} {_minute(entry)} {who} ({entry.id[:8]})" + (f", {why}" if why else "")


def trace_lines(found: Traced) -> Iterator[str]:
    """The lives of a text, the sessions it reached, and the command that takes it back."""
    for life in found.lives:
        yield f"{life.path}: {shortened(life.text)}"
        yield f"  came  {_step(life.came)}"
        if life.left is not None:
            yield f"  left  {_step(life.left)}"
    if found.exposed:
        yield ""
        yield "Sessions that it reached:"
        for one in found.exposed:
            yield f"  {one.session}{_how(one)}"
            for question in one.recalled_for:
                yield f"    recalled for: {shortened(question)}"
            for change in one.wrote:
                yield f"    {written_line(change)}"
    yield ""
    yield f"To take it back: {found.command}"


def _how(one: Exposed) -> str:
    if not one.in_prompt:
        return " (by recall only)"
    return "" if one.certain else " (began while it was there)"


def _step(entry: LogEntry) -> str:
    parts = [_minute(entry), entry.id[:8], entry.commit.subject]
    for word, value in (
        ("session", entry.session),
        ("machine", entry.first("Machine")),
        ("source", entry.first("Source")),
    ):
        if value:
            parts.append(f"{word} {value}")
    return "  ".join(parts)


def _minute(entry: LogEntry) -> str:
    return entry.at[:16].replace("T", " ")
