"""`gitmem skill`: how-to knowledge, versioned and guarded."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import click

from gitmem.cli.context import App
from gitmem.cli.options import with_json
from gitmem.cli.output import bold, count, cyan, dim, yellow
from gitmem.cli.render.changes import coloured
from gitmem.errors import FoundSomething, UsageError
from gitmem.shape import shape

if TYPE_CHECKING:
    from gitmem.memory.memory import Memory
    from gitmem.memory.origin import Origin
    from gitmem.memory.skills.store import SkillWrite


@click.group()
def skill() -> None:
    """Skills: how-to knowledge of an agent, with its scripts and references.

    \b
    gitmem skill create deploy-web --category ops --file SKILL.md
    gitmem skill patch deploy-web "make deploy" "make deploy-all" --reason "the old target is gone"
    gitmem skill used deploy-web --outcome failed --note "needs node 22"
    gitmem skill list --failing
    """


def _writing(command: Any) -> Any:
    """The options of everything that changes a skill."""
    for option in (
        click.option("--reason", default="", help="Why; kept in the commit."),
        click.option("--source", default="", help="Where it comes from: a URL, a tool, a person."),
        click.option("--session", default="", help="The session it belongs to."),
        with_json,
    ):
        command = option(command)
    return command


def _origin(bundle: Memory, session: str, reason: str, source: str) -> Origin:
    return bundle.origin(session=bundle.session_named(session), reason=reason, source=source)


# --- writing ---------------------------------------------------------------------------------------------


@skill.command()
@click.argument("name")
@click.option("--category", default="", help="The category, such as ops or ops/web.")
@click.option("--file", "path", default="-", help="The SKILL.md to take; standard input without it.")
@_writing
def create(app: App, name: str, category: str, path: str, **where: str) -> None:
    """Create a skill from a SKILL.md."""
    content = _text(app, path)
    bundle = app.writing_bundle
    _tell(
        app,
        bundle.skills.create(
            name, content, category=category, origin=_origin(bundle, **where), by_person=_by_person()
        ),
    )


@skill.command()
@click.argument("name")
@click.option("--file", "path", default="-", help="The SKILL.md to take; standard input without it.")
@_writing
def edit(app: App, name: str, path: str, **where: str) -> None:
    """Replace the whole SKILL.md of a skill."""
    content = _text(app, path)
    bundle = app.writing_bundle
    _tell(app, bundle.skills.edit(name, content, origin=_origin(bundle, **where), by_person=_by_person()))


@skill.command()
@click.argument("name")
@click.argument("old")
@click.argument("new")
@click.option("--file", "file", default="", help="A supporting file; SKILL.md without it.")
@click.option("--all", "every", is_flag=True, help="Every place where the old text stands.")
@_writing
def patch(app: App, name: str, old: str, new: str, file: str, every: bool, **where: str) -> None:
    """Replace OLD by NEW in a skill, where it stands once."""
    bundle = app.writing_bundle
    _tell(
        app,
        bundle.skills.patch(
            name, old, new, file=file, every=every, origin=_origin(bundle, **where), by_person=_by_person()
        ),
    )


@skill.command("write-file")
@click.argument("name")
@click.argument("file")
@click.option("--from", "path", default="-", help="The file to take; standard input without it.")
@_writing
def write_file(app: App, name: str, file: str, path: str, **where: str) -> None:
    """Write a supporting file of a skill: references/, templates/, scripts/ or assets/."""
    data = _bytes(app, path)
    bundle = app.writing_bundle
    _tell(
        app,
        bundle.skills.write_file(name, file, data, origin=_origin(bundle, **where), by_person=_by_person()),
    )


@skill.command("remove-file")
@click.argument("name")
@click.argument("file")
@_writing
def remove_file(app: App, name: str, file: str, **where: str) -> None:
    """Remove a supporting file of a skill. It stays in the history."""
    bundle = app.writing_bundle
    _tell(app, bundle.skills.remove_file(name, file, origin=_origin(bundle, **where), by_person=_by_person()))


@skill.command()
@click.argument("name")
@click.option("--absorbed-into", default="", metavar="NAME", help="The skill that took it over.")
@_writing
def delete(app: App, name: str, absorbed_into: str, **where: str) -> None:
    """Delete a skill with all its files. It stays in the history."""
    bundle = app.writing_bundle
    _tell(
        app,
        bundle.skills.delete(
            name, absorbed_into=absorbed_into, origin=_origin(bundle, **where), by_person=_by_person()
        ),
    )


@skill.command("import")
@click.argument("directory")
@click.option("--category", default="", help="The category, such as ops or ops/web.")
@_writing
def import_(app: App, directory: str, category: str, **where: str) -> None:
    """Take a skill in from a directory: all its files, or nothing.

    What the guard only doubts enters when a person imports it at a terminal.
    """
    full = app.world.path(directory)
    where["source"] = where["source"] or full
    bundle = app.writing_bundle
    _tell(
        app,
        bundle.skills.import_directory(
            full, category=category, origin=_origin(bundle, **where), by_person=_by_person()
        ),
    )


# --- reading, from little to much ------------------------------------------------------------------------


@skill.command("list")
@click.argument("category", required=False)
@click.option("--platform", default="", help="Only those for linux, macos or windows.")
@click.option("--stale", is_flag=True, help="Only those that nobody used for 30 days.")
@click.option("--failing", is_flag=True, help="Only those whose last use failed: they need a patch.")
@click.option("--prompt", is_flag=True, help="As the list goes into a prompt.")
@with_json
def list_(app: App, category: str | None, platform: str, stale: bool, failing: bool, prompt: bool) -> None:
    """List skills with their descriptions and how they did."""
    bundle = app.bundle
    if prompt:
        text = bundle.skills.index(platform=platform)
        app.out.json({"prompt": text})
        app.out.text(text)
        return
    found = bundle.skills.list(category, platform=platform)
    used = bundle.skills.usage()
    if stale:
        found = [one for one in found if used.is_stale(one.name)]
    if failing:
        found = [one for one in found if used.of(one.name).is_failing]
    app.out.json({"skills": [{**shape(one), **shape(used.of(one.name))} for one in found]})
    app.out.paged()
    for one in found:
        use = used.of(one.name)
        app.out.line(bold(one.title), "  ", one.description, dim("  read only") if one.is_external else "")
        if use.times:
            told = f"{count(use.times, 'use')}, {use.failed} failed, last {app.moment(use.last)}"
            app.out.line("    ", dim(told), yellow("  needs a patch") if use.is_failing else "")
            if use.is_failing and use.note:
                app.out.line("    ", yellow(use.note))
    if not found:
        app.out.line(
            "No skill fits." if category or platform or stale or failing else "There are no skills yet."
        )


@skill.command()
@click.argument("name")
@click.argument("file", default="")
@with_json
def view(app: App, name: str, file: str) -> None:
    """Show a skill, or one of its files."""
    found = app.bundle.skills.view(name, file)
    app.out.json(found)
    app.out.paged()
    if found.is_text:
        app.out.text(found.text)
    else:
        app.out.line(dim(f"{found.file} is not text: {found.size:,} bytes"))
    if not file and found.files:
        app.out.line()
        app.out.line(dim(f"files: {', '.join(found.files)}"))


@skill.command()
@click.argument("directory")
@with_json
def check(app: App, directory: str) -> None:
    """Say what the guard finds in the skill of a directory; nothing is stored."""
    from gitmem.memory.gate.skill_guard import SkillGuard
    from gitmem.memory.skills.directory import read_skill

    files = read_skill(app.world.path(directory))
    found = SkillGuard(app.bundle, "community").inspect(
        {f"skills/x/{name}": data for name, data in files.items()}
    )
    rows = [
        {
            "file": one.file.removeprefix("x/"),
            "line": one.line,
            "rule": one.rule,
            "category": one.category,
            "danger": one.danger,
            "reason": one.reason,
        }
        for one in found.findings
    ]
    app.out.json({"verdict": found.danger, "findings": rows})
    app.out.line(bold(found.danger))
    for row in rows:
        app.out.line(
            f"  {row['file']}:{row['line']}  ", yellow(str(row["danger"])), f"  {row['category']}: {row['reason']} ",
            dim(f"({row['rule']})"),
        )  # fmt: skip
    if rows and found.danger != "safe":
        raise FoundSomething(f"The skill is not safe: {found.danger}.")


# --- how it did ------------------------------------------------------------------------------------------


@skill.command()
@click.argument("name")
@click.option("--outcome", type=click.Choice(["ok", "failed"]), required=True, help="How it went.")
@click.option("--note", default="", help="What went wrong, or what helped.")
@click.option("--session", default="", help="The session it belongs to.")
@with_json
def used(app: App, name: str, outcome: str, note: str, session: str) -> None:
    """Note that a skill was used, and how that went."""
    bundle = app.writing_bundle
    event = bundle.skills.used(name, outcome, note, session=bundle.session_named(session))
    use = bundle.skills.usage().of(bundle.skills.get(name).name)
    app.out.json(
        {"name": name, "event": event, "uses": use.times, "failed": use.failed, "failing": use.is_failing}
    )
    app.out.line(f"{name}: {count(use.times, 'use')}, {use.failed} failed")
    if use.is_failing:
        app.out.line(yellow(f"It needs a patch: `gitmem skill patch {name} OLD NEW`."))


# --- directories of agents -------------------------------------------------------------------------------


@skill.command()
@click.argument("directory", required=False)
@click.option("--flat/--nested", "is_flat", default=None, help="Whether the agent knows no categories.")
@with_json
def link(app: App, directory: str | None, is_flat: bool | None) -> None:
    """Keep a directory of an agent in step with the bundle; without one, compare and list those that are linked.

    \b
    gitmem skill link ~/.claude/skills
    """
    from gitmem.memory.skills.links import SkillLinks

    bundle = app.writing_bundle
    links = bundle.part(SkillLinks)
    if directory is not None:
        done = links.link(app.world.path(directory), is_flat=is_flat)
        app.out.line(
            f"{directory} is linked: {count(done.taken, 'commit')}, {count(len(done.written), 'file')} written"
        )
    else:
        links.compare()
    found = links.all()
    app.out.json(
        {"links": [{"directory": one.directory, "flat": one.is_flat, "ours": one.is_ours} for one in found]}
    )
    for one in found if directory is None else ():
        app.out.line(
            cyan(one.directory), "" if one.is_ours else yellow("  says nothing of this bundle: left alone")
        )
    if not found:
        app.out.line("No directory is linked.")


@skill.command()
@click.argument("directory")
@with_json
def unlink(app: App, directory: str) -> None:
    """Leave a linked directory alone from now on; its files stay."""
    from gitmem.memory.skills.links import SkillLinks

    app.writing_bundle.part(SkillLinks).unlink(app.world.path(directory))
    app.out.json({"unlinked": directory})
    app.out.line(f"{directory} is left alone from now on.")


# --- its history -----------------------------------------------------------------------------------------


@skill.command()
@click.argument("name")
@click.option("-n", "number", type=click.IntRange(min=1), help="At most that many commits.")
@with_json
@click.pass_context
def log(ctx: click.Context, app: App, name: str, number: int | None) -> None:
    """List the commits that changed a skill, newest first; also of one that is gone."""
    from gitmem.cli import history
    from gitmem.memory.history.skill_history import root_of

    ctx.invoke(history.log, path=(root_of(app.bundle, name),), number=number)


@skill.command()
@click.argument("name")
@click.argument("old", required=False, metavar="[A]")
@click.argument("new", required=False, metavar="[B]")
@with_json
def diff(app: App, name: str, old: str | None, new: str | None) -> None:
    """Show what changed in a skill, line by line: since A, from A to B, or by the last commit."""
    from gitmem.memory.history.skill_history import last_changes, root_of
    from gitmem.memory.skills.patch import readable_diff
    from gitmem.memory.skills.store import files_at

    bundle = app.bundle
    root = root_of(bundle, name)
    if old is None:
        last = last_changes(bundle, root)
        new = last[0].id if last else "HEAD"
        old = f"{new}~1" if last and last[0].commit.parents else None
    before = files_at(bundle, root, old) if old else {}
    after = files_at(bundle, root, new or "HEAD")
    shown = {
        file: readable_diff(before.get(file, ""), after.get(file, ""), file)
        for file in sorted({*before, *after})
        if before.get(file) != after.get(file)
    }
    app.out.json({"name": name, "from": old, "to": new or "HEAD", "diffs": shown})
    app.out.paged()
    _tell_diff(app, shown.values())
    if not shown:
        app.out.line("Nothing changed.")


# --- parts -----------------------------------------------------------------------------------------------


def _by_person() -> bool:
    return sys.stdin.isatty()


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


def _tell(app: App, done: SkillWrite) -> None:
    app.out.json(done)
    if not done.held:
        app.out.line(done.message)
        if done.action in ("patch", "edit"):
            _tell_diff(app, [done.diff])
    app.refuse_held(done.held)


def _tell_diff(app: App, diffs: Sequence[str] | Any) -> None:
    for one in diffs:
        for line in one.split("\n") if one else ():
            app.out.line(coloured(line))
