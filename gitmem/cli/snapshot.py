"""`gitmem snapshot`: names for states of the memory."""

from __future__ import annotations

import click

from gitmem.cli.context import App
from gitmem.cli.options import with_dates, with_json
from gitmem.cli.output import AGE, bold, dim, padded, yellow
from gitmem.errors import UsageError
from gitmem.shape import shape

_FORMER = ("list", "show", "delete")


@click.command()
@click.argument("name", default="", metavar="[NAME]")
@click.option("-m", "--note", default="", help="What is special about this state.")
@click.option("--session", default="", help="The session it belongs to.")
@click.option("--model", default="", help="The model in use.")
@click.option("--plan", "plan_name", default="", help="The plan under way.")
@click.option("--list", "listing", is_flag=True, help="List snapshots, oldest first.")
@click.option("--all", "everything", is_flag=True, help="List automatic ones too.")
@click.option("--delete", "deleting", is_flag=True, help="Delete the name; the history stays.")
@click.option("--remote", "far", is_flag=True, help="Also on the remotes that this memory is sent to.")
@with_dates
@with_json
def snapshot(
    app: App, name: str, listing: bool, everything: bool, deleting: bool, far: bool, **known: str
) -> None:
    """Name the present state of the memory; without a name it is the time.

    `gitmem show NAME` shows a snapshot and what changed since.

    \b
    gitmem snapshot before-upgrade -m "all well"
    gitmem snapshot --list
    gitmem snapshot --delete before-upgrade
    """
    if name in _FORMER:
        raise UsageError(
            f"`{name}` is not a name for a snapshot.",
            hint="Use `gitmem snapshot --list`, `gitmem snapshot --delete NAME` or `gitmem show NAME`.",
        )
    if listing or everything:
        _list(app, everything)
    elif deleting:
        _delete(app, name, far)
    else:
        made = app.bundle.snapshot(
            name, known["note"], session=known["session"], model=known["model"], plan=known["plan_name"]
        )
        app.out.json(made)
        app.out.line(yellow(made.commit[:8]), " snapshot ", bold(made.name))


def _list(app: App, everything: bool) -> None:
    found = app.bundle.snapshots.all(automatic=everything)
    app.out.json({"snapshots": found})
    for one in found:
        when, where = dim(padded(app.date(one.time), AGE)), yellow(one.commit[:8])
        app.out.line(when, where, bold(one.name), one.note, between="  ")


def _delete(app: App, name: str, far: bool) -> None:
    from gitmem.git.remotes import Remotes
    from gitmem.memory.sync.engine import Sync

    if not name:
        raise UsageError("Say which snapshot: `gitmem snapshot --delete NAME`.")
    bundle = app.writing_bundle
    gone = bundle.snapshots.delete(name)
    remotes = (
        [one.name for one in Remotes(bundle.repository).all() if one.pushes and one.consent] if far else []
    )
    deleted_on = [one for one in remotes if Sync(bundle).delete_snapshot(gone.name, one)]
    app.out.json({**shape(gone), "deleted_on": deleted_on})
    where = f" here and on {', '.join(deleted_on)}" if deleted_on else ""
    app.out.line(f"{gone.name} deleted{where}; it named {gone.commit[:12]}")
