"""The files of the work tree: look at what is there, and put the files of a commit in their places."""

from __future__ import annotations

import contextlib
import os
import stat as stat_module
from collections.abc import Callable, Container, Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from types import MappingProxyType

from gitmem.errors import BundleUnusable, UnsafePath
from gitmem.files import (
    TEMPORARY,
    DiskGroup,
    close_later,
    hold_replaced,
    make_directory,
    make_durable,
    read_file,
    replace_file,
    write_open,
)
from gitmem.git.objects import Oid, TreeEntry, blob_id, file_id
from gitmem.git.store import ObjectStore
from gitmem.git.tree import MAX_FILE_BYTES
from gitmem.okf.paths import leads_outside
from gitmem.state import LocalState

_MOST_OPEN = 64
"""File descriptors that a commit holds for a moment, of which a host has perhaps a thousand."""

Marks = tuple[int, int, int]


def marks(stat: os.stat_result) -> Marks:
    """Return the stat values that change when a file is edited, but not when it is renamed."""
    return stat.st_ino, stat.st_mtime_ns, stat.st_size


@dataclass(frozen=True, slots=True)
class HandEdit:
    """One file as a person left it: its bytes, or None where there is no file.

    `problem` says why it cannot be committed as it is (a link, a special file, too large);
    `stored` is the form in which it will be committed, which may differ from `data`.
    """

    path: str
    data: bytes | None = None
    problem: str = ""
    stored: bytes | None = None

    def holds(self, blob: Oid | None) -> bool:
        """The file is this blob; None stands for no file."""
        return not self.problem and (None if self.data is None else blob_id(self.data)) == blob


class WorkTree:
    """The files of a bundle as a person sees them."""

    def __init__(self, root: str, git_dir: str, store: ObjectStore, state: LocalState) -> None:
        self.root = root
        self._store = store
        self._git_dir = git_dir
        self._state = state
        self._changed: set[str] = set()

    def path(self, name: str) -> str:
        return f"{self.root}/{name}"

    # Looking

    def stat(self, path: str) -> os.stat_result | None:
        """The stat of what is at a path, None where nothing is."""
        try:
            return os.lstat(self.path(path))
        except (FileNotFoundError, NotADirectoryError):
            return None

    def marks(self, path: str) -> Marks | None:
        stat = self.stat(path)
        return None if stat is None else marks(stat)

    def look(self, path: str) -> HandEdit:
        """Return the file at a path."""
        full, stat = self.path(path), self.stat(path)
        if stat is None:
            return HandEdit(path)
        if stat_module.S_ISLNK(stat.st_mode):
            return HandEdit(path, problem="is a symbolic link, which a bundle never holds")
        if stat_module.S_ISDIR(stat.st_mode):
            own = os.path.lexists(os.path.join(full, ".git"))
            return HandEdit(path, problem="is a git repository of its own" if own else "")
        if not stat_module.S_ISREG(stat.st_mode):
            return HandEdit(path, problem="is not a regular file")
        if stat.st_size > MAX_FILE_BYTES:
            size = stat.st_size / 1024 / 1024
            most = MAX_FILE_BYTES >> 20
            return HandEdit(path, problem=f"is too large ({size:.0f} MB; at most {most} MB)")
        try:
            path.encode()
            return HandEdit(path, read_file(full))
        except UnicodeEncodeError:
            return HandEdit(path, problem="has a name that is not UTF-8")
        except OSError as error:
            return HandEdit(path, problem=f"cannot be read ({error.strerror})")

    def holds(self, path: str, entry: TreeEntry | None) -> bool:
        """The file is what the entry says; None stands for no file."""
        return self.look(path).holds(file_id(entry))

    def stat_if_holds(self, path: str, entry: TreeEntry | None) -> os.stat_result | None:
        """The file's stat, from before it was found to be what the entry says."""
        with contextlib.suppress(OSError):
            stat = os.lstat(self.path(path))
            if self.holds(path, entry):
                return stat
        return None

    def files(self) -> Iterator[tuple[str, os.stat_result]]:
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
                    if os.path.abspath(entry.path) != self._git_dir:
                        stack.append(path + "/")
                    continue
                try:
                    stat = entry.stat(follow_symlinks=False)
                except FileNotFoundError:  # removed meanwhile
                    continue
                yield path, stat

    def not_ignored(self, paths: list[str]) -> list[str]:
        """Those of some files without a record that git would list as untracked."""
        if not paths:
            return []
        from dulwich.ignore import IgnoreFilter, IgnoreFilterManager

        exclude = os.path.join(self._git_dir, "info", "exclude")
        local = [IgnoreFilter.from_path(exclude)] if os.path.exists(exclude) else []
        manager = IgnoreFilterManager(self.root, local, ignorecase=False)
        return [path for path in paths if not manager.is_ignored(path)]

    # Writing

    def bring(self, path: str, entry: TreeEntry | None) -> None:
        """Make one file what a tree says."""
        if entry is None:
            self.remove(path)
        else:
            self.write(path, self._store.blob(entry.oid), entry.mode)

    def write(self, path: str, data: bytes, mode: int) -> None:
        """Put a file there at once, on disk before it has its name."""
        full, scratch = self.path(path), self._state.scratch
        self._placed(path, lambda: replace_file(full, data, scratch=scratch, mode=mode & 0o777, durable=True))

    def follow(
        self,
        entries: Mapping[str, TreeEntry | None],
        files: FilesAside,
        seen: Mapping[str, Marks | None] = MappingProxyType({}),
    ) -> dict[str, os.stat_result | None]:
        """Make files what a tree says, all on disk before the first has its name; gives their stats.

        One that a person touched since it was `seen` stays: it shows as their edit.
        """
        for path, entry in entries.items():
            if entry is not None and path not in files:
                files.make(path, self._store.blob(entry.oid), entry.mode)
        files.flush()
        written: dict[str, os.stat_result | None] = {}
        # What goes makes room for what comes.
        for path, entry in sorted(entries.items(), key=lambda item: item[1] is not None):
            if path in seen and self.marks(path) != seen[path]:
                continue
            if entry is None:
                self.remove(path)
                written[path] = None
            else:
                written[path] = self._placed(path, partial(files.put, path, self.path(path)))
        return written

    def _placed(self, path: str, place: Callable[[], os.stat_result]) -> os.stat_result:
        _refuse_outside(path)
        try:
            return place()
        except FileNotFoundError:
            self._make_directories(path)
            return place()

    def directories(self, paths: Iterable[str]) -> set[str]:
        """The directories whose names have changed since the last time, where these files were written or removed."""
        found = {os.path.dirname(self.path(path)) for path in paths} | self._changed
        self._changed = set()
        return found

    def remove(self, path: str) -> None:
        """Remove a file and the directories it leaves empty."""
        _refuse_outside(path)
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
            self._changed.add(directory)

    def _make_directories(self, path: str) -> None:
        current = self.root
        for part in path.split("/")[:-1]:
            current = os.path.join(current, part)
            try:
                make_directory(current)
                self._changed.add(os.path.dirname(current))
            except FileExistsError:
                if not os.path.isdir(current) or os.path.islink(current):
                    raise _in_the_way(current) from None

    def refuse_links(self, paths: Iterable[str]) -> None:
        """Refuse to write through a directory that is a symbolic link, which may lead anywhere."""
        for directory, mode in self._above(paths):
            if stat_module.S_ISLNK(mode):
                raise BundleUnusable(f"{directory} in the work tree is a symbolic link: remove it first.")

    def refuse_files_above(self, paths: Iterable[str], *, but: Container[str]) -> None:
        """Refuse to write below a file, but for those that go."""
        for directory, mode in self._above(paths):
            if not stat_module.S_ISDIR(mode) and directory not in but:
                raise _in_the_way(f"{directory} in the work tree")

    def is_below_link(self, path: str) -> bool:
        return any(stat_module.S_ISLNK(mode) for _, mode in self._above([path]))

    def _above(self, paths: Iterable[str]) -> Iterator[tuple[str, int]]:
        """Yield whatever exists at the parent directories of these paths, with its mode."""
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


