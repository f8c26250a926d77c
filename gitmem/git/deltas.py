"""Deltas along time: each version of a file or directory is stored as a delta of the version that replaced it.

Git looks for similar objects among those of similar size. Versions of a page that keeps its length never meet there, and a
tree differs from its successor in an entry or two. The history says which version replaced which, so no search is needed;
the newest version of everything is whole.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence

from gitmem.git.objects import Commit, Oid
from gitmem.git.tree_diff import raw_entries

Kind = Callable[[Oid], bytes | None]
"""The type of an object; None for one that is not to be looked at."""
Read = Callable[[Oid], bytes]

_DEEPEST = 32
"""Deltas that stand on each other: each is read before the one above it."""
_LONGEST_COPY = 0xFFFF
_LONGEST_INSERT = 0x7F
_SHORT = 8
"""A shorter piece costs no more as it is than as a copy."""


def replaced_by(
    kind: Kind, read: Read, commits: Sequence[Commit], known: Mapping[Oid, Oid]
) -> dict[Oid, Oid]:
    """Each object that a commit replaced, with the whole one that took its place.

    `commits` are in the order children before parents. `known` has the objects that are deltas already, each with its base:
    they stay, and what they lead to counts for them.
    """
    by_id = {commit.oid: commit for commit in commits}
    bases = dict(known)
    heights = _heights(bases)
    found: dict[Oid, Oid] = {}
    for commit in commits:
        for parent in commit.parents:
            pairs = [(by_id[parent].tree, commit.tree)] if parent in by_id else []
            while pairs:
                old, new = pairs.pop()
                while new in bases and new != old:
                    new = bases[new]
                if old == new or old in bases:
                    continue
                what = kind(old)
                if what is None or kind(new) != what:
                    continue
                if what == b"tree":
                    pairs += _children(read(old), read(new))
                height = max(heights.get(new, 0), heights.get(old, 0) + 1)
                if height <= _DEEPEST:
                    bases[old] = found[old] = new
                    heights[new] = height
    return found


def _heights(bases: Mapping[Oid, Oid]) -> dict[Oid, int]:
    """Return the length of the delta chain on each object."""
    heights: dict[Oid, int] = {}
    for oid in bases:
        height = 0
        while oid in bases:
            oid, height = bases[oid], height + 1  # noqa: PLW2901 (down the chain)
            if heights.get(oid, 0) >= height:
                break
            heights[oid] = height
    return heights


def _children(old: bytes, new: bytes) -> Iterator[tuple[Oid, Oid]]:
    """Yield the old and new id of each changed name in a directory; raw entries, compared in C."""
    was, now = set(raw_entries(old) or ()), set(raw_entries(new) or ())
    fresh = {entry[:-20]: entry[-20:] for entry in now - was}
    for entry in was - now:
        if entry[:-20] in fresh:
            yield entry[-20:].hex(), fresh[entry[:-20]].hex()


def delta(kind: bytes, base: bytes, target: bytes) -> bytes:
    """Git's delta: runs of lines (in a tree: of entries) that the base has are copied, the rest is inserted."""
    places: dict[bytes, int] = {}
    offset = 0
    for piece in _pieces(kind, base):
        places.setdefault(piece, offset)
        offset += len(piece)
    parts = [_varint(len(base)), _varint(len(target))]
    fresh = bytearray()
    start = end = -1  # the stretch of the base that is being copied
    for piece in _pieces(kind, target):
        if start >= 0 and base.startswith(piece, end):
            end += len(piece)
            continue
        if start >= 0:
            parts += _copies(start, end - start)
            start = -1
        if len(piece) >= _SHORT and piece in places:
            parts += _inserts(fresh)
            fresh.clear()
            start = places[piece]
            end = start + len(piece)
        else:
            fresh += piece
    if start >= 0:
        parts += _copies(start, end - start)
    parts += _inserts(fresh)
    return b"".join(parts)


def _pieces(kind: bytes, data: bytes) -> list[bytes]:
    entries = raw_entries(data) if kind == b"tree" else None
    return data.splitlines(keepends=True) if entries is None else entries


def _copies(offset: int, size: int) -> Iterator[bytes]:
    while size:
        length = min(size, _LONGEST_COPY)
        yield b"\xbf" + offset.to_bytes(4, "little") + length.to_bytes(2, "little")
        offset += length
        size -= length


def _inserts(data: bytearray) -> list[bytes]:
    found = []
    for place in range(0, len(data), _LONGEST_INSERT):
        piece = bytes(data[place : place + _LONGEST_INSERT])
        found.append(bytes([len(piece)]) + piece)
    return found


def _varint(size: int) -> bytes:
    parts = bytearray()
    while size > 0x7F:
        parts.append(size & 0x7F | 0x80)
        size >>= 7
    return bytes([*parts, size])
