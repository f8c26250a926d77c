"""`gitmem contested`: entries that two machines reworded differently."""

from __future__ import annotations

import click

from gitmem.cli.context import App
from gitmem.cli.options import with_dates, with_json
from gitmem.cli.output import bold, dim, yellow


@click.group()
def contested() -> None:
    """Entries that two machines reworded differently: both are kept, the prompt shows the newer."""


@contested.command("list")
@with_dates
@with_json
def list_contested(app: App) -> None:
    """List entries that replace the same one."""
    from gitmem.memory.curated.contests import contested as find

    found = find(app.bundle)
    app.out.json({"contested": found})
    for one in found:
        app.out.line(bold(one.path), dim(f"  {one.replaced[:8]}"))
        for entry in one.entries:
            app.out.line("  ", dim(f"{entry.key.id[:8]} {app.moment(entry.at)} "), entry.text)
    if not found:
        app.out.line("Nothing is contested.")


@contested.command("resolve")
@click.argument("which")
@click.argument("text")
@click.option("--reason", default="", help="Why; kept in the commit.")
@with_json
def resolve(app: App, which: str, text: str, reason: str) -> None:
    """Settle a contest: all its entries go, TEXT takes their place. WHICH is the hash that `list` shows."""
    from gitmem.memory.curated.contests import resolve as settle

    bundle = app.writing_bundle
    done = settle(bundle, which, text, origin=bundle.origin(reason=reason))
    app.out.json({"commit": done.commit or bundle.tip, "held": list(done.held)})
    app.refuse_held(done.held)
    app.out.line(yellow((done.commit or bundle.tip)[:8]), " settled")
