"""Where entries come from, for people: the lines of `gitmem blame` and `gitmem trace`."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from gitmem.cli.output import bold, count, dim, green, padded, red, yellow
from gitmem.memory.provenance import ELSEWHERE
from gitmem.okf.plain import shortened
from gitmem.shape import written_line

if TYPE_CHECKING:
    from gitmem.cli.context import App
    from gitmem.memory.history.blame import Blamed
    from gitmem.memory.history.log import LogEntry
    from gitmem.memory.history.reach import Exposed, Reached
    from gitmem.memory.history.trace import Life, Traced

_PULLED = " on another machine, which counts as a machine's word here"
_MARGIN, _DEEPER = "    ", "      "


# Blame


def tell_blamed(app: App, one: Blamed) -> None:
    """An entry with its present words, who gave it these and why, and the words it had before."""
    app.out.block(red("- ") if one.left else green("+ "), one.entry.text, indent="  ")
    app.out.block(_MARGIN, dim(blame_line(one, app.date)), indent=_DEEPER)
    for words in one.earlier:
        app.out.block(_MARGIN, dim(f"before: {shortened(words.text)}"), indent=_DEEPER)
        app.out.block(_DEEPER, dim(_event("from", words.by, app.date)), indent=_DEEPER + "  ")


def blame_line(one: Blamed, date: Callable[[float], str]) -> str:
    """The story of an entry's present words."""
    if one.earlier:
        parts = [_event("reworded", one.changed, date)]
    else:
        parts = [_event("added" if one.first is None else "brought back", one.introduced, date)]
    if one.first is not None:
        parts.append(_event("first added", one.first, date))
    if one.verified:
        pulled = one.verified.startswith("human:") and not one.verified_here
        parts.append(f"verified by {one.verified}" + (_PULLED if pulled else ""))
    if one.left is not None:
        parts.append(_event("left", one.left, date))
    short = f"{one.entry.key.id[:8]}: " if one.entry.key.space == "§" else ""
    return short + "; ".join(parts)


def _event(verb: str, entry: LogEntry, date: Callable[[float], str]) -> str:
    why = "; ".join(_said({"reason:": entry.reason, "source:": entry.source}))
    when = date(entry.commit.made)
    return f"{verb} {when} {_who(entry)} ({entry.id[:8]})" + (f", {why}" if why else "")


def _who(entry: LogEntry) -> str:
    agent, machine = entry.agent or entry.commit.author.name, entry.machine
    return claimed(entry, " ".join(_said({"in session": entry.session, "by": agent, "on": machine})))


def claimed(entry: LogEntry, told: str) -> str:
    """What a commit says of itself: a claim, where it came from elsewhere."""
    if not entry.pulled_from:
        return told
    whence = "elsewhere" if entry.pulled_from == ELSEWHERE else f"from {entry.pulled_from}"
    return f"(says {told}, pulled {whence})" if told else f"(pulled {whence})"


def _said(known: Mapping[str, str]) -> list[str]:
    return [f"{word} {value}" for word, value in known.items() if value]


# Trace

_STEPS, _PLACES, _FOLLOWING = 14, 5, 5
"""So many lines of each at most: what is longer is counted, and listed with `--json`."""


def tell_traced(app: App, found: Traced, *, sessions: bool, events: bool) -> None:
    """The life of a text as a timeline, its reach in numbers, and the command that takes it back."""
    said = [life for life in found.lives if life.key.space == "event"]
    known = [thing for thing in found.things if thing[0].key.space != "event"]
    _tell_lives(app, known)
    if said and (events or not known):
        _tell_said(app, said, all_of_it=events)
    elif said:
        where = len({life.came.session for life in said})
        app.out.line(dim(f"… and said {count(len(said), 'time')} in {count(where, 'session')} (--events)"))
    app.out.line()
    _tell_reach(app, found, sessions=sessions)
    if all(life.left is not None for life in found.lives):
        app.out.line("Nothing of it is left in the memory.")
        return
    app.out.line("To take it back: ", bold(found.command))
    if found.command_for_all != found.command and any(one.group != "derived" for one in found.follows):
        app.out.line("With all that those sessions wrote: ", found.command_for_all)


