"""`gitmem import`, `export` and `erase`: a memory from other programs, for them, and out of the history."""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING

import click

from gitmem.cli.app import App
from gitmem.cli.options import REASON, YES, command, flag
from gitmem.cli.terminal import count, stages
from gitmem.errors import FoundSomething, UsageError
from gitmem.locate import holds_files

if TYPE_CHECKING:
    from gitmem.memory.erase.eraser import Erased
    from gitmem.memory.exchange.importing import Imported

_FORMATS = ("okf", "markdown", "jsonl", "agents-md")
_PLACES = {"agents-md": "AGENTS.md", "markdown": "memory.md", "jsonl": "memory.jsonl"}


@command(
    click.argument("where", default="", metavar="[PATH]"),
    click.option("--format", "form", type=click.Choice(_FORMATS), help="What to write; else PATH says it."),
    flag("--overwrite", help="Write over files that are there."),
)
def export(app: App, where: str, form: str | None, overwrite: bool) -> None:
    """Write the memory for other programs and people; nothing in the memory is changed.

    okf: a clean tree without history, in a directory. markdown: one document (.md). jsonl: every entry with where it
    came from (.jsonl). agents-md: the confirmed facts between markers in AGENTS.md or CLAUDE.md, nothing else there is
    touched. With its history a memory goes into a file by `gitmem sync --to FILE`.

    \b
    gitmem export memory.jsonl
    gitmem export ~/project/AGENTS.md
    gitmem export --format markdown notes.txt
    """
    place = where or _PLACES.get(form or "", "")
    if not place:
        raise UsageError("Say where: `gitmem export memory.jsonl`, or a directory.")
    form = form or _form_of(place, beside="okf")
    full = app.world.path(place)
    if os.path.realpath(full).startswith(os.path.join(os.path.realpath(app.repository.root), "")):
        raise UsageError("An export belongs outside the memory: it would become a part of it.")
    app.show(app.whole_bundle.export(form, full, overwrite=overwrite), place=place)


def _form_of(path: str, *, beside: str) -> str:
    """The format that the name of a file says; `beside` where it says none."""
    name = os.path.basename(path).casefold()
    if name in ("agents.md", "claude.md") and beside == "okf":
        return "agents-md"
    ending = os.path.splitext(name)[1]
    return {".jsonl": "jsonl", ".md": "markdown", ".db": "holographic"}.get(ending, beside)


_IMPORTS = ("hermes", "holographic", "okf", "openclaw", "markdown", "jsonl")


@command(
    click.argument("form", metavar="[FORMAT]"),
    click.argument("where", default="", metavar="PATH"),
    click.option(
        "--since", default="", metavar="DATE", help="Only sessions of Hermes that began since then."
    ),
    flag("--sessions", help="Only the sessions of Hermes."),
    flag("--dry-run", help="Only count what would be imported."),
    YES,
    name="import",
)
def import_(app: App, form: str, where: str, since: str, sessions: bool, dry_run: bool, yes: bool) -> None:
    """Import what another program kept, through the same gate as everything; `gitmem undo` takes it back whole.

    FORMAT is hermes (memories, sessions of state.db, skills), holographic (its memory_store.db), okf (a memory),
    openclaw, markdown (a file, a folder, a vault) or jsonl; without it PATH says it, and a folder is markdown, or a
    memory. A file MEMORY.md or USER.md is taken for facts, in a folder for a note. A second run brings only what is new.

    \b
    gitmem import hermes --dry-run
    gitmem import ~/vault
    gitmem import memory.jsonl
    """
    if form not in _IMPORTS:
        form, where = _guessed(app, form, where), form
    if not where and form not in ("hermes", "holographic"):
        raise UsageError(f"Say where it is: `gitmem import {form} PATH`.")
    place = app.world.path(where or app.world.hermes_home)
    bundle = app.bundle if dry_run else app.whole_bundle
    if not dry_run and not yes and sys.stdin.isatty() and not app.out.is_json:
        app.tell(bundle.bring_in(form, place, since=since, sessions=sessions, dry_run=True))
        click.confirm("Import it?", default=True, abort=True)
    with stages() as stage:

        def show(now: Imported) -> None:
            if stage is not None:
                entries = count(now.entries, "entry", "entries")
                stage(f"{count(now.commits, 'commit')}, {count(now.events, 'event')}, {entries}")

        done = bundle.bring_in(form, place, since=since, sessions=sessions, dry_run=dry_run, progress=show)
    app.out.json(done)
    app.tell(done)
    if done.unread:
        click.get_current_context().exit(1)
    if done.held and not dry_run:  # the answer names it; the rest is imported
        click.get_current_context().exit(FoundSomething.exit_code)


