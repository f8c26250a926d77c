"""After a crash: finish what a dead writer began, and tell its stale files from a person's edits."""

from __future__ import annotations

import contextlib
import os
import time

from gitmem.git.gitlocks import PreparedLock, break_stale
from gitmem.git.objects import Oid
from gitmem.git.pending import Pending
from gitmem.git.repository import Repository
from gitmem.git.tree import Tree
from gitmem.git.worktree import HandEdit

_FAR = 10_000


def recover(repository: Repository) -> list[str]:
    """Finish what a dead writer began; gives the paths that were brought along.

    The caller holds the bundle lock, so whoever wrote the note is dead or done.
    """
    note = repository.pending.read()
    if note is None:
        return []
    break_stale(note.locks)
    stale: list[str] = []
    tip = repository.tip()
    if tip is not None and _follows(repository, tip, note.new):
        stale = sorted(_stale(repository, note))
        target = repository.tree(tip)
        for path in stale:
            repository.worktree.bring(path, target.entry(path))
        _mend_index(repository, note, target)
    for name in os.listdir(repository.scratch):
        with contextlib.suppress(OSError):
            os.unlink(os.path.join(repository.scratch, name))
    repository.pending.settle()
    return stale


def hand_edits(repository: Repository) -> list[HandEdit]:
    """What a person changed in the work tree or staged since the tip; stale files are not edits."""
    tip = repository.tip()
    edits = repository.worktree.hand_edits(repository.tree(tip), tip or "")
    note = repository.pending.read() if edits else None
    if note is None or tip is None or not _follows(repository, tip, note.new):
        return edits
    stale = _stale(repository, note)
    return [edit for edit in edits if edit.path not in stale]


def _stale(repository: Repository, note: Pending) -> set[str]:
    """Files that still are what the old tip has: the writer had no time for them."""
    old, new = repository.tree(note.old), repository.tree(note.new)
    return {
        path
        for path in note.paths
        if old.entry(path) != new.entry(path) and repository.worktree.holds(path, old.entry(path))
    }


def _mend_index(repository: Repository, note: Pending, target: Tree) -> None:
    worktree = repository.worktree
    lock = PreparedLock(worktree.index_path, os.path.join(repository.scratch, "mend-index"))
    try:
        lock.take(time.monotonic() + 5.0)
        lock.write(worktree.mended_index(note.paths, repository.tree(note.old), target))
        lock.commit()
    finally:
        lock.release()


def _follows(repository: Repository, tip: Oid, commit: Oid) -> bool:
    """Whether `commit` is on the first-parent line of `tip`, near its end."""
    current: Oid | None = tip
    for _ in range(_FAR):
        if current is None or current == commit:
            break
        parents = repository.store.commit(current).parents
        current = parents[0] if parents else None
    return current == commit
