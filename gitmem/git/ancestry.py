"""Ancestry: what two lines of history have in common, and what only one of them has."""

from __future__ import annotations

import heapq

from gitmem.git.objects import Oid
from gitmem.git.repository import Repository

_OURS, _THEIRS, _COMMON = 1, 2, 4


def is_ancestor(repository: Repository, ancestor: Oid, descendant: Oid) -> bool:
    """Whether `descendant` stands on `ancestor`."""
    return merge_bases(repository, ancestor, descendant) == [ancestor]


def merge_bases(repository: Repository, ours: Oid, theirs: Oid) -> list[Oid]:
    """The best common ancestors of two commits, in order of their ids; several after a criss-cross."""
    if ours == theirs:
        return [ours]
    colours = _painted(repository, ours, theirs)
    common = {oid for oid, colour in colours.items() if colour & 3 == 3}
    inner = {parent for oid in common for parent in repository.store.commit(oid).parents}
    return _without_ancestors(repository, sorted(common - inner))


def only_in(repository: Repository, tip: Oid, known: Oid | None) -> list[Oid]:
    """Commits that `tip` stands on and `known` does not, the newest first."""
    colours = _painted(repository, tip, known)
    found = [oid for oid, colour in colours.items() if colour == _OURS]
    return sorted(found, key=lambda oid: (-repository.store.commit(oid).committer.time, oid))


def _painted(repository: Repository, ours: Oid, theirs: Oid | None) -> dict[Oid, int]:
    """Commits painted from both ends, newest first, until all that waits is below something common."""
    store = repository.store
    colours: dict[Oid, int] = {}
    waiting: list[tuple[int, Oid]] = []
    queued: set[Oid] = set()
    undecided = 0

    def paint(oid: Oid, colour: int) -> None:
        nonlocal undecided
        before = colours.get(oid, 0)
        after = before | colour
        if after == before:
            return
        colours[oid] = after
        if oid not in queued:
            queued.add(oid)
            heapq.heappush(waiting, (-store.commit(oid).committer.time, oid))
            undecided += not after & _COMMON
        elif after & _COMMON and not before & _COMMON:
            undecided -= 1

    paint(ours, _OURS)
    if theirs is not None:
        paint(theirs, _THEIRS)
    while waiting and undecided:
        _, oid = heapq.heappop(waiting)
        queued.discard(oid)
        colour = colours[oid]
        undecided -= not colour & _COMMON
        below = colour | _COMMON if colour & 3 == 3 else colour
        for parent in store.commit(oid).parents:
            paint(parent, below)
    return colours


def _without_ancestors(repository: Repository, commits: list[Oid]) -> list[Oid]:
    """Of common ancestors those that no other one stands on; clocks that lie can leave more."""
    if len(commits) < 2:
        return commits
    best = set(commits)
    for one in commits:
        seen: set[Oid] = set()
        todo = list(repository.store.commit(one).parents) if one in best else []
        while todo:
            oid = todo.pop()
            if oid not in seen:
                seen.add(oid)
                best.discard(oid)
                todo += repository.store.commit(oid).parents
    return sorted(best)
