"""The history as a graph of commits: walk it, filter it, and find what touched a path."""

from __future__ import annotations

import heapq
from collections.abc import Iterator

from gitmem.git.clocks import skew
from gitmem.git.objects import Commit, Oid
from gitmem.git.repository import Repository
from gitmem.git.tree import Tree
from gitmem.git.tree_diff import TreeChange, TreeDiff


def walk(repository: Repository, tip: Oid) -> Iterator[Commit]:
    """Every commit that `tip` stands on, newest first.

    A commit comes before its parents, whatever the clocks said: it waits until all that may stand on it was seen.
    """
    store, reach = repository.store, skew(repository, [tip])
    first = store.commit(tip)
    ahead = [(-first.committer.time, tip)]
    children = {tip: 0}
    ready = list(ahead)
    given: set[Oid] = set()
    while ready:
        rank, oid = ready[0]
        while ahead and ahead[0][0] - reach <= rank:
            _, seen = heapq.heappop(ahead)
            for parent in store.commit(seen).parents:
                if parent not in children:
                    children[parent] = 0
                    heapq.heappush(ahead, (-store.commit(parent).committer.time, parent))
                children[parent] += 1
        heapq.heappop(ready)
        if children[oid] or oid in given:  # one more stands on it, and it comes, or came, after that one
            continue
        given.add(oid)
        commit = store.commit(oid)
        yield commit
        for parent in commit.parents:
            children[parent] -= 1
            if not children[parent]:
                heapq.heappush(ready, (-store.commit(parent).committer.time, parent))


def first_parents(repository: Repository, tip: Oid) -> Iterator[Commit]:
    """The line of commits that `main` itself stood at, newest first."""
    current: Oid | None = tip
    while current is not None:
        commit = repository.store.commit(current)
        yield commit
        current = commit.parents[0] if commit.parents else None


def tree_changes(repository: Repository, tip: Oid) -> Iterator[tuple[Commit, list[TreeChange]]]:
    """Every commit on the line of `main` with the files it changed, oldest first."""
    diff = TreeDiff(repository.store)
    for commit in reversed(list(first_parents(repository, tip))):
        yield commit, list(diff.of_commit(commit))


def touches(repository: Repository, commit: Commit, path: str) -> bool:
    """Whether the commit changed something at or below `path`, against each of its parents."""
    here = Tree(repository.store, commit.tree).entry(path)
    if not commit.parents:
        return here is not None
    return all(repository.tree(parent).entry(path) != here for parent in commit.parents)
