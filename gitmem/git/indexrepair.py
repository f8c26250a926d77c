"""Git's index made again from the tip, where it is lost or damaged."""

from __future__ import annotations

import os
import time

from gitmem.git.gitlocks import PreparedLock
from gitmem.git.repository import Repository

_LOCK_WAIT = 2.0


def renew_index(repository: Repository) -> None:
    """Write an index for the tip; the caller holds the bundle lock. What was staged is forgotten."""
    tree = repository.tree(repository.tip())
    worktree = repository.worktree
    lock = PreparedLock(worktree.index_path, os.path.join(repository.scratch, f"{os.getpid()}-renew-index"))
    try:
        lock.take(time.monotonic() + _LOCK_WAIT)
        index = worktree.mended_index((), tree, tree, lock.moment)
        lock.write(index.raw)
        lock.backdate(index.mtime)
        lock.commit()
    finally:
        lock.release()
        lock.forget()
