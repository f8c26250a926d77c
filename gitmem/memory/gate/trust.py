"""What came from other machines, noted when it comes: a pulled `verified: human` is only a machine's word here.

A commit can claim any author and machine. What it can not do is enter without being fetched; so each fetch notes
which tip came onto which, in `<git dir>/gitmem/pulled`, before any of it can be read.
"""

from __future__ import annotations

import os
from functools import cached_property

from gitmem.errors import GitMemError
from gitmem.files import read_file, write_all
from gitmem.git.ancestry import only_in
from gitmem.git.objects import Oid
from gitmem.git.repository import Repository

_NOTHING = "0" * 40


def note_pulled(repository: Repository, theirs: Oid, ours: Oid | None) -> None:
    """Note that all of `theirs` that `ours` does not stand on came from elsewhere."""
    path = _path(repository)
    os.makedirs(os.path.dirname(path), exist_ok=True)
    descriptor = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o644)
    try:
        write_all(descriptor, f"{theirs} {ours or _NOTHING}\n".encode())
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def pulled_commits(repository: Repository) -> set[Oid]:
    """Every commit that came from elsewhere by a sync, a clone or a `git pull` with our hooks."""
    found: set[Oid] = set()
    for line in (read_file(_path(repository)) or b"").decode("ascii", "replace").splitlines():
        theirs, _, ours = line.partition(" ")
        try:
            found.update(only_in(repository, theirs, ours if ours != _NOTHING else None))
        except GitMemError:  # noted, and then not taken: it is not in our history either
            continue
    return found


class Vouching:
    """Tells whether a commit is a person's on this machine, so that its `verified: human` may be believed."""

    def __init__(self, repository: Repository, machine: str) -> None:
        self._repository = repository
        self._machine = machine

    @cached_property
    def _pulled(self) -> set[Oid]:
        return pulled_commits(self._repository)

    def vouches(self, oid: Oid, *, kind: str, machine: str, source: str) -> bool:
        """By what a commit says of itself, and whether it was made here."""
        by_a_person = kind == "edit" or source.startswith("released by ")
        return by_a_person and machine == self._machine and oid not in self._pulled


def _path(repository: Repository) -> str:
    return os.path.join(repository.state_dir, "pulled")
