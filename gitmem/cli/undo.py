"""`gitmem undo`, `redo`, `restore`, `revert` and `snapshot`: back to an earlier state, each as a commit on top."""

from __future__ import annotations

import sys
from functools import partial
from typing import TYPE_CHECKING, Any

import click

from gitmem.cli.app import App
from gitmem.cli.options import DRY_RUN, PICK, REASON, VIEW, command, flag, several
from gitmem.errors import UsageError
from gitmem.shape import shape

if TYPE_CHECKING:
    from gitmem.memory.history.revert import Undoable


@command(
    click.argument("revision", metavar="X"),
    several("--path", help="Only below a path; may be given several times."),
    flag("--everything", help="The record of conversations too."),
    REASON,
    DRY_RUN,
    *VIEW,
)
def restore(
    app: App, revision: str, path: tuple[str, ...], dry_run: bool, reason: str, everything: bool, **view: Any
) -> None:
    """Put what was known at X back: facts, decisions, notes, plans and skills. The record of conversations stays.

    It is a new commit on top: nothing is lost, and `undo` takes it back. X is a snapshot, a commit, a date
    ("2026-11-13 18:00", yesterday) or session:ID, the state just before that session. What was retracted since
    stays out.

    \b
    gitmem restore before-upgrade --dry-run
    gitmem restore yesterday --path memories
    gitmem restore session:work-7 --everything
    """
    from gitmem.cli.render.changes import tell

    target = app.revision_or_first(revision) if dry_run else app.revision(revision)
    back = partial(
        app.bundle.restore,
        target,
        paths=[app.path(one) for one in path],
        everything=everything,
    )
    would = back(dry_run=True)
    if not app.out.is_json:  # first what would go, then it is done
        app.out.line(f"Back to {app.moment_of(revision, target)}:")
        tell(app.out, would.changes, **view)
    app.show(would if dry_run else back(reason=reason), is_listed=True)


_CONDITIONS = ("session", "agent", "machine", "source", "text", "since", "until")


@command(
    click.argument("revisions", nargs=-1, metavar="[ID]..."),
    *PICK,
    several("--source", help="Only from a source."),
    several("--text", help="Only commits that added an entry with this text."),
    flag("--keep-record", help="Only what was learned; the conversations stay on record."),
    flag("--derived", help="Also what was written because of these entries."),
    REASON,
    DRY_RUN,
    *VIEW,
)
def revert(
    app: App,
    /,
    revisions: tuple[str, ...],
    path: tuple[str, ...],
    events: bool,
    stat: bool,
    **by: Any,
) -> None:
    """Take back what some commits did, and keep everything that was learned since.

    Entries they added go, entries they removed come back, entries they changed go back unless someone
    changed them later. What goes is retracted: no merge and no restore brings it back.

    ID is a commit, a session, or an entry, which goes alone.

    Several conditions narrow each other; --session, --agent, --machine, --source, --text and --path may be given
    several times, for any of the values. One that chooses nothing is an error.

    What follows from these entries, by sessions that had them before them, is listed; --derived takes it back too.

    \b
    gitmem revert 3f2a9c1e --dry-run
    gitmem revert --session night-7 --session night-8 --path memories
    gitmem revert --session night-7 --keep-record
    gitmem revert --source https://example.org/page --derived
    """
    from gitmem.memory.printed_ids import names_entry

    if not (revisions or path or any(by[name] for name in _CONDITIONS)):
        raise UsageError(
            "Say what to take back: a commit, --session, --agent, --machine, --source, --path, --since or --text."
        )
    entries = [one for one in revisions if names_entry(app.bundle, one)]
    named = [app.revision(one) for one in revisions if one not in entries]
    sessions = [one.removeprefix("session:") for one in named if one.startswith("session:")]
    by["session"] = (*by["session"], *sessions)
    done = app.bundle.revert(
        *(one for one in named if not one.startswith("session:")),
        **by,
        path=[app.path(one) for one in path],
        entry=entries,
    )
    app.show(done, events=events, stat=stat)


