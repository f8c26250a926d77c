"""After a crash: finish what a dead writer began, and tell its stale files from a person's edits.

A lost or damaged index of git is rebuilt from the tip here too.
"""

from __future__ import annotations

import contextlib
import os
import time
from collections.abc import Iterable
from dataclasses import replace

from gitmem.errors import BundleUnusable
from gitmem.files import TEMPORARY, remove_file
from gitmem.git.lock_files import PreparedLock, break_stale
from gitmem.git.objects import Oid, blob_id, file_id
from gitmem.git.pending import Pending, is_from, moment_after
from gitmem.git.repository import Repository
from gitmem.git.stale_index import taken_back
from gitmem.git.tree import Tree
from gitmem.git.worktree_status import HandEdit
from gitmem.state import ERASING

_FAR = 10_000
_LOCK_WAIT = 5.0
_LOCK_WAIT_TO_RENEW = 2.0
_LOOKS = 3
_SECTOR = 512
"""What a disk writes at once."""


def is_due(repository: Repository) -> bool:
    """Whether a dead writer, or a power cut, has left something to repair."""
    if _is_exchange_decided(repository):
        return True
    pending = repository.pending
    note = pending.last()
    if note is None:
        return False
    if _unfinished(repository):
        return True
    if not pending.is_trusted:
        target = repository.tree(repository.tip())
        pending.is_trusted = not _damaged(repository, note, target) and not _lost_index(repository, note)
    return not pending.is_trusted


def recover(repository: Repository) -> list[str]:
    """Finish what a dead writer began, and repair what a power cut damaged; gives the paths that were brought along.

    The caller holds the bundle lock, so whoever wrote the note is dead or done.
    """
    if _is_exchange_decided(repository):
        from gitmem.git.replacement import finish

        repository.refs.break_stale()
        finish(repository)
    stale: set[str] = set()
    note = repository.pending.last()
    if note is not None and (not repository.pending.is_trusted or _unfinished(repository)):
        stale = _repair(repository, note)
    repository.pending.is_trusted = True
    if not stale and (lag := taken_back(repository)) is not None:
        lag = replace(lag, earlier=note.unsynced if note else {})
        _finish(repository, lag, repository.tree(lag.new), set())
        repository.pending.settle()
    repository.refs.break_stale()
    # Not earlier: while it is there, no other lock file gets its inode number.
    remove_file(_aside(repository))
    repository.state.sweep()
    return sorted(stale)


def _is_exchange_decided(repository: Repository) -> bool:
    return os.path.isdir(repository.state.path(ERASING))


def _aside(repository: Repository) -> str:
    return os.path.join(repository.scratch, "repaired-index")


def _repair(repository: Repository, note: Pending) -> set[str]:
    """Bring everything to the tip that a note's writer, or the disk, has not; gives the files among it."""
    tip = repository.tip()
    target = repository.tree(tip)
    dead = _unfinished(repository)
    behind = _behind(repository, tip, dead)
    stale = _damaged(repository, note, target) | (_stale(repository, behind) if behind else set())
    if behind or stale or _lost_index(repository, note):
        # Else the commit is done, or was never made: only its files are left.
        work = behind or Pending(tip, tip or "", ())
        locks = next((each.locks for each in dead if _holds_index(repository, each)), {})
        work = replace(work, locks=locks, moment=note.moment, earlier=note.unsynced)
        _finish(repository, work, target, stale)
    for each in dead:
        break_stale(repository.git_dir, each.locks)
    repository.pending.settle()
    return stale


def _unfinished(repository: Repository) -> list[Pending]:
    """The notes whose writer died, or whose last steps are lost, the newest first.

    The newest may be that of a commit that was never made, and on disk before the last steps of the one before it.
    """
    return [note for note in repository.pending.all() if _is_unfinished(repository, note)]


def _behind(repository: Repository, tip: Oid | None, dead: list[Pending]) -> Pending | None:
    """The note of the commit that work tree and index lag behind with; None where they do not."""
    dead = [note for note in dead if note.old is None or note.old in repository.store]  # else it is forged
    if tip is None or not dead:
        return None
    newest = repository.pending.last()
    if newest is not None and newest.number == dead[0].number and _follows(repository, tip, dead[0]):
        return dead[0]
    # What is older counts while nothing came after it: a later commit waits until all of it is on disk.
    return next((note for note in dead if note.new == tip), None)


def _is_unfinished(repository: Repository, note: Pending) -> bool:
    """Whether the note's writer died, or its last steps are lost.

    The lock on git's index goes after the files have their names: while it is there, some may not have them,
    also when the word that the note is settled was on disk first. It is ours by its inode and its time.
    """
    if not note.is_settled:
        return True
    lock = _index_lock(repository)
    return lock is not None and _holds_index(repository, note) and is_from(note.moment, lock.st_mtime_ns)


