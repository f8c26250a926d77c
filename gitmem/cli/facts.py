"""`gitmem remember`, `replace`, `forget`, `facts`, `note`, `edit` and `commit`: what a person or an agent writes down."""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING, Any

import click

from gitmem.cli.app import App
from gitmem.cli.options import AS_OF, ORIGIN, REASON, TARGET, command, flag, several_words
from gitmem.cli.terminal import bold, dim, red, yellow
from gitmem.errors import InvalidContent, UsageError

if TYPE_CHECKING:
    from gitmem.memory.curated.store import Target

_NEW = "---\ntype: Note\ntitle: {}\n---\n\n"
_NONE = {
    "stale": "No fact is older than three months.",
    "contradicting": "No two facts contradict or repeat each other.",
    "unconfirmed": "Every fact is confirmed.",
}
_STORE = (TARGET, flag("--machine", help="True on this machine only."), *ORIGIN)


@command(several_words("TEXT"), *_STORE)
def remember(app: App, text: str, target: Target | None, **known: Any) -> None:
    """Add a fact that every prompt carries. A fact that is there already changes nothing.

    What was taken back earlier returns only when a person adds it at a terminal; else it is held.

    \b
    gitmem remember The server runs Debian 12
    gitmem remember --target user Prefers short answers
    """
    from gitmem.memory.facts import removed_earlier

    done = app.writing_bundle.remember(text, target=target or "memory", by_person=app.is_person, **known)
    app.show(done, removed=removed_earlier(app.bundle, text) if done.commit else None)


@command(click.argument("old", metavar="OLD|ID"), click.argument("new"), *_STORE)
def replace(app: App, old: str, new: str, machine: bool, **known: Any) -> None:
    """Replace the one fact that contains OLD, or has that id, with NEW.

    \b
    gitmem replace "Debian 12" "The server runs Debian 13"
    """
    by_person = app.is_person
    _show_whole(app, old)
    app.show(app.writing_bundle.replace(old, new, machine=machine or None, by_person=by_person, **known))


@command(several_words("TEXT", metavar="TEXT|ID"), *_STORE)
def forget(app: App, text: str, machine: bool, **known: Any) -> None:
    """Remove the one fact that contains TEXT, or has that id, in whichever store it is. It stays in the history.

    \b
    gitmem forget Debian 12
    """
    _show_whole(app, text)
    app.show(app.writing_bundle.forget(text, machine=machine or None, **known))


def _show_whole(app: App, part: str) -> None:
    """At a terminal, show the whole entry that a part of it names, before it changes."""
    if app.is_person:
        *_, entry = app.writing_bundle.curated.find(part)
        if entry.text != part:
            app.out.block(dim(f"{entry.key.id[:8]}: {entry.text}"), indent="  ")


@command(
    TARGET,
    AS_OF,
    flag("--block", help="Print the prompt block, byte for byte."),
    flag("--stale", help="Only facts that are older than three months."),
    flag(
        "--contradicting",
        help="Only facts that two machines reworded differently, or that nearly say the same.",
    ),
    flag("--unconfirmed", help="Only facts that a person has not confirmed."),
    click.option(
        "--pin", metavar="ID", help="Keep a fact in every prompt; pins take half of the block at most."
    ),
    click.option("--unpin", metavar="ID", help="Leave it to the rule of the block again."),
)
def facts(
    app: App,
    target: Target | None,
    as_of: str,
    block: bool,
    pin: str | None,
    unpin: str | None,
    **only: bool,
) -> None:
    """List the facts of the curated store, oldest first, and how much of the prompt block they fill.

    A block that cannot hold all of them has the pinned ones first, in half of it at most; then confirmed before
    unconfirmed, yours before those of agents, the newest first, and of one session five at most until you have looked
    at them here, in `gitmem digest` or in `gitmem review`. The rest is found by search.

    \b
    gitmem facts --block --as-of yesterday
    gitmem facts --pin 3f2a9c1e
    """
    if pin or unpin:
        from gitmem.memory import facts as listed

        app.need_a_person("pins facts")
        by = app.world.person or "human"
        entry = listed.pin(app.writing_bundle, pin or unpin or "", by=by if pin else "")
        done = "Pinned" if pin else "No longer pinned"
        app.answer({"id": entry.key.id, "pinned": bool(pin)}, f"{done} {entry.key.id[:8]}: {entry.text}")
        return
    if block:
        from gitmem.memory.curated.prompt_block import freeze

        app.show(freeze(app.bundle, revision=as_of or "HEAD"))
        return
    from gitmem.memory.facts import list_facts

    if not as_of:
        app.take_in_edits()
    wanted = [sentence for name, sentence in _NONE.items() if only[name]]
    found = list_facts(app.bundle, target, as_of=as_of or "HEAD", **only)
    app.show(found, nothing=wanted[0] if len(wanted) == 1 else "No fact fits." if wanted else "")
    if not as_of:
        app.tell_hand_edits("memories/")


