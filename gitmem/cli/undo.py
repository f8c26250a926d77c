"""`gitmem snapshot`, `restore`, `revert`, `undo`, `blame` and `trace`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from gitmem.cli.context import App
from gitmem.cli.options import json_option, pass_app
from gitmem.cli.output import bold, count, dim, green, red, yellow
from gitmem.errors import UsageError

if TYPE_CHECKING:
    from gitmem.memory.history.revert import Reverted
    from gitmem.memory.snapshots import Snapshot

_dry_run = click.option("--dry-run", is_flag=True, help="Only say what would change.")


class SnapshotGroup(click.Group):
    """`gitmem snapshot NAME` makes one; `list`, `show` and `delete` are commands."""

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        if not args or args[0] not in self.commands:
            return "create", self.commands["create"], args
        return super().resolve_command(ctx, args)

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        if "--help" not in args[:1] and "-h" not in args[:1] and (not args or args[0] not in self.commands):
            args = ["create", *args]
        return super().parse_args(ctx, args)


@click.group(cls=SnapshotGroup)
def snapshot() -> None:
    """Name the present state of the memory.

    \b
    gitmem snapshot before-upgrade -m "all well"
    gitmem snapshot
    gitmem snapshot list
    """


@snapshot.command("create", hidden=True)
@click.argument("name", default="", metavar="[NAME]")
@click.option("-m", "--note", default="", help="What is special about this state.")
@click.option("--session", default="", help="The session it belongs to.")
@click.option("--model", default="", help="The model in use.")
@click.option("--plan", "plan_name", default="", help="The plan under way.")
@json_option
@pass_app
def create(app: App, name: str, note: str, session: str, model: str, plan_name: str, as_json: bool) -> None:
    """Name the present state; without a name it is the time."""
    bundle = app.whole_bundle
    origin = bundle.origin(session=session or app.session or bundle.sessions.open_id(), model=model)
    made = bundle.snapshots.create(name, note, origin=origin, plan=plan_name)
    if as_json:
        app.out.json(_snapshot_json(app, made))
    else:
        app.out.line(yellow(made.commit[:8]), " snapshot ", bold(made.name))


@snapshot.command("list")
@click.option("--all", "everything", is_flag=True, help="Also automatic ones.")
@json_option
@pass_app
def list_(app: App, everything: bool, as_json: bool) -> None:
    """List snapshots, oldest first."""
    found = app.bundle.snapshots.all(automatic=everything)
    if as_json:
        app.out.json({"snapshots": [_snapshot_json(app, one) for one in found]})
        return
    for one in found:
        app.out.line(
            dim(app.date(one.time)), "  ", yellow(one.commit[:8]), "  ", bold(one.name), "  ", one.note
        )


@snapshot.command("show")
@click.argument("name")
@json_option
@pass_app
def show(app: App, name: str, as_json: bool) -> None:
    """Show a snapshot, and what changed since."""
    from gitmem.cli import show_changes as told

    bundle = app.bundle
    one = bundle.snapshots.get(name)
    since = bundle.history.between(one.commit, bundle.tip)
    if as_json:
        app.out.json({**_snapshot_json(app, one), "since": told.as_json(since)})
        return
    app.out.line(bold(one.name), "  ", yellow(one.commit[:8]), "  ", dim(app.date(one.time)))
    app.out.line("  ", one.note)
    app.out.line()
    app.out.line("Since then:" if since else "Nothing changed since.")
    told.tell(app.out, since)


@snapshot.command("delete")
@click.argument("name")
@click.option("--remote", "far", is_flag=True, help="Also on the remotes that this memory is sent to.")
@json_option
@pass_app
def delete(app: App, name: str, far: bool, as_json: bool) -> None:
    """Delete a snapshot's name; the history stays."""
    bundle = app.writing_bundle
    gone = bundle.snapshots.delete(name)
    deleted_on = _delete_far(app, gone.name) if far else []
    if as_json:
        app.out.json({**_snapshot_json(app, gone), "deleted_on": deleted_on})
    else:
        where = f" here and on {', '.join(deleted_on)}" if deleted_on else ""
        app.out.line(f"{gone.name} deleted{where}; it named {gone.commit[:12]}")


