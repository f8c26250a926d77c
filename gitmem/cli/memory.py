"""`gitmem memory`: the curated store."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

import click

from gitmem.cli.context import App
from gitmem.cli.held import refuse_held
from gitmem.cli.options import with_dates, with_json
from gitmem.cli.output import AGE, bold, count, dim, padded, yellow

if TYPE_CHECKING:
    from gitmem.memory.curated.store import Answer, Target
    from gitmem.memory.history.blame import Blamed
    from gitmem.okf.entries import Entry


@click.group()
def memory() -> None:
    """The curated store: a few facts that are in every prompt.

    \b
    gitmem memory add "The server runs Debian 12" --reason "seen in /etc/os-release"
    gitmem memory replace "Debian 12" "The server runs Debian 13"
    gitmem memory remove "Debian"
    gitmem memory list
    """


def where_from(command: Any) -> Any:
    """The options that say why something is written, and where it comes from."""
    for option in (
        click.option("--session", default="", help="The session it belongs to."),
        click.option(
            "--derived-from",
            multiple=True,
            metavar="NAME",
            help="What this follows from: an entry's hash, a file, a commit or a session.",
        ),
        click.option("--source", default="", help="Where it comes from: a URL, a tool, a person."),
        click.option("--reason", default="", help="Why; kept in the commit."),
    ):
        command = option(command)
    return command


def _writing(command: Any) -> Any:
    """The options of everything that changes the store."""
    for option in (
        with_json,
        where_from,
        click.option("--machine", is_flag=True, help="True on this machine only."),
        click.option(
            "--target", type=click.Choice(["memory", "user"]), default="memory", help="Which store."
        ),
    ):
        command = option(command)
    return command


@memory.command()
@click.argument("text")
@_writing
def add(app: App, text: str, target: Target, machine: bool, **where: Any) -> None:
    """Add an entry. One that is there already changes nothing.

    What was taken back earlier comes back only when a person adds it at a terminal; else it is held.
    """
    by_person = sys.stdin.isatty()
    answer = app.writing_bundle.remember(text, target=target, machine=machine, by_person=by_person, **where)
    tell_answer(app, answer)


@memory.command()
@click.argument("old")
@click.argument("new")
@_writing
def replace(app: App, old: str, new: str, target: Target, machine: bool, **where: Any) -> None:
    """Replace the entry that contains OLD by NEW."""
    by_person = sys.stdin.isatty()
    answer = app.writing_bundle.replace(
        old, new, target=target, machine=machine, by_person=by_person, **where
    )
    tell_answer(app, answer)


@memory.command()
@click.argument("old")
@_writing
def remove(app: App, old: str, target: Target, machine: bool, **where: Any) -> None:
    """Remove the entry that contains OLD. It stays in the history."""
    tell_answer(app, app.writing_bundle.forget(old, target=target, machine=machine, **where))


@memory.command("list")
@click.option("--target", type=click.Choice(["memory", "user"]), help="Only one store.")
@click.option(
    "--as-of", metavar="REV", default="HEAD", help="As it was at a commit, snapshot, date or session."
)
@click.option("--verbose", "-v", is_flag=True, help="With age and origin.")
@with_dates
@with_json
def list_(app: App, target: Target | None, as_of: str, verbose: bool) -> None:
    """List the entries, oldest first."""
    from gitmem.cli.show_origins import blame_line
    from gitmem.memory.curated.store import TARGETS

    bundle = app.bundle
    result: dict[str, object] = {}
    for one in (target,) if target else TARGETS:
        entries = bundle.curated.entries(one, revision=as_of)
        usage, limit = (
            sum(len(e.text) for e in entries) + 3 * max(0, len(entries) - 1),
            bundle.curated.limit(one),
        )
        stories = bundle.blame(bundle.curated.path(one), as_of=as_of) if verbose else []
        blamed = {story.entry.key: story for story in stories}
        listed = [_entry(e, blamed.get(e.key)) for e in entries]
        result[one] = {"usage": usage, "limit": limit, "entries": listed}
        app.out.line(
            bold(f"{one}: {count(len(entries), 'entry', 'entries')}, {usage:,} of {limit:,} characters")
        )
        for e in entries:
            lead = f"  {e.key.id[:8]} {padded(app.day(e.at), AGE if app.ages else 0)}  "
            app.out.block(dim(lead), e.text, indent=" " * len(lead))
            if e.key in blamed:
                app.out.block(" " * 11, dim(blame_line(blamed[e.key], app.date)), indent=" " * 13)
    app.out.json(result)


def _entry(entry: Entry, blamed: Blamed | None) -> dict[str, object]:
    known: dict[str, object] = {
        "id": entry.key.id,
        "at": entry.at or None,
        "replaces": entry.replaces or None,
        "text": entry.text,
    }
    return {**known, "blame": blamed} if blamed else known


@memory.command()
@click.option(
    "--as-of", metavar="REV", default="HEAD", help="As it was at a commit, snapshot, date or session."
)
@with_json
def block(app: App, as_of: str) -> None:
    """Print the prompt block, byte for byte what a session that begins now would see."""
    from gitmem.memory.curated.prompt_block import freeze

    frozen = freeze(app.bundle, revision=as_of)
    app.out.json(frozen)
    if frozen.text:
        app.out.text(frozen.text)
        app.out.line()


def tell_answer(app: App, answer: Answer) -> None:
    """What a change of the store did; exit code 3 where it is held."""
    app.out.json(answer)
    if answer.changed or not answer.held:
        app.out.line(answer.message)
    usage = f"{answer.percent}% — {answer.usage:,}/{answer.limit:,} chars"
    app.out.line(dim(f"{answer.target}: {usage}, {count(answer.count, 'entry', 'entries')}"))
    if answer.note:
        app.out.line(yellow(answer.note))
    if answer.suggestion:
        app.out.line(yellow(answer.suggestion))
    refuse_held(app.bundle, answer.held)
