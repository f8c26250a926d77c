"""Git's index put back by a plain git command that had read it before a commit of ours.

`git commit` reads the index first and locks it after. When our commit falls between the two, git
writes the old index over ours, and is then refused, because the branch has moved. Nothing is lost,
but the index now says that a person staged the way back. This tells the two apart: the index has
exactly what an earlier tip had, for everything that our last commits changed, while the work tree
has the present tip's files.
"""

from __future__ import annotations

from gitmem.errors import BundleUnusable
from gitmem.git.objects import file_id
from gitmem.git.pending import Pending
from gitmem.git.repository import Repository
from gitmem.git.tree_diff import TreeDiff

_COMMITS = 50


def taken_back(repository: Repository) -> Pending | None:
    """A note of what the index lags behind with; None where it does not."""
    tip, last = repository.tip(), repository.pending.last()
    index = repository.index_file
    if tip is None or last is None or last.new != tip or index.is_ours(tip):
        return None
    try:
        repository.refuse_if_busy()
        index.read()
    except BundleUnusable:  # in the middle of a merge an index has every right to differ
        return None
    target = repository.tree(tip)
    diff = TreeDiff(repository.store)
    paths: set[str] = set()
    current = tip
    for _ in range(_COMMITS):
        commit = repository.store.commit(current)
        if not commit.parents or commit.parents[0] not in repository.store:  # a shallow clone ends here
            break
        paths |= {change.path for change in diff.of_commit(commit)}
        current = commit.parents[0]
        older = repository.tree(current)
        for path in paths:
            listed = index.oid(path)
            # The usual case first: somebody wrote the index, and it has what we last committed.
            if listed == file_id(target.entry(path)) != file_id(older.entry(path)):
                return None
            if listed != file_id(older.entry(path)):
                break
        else:
            held = all(repository.worktree.holds(path, target.entry(path)) for path in paths)
            return Pending(current, tip, tuple(sorted(paths))) if paths and held else None
    return None
