"""`gitmem recall`: earlier sessions, by a question or one by one."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from gitmem.cli.context import App
from gitmem.cli.options import with_dates, with_json
from gitmem.cli.output import bold, count, cyan, dim, yellow
from gitmem.cli.progress import shown_while_building
from gitmem.errors import UsageError
from gitmem.json_shapes import about_json, reading_json, recalled_json

if TYPE_CHECKING:
    from gitmem.memory.find.recall import About, Line, Reading, Recalled


@click.command()
@click.argument("query", nargs=-1, metavar="[QUERY...]")
@click.option("--session", default="", help="Read this session instead: how it began and ended.")
@click.option(
    "--around", default="", metavar="ENTRY", help="With --session: what stands around an entry, by its id."
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
    if around and not session:
        raise UsageError("--around needs the --session that the entry is in.")
    if session and text:
        raise UsageError("Give a question or a --session to read, not both.")
    with shown_while_building(app) as bundle:
        if session:
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
    app.out.json(recalled_json(found))
    if not found.recaps:
        app.out.line(f"No earlier session has to do with {text[:80]!r}.")
        return
    app.out.paged()
    for number, recap in enumerate(found.recaps):
        if number:
            app.out.line()
        _tell_about(app, recap.about)
        if recap.recap:
            app.out.text("  " + recap.recap)
        for window in recap.windows:
            app.out.line()
            for line in window:
                _tell_line(app, line)


def _tell_sessions(app: App, sessions: list[About]) -> None:
    app.out.json({"sessions": [about_json(about) for about in sessions]})
    if not sessions:
        app.out.line("There is no session yet.")
    for about in sessions:
        _tell_about(app, about)


def _tell_reading(app: App, reading: Reading) -> None:
    app.out.json(reading_json(reading))
    app.out.paged()
    _tell_about(app, reading.about)
    for line in reading.lines:
        _tell_line(app, line)
    if reading.left_out:
        app.out.line(dim(f"  {count(reading.left_out, 'entry', 'entries')} in between are not shown."))


def _tell_about(app: App, about: About) -> None:
    known = (about.source or about.platform, about.model, about.agent, about.machine)
    told = "  ".join(piece for piece in (app.moment(about.started), about.title, *known) if piece)
    app.out.line(cyan(about.session), dim(f"  {told}"))


def _tell_line(app: App, line: Line) -> None:
    from gitmem.memory.find.search import on_one_line

    text = on_one_line(line.text)
    source = dim(f"output of {line.source}: ") if line.source else ""
    app.out.line("  ", dim(f"{app.moment(line.at)}  "), source, bold(text) if line.matches else text)
    if line.unconfirmed:
        app.out.line("    ", yellow(f"unconfirmed, from {line.unconfirmed}"))
    if line.since:
        app.out.line("    ", dim(f"since then replaced by: {on_one_line(line.since)}"))
