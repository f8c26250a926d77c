"""`gitmem remember`, `replace`, `forget`, `facts`, `note`, `edit` and `commit`: what a person or an agent writes down."""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING, Any

import click

from gitmem.cli.context import App
from gitmem.cli.options import AS_OF, ORIGIN, TARGET, several_words, with_dates, with_json, with_options
from gitmem.cli.output import bold, red, yellow
from gitmem.errors import InvalidContent, UsageError

if TYPE_CHECKING:
    from gitmem.memory.curated.store import Target

_NEW = "---\ntype: Note\ntitle: {}\n---\n\n"
_MACHINE = click.option("--machine", is_flag=True, help="True on this machine only.")


@click.command()
@several_words("TEXT")
@with_options(TARGET, _MACHINE, *ORIGIN)
@with_json
def remember(app: App, text: str, target: Target | None, **known: Any) -> None:
    """Add a fact that every prompt carries. A fact that is there already changes nothing.

    What was taken back earlier comes back only when a person adds it at a terminal; else it is held.

    \b
    gitmem remember The server runs Debian 12
    gitmem remember --target user Prefers short answers
    """
    done = app.writing_bundle.remember(text, target=target or "memory", by_person=app.at_terminal, **known)
    app.show(done)


@click.command()
@click.argument("old", metavar="OLD|ID")
@click.argument("new")
@with_options(TARGET, _MACHINE, *ORIGIN)
@with_json
def replace(app: App, old: str, new: str, machine: bool, **known: Any) -> None:
    """Replace the one fact that contains OLD, or has that id, with NEW.

    \b
    gitmem replace "Debian 12" "The server runs Debian 13"
    """
    by_person = app.at_terminal
    app.show(app.writing_bundle.replace(old, new, machine=machine or None, by_person=by_person, **known))


@click.command()
@several_words("TEXT", metavar="TEXT|ID")
@with_options(TARGET, _MACHINE, *ORIGIN)
@with_json
def forget(app: App, text: str, machine: bool, **known: Any) -> None:
    """Remove the one fact that contains TEXT, or has that id, in whichever store it is. It stays in the history.

    \b
    gitmem forget Debian 12
    """
    app.show(app.writing_bundle.forget(text, machine=machine or None, **known))


@click.command()
@with_options(TARGET, AS_OF)
@click.option("--block", is_flag=True, help="Print the prompt block, byte for byte.")
@click.option("--stale", is_flag=True, help="Only facts that are older than three months.")
@click.option("--contradicting", is_flag=True, help="Only facts that two machines reworded differently.")
@click.option("--unconfirmed", is_flag=True, help="Only facts that a person has not confirmed.")
@click.option("--verbose", "-v", is_flag=True, help="With who wrote each, when and why.")
@with_dates
@with_json
def facts(app: App, target: Target | None, as_of: str, block: bool, verbose: bool, **only: bool) -> None:
    """List the facts of the curated store, oldest first, and how much of the prompt block they fill.

    \b
    gitmem facts
    gitmem facts --as-of yesterday
    gitmem facts --block
    """
    if block:
        from gitmem.memory.curated.prompt_block import freeze

        app.show(freeze(app.bundle, revision=as_of))
        return
    from gitmem.memory.facts import list_facts

    app.show(list_facts(app.bundle, target, as_of=as_of, origins=verbose, **only))


@click.command()
@click.argument("title")
@click.argument("text", nargs=-1, metavar="[TEXT... | -]")
@click.option("--tag", "tags", multiple=True, help="A tag; may be given several times.")
@with_options(*ORIGIN)
@with_json
def note(app: App, title: str, text: tuple[str, ...], tags: tuple[str, ...], **known: Any) -> None:
    """Write a note: a page of its own, found by a search, and not in every prompt.

    \b
    gitmem note "How we deploy" Tag, wait for CI, then run make release --tag deploy
    git log -5 | gitmem note "What changed last" -
    """
    from gitmem.memory.notes import write_note

    words = sys.stdin.read() if text == ("-",) else " ".join(text)
    bundle = app.writing_bundle
    known["session"] = bundle.session_named(known["session"])
    origin = bundle.origin(**known)
    path, commit = write_note(bundle, title, words, tags=tags, origin=origin, by_person=app.at_terminal)
    app.out.json({"path": path, "commit": commit})
    app.out.line(yellow(commit[:8]), " ", bold(path))


