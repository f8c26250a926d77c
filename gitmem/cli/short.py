"""Short ways in: `gitmem remember`, `forget`, `why`, `edit` and `note`."""

from __future__ import annotations

import os
import sys
from typing import Any

import click

from gitmem.cli.context import App
from gitmem.cli.history import trace
from gitmem.cli.memory import add, tell_answer, where_from
from gitmem.cli.options import with_json
from gitmem.cli.output import bold, red, yellow
from gitmem.errors import InvalidContent, UsageError

_NEW = "---\ntype: Note\ntitle: {}\n---\n\n"

remember = click.Command(
    "remember",
    callback=add.callback,
    params=add.params,
    help="""Add a fact to the curated store, which is in every prompt: short for `gitmem memory add`.

    \b
    gitmem remember "The server runs Debian 12"
    gitmem remember --target user "Prefers short answers"
    """,
)

why = click.Command(
    "why",
    callback=trace.callback,
    params=trace.params,
    help="""Say where a text or an entry came from, and what it may have touched: short for `gitmem trace`.

    \b
    gitmem why "Debian 12"
    """,
)


@click.command()
@click.argument("text", metavar="TEXT|ID")
@click.option("--target", type=click.Choice(["memory", "user"]), help="Only in one store.")
@click.option("--machine", is_flag=True, help="Only what is true on this machine alone.")
@where_from
@with_json
def forget(app: App, text: str, target: Any, machine: bool, **where: Any) -> None:
    """Remove the one fact that contains TEXT, in whichever store it is. It stays in the history.

    \b
    gitmem forget "Debian 12"
    """
    tell_answer(app, app.writing_bundle.forget(text, target=target, machine=machine or None, **where))


@click.command()
@click.argument("title")
@click.argument("text", default="", metavar="[TEXT]")
@click.option("--tag", "tags", multiple=True, help="A tag; may be given several times.")
@click.option("--stdin", "from_stdin", is_flag=True, help="Read the text from standard input.")
@where_from
@with_json
def note(app: App, title: str, text: str, tags: tuple[str, ...], from_stdin: bool, **where: Any) -> None:
    """Write a note: a page of its own, found by a search, and not in every prompt.

    \b
    gitmem note "How we deploy" "Tag, wait for CI, then run make release." --tag deploy
    git log -5 | gitmem note "What changed last" --stdin
    """
    from gitmem.memory.notes import write_note

    if from_stdin:
        text = sys.stdin.read()
    bundle = app.writing_bundle
    where["session"] = bundle.session_named(where["session"])
    origin = bundle.origin(**where)
    path, commit = write_note(bundle, title, text, tags=tags, origin=origin, by_person=sys.stdin.isatty())
    app.out.json({"path": path, "commit": commit})
    app.out.line(yellow(commit[:8]), " ", bold(path))


@click.command()
@click.argument("file", default="", metavar="[FILE]")
@click.option("--reason", default="", help="Why you change it; kept in the commit.")
@with_json
def edit(app: App, file: str, reason: str) -> None:
    """Edit a file of the bundle with your editor ($VISUAL, $EDITOR), and commit it when it is saved.

    Without FILE it is memories/MEMORY.md. What cannot be part of a bundle is refused before anything is written; at a
    terminal you may edit it again. A FILE that is not there begins as a note.

    \b
    gitmem edit
    gitmem edit notes/deploy.md
    """
    from gitmem.cli import show_changes as told
    from gitmem.memory.hand_edits import commit_text
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
        before = _NEW.format(title) if found.data is None else found.data.decode()
    except UnicodeDecodeError:
        raise InvalidContent(f"{path} is not UTF-8: it cannot be edited as text.") from None
    text: str | None = before
    while True:
        text = click.edit(text, extension=".md")
        if text is None or text == before:
            app.out.json({"path": path, "commit": None})
            app.out.line("Nothing was changed.")
            return
        try:
            commit = commit_text(bundle, path, text.encode(), reason=reason)
        except InvalidContent as error:
            if not sys.stdin.isatty():
                raise
            app.out.line(red("! "), f"{error} {error.hint}".rstrip())
            if not click.confirm("Edit it again?", default=True):
                raise
        else:
            break
    app.out.json({"path": path, "commit": commit or None})
    if not commit:
        app.out.line("Nothing was committed.")
        return
    app.out.line(yellow(commit[:8]), " ", bold(path))
    if not app.out.is_json:
        told.tell(app.out, bundle.show(commit).diff)
