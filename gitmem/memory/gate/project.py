"""The working directory of an agent: whose it is, and the project whose files it has."""

from __future__ import annotations

import hashlib
import os
import re
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from gitmem.memory.bundle import Bundle

_ORIGIN = re.compile(r"\[remote \"origin\"\][^\[]*?\burl\s*=\s*(\S+)")
_SMALL = 1_000_000


class WorkingDirectory(NamedTuple):
    """A directory that is the user's own, or None; and the name of its project, empty outside of a repository."""

    own: str | None = ""
    project: str = ""


def here(bundle: Bundle) -> WorkingDirectory:
    """The working directory of this process."""
    return working_directory(bundle.world.cwd, bundle.config.own_directories, bundle.config.machine)


def project_here(bundle: Bundle) -> str:
    return here(bundle).project


@lru_cache(maxsize=16)
def working_directory(path: str, ours: str = "", machine: str = "") -> WorkingDirectory:
    """Return what a working directory is; `ours` lists directories that a person called their own, as in $PATH.

    A repository is one's own if something was committed in it here, by its reflog: a clone that was only pulled is not.
    """
    for place in (path, *map(str, Path(path).parents)) if path else ():
        if git_dir := _git_dir(place):
            called_own = any(
                f"{path}/".startswith(f"{one.rstrip('/')}/") for one in ours.split(os.pathsep) if one
            )
            is_own = called_own or any(map(_was_committed_in, {git_dir, _shared(git_dir)}))
            return WorkingDirectory(path if is_own else None, _name(place, _shared(git_dir), machine))
    return WorkingDirectory(path)


def _git_dir(place: str) -> str:
    """The git directory of a work tree, also of a linked one; empty where it is none."""
    found = os.path.join(place, ".git")
    if os.path.isdir(found):
        return found
    named = _read(found).partition("gitdir:")[2].strip()
    return os.path.normpath(os.path.join(place, named)) if named else ""


def _shared(git_dir: str) -> str:
    """The git directory that the linked work trees of a repository have in common."""
    named = _read(os.path.join(git_dir, "commondir")).strip()
    return os.path.normpath(os.path.join(git_dir, named)) if named else git_dir


def _was_committed_in(git_dir: str) -> bool:
    log = _read(os.path.join(git_dir, "logs", "HEAD"))
    return any(line.partition("\t")[2].startswith("commit") for line in log.splitlines())


def _name(place: str, git_dir: str, machine: str) -> str:
    """A name for a repository, the same on every machine that has it from the same place."""
    origin = _ORIGIN.search(_read(os.path.join(git_dir, "config")))
    identity = origin[1] if origin else f"{machine}:{git_dir}"
    title = re.sub(r"[^\w.-]", "_", os.path.basename(place))[:40]
    return f"{title}-{hashlib.sha256(identity.encode()).hexdigest()[:6]}"


def _read(path: str) -> str:
    try:
        with open(path, encoding="utf-8", errors="replace") as file:
            return file.read(_SMALL)
    except OSError:
        return ""
