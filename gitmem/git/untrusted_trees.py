"""The trees of a fetched history: what is new in each, with every new entry checked before it is used."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator

from gitmem.errors import RefusedFetch, UnsafePath
from gitmem.git.objects import (
    DIRECTORY,
    EMPTY_TREE,
    EXECUTABLE,
    FILE,
    Oid,
    RawEntry,
    TreeEntry,
    path_text,
    raw_entries,
)
from gitmem.git.store import ObjectStore
from gitmem.git.tree import (
    MAX_FILE_BYTES,
    Difference,
    TreeChange,
    TreeDiff,
    mode_for,
    name_of,
)
from gitmem.okf import paths

MAX_FILES = 200_000
MAX_PLACES = 1_000
"""Of one tree in one commit: a few trees that name each other make any number of files."""

# Of each entry whether it is a directory, and its name.
_NAMES = re.compile(rb"(?:(4)0000|[0-7]{5,6}) ([^\0]+)\0.{20}", re.DOTALL)


class UntrustedTrees(TreeDiff):
    """Compares trees from outside, within limits; raises RefusedFetch.

    It gives what is new. What was removed is left out: nothing of it enters, and a hostile history could
    remove one large directory any number of times.
    """

    def __init__(self, store: ObjectStore) -> None:
        super().__init__(store)
        self.files = 0
        """How many new entries were looked at."""
        self._places: Counter[Oid] = Counter()

    def changes(self, old: Oid, new: Oid) -> Iterator[TreeChange]:
        """The files that are new or changed in a tree, with every directory on the way checked."""
        self._places.clear()
        return super().changes(old, new)

    def _differing(self, where: str, old: Oid, new: Oid) -> list[Difference]:
        if new == EMPTY_TREE:
            return []
        self._places[new] += 1
        if self._places[new] > MAX_PLACES:
            raise RefusedFetch(f"The remote sends one directory at more than {MAX_PLACES:,} places.")
        come: list[Difference] = []
        added = False
        for difference in super()._differing(where, old, new):
            path, was, now = difference
            if now is not None:
                come.append(difference)
                if was is None or was.mode != now.mode:
                    added = True
                    _check_entry(where, path, now)
        self.files += len(come)
        if self.files > MAX_FILES:
            raise RefusedFetch(f"The remote sends more than {MAX_FILES:,} files at once.")
        if added:
            _refuse_collisions(map(name_of, self._entries(new, where)))
        return come

    def _listed(self, oid: Oid, where: str) -> list[RawEntry]:
        kind, size = self._store.measure(oid)
        if kind != b"tree":
            raise RefusedFetch(f"The remote sends a {kind.decode()} where a directory belongs.")
        if size > MAX_FILE_BYTES:
            raise RefusedFetch(f"The remote sends a directory of {size >> 20} MB at {where or 'the root'!r}.")
        raw = self._store.raw_tree(oid)
        listed = raw_entries(raw)
        if listed is None or not _is_canonical(raw, listed):
            raise RefusedFetch(f"The remote sends a damaged directory at {where or 'the root'!r}.")
        return listed


def _is_canonical(raw: bytes, listed: list[RawEntry]) -> bool:
    """Each name once, in git's order (a directory's counts as if it ended in a slash), modes as git writes them."""
    found = _NAMES.findall(raw)
    keys = [name + b"/" if directory else name for directory, name in found]
    names = {name for _, name in found}
    return keys == sorted(keys) and len(names) == len(keys) and min(listed, default=b"1") >= b"1"


def _check_entry(where: str, path: str, entry: TreeEntry) -> None:
    try:
        path.encode()
        if "/" in path[len(where) + 1 if where else 0 :]:  # it would be another path once it is joined
            raise UnsafePath(f"{path!a} has the name of one entry with a slash in it")
        paths.check_path(path)
    except (UnicodeEncodeError, UnsafePath) as error:
        raise RefusedFetch(f"The remote sends a path that must not enter a bundle: {error}") from error
    if entry.mode not in (FILE, DIRECTORY, EXECUTABLE):
        raise RefusedFetch(f"The remote sends {path!r} as a link, submodule or special file.")
    if entry.mode == EXECUTABLE and mode_for(path) != EXECUTABLE:
        raise RefusedFetch(f"The remote sends {path!r} as a program: only scripts of skills may be.")


def _refuse_collisions(names: Iterable[bytes]) -> None:
    folded: dict[str, str] = {}
    for name in names:
        text = path_text(name)
        rival = folded.setdefault(paths.fold(text), text)
        if rival != text:
            raise RefusedFetch(
                f"The remote sends {rival!r} and {text!r}, which some systems take for one file."
            )
