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

    def read(self, path: str) -> bytes | None:
        """The bytes of a file, or None where there is no such file."""
        found = self.entry(path)
        if found is None or found.is_directory:
            return None
        return self._store.blob(found.oid)

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
        plan: dict[str, object] = {}
        entries: dict[str, TreeEntry | None] = {}
        for path, edit in edits.items():
            _refuse_unsafe(path, edit)
            if isinstance(edit, bytes):
                blob = GitObject.of(b"blob", edit)
                objects.append(blob)
                entries[path] = TreeEntry(mode_for(path), blob.oid)
            else:
                entries[path] = edit
            node = plan
            *directories, name = path.split("/")
            for part in directories:
                child = node.setdefault(part, {})
                if not isinstance(child, dict):
                    raise InvalidContent(f"{path} cannot be written: {part} is a file in the same change.")
                node = child
            if isinstance(node.get(name), dict):
                raise InvalidContent(f"{path} cannot be a file: it is a directory in the same change.")
            node[name] = entries[path]
        root = self._lay(plan, TreeEntry(DIRECTORY, self.oid), "", objects)
        if root is None and self.oid != EMPTY_TREE:
            objects.append(GitObject.of(b"tree", b""))
        tree = Tree(self._store, root.oid if root else EMPTY_TREE)
        tree._found.update(entries)
        return tree, objects

    def _lay(
        self, plan: dict[str, object], old: TreeEntry | None, where: str, objects: list[GitObject]
    ) -> TreeEntry | None:
        before = self._store.tree_object(old.oid) if old and old.is_directory else _EMPTY
        entries = before.entries
        changes: dict[bytes, TreeEntry | None] = {}
        for part, wanted in plan.items():
            name = path_bytes(part)
            path = f"{where}{part}"
            if isinstance(wanted, dict):
                below = entries.get(name)
                if below and not below.is_directory and any(_writes(wanted)):
                    raise InvalidContent(f"{path} is a file: nothing can be written below it.")
                entry = self._lay(wanted, below, path + "/", objects)
                if entry is None and below and not below.is_directory:
                    continue
            elif wanted is None:
                found = entries.get(name)
                if found and found.is_directory:
                    raise InvalidContent(f"{path} is a directory: remove the files in it.")
                entry = None
            else:
                assert isinstance(wanted, TreeEntry)
                found = entries.get(name)
                if found and found.is_directory and not wanted.is_directory:
                    raise InvalidContent(f"{path} is a directory: a file cannot take its place.")
                entry = wanted
            changes[name] = entry
        after = before.changed(changes)
        if not after.entries:
            return None
        tree = GitObject.of(b"tree", after.raw)
        if old is None or tree.oid != old.oid:
            objects.append(tree)
            self._store.remember_tree(tree.oid, after)
        return TreeEntry(DIRECTORY, tree.oid)


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


def _writes(plan: dict[str, object]) -> Iterator[bool]:
    for value in plan.values():
        if isinstance(value, dict):
            yield from _writes(value)
        elif value is not None:
            yield True


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
