"""The directories of a fetched history: what differs from one to the next, every new entry looked at.

Trees are compared as raw entries, so that what two have in common is dropped by C code: a thousand commits mean
some thousand trees, most of which differ in one entry.
"""

from __future__ import annotations

import re
from collections import Counter, OrderedDict
from collections.abc import Iterable, Iterator
from functools import lru_cache

from gitmem.errors import RefusedFetch, UnsafePath
from gitmem.git.objects import DIRECTORY, EXECUTABLE, FILE, Oid, TreeEntry
from gitmem.git.repository import Repository
from gitmem.okf import paths

MAX_BLOB = 8 * 1024 * 1024
MAX_FILES = 200_000
MAX_DEPTH = paths.MAX_COMPONENTS
MAX_PLACES = 1_000
"""Of one tree in one commit: a few trees that name each other make any number of files."""

_ENTRY = re.compile(rb"([0-7]+) ([^\0]+)\0(.{20})", re.DOTALL)
_TREE = re.compile(rb"(?:[1-7][0-7]{4,5} [^\0]+\0.{20})*", re.DOTALL)
_DIRECTORY = b"%o" % DIRECTORY
# Entries, not trees, are counted: enough for the directories on the way to what changes from commit to commit.
_CACHED = 100_000

_Raw = tuple[bytes, bytes, bytes]
"""Mode, name and id as they stand in a tree."""


class IncomingTrees:
    """The trees of one throw-away repository; `files` counts what was looked at."""

    def __init__(self, room: Repository) -> None:
        self._store = room.store
        self._cache: OrderedDict[Oid, frozenset[_Raw]] = OrderedDict()
        self._cached = 0
        self.files = 0

    def differences(
        self, old: Oid | None, new: Oid
    ) -> Iterator[tuple[str, TreeEntry | None, TreeEntry | None]]:
        """Files that differ, with every tree on the way checked; never deeper or more than the limits."""
        stack: list[tuple[str, Oid | None, Oid]] = [("", old, new)]
        places: Counter[Oid] = Counter()
        while stack:  # no recursion: depth is somebody else's choice
            prefix, before, after = stack.pop()
            if before == after:
                continue
            if prefix.count("/") > MAX_DEPTH:
                raise RefusedFetch(f"The remote sends directories deeper than {MAX_DEPTH} levels.")
            places[after] += 1
            if places[after] > MAX_PLACES:
                raise RefusedFetch(f"The remote sends one directory at more than {MAX_PLACES:,} places.")
            left, right = self._entries(before, "") if before else frozenset(), self._entries(after, prefix)
            gone = {name: TreeEntry(int(mode, 8), oid.hex()) for mode, name, oid in left - right}
            come = {name: TreeEntry(int(mode, 8), oid.hex()) for mode, name, oid in right - left}
            self.files += len(come)
            if self.files > MAX_FILES:
                raise RefusedFetch(f"The remote sends more than {MAX_FILES:,} files at once.")
            for name, entry in sorted(come.items()):
                was = gone.get(name)
                if was is None or was.mode != entry.mode:
                    _check_entry(prefix, name, entry)
            if come.keys() - gone.keys():
                _refuse_collisions(name for _, name, _ in right)
            for name, entry in come.items():
                was, path = gone.get(name), prefix + name.decode()
                if entry.is_directory:
                    stack.append((path + "/", was.oid if was and was.is_directory else None, entry.oid))
                else:
                    yield path, (was if was and not was.is_directory else None), entry

    def _entries(self, oid: Oid, where: str) -> frozenset[_Raw]:
        found = self._cache.get(oid)
        if found is not None:
            self._cache.move_to_end(oid)
            return found
        kind, size = self._store.measure(oid)
        if kind != b"tree":
            raise RefusedFetch(f"The remote sends a {kind.decode()} where a directory belongs.")
        if size > MAX_BLOB:
            raise RefusedFetch(f"The remote sends a directory of {size >> 20} MB at {where or 'the root'!r}.")
        raw = self._store.read(oid)[1]
        listed = _ENTRY.findall(raw)
        # Git's order: a directory's name counts as if it ended in a slash.
        keys = [name + b"/" if mode == _DIRECTORY else name for mode, name, _ in listed]
        in_order = keys == sorted(keys) and len({name for _, name, _ in listed}) == len(keys)
        if not in_order or not _TREE.fullmatch(raw):
            raise RefusedFetch(f"The remote sends a damaged directory at {where or 'the root'!r}.")
        found = self._cache[oid] = frozenset(listed)
        self._cached += len(found)
        while self._cached > _CACHED and len(self._cache) > 1:
            self._cached -= len(self._cache.popitem(last=False)[1])
        return found


def _check_entry(prefix: str, name: bytes, entry: TreeEntry) -> None:
    try:
        text = name.decode()
        if "/" in text:  # a path that is none of one name, and would be another once it is joined
            raise UnsafePath(f"{text!a} is the name of one entry")
        paths.check_path(prefix + text)
    except (UnicodeDecodeError, UnsafePath) as error:
        raise RefusedFetch(f"The remote sends a path that must not enter a bundle: {error}") from error
    if entry.mode not in (FILE, DIRECTORY, EXECUTABLE):
        raise RefusedFetch(f"The remote sends {prefix + text!r} as a link, submodule or special file.")
    if entry.mode == EXECUTABLE and not _may_run(prefix + text):
        raise RefusedFetch(f"The remote sends {prefix + text!r} as a program: only scripts of skills may be.")


def _refuse_collisions(names: Iterable[bytes]) -> None:
    folded: dict[str, str] = {}
    for name in names:
        text = name.decode()
        rival = folded.setdefault(_folded(text), text)
        if rival != text:
            raise RefusedFetch(
                f"The remote sends {rival!r} and {text!r}, which some systems take for one file."
            )


@lru_cache(maxsize=65536)  # a directory is looked at again with every commit that adds to it
def _folded(name: str) -> str:
    return paths.fold(name)


def _may_run(path: str) -> bool:
    parts = path.split("/")
    return parts[0] == "skills" and "scripts" in parts[1:-1]
