"""`gitmem init`, `status`, `check`, `gc` and `config`: a memory made, looked at and kept well."""

from __future__ import annotations

import contextlib
import json
import os
import sys
from dataclasses import asdict, replace
from typing import TYPE_CHECKING

import click

from gitmem.cli.app import App
from gitmem.cli.options import command, flag
from gitmem.cli.terminal import bold, count, dim, green, indexing, red, size, yellow
from gitmem.errors import BundleBusy, BundleNotFound, FoundSomething, UsageError
from gitmem.state import CONFIG

if TYPE_CHECKING:
    from gitmem.config import Config, Setting, Value


# --- init ------------------------------------------------------------------------------------------------


@command(
    click.argument("directory", default="", metavar="[DIR]"),
    flag("--project", help="In .memory/ of the project here, which its git leaves out."),
    click.option(
        "--separate-git-dir", metavar="PATH", help="Keep the git directory there, outside the work tree."
    ),
    click.option(
        "--agent", default="", metavar="NAME", help="Whose memory it is: the author of what agents write."
    ),
)
def init(app: App, directory: str, project: bool, separate_git_dir: str | None, agent: str) -> None:
    """Create a memory in DIR; without DIR in ~/.gitmem, or where $GITMEM_BUNDLE says.

    A memory is a git repository with a skeleton of OKF files and gitmem's git hooks. Files that are in
    DIR already are taken in where they can be part of one. A memory that is there is left as it is. Commands
    find the memory of -C, $GITMEM_BUNDLE, the nearest directory above, the project here, Hermes, then ~/.gitmem.

    \b
    gitmem init --project
    gitmem init ~/.hermes/gitmem/bundle --separate-git-dir ~/.hermes/gitmem/bundle.git
    """
    from gitmem.locate import holds_files, is_repository
    from gitmem.memory.opening import (
        is_trusted,
        leave_out,
        of_others,
        place_for,
        project_memory,
        refuse_inside_a_bundle,
    )
    from gitmem.memory.upkeep.create import create

    if project and directory:
        raise UsageError("Give DIR or --project, not both.")
    root = project_memory(app.world) if project else place_for(app.world, directory)
    refuse_inside_a_bundle(root)
    if holds_files(root) and is_repository(root) and not is_trusted(app.world, root):
        raise of_others(app.world, root)
    bundle, made = create(
        app.world,
        root,
        config=replace(app.config_of(None), agent_id=agent) if agent else app.config_of(None),
        separate_git_dir=app.world.path(separate_git_dir) if separate_git_dir else None,
        python=sys.executable,
    )
    app.bundle = bundle
    if project:
        leave_out(root)
    if made and agent:
        bundle.state.write_text(CONFIG, f"agent_id: {json.dumps(agent)}\n")
    document = {
        "bundle": bundle.root,
        "git_dir": bundle.repository.git_dir,
        "made": made,
        "commit": bundle.tip,
    }
    if made:
        app.answer(document, "Created a memory in ", bold(bundle.root), ".")
        app.out.line(dim("Next: `gitmem remember TEXT`, or `gitmem connect claude` (codex, hermes …)."))
    else:
        app.answer(document, "There is a memory in ", bold(bundle.root), " already; nothing was changed.")


@command(click.argument("directory", metavar="DIR"))
def trust(app: App, directory: str) -> None:
    """Take a memory that others made, or that you moved, for your own: it is found from inside it, and written to.

    Until then its entries are unconfirmed, and `gitmem -C DIR` only reads it.
    """
    from gitmem.memory import opening

    app.need_a_person("takes a memory for their own")
    root = app.world.path(directory)
    opening.trust(app.world, root)
    app.answer({"bundle": root}, bold(root), " is in your list of memories.")


# --- status ----------------------------------------------------------------------------------------------


@command(flag("-v", "--verbose", help="Also what is stored, and how."))
def status(app: App, verbose: bool) -> None:
    """Show the session, the stores, the remotes and what waits for you.

    In a memory, `gitmem` alone does the same.
    """
    from gitmem.memory.status import status_of

    app.show(status_of(app.bundle), verbose=verbose)


# --- check and gc ----------------------------------------------------------------------------------------


@command(
    flag("--fix", help="Repair what can be repaired safely, and rebuild the search index."),
    flag("--history", help="Every file of the whole history, not only of the newest commit."),
)
def check(app: App, fix: bool, history: bool) -> None:
    """Find the usual problems, say how to repair each, and prove that the memory is whole.

    Reads every object and ref, checks each file against the OKF rules and the rules for paths, the trailers of
    gitmem's own commits, and that the work tree is what the newest commit says. Exits with 3 when something is wrong;
    notes alone leave 0.
    """
    from gitmem.memory.upkeep.checks import Checks

    bundle = app.bundle
    checks = Checks(bundle, history=history, python=sys.executable)
    rows, left = [], 0
    app.out.paged()
    for problem in checks.run():
        done = problem.fix() if fix and problem.fix is not None else ""
        left += problem.serious and not done
        row = {name: getattr(problem, name) for name in ("check", "serious", "what", "remedy")}
        rows.append({**row, "fixable": problem.fix is not None, "fixed": done})
        app.out.block(red("! ") if problem.serious else yellow("· "), problem.what, indent="  ")
        app.out.block("  ", green(done) if done else dim(problem.remedy), indent="  ")
    if fix and not left:
        with indexing(app.bundle):
            made = bundle.index.rebuild()
            app.out.line(f"Indexed {made.count_texts():,} entries of {made.seq:,} commits.")
    app.out.json(
        {"ok": not left, "problems": rows, "commit_count": checks.commits, "file_count": checks.files}
    )
    seen = f"{count(checks.commits, 'commit')} and {count(checks.files, 'file')}"
    if left:
        app.out.line(f"Looked at {seen}; {count(left, 'problem')}.")
        raise click.exceptions.Exit(FoundSomething.exit_code)
    app.out.line(green("Whole. "), f"Looked at {seen}; nothing is wrong.")


