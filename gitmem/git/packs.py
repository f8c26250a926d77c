"""Pack files written by hand: all new objects of one commit in one pack, with its index.

Buys "times the floor": a pack costs three fsyncs however many objects it holds, loose files cost one each.
The entries of such a pack are whole objects. Many small packs are joined into one, in which each version is a delta of the
one that replaced it; entries that are deltas already are copied as they are. Git looks for similar objects among those of
similar size, where versions of a page that keeps its length never meet; the history says which version replaced which, so
no search is needed, and the newest version of everything is whole.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import struct
import zlib
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache
from itertools import accumulate
from typing import IO

from gitmem.files import DiskGroup, durable_directory, make_directories, remove_file
from gitmem.git.objects import TYPE_NAMES, TYPE_NUMBERS, GitObject, Oid, parse_commit, raw_entries
from gitmem.git.pack_reader import header

_INDEX_MAGIC = b"\377tOc\0\0\0\2"
_PACK_HEADER = struct.Struct(">4sLL")
_BLOCK = struct.Struct("<?HH")
_OFS_DELTA, _REF_DELTA = 6, 7
_SMALL = 120
"""A smaller entry is not worth a delta, and would be tried again with every join."""


@dataclass(frozen=True, slots=True)
class Packed:
    """One object's bytes as they are in a pack."""

    oid: Oid
    crc: int
    raw: bytes

    @property
    def number(self) -> int:
        """The type of the entry; a delta is one of its own."""
        return (self.raw[0] >> 4) & 7

    @property
    def base(self) -> Oid:
        """The base object of a delta by name; empty for a whole object."""
        if self.number != _REF_DELTA:
            return ""
        start = header(self.raw, 0)[2]
        return self.raw[start : start + 20].hex()

    @property
    def content(self) -> bytes:
        """Return the content of a whole object."""
        return zlib.decompress(self.raw[header(self.raw, 0)[2] :])


def compress(item: GitObject) -> Packed:
    """The pack entry of one object: its header, then zlib data."""
    head = entry_header(TYPE_NUMBERS[item.type], len(item.content))
    # Buys "times the floor": names and hashes hardly shrink, and deflating is most of what a tree would cost.
    deflated = _stored(item.content) if item.type == b"tree" else zlib.compress(item.content, 1)
    raw = head + deflated
    return Packed(item.oid, zlib.crc32(raw), raw)


def entry_header(number: int, size: int) -> bytes:
    """A pack entry's type and size, in git's variable-length form."""
    byte = (number << 4) | (size & 0x0F)
    size >>= 4
    head = bytearray()
    while size:
        head.append(byte | 0x80)
        byte = size & 0x7F
        size >>= 7
    return bytes([*head, byte])


def _stored(content: bytes) -> bytes:
    """Zlib data that holds the content as it is, in blocks of at most 65,535 bytes."""
    parts = [b"\x78\x01"]
    for start in range(0, len(content) or 1, 0xFFFF):
        block = content[start : start + 0xFFFF]
        last = start + 0xFFFF >= len(content)
        parts += [_BLOCK.pack(last, len(block), len(block) ^ 0xFFFF), block]
    return b"".join([*parts, zlib.adler32(content).to_bytes(4)])


class StagedPack:
    """A pack and its index, made aside and then put in place.

    Both files get their final names only when their bytes are on disk, the index last, because
    git takes a pack for complete when its index is there.
    """

    def __init__(self, directory: str, objects: Iterable[GitObject | Packed], *, stem: str) -> None:
        packed = {o.oid: o if isinstance(o, Packed) else compress(o) for o in objects}
        ordered = [packed[oid] for oid in sorted(packed)]
        parts = [_PACK_HEADER.pack(b"PACK", 2, len(ordered))]
        offsets = []
        position = _PACK_HEADER.size
        for entry in ordered:
            offsets.append(position)
            parts.append(entry.raw)
            position += len(entry.raw)
        body = b"".join(parts)
        checksum = hashlib.sha1(body, usedforsecurity=False).digest()
        self.name = f"pack-{checksum.hex()}"
        self._directory = directory
        self._stem = stem
        self._is_empty = not ordered
        self.data = body + checksum
        self._index = _render_index(ordered, offsets, checksum)

    def write(self, disk: DiskGroup) -> None:
        """Write both files aside; they may be published when `disk` was flushed."""
        if self._is_empty:
            return
        disk.write(self._stem + ".pack", self.data, mode=0o400)
        disk.write(self._stem + ".idx", self._index, mode=0o400)

    def place(self) -> None:
        """Write and publish in one go, for objects that wait for nothing else."""
        try:
            with DiskGroup() as disk:
                self.write(disk)
                disk.flush()
            self.publish()
        finally:
            self.discard()

    def publish(self) -> None:
        """Give both files their names; they survive a power cut when this returns."""
        if self._is_empty:
            return
        make_directories(self._directory)
        for suffix in (".pack", ".idx"):
            os.replace(self._stem + suffix, os.path.join(self._directory, self.name + suffix))
        durable_directory(self._directory)

    def discard(self) -> None:
        for suffix in (".pack", ".idx"):
            remove_file(self._stem + suffix)


