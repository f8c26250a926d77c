"""Where entries come from, for people: the lines of `gitmem blame` and `gitmem trace`."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING

from gitmem.json_shapes import written_line
from gitmem.memory.gate.trust import ELSEWHERE
from gitmem.okf.plain import shortened

if TYPE_CHECKING:
    from gitmem.memory.history.blame import Blamed
    from gitmem.memory.history.log import LogEntry
    from gitmem.memory.history.reach import Exposed, Reached
    from gitmem.memory.history.trace import Traced

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
    agent, machine = entry.first("Agent") or entry.commit.author.name, entry.first("Machine")
    who = claimed(entry, " ".join(_said({"in session": entry.session, "by": agent, "on": machine})))
    why = "; ".join(_said({"reason:": entry.first("Reason"), "source:": entry.first("Source")}))
    return f"{verb} {_minute(entry)} {who} ({entry.id[:8]})" + (f", {why}" if why else "")


def claimed(entry: LogEntry, told: str) -> str:
    """What a commit says of itself: a claim, where it came from elsewhere."""
    if not entry.pulled_from:
        return told
    whence = "elsewhere" if entry.pulled_from == ELSEWHERE else f"from {entry.pulled_from}"
    return f"(says {told}, pulled {whence})" if told else f"(pulled {whence})"


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
            for reached in one.wrote:
                yield f"    {reached_line(reached)}"
    yield ""
    yield f"To take it back: {found.command}"
    if found.command_for_all != found.command and any(one.group != "derived" for one in found.reached):
        yield f"With all that those sessions wrote: {found.command_for_all}"


_GROUPS = {"derived": "derived", "turn": "same turn", "later": "later"}


def reached_line(one: Reached) -> str:
    """What a session wrote while it had something before it, on one line."""
    why = f" ({one.why})" if one.why else ""
    return f"{_GROUPS[one.group]}: {written_line(one.change)}{why}"


def _how(one: Exposed) -> str:
    if not one.in_prompt:
        return " (by recall only)"
    return "" if one.certain else " (began while it was there)"


def _step(entry: LogEntry) -> str:
    known = {"session": entry.session, "machine": entry.first("Machine"), "source": entry.first("Source")}
    said = claimed(entry, "  ".join(_said(known)))
    return "  ".join([_minute(entry), entry.id[:8], entry.commit.subject, *([said] if said else [])])


def _said(known: Mapping[str, str]) -> list[str]:
    return [f"{word} {value}" for word, value in known.items() if value]


def _minute(entry: LogEntry) -> str:
    return entry.at[:16].replace("T", " ")
