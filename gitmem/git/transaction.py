"""A transaction: what a change wants on one tip becomes one commit, in an order that survives a crash."""

from __future__ import annotations

import contextlib
import os
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import partial
from itertools import islice

from gitmem.errors import BundleBusy, BundleUnusable, GitMemError
from gitmem.files import DiskGroup, disk_error, durable_directory, make_directories
from gitmem.git.message import KINDS, Message
from gitmem.git.objects import Commit, GitObject, Oid, Person, file_id, parse_commit, render_commit
from gitmem.git.packs import StagedPack
from gitmem.git.recovery import CommitNote, recover
from gitmem.git.refs import BRANCH, PreparedLock
from gitmem.git.repository import Repository
from gitmem.git.tree import Edit, Tree, check_size, is_same
from gitmem.git.worktree import FilesAside, HandEdit, Marks
from gitmem.git.worktree_status import signed

_TRIES = 50
_FEW = 64
_BESIDE = 8
"""Files that go to disk with the objects. Buys "times faster than git": a flush of a few files waits for the disk once."""


@dataclass(frozen=True, slots=True)
class Draft:
    """A change worked out on one tip: files to write, what the commit says, and who says it."""

    edits: Mapping[str, Edit]
    message: Message
    author: Person
    committer: Person
    onto: Oid | None = None
    """A commit that stands on the tip, or is its merge with others: this change is made on top of it, and `main` moves
    over both at once. Where nothing is to be changed there, `main` moves to it and no commit is made.
    """
    arrival: Message | None = None
    """How the reflog names an `onto` that was made elsewhere; one that was made for this move goes by its own subject.

    The first word is not a kind of commit: a line that begins with one proves that the commit was made here, whatever
    the commit says of itself.
    """
    takes_in: Mapping[str, bytes | None] = field(default_factory=dict)
    """What is in the work tree at some paths and is part of this change: it may be written over."""
    leaves: frozenset[str] = frozenset()
    """Paths whose work tree file is newer than this change, and stays as it is."""


@dataclass(frozen=True, slots=True)
class Published:
    """A commit that is on disk. `warning` says what could not be brought along, if anything."""

    commit: Commit
    old: Oid | None
    paths: tuple[str, ...]
    warning: str = ""


class HandEditsInTheWay(Exception):
    """Files that this change would write were edited by a person: take those in first."""

    def __init__(self, edits: list[HandEdit]) -> None:
        super().__init__(f"hand edits in {len(edits)} files")
        self.edits = edits


class _TipMoved(Exception):
    """Somebody committed or staged something between our reading and our holding git's locks."""


@contextlib.contextmanager
def writing(repository: Repository, purpose: str, *, wait: float = 30.0) -> Iterator[None]:
    """Hold the bundle lock; what a dead writer left is repaired before anything else."""
    try:
        _ = repository.scratch  # made, and with it the directory of the lock
        with repository.lock.hold(purpose, wait=wait):
            # Also within a longer hold: our own last commit may have left something to repair.
            recover(repository)
            yield
    except OSError as error:
        raise disk_error(error) from error


def publish(
    repository: Repository, plan: Callable[[Tree], Draft | None], *, purpose: str, wait: float = 30.0
) -> Published | None:
    """Make one commit of what `plan` wants on the present tip; None where it changes nothing.

    `plan` is asked again when someone moved the tip meanwhile. Raises HandEditsInTheWay where it
    would write over what a person did, and nothing has changed then.
    """
    with writing(repository, purpose, wait=wait):
        deadline, attempt = time.monotonic() + wait, 0
        while attempt < _TRIES or time.monotonic() < deadline:
            repository.refuse_if_busy()
            tip = repository.tip()
            draft = plan(repository.tree(tip))
            if draft is None:
                return None
            try:
                return _commit(repository, tip, draft)
            except _TipMoved:
                time.sleep(0.002 * min(attempt, _TRIES))
                attempt += 1
                recover(repository)
    raise BundleBusy("Another program keeps committing to main: try again in a moment.")


