"""`gitmem recall`: earlier sessions, by a question or one by one."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

import click

from gitmem.cli.context import App
from gitmem.cli.options import with_dates, with_json
from gitmem.cli.output import bold, count, cyan, dim, yellow
from gitmem.cli.progress import shown_while_building
from gitmem.errors import UsageError
from gitmem.okf.short_ids import short

if TYPE_CHECKING:
    from collections.abc import Sequence

    from gitmem.memory.find.recall import About, Line, Reading, Recalled, Recap

_AROUND = 2
"""Lines that are shown on each side of a match."""
FIRST = 20
"""Lines of the beginning, where a session is too long to be shown whole."""
_SPEAKER = 11
_KINDS = {"observation": "noticed", "decision": "decided", "tool_call": "tool", "turn": "said"}


@click.command()
@click.argument("query", nargs=-1, metavar="[QUERY...]")
@click.option("--session", default="", help="Read this session instead: how it began and ended.")
@click.option(
    "--around", default="", metavar="ENTRY", help="Read what stands around an entry instead, by its id."
)
@click.option(
    "--window", type=click.IntRange(1, 20), default=5, show_default=True, help="Entries on each side."
)
@click.option(
    "--limit", type=click.IntRange(1, 10), default=3, show_default=True, help="At most that many sessions."
)
@click.option(
    "--order", type=click.Choice(["best", "newest", "oldest"]), default="best", help="Which come first."
)
@click.option("--since", default="", metavar="DATE", help="Only what was said from that day or moment on.")
@click.option("--until", default="", metavar="DATE", help="Only what was said up to that day or moment.")
@click.option(
    "--events", is_flag=True, help="Leave out nothing: echoes of the memory, and what no longer holds."
)
@click.option("--current", default="", metavar="SESSION", help="Leave out this session; else the open one.")
@with_dates
@with_json
def recall(
    app: App,
    query: tuple[str, ...],
    session: str,
    around: str,
    window: int,
    limit: int,
    current: str,
    **wanted: Any,
) -> None:
    """Recall what earlier sessions had to do with a question.

    Without a question, the newest sessions; with --session, that one as it was.

    \b
    gitmem recall which database did we choose
    gitmem recall
    gitmem recall --session s1
    """
    text = " ".join(query)
    if (session or around) and text:
        raise UsageError("Give a question, or a --session or an entry to read --around; not both.")
    with shown_while_building(app) as bundle:
        if session or around:
            reading = bundle.read_session(
                session, around=around, window=window, events=bool(wanted["events"])
            )
            _tell_reading(app, reading)
            return
        if not text.strip():
            _tell_sessions(app, bundle.recent_sessions(limit=limit, current=current))
            return
        found = bundle.recall(text, limit=limit, current=current, **wanted)
    _tell_recalled(app, found, text)


def _tell_recalled(app: App, found: Recalled, text: str) -> None:
    app.out.json(found)
    if not found.recaps:
        app.out.line(f"No earlier session has to do with {text[:80]!r}.")
        return
    app.out.paged()
    for number, recap in enumerate(found.recaps):
        if number:
            app.out.line()
        _tell_about(app, recap.about)
        if _says_more(recap):
            app.out.block("  ", recap.recap, indent="  ")
        app.out.line()
        _tell_chat(app, [line for window in recap.windows for line in window], around=_AROUND)


def _says_more(recap: Recap) -> bool:
    """Return whether a recap is more than sentences of the lines that follow it."""
    from gitmem.text.words import sentences

    lines = (*recap.began, *(line for window in recap.windows for line in window), *recap.ended)
    said = " ".join(" ".join(line.text.split()) for line in lines)
    return not all(sentence.rstrip(".…") in said for sentence in sentences(recap.recap))


def _tell_sessions(app: App, sessions: list[About]) -> None:
    app.out.json({"sessions": sessions})
    if not sessions:
        app.out.line("There is no session yet.")
    for about in sessions:
        _tell_about(app, about)


def _tell_reading(app: App, reading: Reading) -> None:
    app.out.json(reading)
    app.out.paged()
    _tell_about(app, reading.about)
    app.out.line()
    first = reading.lines[:FIRST] if reading.left_out else reading.lines
    _tell_chat(app, first)
    if reading.left_out:
        app.out.line(dim(f"  … {count(reading.left_out, 'entry', 'entries')} in between are not shown"))
        _tell_chat(app, reading.lines[FIRST:])


def _tell_about(app: App, about: About) -> None:
    known = (about.source or about.platform, about.model, about.agent, about.machine)
    told = "  ".join(piece for piece in (app.moment(about.started), about.title, *known) if piece)
    app.out.line(cyan(about.session), dim(f"  {told}"))


def _tell_chat(app: App, lines: Sequence[Line], *, around: int = 0) -> None:
    """Lines as a conversation: when, who, what, and the id to go on with; only what is near a match, if `around` says so."""
    from gitmem.okf.timestamps import parse

    near = {
        number + step
        for number, line in enumerate(lines)
        if line.matches
        for step in range(-around, around + 1)
    }
    day, told = "", -1
    for number, line in enumerate(lines):
        if around and near and number not in near:
            continue
        if told >= 0 and told != number - 1:
            app.out.line(dim("  …"))
        told = number
        at = parse(line.at)
        local = f"{app.world.local(at.timestamp()):%Y-%m-%d %H:%M}" if at else ""
        date, _, time = local.partition(" ")
        if date != day:
            day = date
            app.out.line("  ", dim(day))
        _tell_line(app, line, time)


def _tell_line(app: App, line: Line, time: str) -> None:
    """Print the words of a line, one speaker below the other."""
    from gitmem.memory.find.search import on_one_line

    margin = bold("> ") if line.matches else "  "
    indent = " " * (2 + 7 + _SPEAKER)
    for number, (who, words) in enumerate(_spoken(line)):
        text = on_one_line(words)
        shown = bold(text) if line.matches else text
        begun = dim(f"{time:<5}  ") if number == 0 else "       "
        end = dim(f"  {short(line.id)}") if number == 0 and line.id else ""
        app.out.block(
            margin if number == 0 else "  ", begun, cyan(f"{who:<{_SPEAKER}}"), shown, end, indent=indent
        )
    if line.unconfirmed:
        app.out.block(indent, yellow(f"unconfirmed, from {line.unconfirmed}"), indent=indent)
    if line.since:
        app.out.block(indent, dim(f"since then replaced by: {on_one_line(line.since)}"), indent=indent)


def _spoken(line: Line) -> list[tuple[str, str]]:
    """Return who said what in a line: the speakers of a turn, or what kind of thing it is."""
    if line.type == "turn":
        said = re.split(r"^\[(\w+)\] ", line.text, flags=re.MULTILINE)
        if len(said) > 2:
            return list(zip(said[1::2], said[2::2], strict=True))
    if line.source:
        return [("tool", f"{line.source}: {line.text}")]
    return [(_KINDS.get(line.type, line.type), line.text)]
