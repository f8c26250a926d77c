"""`gitmem links` and `backlinks`: the files of a bundle as a graph."""

from __future__ import annotations

import click

from gitmem.cli.context import App
from gitmem.cli.options import with_json
from gitmem.cli.output import cyan, dim, red
from gitmem.cli.progress import shown_while_building


@click.command()
@click.argument("path")
@click.option("--steps", type=click.IntRange(1, 5), default=1, show_default=True, help="Follow links so far.")
@with_json
def links(app: App, path: str, steps: int) -> None:
    """Show where the links of a file lead; with more steps, what is near it in either direction.

    \b
    gitmem links decisions/use-postgres_2026-06-30.md
    gitmem links notes/setup.md --steps 2
    """
    from gitmem.memory.find.links import Links

    where = _existing(app, path)
    with shown_while_building(app) as bundle:
        graph = Links(bundle)
        edges = graph.of(where)
        near = graph.neighbours(where, steps=steps) if steps > 1 else {}
    rows = [{"path": edge.target, "exists": edge.exists} for edge in edges]
    app.out.json({"links": rows, "neighbours": near})
    for edge in edges:
        app.out.line(cyan(edge.target), "" if edge.exists else red("  (nothing there)"))
    for other, distance in near.items():
        if distance > 1:
            app.out.line(cyan(other), dim(f"  {distance} steps"))
    if not edges and not near:
        app.out.line("No link of that file leads to another in the bundle.")


@click.command()
@click.argument("path")
@with_json
def backlinks(app: App, path: str) -> None:
    """Show which files link to a file.

    \b
    gitmem backlinks decisions/use-postgres_2026-06-30.md
    """
    from gitmem.memory.find.links import Links

    where = app.path(path)
    with shown_while_building(app) as bundle:
        edges = Links(bundle).to(where)
    if not edges:
        _existing(app, path)
    app.out.json({"backlinks": [edge.source for edge in edges]})
    for edge in edges:
        app.out.line(cyan(edge.source))
    if not edges:
        app.out.line("No file links to it.")


def _existing(app: App, path: str) -> str:
    """The path of a file that is there, or was."""
    from gitmem.memory.history.named import check_path

    where = app.path(path)
    check_path(app.bundle, where, directory=False)
    return where
