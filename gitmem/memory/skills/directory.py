"""A skill in a directory on this machine: read as a whole, or not at all."""

from __future__ import annotations

import os
from collections.abc import Iterator

from gitmem.errors import InvalidContent, TooLarge
from gitmem.files import open_regular
from gitmem.okf.skills import MAX_FILE, MAX_FILES, SKILL_FILE, check_file_path

LEFT_OUT = frozenset(("venv", "node_modules", "site-packages", "__pycache__"))
"""Directories in which no agent looks for skills."""


def read_skill(directory: str) -> dict[str, bytes]:
    """All files of a skill by their paths inside it; raises where one of them cannot be part of a skill."""
    files: dict[str, bytes] = {}
    for name in files_below(directory):
        full = os.path.join(directory, *name.split("/"))
        if name != SKILL_FILE:
            check_file_path(name)
        files[name] = read_steadily(full)
        if len(files) > MAX_FILES:
            raise TooLarge(f"{directory} has more than {MAX_FILES} files, which is as many as a skill has.")
    if SKILL_FILE not in files:
        raise InvalidContent(f"{directory} has no {SKILL_FILE}: it is not a skill.")
    return files


def _is_looked_into(name: str) -> bool:
    """Return whether a directory of that name may hold skills or their files."""
    return not name.startswith(".") and name not in LEFT_OUT


def skills_below(top: str) -> Iterator[tuple[str, str]]:
    """The category and the directory of each skill below a directory; what lies below one belongs to it."""
    for directory, below, names in os.walk(top):
        below[:] = sorted(filter(_is_looked_into, below))
        if SKILL_FILE in names and directory != top:
            below[:] = []
            category = os.path.relpath(os.path.dirname(directory), top).replace(os.sep, "/")
            yield "" if category == os.curdir else category, directory


def files_below(directory: str, *, strict: bool = True) -> Iterator[str]:
    """The files below a directory, without hidden ones; a link is left out, or with `strict` an error."""
    for current, below, names in os.walk(directory):
        below[:] = sorted(filter(_is_looked_into, below))
        for name in [*below, *sorted(names)]:
            full = os.path.join(current, name)
            inside = os.path.relpath(full, directory).replace(os.sep, "/")
            if os.path.islink(full):
                if not strict:
                    continue
                raise InvalidContent(f"{inside} is a symbolic link, which a skill has none of.")
            if name in below or name.startswith(".") or name.endswith((".pyc", ".tmp")):
                continue
            yield inside


def read_steadily(path: str) -> bytes:
    """The bytes of a regular file; raises where it is too large, or changes while it is read."""
    descriptor = open_regular(path)
    with os.fdopen(descriptor, "rb") as file:
        before = os.fstat(descriptor)
        if before.st_size > MAX_FILE:
            raise TooLarge(f"{path} has {before.st_size:,} bytes: at most {MAX_FILE:,}.")
        data = file.read(MAX_FILE + 1)
        after = os.fstat(descriptor)
    same = (before.st_size, before.st_mtime_ns) == (after.st_size, after.st_mtime_ns)
    if not same or len(data) != after.st_size:
        raise InvalidContent(f"{path} changes while it is read: try again.")
    return data
