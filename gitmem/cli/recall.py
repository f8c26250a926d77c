"""`gitmem recall`: earlier sessions, by a question or one by one."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from gitmem.cli.context import App
from gitmem.cli.options import json_option, pass_app
from gitmem.cli.output import bold, count, cyan, dim
from gitmem.cli.progress import shown_while_building
from gitmem.errors import UsageError
from gitmem.json_shapes import about_json, reading_json, recalled_json

if TYPE_CHECKING:
    from gitmem.memory.find.recall import About, Line, Reading, Recalled


@click.command()
@click.argument("query", nargs=-1, metavar="[QUERY...]")
@click.option("--session", help="Read this session instead: how it began and ended.")
@click.option("--around", metavar="ENTRY", help="With --session: what stands around an entry, by its id.")
@click.option(
    "--window", type=click.IntRange(1, 20), default=5, show_default=True, help="Entries on each side."
)
@click.option(
    "--limit", type=click.IntRange(1, 10), default=3, show_default=True, help="At most that many sessions."
)
@click.option(
    "--order", type=click.Choice(["best", "newest", "oldest"]), default="best", help="Which come first."
)
@click.option("--since", metavar="DATE", help="Only what was said from that day or moment on.")
@click.option("--until", metavar="DATE", help="Only what was said up to that day or moment.")
@click.option("--current", metavar="SESSION", help="Leave out this session; else the open one.")
@json_option
@pass_app
def recall(
    app: App,
    query: tuple[str, ...],
    session: str | None,
    around: str | None,
    window: int,
    limit: int,
    order: Any,
    since: str | None,
    until: str | None,
    current: str | None,
    as_json: bool,
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
            reading = bundle.read_session(session, around=around or "", window=window)
            _tell_reading(app, reading, as_json)
            return
        if not text.strip():
            _tell_sessions(app, bundle.recent_sessions(limit=limit, current=current or ""), as_json)
            return
        found = bundle.recall(
            text, limit=limit, order=order, since=since or "", until=until or "", current=current or ""
        )
    _tell_recalled(app, found, text, as_json)


def _tell_recalled(app: App, found: Recalled, text: str, as_json: bool) -> None:
    if as_json:
        app.out.json(recalled_json(found))
        return
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


def _tell_sessions(app: App, sessions: list[About], as_json: bool) -> None:
    if as_json:
        app.out.json({"sessions": [about_json(about) for about in sessions]})
        return
    if not sessions:
        app.out.line("There is no session yet.")
    for about in sessions:
        _tell_about(app, about)


def _tell_reading(app: App, reading: Reading, as_json: bool) -> None:
    if as_json:
        app.out.json(reading_json(reading))
        return
    app.out.paged()
    _tell_about(app, reading.about)
    for line in reading.lines:
        _tell_line(app, line)
    if reading.left_out:
        app.out.line(dim(f"  {count(reading.left_out, 'entry', 'entries')} in between are not shown."))


def _tell_about(app: App, about: About) -> None:
    known = (about.source or about.platform, about.model, about.agent, about.machine)
    told = "  ".join(piece for piece in (_date(app, about.started), about.title, *known) if piece)
    app.out.line(cyan(about.session), dim(f"  {told}"))


def _tell_line(app: App, line: Line) -> None:
    from gitmem.memory.find.search import on_one_line

    text = on_one_line(line.text)
    app.out.line("  ", dim(f"{_date(app, line.at)}  "), bold(text) if line.matches else text)


def _date(app: App, at: str) -> str:
    from gitmem.okf.timestamps import parse

    moment = parse(at)
    return app.date(moment.timestamp()) if moment else at
