"""Differences of trees for whoever replays a history: many trees, each looked at once, compared as raw bytes.

`Tree.changes` parses trees into mappings and keeps those, which pays when a tree is read again. Over 20,000
commits it does not: here the entries that two trees have in common are dropped by C code before any is looked at.
"""

from __future__ import annotations

import re
from collections import OrderedDict
from collections.abc import Iterator

from gitmem.errors import BundleUnusable
from gitmem.git.objects import DIRECTORY, EMPTY_TREE, Oid, TreeEntry
from gitmem.git.store import ObjectStore
from gitmem.git.tree import TreeChange

_ENTRY = re.compile(rb"([0-7]{1,7}) ([^\0]+)\0(.{20})", re.DOTALL)
# Entries, not trees, are counted: enough for the directories on the way to what changes from commit to commit.
_CACHED = 50_000

_Raw = tuple[bytes, bytes, bytes]
"""Mode, name and id as they stand in a tree."""


class RawDiff:
    """Compares trees of one store."""

    def __init__(self, store: ObjectStore) -> None:
        self._store = store
        self._cache: OrderedDict[Oid, frozenset[_Raw]] = OrderedDict()
        self._cached = 0

    def changes(self, old: Oid, new: Oid) -> Iterator[TreeChange]:
        """The files that differ between two trees, in no order that means something."""
        stack: list[tuple[bytes, Oid, Oid]] = [(b"", old, new)]
        while stack:  # no recursion: depth is somebody else's choice
            prefix, before, after = stack.pop()
            if before == after:
                continue
            left, right = self._entries(before), self._entries(after)
            gone = {name: TreeEntry(int(mode, 8), oid.hex()) for mode, name, oid in left - right}
            come = {name: TreeEntry(int(mode, 8), oid.hex()) for mode, name, oid in right - left}
            for name in gone.keys() | come.keys():
                was, now = gone.get(name), come.get(name)
                path = prefix + name
                old_directory = was is not None and was.mode == DIRECTORY
                new_directory = now is not None and now.mode == DIRECTORY
                if old_directory or new_directory:
                    stack.append(
                        (
                            path + b"/",
                            was.oid if was is not None and old_directory else EMPTY_TREE,
                            now.oid if now is not None and new_directory else EMPTY_TREE,
                        )
                    )
                    was, now = None if old_directory else was, None if new_directory else now
                if was is not None or now is not None:
                    yield TreeChange(path.decode("utf-8", "surrogateescape"), was, now)

    def _entries(self, oid: Oid) -> frozenset[_Raw]:
        found = self._cache.get(oid)
        if found is None:
            kind, raw = self._store.read(oid)
            if kind != b"tree":
                raise BundleUnusable(f"Object {oid} is a {kind.decode()}, not a tree.")
            found = frozenset(_ENTRY.findall(raw))
            self._cache[oid] = found
            self._cached += len(found)
            while self._cached > _CACHED and len(self._cache) > 1:
                self._cached -= len(self._cache.popitem(last=False)[1])
        else:
            self._cache.move_to_end(oid)
        return found
