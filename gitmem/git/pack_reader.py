"""Reading packs, as far as a bundle needs it: small ones by the dozen, and large ones with deltas.

Buys "`gitmem log -n 20` against `import click, dulwich.repo`": dulwich's import takes longer than most commands.
"""

from __future__ import annotations

import mmap
import os
import struct
import zlib
from collections.abc import Iterator

from gitmem.errors import VERIFY, BundleUnusable
from gitmem.git.objects import TYPE_NAMES, object_id

_MAGIC = b"\377tOc\0\0\0\2"
_FANOUT = struct.Struct(">256L")
_NAMES = 8 + _FANOUT.size
_OFS_DELTA, _REF_DELTA = 6, 7
_DEEPEST = 10_000
# Buys "full rebuild / bare loop": the versions of a file are deltas on each other, and are read in a row.
_REMEMBERED = 16 * 1024 * 1024


class Pack:
    """One pack with its index, each opened when it is first needed."""

    def __init__(self, stem: str) -> None:
        self._stem = stem
        self._index: mmap.mmap | None = None
        self._view: mmap.mmap | None = None
        self._fanout: tuple[int, ...] = ()
        self._built: dict[int, tuple[int, bytes]] = {}
        self._built_size = 0
        # Buys "the checks alone, entries per second": what a delta is in the end is looked up once.
        self._kinds: dict[int, int] = {}

    def find(self, name: bytes) -> int | None:
        """Return the offset of an object in the pack, or None."""
        index = self._index or self._open_index()
        if index is None:
            return None
        # Names with one first byte are a 256th of all: C scans them faster than Python halves them.
        start, end = self._names_from(name[0])
        place = index.find(name, start, end)
        while place >= 0 and (place - _NAMES) % 20:  # the end of one name and the beginning of another
            place = index.find(name, place + 1, end)
        return self._offset(index, (place - _NAMES) // 20) if place >= 0 else None

    def ids(self, prefix: str) -> Iterator[str]:
        """Ids in the pack that begin with these digits."""
        index = self._index or self._open_index()
        if index is None:
            return
        byte = bytes.fromhex(prefix[:2])
        start, end = self._names_from(byte[0]) if byte else (_NAMES, _NAMES + 20 * self._fanout[255])
        for place in range(start, end, 20):
            oid = index[place : place + 20].hex()
            if oid.startswith(prefix):
                yield oid

    def _names_from(self, byte: int) -> tuple[int, int]:
        """Return the part of the index that has the names with this first byte."""
        before = self._fanout[byte - 1] if byte else 0
        return _NAMES + 20 * before, _NAMES + 20 * self._fanout[byte]

    def _open_index(self) -> mmap.mmap | None:
        try:
            index = _view(self._stem + ".idx")
            if index[:8] != _MAGIC:
                raise ValueError("it is not of version 2")
            self._fanout = _FANOUT.unpack_from(index, 8)
        except FileNotFoundError:  # joined into another pack meanwhile
            return None
        except (OSError, ValueError, struct.error) as error:
            raise self._damage(".idx", error) from error
        self._index = index
        return index

    def _offset(self, index: mmap.mmap, place: int) -> int:
        small = _NAMES + self._fanout[255] * 24
        large = small + self._fanout[255] * 4
        try:
            offset = int(struct.unpack_from(">L", index, small + place * 4)[0])
            if offset & 0x80000000:
                offset = int(struct.unpack_from(">Q", index, large + (offset & 0x7FFFFFFF) * 8)[0])
        except struct.error as error:
            raise self._damage(".idx", error) from error
        return offset

    def _damage(self, ending: str, error: Exception) -> BundleUnusable:
        name = os.path.basename(self._stem) + ending
        reason = "it is cut short" if isinstance(error, (IndexError, struct.error)) else error
        return BundleUnusable(f"The pack {name} cannot be read ({reason}).", hint=VERIFY)

    def read(self, name: bytes) -> tuple[bytes, bytes] | None:
        """Type and content of an object, or None; a flipped bit is never taken for memory."""
        offset = self.find(name)
        if offset is None:
            return None
        try:
            if self._view is None:
                self._view = _view(self._stem + ".pack")
            number, content = self._resolve(self._view, offset)
            kind = TYPE_NAMES[number]
            if object_id(kind, content) != name.hex():
                raise ValueError(f"object {name.hex()} is corrupt")
            return kind, content
        except (OSError, ValueError, IndexError, KeyError, zlib.error) as error:
            raise self._damage(".pack", error) from error

    def measure(self, name: bytes) -> tuple[bytes, int] | None:
        """Type and size of an object, or None: what it and those it stands on say of themselves."""
        offset = self.find(name)
        if offset is None:
            return None
        try:
            view = self._view = self._view or _view(self._stem + ".pack")
            number, size, start = header(view, offset)
            passed = [offset]
            while number in (_OFS_DELTA, _REF_DELTA) and len(passed) <= _DEEPEST:
                base, start = self._base(view, number, passed[-1], start)
                if base <= 0:
                    break
                if len(passed) == 1:  # a delta begins with two sizes: of its base, and of what it makes
                    head = zlib.decompressobj().decompress(view[start : start + 64], 32)
                    size = _size(head, _size(head, 0)[1])[0]
                passed.append(base)
                number = self._kinds.get(base, 0)
                if not number:
                    number, _, start = header(view, base)
            if number in TYPE_NAMES:
                self._kinds.update(dict.fromkeys(passed, number))
                return TYPE_NAMES[number], size
            raise ValueError("a delta stands on nothing")
        except (OSError, ValueError, IndexError, KeyError, zlib.error) as error:
            raise self._damage(".pack", error) from error

    def _resolve(self, view: mmap.mmap, offset: int) -> tuple[int, bytes]:
        """Follow deltas down to a whole object, then build up from there."""
        deltas: list[tuple[int, bytes]] = []
        while True:
            known = self._built.get(offset)
            if known is not None:
                number, content = known
                break
            number, size, start = header(view, offset)
            if number not in (_OFS_DELTA, _REF_DELTA):
                content = _inflate(view, start, size)
                break
            base, start = self._base(view, number, offset, start)
            deltas.append((offset, _inflate(view, start, size)))
            if base <= 0 or len(deltas) > _DEEPEST:
                raise ValueError("a delta stands on nothing")
            offset = base
        for here, delta in reversed(deltas):
            self._remember(offset, number, content)
            content, offset = _patched(content, delta), here
        if deltas:
            self._remember(offset, number, content)
        return number, content

    def _base(self, view: mmap.mmap, number: int, offset: int, start: int) -> tuple[int, int]:
        """Return the offsets of a delta's base object and of the delta's data."""
        if number == _REF_DELTA:
            return self.find(view[start : start + 20]) or 0, start + 20
        byte = view[start]
        back = byte & 0x7F
        while byte & 0x80:
            start += 1
            byte = view[start]
            back = ((back + 1) << 7) | (byte & 0x7F)
        return offset - back, start + 1

    def _remember(self, offset: int, number: int, content: bytes) -> None:
        if offset not in self._built:
            self._built_size += len(content)
            if self._built_size > _REMEMBERED:
                self._built, self._built_size = {}, len(content)
            self._built[offset] = number, content


def _view(path: str) -> mmap.mmap:
    with open(path, "rb") as file:
        return mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)


