"""`gitmem clone`: a bundle of what a remote holds."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import click

from gitmem.cli.context import App
from gitmem.cli.options import json_option, pass_app
from gitmem.cli.output import green
from gitmem.cli.sync import refuse_held
from gitmem.errors import GitMemError, UsageError

if TYPE_CHECKING:
    from gitmem.hosts.hermes.home import Home


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
    with done:
        done.index.current()
        tip, held = done.tip, [one.id for one in done.quarantine.all()]
    for warning in done.warnings:
        app.warn(warning)
    steps = _install(app, home) if home else []
    if as_json:
        app.out.json({"bundle": done.root, "tip": tip, "held": held, "steps": steps})
    else:
        app.out.line(f"Made a bundle in {done.root}: {tip[:8]}")
        for step in steps:
            app.out.line(green("✓ "), step)
    refuse_held(held)


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