def _delete_far(app: App, name: str) -> list[str]:
    from gitmem.git.remotes import Remotes
    from gitmem.memory.sync.engine import Sync

    syncing = Sync(app.bundle)
    remotes = [one.name for one in Remotes(app.bundle.repository).all() if one.pushes and one.consent]
    return [one for one in remotes if syncing.delete_snapshot(name, one)]


def _snapshot_json(app: App, one: Snapshot) -> dict[str, Any]:
    return {
        "name": one.name,
        "commit": one.commit,
        "automatic": one.is_automatic,
        "note": one.note,
        "at": app.iso(one.time),
    }


# --- restore, revert, undo -------------------------------------------------------------------------------


@click.command()
@click.argument("revision", metavar="X")
@click.option("--path", "paths", multiple=True, help="Only below a path; may be given several times.")
@click.option("--keep-sessions", is_flag=True, help="Leave the record of conversations as it is.")
@click.option("--reason", default="", help="Why; kept in the commit.")
@_dry_run
@json_option
@pass_app
def restore(
    app: App,
    revision: str,
    paths: tuple[str, ...],
    keep_sessions: bool,
    reason: str,
    dry_run: bool,
    as_json: bool,
) -> None:
    """Put the memory back to X, as a new commit on top: nothing is lost, and `undo` takes it back.

    X is a snapshot, a commit, a date ("2026-11-13 18:00", yesterday) or session:ID, the state just before
    that session. What was retracted since stays out.

    \b
    gitmem restore before-upgrade --dry-run
    gitmem restore yesterday --path memories
    gitmem restore session:work-7 --keep-sessions
    """
    from gitmem.cli import show_changes as told
    from gitmem.memory.history.restore import restore as put_back

    bundle = app.bundle if dry_run else app.whole_bundle
    origin = bundle.origin(reason=reason)
    wanted = [app.path(path) for path in paths]
    done = put_back(
        bundle, revision, paths=wanted, keep_sessions=keep_sessions, dry_run=dry_run, origin=origin
    )
    if as_json:
        app.out.json(
            {
                "target": done.target,
                "commit": done.published.commit.oid if done.published else None,
                "withheld": done.withheld,
                "dry_run": dry_run,
                "changes": told.as_json(done.changes),
            }
        )
        return
    told.tell(app.out, done.changes)
    if done.withheld:
        app.out.line(yellow(f"{count(done.withheld, 'retracted entry', 'retracted entries')} stay out."))
    _tell_end(app, bool(done.changes), done.published.commit.oid if done.published else "", dry_run)


@click.command()
@click.argument("revisions", nargs=-1, metavar="[COMMIT]...")
@click.option("--session", help="What a session did.")
@click.option("--agent", help="What an agent did.")
@click.option("--machine", help="What was done on a machine.")
@click.option("--source", help="What came from a source.")
@click.option("--since", metavar="DATE", help="From that day or moment on.")
@click.option("--until", metavar="DATE", help="Up to that day or moment.")
@click.option("--text", help="Commits that added an entry with this text.")
@click.option("--derived", is_flag=True, help="Also what names these entries in Derived-From.")
@click.option("--reason", default="", help="Why; kept in the commit.")
@_dry_run
@json_option
@pass_app
def revert(
    app: App,
    /,
    revisions: tuple[str, ...],
    derived: bool,
    reason: str,
    dry_run: bool,
    as_json: bool,
    **by: str | None,
) -> None:
    """Take back what some commits did, and keep everything that was learned since.

    Entries they added go, entries they removed come back, entries they changed go back unless someone
    changed them later. What goes is retracted: no merge and no restore brings it back.

    \b
    gitmem revert 3f2a9c1e --dry-run
    gitmem revert --session night-7
    gitmem revert --source https://example.org/page --derived
    """
    from gitmem.memory.history.select import Selection, select

    bundle = app.bundle if dry_run else app.whole_bundle
    wanted = Selection(
        commits=tuple(bundle.resolve(revision) for revision in revisions),
        session=by["session"] or "",
        agent=by["agent"] or "",
        machine=by["machine"] or "",
        source=by["source"] or "",
        text=by["text"] or "",
        since=bundle.moment(by["since"], start=True) if by["since"] else None,
        until=bundle.moment(by["until"]) if by["until"] else None,
        derived=derived,
    )
    if wanted.is_empty:
        raise UsageError(
            "Say what to take back: a commit, --session, --agent, --machine, --source, --since or --text."
        )
    chosen, followers = select(bundle, wanted)
    done = bundle.undo.revert(chosen, origin=bundle.origin(reason=reason), dry_run=dry_run)
    tell_reverted(app, done, as_json=as_json, dry_run=dry_run, followers=followers)