def _holds_index(repository: Repository, note: Pending) -> bool:
    """Whether git's index is locked by the note's writer, as far as an inode tells."""
    lock = _index_lock(repository)
    return lock is not None and lock.st_ino == note.locks.get("index.lock")


def _index_lock(repository: Repository) -> os.stat_result | None:
    try:
        return os.stat(repository.index_file.path + ".lock")
    except OSError:
        return None


def _damaged(
    repository: Repository, note: Pending, target: Tree, paths: Iterable[str] | None = None
) -> set[str]:
    """Files of ours that the disk did not get whole.

    Such a file has the time that we gave it, from before it got its name, and a part of what we wrote. An edit has
    another time, and one that a program gave its old time again has other words.
    """
    worktree, unsynced = repository.worktree, note.unsynced
    # The note before it too: the newest may be on disk before what the last commit did to the files.
    notes = repository.pending.all()
    moments = {moment for each in notes for moment in (each.moment, *each.earlier.values())}
    versions: list[Tree] = []
    found: set[str] = set()
    for path in unsynced if paths is None else unsynced.keys() & set(paths):
        stat, oid = worktree.stat(path), file_id(target.entry(path))
        if stat is None or stat.st_mtime_ns not in moments or oid is None or worktree.is_below_link(path):
            continue
        here = worktree.look_at(path, stat)
        if here.data is None or here.holds(oid):
            continue
        if not versions:
            before = {each.old for each in notes}
            versions = [target, *(repository.tree(oid) for oid in before if oid and oid in repository.store)]
        blobs = [blob for tree in versions if (blob := tree.read(path)) is not None]
        # A whole version is one that a person put back, with the time that it had.
        if here.data not in blobs and any(_is_part(here.data, blob) for blob in blobs):
            found.add(path)
    return found


def _is_part(data: bytes, whole: bytes) -> bool:
    """What the disk may have of a file: its beginning, or zeros in the place of what was not written."""
    pieces = ((data[start : start + _SECTOR], start) for start in range(0, len(data), _SECTOR))
    return len(data) <= len(whole) and all(whole.startswith(piece.rstrip(b"\0"), at) for piece, at in pieces)


def _lost_index(repository: Repository, note: Pending) -> bool:
    """Git's index is one that we wrote, and that the disk did not get."""
    index = repository.index_file
    try:
        stat = os.stat(index.path)
    except FileNotFoundError:
        return False
    ours = any(is_from(moment, stat.st_mtime_ns) for moment in {note.moment, *note.earlier.values()})
    return (ours or not stat.st_size) and index.read() is None


def _finish(repository: Repository, note: Pending, target: Tree, stale: set[str]) -> None:
    """Bring work tree and git's index to the tip, under the index lock from beginning to end.

    Should we die or fail too, the lock stays: the note names it, and plain git must not commit
    from an index that lags behind.
    """
    worktree, index_file = repository.worktree, repository.index_file
    aside = _aside(repository)
    lock = PreparedLock.adopt(index_file.path, aside, note.locks.get("index.lock", 0))
    if lock is None:
        lock = PreparedLock(index_file.path, aside)
        try:
            noted = replace(note, locks={**note.locks, "index.lock": lock.inode}, earlier=note.unsynced)
            note = replace(noted, moment=moment_after(lock.moment))
            repository.pending.rewrite(note)
            lock.take(time.monotonic() + _LOCK_WAIT)
        except BaseException:
            lock.release()
            raise
    try:
        for path in sorted(stale):
            worktree.bring(path, target.entry(path), note.moment)
        for directory in {os.path.dirname(worktree.path(path)) for path in (*note.paths, *stale)}:
            _remove_temporary(directory)
        index = index_file.repaired({*note.paths, *stale}, repository.tree(note.old), target, lock.moment)
        begun = time.monotonic()
        lock.put(index.raw, index.mtime)
        lock.linger(begun, len(index.names))
    except BaseException:
        lock.leave()
        raise
    finally:
        lock.release()


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
            last = repository.pending.last()
            earlier = last.unsynced if last else {}
            moment = moment_after(lock.moment)
            note = Pending(tip, tip, (), {"index.lock": lock.inode}, (), moment, earlier)
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
    tip, note = repository.tip(), repository.pending.last()
    target = repository.tree(tip)
    try:
        edits = repository.status.hand_edits(target, tip or "")
    except OSError as error:
        where = f" at {error.filename}" if error.filename else ""
        raise BundleUnusable(f"The work tree cannot be read ({error.strerror}{where}).") from error
    if edits and note is not None and tip is not None:
        damaged = _damaged(repository, note, target, [edit.path for edit in edits if not edit.staged])
        edits = [edit for edit in edits if edit.staged or edit.path not in damaged]
        behind = _behind(repository, tip, _unfinished(repository)) or taken_back(repository)
        if behind is not None:
            old = repository.tree(behind.old)
            edits = [edit for edit in edits if not _left_behind(edit, behind, old, target)]
    return edits, not edits or (repository.tip(), repository.pending.last()) == (tip, note)


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