def header(view: mmap.mmap | bytes, start: int) -> tuple[int, int, int]:
    """Type number and size of an entry, and where what follows them begins."""
    byte = view[start]
    number, size, shift = (byte >> 4) & 7, byte & 0x0F, 4
    while byte & 0x80:
        start += 1
        byte = view[start]
        size |= (byte & 0x7F) << shift
        shift += 7
    return number, size, start + 1


def _inflate(view: mmap.mmap, start: int, size: int) -> bytes:
    """Zlib data of which only the inflated size is known."""
    inflate = zlib.decompressobj()
    end = start + size + size // 1000 + 64
    content = inflate.decompress(view[start:end])
    while not inflate.eof:  # packing made it larger than it was
        more = view[end : end + 4096]
        if not more:
            raise ValueError("an entry is cut short")
        content += inflate.decompress(more)
        end += len(more)
    if len(content) != size:
        raise ValueError("an entry has not the size it says")
    return content


def _patched(base: bytes, delta: bytes) -> bytes:
    """The object that a delta makes of its base: pieces of the base, and new ones."""
    base_size, position = _size(delta, 0)
    size, position = _size(delta, position)
    if base_size != len(base):
        raise ValueError("a delta stands on another object than it says")
    parts: list[bytes] = []
    end = len(delta)
    while position < end:
        command = delta[position]
        position += 1
        if command & 0x80:
            start = length = 0
            for bit in range(4):
                if command & (1 << bit):
                    start |= delta[position] << (8 * bit)
                    position += 1
            for bit in range(3):
                if command & (0x10 << bit):
                    length |= delta[position] << (8 * bit)
                    position += 1
            parts.append(base[start : start + (length or 0x10000)])
        elif command:
            parts.append(delta[position : position + command])
            position += command
        else:
            raise ValueError("a delta has an unknown command")
    content = b"".join(parts)
    if len(content) != size:
        raise ValueError("a delta makes an object of another size than it says")
    return content


def _size(delta: bytes, position: int) -> tuple[int, int]:
    size = shift = 0
    while True:
        byte = delta[position]
        position += 1
        size |= (byte & 0x7F) << shift
        shift += 7
        if not byte & 0x80:
            return size, position
