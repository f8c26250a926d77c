"""`gitmem log`, `show`, `diff`, `digest`, `blame` and `why`: the history, read."""

from __future__ import annotations

import os
import sys
from contextlib import suppress
from dataclasses import replace
from datetime import timedelta
from itertools import chain, islice
from typing import TYPE_CHECKING, Any

import click

from gitmem.cli.app import App
from gitmem.cli.options import AS_OF, DATES, PICK, VIEW, command, flag, once, several, several_words
from gitmem.cli.terminal import indexing
from gitmem.errors import UnknownRevision, UsageError

if TYPE_CHECKING:
    from gitmem.dates import Period


# --- log -------------------------------------------------------------------------------------------------


@command(
    click.argument("revision", default="HEAD", metavar="[REV]"),
    click.option("-n", "--limit", "number", type=click.IntRange(min=1), help="At most that many lines."),
    several("--kind", help="Only commits of a kind: edit, flush, session, snapshot, …"),
    *PICK,
    once("--text", "-S", metavar="TEXT", help="Only commits that brought or took an entry with this text."),
    flag("--commits", help="List commits, one a line, and not sessions."),
    flag("-p", "--patch", help="With what each session or commit changed."),
    flag("--stat", help="With how much each changed in each file."),
    DATES,
)
def log(
    app: App,
    /,
    revision: str,
    number: int | None,
    path: tuple[str, ...],
    commits: bool,
    patch: bool,
    stat: bool,
    **wanted: Any,
) -> None:
    """List sessions and what each of them learned, newest first, from REV or from now.

    A change outside of any session has a line of its own: a revert, a restore, a snapshot, a hand edit. Merges are left out;
    `--kind merge` has them.
    REV is a commit, a snapshot, HEAD~3, a date (friday, `a week ago`, 2026-06-30) or session:ID. A filter that is
    given several times takes any of its values.

    \b
    gitmem log --since "1 week ago" -p
    gitmem log --commits --kind edit
    """
    from gitmem.cli.render.history import tell_chapters, tell_commits
    from gitmem.memory.history.story import chapters

    if _span(app, revision) and not (wanted["since"] or wanted["until"]):
        if app.revision_or_first(revision) == revision:
            wanted |= {"since": revision, "until": revision}
        revision = "HEAD"
    inside = tuple(map(app.path, path))
    found = app.bundle.log(**wanted, path=inside, limit=number if commits else None, start=revision)
    first = next(iter(found), None)
    found = chain(() if first is None else (first,), found)
    if app.out.is_json and commits:
        app.out.json({"commits": found})
    elif app.out.is_json:
        listed = list(islice(chapters(app.bundle, found), number))
        app.out.json({"sessions": listed, "commits": [entry for one in listed for entry in one.commits]})
    elif first is None:
        app.out.line("No commit fits.")
    else:
        app.out.paged()
        if revision == "HEAD":
            app.tell_hand_edits()
        if commits:
            tell_commits(app, found, patch=patch, stat=stat)
        else:
            tell_chapters(app, islice(chapters(app.bundle, found), number), patch=patch, stat=stat)


# --- show ------------------------------------------------------------------------------------------------


@command(
    click.argument("what", default="HEAD", metavar="[ID | PATH | REV:PATH]"),
    AS_OF,
    flag("--unified", help="Show a commit's changes as a unified diff."),
    flag("--raw", help="Write a file's bytes as they are, to a file or a pipe."),
    *VIEW,
)
def show(app: App, what: str, as_of: str, unified: bool, raw: bool, **view: Any) -> None:
    """Show anything by its id: a commit, a session, a snapshot, a fact, an item that waits; or a file as it was.

    A page of the present memory is shown with its links and with the files that link to it.

    Control characters are shown, never passed on; use --raw to get a file's exact bytes.

    \b
    gitmem show work-1
    gitmem show memories/MEMORY.md --as-of yesterday
    gitmem show HEAD~2:memories/MEMORY.md --raw > MEMORY.md
    """
    from gitmem.memory.printed_ids import meant

    named = (as_of, what) if as_of else _file_named(app, what)
    if named:
        _show_file(app, *named, raw=raw)
        return
    if raw:
        raise UsageError("--raw is for files: name one as REV:PATH.")
    shown = None if unified else meant(app.bundle, what)
    if shown is not None:
        app.show(shown, more=("changes",), **view)
        return
    commit = app.bundle.show(what)
    if parents := commit.entry.commit.parents:
        commit = replace(commit, diff=app.bundle.diff(parents[0], commit.entry.id))
    app.show(commit, more=("unified",), unified=True, **view)


def _file_named(app: App, what: str) -> tuple[str, str] | None:
    """Revision and path that `what` means; None where it does not look like a file."""
    inside = app.path(what)
    is_here = inside in app.bundle.tree() or os.path.lexists(app.bundle.repository.worktree.path(inside))
    if is_here and what != "HEAD":
        return "HEAD", what
    with suppress(UnknownRevision):
        app.bundle.resolve(what)
        return None
    revision, colon, path = what.rpartition(":")  # a path never holds a colon, a date may
    if colon and revision and revision != "session":
        return revision, path
    return ("HEAD", what) if "/" in what or what.endswith(".md") else None