def _in_the_way(what: str) -> BundleUnusable:
    return BundleUnusable(f"{what} is in the way: move it, a directory of the bundle goes there.")


def _refuse_outside(path: str) -> None:
    if leads_outside(path):
        raise UnsafePath(f"The path {path[:80]!a} leads outside the bundle.")


class FilesAside:
    """Files of a commit that are written but have not got their names yet.

    Buys "times the floor": they are written while the disk is busy with the objects anyway.
    """

    def __init__(self, stem: str) -> None:
        self._stem = stem
        self._made: dict[str, tuple[str, os.stat_result]] = {}
        self._open: list[int] = []
        self._late = DiskGroup()
        self._replaced: list[int] = []
        self._count = 0

    def make(self, path: str, data: bytes, mode: int, disk: DiskGroup | None = None) -> None:
        """Write a file aside; with a group that goes to disk, it goes with it."""
        temporary = f"{self._stem}-{self._count}"
        self._count += 1
        descriptor, written = write_open(temporary, data, mode=mode & 0o777)
        self._made[path] = temporary, written
        if len(self._open) >= _MOST_OPEN:
            os.close(descriptor)
            return
        self._open.append(descriptor)
        (disk or self._late).add(descriptor)

    def flush(self) -> None:
        """Put the files that no group took along on disk, side by side; of very many, all that the file system has."""
        if len(self._made) > len(self._open):
            names = [os.path.basename(one) for one, _ in self._made.values()]
            make_durable(os.path.dirname(self._stem), names)
        else:
            self._late.flush()

    def __contains__(self, path: str) -> bool:
        return path in self._made

    def put(self, path: str, full: str) -> os.stat_result:
        """Give a file its name; gives its stat from before anybody else could change it."""
        temporary, written = self._made[path]
        # Buys "times the floor": freeing the old file takes longer than all else, and can wait until `close`.
        if len(self._replaced) < _MOST_OPEN:
            self._replaced += hold_replaced(full)
        os.replace(temporary, full)
        del self._made[path]
        return written

    def close(self) -> None:
        """Let go of the old files, and of new ones that never got their names."""
        close_later([*self._replaced, *self._open])
        self._replaced, self._open = [], []
        for temporary, _ in self._made.values():
            with contextlib.suppress(OSError):
                os.unlink(temporary)
        self._made.clear()
