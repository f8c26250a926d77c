"""Provenance: made on this machine or pulled; of pulled commits, machine, session and `verified: human` are claims.

A commit can claim any author and machine. What it cannot do is to be made here: `main` moves to it then, and git's
reflog, which never travels, says how. Each fetch notes too which tip came onto which, and from where, in
`<git dir>/gitmem/pulled`, before any of it can be read.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator
from functools import cached_property
from itertools import chain

from gitmem.errors import GitMemError
from gitmem.git.commit_graph import only_in, strangers
from gitmem.git.message import KINDS
from gitmem.git.objects import Oid
from gitmem.git.refs import BRANCH
from gitmem.git.repository import Repository
from gitmem.memory.origin import RELEASED
from gitmem.state import PULLED

ELSEWHERE = "elsewhere"
_NOTHING = "0" * 40
_BY_GIT = ("commit:", "commit (initial):", "commit (merge):")
_AMENDED = "commit (amend):"
_WRITTEN_BY_GIT = re.compile(
    r"(commit|cherry-pick|revert|am)\b[^:]*: |(pull|rebase)\b.*\((pick|reword|edit|squash|fixup|continue)\): "
)
"""How git's log begins where a commit was written on this machine, on whatever branch and whoever's words it holds."""


def note_pulled(repository: Repository, theirs: Oid, ours: Oid | None, remote: str = "") -> None:
    """Note that all of `theirs` that `ours` does not stand on came from a remote."""
    line = f"{theirs} {ours or _NOTHING} {''.join(remote.splitlines())}".rstrip()
    repository.state.append_line(PULLED, line, durable=True)


def _is_making(message: str) -> bool:
    """Tell by a line of the reflog whether its commit was made here: an adopted one never has a kind for its first word."""
    return message.startswith(_BY_GIT) or message.partition(":")[0] in KINDS


class Provenance:
    """Tells of a commit whether it was made here, and if not where it was pulled from, as things are now."""

    def __init__(self, repository: Repository) -> None:
        self._repository = repository
        self._moves: Iterator[tuple[Oid, Oid, str]] = repository.refs.moves(BRANCH)
        self._made: dict[Oid, Oid] = {}

    def is_made_here(self, oid: Oid) -> bool:
        """Return whether `main` came to this commit by making it."""
        if self._repository.is_foreign:
            return False
        while oid not in self._made:
            move = next(self._moves, None)  # newest first, as a log is read
            if move is None:
                return False
            old, new, message = move
            if message.startswith(_AMENDED):
                self._made.setdefault(new, old)
            elif _is_making(message):
                self._made.setdefault(new, "")
        amended = self._made[oid]
        return not amended or self.is_made_here(amended)  # what was pulled and amended was pulled

    def is_by_person(self, oid: Oid, *, kind: str, source: str) -> bool:
        """Return whether a person made a commit on this machine, so that its `verified: human` may be believed."""
        return (kind == "edit" or source.startswith(RELEASED)) and self.is_made_here(oid)

    def pulled_from(self, oid: Oid) -> str:
        """The remote that a commit came from, as far as it is known; empty where it was made here."""
        return "" if self.is_made_here(oid) else self._pulled.get(oid, ELSEWHERE)

    def came(self, commits: Collection[Oid]) -> set[Oid]:
        """Of some commits those that came from a remote. That one has a commit does not say so: it may be sent from here."""
        repository = self._repository
        unknown = set(commits) - self._pulled.keys()
        for seen in repository.refs.under("refs/remotes/").values():
            if unknown:
                unknown = strangers(repository, unknown, seen)
        return set(commits) - unknown - self._written_here

    @cached_property
    def _written_here(self) -> set[Oid]:
        moves = chain.from_iterable(map(self._repository.refs.moves, (BRANCH, "HEAD")))
        return {new for _, new, message in moves if _WRITTEN_BY_GIT.match(message) or _is_making(message)}

    @cached_property
    def _pulled(self) -> dict[Oid, str]:
        found: dict[Oid, str] = {}
        for line in (self._repository.state.read(PULLED) or b"").decode("utf-8", "replace").splitlines():
            theirs, ours, remote = (*line.split(" ", 2), "", "")[:3]
            try:
                came = only_in(self._repository, theirs, ours if ours != _NOTHING else None)
            except GitMemError:  # noted, and then not taken: it is not in our history either
                continue
            for oid in came:
                found.setdefault(oid, remote or ELSEWHERE)
        return found