def _tell_lives(app: App, things: Sequence[Sequence[Life]]) -> None:
    """Each thing that had the text, with its wordings one after the other."""
    left = _STEPS
    for thing in things[:_PLACES]:
        last = thing[-1]
        short = f"  {last.key.id[:8]}" if last.key.space == "§" else ""
        name = last.text if last.key.space == "§" else last.text.partition("\n")[0]
        app.out.block(bold(shortened(name, 200)), dim(f"  {last.path}{short}"), indent="  ")
        steps = list(_steps(thing))
        for verb, style, entry, text in steps[: max(left, 1)]:
            when = padded(app.date(entry.commit.made), 16)
            why = f", {entry.first('Reason')}" if entry.reason else ""
            words = f' "{shortened(text, 60)}"' if text else ""
            told = f"{words} {_who(entry)} ({entry.id[:8]}){why}"
            app.out.block("  ", dim(when), "  ", style(verb), told, indent=" " * 20)
        if len(steps) > max(left, 1):
            app.out.line(dim(f"  … and {count(len(steps) - max(left, 1), 'step')} more (--json)"))
        left -= len(steps)
    if len(things) > _PLACES:
        app.out.line(
            dim(f"… and {count(len(things) - _PLACES, 'more entry', 'more entries')} with it (--json)")
        )


def _steps(thing: Sequence[Life]) -> Iterable[tuple[str, Any, LogEntry, str]]:
    """What happened to an entry: a verb, its colour, the commit, and words that are not the last ones."""
    for place, life in enumerate(thing):
        before = thing[place - 1] if place else None
        words = "" if life.text == thing[-1].text else life.text
        if before is None:
            yield "came", green, life.came, words
        elif before.key == life.key:
            yield "came back", green, life.came, words
        else:
            yield "reworded", yellow, life.came, words
        goes_on = (
            place + 1 < len(thing) and life.left is not None and thing[place + 1].came.id == life.left.id
        )
        if life.left is not None and not goes_on:
            yield _LEFT.get(life.left.kind, "left"), red, life.left, ""


_LEFT = {"revert": "taken back", "restore": "went with a restore", "archive": "archived", "memory": "removed"}


def _tell_said(app: App, lives: Sequence[Life], *, all_of_it: bool) -> None:
    """Each time that it was said in a session; the first ones, where nothing else has it."""
    listed = lives if all_of_it else lives[:_STEPS]
    for life in listed:
        app.out.block(shortened(life.text, 200), indent="  ")
        app.out.block("  ", dim(_event("said", life.came, app.date)), indent=_MARGIN)
    if len(lives) > len(listed):
        app.out.line(dim(f"… and {count(len(lives) - len(listed), 'time')} more (--events)"))


def _tell_reach(app: App, found: Traced, *, sessions: bool) -> None:
    if not found.exposed:
        app.out.line("It reached no other session.")
        return
    wrote = sum(bool(one.wrote) for one in found.exposed)
    more = "" if sessions else " (--sessions)"
    app.out.line(f"It reached {count(len(found.exposed), 'session')}, {wrote} wrote something{more}")
    if sessions:
        for exposed in found.exposed:
            _tell_exposed(app, exposed)
        return
    own = {(life.came.id, (life.path, life.key)) for life in found.lives}  # told above
    derived = [
        one for one in found.reached if one.group == "derived" and (one.entry.id, one.place) not in own
    ]
    for one in derived[:_FOLLOWING]:
        app.out.block("  ", reached_line(one), indent=_MARGIN)
    if len(derived) > _FOLLOWING:
        app.out.line(dim(f"  … and {len(derived) - _FOLLOWING} more that follow from it (--sessions)"))


def _tell_exposed(app: App, one: Exposed) -> None:
    title = app.bundle.session_title(one.session)
    app.out.line("  ", one.session, dim(f"  {shortened(title, 60)}" if title else ""), dim(_how(one)))
    for question in one.recalled_for:
        app.out.block(_MARGIN, dim("recalled for: "), shortened(question), indent=_DEEPER)
    for reached in one.wrote:
        app.out.block(_MARGIN, reached_line(reached), indent=_DEEPER)


_GROUPS = {"derived": "derived", "turn": "same turn", "later": "later"}


def reached_line(one: Reached) -> str:
    """What a session wrote while it had something before it, on one line."""
    why = f" ({one.why})" if one.why else ""
    return f"{_GROUPS[one.group]}: {written_line(one.change)}{why}"


def _how(one: Exposed) -> str:
    if not one.in_prompt:
        return " (by recall only)"
    return "" if one.certain else " (began while it was there)"
