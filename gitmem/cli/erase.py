"""`gitmem erase`: what must be gone from the history too."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from typing import TYPE_CHECKING

import click

from gitmem.cli.context import App
from gitmem.cli.options import with_json
from gitmem.cli.output import bold, count, dim, safe, yellow
from gitmem.cli.progress import shown_stages
from gitmem.errors import UsageError

if TYPE_CHECKING:
    from gitmem.memory.erase.eraser import Erased
    from gitmem.memory.memory import Memory

_LISTED = 20
_ELSEWHERE = (
    "gitmem cannot reach other copies: backups, clones, exported files, what a host or a model keeps.",
    "A forge serves old commits by their ids until it collects its garbage: GitHub's support does that on request; GitLab",
    "has Settings > Repository > Repository cleanup; on your own server run `git reflog expire --expire=now --all` and",
    "`git gc --prune=now` in the repository. A password or key that was in here must be changed.",
)


@click.command()
@click.option("--text", help="A text, wherever it is; `-` reads it from standard input or asks for it.")
@click.option("--secret", metavar="COMMIT:PATH", help="The secrets in a file, as a refused sync names it.")
@click.option(
    "--entry", metavar="ID", help="An entry or event by its id, and its text wherever it is quoted."
)
@click.option("--path", help="A file or directory of the bundle.")
@click.option("--session", metavar="ID", help="A session: what it recorded, and the entries that it wrote.")
@click.option("--reason", default="", help="Why; kept in the receipt, without what was erased.")
@click.option("--dry-run", is_flag=True, help="Only say what holds it and what would be rewritten.")
@click.option("--yes", is_flag=True, help="Do not ask.")
@with_json
def erase(
    app: App,
    text: str | None,
    secret: str | None,
    entry: str | None,
    path: str | None,
    session: str | None,
    reason: str,
    dry_run: bool,
    yes: bool,
) -> None:
    """Erase something for good: from the memory, from every commit and snapshot, and from what lies beside them.

    The commits that hold it, and all that stand on them, are rewritten: their words and their order stay, their ids do
    not. A receipt without the content stays in config/erased.md and keeps it from coming back. There is no undo.

    \b
    gitmem erase --text - --dry-run
    gitmem erase --path decisions/hire-anna_2026-06-30.md --reason "asked to be forgotten"
    gitmem erase --session telegram-4711
    """
    given = {
        "text": _asked_for() if text == "-" else text or "",
        "secret": secret or "",
        "entry": entry or "",
        "path": app.path(path) if path else "",
        "session": session or "",
    }
    if sum(map(bool, given.values())) != 1:
        raise UsageError("Say what to erase: one of --text, --secret, --entry, --path and --session.")
    if reason and given["text"] and given["text"] in reason:
        raise UsageError("The reason holds the text: it stays in the receipt, so leave it out there.")
    bundle = app.bundle if dry_run else app.whole_bundle
    if not dry_run:
        bundle.take_in_edits(strict=True)  # a file that is not committed would keep the text
    found = _erase(bundle, given, reason, dry_run=True)
    if dry_run:
        _tell_found(app, found)
        return
    if not yes:
        if app.out.is_json or not sys.stdin.isatty():
            raise UsageError("This cannot be undone: say --yes, or look with --dry-run first.")
        _tell_found(app, found)
        if not click.confirm("Erase it for good? There is no undo"):
            raise click.Abort
    _tell_done(app, _erase(bundle, given, reason, dry_run=False))


def _erase(bundle: Memory, given: Mapping[str, str], reason: str, *, dry_run: bool) -> Erased:
    with shown_stages() as progress:
        return bundle.erase(
            text=given["text"],
            secret=given["secret"],
            entry=given["entry"],
            path=given["path"],
            session=given["session"],
            reason=reason,
            dry_run=dry_run,
            progress=progress,
        )


def _asked_for() -> str:
    """A text that is in no shell history."""
    if sys.stdin.isatty():
        return str(click.prompt("Text to erase", hide_input=True))
    return sys.stdin.read().strip()


def _tell_found(app: App, found: Erased) -> None:
    app.out.json(found)
    if app.out.is_json:
        return
    for one in found.commits[:_LISTED]:
        where = ", ".join(safe(path) or "its message" for path in one.paths)
        app.out.line(yellow(one.commit[:8]), f"  {where}")
    if len(found.commits) > _LISTED:
        app.out.line(dim(f"and {len(found.commits) - _LISTED} more: --json lists them"))
    for title, names in (
        ("snapshots", found.snapshots),
        ("quarantine", found.quarantine),
        ("beside the history", found.beside),
    ):
        if names:
            app.out.line(bold(f"{title}: "), safe(", ".join(names[:_LISTED])))
    commits = count(len(found.commits), "commit")
    app.out.line(f"{commits} brought it; {count(found.rewritten, 'commit')} would be rewritten.")
    app.out.line(dim("Nothing was changed."))


def _tell_done(app: App, done: Erased) -> None:
    app.out.json(done)
    if app.out.is_json:
        return
    app.out.line(yellow(done.commit[:8]), f"  erased: {count(done.rewritten, 'commit')} rewritten")
    app.out.line(f"receipt {', '.join(done.receipts)} in config/erased.md")
    for path in done.left:
        app.out.line(yellow(f"{safe(path)} still holds it, and is not gitmem's to change: edit it yourself."))
    for remote in done.remotes:
        app.out.line(f"{remote} still has the old history: `gitmem sync {remote}` puts the new one there.")
    for sentence in _ELSEWHERE:
        app.out.line(dim(sentence))
