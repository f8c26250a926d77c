"""Differences between two trees: the one comparison for history, the index and the checks of a fetch.

Trees are compared as raw entries, so that C code drops what two have in common before any entry is looked at.
Buys "full rebuild / bare loop": a history of 20,000 commits is as many comparisons.
"""

from __future__ import annotations

import re
from collections import OrderedDict
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, NamedTuple

from gitmem.errors import VERIFY, BundleUnusable
from gitmem.git.objects import DIRECTORY, EMPTY_TREE, Commit, Oid, TreeEntry, path_text

if TYPE_CHECKING:
    from gitmem.git.store import ObjectStore

RawEntry = bytes
"""Mode, name and id as a tree has them. One piece: comparing and keeping thousands of them costs least so."""
Difference = tuple[str, TreeEntry | None, TreeEntry | None]
"""A path with what the old and the new tree have there, a file or a directory."""

_ENTRY = re.compile(rb"[0-7]{5,6} [^\0]+\0.{20}", re.DOTALL)
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
        gone, come = _by_name(left - right), _by_name(right - left)
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


def raw_entries(raw: bytes) -> list[RawEntry] | None:
    """The entries of a tree's bytes; None where they are not a tree's."""
    listed: list[RawEntry] = _ENTRY.findall(raw)
    return listed if b"".join(listed) == raw else None  # a search skips what it does not know


def name_of(entry: RawEntry) -> bytes:
    return entry[entry.index(b" ") + 1 : -21]


def _by_name(entries: Iterable[RawEntry]) -> dict[bytes, TreeEntry]:
    return {
        entry[(end := entry.index(b" ")) + 1 : -21]: TreeEntry(int(entry[:end], 8), entry[-20:].hex())
        for entry in entries
    }
