"""Ancestry: what two lines of history have in common, and what only one of them has.

It goes by the graph. A date decides only what is looked at first, never the answer: clocks are wrong, and a commit may
say that it is older than those it stands on. `clocks.py` knows by how much, so that a walk knows when it may end.
"""

from __future__ import annotations

import heapq
from collections.abc import Iterable

from gitmem.git.clocks import skew
from gitmem.git.objects import Oid
from gitmem.git.painting import OURS, paint
from gitmem.git.repository import Repository


def is_ancestor(repository: Repository, ancestor: Oid, descendant: Oid) -> bool:
    """Whether `descendant` stands on `ancestor`."""
    return merge_bases(repository, ancestor, descendant) == [ancestor]


def strangers(repository: Repository, commits: Iterable[Oid], tip: Oid) -> set[Oid]:
    """Of some commits those that `tip` does not stand on, in one walk for all of them."""
    asked = sorted(set(commits))
    colours = paint(repository, asked, [tip], skew=skew(repository, [tip, *asked]))
    return {oid for oid in asked if colours[oid] == OURS}


def merge_bases(repository: Repository, ours: Oid, theirs: Oid) -> list[Oid]:
    """The best common ancestors of two commits, in order of their ids; several after a criss-cross."""
    if ours == theirs:
        return [ours]
    # What is below something common is not asked for: whichever way the clocks went, the walk may end there.
    colours = paint(repository, [ours], [theirs])
    common = {oid for oid, colour in colours.items() if colour & 3 == 3}
    inner = {parent for oid in common for parent in repository.store.commit(oid).parents}
    return _without_ancestors(repository, sorted(common - inner))


def only_in(repository: Repository, tip: Oid, *known: Oid | None) -> list[Oid]:
    """Commits that `tip` stands on and none of `known` does, children before parents, else the newest first."""
    others = [oid for oid in known if oid is not None]
    reach = skew(repository, [tip, *others]) if others else None
    colours = paint(repository, [tip], others, skew=reach)
    return _children_first(repository, {oid for oid, colour in colours.items() if colour == OURS})


def _children_first(repository: Repository, commits: set[Oid]) -> list[Oid]:
    store = repository.store
    children = dict.fromkeys(commits, 0)
    for oid in commits:
        for parent in store.commit(oid).parents:
            if parent in children:
                children[parent] += 1
    ready = [(-store.commit(oid).committer.time, oid) for oid, count in children.items() if not count]
    heapq.heapify(ready)
    found: list[Oid] = []
    while ready:
        _, oid = heapq.heappop(ready)
        found.append(oid)
        for parent in store.commit(oid).parents:
            if parent in children:
                children[parent] -= 1
                if not children[parent]:
                    heapq.heappush(ready, (-store.commit(parent).committer.time, parent))
    return found


def _without_ancestors(repository: Repository, commits: list[Oid]) -> list[Oid]:
    """Of common ancestors those that no other one stands on; clocks that lie can leave more."""
    if len(commits) < 2:
        return commits
    seen: set[Oid] = set()
    todo = [parent for one in commits for parent in repository.store.commit(one).parents]
    while todo:
        oid = todo.pop()
        if oid not in seen:
            seen.add(oid)
            todo += repository.store.commit(oid).parents
    return sorted(set(commits) - seen)
