"""Commits painted from two ends of the history: who stands on what."""

from __future__ import annotations

import heapq
from collections.abc import Sequence

from gitmem.git.objects import Oid
from gitmem.git.repository import Repository

OURS, THEIRS, COMMON = 1, 2, 4


def paint(
    repository: Repository, ours: Sequence[Oid], theirs: Sequence[Oid], *, skew: int | None = None
) -> dict[Oid, int]:
    """Commits with the sides that stand on them, until all that is left is below something common.

    A colour is never wrong, but one may be missing: of a commit that is ours, and below something common which
    claims to be older. With the history's `skew` (see `clocks.py`) the walk goes on until there is none.
    """
    store = repository.store
    colours: dict[Oid, int] = {}
    waiting: list[tuple[int, Oid]] = []
    queued: set[Oid] = set()
    undecided = 0
    oldest: int | None = None
    """What may stand on a commit that is ours alone so far is not older than this; negative, as in `waiting`."""

    def add(oid: Oid, colour: int) -> None:
        nonlocal undecided
        before = colours.get(oid, 0)
        after = before | colour
        if after == before:
            return
        colours[oid] = after
        if oid not in queued:
            queued.add(oid)
            heapq.heappush(waiting, (-store.commit(oid).committer.time, oid))
            undecided += not after & COMMON
        elif after & COMMON and not before & COMMON:
            undecided -= 1

    for oid in ours:
        add(oid, OURS)
    for oid in theirs:
        add(oid, THEIRS)
    while waiting and (undecided or (oldest is not None and waiting[0][0] <= oldest)):
        rank, oid = heapq.heappop(waiting)
        queued.discard(oid)
        colour = colours[oid]
        undecided -= not colour & COMMON
        if colour == OURS and skew is not None:
            oldest = rank + skew if oldest is None else max(oldest, rank + skew)
        below = colour | COMMON if colour & 3 == 3 else colour
        for parent in store.commit(oid).parents:
            add(parent, below)
    return colours
