"""`gitmem init`."""

from __future__ import annotations

import json
import sys
from dataclasses import replace

import click

from gitmem.cli.context import App
from gitmem.cli.options import with_json
from gitmem.cli.output import bold, dim
from gitmem.state import CONFIG


@click.command()
@click.argument("directory", default=".", metavar="[DIR]")
@click.option(
    "--separate-git-dir", metavar="PATH", help="Keep the git directory there, outside the work tree."
)
@click.option(
    "--agent", default="", metavar="NAME", help="Whose memory it is: the author of what agents write."
)
@with_json
def init(app: App, directory: str, separate_git_dir: str | None, agent: str) -> None:
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
        config=replace(app.config_of(None), agent_id=agent) if agent else app.config_of(None),
        separate_git_dir=app.world.path(separate_git_dir) if separate_git_dir else None,
        python=sys.executable,
    )
    app.bundle = bundle
    if made and agent:
        bundle.state.write_text(CONFIG, f"agent_id: {json.dumps(agent)}\n")
    app.out.json(
        {"bundle": bundle.root, "git_dir": bundle.repository.git_dir, "made": made, "commit": bundle.tip}
    )
    if made:
        app.out.line("Made a bundle in ", bold(bundle.root), ".")
        app.out.line(dim("Edit memories/MEMORY.md there and run `gitmem edit --commit`, then `gitmem log`."))
    else:
        app.out.line("There is a bundle in ", bold(bundle.root), " already; nothing was changed.")
