"""`gitmem remote`, `sync`, `clone` and `contested`: the same memory on several machines."""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING, Any

import click

from gitmem.cli.context import App
from gitmem.cli.options import json_option, pass_app
from gitmem.cli.output import bold, count, dim, green, yellow
from gitmem.cli.progress import shown_stages
from gitmem.errors import FoundSomething, GitMemError, UsageError

if TYPE_CHECKING:
    from collections.abc import Callable

    from gitmem.git.remotes import Remote
    from gitmem.hosts.hermes.home import Home
    from gitmem.memory.curated.archive import Archived
    from gitmem.memory.memory import Memory
    from gitmem.memory.sync.engine import Sync, Synced


# --- remote ----------------------------------------------------------------------------------------------


@click.group()
def remote() -> None:
    """Remotes: any git server, by ssh, https or a path.

    \b
    gitmem remote add origin git@host:me/memory.git
    gitmem remote add team https://host/team.git --pull-only
    gitmem remote list
    """


@remote.command("add")
@click.argument("name")
@click.argument("url")
@click.option("--pull-only", "mode", flag_value="pull-only", help="Only take from it: a team's shared facts.")
@click.option("--push-only", "mode", flag_value="push-only", help="Only send to it: a backup.")
@click.option("--yes", is_flag=True, help="Agree, without being asked, to send this memory there.")
@json_option
@pass_app
def add(app: App, name: str, url: str, mode: Any, yes: bool, as_json: bool) -> None:
    """Add a remote. What leaves this machine is said, and asked about, once."""
    from gitmem.git.remotes import Remote, Remotes
    from gitmem.git.transport import check_url, shown_url

    bundle = app.bundle
    check_url(url)
    if os.path.isdir(app.world.path(url)):  # a path counts from here, and later syncs start elsewhere
        url = app.world.path(url)
    remotes = Remotes(bundle.repository)
    wanted = Remote(name, url, mode or "both")
    if wanted.pushes:
        transcripts = sum(path.startswith("sessions/") for path in bundle.list_concepts("sessions"))
        told = (
            f"Syncing sends this whole memory and its history to {shown_url(url)}, "
            f"{count(transcripts, 'file')} of conversations among them. "
            "To keep later conversations out, set `transcripts: off`."
        )
        agreed = yes
        if not yes and sys.stdin.isatty() and not as_json:
            app.out.line(told)
            agreed = click.confirm("Send it there?")
        elif not as_json:
            app.out.line(told)
        wanted = Remote(name, url, wanted.mode, consent=agreed)
    remotes.save(wanted)
    if as_json:
        app.out.json(_remote_json(wanted))
        return
    app.out.line(f"{name}: {shown_url(url)} ({wanted.mode})")
    if wanted.pushes and not wanted.consent:
        app.out.line(yellow(f"Nothing will be sent yet: run `gitmem remote add {name} URL --yes` to agree."))


@remote.command("list")
@json_option
@pass_app
def list_(app: App, as_json: bool) -> None:
    """List the remotes."""
    from gitmem.git.remotes import Remotes
    from gitmem.git.transport import shown_url

    found = Remotes(app.bundle.repository).all()
    if as_json:
        app.out.json({"remotes": [_remote_json(one) for one in found]})
        return
    for one in found:
        agreed = "" if one.consent or not one.pushes else ", nobody agreed to send yet"
        app.out.line(bold(one.name), "  ", shown_url(one.url), dim(f"  ({one.mode}{agreed})"))


@remote.command("remove")
@click.argument("name")
@json_option
@pass_app
def remove(app: App, name: str, as_json: bool) -> None:
    """Remove a remote. What it holds stays there, and what came from it stays here."""
    from gitmem.git.remotes import Remotes

    gone = Remotes(app.bundle.repository).remove(name)
    _sync(app).forget(name)
    app.out.json(_remote_json(gone)) if as_json else app.out.line(f"{name} removed")


@remote.command("forget")
@click.argument("name")
@json_option
@pass_app
def forget(app: App, name: str, as_json: bool) -> None:
    """Forget where a remote stood when it was last seen, after it was emptied or rewritten on purpose."""
    from gitmem.git.remotes import Remotes

    one = Remotes(app.bundle.repository).get(name)
    _sync(app).forget(name)
    app.out.json(_remote_json(one)) if as_json else app.out.line(f"What was seen of {name} is forgotten.")


def _remote_json(one: Remote) -> dict[str, Any]:
    from gitmem.git.transport import shown_url

    return {"name": one.name, "url": shown_url(one.url), "mode": one.mode, "consent": one.consent}


# --- sync ------------------------------------------------------------------------------------------------


