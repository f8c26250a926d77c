"""`gitmem import` and `export`: a memory from other programs, and for them."""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING

import click

from gitmem.cli.context import App
from gitmem.cli.options import with_json
from gitmem.cli.output import count, dim, green, safe, yellow
from gitmem.cli.progress import shown_stages
from gitmem.errors import UsageError

if TYPE_CHECKING:
    from gitmem.memory.exchange.importing import Imported

_FORMATS = ("okf", "hermes", "markdown", "jsonl", "agents-md", "bundle")
_PLACES = {
    "agents-md": "AGENTS.md",
    "markdown": "memory.md",
    "jsonl": "memory.jsonl",
    "bundle": "memory.bundle",
}


@click.command("export")
@click.argument("where", default="", metavar="[PATH]")
@click.option("--format", "form", type=click.Choice(_FORMATS), required=True, help="What to write.")
@click.option("--by", type=click.Choice(["topic", "day"]), default="topic", help="The order of markdown.")
@click.option("--overwrite", is_flag=True, help="Write over files that are there.")
@with_json
def export(app: App, where: str, form: str, by: str, overwrite: bool) -> None:
    """Write the memory for other programs and people; nothing in the bundle is changed.

    okf: a clean tree without history. hermes: memories and skills ready to copy into a Hermes home. markdown: one
    document. jsonl: every entry with where it came from. agents-md: a block between markers in AGENTS.md or CLAUDE.md,
    nothing else there is touched. bundle: a git bundle file with history and named snapshots.

    \b
    gitmem export --format okf ../memory-copy
    gitmem export --format agents-md ~/project/AGENTS.md
    gitmem export --format jsonl memory.jsonl
    """
    place = where or _PLACES.get(form, "")
    if not place:
        raise UsageError(f"Say where: `gitmem export --format {form} DIRECTORY`.")
    full = app.world.path(place)
    if os.path.realpath(full).startswith(os.path.join(os.path.realpath(app.repository.root), "")):
        raise UsageError("An export belongs outside the bundle: it would become a part of the memory.")
    done = app.whole_bundle.export(form, full, by=by, overwrite=overwrite)
    app.out.json(
        {
            "form": done.format,
            "where": done.where,
            "paths": list(done.files),
            "entry_count": done.entries,
        }
    )
    if done.files:
        app.out.line(green("exported "), f"{safe(place)}: {count(len(done.files), 'file')}")
    else:
        app.out.line(f"{safe(place)} says all of it already.")


_LISTED = 10
_HOMES = {"openclaw": "~/.openclaw", "codex": "~/.codex"}
_IMPORTS = ("hermes", "holographic", "okf", "openclaw", "claude", "codex", "markdown", "jsonl")


@click.command("import")
@click.argument("form", type=click.Choice(_IMPORTS), metavar="FORMAT")
@click.argument("where", default="", metavar="[PATH]")
@click.option("--since", default="", metavar="DATE", help="Only sessions of Hermes that began since then.")
@click.option("--sessions", is_flag=True, help="Only the sessions of Hermes.")
@click.option("--dry-run", is_flag=True, help="Only count what would come.")
@click.option("--yes", is_flag=True, help="Do not ask.")
@with_json
def import_(app: App, form: str, where: str, since: str, sessions: bool, dry_run: bool, yes: bool) -> None:
    """Import what another program kept, through the same gate as everything; `gitmem undo` takes it back whole.

    FORMAT is hermes (memories, sessions of state.db, skills), holographic (its memory_store.db), okf (a bundle), openclaw,
    claude (a project's memory), codex, markdown (a file, a folder, a vault) or jsonl. A second run brings only what is new.

    \b
    gitmem import hermes --dry-run
    gitmem import markdown ~/vault
    gitmem import jsonl memory.jsonl
    """
    place = app.world.path(where or _usual(app, form))
    bundle = app.bundle if dry_run else app.whole_bundle
    if dry_run or (not yes and sys.stdin.isatty() and not app.out.is_json):
        found = bundle.bring_in(form, place, since=since, sessions=sessions, dry_run=True)
        _tell_imported(app, found)
        if dry_run:
            return
        if not click.confirm("Import it?", default=True):
            raise click.Abort
    with shown_stages() as stage:

        def show(now: Imported) -> None:
            if stage is not None:
                stage(
                    f"{count(now.commits, 'commit')}, {count(now.events, 'event')}, {count(now.entries, 'entry', 'entries')}"
                )

        done = bundle.bring_in(form, place, since=since, sessions=sessions, progress=show)
    _tell_imported(app, done)


def _usual(app: App, form: str) -> str:
    if form in ("hermes", "holographic"):
        return app.world.hermes_home
    if form not in _HOMES:
        raise UsageError(f"Say where it is: `gitmem import {form} PATH`.")
    return os.path.join(app.world.home, _HOMES[form].removeprefix("~/"))


def _tell_imported(app: App, done: Imported) -> None:
    app.out.json(
        {
            "form": done.format,
            "dry_run": done.dry_run,
            "commit_count": done.commits,
            "entry_count": done.entries,
            "event_count": done.events,
            "file_count": done.files,
            "session_count": done.sessions,
            "removed_count": done.removed,
            "known_count": done.known,
            "held": list(done.held),
            "redacted": list(done.redacted),
            "problems": list(done.problems),
        }
    )
    if app.out.is_json:
        return
    what = ", ".join(
        [
            count(done.entries, "entry", "entries"),
            f"{count(done.events, 'event')} of {count(done.sessions, 'session')}",
            count(done.files, "file"),
        ]
    )
    app.out.line(green("would import " if done.dry_run else "imported "), what)
    if done.removed:
        app.out.line(dim(f"{done.removed} of an earlier state went again: `gitmem log` has them"))
    if done.known:
        app.out.line(dim(f"{done.known} are here already"))
    for title, listed in (
        ("held back for a person (`gitmem review`)", done.held),
        ("a secret was redacted in", done.redacted),
        ("", done.problems),
    ):
        for one in listed[:_LISTED]:
            app.out.line(yellow(f"{title}: {safe(one)}" if title else safe(one)))
        if len(listed) > _LISTED:
            app.out.line(dim(f"and {len(listed) - _LISTED} more: --json lists them"))
    if not done.dry_run and done.commits:
        app.out.line(dim(f"{count(done.commits, 'commit')}; `gitmem undo` takes all of it back."))
