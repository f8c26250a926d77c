"""Git's index on disk: whether somebody else wrote it, what it becomes when we write files, and what is staged in it."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from gitmem.errors import BundleUnusable
from gitmem.files import overwrite_file, read_file
from gitmem.git import git_index
from gitmem.git.git_index import GitIndex, Record
from gitmem.git.objects import FILE, Oid, TreeEntry, path_bytes, path_text
from gitmem.git.tree import Tree
from gitmem.git.worktree import Marks, WorkTree, marks
from gitmem.state import INDEX_SEEN, LocalState

if TYPE_CHECKING:
    from gitmem.git.repository import Repository

_NO_INDEX = b"none"


class IndexFile:
    """The index of one work tree."""

    def __init__(self, git_dir: str, worktree: WorkTree, state: LocalState) -> None:
        self.path = os.path.join(git_dir, "index")
        self._worktree = worktree
        self._seen_path = state.path(INDEX_SEEN)
        self._cached: tuple[Marks, GitIndex] | None = None

    # Whose it is

    def is_ours(self, tip: Oid) -> bool:
        """Nobody wrote the index since it was found to have what this tip has."""
        signature = self.signature(tip)
        return signature == _NO_INDEX or self.has_seen(signature)

    def has_seen(self, signature: bytes) -> bool:
        """Return whether the index had this signature when it was last found to hold what a tip holds.

        Buys "`gitmem status` at 10,000 files": the index is not compared with the tip's tree.
        """
        return read_file(self._seen_path) == signature

    def signature(self, tip: Oid) -> bytes:
        """Return what changes when the tip moves, or when somebody writes the index."""
        try:
            stat = os.stat(self.path)
        except FileNotFoundError:
            return _NO_INDEX if not tip else b"lost"
        return _signed(tip, stat)

    def note(self, signature: bytes) -> None:
        """Remember that the index with this signature has what the tip has."""
        with contextlib.suppress(OSError):  # only a shortcut
            overwrite_file(self._seen_path, signature)

    def note_written(self, tip: Oid, stat: os.stat_result) -> None:
        """Remember the index as we wrote it."""
        self.note(_signed(tip, stat))

    # What it says

    def read(self) -> GitIndex | None:
        """The index, read again only where somebody else wrote it; None where it cannot be used."""
        remembered = self.remembered()
        if remembered is not None:
            return remembered
        try:
            found = marks(os.stat(self.path))
        except FileNotFoundError:
            return None
        index = git_index.load(self.path)
        self._cached = (found, index) if index is not None else None
        return index

    def remembered(self) -> GitIndex | None:
        """The index if this process has read or written it, and nobody else wrote it since.

        Buys "times faster than git": reading it would be a third of the flush of one file.
        """
        with contextlib.suppress(FileNotFoundError):
            if self._cached is not None and self._cached[0] == marks(os.stat(self.path)):
                return self._cached[1]
        return None

    def remember(self, index: GitIndex, stat: os.stat_result) -> None:
        """This index was written, and had this stat before it got its name."""
        self._cached = marks(stat), index

    def paths(self) -> list[str] | None:
        """Files that the index has; None where it cannot be read."""
        index = self.read()
        return None if index is None else list(map(path_text, index.names))

    # What it becomes

    def spliced(
        self,
        entries: Mapping[str, TreeEntry | None],
        tip: Tree,
        written: Mapping[str, os.stat_result | None],
        moment: int,
    ) -> GitIndex:
        """The index with these records; `written` has the stats of the files we wrote.

        `moment` (in nanoseconds) lies before they were written.
        """
        records = {
            path_bytes(path): self._record(path, entry, written.get(path)) for path, entry in entries.items()
        }
        index = self.read()
        if index is None:
            return self._whole(tip, records, moment)
        return index.splice(records, moment // 1_000_000_000, self._holds_blob)

    def following(self, paths: Iterable[str], target: Tree, moment: int) -> GitIndex:
        """The index after a crash: the records of these files follow the target; one that cannot be read is made again."""
        changes = {path: target.entry(path) for path in paths}
        if self.read() is None:
            return self.made(target, moment)
        written = {path: self._worktree.stat_if_holds(path, entry) for path, entry in changes.items()}
        return self.spliced(changes, target, written, moment)

    def made(self, tree: Tree, moment: int) -> GitIndex:
        """An index of a whole tree, whatever the one that is there says."""
        return self._whole(tree, {}, moment)

    def still_held(
        self,
        entries: Mapping[str, TreeEntry | None],
        written: Mapping[str, os.stat_result | None],
        moment: int,
    ) -> dict[str, os.stat_result | None]:
        """The stats of files we wrote; those from a second before `moment` only if a look confirms them."""
        past = moment // 1_000_000_000 * 1_000_000_000
        return {
            path: self._worktree.stat_if_holds(path, entries[path])
            if stat and stat.st_mtime_ns < past
            else stat
            for path, stat in written.items()
        }

    def _whole(self, tip: Tree, known: Mapping[bytes, Record | None], moment: int) -> GitIndex:
        """An index for the whole tip, where there is none that can be spliced."""
        records = {}
        for path, entry in tip.files():
            name = path_bytes(path)
            record = known.get(name) or self._record(path, entry, self._worktree.stat_if_holds(path, entry))
            if record is not None:
                records[name] = record
        return GitIndex(git_index.build(records), moment // 1_000_000_000)

    def _record(self, path: str, entry: TreeEntry | None, written: os.stat_result | None) -> Record | None:
        """The record of a file that had this stat when it was what the entry says.

        It counts only if the file has it still; else a stat of zeros makes git look at the content.
        """
        if entry is None:
            return None
        if written is not None:
            with contextlib.suppress(OSError):
                now = os.lstat(self._worktree.path(path))  # the rename changed its ctime
                if marks(now) == marks(written):
                    return Record.of(entry.mode, entry.oid, now)
        return Record(entry.mode, entry.oid)

    def _holds_blob(self, name: bytes, oid: Oid) -> bool:
        return self._worktree.holds(path_text(name), TreeEntry(FILE, oid))


def _signed(tip: Oid, stat: os.stat_result) -> bytes:
    # Buys "times the floor": of one length, and written over in place; emptying it would wait for the disk.
    return f"{tip} {stat.st_mtime_ns} {stat.st_size} {stat.st_ino}".ljust(120).encode()


@dataclass(frozen=True, slots=True)
class StagedFile:
    """A file as the index has it."""

    path: str
    mode: int
    oid: Oid


def staged_files(repository: Repository, index_path: str) -> tuple[list[StagedFile], list[str]]:
    """Files that an index adds to or changes in HEAD's commit, and all paths of the index.

    `index_path` is the one git works with: for `git commit <paths>` that is a temporary one.
    """
    head = repository.refs.read("HEAD")
    known = dict(repository.tree(head).files())
    changed: list[StagedFile] = []
    names: list[str] = []
    for file in _records(index_path):
        names.append(file.path)
        entry = known.get(file.path)
        if entry is None or entry.oid != file.oid or entry.mode != file.mode:
            changed.append(file)
    return changed, names


def _records(index_path: str) -> Iterator[StagedFile]:
    if not os.path.exists(index_path):
        return
    index = git_index.load(index_path)
    if index is None:
        raise BundleUnusable(
            "Git's index is split, sparse or damaged: gitmem does not read it.",
            hint="Run `git update-index --no-split-index`, or `git reset` if git cannot read it either.",
        )
    for place, name in enumerate(index.names):
        yield StagedFile(path_text(name), index.mode(place), index.oid(place))