class SyncGroup(click.Group):
    """`gitmem sync [REMOTE]` syncs; `gitmem sync status` looks."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        if args[:1] not in (["status"], ["--help"], ["-h"]):
            args = ["run", *args]
        return super().parse_args(ctx, args)


@click.group(cls=SyncGroup)
def sync() -> None:
    """Bring this memory and a remote together: fetch, check, merge, push.

    \b
    gitmem sync
    gitmem sync origin --dry-run
    gitmem sync status
    """


@sync.command("run", hidden=True)
@click.argument("name", default="", metavar="[REMOTE]")
@click.option("--dry-run", is_flag=True, help="Only say what this agent would start and stop believing.")
@click.option(
    "--allow-unrelated", is_flag=True, help="Join a memory that has no commit in common with this one."
)
@click.option("--background", is_flag=True, help="Start it for every remote that is due, and do not wait.")
@click.option("--to", "to_file", metavar="FILE", help="Write this memory into a git bundle file instead.")
@click.option("--from", "from_file", metavar="FILE", help="Take in a git bundle file instead.")
@click.option("--transport", type=click.Choice(["git", "dulwich"]), help="How to talk to the remote.")
@click.option("--timeout", type=float, default=120.0, show_default=True, help="Seconds one step may take.")
@json_option
@pass_app
def run(
    app: App,
    name: str,
    dry_run: bool,
    allow_unrelated: bool,
    background: bool,
    to_file: str | None,
    from_file: str | None,
    transport: str | None,
    timeout: float,
    as_json: bool,
) -> None:
    """Bring this memory and a remote together."""
    if to_file and from_file:
        raise UsageError("Choose one of --to and --from.")
    if background:
        from gitmem.memory.sync.schedule import run_in_background

        started = run_in_background(app.bundle)
        app.out.json({"started": started}) if as_json else app.out.line(
            f"started: {', '.join(started)}" if started else "No remote is due."
        )
        return
    bundle = app.bundle if dry_run else app.whole_bundle
    if to_file:
        from gitmem.memory.sync.bundle_file import write_file

        commits = write_file(bundle, app.world.path(to_file))
        app.out.json({"file": to_file, "commits": commits}) if as_json else app.out.line(
            f"{to_file}: {commits} commits"
        )
        return
    with shown_stages() as progress:
        syncing = _sync(app, timeout=timeout, prefer=transport or "", progress=progress)
        done = (
            syncing.from_file(app.world.path(from_file), dry_run=dry_run, allow_unrelated=allow_unrelated)
            if from_file
            else syncing.run(name, dry_run=dry_run, allow_unrelated=allow_unrelated)
        )
    archived = _archive(bundle) if done.received and not dry_run else []
    _tell(app, done, archived, as_json)
    _tell_held(done.held)


def _tell_held(held: list[str]) -> None:
    if held:
        raise FoundSomething(
            f"{count(len(held), 'entry', 'entries')} held back: see `gitmem quarantine list`."
        )


def _archive(bundle: Memory) -> list[Archived]:
    from gitmem.memory.curated.archive import archive_overfull

    return archive_overfull(bundle)


def _tell(app: App, done: Synced, archived: list[Archived], as_json: bool) -> None:
    from gitmem.cli import show_changes as told

    came = [change for change in done.came if not change.path.startswith("retractions/")]
    if as_json:
        app.out.json(
            {
                "remote": done.remote,
                "tip": done.tip,
                "received": done.received,
                "sent": done.sent,
                "checked_entries": done.checked,
                "held": done.held,
                "snapshots": done.snapshots,
                "dry_run": done.dry_run,
                "archived": [text for store in archived for text in store.texts],
                "changes": told.as_json(came) if came else [],
            }
        )
        return
    if came:
        told.tell(app.out, came)
    commits = count(done.received, "commit")
    if done.dry_run:
        app.out.line(green("a sync "), f"with {done.remote}: {commits} would come, {done.sent} would go")
    else:
        app.out.line(green("synced "), f"with {done.remote}: {commits} came, {done.sent} went")
    for store in archived:
        moved = count(len(store.texts), "entry", "entries")
        app.out.line(yellow(f"The {store.target} store was over its limit: {moved} moved to the archive."))


@sync.command("status")
@json_option
@pass_app
def status(app: App, as_json: bool) -> None:
    """Say for each remote how far ahead and behind it was when last seen, and how the last sync ended."""
    from gitmem.git.ancestry import only_in
    from gitmem.git.remotes import Remotes
    from gitmem.git.transport import remote_ref

    bundle = app.bundle
    syncing = _sync(app)
    found = []
    for one in Remotes(bundle.repository).all():
        seen = bundle.repository.refs.read(remote_ref(one.name))
        state = syncing.state(one.name)
        found.append(
            {
                **_remote_json(one),
                "ahead": len(only_in(bundle.repository, bundle.tip, seen)),
                "behind": len(only_in(bundle.repository, seen, bundle.tip)) if seen else 0,
                "last_success": state.get("last_success"),
                "last_error": state.get("last_error"),
                "last_error_at": state.get("last_error_at"),
                "failures": state.get("failures", 0),
                "next_try": state.get("next_try") if state.get("failures") else None,
            }
        )
    if as_json:
        app.out.json({"remotes": found})
        return
    for row in found:
        app.out.line(bold(str(row["name"])), f"  {row['ahead']} ahead, {row['behind']} behind")
        app.out.line(dim(f"  last success: {row['last_success'] or 'never'}"))
        if row["failures"]:
            app.out.line(yellow(f"  last error: {row['last_error']} ({row['last_error_at']})"))
            app.out.line(dim(f"  next try by itself: {row['next_try']}"))
    if not found:
        app.out.line("There is no remote: add one with `gitmem remote add NAME URL`.")


def _sync(
    app: App,
    *,
    timeout: float = 120.0,
    prefer: str = "",
    progress: Callable[[str], None] | None = None,
) -> Sync:
    from gitmem.memory.sync.engine import Sync

    return Sync(app.bundle, timeout=timeout, prefer=prefer, progress=progress)


# --- clone -----------------------------------------------------------------------------------------------


@click.command()
@click.argument("url")
@click.argument("directory", required=False)
@click.option(
    "--hermes", is_flag=True, help="Clone into a Hermes home (DIRECTORY, else ~/.hermes) and install."
)
@click.option("--transport", type=click.Choice(["git", "dulwich"]), help="How to talk to the remote.")
@json_option
@pass_app
def clone(
    app: App, url: str, directory: str | None, hermes: bool, transport: str | None, as_json: bool
) -> None:
    """Make a bundle of what a remote holds, ready to sync with it.

    \b
    gitmem clone git@host:me/memory.git mem
    gitmem clone git@host:me/memory.git --hermes
    """
    from gitmem.cli.init import hook_command
    from gitmem.memory.upkeep.clone import clone as make_clone

    if not directory and not hermes:
        raise UsageError("Name the directory for the bundle, or give --hermes.")
    home = _hermes_home(app, directory) if hermes else None
    target = home.bundle if home else app.world.path(directory or "")
    if os.path.exists(target) and (not os.path.isdir(target) or os.listdir(target)):
        raise GitMemError(f"{target} is there already and is not empty: choose another place.")
    if home:
        os.makedirs(os.path.dirname(target), exist_ok=True)
    done = make_clone(
        app.world,
        url,
        target,
        config=app.config_of(None),
        command=hook_command(),
        separate_git_dir=home.git_dir if home else None,
        prefer=transport or "",
    )
    done.index.current()
    tip, held = done.tip, [one.id for one in done.quarantine.all()]
    done.repository.store.close()
    for warning in done.warnings:
        app.warn(warning)
    steps = _install(app, home) if home else []
    if as_json:
        app.out.json({"bundle": done.root, "tip": tip, "held": held, "steps": steps})
    else:
        app.out.line(f"Made a bundle in {done.root}: {tip[:8]}")
        for step in steps:
            app.out.line(green("✓ "), step)
    _tell_held(held)


def _hermes_home(app: App, directory: str | None) -> Home:
    from gitmem.hosts.hermes.home import choose_home

    path = app.world.path(directory) if directory else ""
    return choose_home(app.world, path=path, profile="")


def _install(app: App, home: Home) -> list[str]:
    """Make the clone the memory of a Hermes home; gives what was done."""
    from gitmem.hosts.hermes.install import install

    report = install(home, app.world)
    for warning in report.warnings:
        app.warn(warning)
    return [what for state, what in report.steps if state == "done"]


# --- contested -------------------------------------------------------------------------------------------


@click.group()
def contested() -> None:
    """Entries that two machines reworded differently: both are kept, the prompt shows the newer."""


@contested.command("list")
@json_option
@pass_app
def list_contested(app: App, as_json: bool) -> None:
    """List entries that replace the same one."""
    from gitmem.memory.curated.contests import contested as find

    found = find(app.bundle)
    if as_json:
        app.out.json(
            {
                "contested": [
                    {"path": one.path, "was": one.replaced, "entries": [e.text for e in one.entries]}
                    for one in found
                ]
            }
        )
        return
    for one in found:
        app.out.line(bold(one.path), dim(f"  {one.replaced[:8]}"))
        for entry in one.entries:
            app.out.line("  ", dim(f"{entry.key.id[:8]} {entry.at[:16]} "), entry.text)
    if not found:
        app.out.line("Nothing is contested.")


@contested.command("resolve")
@click.argument("which")
@click.argument("text")
@click.option("--reason", default="", help="Why; kept in the commit.")
@json_option
@pass_app
def resolve(app: App, which: str, text: str, reason: str, as_json: bool) -> None:
    """Settle a contest: all its entries go, TEXT takes their place. WHICH is the hash that `list` shows."""
    from gitmem.memory.curated.contests import resolve as settle

    bundle = app.writing_bundle
    done = settle(bundle, which, text, origin=bundle.origin(reason=reason))
    if as_json:
        app.out.json({"commit": done.commit or bundle.tip, "held": list(done.held)})
    elif done.held:
        app.out.line(
            yellow("held "), f"for a person to look at: {', '.join(done.held)}. Nothing is settled yet."
        )
    else:
        app.out.line(yellow((done.commit or bundle.tip)[:8]), " settled")
