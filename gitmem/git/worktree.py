"""The work tree: what a person changed in it, and putting the files of a commit there."""

from __future__ import annotations

import contextlib
import os
import stat as stat_module
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from gitmem.errors import BundleUnusable, TooLarge
from gitmem.git import gitindex
from gitmem.git.files import TEMPORARY, read_file, replace_file
from gitmem.git.gitindex import GitIndex, Record
from gitmem.git.objects import EXECUTABLE, Oid, TreeEntry, blob_id
from gitmem.git.store import ObjectStore
from gitmem.git.tree import Tree

MAX_FILE_BYTES = 8 * 1024 * 1024


@dataclass(frozen=True, slots=True)
class HandEdit:
    """One file that a person changed: its bytes, or None where they removed it.

    `problem` says why it can not be committed as it is (a link, a special file, too large);
    `stored` is the form in which it will be committed, which may differ from `data`.
    """

    path: str
    data: bytes | None
    staged: bool = False
    problem: str = ""
    stored: bytes | None = None


class WorkTree:
    """The files of a bundle as a person sees them, beside git's index."""

    def __init__(self, root: str, git_dir: str, store: ObjectStore, scratch: str) -> None:
        self.root = root
        self._store = store
        self.index_path = os.path.join(git_dir, "index")
        self._git_dir = git_dir
        self._scratch = scratch
        self._seen_path = os.path.join(git_dir, "gitmem", "index-seen")

    def path(self, name: str) -> str:
        return os.path.join(self.root, *name.split("/"))

    # What a person changed

    def hand_edits(self, tip: Tree, tip_oid: Oid) -> list[HandEdit]:
        """Everything that differs from the tip: staged versions first, then the work tree's.

        The index answers for files whose stat it knows, so only touched files are read.
        """
        signature = self._signature(tip_oid)
        index = gitindex.load(self.index_path)
        if index is None:
            return self._against_tree(tip)
        staged: list[HandEdit] = []
        if read_file(self._seen_path) != signature:
            staged = list(self._staged(index, tip))
            if not staged:
                self._note(signature)
        return staged + list(self._unstaged(index))

    def differing(self, tip: Tree, paths: Iterable[str], tip_oid: Oid) -> list[HandEdit]:
        """Hand edits among some paths only: what a commit must look at before it writes them.

        Git's index is read only where somebody else wrote it: reading it costs as much as there
        are files in the bundle, and this stands before every commit.
        """
        index = None if self.index_is_ours(tip_oid) else gitindex.load(self.index_path)
        edits = []
        for path in paths:
            known = _file_id(tip.entry(path))
            if index is not None:
                place = index.place(path.encode("utf-8", "surrogateescape"))
                staged = index.oid(place) if place >= 0 else None
                if staged != known:
                    data = self._store.blob(staged) if staged else None
                    edits.append(HandEdit(path, data, staged=True))
            edit = self._examine(path)
            if edit.problem or (None if edit.data is None else blob_id(edit.data)) != known:
                edits.append(edit)
        return edits

    def holds(self, path: str, entry: TreeEntry | None) -> bool:
        """The file is what the entry says; None stands for no file."""
        edit = self._examine(path)
        return not edit.problem and (None if edit.data is None else blob_id(edit.data)) == _file_id(entry)

    def _staged(self, index: GitIndex, tip: Tree) -> Iterable[HandEdit]:
        missing = dict(tip.files())
        for place, name in enumerate(index.names):
            path = name.decode("utf-8", "surrogateescape")
            entry = missing.pop(path, None)
            oid = index.oid(place)
            if entry is None or entry.oid != oid or entry.mode != index.mode(place):
                yield HandEdit(path, self._store.blob(oid), staged=True)
        for path in missing:
            yield HandEdit(path, None, staged=True)

    def _unstaged(self, index: GitIndex) -> Iterable[HandEdit]:
        seen: set[int] = set()
        unknown: list[str] = []
        for path, stat in self._files():
            place = index.place(path.encode("utf-8", "surrogateescape"))
            if place < 0:
                unknown.append(path)
                continue
            seen.add(place)
            if index.untouched(place, stat):
                continue
            edit = self._examine(path)
            executable = bool(stat.st_mode & 0o100)
            if (
                edit.problem
                or edit.data is None
                or blob_id(edit.data) != index.oid(place)
                or executable != (index.mode(place) == EXECUTABLE)
            ):
                yield edit
        yield from (self._examine(path) for path in self._not_ignored(unknown))
        for place, name in enumerate(index.names):
            if place not in seen:
                yield HandEdit(name.decode("utf-8", "surrogateescape"), None)

    def _against_tree(self, tip: Tree) -> list[HandEdit]:
        """Without a usable index: read every file and compare it with the tip."""
        missing = dict(tip.files())
        edits: list[HandEdit] = []
        unknown: list[str] = []
        for path, _ in self._files():
            entry = missing.pop(path, None)
            if entry is None:
                unknown.append(path)
                continue
            edit = self._examine(path)
            if edit.problem or edit.data is None or blob_id(edit.data) != entry.oid:
                edits.append(edit)
        edits += [self._examine(path) for path in self._not_ignored(unknown)]
        return edits + [HandEdit(path, None) for path in missing]

    def _files(self) -> Iterable[tuple[str, os.stat_result]]:
        """Every file with its stat, without following links and without git's own directory."""
        stack = [""]
        while stack:
            prefix = stack.pop()
            with os.scandir(os.path.join(self.root, prefix) if prefix else self.root) as entries:
                for entry in entries:
                    name = entry.name
                    if name == ".git" or name.startswith(TEMPORARY):
                        continue
                    path = prefix + name
                    if entry.is_dir(follow_symlinks=False):
                        if not self._is_git_dir(entry.path):
                            stack.append(path + "/")
                    else:
                        yield path.replace(os.sep, "/"), entry.stat(follow_symlinks=False)

    def _is_git_dir(self, path: str) -> bool:
        return os.path.abspath(path) == self._git_dir

    def _examine(self, path: str) -> HandEdit:
        full = self.path(path)
        try:
            stat = os.lstat(full)
        except (FileNotFoundError, NotADirectoryError):
            return HandEdit(path, None)
        if stat_module.S_ISLNK(stat.st_mode):
            return HandEdit(path, None, problem="is a symbolic link, which a bundle never holds")
        if stat_module.S_ISDIR(stat.st_mode):
            return HandEdit(path, None)
        if not stat_module.S_ISREG(stat.st_mode):
            return HandEdit(path, None, problem="is not a regular file")
        if stat.st_size > MAX_FILE_BYTES:
            size = stat.st_size / 1024 / 1024
            return HandEdit(
                path, None, problem=f"is too large ({size:.0f} MB; at most {MAX_FILE_BYTES >> 20} MB)"
            )
        with open(full, "rb") as file:
            return HandEdit(path, file.read())

    def _not_ignored(self, paths: list[str]) -> list[str]:
        if not paths:
            return []
        from dulwich.ignore import IgnoreFilter, IgnoreFilterManager

        exclude = os.path.join(self._git_dir, "info", "exclude")
        local = [IgnoreFilter.from_path(exclude)] if os.path.exists(exclude) else []
        manager = IgnoreFilterManager(self.root, local, ignorecase=False)
        return [path for path in paths if not manager.is_ignored(path)]

    # Bringing the work tree along

    def bring(self, path: str, entry: TreeEntry | None) -> None:
        """Make one file what a tree says."""
        if entry is None:
            self.remove(path)
        else:
            self.write(path, self._store.blob(entry.oid), entry.mode)

    def write(self, path: str, data: bytes, mode: int) -> None:
        """Put a file there atomically."""
        full = self.path(path)
        try:
            replace_file(full, data, scratch=self._scratch, mode=mode & 0o777)
        except FileNotFoundError:
            self._make_directories(path)
            replace_file(full, data, scratch=self._scratch, mode=mode & 0o777)

    def remove(self, path: str) -> None:
        """Remove a file and the directories it leaves empty."""
        full = self.path(path)
        with contextlib.suppress(FileNotFoundError):
            os.unlink(full)
        directory = os.path.dirname(full)
        while directory != self.root:
            try:
                os.rmdir(directory)
            except OSError:  # not empty, or gone already
                return
            directory = os.path.dirname(directory)

    def _make_directories(self, path: str) -> None:
        current = self.root
        for part in path.split("/")[:-1]:
            current = os.path.join(current, part)
            try:
                os.mkdir(current)
            except FileExistsError:
                if not os.path.isdir(current) or os.path.islink(current):
                    raise BundleUnusable(
                        f"{current} is in the way: move it, a directory of the bundle goes there."
                    ) from None

    def refuse_links(self, paths: Iterable[str]) -> None:
        """Refuse to write through a directory that is a symbolic link: it may lead anywhere."""
        checked = {""}
        for path in paths:
            parts = path.split("/")[:-1]
            for depth in range(1, len(parts) + 1):
                directory = "/".join(parts[:depth])
                if directory not in checked:
                    checked.add(directory)
                    if os.path.islink(self.path(directory)):
                        raise BundleUnusable(
                            f"{directory} in the work tree is a symbolic link: remove it first."
                        )

    # Git's index

    def spliced_index(
        self, entries: Mapping[str, TreeEntry | None], tip: Tree, leaves: frozenset[str] = frozenset()
    ) -> bytes:
        """The bytes of git's index after these files were written or removed, but for those left alone."""
        records = {
            path.encode("utf-8", "surrogateescape"): self._record(path, entry, written=path not in leaves)
            for path, entry in entries.items()
        }
        index = gitindex.load(self.index_path)
        return self._whole_index(tip, records) if index is None else index.splice(records)

    def _whole_index(self, tip: Tree, known: Mapping[bytes, Record | None]) -> bytes:
        """The bytes of an index for the whole tip, where there is none that can be spliced."""
        records = {}
        for path, entry in tip.files():
            name = path.encode("utf-8", "surrogateescape")
            record = known.get(name) or self._record(path, entry, written=self.holds(path, entry))
            if record is not None:
                records[name] = record
        return gitindex.build(records)

    def _record(self, path: str, entry: TreeEntry | None, *, written: bool) -> Record | None:
        """The record of a file; a stat of zeros makes git look at the content."""
        if entry is None:
            return None
        if written:
            with contextlib.suppress(OSError):
                return Record.of(entry.mode, entry.oid, os.lstat(self.path(path)))
        return Record(entry.mode, entry.oid)

    def mended_index(self, paths: Iterable[str], old: Tree, target: Tree) -> bytes:
        """The index after a crash: records that still are the old tip's follow the target."""
        index = gitindex.load(self.index_path)
        if index is None:
            return self._whole_index(target, {})
        changes = {}
        for path in paths:
            place = index.place(path.encode("utf-8", "surrogateescape"))
            if (index.oid(place) if place >= 0 else None) == _file_id(old.entry(path)):
                changes[path] = target.entry(path)
        return self.spliced_index(changes, target)

    def index_is_ours(self, tip: Oid) -> bool:
        """Nobody wrote git's index since we did for this tip, so nothing is staged."""
        signature = self._signature(tip)
        return signature == _NO_INDEX or read_file(self._seen_path) == signature

    def note_index(self, tip: Oid) -> None:
        """Remember the index as we wrote it, to tell it from what a person staged later."""
        self._note(self._signature(tip))

    def _note(self, signature: bytes) -> None:
        with contextlib.suppress(OSError):  # only a shortcut
            replace_file(self._seen_path, signature, scratch=self._scratch)

    def _signature(self, tip: Oid) -> bytes:
        try:
            stat = os.stat(self.index_path)
        except FileNotFoundError:
            return _NO_INDEX if not tip else b"lost"
        return f"{tip} {stat.st_mtime_ns} {stat.st_size} {stat.st_ino}".encode()


_NO_INDEX = b"none"


def _file_id(entry: TreeEntry | None) -> Oid | None:
    return None if entry is None or entry.is_directory else entry.oid


def check_size(path: str, data: bytes) -> None:
    if len(data) > MAX_FILE_BYTES:
        raise TooLarge(f"{path} is too large for a bundle: at most {MAX_FILE_BYTES >> 20} MB a file.")
