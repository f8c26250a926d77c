"""Git's index made again from the tip, where it is lost or damaged."""

from __future__ import annotations

import os
import time

from gitmem.git.lock_files import PreparedLock
from gitmem.git.pending import Pending
from gitmem.git.repository import Repository

_LOCK_WAIT = 2.0


def renew_index(repository: Repository) -> None:
    """Write an index for the tip; the caller holds the bundle lock. What was staged is forgotten."""
    tip = repository.tip()
    tree = repository.tree(tip)
    worktree = repository.worktree
    lock = PreparedLock(worktree.index_path, os.path.join(repository.scratch, f"{os.getpid()}-renew-index"))
    try:
        if tip is not None:  # should we die, the next writer finds the lock and does the same
            note = Pending(tip, tip, (), {"index.lock": lock.inode})
            repository.pending.rewrite(note)
        lock.take(time.monotonic() + _LOCK_WAIT)
        index = worktree.mended_index((), tree, tree, lock.moment)
        begun = time.monotonic()
        lock.put(index.raw, index.mtime)
        lock.linger(begun, len(index.names))
    finally:
        lock.release()
        if tip is not None:
            repository.pending.settle()
        lock.forget()