def _commit(repository: Repository, tip: Oid | None, draft: Draft) -> Published | None:
    base = repository.tree(tip)
    wanted: dict[str, Edit] = {}
    if draft.onto:
        wanted = {change.path: change.new for change in base.changes(repository.tree(draft.onto))}
    wanted |= draft.edits
    edits = {path: edit for path, edit in wanted.items() if not is_same(edit, base.entry(path))}
    for path, edit in edits.items():
        if isinstance(edit, bytes):
            check_size(path, edit)
    tree, objects = base.apply(edits)
    parent = draft.onto or tip
    if parent == tip and tree.oid == base.oid:
        return None
    paths = tuple(edits)
    seen = _refuse_hand_edits(repository, tip, base, tree, paths, draft) if repository.has_files else None
    moves = _arrivals(repository, tip, draft)
    if draft.onto and tree.oid == repository.tree(draft.onto).oid:
        commit, objects = GitObject(*repository.store.read(draft.onto), draft.onto), []
    else:
        message = draft.message.render()
        if draft.onto:
            objects = [one for one in objects if one.oid not in repository.store]
        commit = render_commit(tree.oid, (parent,) if parent else (), draft.author, draft.committer, message)
        objects.append(commit)
        moves.append((parent, commit.oid, message))
    log = partial(_log, repository, moves, draft.committer)
    made = parse_commit(commit.oid, commit.content)
    if seen is None:
        repository.store.write(objects)
        log()
        repository.refs.set(BRANCH, commit.oid, expected=tip)
        return Published(made, tip, paths)
    with _Steps(repository, tip, commit, tree, edits, objects, draft.leaves, seen, log) as steps:
        steps.move_ref()
        warning = steps.update_worktree()
    if steps.doubt:
        raise BundleUnusable(
            f"The commit {commit.oid} was made, but the disk would not confirm it ({steps.doubt}): "
            "check the disk, then run `gitmem check`."
        )
    with contextlib.suppress(OSError, BundleUnusable):  # upkeep: the commit stands without it
        repository.store.tidy()
    repository.store.remember_commit(made, objects)
    return Published(made, tip, paths, warning)


_Moves = list[tuple[Oid | None, Oid, str]]


def _arrivals(repository: Repository, tip: Oid | None, draft: Draft) -> _Moves:
    """Return the reflog entry for the move to a change's parent commit, where that is not the tip."""
    if not draft.onto or draft.onto == tip:
        return []
    if draft.arrival is not None and draft.arrival.kind in KINDS:
        raise ValueError(f"{draft.arrival.kind} is a kind of commit, not a word for an adopted one")
    return [(tip, draft.onto, (draft.arrival or repository.store.commit(draft.onto)).subject)]


def _log(repository: Repository, moves: _Moves, who: Person) -> None:
    """Write the reflog before the ref moves, as git does: a commit of ours without a line would count as someone else's."""
    with contextlib.suppress(OSError, BundleUnusable):  # upkeep: the commit is made without it
        for old, new, message in moves:
            repository.refs.log(BRANCH, old, new, who, message)


def _refuse_hand_edits(
    repository: Repository,
    tip: Oid | None,
    base: Tree,
    tree: Tree,
    paths: tuple[str, ...],
    draft: Draft,
) -> dict[str, Marks | None]:
    """Return the marks of the files before the change; raises where uncommitted hand edits are in its way."""
    repository.worktree.refuse_links(paths)
    made = [path for path in paths if tree.file(path)]
    repository.worktree.refuse_files_above(made, but=set(paths).difference(made))
    edits, seen = repository.index_file.look(base, paths, tip)
    in_the_way = [
        edit
        for edit in edits
        if not (edit.path in draft.takes_in and draft.takes_in[edit.path] == edit.data)
        and edit.path not in draft.leaves
        and not edit.holds(file_id(tree.entry(edit.path)))
    ]
    if in_the_way:
        if repository.tip() != tip:
            raise _TipMoved  # the files are those of another commit
        raise HandEditsInTheWay(in_the_way)
    return seen