def _render_index(ordered: list[Packed], offsets: list[int], checksum: bytes) -> bytes:
    """Version 2 of git's pack index: fan-out, ids, CRCs, offsets (64-bit ones beside), checksums."""
    counts = [0] * 256
    for entry in ordered:
        counts[int(entry.oid[:2], 16)] += 1
    small: list[int] = []
    large: list[int] = []
    for offset in offsets:
        if offset < 0x80000000:
            small.append(offset)
        else:
            small.append(0x80000000 | len(large))
            large.append(offset)
    data = b"".join(
        [
            _INDEX_MAGIC,
            struct.pack(">256L", *accumulate(counts)),
            bytes.fromhex("".join(entry.oid for entry in ordered)),
            struct.pack(f">{len(ordered)}L", *(entry.crc for entry in ordered)),
            struct.pack(f">{len(small)}L", *small),
            struct.pack(f">{len(large)}Q", *large),
            checksum,
        ]
    )
    return data + hashlib.sha1(data, usedforsecurity=False).digest()


def join_small_packs(directory: str, *, stem: str, at_least: int, largest: int, unfit: set[str]) -> int:
    """Join small packs into one when there are many; gives how many were joined.

    Buys "cold open and 50 reads, after 5,000 flushes against freshly packed".
    Packs are taken from the smallest up while the next one is less than twice what was taken so
    far: each object is copied a logarithmic number of times, and few packs remain. `unfit` keeps
    the names of packs that cannot be joined, so that they are looked at only once.
    """
    names = set(os.listdir(directory))
    packs = {name[: -len(".pack")] for name in names if name.endswith(".pack")} - unfit
    if len(packs) < at_least:
        return 0
    sizes = sorted((os.stat(os.path.join(directory, name + ".pack")).st_size, name) for name in packs)
    unfit.update(name for size, name in sizes if size > largest or _is_kept(name, names))
    chosen: list[str] = []
    taken = 0
    for size, name in sizes:
        if name in unfit:
            continue
        if len(chosen) >= at_least // 2 and size > 2 * taken:
            break
        chosen.append(name)
        taken += size
    joined: dict[Oid, Packed] = {}
    done = []
    for name in chosen:
        entries = _read_whole(os.path.join(directory, name))
        if entries is not None and _take(joined, entries):
            done.append(name)
        else:
            unfit.add(name)
            _remove_orphan(os.path.join(directory, name))
    if len(done) < at_least // 2:
        return 0
    _make_deltas(joined)
    pack = StagedPack(directory, joined.values(), stem=stem)
    pack.place()
    for name in done:
        if name != pack.name:
            # The index goes first: git takes a pack without one for unfinished.
            for suffix in (".idx", ".pack", ".rev"):
                remove_file(os.path.join(directory, name + suffix))
    return len(done)


def _take(joined: dict[Oid, Packed], entries: list[Packed]) -> bool:
    """Add the entries of a pack, whole ones before deltas; False where two deltas of one object could form a circle."""
    if any(entry.base and entry.oid in joined and joined[entry.oid].base for entry in entries):
        return False
    for entry in entries:
        if not entry.base or entry.oid not in joined:
            joined[entry.oid] = entry
    return True