def _show_file(app: App, revision: str, given: str, *, raw: bool) -> None:
    from gitmem.memory.printed_ids import ShownDirectory, shown_file

    with indexing(app.bundle) as bundle:
        shown = shown_file(bundle, app.path(given), revision)
    if not raw:
        app.show(shown)
    elif isinstance(shown, ShownDirectory):
        raise UsageError(f"{given} is a directory, and --raw is for files.")
    elif sys.stdout.isatty():
        raise UsageError("--raw writes bytes as they are: send them to a file or a pipe.")
    else:
        app.out.bytes(shown.data)


# --- diff ------------------------------------------------------------------------------------------------


@command(
    click.argument("old", required=False, metavar="[A]"),
    click.argument("new", required=False, metavar="[B]"),
    once("--session", help="What one session changed in all its commits."),
    once("--path", help="Only one file or directory."),
    flag("--unified", help="As lines of a unified diff."),
    *VIEW,
)
def diff(
    app: App, old: str | None, new: str | None, session: str, path: str, unified: bool, **view: bool
) -> None:
    """Show what was learned, changed and forgotten, with the words that changed.

    Without A: what was edited by hand and not committed yet. With A: from A to now; today, a week, a month or
    a year is that time alone. With A and B: from A to B. Both are revisions as in `gitmem log`. What was said and
    done in sessions is counted, and shown with --events.

    \b
    gitmem diff "1 week ago"
    gitmem diff HEAD~5 HEAD --path memories
    gitmem diff --session s1 --stat
    """
    from gitmem.memory.printed_ids import meant
    from gitmem.memory.review import Item

    if session and (old or unified):
        raise UsageError("--session goes with --path and --stat, not with revisions or --unified.")
    if view["stat"] and unified:
        raise UsageError("--stat and --unified cannot go together.")
    if old and new is None and ".." in old:
        old, _, new = old.partition("..")
        old, new = old or "HEAD", new or "HEAD"
    if old and new is None and (span := _span(app, old)):
        runs = span.end > app.world.here()  # today, this week: nothing is after it
        if runs or span.end - span.start > timedelta(days=1):
            old = f"{span.start - timedelta(seconds=1):%Y-%m-%d %H:%M:%S}"
            new = "HEAD" if runs else f"{span.end:%Y-%m-%d %H:%M:%S}"
    if old and new is None and isinstance(waits := meant(app.bundle, old), Item):
        app.show(waits)
        return
    old, new = (one and app.revision_or_first(one) for one in (old, new))
    if old and new is None and old.startswith("session:"):
        session, old = old.removeprefix("session:"), None
    found = app.bundle.diff(old, new, session=session, path=app.path(path) if path else "")
    app.out.paged()
    more = "unified" if unified else "files" if view["stat"] else "changes"
    app.show(found, more=(more,), unified=unified, nothing="No entries differ.", **view)


def _span(app: App, typed: str) -> Period | None:
    """The stretch of time that a text names; None for a moment, a snapshot or anything else."""
    from gitmem.dates import span

    if app.bundle.snapshots.has(typed):
        return None
    found = span(typed, now=app.world.here())
    return found if found is not None and found.end > found.start else None


# --- digest, blame, why ----------------------------------------------------------------------------------


@command(
    click.argument("span", default="", metavar="[SPAN]"),
    click.option(
        "--since", default="1 week ago", metavar="DATE", show_default=True, help="From that day or moment on."
    ),
    click.option("--until", default="now", metavar="DATE", help="Up to that day or moment."),
)
def digest(app: App, span: str, since: str, until: str) -> None:
    """Say what was learned, changed, decided, done and taken back, and what waits for you.

    \b
    gitmem digest "last week"
    gitmem digest --since 2026-10
    """
    since, until = (span, span) if span else (since, until)
    if app.bundle.moment(until) < app.bundle.moment(since, start=True):
        raise UsageError(f"{until!r} is before {since!r}.")
    app.show(app.bundle.digest(since, until))
    app.note_seen()


@command(
    click.argument("path", default="memories/MEMORY.md", metavar="[PATH|ID]"),
    flag("--removed", help="Also entries that are gone: when and by what they left."),
    AS_OF,
    DATES,
)
def blame(app: App, path: str, removed: bool, as_of: str) -> None:
    """Show who added each entry of a file, when and why; without PATH, of MEMORY.md."""
    from gitmem.memory.printed_ids import meant

    bundle, inside = app.bundle, app.path(path)
    if inside not in bundle.tree(as_of or "HEAD") and (shown := meant(bundle, path)):
        app.show(shown, more=("changes",))
        return
    app.out.paged()
    app.show({"path": path, "entries": bundle.blame(inside, removed=removed, as_of=as_of or "HEAD")})


@command(
    several_words("TEXT", metavar="TEXT|ID"),
    flag("--sessions", help="List the sessions that saw it, and what they wrote."),
    flag("--events", help="Also each time that it was said in a session."),
)
def why(app: App, text: str, **view: Any) -> None:
    """Say where a text or an entry came from, what became of it, and what it may have touched.

    Ends with the narrowest command that takes it back.

    \b
    gitmem why Debian 12
    gitmem why "the suspicious words" --sessions
    """
    from gitmem.memory.printed_ids import meant

    try:
        app.show(app.bundle.trace(text), **view)
    except UnknownRevision:
        shown = meant(app.bundle, text)
        if shown is None:
            raise
        app.show(shown, more=("changes",))
