"""A tree at one commit: read it, list it, lay edits over it, and compare it with another.

Trees are compared as raw entries, so that C code drops what two have in common before any entry is looked at.
Buys "full rebuild / bare loop": a history of 20,000 commits is as many comparisons.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterator, Mapping
from typing import NamedTuple

from gitmem.errors import VERIFY, BundleUnusable, InvalidContent, TooLarge, UnsafePath
from gitmem.git.objects import (
    DIRECTORY,
    EMPTY_TREE,
    EXECUTABLE,
    FILE,
    Commit,
    Directory,
    GitObject,
    Oid,
    RawEntry,
    TreeEntry,
    blob_id,
    entries_by_name,
    path_bytes,
    path_text,
    raw_entries,
)
from gitmem.git.store import ObjectStore
from gitmem.okf.paths import leads_outside

Edit = bytes | TreeEntry | None
"""What a file becomes: new content, an object that the store has already, or nothing."""

MAX_FILE_BYTES = 8 * 1024 * 1024

_EMPTY = Directory({}, b"")


class Tree:
    """The files of one commit, by POSIX path relative to the root."""

    def __init__(self, store: ObjectStore, oid: Oid = EMPTY_TREE) -> None:
        self._store = store
        self.oid = oid
        # A tree never changes. What `apply` lays is found here also before its objects are written.
        self._found: dict[str, TreeEntry | None] = {}

    def entry(self, path: str) -> TreeEntry | None:
        """Mode and id of a file or directory."""
        if path not in self._found:
            self._found[path] = self._find(path)
        return self._found[path]

    def _find(self, path: str) -> TreeEntry | None:
        current = TreeEntry(DIRECTORY, self.oid)
        if path in ("", "."):
            return current
        for part in path.split("/"):
            if not current.is_directory:
                return None
            try:
                name = path_bytes(part)
            except UnicodeEncodeError:  # half of a character: no file is called so
                return None
            found = self._store.tree(current.oid).get(name)
            if found is None:
                return None
            current = found
        return current

    def file(self, path: str) -> TreeEntry | None:
        """Mode and id of a file; None for a directory too."""
        found = self.entry(path)
        return None if found is None or found.is_directory else found

    def read(self, path: str) -> bytes | None:
        """The bytes of a file, or None where there is no such file."""
        found = self.file(path)
        return None if found is None else self._store.blob(found.oid)

    def read_entry(self, entry: TreeEntry) -> bytes:
        """The bytes of a file by what a tree says of it."""
        return self._store.blob(entry.oid)

    def __contains__(self, path: str) -> bool:
        return self.entry(path) is not None

    def names(self, directory: str = "") -> dict[str, TreeEntry]:
        """Return the entries of a directory by name; empty where there is no such directory."""
        found = self.entry(directory)
        if found is None or not found.is_directory:
            return {}
        return {path_text(name): entry for name, entry in self._store.tree(found.oid).items()}

    def directories(self, directory: str = "") -> list[str]:
        """The names of the directories in a directory."""
        return [name for name, entry in self.names(directory).items() if entry.is_directory]

    def files(self, directory: str = "") -> Iterator[tuple[str, TreeEntry]]:
        """Every file below a directory with its path, in git's order."""
        found = self.entry(directory)
        if found is None:
            return
        if not found.is_directory:
            yield directory, found
            return
        stack = [(directory + "/" if directory else "", iter(self._store.tree(found.oid).items()))]
        while stack:  # no recursion: the depth is untrusted
            prefix, entries = stack[-1]
            for name, entry in entries:
                path = prefix + path_text(name)
                if entry.is_directory:
                    stack.append((path + "/", iter(self._store.tree(entry.oid).items())))
                    break
                yield path, entry
            else:
                stack.pop()

    def changes(self, newer: Tree, path: str = "") -> Iterator[TreeChange]:
        """The files at or below `path` that differ in `newer`, without looking into equal directories."""
        return TreeDiff(self._store).below(path, self.entry(path), newer.entry(path))

    def apply(self, edits: Mapping[str, Edit]) -> tuple[Tree, list[GitObject]]:
        """This tree with files written or removed, and the objects that are new.

        Only the directories on the way to an edited file are read and written again, so the cost
        does not depend on how many files there are.
        """
        objects: list[GitObject] = []
        entries: dict[str, TreeEntry | None] = {}
        below: dict[str, dict[bytes, TreeEntry | None]] = {"": {}}
        """Changes in each directory on the way to an edited file."""
        for path, edit in edits.items():
            _refuse_unsafe(path, edit)
            if (found := self.entry(path)) is not None and found.is_directory:
                raise InvalidContent(f"{path} is a directory: name the files in it.")
            if isinstance(edit, bytes):
                objects.append(GitObject.of(b"blob", edit))
                entries[path] = TreeEntry(mode_for(path), objects[-1].oid)
            else:
                entries[path] = edit
            directory, _, name = path.rpartition("/")
            below.setdefault(directory, {})[path_bytes(name)] = entries[path]
            while directory:
                directory = directory.rpartition("/")[0]
                below.setdefault(directory, {})
        for directory in sorted(below, key=_depth, reverse=True):
            old = self.entry(directory)
            is_there = old is not None and old.is_directory
            before = self._store.tree_object(old.oid) if old is not None and is_there else _EMPTY
            after = before.changed(below[directory])
            if after.entries and not is_there and entries.get(directory, old):
                raise InvalidContent(f"{directory} is a file: nothing can be written below it.")
            root = GitObject.of(b"tree", after.raw)
            if (after.entries or not directory) and (old is None or root.oid != old.oid):
                objects.append(root)
                self._store.remember_tree(root.oid, after)
            if directory and (after.entries or is_there):
                above, _, name = directory.rpartition("/")
                below[above][path_bytes(name)] = TreeEntry(DIRECTORY, root.oid) if after.entries else None
        tree = Tree(self._store, root.oid)
        tree._found.update((path, entry) for path, entry in entries.items() if path not in below)
        return tree, objects


