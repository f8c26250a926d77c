"""`gitmem log`, `show`, `diff`, `digest`, `blame` and `why`: the history, read."""

from __future__ import annotations

import os
import shlex
import sys
from collections.abc import Iterable
from datetime import timedelta
from itertools import chain, islice
from typing import TYPE_CHECKING, Any

import click

from gitmem.cli.context import App
from gitmem.cli.options import once, several, several_words, with_changes, with_dates, with_json
from gitmem.cli.output import bold, cyan, dim, red, yellow
from gitmem.cli.progress import shown_while_building
from gitmem.errors import UnknownRevision, UsageError
from gitmem.shape import shape

if TYPE_CHECKING:
    from datetime import datetime

    from gitmem.dates import Span
    from gitmem.memory.find.links import Edge
    from gitmem.memory.history.log import Diff, LogEntry, ShownCommit

_SHORT = 8


# --- log -------------------------------------------------------------------------------------------------


@click.command()
@click.argument("revision", default="HEAD", metavar="[REV]")
@click.option("-n", "number", type=click.IntRange(min=1), help="At most that many lines.")
@several("--kind", help="Only commits of a kind: edit, flush, session, snapshot, …")
@several("--session", help="Only commits of a session.")
@several("--agent", help="Only commits of an agent.")
@several("--machine", help="Only commits of a machine.")
@several("--path", help="Only commits that changed a file or a directory.")
@once("--since", metavar="DATE", help="Only commits from that day or moment on.")
@once("--until", metavar="DATE", help="Only commits up to that day or moment.")
@once(
    "-S",
    "text",
    metavar="TEXT",
    help="Only commits that brought or took an entry with this text.",
)
@click.option("--commits", is_flag=True, help="List commits, one a line, and not sessions.")
@click.option("-p", "--patch", is_flag=True, help="With what each session or commit changed.")
@click.option("--stat", is_flag=True, help="With how much each changed in each file.")
@with_dates
@with_json
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

    What stands by itself has a line of its own: a revert, a restore, a merge, a snapshot, a hand edit.
    REV is a commit, a snapshot, HEAD~3, a date (friday, `a week ago`, 2026-06-30) or session:ID. A filter that is
    given several times takes any of its values.

    \b
    gitmem log --since "1 week ago"
    gitmem log -n 5 -p
    gitmem log --path memories/MEMORY.md
    gitmem log --commits --kind edit
    """
    if _span(app, revision) and not (wanted["since"] or wanted["until"]):
        wanted |= {"since": revision, "until": revision}
        revision = "HEAD"
    inside = tuple(map(app.path, path))
    limit = number if commits else None
    found = app.bundle.log(**wanted, path=inside, limit=limit, start=revision)
    first = next(iter(found), None)
    if first is None:
        app.out.line("No commit fits.")
    else:
        found = chain([first], found)
    app.out.paged()
    (_log_commits if commits else _log_sessions)(app, found, number, patch, stat)


def _log_sessions(app: App, found: Iterable[LogEntry], number: int | None, patch: bool, stat: bool) -> None:
    from gitmem.cli.render import history as show_log
    from gitmem.memory.history.story import chapters

    listed = islice(chapters(app.bundle, found), number)
    if app.out.is_json:
        told = list(listed)
        commits = [entry for one in told for entry in one.commits]
        app.out.json({"sessions": told, "commits": commits})
        return
    show_log.tell_chapters(app, listed, patch=patch, stat=stat)


def _log_commits(
    app: App,
    found: Iterable[LogEntry],
    _: int | None,
    patch: bool,
    stat: bool,
) -> None:
    from gitmem.cli.render import changes as told
    from gitmem.cli.render.history import commit_line

    if app.out.is_json:
        rows = [{**shape(entry), **({"counts": _counts(app, entry)} if stat else {})} for entry in found]
        app.out.json({"commits": rows})
        return
    for entry in found:
        app.out.line(*commit_line(app, entry))
        if patch or stat:
            with app.out.indented(_MARGIN):
                told.tell(app.out, app.bundle.show(entry.id).diff, stat=stat)


def _counts(app: App, entry: LogEntry) -> dict[str, int]:
    """Return how many entries a commit added, removed and changed."""
    ops = [change.op for change in app.bundle.show(entry.id).diff]
    changed = ops.count("change") + ops.count("move")
    return {"added": ops.count("add"), "removed": ops.count("remove"), "changed": changed}


# --- show ------------------------------------------------------------------------------------------------


@click.command()
@click.argument("what", default="HEAD", metavar="[ID | PATH | REV:PATH]")
@click.option("--as-of", metavar="REV", help="Show PATH as it was at that commit, snapshot or date.")
@click.option("--unified", is_flag=True, help="Show a commit's changes as a unified diff.")
@click.option("--raw", is_flag=True, help="Write a file's bytes as they are, to a file or a pipe.")
@with_changes
@with_dates
@with_json
def show(app: App, what: str, as_of: str | None, unified: bool, raw: bool, events: bool, stat: bool) -> None:
    """Show anything by its id: a commit, a session, a snapshot, a fact, an item that waits; or a file as it was.

    A page of the present memory is shown with its links and with the files that link to it.

    Control characters are shown, never passed on; use --raw to get a file's exact bytes.

    \b
    gitmem show
    gitmem show HEAD~2
    gitmem show work-1
    gitmem show memories/MEMORY.md --as-of yesterday
    gitmem show HEAD~2:memories/MEMORY.md --raw > MEMORY.md
    """
    if as_of is not None:
        _show_file(app, as_of, what, raw=raw)
        return
    if app.bundle.snapshots.has(what) and not (raw or unified):
        _show_snapshot(app, what, events=events, stat=stat)
        return
    try:
        shown = app.bundle.show(what)
    except UnknownRevision as unknown:
        from gitmem.memory.printed_ids import meant

        try:
            revision, path = _file_named(app, what, unknown)
        except UnknownRevision:
            if (found := meant(app.bundle, what)) is None:
                raise
            app.show(found, events=events, stat=stat)
            return
        _show_file(app, revision, path, raw=raw)
        return
    if raw:
        raise UsageError("--raw is for files: name one as REV:PATH.")
    _show_commit(app, shown, unified=unified, events=events, stat=stat)


def _file_named(app: App, what: str, unknown: UnknownRevision) -> tuple[str, str]:
    """Revision and path that `what` means, or the error that it names no revision."""
    revision, colon, path = what.rpartition(":")  # a path never holds a colon, a date may
    if colon and revision:
        return revision, path
    inside = app.path(what)
    if inside in app.bundle.tree():
        return "HEAD", what
    if "/" in what or what.endswith(".md") or os.path.lexists(app.bundle.repository.worktree.path(inside)):
        return "HEAD", what  # the error will speak of a file
    raise unknown


def _show_snapshot(app: App, name: str, *, events: bool, stat: bool) -> None:
    from gitmem.cli.render import changes as told

    one = app.bundle.snapshots.get(name)
    since = app.bundle.diff(one.commit)
    if app.out.is_json:
        app.out.json({**shape(one), "changes": since})
        return
    app.out.line(bold(one.name), "  ", yellow(one.commit[:_SHORT]), "  ", dim(app.date(one.time)))
    app.out.line("  ", one.note)
    app.out.line()
    app.out.line("Since then:" if since else "Nothing changed since.")
    told.tell(app.out, since, events=events, stat=stat)


def _show_commit(app: App, shown: ShownCommit, *, unified: bool, events: bool, stat: bool) -> None:
    from gitmem.cli.render import changes as told

    entry, commit = shown.entry, shown.entry.commit
    if unified:
        diff = app.bundle.diff(commit.parents[0], commit.oid) if commit.parents else shown.diff
        lines = diff.unified()
        if app.out.is_json:
            app.out.json({**shape(shown), "unified": "".join(lines)})
            return
    elif app.out.is_json:
        app.out.json(shown, more=("changes",))
        return
    app.out.paged()
    app.out.line(yellow(f"commit {commit.oid}"))
    if len(commit.parents) > 1:
        app.out.line("Merge of   ", " ".join(parent[:_SHORT] for parent in commit.parents))
    app.out.line("Author:    ", f"{commit.author.name} <{commit.author.email}>")
    app.out.line("Date:      ", app.long_date(commit.made))
    if entry.pulled_from:
        app.out.line("Pulled:    ", f"from {entry.pulled_from}; what is here is what it says")
    for key, values in entry.trailers.items():
        for value in values:
            app.out.line(f"{key + ':':<10} ", value)
    app.out.line()
    app.out.line(_MARGIN, bold(commit.subject))
    for line in _prose(commit.message, has_trailers=bool(entry.trailers)):
        app.out.line(_MARGIN, line)
    app.out.line()
    if unified:
        _tell_unified(app, lines)
    elif shown.diff:
        told.tell(app.out, shown.diff, events=events, stat=stat)
    else:
        app.out.line(dim("No entries changed."))


_MARGIN = "    "


def _prose(message: str, *, has_trailers: bool) -> list[str]:
    """The body of a message, without subject and trailers."""
    body = message.partition("\n")[2].strip("\n")
    if has_trailers:
        body = body.rpartition("\n\n")[0].strip("\n")
    return ["", *body.split("\n")] if body else []


def _show_file(app: App, revision: str, given: str, *, raw: bool) -> None:
    bundle = app.bundle
    path = app.path(given)
    commit = bundle.resolve(revision)
    tree = bundle.repository.tree(commit)
    found = tree.entry(path)
    if found is None:
        raise _no_such_file(app, path, revision)
    if found.is_directory:
        if raw:
            raise UsageError(f"{given} is a directory, and --raw is for files.")
        _show_directory(app, path, commit)
        return
    data = tree.read_entry(found)
    if raw:
        if sys.stdout.isatty():
            raise UsageError("--raw writes bytes as they are: send them to a file or a pipe.")
        app.out.bytes(data)
    elif app.out.is_json:
        links, backlinks = _links(app, path, commit)
        around = {
            "links": [{"path": one.target, "exists": one.exists} for one in links],
            "backlinks": [one.source for one in backlinks],
        }
        app.out.json({"path": path, "commit": commit, **_content_json(path, data), **around})
    elif b"\0" in data:
        app.out.line(f"A binary file of {len(data):,} bytes; --raw writes it out.")
    else:
        app.out.paged()
        app.out.text(data.decode("utf-8", "surrogateescape"))
        links, backlinks = _links(app, path, commit)
        if links or backlinks:
            app.out.line()
        for one in links:
            app.out.line(
                dim("links to     "), cyan(one.target), "" if one.exists else red("  (nothing there)")
            )
        for one in backlinks:
            app.out.line(dim("linked from  "), cyan(one.source))


def _links(app: App, path: str, commit: str) -> tuple[list[Edge], list[Edge]]:
    """Links of a page of the present memory, and links to it."""
    is_page = path.endswith(".md") and not path.startswith(("memories/", "sessions/"))
    if commit != app.bundle.tip or not is_page:
        return [], []
    from gitmem.memory.find.links import Links

    with shown_while_building(app) as bundle:
        graph = Links(bundle)
        return graph.of(path), graph.to(path)


def _content_json(path: str, data: bytes) -> dict[str, object]:
    from gitmem.okf.files import open_file

    file = open_file(path, data)
    content: dict[str, object] = {"kind": file.kind, "size": len(data)}
    try:
        content["text"] = data.decode()
    except UnicodeDecodeError:
        import base64

        content["base64"] = base64.b64encode(data).decode()
    content["entries"] = list(file.entries.values())
    return content


def _show_directory(app: App, path: str, commit: str) -> None:
    names = app.bundle.repository.tree(commit).names(path)
    listed = [name + "/" if entry.is_directory else name for name, entry in sorted(names.items())]
    app.out.json({"path": path, "commit": commit, "kind": "directory", "names": listed})
    app.out.paged()
    for name in listed:
        app.out.line(name)


def _no_such_file(app: App, path: str, revision: str) -> UnknownRevision:
    where = "in the bundle" if revision == "HEAD" else f"at {revision}"
    message = f"There is no file {path} {where}."
    if os.path.lexists(app.bundle.repository.worktree.path(path)):
        return UnknownRevision(message, hint="It lies in the work tree uncommitted: run `gitmem commit`.")
    return UnknownRevision(
        message, hint=f"`gitmem log --path {shlex.quote(path)}` tells whether there ever was one."
    )


# --- diff ------------------------------------------------------------------------------------------------


@click.command()
@click.argument("old", required=False, metavar="[A]")
@click.argument("new", required=False, metavar="[B]")
@once("--session", help="What one session changed in all its commits.")
@once("--path", help="Only one file or directory.")
@click.option("--unified", is_flag=True, help="As lines of a unified diff.")
@with_changes
@with_json
def diff(
    app: App,
    old: str | None,
    new: str | None,
    session: str,
    path: str,
    stat: bool,
    unified: bool,
    events: bool,
) -> None:
    """Show what was learned, changed and forgotten, with the words that changed.

    Without A: what was edited by hand and not committed yet. With A: from A to now; a week, a month or a year
    is that time alone. With A and B: from A to B. Both are revisions as in `gitmem log`. What was said and
    done in sessions is counted, and shown
    with --events.

    \b
    gitmem diff
    gitmem diff "1 week ago"
    gitmem diff HEAD~5 HEAD --path memories
    gitmem diff --session s1 --stat
    """
    if session and (old or unified):
        raise UsageError("--session goes with --path and --stat, not with revisions or --unified.")
    if stat and unified:
        raise UsageError("--stat and --unified cannot go together.")
    if old and new is None and ".." in old:
        old, _, new = old.partition("..")
        old, new = old or "HEAD", new or "HEAD"
    if old and new is None and (span := _span(app, old)) and span.end - span.start > timedelta(days=1):
        old, new = _before(app, span.start), f"{span.end:%Y-%m-%d %H:%M:%S}"
    inside = app.path(path) if path else ""
    found = app.bundle.diff(old, new, session=session, path=inside)
    about = {"from": found.old, "to": found.new, "session": session or None}
    if unified:
        lines = found.unified()
        if app.out.is_json:
            app.out.json({**about, "unified": "".join(lines)})
            return
        app.out.paged()
        _tell_unified(app, lines)
        return
    _tell_diff(app, found, about, events=events, stat=stat)


def _span(app: App, typed: str) -> Span | None:
    """The stretch of time that a text names; None for a moment, a snapshot or anything else."""
    from gitmem.dates import span

    if app.bundle.snapshots.has(typed):
        return None
    found = span(typed, now=app.world.here())
    return found if found is not None and found.end > found.start else None


def _before(app: App, moment: datetime) -> str:
    """The commit that `main` stood at just before a moment, or the first one, which is said."""
    try:
        return app.bundle.resolve(f"{moment - timedelta(seconds=1):%Y-%m-%d %H:%M:%S}")
    except UnknownRevision as unknown:
        app.warn(f"{unknown} From its beginning:")
        return list(app.bundle.log())[-1].id


def _tell_diff(app: App, diff: Diff, about: dict[str, str | None], *, events: bool, stat: bool) -> None:
    from gitmem.cli.render import changes as told

    if app.out.is_json and stat:
        rows = [{"path": row.pop("path"), "counts": row} for row in told.stat(diff)]
        app.out.json({**about, "files": rows})
    elif app.out.is_json:
        app.out.json({**about, "changes": diff})
    elif not diff:
        app.out.line(dim("No entries differ."))
    else:
        app.out.paged()
        told.tell(app.out, diff, events=events, stat=stat)


def _tell_unified(app: App, lines: Iterable[str]) -> None:
    from gitmem.cli.render.changes import coloured

    for line in lines:
        for part in line.removesuffix("\n").split("\n"):
            app.out.line(coloured(part))


# --- digest ----------------------------------------------------------------------------------------------


@click.command()
@click.argument("span", default="", metavar="[SPAN]")
@click.option(
    "--since", default="1 week ago", metavar="DATE", show_default=True, help="From that day or moment on."
)
@click.option("--until", default="now", metavar="DATE", help="Up to that day or moment.")
@with_json
def digest(app: App, span: str, since: str, until: str) -> None:
    """Say what was learned, changed, decided, done and taken back, and what waits for you.

    \b
    gitmem digest
    gitmem digest "last week"
    gitmem digest --since 2026-10
    """
    since, until = (span, span) if span else (since, until)
    start, end = app.bundle.moment(since, start=True), app.bundle.moment(until)
    if end < start:
        raise UsageError(f"{until!r} is before {since!r}.")
    app.show(app.bundle.digest(since, until))


# --- blame, why ------------------------------------------------------------------------------------------


@click.command()
@click.argument("path")
@click.option("--removed", is_flag=True, help="Also entries that are gone: when and by what they left.")
@click.option(
    "--as-of", metavar="REV", default="HEAD", help="As it was at a commit, snapshot, date or session."
)
@with_dates
@with_json
def blame(app: App, path: str, removed: bool, as_of: str) -> None:
    """Say for every entry of a file when it came, from which session, agent and machine, and why.

    \b
    gitmem blame memories/MEMORY.md
    gitmem blame memories/MEMORY.md --removed
    """
    from gitmem.cli.render.history import tell_blamed

    found = app.bundle.blame(app.path(path), removed=removed, as_of=as_of)
    app.out.json({"path": path, "entries": found})
    app.out.paged()
    for one in found:
        tell_blamed(app, one)


@click.command()
@several_words("TEXT", metavar="TEXT|ID")
@click.option("--sessions", is_flag=True, help="List the sessions that it reached, and what they wrote.")
@click.option("--events", is_flag=True, help="Also each time that it was said in a session.")
@with_dates
@with_json
def why(app: App, text: str, sessions: bool, events: bool) -> None:
    """Say where a text or an entry came from, what became of it, and what it may have touched.

    Ends with the narrowest command that takes it back.

    \b
    gitmem why Debian 12
    gitmem why "the suspicious words" --sessions
    """
    app.show(app.bundle.trace(text), sessions=sessions, events=events)