@click.command()
@click.argument("file", default="", metavar="[FILE]")
@click.option("-m", "--reason", default="", help="Why you change it; kept in the commit.")
@with_json
def edit(app: App, file: str, reason: str) -> None:
    """Edit a file of the memory with your editor ($VISUAL, $EDITOR), and commit it when it is saved.

    Without FILE it is memories/MEMORY.md. What cannot be part of a memory is refused before anything is written; at a
    terminal you may edit it again. A FILE that is not there begins as a note.

    \b
    gitmem edit
    gitmem edit notes/deploy.md
    """
    path, before = _to_edit(app, file)
    text: str | None = before
    while True:
        text = click.edit(text, extension=".md")
        if text is None or text == before:
            app.out.json({"path": path, "commit": None})
            app.out.line("Nothing was changed.")
            return
        try:
            commit = _committed(app, path, text, reason)
        except InvalidContent as error:
            if not app.at_terminal:
                raise
            app.out.line(red("! "), f"{error} {error.hint}".rstrip())
            if not click.confirm("Edit it again?", default=True):
                raise
        else:
            break
    app.out.json({"path": path, "commit": commit or None})
    if not commit:
        app.out.line("Nothing was committed.")
    elif not app.out.is_json:
        app.out.line(yellow(commit[:8]), " ", bold(path))
        app.tell_changes(app.bundle.show(commit).diff)


def _to_edit(app: App, file: str) -> tuple[str, str]:
    """The path that is meant, and its text."""
    from gitmem.okf import layout

    path = app.path(file) if file else layout.MEMORY
    bundle = app.writing_bundle
    if not path or layout.is_generated(path):
        raise UsageError(f"{file} is not edited: " + ("gitmem makes it." if path else "name a file."))
    found = bundle.repository.worktree.look(path)
    if found.problem or os.path.isdir(bundle.repository.worktree.path(path)):
        raise InvalidContent(f"{path} {found.problem or 'is a directory'}: it cannot be edited.")
    title = path.rpartition("/")[2].removesuffix(".md").replace("-", " ")
    try:
        return path, _NEW.format(title) if found.data is None else found.data.decode()
    except UnicodeDecodeError:
        raise InvalidContent(f"{path} is not UTF-8: it cannot be edited as text.") from None


def _committed(app: App, path: str, text: str, reason: str) -> str:
    from gitmem.memory.hand_edits import commit_text

    return commit_text(app.bundle, path, text.encode(), reason=reason)


@click.command()
@click.option("-m", "--reason", default="", help="Why you changed it; kept in the commit.")
@with_json
def commit(app: App, reason: str) -> None:
    """Commit what was edited outside of gitmem, all of it or nothing.

    The next write of gitmem commits hand edits anyway; this does it now, and with a reason.

    \b
    gitmem commit -m "the server moved"
    """
    from gitmem.notices import Notice

    bundle = app.bundle
    published = bundle.take_in_edits(strict=True, reason=reason)
    for one in published:
        if one.warning:
            bundle.report(Notice("work-tree-behind", detail=one.warning))
    made = [bundle.show(one.commit.oid) for one in published]
    app.out.json({"commits": [one.entry for one in made]})
    if not made:
        app.out.line("Nothing to commit: no file differs from the newest commit.")
    for shown in made if not app.out.is_json else ():
        app.out.line(yellow(shown.entry.id[:8]), " ", shown.entry.commit.subject)
        app.tell_changes(shown.diff)
