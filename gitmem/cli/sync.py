"""`gitmem sync`: this memory and a remote, brought together."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING

import click

from gitmem.cli.context import App
from gitmem.cli.options import with_changes, with_json
from gitmem.cli.output import count, green, safe, yellow
from gitmem.cli.progress import shown_stages
from gitmem.errors import GitMemError, UsageError
from gitmem.okf.plain import shortened

if TYPE_CHECKING:
    from gitmem.memory.gate.taken import Loss
    from gitmem.memory.sync.engine import Synced


@click.command()
@click.argument("name", default="", metavar="[REMOTE]")
@click.option("--dry-run", is_flag=True, help="Only say what this agent would start and stop believing.")
@click.option(
    "--allow-unrelated", is_flag=True, help="Join a memory that has no commit in common with this one."
)
@click.option(
    "--accept-erasure", is_flag=True, help="Erase here too, for good, what was erased on another machine."
)
@click.option("--due", is_flag=True, help="Sync with every remote that is due, one after the other.")
@click.option("--background", is_flag=True, help="Start it for every remote that is due, and do not wait.")
@click.option("--to", "to_file", metavar="FILE", help="Write this memory into a git bundle file instead.")
@click.option("--from", "from_file", metavar="FILE", help="Take in a git bundle file instead.")
@click.option("--transport", type=click.Choice(["git", "dulwich"]), help="How to talk to the remote.")
@click.option("--timeout", type=float, default=120.0, show_default=True, help="Seconds one step may take.")
@with_changes
@with_json
def sync(
    app: App,
    name: str,
    dry_run: bool,
    allow_unrelated: bool,
    accept_erasure: bool,
    due: bool,
    background: bool,
    to_file: str | None,
    from_file: str | None,
    transport: str | None,
    timeout: float,
    events: bool,
    stat: bool,
) -> None:
    """Bring this memory and a remote together: fetch, check, merge, push.

    \b
    gitmem sync
    gitmem sync origin --dry-run
    """
    if to_file and from_file:
        raise UsageError("Choose one of --to and --from.")
    if background:
        from gitmem.memory.sync.remote_state import start_due

        started, _ = start_due(app.bundle)
        app.out.json({"started_remotes": started})
        app.out.line(f"started: {', '.join(started)}" if started else "No remote is due.")
        return
    if to_file:
        from gitmem.memory.sync.bundle_file import write_file

        commits = write_file(app.whole_bundle, app.world.path(to_file))
        app.out.json({"file": to_file, "commit_count": commits})
        app.out.line(f"{to_file}: {commits} commits")
        return
    if due:
        _sync_all_due(app, transport=transport or "", timeout=timeout, events=events, stat=stat)
        return
    with shown_stages() as progress:
        done = app.bundle.sync(
            name,
            dry_run=dry_run,
            allow_unrelated=allow_unrelated,
            from_file=app.world.path(from_file) if from_file else "",
            transport=transport or "",
            timeout=timeout,
            progress=progress,
            agree=_agree if sys.stdin.isatty() and sys.stdout.isatty() else None,
            accept_erasure=accept_erasure,
        )
    app.out.json(done) if app.out.is_json else _tell(app, done, events=events, stat=stat)
    app.refuse_held(done.held)


def _sync_all_due(app: App, *, transport: str, timeout: float, events: bool, stat: bool) -> None:
    """One remote that fails stops no other; its error is the command's."""
    from gitmem.memory.sync.remote_state import all_due

    told, held, failure = [], list[str](), None
    for name in all_due(app.bundle):
        try:
            done = app.bundle.sync(name, transport=transport, timeout=timeout, wait=0)
        except GitMemError as error:
            failure = failure or error
            continue
        held += done.held
        told.append(done)
        if not app.out.is_json:
            _tell(app, done, events=events, stat=stat)
    app.out.json({"synced": told})
    if not told and failure is None:
        app.out.line("No remote is due.")
    if failure is not None:
        raise failure
    app.refuse_held(held)


def _agree(remote: str, losses: Sequence[Loss]) -> bool:
    """Ask the person who is here; a plain Enter keeps what there is."""
    click.echo(f"\r\x1b[K{remote} takes away:")
    for loss in losses:
        click.echo(f"  - {safe(shortened(loss.entry.text))}  ({safe(loss.path)}: {safe(loss.why)})")
    return click.confirm("Let that go? Else it stays, and `gitmem review` asks again", default=False)


def _tell(app: App, done: Synced, *, events: bool, stat: bool) -> None:
    from gitmem.cli.render import changes as told

    told.tell(app.out, done.came, events=events, stat=stat)
    commits = count(done.received, "commit")
    if done.dry_run:
        app.out.line(green("a sync "), f"with {done.remote}: {commits} would come, {done.sent} would go")
    else:
        app.out.line(green("synced "), f"with {done.remote}: {commits} came, {done.sent} went")
    if done.branch:
        app.out.line(
            f"Others were faster: it is on the branch {done.branch} there, and in main with the next sync."
        )
    if done.taken:
        app.out.line(yellow(f"{done.remote} takes away: {done.taken}"))
    for store in done.archived:
        moved = count(len(store.texts), "entry", "entries")
        app.out.line(yellow(f"The {store.target} store was over its limit: {moved} moved to the archive."))
    if done.waiting:
        app.out.line(yellow(done.waiting))


@click.command()
@click.argument("where", default="", metavar="[REMOTE|REPOSITORY]")
@click.option("--forget", metavar="MACHINE", help="Delete the branch of a machine that has gone.")
@click.option("--transport", type=click.Choice(["git", "dulwich"]), help="How to talk to the remote.")
@click.option("--timeout", type=float, default=120.0, show_default=True, help="Seconds one step may take.")
@with_changes
@with_json
def fold(
    app: App,
    where: str,
    forget: str | None,
    transport: str | None,
    timeout: float,
    events: bool,
    stat: bool,
) -> None:
    """Fold the branches of machines into main, on a remote or in a bare repository here.

    A machine whose push was beaten by another's has its commits on a branch, in/MACHINE. Every sync folds what it
    finds; on a server `gitmem hook install` makes each push do it, and a timer can.

    \b
    gitmem fold
    gitmem fold /srv/memory.git
    gitmem fold --forget old-laptop
    """
    from gitmem.memory.sync import server

    path = app.world.path(where) if where else ""
    if path and server.is_bare(path):
        if forget:
            server.forget_branch(path, forget)
            app.out.json({"forgotten": forget})
            app.out.line(f"The branch of {forget} is gone.")
            return
        made = server.fold_here(path)
        app.out.json(
            {"main": made.main, "branch_count": made.branches, "waiting_branches": list(made.left_out)}
        )
        app.out.line(green("folded "), count(made.branches, "branch", "branches"))
        for sentence in made.left_out:
            app.warn(sentence)
        return
    if forget:
        from gitmem.memory.sync.engine import Sync

        Sync(app.bundle, timeout=timeout, prefer=transport or "").forget_branch(forget, where)
        app.out.json({"forgotten": forget})
        app.out.line(f"The branch of {forget} is gone.")
        return
    with shown_stages() as progress:
        done = app.bundle.sync(
            where, transport=transport or "", timeout=timeout, progress=progress, fold=True
        )
    app.out.json(done) if app.out.is_json else _tell(app, done, events=events, stat=stat)
    app.refuse_held(done.held)
