"""What came from other machines, noted when it comes: a pulled `verified: human` is only a machine's word here.

A commit can claim any author and machine. What it cannot do is enter without being fetched; so each fetch notes
which tip came onto which, in `<git dir>/gitmem/pulled`, before any of it can be read.
"""

from __future__ import annotations

from functools import cached_property

from gitmem.errors import GitMemError
from gitmem.git.ancestry import only_in
from gitmem.git.objects import Oid
from gitmem.git.repository import Repository
from gitmem.state import PULLED

_NOTHING = "0" * 40


def note_pulled(repository: Repository, theirs: Oid, ours: Oid | None) -> None:
    """Note that all of `theirs` that `ours` does not stand on came from elsewhere."""
    repository.state.append_line(PULLED, f"{theirs} {ours or _NOTHING}", durable=True)


def pulled_commits(repository: Repository) -> set[Oid]:
    """Every commit that came from elsewhere by a sync, a clone or a `git pull` with our hooks."""
    found: set[Oid] = set()
    for line in (repository.state.read(PULLED) or b"").decode("ascii", "replace").splitlines():
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
