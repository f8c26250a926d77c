"""`gitmem snapshot`: names for states of the memory."""

from __future__ import annotations

import click

from gitmem.cli.context import App
from gitmem.cli.default_group import DefaultGroup
from gitmem.cli.options import with_changes, with_dates, with_json
from gitmem.cli.output import AGE, bold, dim, padded, yellow
from gitmem.json_shapes import changes_json, snapshot_json


@click.group(cls=DefaultGroup)
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
@with_json
def create(app: App, name: str, note: str, session: str, model: str, plan_name: str) -> None:
    """Name the present state; without a name it is the time."""
    made = app.bundle.snapshot(name, note, session=session, model=model, plan=plan_name)
    app.out.json(snapshot_json(made))
    app.out.line(yellow(made.commit[:8]), " snapshot ", bold(made.name))


@snapshot.command("list")
@click.option("--all", "everything", is_flag=True, help="Also automatic ones.")
@with_dates
@with_json
def list_(app: App, everything: bool) -> None:
    """List snapshots, oldest first."""
    found = app.bundle.snapshots.all(automatic=everything)
    app.out.json({"snapshots": [snapshot_json(one) for one in found]})
    for one in found:
        when, where = dim(padded(app.date(one.time), AGE)), yellow(one.commit[:8])
        app.out.line(when, where, bold(one.name), one.note, between="  ")


@snapshot.command("show")
@click.argument("name")
@with_changes
@with_dates
@with_json
def show(app: App, name: str, events: bool, stat: bool) -> None:
    """Show a snapshot, and what changed since."""
    from gitmem.cli import show_changes as told

    bundle = app.bundle
    one = bundle.snapshots.get(name)
    since = bundle.diff(one.commit)
    if app.out.is_json:
        app.out.json({**snapshot_json(one), "changes": changes_json(since)})
        return
    app.out.line(bold(one.name), "  ", yellow(one.commit[:8]), "  ", dim(app.date(one.time)))
    app.out.line("  ", one.note)
    app.out.line()
    app.out.line("Since then:" if since else "Nothing changed since.")
    told.tell(app.out, since, events=events, stat=stat)


@snapshot.command("delete")
@click.argument("name")
@click.option("--remote", "far", is_flag=True, help="Also on the remotes that this memory is sent to.")
@with_json
def delete(app: App, name: str, far: bool) -> None:
    """Delete a snapshot's name; the history stays."""
    bundle = app.writing_bundle
    gone = bundle.snapshots.delete(name)
    deleted_on = _delete_far(app, gone.name) if far else []
    app.out.json({**snapshot_json(gone), "deleted_on": deleted_on})
    where = f" here and on {', '.join(deleted_on)}" if deleted_on else ""
    app.out.line(f"{gone.name} deleted{where}; it named {gone.commit[:12]}")


def _delete_far(app: App, name: str) -> list[str]:
    from gitmem.git.remotes import Remotes
    from gitmem.memory.sync.engine import Sync

    syncing = Sync(app.bundle)
    remotes = [one.name for one in Remotes(app.bundle.repository).all() if one.pushes and one.consent]
    return [one for one in remotes if syncing.delete_snapshot(name, one)]
