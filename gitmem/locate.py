"""The place of a bundle, found by the cheapest signs before anything of weight is imported."""

from __future__ import annotations

import os

TYPE_CHECKING = False  # as type checkers know it: `typing` itself would be most of what importing this costs
if TYPE_CHECKING:
    from collections.abc import Iterator

    from gitmem.world import World


_MOVED_ASIDE = ".gitmem-tmp-git-old-git"
"""The git directory while another one takes its place, where a file system cannot exchange the two."""


def upwards(path: str) -> Iterator[str]:
    """A directory and those above it."""
    while True:
        yield path
        above = os.path.dirname(path)
        if above == path:
            return
        path = above


def memories(world: World) -> list[str]:
    """The list of memories that this user made, cloned or trusted on this machine; none where others could write it."""
    path = _list(world)
    try:
        with open(path, encoding="utf-8", errors="surrogateescape", opener=_opened) as file:
            is_own = os.fstat(file.fileno()).st_uid == os.getuid()
            return file.read().splitlines() if is_own else []
    except OSError:
        return []


def enlist(world: World, root: str) -> None:
    """Add a memory to the list of its user."""
    path, place = _list(world), os.path.realpath(root)
    if not path or "\n" in place or place in memories(world):
        return
    os.makedirs(os.path.dirname(path), mode=0o700, exist_ok=True)
    with open(path, "a", encoding="utf-8", errors="surrogateescape", opener=_opened) as file:
        file.write(place + "\n")


def _list(world: World) -> str:
    return os.path.join(world.config_home, "memories") if world.config_home else ""


def _opened(path: str, flags: int) -> int:
    return os.open(path, flags | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC, 0o600)


def holds_files(path: str) -> bool:
    """Return whether a directory holds the files of a bundle, with or without its history."""
    return os.path.isfile(os.path.join(path, "config", "agent.md"))


def is_bundle(path: str) -> bool:
    """Return whether a directory is the work tree of a bundle that `init` or `clone` made, or took in, on this machine.

    The files alone do not say so: every clone of a stranger's repository may have them.
    """
    if not any(os.path.lexists(os.path.join(path, name)) for name in (".git", _MOVED_ASIDE)):
        return False
    from gitmem.errors import GitMemError
    from gitmem.git.git_directory import git_dir_of
    from gitmem.state import LocalState

    try:
        git_dir = git_dir_of(path)
    except GitMemError:
        return False
    return git_dir is not None and LocalState(git_dir).is_there


def is_repository(path: str) -> bool:
    """Return whether a directory is any git repository, a bare one too."""
    from gitmem.git.git_directory import is_bare

    return os.path.lexists(os.path.join(path, ".git")) or is_bare(path)