@command(flag("--auto", help="Only when it is due, at low priority, quietly."))
def gc(app: App, auto: bool) -> None:
    """Compress the object store, so that the bundle stays small and fast.

    Gitmem does this by itself now and then. The git program does it when it is installed; without it
    the result is several times larger. Automatic snapshots are thinned too.
    """
    from gitmem.git import housekeeping

    repository, cleaned = app.bundle.repository, None
    if auto:
        app.bundle.index.catch_up()
    if not auto or housekeeping.due(repository):
        if auto:
            with contextlib.suppress(OSError):
                os.nice(10)
        try:
            app.bundle.snapshots.thin()
            cleaned = housekeeping.clean(repository)
        except BundleBusy:
            if not auto:
                raise
    done = asdict(cleaned) if cleaned else dict.fromkeys(("by", "before", "after"))
    app.out.json({"ran": cleaned is not None, **done})
    if cleaned and not auto:
        app.out.line(
            f"Compressed {size(cleaned.before.bytes)} to {size(cleaned.after.bytes)} with {cleaned.by}."
        )


# --- config ----------------------------------------------------------------------------------------------


@command(
    click.argument("key", default=""),
    click.argument("value", required=False),
    flag("--unset", help="Take the setting out of the file."),
    flag("--user", help="In your own settings: for every memory and agent, not for this memory alone."),
)
def config(app: App, key: str, value: str | None, unset: bool, user: bool) -> None:
    """List the settings; read, set or unset one.

    A setting is set for this memory on this machine; with --user for all of yours. Variables (GITMEM_…) go before
    both. docs/settings.md has them all.

    \b
    gitmem config transcripts text
    gitmem config transcripts --unset
    """
    from gitmem.config import from_text, setting_named

    if not key:
        _list_settings(app)
        return
    setting = setting_named(key, "the command line")
    if value is None and not unset:
        found = _settings(app)
        app.out.json(_row(found, setting))
        app.out.line(spelled(found[setting.key], empty=""))
        return
    origin = _change(
        app, setting, None if unset else from_text(setting, value or "", "the command line"), user
    )
    found = _settings(app)
    here = found.origin(setting.key)
    app.out.json(_row(found, setting))
    app.out.line(bold(setting.key), "  ", spelled(found[setting.key]), dim(f"  ({here})"))
    if here != origin and not unset:
        app.out.line(yellow(f"What holds is from {here}, which goes before {origin}."))


def _list_settings(app: App) -> None:
    from gitmem.config import settings

    found = _settings(app)
    app.out.json({"settings": [_row(found, row) for row in settings()]})
    app.out.paged()
    width = max(len(row.key) for row in settings())
    for row in settings():
        shown = spelled(found[row.key])
        app.out.line(bold(row.key.ljust(width)), "  ", shown, dim(f"  ({found.origin(row.key)})"))


def _change(app: App, setting: Setting, value: Value | None, user: bool) -> str:
    """Write a setting into the user's file or that of this memory, or take it out (None); gives the file's name."""
    from gitmem.config import GIT_DIR_CONFIG, USER_YAML
    from gitmem.hosts.connect import SettingsFile
    from gitmem.settings_edit import keys_of_setting, put

    if setting.is_personal and not user and value is not None:
        raise UsageError(
            f"`{setting.key}` cannot be set in a memory, which may be another person's.",
            hint="Set it with --user.",
        )
    state, origin = (None, USER_YAML) if user else (app.repository.state, GIT_DIR_CONFIG)
    path = os.path.join(app.world.config_home, "config.yaml") if state is None else state.path(CONFIG)
    file = SettingsFile(path, origin)
    text = file.reading(lambda before: put("yaml", before, keys_of_setting(before, setting.key), value))
    if text != file.text and state is not None:
        state.write_text(CONFIG, text, durable=True)
    elif text != file.text:
        file.write(text)
    return origin


def _settings(app: App) -> Config:
    try:
        return app.config_of(app.repository)
    except BundleNotFound:  # settings hold without a bundle too
        return app.config_of(None)


def _row(found: Config, row: Setting) -> dict[str, object]:
    return {"key": row.key, "value": found[row.key], "origin": found.origin(row.key), "help": row.help}


def spelled(value: Value, *, empty: str = '""') -> str:
    """A value as one would write it."""
    return str(value).lower() if isinstance(value, bool) else str(value) or empty
