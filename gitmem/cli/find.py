"""`gitmem search` and `recall`: entries, now or as of any commit, and earlier sessions."""

from __future__ import annotations

from typing import Any

import click

from gitmem.cli.app import App
from gitmem.cli.options import AS_OF, SINCE, UNTIL, command, flag, once, several, several_words
from gitmem.cli.terminal import indexing
from gitmem.errors import UsageError

_FILTERS = ("type", "session", "agent", "tag", "since", "until", "path")
"""Filters whose values name something that is here."""
_QUERY = several_words("QUERY", metavar="[QUERY...]", required=False)
_EVENTS = flag("--events", help="Leave out nothing: echoes of the memory, and what no longer holds.")


@command(
    _QUERY,
    AS_OF,
    several("--type", metavar="TYPE", help="Only entries of a type: turn, Decision, CuratedMemory, …"),
    several("--session", help="Only entries of a session."),
    several("--agent", help="Only entries that an agent wrote."),
    several("--tag", help="Only entries with a tag."),
    SINCE,
    UNTIL,
    several("--path", help="Only entries in a file or below a directory."),
    once("--scope", metavar="SCOPE", help="shared, all, or a machine; else what holds on this machine."),
    flag("--removed", help="Only entries that are gone from the memory."),
    _EVENTS,
    click.option("-n", "--limit", type=click.IntRange(1, 1000), default=10, help="At most that many (10)."),
    flag("--explain", help="Show what each score is made of."),
)
def search(app: App, /, query: str, path: tuple[str, ...], explain: bool, **wanted: Any) -> None:
    """Find entries, the best first; without a query, list what passes the filters, the newest first.

    The more of the words an entry has, and the rarer they are, the better. "Words in quotes" must be there in that
    order, -word must not, unless the query is a question. A filter that is given several times takes any of its
    values.

    \b
    gitmem search '"dark mode" -terminal' --since "2 weeks ago"
    gitmem search invoice --as-of 2026-06-30 --type Decision
    gitmem search --type Decision --since "last month"
    """
    wanted["path"] = tuple(map(app.path, path))
    if not query.strip() and not wanted["removed"] and not any(wanted[name] for name in _FILTERS):
        raise UsageError("There is nothing to look for: give a word, or a filter such as `--type Decision`.")
    with indexing(app.bundle) as bundle:
        found = bundle.search(query, **wanted)
        index = bundle.index.current()
        about = (index.session(name) for name in {hit.session for hit in found if hit.session})
        view = {"titles": {one.name: one.title for one in about if one is not None}, "explain": explain}
    app.show(found, more=("parts",) if explain else (), query=query, wanted=wanted, **view)


@command(
    _QUERY,
    click.option("--session", default="", help="Read this session instead: how it began and ended."),
    click.option(
        "-n", "--limit", type=click.IntRange(1, 10), default=3, help="At most that many sessions (3)."
    ),
    SINCE,
    UNTIL,
    _EVENTS,
)
def recall(app: App, query: str, session: str, limit: int, **wanted: Any) -> None:
    """Recall what earlier sessions had to do with a question.

    Without a question, the newest sessions; with --session, that one as it was. `gitmem show ID` has the conversation
    around an entry.

    \b
    gitmem recall which database did we choose
    """
    if session and query:
        raise UsageError("Give a question or a --session, not both.")
    with indexing(app.bundle) as bundle:
        if session:
            app.show(bundle.read_session(session, events=wanted["events"]))
        elif not query.strip():
            found = bundle.recent_sessions(limit=limit)
            app.show({"sessions": found}, none="There is no session yet.")
        else:
            app.show(bundle.recall(query, limit=limit, **wanted))
