"""One tree object: its entries by name beside its bytes.

Buys "100,000 files against 1,000": the bytes are patched, which is cheaper than making them again.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Mapping
from dataclasses import dataclass

from gitmem.git.objects import DIRECTORY, TreeEntry, parse_tree

_FEW = 8
"""Up to one change among so many entries, patching is faster than rendering."""


@dataclass(frozen=True, slots=True)
class Directory:
    """The entries of a tree in git's order, and the tree's bytes. Shared: never changed in place."""

    entries: dict[bytes, TreeEntry]
    raw: bytes

    @classmethod
    def parse(cls, raw: bytes) -> Directory:
        return cls(parse_tree(raw), raw)

    def changed(self, changes: Mapping[bytes, TreeEntry | None]) -> Directory:
        """This directory with some entries set, or dropped where they are None."""
        if len(changes) * _FEW <= len(self.entries):
            patched = self._patched(changes)
            if patched is not None:
                return patched
        entries = {**self.entries, **changes}
        kept = [(name, entry) for name, entry in entries.items() if entry is not None]
        kept.sort(key=lambda item: _key(*item))
        return Directory(dict(kept), b"".join(_render(name, entry) for name, entry in kept))

    def _patched(self, changes: Mapping[bytes, TreeEntry | None]) -> Directory | None:
        """The changes made in the bytes; None where the bytes are not as we would write them."""
        entries, raw = dict(self.entries), self.raw
        names = list(entries)
        for name, entry in changes.items():
            old = entries.get(name)
            if old is not None and entry is not None and (old.mode == DIRECTORY) != (entry.mode == DIRECTORY):
                return None  # it moves: a directory sorts as if its name ended in a slash
            if old is None:
                if entry is None:
                    continue
                place = bisect_left(names, _key(name, entry), key=lambda known: _key(known, entries[known]))
                start = _find(raw, names[place], entries[names[place]]) if place < len(names) else len(raw)
                end = start
                names.insert(place, name)
            else:
                start = _find(raw, name, old)
                end = start + len(_render(name, old))
            if start < 0:
                return None
            raw = raw[:start] + (_render(name, entry) if entry is not None else b"") + raw[end:]
            if entry is not None:
                entries[name] = entry
            else:
                del entries[name]
                names.remove(name)
        return Directory(dict(zip(names, map(entries.__getitem__, names), strict=True)), raw)


def _find(raw: bytes, name: bytes, entry: TreeEntry) -> int:
    """Where an entry is in the bytes; -1 where that is not certain."""
    piece = _render(name, entry)
    place = raw.find(piece)
    return place if raw.find(piece, place + 1) < 0 else -1


def _render(name: bytes, entry: TreeEntry) -> bytes:
    return b"%o %s\0%s" % (entry.mode, name, bytes.fromhex(entry.oid))


def _key(name: bytes, entry: TreeEntry) -> bytes:
    return name + b"/" if entry.mode == DIRECTORY else name
