"""`gitmem clone`: a bundle of what a remote holds."""

from __future__ import annotations

import os
import re
import sys
from typing import TYPE_CHECKING

import click

from gitmem.cli.context import App
from gitmem.cli.options import with_json
from gitmem.cli.output import green
from gitmem.errors import GitMemError, UsageError
from gitmem.permissions import make_directories

if TYPE_CHECKING:
    from gitmem.hosts.hermes.home import Home


@click.command()
@click.argument("url")
@click.argument("directory", required=False)
@click.option(
    "--hermes", is_flag=True, help="Clone into a Hermes home (DIRECTORY, else ~/.hermes) and install."
)
@click.option("--transport", type=click.Choice(["git", "dulwich"]), help="How to talk to the remote.")
@with_json
def clone(app: App, url: str, directory: str | None, hermes: bool, transport: str | None) -> None:
    """Make a bundle of what a remote holds, ready to sync with it; without DIRECTORY in one named like the remote.

    \b
    gitmem clone git@host:me/memory.git mem
    gitmem clone git@host:me/memory.git --hermes
    """
    from gitmem.memory.upkeep.clone import clone as make_clone
    from gitmem.memory.upkeep.clone import is_unfinished

    if not directory and not hermes:
        directory = _directory_of(url)
    home = _hermes_home(app, directory) if hermes else None
    target = home.bundle if home else app.world.path(directory or "")
    git_dir = home.git_dir if home else None
    if os.path.exists(target) and (not os.path.isdir(target) or not is_unfinished(target, git_dir)):
        raise GitMemError(f"{target} is there already and is not empty: choose another place.")
    if home:
        make_directories(os.path.dirname(target))
    done = make_clone(
        app.world,
        url,
        target,
        config=app.config_of(None),
        python=sys.executable,
        separate_git_dir=git_dir,
        prefer=transport or "",
    )
    with done:
        done.index.current()
        tip, held = done.tip, [one.id for one in done.quarantine.all()]
    for warning in done.warnings:
        app.warn(warning)
    steps = _install(app, home) if home else []
    app.out.json({"bundle": done.root, "commit": tip, "held": held, "steps": steps})
    app.out.line(f"Created a memory in {done.root}: {tip[:8]}")
    for step in steps:
        app.out.line(green("✓ "), step)
    app.refuse_held(held, done)


def _directory_of(url: str) -> str:
    """The directory that a clone without one goes to, as git names it: the last part of the address."""
    from gitmem.git.transport import shown_url

    place = url.split("?", maxsplit=1)[0].split("#", maxsplit=1)[0].rstrip("/").removesuffix("/.git")
    name = re.split(r"[/:\\]", place)[-1].removesuffix(".git").removesuffix(".bundle")
    if name.strip(". ") == "" or "@" in name:
        raise UsageError(
            f"No directory can be derived from {shown_url(url)!r}.", hint="Name the directory for the bundle."
        )
    return name


def _hermes_home(app: App, directory: str | None) -> Home:
    from gitmem.hosts.hermes.home import choose_home

    path = app.world.path(directory) if directory else ""
    return choose_home(app.world, path=path, profile="")


def _install(app: App, home: Home) -> list[str]:
    """Make the clone the memory of a Hermes home; gives what was done."""
    from gitmem.hosts.hermes.profile import install

    report = install(home, app.world)
    for warning in report.warnings:
        app.warn(warning)
    return [what for state, what in report.steps if state == "done"]
