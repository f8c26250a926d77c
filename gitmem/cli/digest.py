"""`gitmem digest`: what was learned in a stretch of time, to read or to mail."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime
from typing import TYPE_CHECKING

import click

from gitmem.cli.context import App
from gitmem.cli.options import with_json
from gitmem.cli.output import Piece, bold, cyan, dim, green, red, yellow
from gitmem.errors import UsageError
from gitmem.okf.plain import shortened

if TYPE_CHECKING:
    from gitmem.memory.history.digest import Digest, News

_LISTED = 5
"""So much of what waits is quoted; `gitmem review` has the rest."""
_SIGNS = {"Learned": "+", "Decided": "+", "Changed": "~", "Done": "~", "Forgotten": "-", "Taken back": "-"}
_STYLES = {"+": green, "~": yellow, "-": red}


@click.command()
@click.option(
    "--since", default="1 week ago", metavar="DATE", show_default=True, help="From that day or moment on."
)
@click.option("--until", default="now", metavar="DATE", help="Up to that day or moment.")
@with_json
def digest(app: App, since: str, until: str) -> None:
    """Say what was learned, changed, decided, done and taken back, and what waits for you.

    \b
    gitmem digest
    gitmem digest --since "last week" --until "last week"
    gitmem digest --since 2026-10
    """
    start, end = app.bundle.moment(since, start=True), app.bundle.moment(until)
    if end < start:
        raise UsageError(f"{until!r} is before {since!r}.")
    found = app.bundle.digest(since, until)
    app.out.json(found)
    if not app.out.is_json:
        app.out.paged()
        _tell(app, found)


def _tell(app: App, found: Digest) -> None:
    """A digest for people: what is new by topic, then what was put back and what waits."""
    from gitmem.memory.history.digest import TOPICS
    from gitmem.memory.review import in_words

    out = app.out
    out.block(bold(f"What was learned {_between(app, found.since, found.until)}"), indent="")
    told = found.record.told()
    out.block(dim(f"From {told}." if told else "Nothing was said or done."), indent="")
    for topic in TOPICS:
        if news := found.of(topic):
            _heading(app, topic)
            for one in news:
                _tell_news(app, one)
    if found.restores:
        _heading(app, "Put back")
        for entry in found.restores:
            when = _day(app, entry.commit.committer.time)
            out.block("  ", f"{entry.subject.removeprefix('restore: ')} ({when})")
    if not (found.news or found.restores):
        out.block(dim("Nothing was learned, changed or taken back."), indent="")
    if items := list(found.waiting):
        _heading(app, "Waiting for you")
        out.block("  ", in_words(items))
        for item in items[:_LISTED]:
            out.block("  ", f"{item.kind}: {shortened(item.text or item.path)}")


def _heading(app: App, text: str) -> None:
    app.out.line()
    app.out.line(bold(text))


def _tell_news(app: App, one: News) -> None:
    from gitmem.cli.show_changes import told_words

    item, sign, label = one.item, _SIGNS[one.topic], _label(one)
    words: list[Piece] = told_words(app.out, item.was, item.title) if item.was else [item.title]
    done = f": {item.about}" if one.topic == "Done" and item.about else ""
    about = ", ".join(_about(app, one))
    app.out.block(
        _STYLES[sign](f"  {sign} "),
        cyan(f"{label}: " if label else ""),
        *words,
        done,
        dim(f"  ({about})" if about else ""),
    )


def _about(app: App, one: News) -> Iterator[str]:
    """Why and when."""
    if one.item.about and one.topic != "Done":
        yield shortened(one.item.about, 120)
    if one.by is not None:
        reason = one.by.reason if one.topic != "Learned" else ""
        if reason:
            yield shortened(reason, 80)
        yield _day(app, one.time)


def _label(one: News) -> str:
    """The kind of thing, where the heading does not say it."""
    if one.item.noun == "fact":
        return "about the user" if one.item.heading == "About the user" else ""
    is_said = (one.topic, one.item.noun) in (("Decided", "decision"), ("Done", "plan"))
    return "" if is_said else one.item.noun


def _day(app: App, seconds: float) -> str:
    local = app.world.local(seconds)
    return f"{local:%a} {local.day} {local:%b}"


def _between(app: App, since: datetime, until: datetime) -> str:
    from gitmem.dates import day_name

    now = app.world.here()
    first, last = (day_name(moment, now=now).rpartition(", ")[2] for moment in (since, until))
    return f"on {first}" if first == last else f"from {first} to {last}"
