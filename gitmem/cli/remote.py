"""`gitmem remote`: where else this memory is kept."""

from __future__ import annotations

import sys
from dataclasses import replace
from typing import Any

import click

from gitmem.cli.context import App
from gitmem.cli.options import with_json
from gitmem.cli.output import bold, count, dim, yellow


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
@click.option("--shared", is_flag=True, help="Others write to it: what they add is unconfirmed here.")
@click.option("--yes", is_flag=True, help="Agree, without being asked, to send this memory there.")
@with_json
def add(app: App, name: str, url: str, mode: Any, shared: bool, yes: bool) -> None:
    """Add a remote. What leaves this machine is said, and asked about, once."""
    from gitmem.git.remotes import Remote, Remotes
    from gitmem.git.transport import check_url, local_path, shown_url

    bundle = app.bundle
    check_url(url)
    if local_path(url) == url:  # a path counts from here, and later syncs start elsewhere
        url = app.world.path(url)
    remotes = Remotes(bundle.repository)
    wanted = Remote(name, url, mode or "both", shared=shared)
    if wanted.pushes:
        transcripts = sum(path.startswith("sessions/") for path in bundle.list_concepts("sessions"))
        told = (
            f"Syncing sends this whole memory and its history to {shown_url(url)}, "
            f"{count(transcripts, 'file')} of conversations among them. "
            "To keep later conversations out, set `transcripts: off`."
        )
        agreed = yes
        if not yes and sys.stdin.isatty() and not app.out.is_json:
            app.out.line(told)
            agreed = click.confirm("Send it there?")
        else:
            app.out.line(told)
        wanted = replace(wanted, consent=agreed)
    remotes.save(wanted)
    app.out.json(wanted)
    app.out.line(f"{name}: {shown_url(url)} ({wanted.mode})")
    if wanted.pushes and not wanted.consent:
        app.out.line(yellow(f"Nothing will be sent yet: run `gitmem remote add {name} URL --yes` to agree."))


@remote.command("list")
@with_json
def list_(app: App) -> None:
    """List the remotes."""
    from gitmem.git.remotes import Remotes
    from gitmem.git.transport import shown_url

    found = Remotes(app.bundle.repository).all()
    app.out.json({"remotes": found})
    for one in found:
        agreed = "" if one.consent or not one.pushes else ", nobody agreed to send yet"
        app.out.line(bold(one.name), "  ", shown_url(one.url), dim(f"  ({one.mode}{agreed})"))


@remote.command("remove")
@click.argument("name")
@with_json
def remove(app: App, name: str) -> None:
    """Remove a remote. What it holds stays there, and what came from it stays here."""
    from gitmem.git.remotes import Remotes
    from gitmem.memory.sync.engine import Sync

    gone = Remotes(app.bundle.repository).remove(name)
    Sync(app.bundle).forget(name)
    app.out.json(gone)
    app.out.line(f"{name} removed")


@remote.command("forget")
@click.argument("name")
@with_json
def forget(app: App, name: str) -> None:
    """Forget where a remote stood when it was last seen, after it was emptied or rewritten on purpose."""
    from gitmem.git.remotes import Remotes
    from gitmem.memory.sync.engine import Sync

    one = Remotes(app.bundle.repository).get(name)
    Sync(app.bundle).forget(name)
    app.out.json(one)
    app.out.line(f"What was seen of {name} is forgotten.")