def _depth(directory: str) -> int:
    return len(directory.split("/")) if directory else 0


def is_same(edit: Edit, entry: TreeEntry | None) -> bool:
    """The edit would change nothing."""
    if edit is None or entry is None or entry.is_directory:
        return edit is None and entry is None
    if isinstance(edit, TreeEntry):
        return edit == entry
    return blob_id(edit) == entry.oid


def mode_for(path: str) -> int:
    """Only scripts of skills are executable."""
    parts = path.split("/")
    return EXECUTABLE if parts[0] == "skills" and "scripts" in parts[1:-1] else FILE


def _refuse_unsafe(path: str, edit: Edit) -> None:
    if leads_outside(path):
        raise UnsafePath(f"The path {path[:80]!a} leads outside the bundle.")
    if edit is None:  # whatever came in can be removed
        return
    if isinstance(edit, TreeEntry) and edit.mode not in (FILE, EXECUTABLE):
        raise InvalidContent(f"{path} is a link or a repository of its own, which a bundle never holds.")
    try:
        path.encode()
    except UnicodeEncodeError:
        raise UnsafePath(f"The path {path[:80]!a} cannot be written as UTF-8.") from None


def check_size(path: str, data: bytes) -> None:
    if len(data) > MAX_FILE_BYTES:
        raise TooLarge(f"{path} is too large for a bundle: at most {MAX_FILE_BYTES >> 20} MB a file.")


Difference = tuple[str, TreeEntry | None, TreeEntry | None]
"""A path with what the old and the new tree have there, a file or a directory."""

# Buys "fetch + merge + push": each tree is compared twice. Entries are counted, not trees: enough for the
# directories on the way to what changes from commit to commit.
_CACHED = 50_000


class TreeChange(NamedTuple):
    """One file that differs between two trees."""

    path: str
    old: TreeEntry | None
    new: TreeEntry | None


class TreeDiff:
    """Compares trees of one store. Keep it for a row of commits: a tree is then read once."""

    def __init__(self, store: ObjectStore) -> None:
        self._store = store
        self._cache: OrderedDict[Oid, frozenset[RawEntry]] = OrderedDict()
        self._cached = 0

    def of_commit(self, commit: Commit) -> Iterator[TreeChange]:
        """The files that a commit changed, against its first parent."""
        parent = self._store.commit(commit.parents[0]).tree if commit.parents else EMPTY_TREE
        return self.changes(parent, commit.tree)

    def changes(self, old: Oid, new: Oid) -> Iterator[TreeChange]:
        """The files that differ between two trees, each directory in the order of its names."""
        return self.below("", TreeEntry(DIRECTORY, old), TreeEntry(DIRECTORY, new))

    def below(self, path: str, old: TreeEntry | None, new: TreeEntry | None) -> Iterator[TreeChange]:
        """The files that differ at or below one path, given what two trees have there."""
        stack: list[Difference] = [(path, old, new)] if old != new else []
        while stack:  # no recursion: the depth is untrusted
            where, was, now = stack.pop()
            before, after = EMPTY_TREE, EMPTY_TREE
            if was is not None and was.is_directory:
                before, was = was.oid, None
            if now is not None and now.is_directory:
                after, now = now.oid, None
            if before != after:
                stack += reversed(self._differing(where, before, after))
            if was is not None or now is not None:
                yield TreeChange(where, was, now)

    def _differing(self, where: str, old: Oid, new: Oid) -> list[Difference]:
        """The entries that differ between two directories, in the order of their names."""
        left, right = self._entries(old, where), self._entries(new, where)
        gone, come = entries_by_name(left - right), entries_by_name(right - left)
        prefix = where + "/" if where else ""
        return [
            (prefix + path_text(name), gone.get(name), come.get(name))
            for name in sorted(gone.keys() | come.keys())
        ]

    def _entries(self, oid: Oid, where: str) -> frozenset[RawEntry]:
        found = self._cache.get(oid)
        if found is not None:
            self._cache.move_to_end(oid)
            return found
        found = self._cache[oid] = frozenset(self._listed(oid, where))
        self._cached += len(found)
        while self._cached > _CACHED and len(self._cache) > 1:
            self._cached -= len(self._cache.popitem(last=False)[1])
        return found

    def _listed(self, oid: Oid, where: str) -> list[RawEntry]:
        """The entries of a tree; `where` is the directory it is met at."""
        listed = raw_entries(self._store.raw_tree(oid))
        if listed is None:
            raise BundleUnusable(f"The directory {where or '/'} ({oid}) is damaged.", hint=VERIFY)
        return listed


def name_of(entry: RawEntry) -> bytes:
    return entry[entry.index(b" ") + 1 : -21]