@click.command()
@_dry_run
@json_option
@pass_app
def undo(app: App, dry_run: bool, as_json: bool) -> None:
    """Take back the last restore, revert or merge."""
    bundle = app.bundle if dry_run else app.whole_bundle
    done = bundle.undo.undo(origin=bundle.origin(), dry_run=dry_run)
    tell_reverted(app, done, as_json=as_json, dry_run=dry_run)


def tell_reverted(
    app: App, done: Reverted, *, as_json: bool, dry_run: bool, followers: list[str] | None = None
) -> None:
    """What a revert did, for people or as JSON."""
    from gitmem.cli import show_changes as told

    shown = [change for change in done.changes if not change.path.startswith("retractions/")]
    if as_json:
        app.out.json(
            {
                "reverted": [commit.oid for commit in done.commits],
                "commit": done.published.commit.oid if done.published else None,
                "dry_run": dry_run,
                "changes": told.as_json(shown),
                "kept": done.kept,
                "derived": followers or [],
            }
        )
        return
    told.tell(app.out, shown)
    for sentence in done.kept:
        app.out.line(yellow("kept "), sentence)
    for sentence in followers or []:
        app.out.line(yellow("derived "), sentence)
    _tell_end(app, bool(done.changes), done.published.commit.oid if done.published else "", dry_run)


def _tell_end(app: App, changes: bool, commit: str, dry_run: bool) -> None:
    if not changes:
        app.out.line("Nothing would change." if dry_run else "Nothing to do: that is how it is already.")
    elif dry_run:
        app.out.line(dim("Nothing was changed: this was a dry run."))
    else:
        app.out.line(yellow(commit[:8]), dim("  `gitmem undo` takes this back."))


# --- blame, trace ----------------------------------------------------------------------------------------


@click.command()
@click.argument("path")
@click.option("--removed", is_flag=True, help="Also entries that are gone: when and by what they left.")
@click.option(
    "--as-of", metavar="REV", default="HEAD", help="As it was at a commit, snapshot, date or session."
)
@json_option
@pass_app
def blame(app: App, path: str, removed: bool, as_of: str, as_json: bool) -> None:
    """Say for every entry of a file when it came, from which session, agent and machine, and why.

    \b
    gitmem blame memories/MEMORY.md
    gitmem blame memories/MEMORY.md --removed
    """
    from gitmem.memory.history.blame import blame_of

    found = blame_of(app.bundle, app.path(path), revision=as_of, removed=removed)
    if as_json:
        app.out.json({"path": path, "entries": [one.as_json() for one in found.values()]})
        return
    app.out.paged()
    for one in found.values():
        mark = red("- ") if one.left else green("+ ")
        app.out.line(mark, one.entry.text)
        app.out.line(dim(f"    {one.sentence()}"))


@click.command()
@click.argument("text")
@json_option
@pass_app
def trace(app: App, text: str, as_json: bool) -> None:
    """Say where a text came from, and what it may have touched: its whole life and its blast radius.

    Ends with the command that takes it back.
    """
    from gitmem.memory.history.trace import trace as trace_text

    found = trace_text(app.bundle, text)
    if as_json:
        app.out.json(found.as_json())
        return
    app.out.paged()
    for line in found.lines():
        app.out.line(line)
