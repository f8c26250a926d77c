"""The place of a bundle, found by the cheapest signs before anything of weight is imported."""

from __future__ import annotations

import os

TYPE_CHECKING = False  # as type checkers know it: `typing` itself would be most of what importing this costs
if TYPE_CHECKING:
    from collections.abc import Iterator


def upwards(path: str) -> Iterator[str]:
    """A directory and those above it."""
    while True:
        yield path
        above = os.path.dirname(path)
        if above == path:
            return
        path = above


def nearest_bundle(path: str) -> str:
    """The nearest directory, this one or one above it, that is a bundle; empty where none is."""
    return next((directory for directory in upwards(path) if is_bundle(directory)), "")


def holds_files(path: str) -> bool:
    """Return whether a directory holds the files of a bundle, with or without its history."""
    return os.path.isfile(os.path.join(path, "config", "agent.md"))


def is_bundle(path: str) -> bool:
    """Return whether a directory is the work tree of a bundle that `init` or `clone` made, or took in, on this machine.

    The files alone do not say so: every clone of a stranger's repository may have them.
    """
    if not os.path.lexists(os.path.join(path, ".git")):
        return False
    from gitmem.errors import GitMemError
    from gitmem.git.setup import git_dir_of
    from gitmem.state import LocalState

    try:
        git_dir = git_dir_of(path)
    except GitMemError:
        return False
    return git_dir is not None and LocalState(git_dir).is_there


def is_repository(path: str) -> bool:
    """Return whether a directory is any git repository, a bare one too."""
    if os.path.lexists(os.path.join(path, ".git")):
        return True
    return os.path.isfile(os.path.join(path, "HEAD")) and os.path.isdir(os.path.join(path, "objects"))
