"""`gitmem digest`: what was learned in a stretch of time, to read or to mail."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from datetime import datetime
from typing import TYPE_CHECKING

import click

from gitmem.cli.context import App
from gitmem.cli.options import with_json
from gitmem.cli.output import Piece, bold, cyan, dim, green, red, yellow
from gitmem.errors import UsageError
from gitmem.json_shapes import digest_json
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
@click.option("--by", type=click.Choice(["topic", "day"]), default="topic", help="How it is arranged.")
@click.option(
    "--format",
    "form",
    type=click.Choice(["text", "markdown", "json"]),
    default="text",
    help="As what it is written.",
)
@with_json
def digest(app: App, since: str, until: str, by: str, form: str) -> None:
    """Say what was learned, changed, decided, done and taken back, and what waits for you.

    \b
    gitmem digest
    gitmem digest --since "last week" --until "last week"
    gitmem digest --since 2026-10 --format markdown --by day
    """
    app.out.is_json = app.out.is_json or form == "json"
    start, end = app.bundle.moment(since, start=True), app.bundle.moment(until)
    if end < start:
        raise UsageError(f"{until!r} is before {since!r}.")
    found = app.bundle.digest(since, until)
    app.out.json(digest_json(found))
    if not app.out.is_json:
        app.out.paged()
        (_Markdown if form == "markdown" else _Text)(app, found).tell(by_day=by == "day")


class _Text:
    """A digest for a terminal, or as plain text."""

    def __init__(self, app: App, found: Digest) -> None:
        self._app = app
        self._out = app.out
        self._found = found
        self._by_day = False

    def tell(self, *, by_day: bool) -> None:
        found = self._found
        self._by_day = by_day
        self.title(f"What was learned {_between(self._app, found.since, found.until)}")
        told = found.record.told()
        self.note(f"From {told}." if told else "Nothing was said or done.")
        for heading, news in _by_day(self._app, found.news) if by_day else _by_topic(found):
            self.heading(heading)
            for one in news:
                self.line(one)
        if found.restores:
            self.heading("Put back")
            for entry in found.restores:
                self.plain(
                    f"{entry.subject.removeprefix('restore: ')} ({self.when(entry.commit.committer.time)})"
                )
        if not (found.news or found.restores):
            self.note("Nothing was learned, changed or taken back.")
        self.waiting()

    def waiting(self) -> None:
        from gitmem.memory.review import in_words

        items = list(self._found.waiting)
        if not items:
            return
        self.heading("Waiting for you")
        self.plain(in_words(items))
        for item in items[:_LISTED]:
            self.plain(f"{item.kind}: {shortened(item.text or item.path)}")

    def when(self, seconds: float) -> str:
        local = self._app.world.local(seconds)
        return f"{local:%a} {local.day} {local:%b}"

    def about(self, one: News) -> str:
        """Why, when and by whom, in brackets behind it."""
        known = [shortened(one.item.about, 120)] if one.item.about and one.topic != "Done" else []
        if one.by is not None:
            reason = one.by.first("Reason") if one.topic not in ("Learned",) else ""
            known += [shortened(reason, 80)] if reason else []
            known += [] if self._by_day else [self.when(one.time)]
        return ", ".join(known)

    def label(self, one: News) -> str:
        """What it is, where the heading does not say."""
        if one.item.noun == "fact":
            known = "about the user" if one.item.heading == "About the user" else ""
            return "taken back" if self._by_day and one.topic == "Taken back" else known
        if (one.topic, one.item.noun) in (("Decided", "decision"), ("Done", "plan")):
            return {"decision": "decided"}.get(one.item.noun, one.item.noun) if self._by_day else ""
        return one.item.noun

    # How it is written

    def title(self, text: str) -> None:
        self._out.block(bold(text), indent="")

    def note(self, text: str) -> None:
        self._out.block(dim(text), indent="")

    def heading(self, text: str) -> None:
        self._out.line()
        self._out.line(bold(text))

    def plain(self, text: str) -> None:
        self._out.block("  ", text, indent="    ")

    def line(self, one: News) -> None:
        from gitmem.cli.show_changes import told_words

        sign = _SIGNS[one.topic]
        label: list[Piece] = [cyan(f"{self.label(one)}: ")] if self.label(one) else []
        text: list[Piece] = (
            told_words(self._out, one.item.was, one.item.title) if one.item.was else [one.item.title]
        )
        done = f": {one.item.about}" if one.topic == "Done" and one.item.about else ""
        about = self.about(one)
        self._out.block(
            _STYLES[sign](f"  {sign} "), *label, *text, done, dim(f"  ({about})" if about else "")
        )


class _Markdown(_Text):
    """A digest as markdown, for a mail or a page."""

    def title(self, text: str) -> None:
        self._out.line(f"# {text}")

    def note(self, text: str) -> None:
        self._out.line()
        self._out.line(text)

    def heading(self, text: str) -> None:
        self._out.line()
        self._out.line(f"## {text}")
        self._out.line()

    def plain(self, text: str) -> None:
        self._out.line(f"- {_escaped(text)}")

    def line(self, one: News) -> None:
        from gitmem.okf.comparison import words

        marks: dict[str, Callable[[str], str]] = {
            "+": lambda text: f"**{text}**",
            "-": lambda text: f"~~{text}~~",
        }
        text = _escaped(one.item.title)
        if one.item.was:
            pieces = []
            for sign, piece in words(one.item.was.strip("\n"), one.item.title.strip("\n")):
                core = _escaped(piece.strip())
                pieces.append(marks[sign](core) if sign in marks else core)
            text = " ".join(piece for piece in pieces if piece)
        label = f"{self.label(one)}: " if self.label(one) else ""
        done = f": {one.item.about}" if one.topic == "Done" and one.item.about else ""
        about = self.about(one)
        self._out.line(f"- {label}{text}{done}" + (f" *({_escaped(about)})*" if about else ""))


def _by_topic(found: Digest) -> Iterator[tuple[str, Sequence[News]]]:
    from gitmem.memory.history.digest import TOPICS

    for topic in TOPICS:
        if news := found.of(topic):
            yield topic, news


def _by_day(app: App, news: Sequence[News]) -> Iterator[tuple[str, Sequence[News]]]:
    from itertools import groupby

    from gitmem.dates import day_name

    ordered = sorted(news, key=lambda one: one.time)
    for day, group in groupby(
        ordered, key=lambda one: app.world.local(one.time).date() if one.time else None
    ):
        listed = list(group)
        yield (day_name(app.world.local(listed[0].time), now=app.world.here()) if day else "Some day"), listed


def _between(app: App, since: datetime, until: datetime) -> str:
    from gitmem.dates import day_name

    now = app.world.here()
    first, last = (day_name(moment, now=now).rpartition(", ")[2] for moment in (since, until))
    return f"on {first}" if first == last else f"from {first} to {last}"


def _escaped(text: str) -> str:
    """The text on one line, with nothing in it that markdown or HTML would take for its own."""
    import re

    return re.sub(r"([\\`*_{}\[\]<>#|~])", r"\\\1", " ".join(text.split()))