def _guessed(app: App, path: str, more: str) -> str:
    """The format of what is at a path."""
    full = app.world.path(path)
    if more or not os.path.exists(full):
        raise UsageError(f"There is no format and no file {path!r}.", hint=f"Formats: {', '.join(_IMPORTS)}.")
    if os.path.isdir(full):
        return "okf" if holds_files(full) else "markdown"
    return _form_of(path, beside="markdown")


# --- erase -----------------------------------------------------------------------------------------------

_ERASABLE = ("text", "regex", "secret", "path", "person")


@command(
    click.argument("name", default="", metavar="[ID]"),
    click.option(
        "--text", help="Whole words, wherever they are; `-` reads them from standard input or asks."
    ),
    click.option("--regex", help="Whatever a regular expression matches, for those who know it."),
    click.option(
        "--secret", metavar="COMMIT:PATH", help="The secrets in a file, as a refused sync names it."
    ),
    click.option("--path", help="A file or directory of the memory."),
    click.option("--person", metavar="NAME,…", help="Entries, events and pages that name a person."),
    REASON,
    flag("--dry-run", help="Only say what holds it and what would be rewritten."),
    YES,
)
def erase(app: App, name: str, reason: str, dry_run: bool, yes: bool, **typed: str | None) -> None:
    """Erase something for good: from the memory, from every commit and snapshot, and from what lies beside them.

    The commits that hold it, and all later ones, are rewritten: their words and their order stay, their ids do
    not. A receipt without the content stays in config/erased.md, and the old history is refused. There is no undo.

    \b
    gitmem erase --text - --dry-run
    gitmem erase --path decisions/hire-anna_2026-06-30.md --reason "asked to be forgotten"
    gitmem erase telegram-4711
    """
    given = {what: typed[what] or "" for what in _ERASABLE} | (_named(app, name) if name else {})
    given["text"] = _asked_for() if given["text"] == "-" else given["text"]
    given["path"] = app.path(given["path"]) if given["path"] else ""
    if sum(map(bool, given.values())) != 1:
        raise UsageError(f"Say what to erase: an id, or one of --{', --'.join(_ERASABLE)}.")
    if given["text"] and given["text"].casefold() in reason.casefold():
        raise UsageError("The reason holds the text: it stays in the receipt, so leave it out there.")
    if not dry_run:
        app.need_a_person("erases something for good", script=True)
    bundle = app.bundle if dry_run else app.whole_bundle
    if not dry_run:
        bundle.take_in_edits(strict=True)  # a file that is not committed would keep the text

    def run(*, dry_run: bool) -> Erased:
        with stages() as progress:
            return bundle.erase(**given, reason=reason, dry_run=dry_run, progress=progress)

    if not dry_run and not yes:
        if app.out.is_json or not sys.stdin.isatty():
            raise UsageError("This cannot be undone: say --yes, or look with --dry-run first.")
        app.tell(run(dry_run=True), asks=True)
        click.confirm("Erase it for good? There is no undo", abort=True)
    app.show(run(dry_run=dry_run))


def _named(app: App, name: str) -> dict[str, str]:
    """The thing to erase, by its id: a session, an entry or event, the text of a pending item."""
    from gitmem.memory.printed_ids import ShownSession, meant, whole_id
    from gitmem.memory.review import Item

    found = meant(app.bundle, name)
    if isinstance(found, ShownSession):
        return {"session": name}
    if isinstance(found, Item):
        return {"text": found.text}
    return {"entry": whole_id(app.bundle, name)}


def _asked_for() -> str:
    """A text that is in no shell history."""
    if sys.stdin.isatty():
        return str(click.prompt("Text to erase", hide_input=True))
    return sys.stdin.read().strip()
