"""The note of a commit under way; after a crash it tells a dead writer's stale files from a person's edits.

The note is on disk before the ref moves and settled when the files have their names on disk. A checksum guards it: a torn
note means that the ref has not moved, because the ref waits for the note, and that the commit before it was settled.
Buys "times the floor": it is written over in place, where a new file would flush the file system's journal again.

A path that an unsettled note names, and whose file is what it was before that commit, is stale and is written again;
everything else that differs from the tip is a person's edit. A lost, damaged or old index of git follows the tip.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import re
import time
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass

from gitmem.errors import BundleBusy, BundleUnusable, UnsafePath
from gitmem.files import DiskGroup, read_file, remove_file
from gitmem.git.git_directory import sweep_beside
from gitmem.git.objects import Oid, file_id
from gitmem.git.refs import BRANCH, PreparedLock
from gitmem.git.repository import Repository
from gitmem.git.tree import Tree
from gitmem.git.worktree import FilesAside, HandEdit
from gitmem.okf.paths import check_path
from gitmem.state import PENDING, LocalState

_FAR = 10_000
_LOOKS = 3


_OID = re.compile("[0-9a-f]{40}")
_MARK = b"pending "
_DONE = b"settled "
"""Of the same length, because they are written over each other."""
_SIGNED = 120


@dataclass(frozen=True, slots=True)
class CommitNote:
    """Old and new tip, and the files between them."""

    old: Oid | None
    new: Oid
    paths: Collection[str]
    leaves: Collection[str] = ()
    """Those of the paths whose work tree file the commit did not mean to write."""
    was: Mapping[str, Oid | None] | None = None
    """What the files were, where the old tip is no more to say so; None for no file."""


class NoteFile:
    """The one note of a repository."""

    def __init__(self, state: LocalState) -> None:
        self._path = state.path(PENDING)

    def write(self, note: CommitNote, disk: DiskGroup) -> None:
        """Write the note in the place of a settled one; it counts when `disk` was flushed."""
        values = {"old": note.old, "new": note.new, "paths": [*note.paths], "leaves": [*note.leaves]}
        body = json.dumps(values | ({"was": dict(note.was)} if note.was is not None else {})).encode()
        digest = hashlib.sha256(body).hexdigest().encode()
        disk.write(self._path, _MARK + digest + b" %d\n" % len(body) + body + b"\n", in_place=True)

    def read(self) -> CommitNote | None:
        """The note of a commit that was not finished, or None."""
        try:
            with open(self._path, "rb", buffering=0) as file:
                if file.read(len(_MARK)) != _MARK:
                    return None
        except (FileNotFoundError, NotADirectoryError):
            return None
        return _parsed((read_file(self._path) or b"").removeprefix(_MARK))

    def settle(self, index: bytes = b"") -> None:
        """Record that the commit is finished, and the signature of a git index that matches the tip, where known.

        Not flushed: finding the note again does no harm. The caller holds the bundle lock.
        """
        note = self.read()
        if note is not None and note.was is not None:
            remove_file(self._path)  # a name in it may be what was erased
            note = None
        if index or note is not None:
            with DiskGroup() as disk:
                disk.write(self._path, _DONE + index.ljust(_SIGNED), in_place=True)

    def index(self) -> bytes:
        """The signature of git's index with which the last commit was settled; empty where there is none."""
        with contextlib.suppress(OSError), open(self._path, "rb", buffering=0) as file:
            head = file.read(len(_DONE) + _SIGNED)
            return head.removeprefix(_DONE).rstrip() if head.startswith(_DONE) else b""
        return b""


def _parsed(raw: bytes) -> CommitNote | None:
    """The note, if it is whole. The directory may be someone else's: an unsafe path drops the note."""
    head, _, rest = raw.partition(b"\n")
    try:
        digest, length = head.split(b" ")
        body = rest[: int(length)]
        if hashlib.sha256(body).hexdigest().encode() != digest:
            return None
        values = json.loads(body)
        old, new, paths, leaves = (values[name] for name in ("old", "new", "paths", "leaves"))
        if not all(isinstance(one, list) for one in (paths, leaves)):
            return None
        for path in (*paths, *leaves):
            check_path(path)
        was = values.get("was")
        blobs = [old, *(was or {}).values()]
        if not (_OID.fullmatch(new) and all(one is None or _OID.fullmatch(one) for one in blobs)):
            return None
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError, UnsafePath):
        return None
    return CommitNote(old, new, tuple(paths), tuple(leaves), was)