@command(
    click.argument("title"),
    click.argument("text", nargs=-1, metavar="[TEXT... | -]"),
    click.option("--tag", "tags", multiple=True, help="A tag; may be given several times."),
    *ORIGIN,
)
def note(app: App, title: str, text: tuple[str, ...], tags: tuple[str, ...], **known: Any) -> None:
    """Write a note: a page of its own, found by a search, and not in every prompt.

    \b
    gitmem note "How we deploy" Tag, wait for CI, then run make release --tag deploy
    git log -5 | gitmem note "What changed last" -
    """
    from gitmem.memory.pages import write_note

    words = sys.stdin.read() if text == ("-",) else " ".join(text)
    bundle = app.writing_bundle
    known["session"] = bundle.session_named(known["session"])
    origin = bundle.origin(**known)
    path, commit = write_note(bundle, title, words, tags=tags, origin=origin, by_person=app.is_person)
    app.answer({"path": path, "commit": commit}, "Wrote ", bold(path), dim(f"  ({commit[:8]})"))


@command(click.argument("file", default="", metavar="[FILE]"), REASON)
def edit(app: App, file: str, reason: str) -> None:
    """Edit a file of the memory with your editor, and commit it when it is saved.

    The editor is $VISUAL or $EDITOR; without FILE it edits memories/MEMORY.md. What cannot be part of a memory is
    refused before anything is written; at a terminal you may edit it again. A FILE that is not there begins as a note.
    """
    from gitmem.memory.hand_edits import commit_text

    path, before = _to_edit(app, file)
    text: str | None = before
    while (text := click.edit(text, extension=".md")) not in (None, before):
        try:
            commit = commit_text(app.bundle, path, text.encode(), reason=reason)
        except InvalidContent as error:
            if not app.is_person:
                raise
            app.out.line(red("! "), f"{error} {error.hint}".rstrip())
            if not click.confirm("Edit it again?", default=True):
                raise
            continue
        if commit:
            app.answer({"path": path, "commit": commit}, yellow(commit[:8]), " ", bold(path))
            app.tell(app.bundle.show(commit).diff)
            return
        break
    app.answer({"path": path, "commit": None}, "Nothing was changed.")


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


@command(REASON)
def commit(app: App, reason: str) -> None:
    """Commit what was edited outside of gitmem.

    The next write of gitmem commits hand edits anyway; this does it now, and with a reason. A file that cannot be
    part of a memory is named and left as it is, and the others are committed.
    """
    bundle = app.bundle
    made = [bundle.show(one.commit.oid) for one in bundle.take_in_edits(strict=False, reason=reason)]
    app.out.json({"commits": [one.entry for one in made]})
    left = [notice for notice in bundle.notices if notice.kind == "file-not-committed"]
    nothing = "" if left else "Nothing to commit: no file differs from the newest commit."
    app.tell({"commits": made}, short=True, none=nothing)
    if left:
        bundle.notices[:] = [notice for notice in bundle.notices if notice not in left]
        which, each = ("It was", "it") if len(left) == 1 else ("They were", "each")
        raise InvalidContent(
            f"{' '.join(notice.detail for notice in left)} {which} edited by hand: "
            f"repair or remove {each}, then run this again."
        )
