"""`gitmem hook NAME`: what the scripts in `hooks/` call."""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING

import click

from gitmem.cli.context import App
from gitmem.cli.options import pass_app
from gitmem.cli.output import complain
from gitmem.errors import GitMemError, UsageError

if TYPE_CHECKING:
    from gitmem.memory.memory import Memory


@click.command(context_settings={"ignore_unknown_options": True})
@click.argument("name")
@click.argument("args", nargs=-1, type=click.UNPROCESSED)
@pass_app
def hook(app: App, name: str, args: tuple[str, ...]) -> None:
    """Run one of gitmem's git hooks. Git calls this, by the scripts that `gitmem init` installs.

    pre-commit checks what is staged, commit-msg adds the trailers that are missing, reference-transaction
    checks what git is about to merge, post-commit, post-merge and post-checkout finish what a crash left
    undone, and pre-push checks what would leave.

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
        return
    if name == "post-receive":
        _fold(app)
        return
    if name == "install":
        _install(app, args)
        return
    if name not in git_hooks.NAMES:
        names = ", ".join((*git_hooks.NAMES, "pre-receive", "post-receive"))
        raise UsageError(f"There is no hook {name!r}: it is one of {names}.")
    if name.startswith("post-"):
        _afterwards(app, name)
        return
    bundle = _bundle(app)
    if name == "pre-commit":
        _refuse(app, git_hooks.pre_commit(bundle, _index_path(app, bundle)), "commit")
    elif name == "reference-transaction":
        git_hooks.merging(bundle)
    elif name == "pre-push":
        _refuse(app, git_hooks.pre_push(bundle, sys.stdin, *args[:1]), "push")
    else:
        if not args:
            raise UsageError("commit-msg needs the file that holds the message.")
        _commit_msg(app, bundle, os.path.join(app.world.cwd, args[0]))


def _afterwards(app: App, name: str) -> None:
    from gitmem.memory.upkeep import git_hooks

    try:
        bundle = _bundle(app)
        if name == "post-merge":
            git_hooks.merged(bundle, bundle.repository.refs.read("ORIG_HEAD"))
        elif name == "post-commit":
            git_hooks.merged(bundle, git_hooks.before_a_merge(bundle))
        git_hooks.afterwards(bundle)
    except GitMemError as error:  # what git did is done: only tell
        app.warn(str(error))


def _refuse_push(app: App) -> None:
    """Stop a push to a bare repository; git says the reasons to whoever pushes."""
    from gitmem.memory.sync.server import received

    env = app.world.env
    git_dir = os.path.join(app.world.cwd, env.get("GIT_DIR", "."))
    quarantine = env.get("GIT_QUARANTINE_PATH") or env.get("GIT_OBJECT_DIRECTORY", "")
    problems = received(git_dir, quarantine and os.path.join(app.world.cwd, quarantine), sys.stdin)
    for problem in problems:
        complain(problem, env=env)
    if problems:
        raise GitMemError("The push was refused; nothing of it was taken.")


def _fold(app: App) -> None:
    """Fold what a push left on branches; the push itself is done, so that a problem is only said."""
    from gitmem.memory.sync.server import fold_here

    sys.stdin.read()  # git waits for the hook to take what it lists
    try:
        for sentence in fold_here(os.path.join(app.world.cwd, app.world.env.get("GIT_DIR", "."))).left_out:
            app.warn(sentence)
    except GitMemError as error:
        app.warn(str(error))


def _install(app: App, args: tuple[str, ...]) -> None:
    from gitmem.memory.sync.server import guard

    if len(args) != 1:
        raise UsageError("Name one bare repository.", hint="As in `gitmem hook install PATH`.")
    hook_path = guard(app.world.path(args[0]), python=sys.executable)
    app.out.line(f"{hook_path} is in place: every push is checked from now on.")


def _bundle(app: App) -> Memory:
    """The bundle that git is in, whatever -C or $GITMEM_BUNDLE say: git sets the directory."""
    from gitmem.memory.opening import open_bundle

    app.bundle = open_bundle(app.world, app.world.cwd, "as is")
    return app.bundle


def _index_path(app: App, bundle: Memory) -> str:
    given = app.world.env.get("GIT_INDEX_FILE")
    return os.path.join(app.world.cwd, given) if given else bundle.repository.index_file.path


def _refuse(app: App, problems: list[str], what: str) -> None:
    for problem in problems:
        complain(problem, env=app.world.env)
    if problems:
        how = f"Repair that and try again, or skip the check: `git {what} --no-verify`."
        raise GitMemError(f"The {what} was stopped.", hint=how)


def _commit_msg(app: App, bundle: Memory, path: str) -> None:
    from gitmem.memory.upkeep.git_hooks import commit_msg

    git_dir = bundle.repository.git_dir
    with open(path, encoding="utf-8", errors="surrogateescape", newline="") as file:
        message = file.read()
    # Git sets this where it opened no editor; then a line with # is part of the message.
    comments = app.world.env.get("GIT_EDITOR") != ":"
    kind = "merge" if os.path.exists(os.path.join(git_dir, "MERGE_HEAD")) else "edit"
    wanted = commit_msg(message, kind=kind, machine=bundle.config.machine, comments=comments)
    if wanted != message:
        with open(path, "w", encoding="utf-8", errors="surrogateescape", newline="") as file:
            file.write(wanted)