def is_due(repository: Repository) -> bool:
    """Return whether a dead writer, or a power cut, has left something to repair."""
    return repository.note.read() is not None


def recover(repository: Repository) -> list[str]:
    """Finish what a dead writer began; gives the paths that were brought along.

    The caller holds the bundle lock, so the writer of the note is dead or done.
    """
    note, tip = repository.note.read(), repository.tip()
    stale: set[str] = set()
    if note is not None:
        if tip is not None and _counts(repository, note, tip):
            stale = _stale(repository, note)
            _bring(repository, repository.tree(tip), stale, note.paths)
        # Else the commit was never made: only its files and locks are left.
        repository.note.settle()
    if tip is not None and (lagging := _lagging(repository, tip)):
        _bring(repository, repository.tree(tip), (), lagging)
    repository.refs.break_stale()
    repository.state.sweep()
    sweep_beside(repository.git_dir)
    return sorted(stale)


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
    was, new = _before(repository, note), repository.tree(note.new)
    return {
        path
        for path in note.paths
        if path not in note.leaves
        and was(path) != file_id(new.entry(path))
        and not repository.worktree.is_below_link(path)
        and repository.worktree.look(path).holds(was(path))
    }


def _before(repository: Repository, note: CommitNote) -> Callable[[str], Oid | None]:
    """Return a lookup of the file at a path before the note's commit."""
    if note.was is not None:
        return note.was.get
    old = repository.tree(note.old)
    return lambda path: file_id(old.entry(path))


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
    target = repository.tree(tip)
    known = {path: entry.oid for path, entry in target.files()}
    listed = index.files()
    if known == listed:
        repository.note.settle(index_file.signature(tip))
        return set()
    return {
        path
        for path in known.keys() | listed.keys()
        if known.get(path) != listed.get(path) and repository.worktree.holds(path, target.entry(path))
    }


def _bring(repository: Repository, target: Tree, stale: Iterable[str], paths: Iterable[str]) -> None:
    """Bring files and git's index to the tip, under the index lock from beginning to end.

    Should we die or fail too, the lock stays: plain git must not commit from an index that lags behind.
    """
    worktree, index_file = repository.worktree, repository.index_file
    # A name of its own: while the last one's is there, its lock is known as ours.
    aside = os.path.join(repository.scratch, f"repaired-{time.monotonic_ns()}")
    lock = PreparedLock(index_file.path, aside)
    files = FilesAside(aside + "-file")
    try:
        lock.take(over=repository.refs.stale_locks(["index"]))
        worktree.follow({path: target.file(path) for path in stale}, files)
        entries = {path: target.file(path) for path in paths}
        written = {path: worktree.stat_if_holds(path, entry) for path, entry in entries.items()}
        lock.put(index_file.spliced(entries, target, written, lock.moment), *worktree.directories(stale))
    except BaseException:
        lock.leave()
        raise
    finally:
        lock.release()
        files.close()


def lost_tip(repository: Repository) -> Oid | None:
    """Return the last commit of a `main` that is lost; None where there never was one.

    The reflog outlives the ref. Without it the newest commit that no other one stands on was the last.
    """
    store = repository.store
    logged = (new for _, new, _ in repository.refs.moves(BRANCH) if new in store)
    if (last := next(logged, None)) or not repository.state.is_there:
        return last
    commits = [store.commit(oid) for oid in store.with_prefix() if store.measure(oid)[0] == b"commit"]
    inner = {parent for commit in commits for parent in commit.parents}
    outer = [(commit.committer.time, commit.oid) for commit in commits if commit.oid not in inner]
    return max(outer)[1] if outer else None


def renew_index(repository: Repository) -> None:
    """Write an index for the tip; the caller holds the bundle lock. What was staged is forgotten."""
    _bring(repository, repository.tree(repository.tip()), (), ())


def hand_edits(repository: Repository) -> list[HandEdit]:
    """Return the hand edits in the work tree since the tip.

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
        edits = repository.index_file.hand_edits(target, tip)
    except OSError as error:
        where = f" at {error.filename}" if error.filename else ""
        raise BundleUnusable(f"The work tree cannot be read ({error.strerror}{where}).") from error
    if edits and note is not None and tip is not None and _counts(repository, note, tip):
        # The difference is the writer's where the work tree still has the old tip's file.
        was, named = _before(repository, note), set(note.paths) - set(note.leaves)
        edits = [edit for edit in edits if edit.path not in named or not edit.holds(was(edit.path))]
    return edits, not edits or (repository.tip(), repository.note.read()) == (tip, note)
