"""`gitmem merge-driver`: the merge of entries for people who use plain `git pull`."""

from __future__ import annotations

import os

import click

from gitmem.cli.context import App
from gitmem.cli.options import pass_app
from gitmem.errors import GitMemError
from gitmem.files import write_new
from gitmem.permissions import make_directories


@click.command("merge-driver")
@click.argument("base")
@click.argument("ours")
@click.argument("theirs")
@click.argument("path")
@pass_app
def merge_driver(app: App, base: str, ours: str, theirs: str, path: str) -> None:
    """Merge one file of a bundle; git calls this, with the result left in OURS.

    It never leaves a conflict: where two sides rewrote one text, the other version is kept beside the file.

    \b
    gitmem merge-driver %O %A %B %P
    """
    from gitmem.git.setup import open_repository
    from gitmem.memory.sync.merge import merge_versions

    files = [app.world.path(name) for name in (base, ours, theirs)]
    try:
        merged = merge_versions(
            open_repository(app.world.cwd, app.world), path, *(_read(name) for name in files)
        )
        for name, data in merged.beside.items():
            _write(os.path.join(app.world.cwd, *name.split("/")), data)
        _write(files[1], merged.data or b"")
    except OSError as error:
        raise GitMemError(f"{path} could not be merged ({error.strerror}): git will ask you to.") from error


def _read(name: str) -> bytes | None:
    """A version that git hands over; an empty file stands for none."""
    with open(name, "rb") as file:
        return file.read() or None


def _write(name: str, data: bytes) -> None:
    make_directories(os.path.dirname(name))
    write_new(name, data)
