"""`gitmem index rebuild|verify`: the search index, made again or proved right."""

from __future__ import annotations

import os
import time

import click

from gitmem.cli.context import App
from gitmem.cli.options import with_json
from gitmem.cli.output import size
from gitmem.cli.progress import shown_while_building
from gitmem.errors import FoundSomething


@click.group()
def index() -> None:
    """The search index: made again from the history, or compared with it.

    \b
    gitmem index rebuild
    gitmem index verify
    """


@index.command()
@with_json
def rebuild(app: App) -> None:
    """Make the search index again from the history."""
    began = time.monotonic()
    with shown_while_building(app) as bundle:
        made = bundle.index.rebuild()
        entries, commits, tip = made.count_texts(), made.seq, made.tip
        weight = os.path.getsize(bundle.index.path)
    app.out.json({"commit": tip, "commit_count": commits, "entry_count": entries, "bytes": weight})
    took = time.monotonic() - began
    app.out.line(f"Indexed {entries:,} entries of {commits:,} commits in {took:.1f} s ({size(weight)}).")


@index.command()
@with_json
def verify(app: App) -> None:
    """Make the index again beside the one in use, and compare the two."""
    with shown_while_building(app) as bundle:
        told = bundle.index.verify()
    app.out.json({"identical": not told, "differences": told})
    if not told:
        app.out.line("The index says what the history says.")
    if told:
        raise FoundSomething(
            f"The index differs from the history. {' '.join(told)}", hint="Run `gitmem index rebuild`."
        )
