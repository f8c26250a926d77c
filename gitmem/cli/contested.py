"""`gitmem contested`: entries that two machines reworded differently."""

from __future__ import annotations

import click

from gitmem.cli.context import App
from gitmem.cli.options import json_option, pass_app
from gitmem.cli.output import bold, dim, yellow
from gitmem.json_shapes import contest_json


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
        app.out.json({"contested": [contest_json(one) for one in found]})
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
