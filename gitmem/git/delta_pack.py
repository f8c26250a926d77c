"""A whole object store as one pack with deltas, for machines without the git program.

Files of a memory grow at one place, so a version is its successor with one stretch exchanged: what two versions
begin and end with is copied. Dulwich's own search for deltas took over ten minutes where this takes a second.
"""

from __future__ import annotations

import zlib
from collections.abc import Iterable, Iterator

from gitmem.git.objects import TYPE_NUMBERS, Oid
from gitmem.git.packs import Packed, entry_header
from gitmem.git.store import ObjectStore

_REF_DELTA = 7
_DEEPEST = 50
_LONGEST_COPY = 0xFFFF
_LONGEST_INSERT = 0x7F


def packed(store: ObjectStore, tips: Iterable[Oid], everything: Iterable[Oid]) -> Iterator[Packed]:
    """The entry of every object; those that a commit replaced are deltas of what replaced them."""
    bases = _bases(store, tips)
    for oid in everything:
        kind, content = store.read(oid)
        base = bases.get(oid)
        delta = _delta(store.read(base)[1], content) if base else content
        if base and len(delta) < len(content) // 2:
            raw = entry_header(_REF_DELTA, len(delta)) + bytes.fromhex(base) + zlib.compress(delta)
        else:
            raw = entry_header(TYPE_NUMBERS[kind], len(content)) + zlib.compress(content)
        yield Packed(oid, zlib.crc32(raw), raw)


def _bases(store: ObjectStore, tips: Iterable[Oid]) -> dict[Oid, Oid]:
    """For each object that a commit replaced, the one that took its place; chains end after some steps."""
    bases: dict[Oid, Oid] = {}
    depths: dict[Oid, int] = {}
    waiting, seen = list(tips), set(tips)
    while waiting:
        commit = store.commit(waiting.pop())
        for parent in commit.parents:
            pairs = [(store.commit(parent).tree, commit.tree)]
            while pairs:
                old, new = pairs.pop()
                if old in depths or old == new:
                    continue
                depth = depths.setdefault(new, 0) + 1
                depths[old] = depth if depth <= _DEEPEST else 0
                if depth <= _DEEPEST:
                    bases[old] = new
                pairs += _replaced(store, old, new)
            if parent not in seen:
                seen.add(parent)
                waiting.append(parent)
    return bases


def _replaced(store: ObjectStore, old: Oid, new: Oid) -> Iterator[tuple[Oid, Oid]]:
    """What stood in one directory and what stands there now, name by name; nothing for two files."""
    if store.read(old)[0] != b"tree" or store.read(new)[0] != b"tree":
        return
    now = store.tree(new)
    for name, was in store.tree(old).items():
        entry = now.get(name)
        if entry is not None and entry.oid != was.oid and entry.mode == was.mode:
            yield was.oid, entry.oid


def _delta(base: bytes, target: bytes) -> bytes:
    """Git's delta from one content to another: copy the beginning, insert the middle, copy the end."""
    shorter = min(len(base), len(target))
    start = _common(base, target, shorter)
    end = _common(base[::-1], target[::-1], shorter - start)
    middle = target[start : len(target) - end]
    parts = [_varint(len(base)), _varint(len(target)), *_copies(0, start)]
    for place in range(0, len(middle), _LONGEST_INSERT):
        piece = middle[place : place + _LONGEST_INSERT]
        parts += [bytes([len(piece)]), piece]
    return b"".join([*parts, *_copies(len(base) - end, end)])


def _common(one: bytes, other: bytes, limit: int) -> int:
    """How many bytes two contents begin with in common, by halves."""
    low, high = 0, limit
    while low < high:
        middle = (low + high + 1) // 2
        if one[low:middle] == other[low:middle]:
            low = middle
        else:
            high = middle - 1
    return low


def _copies(offset: int, size: int) -> Iterator[bytes]:
    """Instructions that copy a stretch of the base."""
    while size:
        length = min(size, _LONGEST_COPY)
        yield b"\xbf" + offset.to_bytes(4, "little") + length.to_bytes(2, "little")
        offset += length
        size -= length


def _varint(size: int) -> bytes:
    parts = bytearray()
    while size > 0x7F:
        parts.append(size & 0x7F | 0x80)
        size >>= 7
    return bytes([*parts, size])
