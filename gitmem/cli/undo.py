"""`gitmem restore`, `revert`, `undo` and `redo`: back to what was, each as a commit on top."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any, Literal

import click

from gitmem.cli.context import App
from gitmem.cli.options import once, several, with_changes, with_json
from gitmem.cli.output import count, dim, yellow
from gitmem.errors import TakesMuch, UsageError

if TYPE_CHECKING:
    from gitmem.memory.history.reach import Group
    from gitmem.memory.history.revert import Reverted, Undoable

_dry_run = click.option("--dry-run", is_flag=True, help="Only say what would change.")


@click.command()
@click.argument("revision", metavar="X")
@click.option("--path", "paths", multiple=True, help="Only below a path; may be given several times.")
@click.option("--keep-sessions", is_flag=True, help="Leave the record of conversations as it is.")
@click.option("--reason", default="", help="Why; kept in the commit.")
@_dry_run
@with_changes
@with_json
def restore(
    app: App,
    revision: str,
    paths: tuple[str, ...],
    keep_sessions: bool,
    reason: str,
    dry_run: bool,
    events: bool,
    stat: bool,
) -> None:
    """Put the memory back to X, as a new commit on top: nothing is lost, and `undo` takes it back.

    X is a snapshot, a commit, a date ("2026-11-13 18:00", yesterday) or session:ID, the state just before
    that session. What was retracted since stays out.

    \b
    gitmem restore before-upgrade --dry-run
    gitmem restore yesterday --path memories
    gitmem restore session:work-7 --keep-sessions
    """
    from gitmem.cli.render import changes as told

    wanted = [app.path(path) for path in paths]
    done = app.bundle.restore(
        revision, paths=wanted, keep_sessions=keep_sessions, reason=reason, dry_run=dry_run
    )
    if app.out.is_json:
        app.out.json(done)
        return
    told.tell(app.out, done.changes, events=events, stat=stat)
    if done.withheld:
        app.out.line(yellow(f"{count(done.withheld, 'retracted entry', 'retracted entries')} stay out."))
    _tell_end(app, bool(done.changes), done.commit, dry_run)


@click.command()
@click.argument("revisions", nargs=-1, metavar="[COMMIT]...")
@several("--session", help="What a session did.")
@several("--agent", help="What an agent did.")
@several("--machine", help="What was done on a machine.")
@several("--source", help="What came from a source.")
@several("--text", help="Commits that added an entry with this text.")
@several("--path", help="Only what was done at or below a path.")
@once("--since", metavar="DATE", help="From that day or moment on.")
@once("--until", metavar="DATE", help="Up to that day or moment.")
@click.option("--keep-record", is_flag=True, help="Only what was learned; the conversations stay on record.")
@click.option("--derived", is_flag=True, help="Also what quotes these entries, or shares their names.")
@click.option(
    "--reached",
    is_flag=False,
    flag_value="all",
    type=click.Choice(["turn", "all"]),
    help="Also what sessions that had them before them wrote: in the same turn, or all of it.",
)
@click.option("--reason", default="", help="Why; kept in the commit.")
@_dry_run
@with_changes
@with_json
def revert(
    app: App,
    /,
    revisions: tuple[str, ...],
    path: tuple[str, ...],
    derived: bool,
    reached: Literal["turn", "all"] | None,
    keep_record: bool,
    reason: str,
    dry_run: bool,
    events: bool,
    stat: bool,
    **by: Any,
) -> None:
    """Take back what some commits did, and keep everything that was learned since.

    Entries they added go, entries they removed come back, entries they changed go back unless someone
    changed them later. What goes is retracted: no merge and no restore brings it back.

    Several conditions narrow each other; --session, --agent, --machine, --source, --text and --path may be given
    several times, for any of the values. One that chooses nothing is an error.

    What was written by sessions that had these entries before them is listed: what is derived from them, what was
    written in the same turn, and what is merely later.

    \b
    gitmem revert 3f2a9c1e --dry-run
    gitmem revert --session night-7 --session night-8 --path memories
    gitmem revert --session night-7 --keep-record
    gitmem revert --source https://example.org/page --derived
    """
    if not (revisions or path or any(by.values())):
        raise UsageError(
            "Say what to take back: a commit, --session, --agent, --machine, --source, --path, --since or --text."
        )
    done = app.bundle.revert(
        *revisions,
        **by,
        path=[app.path(one) for one in path],
        derived=derived,
        reached=reached or False,
        keep_record=keep_record,
        reason=reason,
        dry_run=dry_run,
    )
    tell_reverted(app, done, dry_run=dry_run, events=events, stat=stat)


@click.command()
@click.option("-n", "times", type=click.IntRange(1, 100), default=1, metavar="N", help="So many changes.")
@click.option("--list", "listing", is_flag=True, help="Only list what the next undos would take back.")
@_dry_run
@click.option(
    "--yes", is_flag=True, help="Without a question, also where that takes more than half of the memory."
)
@with_changes
@with_json
def undo(app: App, times: int, listing: bool, dry_run: bool, yes: bool, events: bool, stat: bool) -> None:
    """Take back the last change, whatever it was; `gitmem redo` brings it again.

    A fact, a decision, a note, a skill, a plan step, an import, a sync, a restore or a revert, also one that an agent
    made. What was said stays on record, and what was learned since stays too.

    \b
    gitmem undo --list
    gitmem undo -n 3
    """
    from gitmem.cli.render.history import commit_line

    if listing:
        found = app.bundle.undoable(max(times, 10))
        app.out.json({"undoable": found})
        for one in found:
            app.out.line(*commit_line(app, one.entry))
        return
    if dry_run and times > 1:
        raise UsageError("A dry run shows one undo; `gitmem undo --list` has the ones after it.")
    asks = not (yes or dry_run or app.out.is_json) and sys.stdin.isatty()
    for _ in range(times):
        next_one = app.bundle.undoable(1)
        if next_one and not app.out.is_json:
            app.out.line(*commit_line(app, next_one[0].entry))
        if next_one and asks and not _is_own(app, next_one[0]):
            click.confirm("This change is not yours. Take it back?", abort=True)
        try:
            done = app.bundle.undo(dry_run=dry_run, much=yes)
        except TakesMuch as much:
            if not asks:
                raise
            app.out.line(str(much))
            click.confirm("Take it back all the same?", abort=True)
            done = app.bundle.undo(much=True)
        tell_reverted(app, done, dry_run=dry_run, by="redo", events=events, stat=stat)


def _is_own(app: App, change: Undoable) -> bool:
    """Return whether the caller made a change: not another agent, another machine or a session of its own."""
    origin, entry = app.bundle.origin(), change.entry
    return not entry.pulled_from and entry.agent == origin.agent and entry.session in ("", origin.session)


@click.command()
@_dry_run
@with_changes
@with_json
def redo(app: App, dry_run: bool, events: bool, stat: bool) -> None:
    """Take back the last undo: what it took back comes again, and what was learned since stays.

    Several undos are redone one by one, the last one first. After a new restore or revert there is nothing to redo.
    """
    done = app.bundle.redo(dry_run=dry_run)
    tell_reverted(app, done, dry_run=dry_run, events=events, stat=stat)


def tell_reverted(
    app: App, done: Reverted, *, dry_run: bool, by: str = "undo", events: bool = False, stat: bool = False
) -> None:
    """Print the effect of a revert, for people or as JSON; `by` is the command that takes it back."""
    from gitmem.cli.render import changes as told

    if app.out.is_json:
        app.out.json(done)
        return
    told.tell(app.out, done.changes, events=events, stat=stat)
    for sentence in map(str, done.kept):
        app.out.line(yellow("kept "), sentence)
    _tell_reached(app, done)
    _tell_end(app, bool(done.changes), done.commit, dry_run, by)


_LISTED = 10
_REACHED: dict[Group, tuple[str, str]] = {
    "derived": ("Derived from it: it quotes it, or shares its names and numbers", "--derived"),
    "turn": ("Written in a turn in which it was recalled or written", "--reached turn"),
    "later": ("Merely later, in a session that had it before it", "--reached"),
}


def _tell_reached(app: App, done: Reverted) -> None:
    """Print the later writes of sessions that had seen the entry, by group; the list of unrelated ones is cut."""
    from gitmem.cli.render.history import reached_line

    for group, (title, option) in _REACHED.items():
        found = [one for one in done.reached if one.group == group]
        if not found:
            continue
        fate = "taken back too" if found[0].taken else f"{option} takes it back too"
        app.out.line(yellow(f"{title}; {fate}:"))
        for one in found[:_LISTED] if group != "derived" else found:
            app.out.block("  ", dim(f"{one.entry.id[:8]}  {one.session}  "), reached_line(one))
        if group != "derived" and len(found) > _LISTED:
            app.out.line(dim(f"  and {len(found) - _LISTED} more: --json lists them"))


def _tell_end(app: App, changes: bool, commit: str, dry_run: bool, by: str = "undo") -> None:
    if not changes:
        app.out.line("Nothing would change." if dry_run else "Nothing to do: that is how it is already.")
    elif dry_run:
        app.out.line(dim("Nothing was changed: this was a dry run."))
    else:
        app.out.line(yellow(commit[:8]), dim(f"  `gitmem {by}` takes this back."))
