"""Checks that a directory may be used: it is the user's own, and nothing in its git directory leads elsewhere.

A bundle may be copied, unpacked or downloaded. Its files are read as data, and its git configuration is never obeyed
(`git_program.py`); what is left is to write nothing outside, and to believe nothing that another user wrote.
"""

from __future__ import annotations

import os

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from gitmem.world import World

VARIABLE = "GITMEM_SAFE_DIRECTORY"
"""Directories of other users that may be worked on, with `:` between them, `*` for all."""

_APPENDED = ("gitmem", "logs")
"""Where gitmem writes into files as they are. Elsewhere it renames, which follows no link to a file."""
_RENAMED = ("refs", "objects")
_OWN_TO_A_PROCESS = os.path.join("gitmem", "tmp")
"""Nothing is written through what lies there: a process makes new names in a directory of its own, and a sweep of those
of dead processes follows no link."""


def check(root: str, git_dir: str, world: World) -> None:
    """Nothing where the bundle may be worked on; else BundleUnusable says why not, and how to allow it."""
    foreign = next(foreign_places(root, git_dir, world.env), "")
    allowed = world.env.get(VARIABLE, "").split(os.pathsep)
    if (
        foreign
        and "*" not in allowed
        and os.path.realpath(root) not in map(os.path.realpath, filter(None, allowed))
    ):
        raise _refusal(
            f"{foreign} belongs to another user: gitmem does not work on it.",
            f"If you trust it, set {VARIABLE} to {root}.",
        )
    if other := _other_work_tree(root, git_dir):
        raise _refusal(f"The git directory of {root} is that of {other}.", f"Work in {other}.")
    if away := next(links(git_dir), ""):
        raise _refusal(
            f"{away} is a symbolic link: gitmem does not write through one.",
            "Put what it leads to in its place.",
        )


def _refusal(what: str, hint: str) -> Exception:
    from gitmem.errors import BundleUnusable

    return BundleUnusable(what, hint=hint)


def foreign_places(root: str, git_dir: str, env: Mapping[str, str]) -> Iterator[str]:
    """Yield the places of a bundle that another user owns, as git checks: work tree, git directory, and the link between
    them.
    """
    ours = {os.geteuid()}
    if ours == {0} and env.get("SUDO_UID", "").isdecimal():  # root by sudo works for its caller
        ours.add(int(env["SUDO_UID"]))
    for path in dict.fromkeys((root, os.path.join(root, ".git"), git_dir)):
        try:
            if os.lstat(path).st_uid not in ours:
                yield path
        except OSError:
            continue


def links(git_dir: str) -> Iterator[str]:
    """Symbolic links in the git directory through which gitmem would write."""
    for name in (*_APPENDED, *_RENAMED, "info"):
        path = os.path.join(git_dir, name)
        if os.path.islink(path):
            yield path
    todo = [os.path.join(git_dir, name) for name in (*_APPENDED, *_RENAMED)]
    while todo:
        directory = todo.pop()
        appended = directory.startswith(tuple(os.path.join(git_dir, name) for name in _APPENDED))
        try:
            with os.scandir(directory) as found:
                entries = list(found)
        except OSError:
            continue
        for entry in entries:
            if entry.is_symlink():
                if appended or entry.is_dir():
                    yield entry.path
            elif (
                entry.is_dir()
                and os.path.basename(directory) != "objects"
                and entry.path != os.path.join(git_dir, _OWN_TO_A_PROCESS)
            ):
                todo.append(entry.path)


def _other_work_tree(root: str, git_dir: str) -> str:
    """The work tree that a git directory lies in, or that names it, where that is another one than `root`."""
    real = os.path.realpath(git_dir)
    own, end = os.path.splitext(real) if os.path.basename(real) != ".git" else (os.path.dirname(real), ".git")
    if end != ".git" or own == os.path.realpath(root) or not os.path.isdir(own):
        return ""
    if real == os.path.join(own, ".git"):
        return own
    from gitmem.git.git_directory import git_dir_of

    linked = git_dir_of(own) if os.path.lexists(os.path.join(own, ".git")) else None
    return own if linked is not None and os.path.realpath(linked) == real else ""
