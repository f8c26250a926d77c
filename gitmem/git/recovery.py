"""After a crash: finish what a dead writer began, and tell its stale files from a person's edits.

A lost or damaged index of git is rebuilt from the tip here too.
"""

from __future__ import annotations

import contextlib
import os
import time
from dataclasses import replace

from gitmem.errors import BundleUnusable
from gitmem.files import TEMPORARY
from gitmem.git.lock_files import PreparedLock, break_stale
from gitmem.git.objects import Oid, blob_id, file_id
from gitmem.git.pending import Pending, PendingFile
from gitmem.git.repository import Repository
from gitmem.git.stale_index import taken_back
from gitmem.git.tree import Tree
from gitmem.git.worktree_status import HandEdit
from gitmem.state import PENDING_REF

_FAR = 10_000
_LOCK_WAIT = 5.0
_LOCK_WAIT_TO_RENEW = 2.0
_LOOKS = 3


def recover(repository: Repository) -> list[str]:
    """Finish what a dead writer began; gives the paths that were brought along.

    The caller holds the bundle lock, so whoever wrote the note is dead or done.
    """
    stale: list[str] = []
    note = repository.pending.read()
    if note is not None:
        tip = repository.tip()
        if tip is not None and _follows(repository, tip, note):
            stale = _finish(repository, note, repository.tree(tip))
        break_stale(repository.git_dir, note.locks)
        repository.pending.settle()
    elif (lag := taken_back(repository)) is not None:
        _finish(repository, lag, repository.tree(lag.new))
        repository.pending.settle()
    ref_note = PendingFile(repository.state, PENDING_REF)
    dead = ref_note.read()
    if dead is not None:
        break_stale(repository.git_dir, dead.locks)
        ref_note.settle()
    for name in os.listdir(repository.scratch):
        with contextlib.suppress(OSError):
            os.unlink(os.path.join(repository.scratch, name))
    return stale


def _finish(repository: Repository, note: Pending, target: Tree) -> list[str]:
    """Bring work tree and git's index to the tip, under the index lock from beginning to end.

    Should we die or fail too, the lock stays: the note names it, and plain git must not commit
    from an index that lags behind.
    """
    worktree, index_file = repository.worktree, repository.index_file
    aside = os.path.join(repository.scratch, "mend-index")
    lock = PreparedLock.adopt(index_file.path, aside, note.locks.get("index.lock", 0))
    if lock is None:
        lock = PreparedLock(index_file.path, aside)
        try:
            noted = replace(note, locks={**note.locks, "index.lock": lock.inode})
            repository.pending.rewrite(noted)
            lock.take(time.monotonic() + _LOCK_WAIT)
        except BaseException:
            lock.release()
            raise
    try:
        old = repository.tree(note.old)
        stale = sorted(_stale(repository, note))
        for path in stale:
            worktree.bring(path, target.entry(path))
        for directory in {os.path.dirname(worktree.path(path)) for path in note.paths}:
            _remove_temporary(directory)
        index = index_file.repaired(note.paths, old, target, lock.moment)
        begun = time.monotonic()
        lock.put(index.raw, index.mtime)
        lock.linger(begun, len(index.names))
    except BaseException:
        lock.leave()
        raise
    finally:
        lock.release()
    return stale


def _remove_temporary(directory: str) -> None:
    """Remove what a dead writer was about to rename, where work tree and git directory lie on two disks."""
    with contextlib.suppress(OSError):
        for name in os.listdir(directory):
            if name.startswith(TEMPORARY):
                os.unlink(os.path.join(directory, name))


def renew_index(repository: Repository) -> None:
    """Write an index for the tip; the caller holds the bundle lock. What was staged is forgotten."""
    tip = repository.tip()
    tree = repository.tree(tip)
    index_file = repository.index_file
    lock = PreparedLock(index_file.path, os.path.join(repository.scratch, f"{os.getpid()}-renew-index"))
    try:
        if tip is not None:  # should we die, the next writer finds the lock and does the same
            note = Pending(tip, tip, (), {"index.lock": lock.inode})
            repository.pending.rewrite(note)
        lock.take(time.monotonic() + _LOCK_WAIT_TO_RENEW)
        index = index_file.repaired((), tree, tree, lock.moment)
        begun = time.monotonic()
        lock.put(index.raw, index.mtime)
        lock.linger(begun, len(index.names))
    finally:
        lock.release()
        if tip is not None:
            repository.pending.settle()
        lock.forget()


def hand_edits(repository: Repository) -> list[HandEdit]:
    """What a person changed in the work tree or staged since the tip.

    What a commit under way, or cut short by a crash, has not brought along yet is not an edit.
    """
    for _ in range(_LOOKS):
        edits, certain = _look(repository)
        if certain:
            return edits
    # A busy writer does not let us look: have it wait for a moment.
    with repository.lock.hold("looking for hand edits"):
        return _look(repository)[0]


def _look(repository: Repository) -> tuple[list[HandEdit], bool]:
    """Hand edits, and whether no writer came in between and made everything look edited."""
    tip, note = repository.tip(), repository.pending.read()
    target = repository.tree(tip)
    try:
        edits = repository.status.hand_edits(target, tip or "")
    except OSError as error:
        where = f" at {error.filename}" if error.filename else ""
        raise BundleUnusable(f"The work tree cannot be read ({error.strerror}{where}).") from error
    behind = note if note is not None and tip is not None and _follows(repository, tip, note) else None
    if edits and note is None:
        behind = taken_back(repository)
    if edits and behind is not None:
        old = repository.tree(behind.old)
        edits = [edit for edit in edits if not _left_behind(edit, behind, old, target)]
    return edits, not edits or (repository.tip(), repository.pending.read()) == (tip, note)


def _left_behind(edit: HandEdit, note: Pending, old: Tree, target: Tree) -> bool:
    """The difference is the writer's: work tree or index has the old tip's file, or the new one already."""
    if edit.problem or edit.path not in note.paths:
        return False
    here = None if edit.data is None else blob_id(edit.data)
    if here == file_id(target.entry(edit.path)):
        return True
    return here == file_id(old.entry(edit.path)) and (edit.staged or edit.path not in note.leaves)


def _stale(repository: Repository, note: Pending) -> set[str]:
    """Files that still are what the old tip has: the writer had no time for them."""
    old, new = repository.tree(note.old), repository.tree(note.new)
    return {
        path
        for path in note.paths
        if path not in note.leaves
        and old.entry(path) != new.entry(path)
        and not repository.worktree.is_below_link(path)
        and repository.worktree.holds(path, old.entry(path))
    }


def _follows(repository: Repository, tip: Oid, note: Pending) -> bool:
    """Whether the note's commit is on the first-parent line of `tip`, near its end."""
    current: Oid | None = tip
    for _ in range(_FAR):
        if current is None or current in (note.new, note.old):
            break
        parents = repository.store.commit(current).parents
        current = parents[0] if parents and parents[0] in repository.store else None
    return current == note.new
