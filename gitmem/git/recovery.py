"""After a crash: finish what a dead writer began, and tell its stale files from a person's edits.

A path that an unsettled note names, and whose file is what it was before that commit, is stale and is written again;
everything else that differs from the tip is a person's edit. A lost, damaged or old index of git follows the tip.
"""

from __future__ import annotations

import os
import time
from collections.abc import Collection

from gitmem.errors import BundleBusy, BundleUnusable
from gitmem.files import remove_file
from gitmem.git.commit_note import CommitNote
from gitmem.git.git_locks import PreparedLock
from gitmem.git.objects import Oid, blob_id, file_id, path_text
from gitmem.git.repository import Repository
from gitmem.git.tree import Tree
from gitmem.git.worktree_status import HandEdit
from gitmem.state import ERASING

_FAR = 10_000
_LOCK_WAIT = 5.0
_LOCK_WAIT_TO_RENEW = 2.0
_LOOKS = 3


def is_due(repository: Repository) -> bool:
    """Return whether a dead writer, or a power cut, has left something to repair."""
    return _is_exchange_decided(repository) or repository.note.read() is not None


def recover(repository: Repository) -> list[str]:
    """Finish what a dead writer began; gives the paths that were brought along.

    The caller holds the bundle lock, so whoever wrote the note is dead or done.
    """
    if _is_exchange_decided(repository):
        from gitmem.git.replacement import finish

        repository.refs.break_stale()
        finish(repository)
    note, tip = repository.note.read(), repository.tip()
    stale: set[str] = set()
    if note is not None:
        if tip is not None and _counts(repository, note, tip):
            stale = _stale(repository, note)
            _bring(repository, repository.tree(tip), stale, {*note.paths})
        # Else the commit was never made: only its files and locks are left.
        repository.note.settle()
    if tip is not None and (lagging := _lagging(repository, tip)):
        _bring(repository, repository.tree(tip), (), lagging)
    repository.refs.break_stale()
    # Not earlier: while it is there, the lock that has it as its other name is known as ours.
    remove_file(_aside(repository))
    repository.state.sweep()
    return sorted(stale)


def _is_exchange_decided(repository: Repository) -> bool:
    return os.path.isdir(repository.state.path(ERASING))


def _aside(repository: Repository) -> str:
    return os.path.join(repository.scratch, "repaired-index")


def _counts(repository: Repository, note: CommitNote, tip: Oid) -> bool:
    """Return whether the note's commit was made: it is on the first-parent line of the tip, near its end."""
    if note.old is not None and note.old not in repository.store:  # forged, or of a restored backup
        return False
    current: Oid | None = tip
    for _ in range(_FAR):
        if current is None or current in (note.new, note.old):
            break
        parents = repository.store.commit(current).parents
        current = parents[0] if parents and parents[0] in repository.store else None
    return current == note.new


def _stale(repository: Repository, note: CommitNote) -> set[str]:
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


def _lagging(repository: Repository, tip: Oid) -> set[str]:
    """Files that are the tip's while git's index has something else.

    `git commit` reads the index first and locks it after. When our commit falls between the two, git writes the old
    index over ours and is then refused: by that index, the next `git commit` would take our commit back.
    """
    index_file = repository.index_file
    if index_file.is_ours(tip):
        return set()
    try:
        repository.refuse_if_busy()
        index = index_file.read()
    except (BundleBusy, BundleUnusable):  # in the middle of a merge an index has every right to differ
        return set()
    if index is None:
        return set()
    known = {path: entry.oid for path, entry in repository.tree(tip).files()}
    listed = {path_text(name): index.oid(place) for place, name in enumerate(index.names)}
    if known == listed:
        index_file.note(index_file.signature(tip))
        return set()
    target = repository.tree(tip)
    return {
        path
        for path in known.keys() | listed.keys()
        if known.get(path) != listed.get(path) and repository.worktree.holds(path, target.entry(path))
    }


def _bring(repository: Repository, target: Tree, stale: Collection[str], paths: set[str]) -> None:
    """Bring files and git's index to the tip, under the index lock from beginning to end.

    Should we die or fail too, the lock stays: plain git must not commit from an index that lags behind.
    """
    worktree, index_file = repository.worktree, repository.index_file
    aside = _aside(repository)
    lock = PreparedLock.adopt(index_file.path, aside, repository.refs.stale_locks(["index"]))
    if lock is None:
        lock = PreparedLock(index_file.path, aside)
        try:
            lock.take(time.monotonic() + _LOCK_WAIT)
        except BaseException:
            lock.release()
            raise
    try:
        for path in sorted(stale):
            worktree.bring(path, target.entry(path))
        index = index_file.following(paths, target, lock.moment)
        begun = time.monotonic()
        lock.put(index.raw, index.mtime, *worktree.directories(stale))
        lock.linger(begun, len(index.names))
    except BaseException:
        lock.leave()
        raise
    finally:
        lock.release()


def renew_index(repository: Repository) -> None:
    """Write an index for the tip; the caller holds the bundle lock. What was staged is forgotten."""
    index_file = repository.index_file
    lock = PreparedLock(index_file.path, os.path.join(repository.scratch, f"{os.getpid()}-renew-index"))
    try:
        lock.take(time.monotonic() + _LOCK_WAIT_TO_RENEW)
        index = index_file.following((), repository.tree(repository.tip()), lock.moment)
        begun = time.monotonic()
        lock.put(index.raw, index.mtime)
        lock.linger(begun, len(index.names))
    finally:
        lock.release()
        lock.forget()


def hand_edits(repository: Repository) -> list[HandEdit]:
    """Return what a person changed in the work tree since the tip.

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
    tip, note = repository.tip(), repository.note.read()
    target = repository.tree(tip)
    try:
        edits = repository.status.hand_edits(target, tip or "")
    except OSError as error:
        where = f" at {error.filename}" if error.filename else ""
        raise BundleUnusable(f"The work tree cannot be read ({error.strerror}{where}).") from error
    if edits and note is not None and tip is not None and _counts(repository, note, tip):
        old = repository.tree(note.old)
        edits = [edit for edit in edits if not _left_behind(edit, note, old)]
    return edits, not edits or (repository.tip(), repository.note.read()) == (tip, note)


def _left_behind(edit: HandEdit, note: CommitNote, old: Tree) -> bool:
    """The difference is the writer's: the work tree still has the old tip's file."""
    if edit.problem or edit.path not in note.paths or edit.path in note.leaves:
        return False
    return (None if edit.data is None else blob_id(edit.data)) == file_id(old.entry(edit.path))
