"""`gitmem memory`: the curated store."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

import click

from gitmem.cli.context import App
from gitmem.cli.options import json_option, pass_app
from gitmem.cli.output import bold, count, dim, yellow

if TYPE_CHECKING:
    from gitmem.memory.curated.store import Answer, Target
    from gitmem.memory.provenance import Origin


@click.group()
def memory() -> None:
    """The curated store: a few facts that stand in every prompt.

    \b
    gitmem memory add "The server runs Debian 12" --reason "seen in /etc/os-release"
    gitmem memory replace "Debian 12" "The server runs Debian 13"
    gitmem memory remove "Debian"
    gitmem memory list
    """


def _writing(command: Any) -> Any:
    """The options of everything that changes the store."""
    for option in (
        click.option(
            "--target", type=click.Choice(["memory", "user"]), default="memory", help="Which store."
        ),
        click.option("--machine", is_flag=True, help="True on this machine only."),
        click.option("--reason", default="", help="Why; kept in the commit."),
        click.option("--source", default="", help="Where it comes from: a URL, a tool, a person."),
        click.option(
            "--derived-from", multiple=True, metavar="HASH", help="An entry that this follows from."
        ),
        click.option("--session", default="", help="The session it belongs to."),
        json_option,
        pass_app,
    ):
        command = option(command)
    return command


@memory.command()
@click.argument("text")
@_writing
def add(app: App, text: str, target: Target, machine: bool, as_json: bool, **where: Any) -> None:
    """Add an entry. One that is there already changes nothing.

    What was taken back earlier comes back only when a person adds it at a terminal; else it is held.
    """
    store = app.writing_bundle.curated
    origin, by_person = _origin(app, where), sys.stdin.isatty()
    _tell(app, store.add(text, target=target, machine=machine, origin=origin, by_person=by_person), as_json)


@memory.command()
@click.argument("old")
@click.argument("new")
@_writing
def replace(app: App, old: str, new: str, target: Target, machine: bool, as_json: bool, **where: Any) -> None:
    """Replace the entry that contains OLD by NEW."""
    store = app.writing_bundle.curated
    origin, by_person = _origin(app, where), sys.stdin.isatty()
    answer = store.replace(old, new, target=target, machine=machine, origin=origin, by_person=by_person)
    _tell(app, answer, as_json)


@memory.command()
@click.argument("old")
@_writing
def remove(app: App, old: str, target: Target, machine: bool, as_json: bool, **where: Any) -> None:
    """Remove the entry that contains OLD. It stays in the history."""
    store = app.writing_bundle.curated
    _tell(app, store.remove(old, target=target, machine=machine, origin=_origin(app, where)), as_json)


@memory.command("list")
@click.option("--target", type=click.Choice(["memory", "user"]), help="Only one store.")
@click.option(
    "--as-of", metavar="REV", default="HEAD", help="As it was at a commit, snapshot, date or session."
)
@click.option("--verbose", "-v", is_flag=True, help="With age and origin.")
@json_option
@pass_app
def list_(app: App, target: Target | None, as_of: str, verbose: bool, as_json: bool) -> None:
    """List the entries, oldest first."""
    from gitmem.memory.curated.store import TARGETS
    from gitmem.memory.history.blame import blame_of

    bundle = app.bundle
    result: dict[str, object] = {}
    for one in (target,) if target else TARGETS:
        entries = bundle.curated.entries(one, revision=as_of)
        usage, limit = (
            sum(len(e.text) for e in entries) + 3 * max(0, len(entries) - 1),
            bundle.curated.limit(one),
        )
        blamed = blame_of(bundle, bundle.curated.path(one), revision=as_of) if verbose else {}
        result[one] = {
            "usage": usage,
            "limit": limit,
            "entries": [
                {"hash": e.key.id, "at": e.at, "replaces": e.replaces or None, "text": e.text}
                | ({"origin": blamed[e.key].as_json()} if e.key in blamed else {})
                for e in entries
            ],
        }
        if as_json:
            continue
        app.out.line(
            bold(f"{one}: {count(len(entries), 'entry', 'entries')}, {usage:,} of {limit:,} characters")
        )
        for e in entries:
            app.out.line(dim(f"  {e.key.id[:8]} {e.at[:10]} "), e.text)
            if e.key in blamed:
                app.out.line(dim(f"           {blamed[e.key].sentence()}"))
    if as_json:
        app.out.json(result)


@memory.command()
@click.option(
    "--as-of", metavar="REV", default="HEAD", help="As it was at a commit, snapshot, date or session."
)
@click.option("--machine", metavar="NAME", help="As another machine has it.")
@json_option
@pass_app
def block(app: App, as_of: str, machine: str | None, as_json: bool) -> None:
    """Print the prompt block, byte for byte what a session that begins now would see."""
    from gitmem.memory.curated.prompt_block import freeze

    frozen = freeze(app.bundle, revision=as_of, machine=machine)
    if as_json:
        app.out.json({"commit": frozen.commit, "hash": frozen.hash, "text": frozen.text})
    elif frozen.text:
        app.out.text(frozen.text)
        app.out.line()


@memory.command()
@click.option("--dry-run", is_flag=True, help="Only say what would change.")
@json_option
@pass_app
def undo(app: App, dry_run: bool, as_json: bool) -> None:
    """Take the last change of the store back."""
    from gitmem.cli.undo import tell_reverted

    bundle = app.writing_bundle
    done = bundle.undo.undo(origin=bundle.origin(), dry_run=dry_run, kinds=("memory",))
    tell_reverted(app, done, as_json=as_json, dry_run=dry_run)


def _origin(app: App, where: dict[str, Any]) -> Origin:
    bundle = app.bundle
    session = where["session"] or app.session or bundle.sessions.open_id()
    derived = tuple(where["derived_from"])
    return bundle.origin(
        session=session, reason=where["reason"], source=where["source"], derived_from=derived
    )


def _tell(app: App, answer: Answer, as_json: bool) -> None:
    if as_json:
        app.out.json(
            {
                "success": True,
                "changed": answer.changed,
                "held": bool(answer.held),
                "quarantine": list(answer.held),
                "target": answer.target,
                "message": answer.message,
                "usage": answer.usage,
                "limit": answer.limit,
                "percent": answer.percent,
                "entry_count": answer.count,
                "note": answer.note or None,
                "suggestion": answer.suggestion or None,
                "commit": answer.commit or None,
            }
        )
        return
    app.out.line(answer.message)
    usage = f"{answer.percent}% — {answer.usage:,}/{answer.limit:,} chars"
    app.out.line(dim(f"{answer.target}: {usage}, {count(answer.count, 'entry', 'entries')}"))
    if answer.note:
        app.out.line(yellow(answer.note))
    if answer.suggestion:
        app.out.line(yellow(answer.suggestion))
