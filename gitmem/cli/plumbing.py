"""`gitmem hook` and `merge-driver`: what git calls."""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING

import click

from gitmem.cli.app import App
from gitmem.cli.options import pass_app
from gitmem.cli.terminal import complain
from gitmem.errors import GitMemError, UsageError
from gitmem.files import make_directories, write_new

if TYPE_CHECKING:
    from gitmem.memory.memory import Memory


@click.command(context_settings={"ignore_unknown_options": True})
@click.argument("name")
@click.argument("args", nargs=-1, type=click.UNPROCESSED)
@pass_app
def hook(app: App, name: str, args: tuple[str, ...]) -> None:
    """Run one of gitmem's git hooks. Git calls this, by the scripts that `gitmem init` installs.

    pre-commit checks what is staged, commit-msg adds the trailers that are missing, reference-transaction
    checks what git is about to merge, post-merge settles what that brought, and pre-push checks what would leave.

    Two are for a bare repository that people push to, where `install` puts them: pre-receive refuses what a
    sync would refuse, and post-receive folds the branches of machines into main.

    \b
    gitmem hook pre-commit
    gitmem hook commit-msg .git/COMMIT_EDITMSG
    gitmem hook install /srv/memory.git
    """
    from gitmem.memory.upkeep import git_hooks

    if name == "pre-receive":
        _refuse_push(app)
    elif name == "install":
        _install(app, args)
    elif name not in (*git_hooks.NAMES, "post-receive"):
        names = ", ".join((*git_hooks.NAMES, "pre-receive", "post-receive"))
        raise UsageError(f"There is no hook {name!r}: it is one of {names}.")
    elif name.startswith("post-"):
        try:  # what git did is done: a problem is only said
            _fold(app) if name == "post-receive" else _after_merge(_bundle(app))
        except GitMemError as error:
            app.warn(str(error))
    elif name == "reference-transaction":
        git_hooks.merging(_bundle(app))
    elif name == "commit-msg":
        if not args:
            raise UsageError("commit-msg needs the file that holds the message.")
        git_hooks.commit_msg(_bundle(app), os.path.join(app.world.cwd, args[0]))
    else:
        bundle = _bundle(app)
        index = app.world.env.get("GIT_INDEX_FILE")
        path = os.path.join(app.world.cwd, index) if index else bundle.repository.index_file.path
        stops_push = name == "pre-push"
        problems = (
            git_hooks.pre_push(bundle, sys.stdin, *args[:1])
            if stops_push
            else git_hooks.pre_commit(bundle, path)
        )
        what = "push" if stops_push else "commit"
        how = f"Repair that and try again, or skip the check: `git {what} --no-verify`."
        _refuse(app, problems, f"The {what} was stopped.", how)


def _refuse(app: App, problems: list[str], said: str, hint: str = "") -> None:
    for problem in problems:
        complain(problem, env=app.world.env)
    if problems:
        raise GitMemError(said, hint=hint)


def _after_merge(bundle: Memory) -> None:
    from gitmem.memory.upkeep.git_hooks import merged

    merged(bundle, bundle.repository.refs.read("ORIG_HEAD"))
    bundle.finish_pending()


def _refuse_push(app: App) -> None:
    """Stop a push to a bare repository; git says the reasons to the person who pushes."""
    from gitmem.memory.sync.server import received

    env = app.world.env
    quarantine = env.get("GIT_QUARANTINE_PATH") or env.get("GIT_OBJECT_DIRECTORY", "")
    problems = received(_git_dir(app), quarantine and os.path.join(app.world.cwd, quarantine), sys.stdin)
    _refuse(app, problems, "The push was refused; nothing of it was taken.")


def _fold(app: App) -> None:
    """Fold what a push left on branches."""
    from gitmem.memory.sync.server import fold_here

    sys.stdin.read()  # git waits for the hook to take what it lists
    for sentence in fold_here(_git_dir(app)).left_out:
        app.warn(sentence)


def _git_dir(app: App) -> str:
    return os.path.join(app.world.cwd, app.world.env.get("GIT_DIR", "."))


def _install(app: App, args: tuple[str, ...]) -> None:
    from gitmem.memory.sync.server import guard

    if len(args) != 1:
        raise UsageError("Name one bare repository.", hint="As in `gitmem hook install PATH`.")
    hook_path = guard(app.world.path(args[0]), python=sys.executable)
    app.out.line(f"{hook_path} is in place: every push is checked from now on.")


def _bundle(app: App) -> Memory:
    """The memory that git is in, whatever -C or $GITMEM_BUNDLE say: git sets the directory."""
    from gitmem.memory.opening import open_bundle

    app.bundle = open_bundle(app.world, app.world.cwd, "as is")
    return app.bundle


# --- merge-driver ----------------------------------------------------------------------------------------


@click.command("merge-driver")
@click.argument("base")
@click.argument("ours")
@click.argument("theirs")
@click.argument("path")
@pass_app
def merge_driver(app: App, base: str, ours: str, theirs: str, path: str) -> None:
    """Merge one file of a memory; git calls this, with the result left in OURS.

    It never leaves a conflict: where two sides rewrote one text, the other version is kept beside the file.

    \b
    gitmem merge-driver %O %A %B %P
    """
    from gitmem.git.git_directory import open_repository
    from gitmem.memory.sync.merge import merge_versions

    files = [app.world.path(name) for name in (base, ours, theirs)]
    try:
        versions = []
        for name in files:
            with open(name, "rb") as file:
                versions.append(file.read() or None)  # git hands over an empty file for none
        merged = merge_versions(open_repository(app.world.cwd, app.world), path, *versions)
        for name, data in merged.beside.items():
            _write(os.path.join(app.world.cwd, *name.split("/")), data)
        _write(files[1], merged.data or b"")
    except OSError as error:
        raise GitMemError(f"{path} could not be merged ({error.strerror}): git will ask you to.") from error


def _write(name: str, data: bytes) -> None:
    make_directories(os.path.dirname(name))
    write_new(name, data)
