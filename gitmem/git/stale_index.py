"""Git's index put back by a plain git command that had read it before a commit of ours.

`git commit` reads the index first and locks it after. When our commit falls between the two, git
writes the old index over ours, and is then refused, because the branch has moved. Nothing is lost,
but the index now says that a person staged the way back. This tells the two apart: the index has
exactly what an earlier tip had, for everything that our last commits changed, while the work tree
has the present tip's files.
"""

from __future__ import annotations

from gitmem.errors import BundleUnusable
from gitmem.git.objects import TreeEntry
from gitmem.git.pending import Pending
from gitmem.git.repository import Repository

_COMMITS = 50


def taken_back(repository: Repository) -> Pending | None:
    """A note of what the index lags behind with; None where it does not."""
    tip, last = repository.tip(), repository.pending.last()
    worktree = repository.worktree
    if tip is None or last is None or last.new != tip or worktree.index_is_ours(tip):
        return None
    try:
        repository.refuse_if_busy()
        worktree.tracked()
    except BundleUnusable:  # in the middle of a merge an index has every right to differ
        return None
    target = repository.tree(tip)
    paths: set[str] = set()
    current = tip
    for _ in range(_COMMITS):
        parents = repository.store.commit(current).parents
        if not parents or parents[0] not in repository.store:  # a shallow clone ends before the beginning
            break
        older = repository.tree(parents[0])
        paths |= {change.path for change in older.changes(repository.tree(current))}
        current = parents[0]
        for path in paths:
            listed = worktree.listed(path)
            # The usual case first: somebody wrote the index, and it has what we last committed.
            if listed == _id(target.entry(path)) != _id(older.entry(path)):
                return None
            if listed != _id(older.entry(path)):
                break
        else:
            held = all(worktree.holds(path, target.entry(path)) for path in paths)
            return Pending(current, tip, tuple(sorted(paths))) if paths and held else None
    return None


def _id(entry: TreeEntry | None) -> str | None:
    return None if entry is None or entry.is_directory else entry.oid