@command(
    click.option("-n", "times", type=click.IntRange(1, 100), default=1, metavar="N", help="So many changes."),
    flag("--list", "listing", help="Only list what the next undos would take back."),
    DRY_RUN,
    flag("--yes", help="Without a question, also where that takes more than half of the memory."),
)
def undo(app: App, times: int, listing: bool, dry_run: bool, yes: bool) -> None:
    """Take back the last change, whatever it was; `gitmem redo` brings it again.

    A fact, a decision, a note, a skill, a plan step, an import, a sync, a restore or a revert, also one that an agent
    made. What was said stays on record, and what was learned since stays too. A change that is not yours, or that you
    have not seen, is taken back after a question; without a terminal it needs --yes.

    \b
    gitmem undo -n 3
    """
    if listing:
        app.show({"undoable": app.bundle.undoable(max(times, 10))}, none="Nothing to undo.")
        return
    if dry_run and times > 1:
        raise UsageError("A dry run shows one undo; `gitmem undo --list` has the ones after it.")
    asks = not (yes or dry_run or app.out.is_json) and sys.stdin.isatty()
    for _ in range(times):
        for one in app.bundle.undoable(1):
            app.tell(one)
            doubt = "" if yes or dry_run else _doubt(app, one)
            if doubt and not asks:
                raise UsageError(
                    f"The last change is {doubt}: nothing was changed.",
                    hint="`gitmem undo --yes` takes it back, `gitmem undo --dry-run` shows it.",
                )
            if doubt and not click.confirm(f"This change is {doubt}. Take it back?"):
                app.out.line("Nothing was changed.")
                return
        app.show(app.bundle.undo(dry_run=dry_run), is_named=True)


def _doubt(app: App, change: Undoable) -> str:
    """The reason to ask first: another machine, agent or session made it, or the person here has not seen it."""
    origin, entry = app.bundle.origin(), change.entry
    author = entry.agent or entry.commit.author.name  # a hand edit has no agent
    is_typed = entry.agent == app.world.person and not app.world.agent
    if entry.pulled_from or author != origin.agent:
        return "not yours"
    if entry.session not in ("", origin.session) and not is_typed:
        return "not yours"
    is_news = entry.kind != "edit" and app.is_news(entry.id)
    return "newer than what you last looked at" if is_news else ""


@command(DRY_RUN)
def redo(app: App, dry_run: bool) -> None:
    """Take back the last undo: what it took back returns, and what was learned since stays.

    Several undos are redone one by one, the last one first. After a new restore or revert there is nothing to redo.
    """
    app.show(app.bundle.redo(dry_run=dry_run))


@command(
    click.argument("name", default="", metavar="[NAME]"),
    click.option("-m", "--note", default="", help="What is special about this state."),
    flag("--list", "listing", help="List snapshots, oldest first."),
    flag("--all", "everything", help="List automatic ones too."),
    flag("--delete", "deleting", help="Delete the name; the history stays."),
    flag("--remote", "far", help="Also on the remotes that this memory is sent to."),
)
def snapshot(
    app: App, name: str, listing: bool, everything: bool, deleting: bool, far: bool, note: str
) -> None:
    """Name the present state of the memory; without a name it is the time.

    `gitmem show NAME` shows a snapshot and what changed since.

    \b
    gitmem snapshot before-upgrade -m "all well"
    gitmem snapshot --list
    gitmem snapshot --delete before-upgrade
    """
    if listing or everything:
        app.show({"snapshots": app.bundle.snapshots.all(automatic=everything)})
    elif deleting:
        _delete(app, name, far)
    else:
        app.show(app.bundle.snapshot(name, note), made=True)


def _delete(app: App, name: str, far: bool) -> None:
    from gitmem.git.git_settings import Remotes
    from gitmem.memory.sync.remote_refs import RemoteRefs

    if not name:
        raise UsageError("Say which snapshot: `gitmem snapshot --delete NAME`.")
    bundle = app.writing_bundle
    gone = bundle.snapshots.delete(name)
    remotes = [one.name for one in Remotes(bundle.repository).all() if far and one.pushes and one.consent]
    deleted_on = [one for one in remotes if RemoteRefs(bundle, one).delete_snapshot(gone.name)]
    where = f" here and on {', '.join(deleted_on)}" if deleted_on else ""
    told = f"{gone.name} deleted{where}; it named {gone.commit[:12]}"
    app.answer({**shape(gone), "deleted_on": deleted_on}, told)
