"""The work tree: what a person changed in it, and putting the files of a commit there."""

from __future__ import annotations

import contextlib
import os
import stat as stat_module
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

from gitmem.errors import BundleUnusable, TooLarge
from gitmem.files import TEMPORARY, overwrite_file, read_file, replace_file
from gitmem.git import git_index
from gitmem.git.asides import FilesAside
from gitmem.git.git_index import GitIndex, Record
from gitmem.git.objects import EXECUTABLE, FILE, Oid, TreeEntry, blob_id
from gitmem.git.store import ObjectStore
from gitmem.git.tree import Tree
from gitmem.state import INDEX_SEEN, LocalState

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

    def __init__(self, root: str, git_dir: str, store: ObjectStore, state: LocalState) -> None:
        self.root = root
        self._store = store
        self.index_path = os.path.join(git_dir, "index")
        self._git_dir = git_dir
        self._scratch = state.scratch
        self._seen_path = state.path(INDEX_SEEN)
        self._cached: tuple[_Marks, GitIndex] | None = None
        self._looked_at: dict[str, _Marks | None] = {}
        self._index_looked_at = b""

    def path(self, name: str) -> str:
        return f"{self.root}{os.sep}{name if os.sep == '/' else name.replace('/', os.sep)}"

    # What a person changed

    def hand_edits(self, tip: Tree, tip_oid: Oid) -> list[HandEdit]:
        """Everything that differs from the tip: staged versions first, then the work tree's.

        The index answers for files whose stat it knows, so only touched files are read.
        """
        signature = self._signature(tip_oid)
        index = self._index()
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
        self._index_looked_at = self._signature(tip_oid)
        self._looked_at = {}
        index = None if self.index_is_ours(tip_oid) else self._index()
        remembered = index or self._remembered_index()
        edits = []
        for path in paths:
            known = _file_id(tip.entry(path))
            if index is not None:
                place = index.place(path.encode("utf-8", "surrogateescape"))
                staged = index.oid(place) if place >= 0 else None
                if staged != known:
                    edits.append(self._staged_edit(path, index, place))
                    known = (
                        staged  # what differs from it in the work tree came later, also if it is the tip's
                    )
            stat = self._stat(path)
            self._looked_at[path] = _marks(stat) if stat is not None else None
            if stat is not None and remembered is not None and _vouches(remembered, path, stat, known):
                continue
            edit = self._examine(path, stat)
            if edit.problem or (None if edit.data is None else blob_id(edit.data)) != known:
                edits.append(edit)
        return edits

    def index_changed(self, tip_oid: Oid) -> bool:
        """Somebody wrote git's index since `differing` looked at it."""
        return self._signature(tip_oid) != self._index_looked_at

    def changed(self, path: str) -> bool:
        """Somebody touched the file since `differing` looked at it."""
        if path not in self._looked_at:
            return False
        stat = self._stat(path)
        return (_marks(stat) if stat is not None else None) != self._looked_at[path]

    def _stat(self, path: str) -> os.stat_result | None:
        try:
            return os.lstat(self.path(path))
        except (FileNotFoundError, NotADirectoryError):
            return None

    def holds(self, path: str, entry: TreeEntry | None) -> bool:
        """The file is what the entry says; None stands for no file."""
        edit = self._examine(path, self._stat(path))
        return not edit.problem and (None if edit.data is None else blob_id(edit.data)) == _file_id(entry)

    def _staged(self, index: GitIndex, tip: Tree) -> Iterable[HandEdit]:
        missing = dict(tip.files())
        for place, name in enumerate(index.names):
            path = name.decode("utf-8", "surrogateescape")
            entry = missing.pop(path, None)
            oid = index.oid(place)
            mode = index.mode(place)
            if entry is not None and entry.oid == oid and (entry.mode == mode or mode in (FILE, EXECUTABLE)):
                continue
            yield self._staged_edit(path, index, place)
        for path in missing:
            yield HandEdit(path, None, staged=True)

    def _staged_edit(self, path: str, index: GitIndex, place: int) -> HandEdit:
        if place < 0:
            return HandEdit(path, None, staged=True)
        if index.mode(place) in (FILE, EXECUTABLE):
            return HandEdit(path, self._store.blob(index.oid(place)), staged=True)
        problem = "is a link or a repository of its own, which a bundle never holds"
        return HandEdit(path, None, staged=True, problem=problem)

    def _unstaged(self, index: GitIndex) -> Iterable[HandEdit]:
        missing = dict(zip(index.names, range(len(index.names)), strict=True))
        unknown: list[str] = []
        for path, stat in self._files():
            place = missing.pop(path.encode("utf-8", "surrogateescape"), -1)
            if place < 0:
                unknown.append(path)
                continue
            if index.untouched(place, stat):
                continue
            edit = self._examine(path, self._stat(path))
            # Not the mode: what is executable follows from the path, so a chmod is nothing to commit.
            if edit.problem or edit.data is None or blob_id(edit.data) != index.oid(place):
                yield edit
        yield from (self._examine(path, self._stat(path)) for path in self._not_ignored(unknown))
        for name in missing:
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
            edit = self._examine(path, self._stat(path))
            if edit.problem or edit.data is None or blob_id(edit.data) != entry.oid:
                edits.append(edit)
        edits += [self._examine(path, self._stat(path)) for path in self._not_ignored(unknown)]
        return edits + [HandEdit(path, None) for path in missing]

    def _files(self) -> Iterable[tuple[str, os.stat_result]]:
        """Every file with its stat, without following links and without git's own directory."""
        stack = [""]
        while stack:
            prefix = stack.pop()
            directory = os.path.join(self.root, prefix) if prefix else self.root
            try:
                with os.scandir(directory) as found:
                    entries = list(found)
            except FileNotFoundError:  # removed meanwhile
                continue
            if prefix and any(entry.name == ".git" for entry in entries):
                yield prefix[:-1], os.lstat(directory)  # a repository of its own: git does not look into it
                continue
            for entry in entries:
                name = entry.name
                if name == ".git" or name.startswith(TEMPORARY):
                    continue
                path = prefix + name
                if entry.is_dir(follow_symlinks=False):
                    if not self._is_git_dir(entry.path):
                        stack.append(path + "/")
                    continue
                try:
                    stat = entry.stat(follow_symlinks=False)
                except FileNotFoundError:  # removed meanwhile
                    continue
                yield path, stat

    def _is_git_dir(self, path: str) -> bool:
        return os.path.abspath(path) == self._git_dir

    def _examine(self, path: str, stat: os.stat_result | None) -> HandEdit:
        """What stands at a path, whose stat was taken before."""
        full = self.path(path)
        if stat is None:
            return HandEdit(path, None)
        if stat_module.S_ISLNK(stat.st_mode):
            return HandEdit(path, None, problem="is a symbolic link, which a bundle never holds")
        if stat_module.S_ISDIR(stat.st_mode):
            own = os.path.lexists(os.path.join(full, ".git"))
            return HandEdit(path, None, problem="is a git repository of its own" if own else "")
        if not stat_module.S_ISREG(stat.st_mode):
            return HandEdit(path, None, problem="is not a regular file")
        if stat.st_size > MAX_FILE_BYTES:
            size = stat.st_size / 1024 / 1024
            return HandEdit(
                path, None, problem=f"is too large ({size:.0f} MB; at most {MAX_FILE_BYTES >> 20} MB)"
            )
        try:
            path.encode()
        except UnicodeEncodeError:
            return HandEdit(path, None, problem="has a name that is not UTF-8")
        try:
            return HandEdit(path, read_file(full))
        except OSError as error:
            return HandEdit(path, None, problem=f"can not be read ({error.strerror})")

    def _not_ignored(self, paths: list[str]) -> list[str]:
        if not paths:
            return []
        from dulwich.ignore import IgnoreFilter, IgnoreFilterManager

        exclude = os.path.join(self._git_dir, "info", "exclude")
        local = [IgnoreFilter.from_path(exclude)] if os.path.exists(exclude) else []
        manager = IgnoreFilterManager(self.root, local, ignorecase=False)
        return [path for path in paths if not manager.is_ignored(path)]

    # Bringing the work tree along

    def bring(self, path: str, entry: TreeEntry | None) -> os.stat_result | None:
        """Make one file what a tree says; gives its stat, None where it was removed."""
        if entry is None:
            self.remove(path)
            return None
        return self.write(path, self._store.blob(entry.oid), entry.mode)

    def write(self, path: str, data: bytes, mode: int, asides: FilesAside | None = None) -> os.stat_result:
        """Put a file there atomically; gives its stat, from before a person could change it."""
        try:
            return self._put(path, data, mode, asides)
        except FileNotFoundError:
            self._make_directories(path)
            return self._put(path, data, mode, asides)

    def _put(self, path: str, data: bytes, mode: int, asides: FilesAside | None) -> os.stat_result:
        if asides is not None and path in asides:
            return asides.put(path, self.path(path))
        return replace_file(self.path(path), data, scratch=self._scratch, mode=mode & 0o777)

    def remove(self, path: str) -> None:
        """Remove a file and the directories it leaves empty."""
        full = self.path(path)
        # A directory may have taken the file's place, or a file that of a directory above it.
        if not os.path.isdir(full) or os.path.islink(full):
            with contextlib.suppress(FileNotFoundError, NotADirectoryError):
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
        for directory, mode in self._above(paths):
            if stat_module.S_ISLNK(mode):
                raise BundleUnusable(f"{directory} in the work tree is a symbolic link: remove it first.")

    def refuse_files(self, paths: Iterable[str]) -> None:
        """Refuse to write below what is no directory."""
        for directory, mode in self._above(paths):
            if not stat_module.S_ISDIR(mode):
                raise BundleUnusable(
                    f"{directory} in the work tree is in the way: move it, "
                    "a directory of the bundle goes there."
                )

    def is_below_link(self, path: str) -> bool:
        return any(stat_module.S_ISLNK(mode) for _, mode in self._above([path]))

    def _above(self, paths: Iterable[str]) -> Iterator[tuple[str, int]]:
        """What stands where the directories above these paths are, with its mode."""
        checked: set[str] = set()
        for parent in {path.rpartition("/")[0] for path in paths} - {""}:
            parts = parent.split("/")
            for depth in range(1, len(parts) + 1):
                directory = "/".join(parts[:depth])
                if directory not in checked:
                    checked.add(directory)
                    try:
                        yield directory, os.lstat(self.path(directory)).st_mode
                    except (FileNotFoundError, NotADirectoryError):
                        break

    # Git's index

    def spliced_index(
        self,
        entries: Mapping[str, TreeEntry | None],
        tip: Tree,
        written: Mapping[str, os.stat_result | None],
        moment: int,
    ) -> GitIndex:
        """Git's index with these records; `written` has the stats of the files we wrote.

        `moment` (in nanoseconds) lies before they were written.
        """
        records = {
            path.encode("utf-8", "surrogateescape"): self._record(path, entry, written.get(path))
            for path, entry in entries.items()
        }
        index = self._index()
        if index is None:
            return self._whole_index(tip, records, moment)
        return index.splice(records, moment // 1_000_000_000, self._holds_blob)

    def _holds_blob(self, name: bytes, oid: Oid) -> bool:
        return self.holds(name.decode("utf-8", "surrogateescape"), TreeEntry(FILE, oid))

    def _whole_index(self, tip: Tree, known: Mapping[bytes, Record | None], moment: int) -> GitIndex:
        """An index for the whole tip, where there is none that can be spliced."""
        records = {}
        for path, entry in tip.files():
            name = path.encode("utf-8", "surrogateescape")
            record = known.get(name) or self._record(path, entry, self._stat_if_holds(path, entry))
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
                now = os.lstat(self.path(path))  # the rename changed its ctime
                if _marks(now) == _marks(written):
                    return Record.of(entry.mode, entry.oid, now)
        return Record(entry.mode, entry.oid)

    def still_held(
        self,
        entries: Mapping[str, TreeEntry | None],
        written: Mapping[str, os.stat_result | None],
        moment: int,
    ) -> dict[str, os.stat_result | None]:
        """The stats of files we wrote; those from a second before `moment` only if a look confirms them."""
        past = moment // 1_000_000_000 * 1_000_000_000
        return {
            path: self._stat_if_holds(path, entries[path]) if stat and stat.st_mtime_ns < past else stat
            for path, stat in written.items()
        }

    def _stat_if_holds(self, path: str, entry: TreeEntry | None) -> os.stat_result | None:
        """The file's stat, from before it was found to be what the entry says."""
        with contextlib.suppress(OSError):
            stat = os.lstat(self.path(path))
            if self.holds(path, entry):
                return stat
        return None

    def mended_index(self, paths: Iterable[str], old: Tree, target: Tree, moment: int) -> GitIndex:
        """The index after a crash: records that still are the old tip's follow the target."""
        index = self._index()
        if index is None:
            return self._whole_index(target, {}, moment)
        changes = {}
        for path in paths:
            place = index.place(path.encode("utf-8", "surrogateescape"))
            if (index.oid(place) if place >= 0 else None) == _file_id(old.entry(path)):
                changes[path] = target.entry(path)
        written = {path: self._stat_if_holds(path, entry) for path, entry in changes.items()}
        return self.spliced_index(changes, target, written, moment)

    def index_is_ours(self, tip: Oid) -> bool:
        """Nobody wrote git's index since we did for this tip, so nothing is staged."""
        signature = self._signature(tip)
        return signature == _NO_INDEX or read_file(self._seen_path) == signature

    def _index(self) -> GitIndex | None:
        """Git's index, read again only where somebody else wrote it."""
        remembered = self._remembered_index()
        if remembered is not None:
            return remembered
        try:
            marks = _marks(os.stat(self.index_path))
        except FileNotFoundError:
            return None
        index = git_index.load(self.index_path)
        self._cached = (marks, index) if index is not None else None
        return index

    def _remembered_index(self) -> GitIndex | None:
        """Git's index if this process has read or written it, and nobody else wrote it since."""
        with contextlib.suppress(FileNotFoundError):
            if self._cached is not None and self._cached[0] == _marks(os.stat(self.index_path)):
                return self._cached[1]
        return None

    def listed(self, path: str) -> Oid | None:
        """The blob that git's index has for a file."""
        index = self._index()
        place = -1 if index is None else index.place(path.encode("utf-8", "surrogateescape"))
        return None if index is None or place < 0 else index.oid(place)

    def tracked(self) -> list[bytes] | None:
        """Names in git's index; None where it can not be read."""
        index = self._index()
        return None if index is None else index.names

    def index_written(self, index: GitIndex, stat: os.stat_result) -> None:
        """This index was written, and had this stat before it got its name."""
        self._cached = _marks(stat), index

    def note_index(self, tip: Oid, stat: os.stat_result) -> None:
        """Remember the index as we wrote it, to tell it from what a person staged later."""
        self._note(_signed(tip, stat))

    def _note(self, signature: bytes) -> None:
        with contextlib.suppress(OSError):  # only a shortcut
            overwrite_file(self._seen_path, signature)

    def _signature(self, tip: Oid) -> bytes:
        try:
            stat = os.stat(self.index_path)
        except FileNotFoundError:
            return _NO_INDEX if not tip else b"lost"
        return _signed(tip, stat)


_NO_INDEX = b"none"

_Marks = tuple[int, int, int]


def _marks(stat: os.stat_result) -> _Marks:
    """What changes when somebody changes a file, and does not when it is renamed."""
    return stat.st_ino, stat.st_mtime_ns, stat.st_size


def _vouches(index: GitIndex, path: str, stat: os.stat_result, oid: Oid | None) -> bool:
    """The index knows, without a look into it, that the file still is this blob."""
    place = index.place(path.encode("utf-8", "surrogateescape"))
    return place >= 0 and index.oid(place) == oid and index.untouched(place, stat)


def _signed(tip: Oid, stat: os.stat_result) -> bytes:
    # Of one length, because it is written over in place: emptying a file first costs a wait for the disk.
    return f"{tip} {stat.st_mtime_ns} {stat.st_size} {stat.st_ino}".ljust(120).encode()


def _file_id(entry: TreeEntry | None) -> Oid | None:
    return None if entry is None or entry.is_directory else entry.oid


def check_size(path: str, data: bytes) -> None:
    if len(data) > MAX_FILE_BYTES:
        raise TooLarge(f"{path} is too large for a bundle: at most {MAX_FILE_BYTES >> 20} MB a file.")