def _make_deltas(joined: dict[Oid, Packed]) -> None:
    """Make each version a delta of the one that replaced it, where both are here."""

    @lru_cache(maxsize=1024)
    def read(oid: Oid) -> bytes:
        return joined[oid].content

    for old, new in _replaced(joined, read).items():
        if len(joined[old].raw) < _SMALL:
            continue
        made = delta(TYPE_NAMES[joined[old].number], read(new), read(old))
        raw = entry_header(_REF_DELTA, len(made)) + bytes.fromhex(new) + zlib.compress(made)
        if len(made) < len(read(old)) // 2 and len(raw) < len(joined[old].raw):
            joined[old] = Packed(old, zlib.crc32(raw), raw)


def _remove_orphan(stem: str) -> None:
    """Remove a pack that lost its index when the process joining it into another was killed.

    A new one has none either for a moment, when git is about to add it; so only after a day.
    """
    with contextlib.suppress(OSError):
        age = os.stat(os.path.dirname(stem)).st_mtime - os.stat(stem + ".pack").st_mtime
        if age > 86_400 and not os.path.exists(stem + ".idx"):
            os.unlink(stem + ".pack")


def _is_kept(stem: str, names: set[str]) -> bool:
    return any(stem + suffix in names for suffix in (".keep", ".promisor", ".mtimes", ".bitmap"))


def _read_whole(stem: str) -> list[Packed] | None:
    """All entries of a pack as they stand, or None where some are deltas by place or anything looks odd."""
    try:
        with open(stem + ".idx", "rb") as index_file, open(stem + ".pack", "rb") as pack_file:
            # The originals are removed afterwards, so a damaged one is left as it is: git may still repair it.
            is_whole = is_sealed(index_file) and is_sealed(pack_file)
            index, pack = index_file.read(), pack_file.read()
        is_whole = is_whole and index[-40:-20] == pack[-20:]
        if not index.startswith(_INDEX_MAGIC) or not is_whole:
            return None
        count = struct.unpack_from(">L", index, 8 + 255 * 4)[0]
        names = 8 + 1024
        crcs = struct.unpack_from(f">{count}L", index, names + count * 20)
        offsets = struct.unpack_from(f">{count}L", index, names + count * 24)
        ends = (
            dict(zip(sorted(offsets), [*sorted(offsets)[1:], len(pack) - 20], strict=True)) if count else {}
        )
        entries = [
            Packed(index[place : place + 20].hex(), crc, pack[offset : ends[offset]])
            for place, crc, offset in zip(range(names, names + count * 20, 20), crcs, offsets, strict=True)
        ]
        return None if any(entry.number == _OFS_DELTA for entry in entries) else entries
    except (FileNotFoundError, IndexError, struct.error):
        return None


def is_sealed(file: IO[bytes]) -> bool:
    """Return whether a file ends in the checksum of all before it; it is at its beginning then and afterwards."""
    left = os.stat(file.fileno()).st_size - 20
    digest = hashlib.sha1(usedforsecurity=False)
    while left > 0 and (piece := file.read(min(left, 1 << 20))):
        digest.update(piece)
        left -= len(piece)
    is_whole = file.read() == digest.digest()
    file.seek(0)
    return is_whole


# Deltas along time

_DEEPEST = 32
"""Deltas that stand on each other: each is read before the one above it."""
_LONGEST_COPY = 0xFFFF
_LONGEST_INSERT = 0x7F
_SHORT = 8
"""A shorter piece costs no more as it is than as a copy."""


def _replaced(joined: Mapping[Oid, Packed], read: Callable[[Oid], bytes]) -> dict[Oid, Oid]:
    """Each object that a commit replaced, with the whole one that took its place.

    Deltas that are there already stay, and what they lead to counts for them.
    """
    kinds = {oid: entry.number for oid, entry in joined.items()}
    commits = {
        oid: parse_commit(oid, read(oid))
        for oid, number in kinds.items()
        if number == TYPE_NUMBERS[b"commit"]
    }
    bases = {oid: base for oid, entry in joined.items() if (base := entry.base)}
    heights = _heights(bases)
    found: dict[Oid, Oid] = {}
    for commit in sorted(commits.values(), key=lambda one: one.committer.time, reverse=True):
        for parent in commit.parents:
            pairs = [(commits[parent].tree, commit.tree)] if parent in commits else []
            while pairs:
                old, new = pairs.pop()
                while new in bases and new != old:
                    new = bases[new]
                if old == new or old in bases or old not in kinds or kinds.get(new) != kinds[old]:
                    continue
                if kinds[old] == TYPE_NUMBERS[b"tree"]:
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