@dataclass
class _Steps:
    """The order of one commit, which must not change.

    Note and objects on disk, git's locks, reflog, the ref (acknowledged), files of the work tree on disk, their
    names, git's index, names on disk, note settled. With the ref before the index lock, a plain `git commit` in
    between would silently take the change back.
    """

    repository: Repository
    tip: Oid | None
    commit: GitObject
    tree: Tree
    edits: Mapping[str, Edit]
    objects: list[GitObject]
    leaves: frozenset[str]
    seen: Mapping[str, Marks | None]
    log: Callable[[], None]
    doubt: str = ""

    def __post_init__(self) -> None:
        repository, tip = self.repository, self.tip
        aside = os.path.join(repository.scratch, f"{os.getpid()}-{threading.get_ident()}")
        branch = repository.refs.path(BRANCH)
        make_directories(os.path.dirname(branch))
        # Asked before this commit's note takes the place of the one that says so.
        index = repository.index_file
        self._signature = index.signature(tip) if index.is_ours(tip) else b""
        self._index_lock = PreparedLock(index.path, aside + "-index")
        try:
            self._ref_lock = PreparedLock(branch, aside + "-ref")
        except OSError:
            self._index_lock.release()
            raise
        self._pack = StagedPack(repository.store.pack_directory, self.objects, stem=aside)
        self._files = FilesAside(aside + "-file")
        self._moving = False
        self._finished = False

    def __enter__(self) -> _Steps:
        return self

    def __exit__(self, *_: object) -> None:
        """Give back what is held. After an interruption it depends on whether the ref has moved."""
        if self._moving and not self._finished and self._has_moved():
            self._index_lock.leave()  # plain git must not commit from an index that lags behind
        else:
            with contextlib.suppress(OSError):  # then the note stays, and the next writer breaks the locks
                try:
                    self._ref_lock.release()
                finally:
                    self._index_lock.release()
                if not self._finished:
                    self.repository.note.settle()
        self._files.close()
        with contextlib.suppress(OSError):
            self._pack.discard()

    def _has_moved(self) -> bool:
        try:
            return self.repository.tip() != self.tip
        except (OSError, GitMemError):  # better a lock too many than a change taken back
            return True

    def move_ref(self) -> None:
        """Put everything on disk and move the ref; raises where someone moved it first."""
        repository = self.repository
        note = CommitNote(self.tip, self.commit.oid, tuple(self.edits), tuple(self.leaves))
        with DiskGroup() as disk:
            self._pack.write(disk)
            self._ref_lock.write(self.commit.oid.encode() + b"\n", disk)
            repository.note.write(note, disk)
            self._make_aside(0, _BESIDE, disk)
            disk.start()
            self._make_aside(_BESIDE, _FEW)
            disk.wait()
        self._index_lock.take()
        self._ref_lock.take()
        repository.refuse_if_busy()
        if repository.tip() != self.tip:
            raise _TipMoved
        self._pack.publish()
        repository.on_stage("objects")
        self.log()
        self._moving = True
        self._ref_lock.commit()
        try:
            durable_directory(os.path.dirname(self._ref_lock.target))
        except OSError as error:
            self.doubt = error.strerror or str(error)
        repository.on_stage("acknowledged")

    def _make_aside(self, start: int, stop: int, disk: DiskGroup | None = None) -> None:
        """Write some files of the work tree without their names, while the disk is busy anyway."""
        for path, content in islice(
            self.edits.items(), start, stop
        ):  # the rest once the commit is acknowledged
            entry = self.tree.entry(path)
            if entry is not None and isinstance(content, bytes) and path not in self.leaves:
                self._files.make(path, content, entry.mode, disk)

    def update_worktree(self) -> str:
        """Write the work tree and git's index. A failure is reported, and repaired by the next writer."""
        repository = self.repository
        worktree, index_file = repository.worktree, repository.index_file
        try:
            entries = {path: self.tree.file(path) for path in self.edits}
            is_ours = self._signature == index_file.signature(self.tip)
            ours = {path: entry for path, entry in entries.items() if path not in self.leaves}
            written = worktree.follow(ours, self._files, self.seen)
            repository.on_stage("work tree")
            lock = self._index_lock
            index = index_file.spliced(entries, self.tree, written, lock.moment)
            index_stat = lock.put(index, *worktree.directories(written))
            index_file.remember(index, index_stat)
            lock.release()
            repository.note.settle(signed(self.commit.oid, index_stat) if is_ours else b"")
            self._finished = True
            repository.on_stage("index")
        except (OSError, GitMemError) as error:
            return f"The commit is safe, but the work tree lags behind ({error}); the next write repairs it."
        return ""
