"""`gitmem skill`: how-to knowledge, versioned and guarded."""

from __future__ import annotations

import os
import sys
from typing import Any

import click

from gitmem.cli.app import App
from gitmem.cli.options import REASON, command, flag
from gitmem.cli.terminal import bold, count, dim, yellow
from gitmem.errors import FoundSomething, UsageError
from gitmem.shape import shape


@click.group()
def skill() -> None:
    """Create, patch, list and show skills: how-to knowledge of an agent, with its scripts and references.

    \b
    gitmem skill create deploy-web --category ops --file SKILL.md
    gitmem skill create pdf-tools ~/Downloads/pdf-tools
    gitmem skill patch deploy-web "make deploy" "make deploy-all" --reason "the old target is gone"
    gitmem skill used deploy-web --outcome failed --note "needs node 22"
    gitmem skill list --failing

    `gitmem connect DIR` keeps a directory of an agent in step; `gitmem log --path skills/ops/deploy-web` has the history
    of one, and `gitmem diff REV --path skills/ops/deploy-web --unified` its lines.
    """


_NAME, _FILE = click.argument("name"), click.argument("file")
_CATEGORY = click.option("--category", default="", help="The category, such as ops or ops/web.")
_TAKEN = click.option("--file", "path", default="-", help="The SKILL.md to take; standard input without it.")


# --- writing ---------------------------------------------------------------------------------------------


def _write(app: App, action: str, *args: Any, reason: str, source: str = "", **more: Any) -> None:
    bundle = app.writing_bundle
    origin = bundle.origin(session=bundle.session_named(), reason=reason, source=source)
    app.show(getattr(bundle.skills, action)(*args, origin=origin, by_person=app.is_person, **more))


@command(_NAME, click.argument("directory", default="", metavar="[DIR]"), _CATEGORY, _TAKEN, REASON, of=skill)
def create(app: App, name: str, directory: str, path: str, **more: str) -> None:
    """Create a skill from a SKILL.md, or from DIR with all its files.

    What the guard only doubts enters when a person takes it from DIR at a terminal.
    """
    if not directory:
        _write(app, "create", name, _text(app, path), **more)
        return
    full = app.world.path(directory)
    if os.path.basename(full) != name:
        raise UsageError(f"A skill has the name of its directory: {os.path.basename(full)}.")
    _write(app, "import_directory", full, source=full, **more)


@command(_NAME, _TAKEN, REASON, of=skill)
def edit(app: App, name: str, path: str, **more: str) -> None:
    """Replace the whole SKILL.md of a skill."""
    _write(app, "edit", name, _text(app, path), **more)


@command(
    _NAME,
    click.argument("old"),
    click.argument("new"),
    click.option("--file", default="", help="A supporting file; SKILL.md without it."),
    flag("--all", "every", help="Every place that has the old text."),
    REASON,
    of=skill,
)
def patch(app: App, name: str, old: str, new: str, **more: Any) -> None:
    """Replace OLD by NEW in a skill, where it is found once."""
    _write(app, "patch", name, old, new, **more)


@command(
    _NAME,
    _FILE,
    click.option("--from", "path", default="-", help="The file to take; standard input without it."),
    REASON,
    of=skill,
    name="write-file",
)
def write_file(app: App, name: str, file: str, path: str, **more: str) -> None:
    """Write a supporting file of a skill, such as references/api.md."""
    _write(app, "write_file", name, file, _bytes(app, path), **more)


@command(_NAME, _FILE, REASON, of=skill, name="remove-file")
def remove_file(app: App, name: str, file: str, **more: str) -> None:
    """Remove a supporting file of a skill. It stays in the history."""
    _write(app, "remove_file", name, file, **more)


@command(_NAME, REASON, of=skill)
def delete(app: App, name: str, **more: str) -> None:
    """Delete a skill with all its files. It stays in the history."""
    _write(app, "delete", name, **more)


