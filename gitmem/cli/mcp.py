"""`gitmem mcp`: serve a client of the Model Context Protocol, and put the server into a client's settings."""

from __future__ import annotations

import click

from gitmem.cli.context import App
from gitmem.cli.options import with_json
from gitmem.cli.output import bold, dim, green, yellow
from gitmem.hosts.mcp.clients import CLIENTS
from gitmem.hosts.mcp.clients import client as client_of

_CLIENT = click.Choice(list(CLIENTS))
_PROVIDER = "In Hermes the provider knows more than tools can: `gitmem hermes install`."


@click.group(invoke_without_command=True)
@click.option("--allow-undo", is_flag=True, help="Offer the model a tool that takes changes back.")
@click.option("--tools-only", is_flag=True, help="Offer no resources and no prompts.")
@click.option("--print-config", "wanted", type=_CLIENT, help="Print what belongs into a client's settings.")
@click.pass_context
def mcp(ctx: click.Context, allow_undo: bool, tools_only: bool, wanted: str | None) -> None:
    """Serve an agent over the Model Context Protocol, on standard input and output.

    A client starts this by itself, once its settings name it:

    \b
    gitmem mcp install codex            (or claude, cursor, opencode, hermes)
    gitmem mcp --print-config codex
    """
    app = ctx.find_object(App)
    assert app is not None
    if wanted is not None:
        _print_config(app, wanted, allow_undo=allow_undo)
    elif ctx.invoked_subcommand is None:
        from gitmem.hosts.mcp.server import serve

        ctx.exit(serve(app.chosen, allow_undo=allow_undo, tools_only=tools_only))


def _print_config(app: App, name: str, *, allow_undo: bool) -> None:
    from gitmem.hosts.mcp.clients import printed

    one = client_of(name)
    click.echo(f"# This goes into {one.path(app.world)}:", err=True)
    app.out.text(printed(one, _words(app, allow_undo)))


@mcp.command()
@click.argument("client", type=_CLIENT)
@click.option("--allow-undo", is_flag=True, help="Offer the model a tool that takes changes back.")
@click.option("--dry-run", is_flag=True, help="Print the file as it would be, and change nothing.")
@with_json
def install(app: App, client: str, allow_undo: bool, dry_run: bool) -> None:
    """Put gitmem into a client's settings; comments and order stay. Run again it changes nothing."""
    from gitmem.hosts.mcp.clients import installed

    one = client_of(client)
    edit = installed(one, app.world, _words(app, allow_undo))
    _tell(app, edit.path, edit.after, done="wrote", changes=edit.changes, dry_run=dry_run)
    if not dry_run:
        edit.save()
        app.out.line(dim(f"{one.title} starts it with its next session."))
    if client == "hermes":
        app.out.line(yellow(_PROVIDER))


@mcp.command()
@click.argument("client", type=_CLIENT)
@click.option("--dry-run", is_flag=True, help="Print the file as it would be, and change nothing.")
@with_json
def uninstall(app: App, client: str, dry_run: bool) -> None:
    """Take gitmem out of a client's settings. The memory stays."""
    from gitmem.hosts.mcp.clients import uninstalled

    edit = uninstalled(client_of(client), app.world)
    _tell(app, edit.path, edit.after, done="changed", changes=edit.changes, dry_run=dry_run)
    if not dry_run:
        edit.save()


def _words(app: App, allow_undo: bool) -> list[str]:
    """What starts the server, for the bundle that is meant here; an error where there is none."""
    from gitmem.hosts.mcp.clients import command
    from gitmem.memory.opening import find_root

    return command(app.world, find_root(app.world, app.chosen), allow_undo=allow_undo)


def _tell(app: App, path: str, text: str, *, done: str, changes: bool, dry_run: bool) -> None:
    app.out.json({"file": path, "changed": changes and not dry_run, "dry_run": dry_run, "content": text})
    if not changes:
        app.out.line(green("✓ "), f"{path} is as it should be")
    elif dry_run:
        app.out.line(bold(path), " would be:")
        app.out.text(text)
    else:
        app.out.line(green("✓ "), f"{done} {path}")
