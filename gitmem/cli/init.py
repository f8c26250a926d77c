"""`gitmem init`."""

from __future__ import annotations

import shlex
import sys

import click

from gitmem.cli.context import App
from gitmem.cli.options import json_option, pass_app
from gitmem.cli.output import bold, dim


def hook_command() -> str:
    """How git hooks call this gitmem.

    With -P, because git runs a hook in the bundle's root: without it Python would import modules
    from there, and a pulled bundle could carry a `click.py`.
    """
    return f"{shlex.quote(sys.executable)} -P -m gitmem"


@click.command()
@click.argument("directory", default=".", metavar="[DIR]")
@click.option(
    "--separate-git-dir", metavar="PATH", help="Keep the git directory there, outside the work tree."
)
@json_option
@pass_app
def init(app: App, directory: str, separate_git_dir: str | None, as_json: bool) -> None:
    """Make a bundle in DIR, or in the current directory.

    A bundle is a git repository with a skeleton of OKF files and gitmem's git hooks. Files that are in
    DIR already are taken in where they can be part of a bundle. A bundle that is there is left as it is.

    \b
    gitmem init mem
    gitmem init ~/.hermes/gitmem/bundle --separate-git-dir ~/.hermes/gitmem/bundle.git
    """
    from gitmem.memory.opening import refuse_inside_a_bundle
    from gitmem.memory.upkeep.create import create

    root = app.world.path(directory)
    refuse_inside_a_bundle(root)
    bundle, made = create(
        app.world,
        root,
        config=app.config_of(None),
        separate_git_dir=app.world.path(separate_git_dir) if separate_git_dir else None,
        command=hook_command(),
    )
    app.bundle = bundle
    if as_json:
        app.out.json(
            {
                "bundle": bundle.root,
                "git_dir": bundle.repository.git_dir,
                "made": made,
                "commit": bundle.tip,
            }
        )
    elif made:
        app.out.line("Made a bundle in ", bold(bundle.root), ".")
        app.out.line(dim("Edit memories/MEMORY.md there and run `gitmem commit`, then `gitmem log`."))
    else:
        app.out.line("There is a bundle in ", bold(bundle.root), " already; nothing was changed.")
