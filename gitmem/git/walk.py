"""The history as a graph of commits: walk it, filter it, and find what touched a path."""

from __future__ import annotations

import heapq
from collections.abc import Iterable, Iterator

from gitmem.git.objects import Commit, Oid
from gitmem.git.repository import Repository
from gitmem.git.tree import Tree
from gitmem.git.tree_diff import TreeChange, TreeDiff


def walk(repository: Repository, tip: Oid) -> Iterator[Commit]:
    """Every commit that `tip` stands on, newest first.

    A commit comes before its parents, whatever the clocks said: a parent never counts as newer
    than the child through which it was reached.
    """
    store = repository.store
    first = store.commit(tip)
    waiting = [(-first.committer.time, 0, first)]
    seen = {tip}
    number = 0
    while waiting:
        rank, _, commit = heapq.heappop(waiting)
        yield commit
        for parent in commit.parents:
            if parent not in seen:
                seen.add(parent)
                number += 1
                found = store.commit(parent)
                heapq.heappush(waiting, (max(rank, -found.committer.time), number, found))


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


def not_in(repository: Repository, tip: Oid, known: Iterable[Oid]) -> Iterator[Commit]:
    """Commits that `tip` stands on and none of `known` does: what a push would send.

    Where clocks jumped it may give a commit too many, never one too few.
    """
    store = repository.store
    new: dict[Oid, bool] = {tip: True}
    new.update((oid, False) for oid in known if oid in store)
    waiting = [(-store.commit(oid).committer.time, oid) for oid in new]
    heapq.heapify(waiting)
    done: set[Oid] = set()
    while waiting and any(new[oid] for _, oid in waiting):
        _, oid = heapq.heappop(waiting)
        if oid in done:
            continue
        done.add(oid)
        commit = store.commit(oid)
        if new[oid]:
            yield commit
        for parent in commit.parents:
            if parent not in new or (new[parent] and not new[oid]):
                again = parent in done
                new[parent] = new[oid]
                if not again:
                    heapq.heappush(waiting, (-store.commit(parent).committer.time, parent))
