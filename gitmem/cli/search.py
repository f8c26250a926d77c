"""`gitmem search`: find entries, now or as of any commit."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import click

from gitmem.cli.context import App
from gitmem.cli.options import once, several, with_dates, with_json
from gitmem.cli.output import Piece, bold, count, dim, yellow
from gitmem.cli.progress import shown_while_building
from gitmem.errors import UsageError
from gitmem.okf.short_ids import short

if TYPE_CHECKING:
    from gitmem.memory.find.search import Found, Hit

_IN = "    "
_FILTERS = ("type", "session", "agent", "tag", "since", "until", "path")
"""Filters whose values name something that is here."""


@click.command()
@click.argument("query", nargs=-1, metavar="[QUERY...]")
@once(
    "--as-of",
    metavar="REV",
    help="As the memory was: a commit, a snapshot, a date or session:ID.",
)
@several("--type", metavar="TYPE", help="Only entries of a type: turn, Decision, CuratedMemory, …")
@several("--session", help="Only entries of a session.")
@several("--agent", help="Only entries that an agent wrote.")
@several("--tag", help="Only entries with a tag.")
@once("--since", metavar="DATE", help="Only entries from that day or moment on.")
@once("--until", metavar="DATE", help="Only entries up to that day or moment.")
@several("--path", help="Only entries in a file or below a directory.")
@once("--scope", metavar="SCOPE", help="shared, all, or a machine; else what holds on this machine.")
@click.option("--removed", is_flag=True, help="Only entries that are gone from the memory.")
@click.option(
    "--events", is_flag=True, help="Leave out nothing: echoes of the memory, and what no longer holds."
)
@click.option(
    "--limit", type=click.IntRange(1, 1000), default=10, show_default=True, help="At most that many."
)
@click.option("--explain", is_flag=True, help="Show what each score is made of.")
@with_dates
@with_json
def search(
    app: App,
    /,
    query: tuple[str, ...],
    path: tuple[str, ...],
    removed: bool,
    events: bool,
    limit: int,
    explain: bool,
    **wanted: Any,
) -> None:
    """Find entries, the best first; without a query, list what passes the filters, the newest first.

    The more of the words an entry has, and the rarer they are, the better. "Words in quotes" must be there in that
    order, -word must not, unless the query is a question. A filter that is given several times takes any of its
    values.

    \b
    gitmem search database migration
    gitmem search '"dark mode" -terminal' --since "2 weeks ago"
    gitmem search invoice --as-of 2026-06-30 --type Decision
    gitmem search --type Decision --since "last month"
    """
    wanted["path"] = tuple(map(app.path, path))
    text = " ".join(query)
    if not text.strip() and not removed and not any(wanted[name] for name in _FILTERS):
        raise UsageError("There is nothing to look for: give a word, or a filter such as `--type Decision`.")
    with shown_while_building(app) as bundle:
        found = bundle.search(text, **wanted, removed=removed, events=events, limit=limit)
    app.out.json(found, more=("parts",) if explain else ())
    if not found.hits:
        _tell_nothing(app, text, found, wanted, removed)
        return
    app.out.paged()
    for number, hit in enumerate(found.hits):
        if number:
            app.out.line()
        _tell(app, hit, explain)
    if found.withheld:
        app.out.line()
        app.out.line(dim(f"{found.withheld} more were kept back by the scanner."))


def _tell(app: App, hit: Hit, explain: bool) -> None:
    """The text, and behind it where it is from: an id to go on with, the kind, the time, the place."""
    from gitmem.memory.find.search import on_one_line
    from gitmem.okf.ranks import ECHO, TOOL

    if hit.rank in (TOOL, ECHO):
        said = "output of" if hit.rank == TOOL else "an echo of the memory by"
        app.out.block(yellow(f"{said} {hit.source or hit.text.partition(chr(10))[0]}"), indent="")
    app.out.block(*_marked(hit), indent="")
    if hit.unconfirmed:
        app.out.block(_IN, yellow(f"unconfirmed, from {hit.unconfirmed}"))
    if hit.since:
        app.out.block(_IN, dim(f"since then replaced by: {on_one_line(hit.since)}"))
    app.out.block(_IN, dim("  ".join(piece for piece in _place(app, hit) if piece)))
    if explain:
        parts = "  ".join(f"{name} {value:.2f}" for name, value in hit.parts.items())
        app.out.block(_IN, yellow(f"{hit.score:.2f}"), dim(f" = {parts}"))


def _place(app: App, hit: Hit) -> Iterator[str]:
    is_event = hit.key.space == "event"
    yield short(hit.key.id)
    yield hit.type
    yield app.moment(hit.at)
    # The file of an event is its session's; a file that is the entry is what to open.
    yield f"session {hit.session}" if is_event and hit.session else hit.path
    yield f"removed by {hit.removed[:8]}" if hit.removed else ""
    yield f"and in {count(hit.also, 'other place')}" if hit.also > 0 else ""


def _marked(hit: Hit) -> Iterator[Piece]:
    """The snippet with its matches in bold."""
    end = 0
    for start, stop in hit.marks:
        yield hit.snippet[end:start]
        yield bold(hit.snippet[start:stop])
        end = stop
    yield hit.snippet[end:]


def _tell_nothing(app: App, text: str, found: Found, wanted: dict[str, Any], removed: bool) -> None:
    if not found.query and text.strip():
        app.out.line("There is nothing to look for in that: give a word.")
        return
    if found.withheld:
        app.out.line(f"All that was found, {found.withheld}, was kept back by the scanner.")
        return
    asked = [
        f"--{name.replace('_', '-')} {value}"
        for name, given in wanted.items()
        for value in ((given,) if isinstance(given, str) else given)
        if value
    ]
    asked += ["--removed"] if removed else []
    where = f" with {' '.join(asked)}" if asked else ""
    shown = text if len(text) <= 80 else text[:79] + "…"
    app.out.line(f"Nothing found for {shown!r}{where}." if text.strip() else f"Nothing found{where}.")