def _bytes(app: App, path: str) -> bytes:
    if path == "-":
        if sys.stdin.isatty():
            raise UsageError("Give the text in a file or on standard input.")
        return sys.stdin.buffer.read()
    from gitmem.memory.skills.directory import read_steadily

    return read_steadily(app.world.path(path))


def _text(app: App, path: str) -> str:
    try:
        return _bytes(app, path).decode()
    except UnicodeDecodeError as error:
        raise UsageError(f"The text is not UTF-8 (byte {error.start}).") from error


# --- reading, from little to much ------------------------------------------------------------------------


@command(
    click.argument("category", required=False),
    flag("--stale", help="Only those that were not used for 30 days."),
    flag("--failing", help="Only those whose last use failed: they need a patch."),
    flag("--prompt", help="As the list goes into a prompt."),
    of=skill,
    name="list",
)
def list_(app: App, category: str | None, stale: bool, failing: bool, prompt: bool) -> None:
    """List skills with their descriptions and how they did."""
    skills = app.bundle.skills
    if prompt:
        text = skills.index()
        app.out.json({"prompt": text})
        app.out.text(text)
        return
    used = skills.usage()
    found = [
        one
        for one in skills.list(category)
        if (not stale or used.is_stale(one.name)) and (not failing or used.of(one.name).is_failing)
    ]
    app.out.json({"skills": [{**shape(one), **shape(used.of(one.name))} for one in found]})
    app.out.paged()
    for one in found:
        use = used.of(one.name)
        app.out.line(bold(one.title), "  ", one.description, dim("  read only") if one.is_external else "")
        if use.times:
            told = f"{count(use.times, 'use')}, {use.failed} failed, last {app.date(use.last)}"
            app.out.line("    ", dim(told), yellow("  needs a patch") if use.is_failing else "")
        if use.is_failing and use.note:
            app.out.line("    ", yellow(use.note))
    if not found:
        app.out.line("No skill fits." if category or stale or failing else "There are no skills yet.")


@command(_NAME, click.argument("file", default=""), of=skill)
def show(app: App, name: str, file: str) -> None:
    """Show a skill, or one of its files."""
    app.show(app.bundle.skills.view(name, file), file=file)


@command(click.argument("directory"), of=skill)
def check(app: App, directory: str) -> None:
    """Say what the guard finds in the skill of a directory; nothing is stored."""
    from gitmem.memory.gate.skill_guard import SkillGuard
    from gitmem.memory.skills.directory import read_skill

    files = read_skill(app.world.path(directory))
    found = SkillGuard(app.bundle, "community").inspect(
        {f"skills/x/{name}": data for name, data in files.items()}
    )
    rows = [{**shape(one), "file": one.file.removeprefix("x/")} for one in found.findings]
    app.answer({"verdict": found.danger, "findings": rows}, bold(found.danger))
    for row in rows:
        what = f"  {row['category']}: {row['reason']} "
        app.out.line(f"  {row['file']}:{row['line']}  ", yellow(row["danger"]), what, dim(f"({row['rule']})"))
    if rows and found.danger != "safe":
        raise FoundSomething(f"The skill is not safe: {found.danger}.")


@command(
    _NAME,
    click.option("--outcome", type=click.Choice(["ok", "failed"]), required=True, help="How it went."),
    click.option("--note", default="", help="What went wrong, or what helped."),
    of=skill,
)
def used(app: App, name: str, outcome: str, note: str) -> None:
    """Note that a skill was used, and how that went."""
    bundle = app.writing_bundle
    event = bundle.skills.used(name, outcome, note, session=bundle.session_named())
    use = bundle.skills.usage().of(bundle.skills.get(name).name)
    document = {
        "name": name, "event": event, "uses": use.times, "failed": use.failed, "failing": use.is_failing,
    }  # fmt: skip
    app.answer(document, f"{name}: {count(use.times, 'use')}, {use.failed} failed")
    if use.is_failing:
        app.out.line(yellow(f"It needs a patch: `gitmem skill patch {name} OLD NEW`."))
