"""Reading packs, as far as a bundle needs it: small ones by the dozen, and large ones with deltas.

Dulwich reads every pack there is. This reads those of version 2, without its care for cases that a
bundle does not have: whatever looks odd is left to dulwich.
Buys "`gitmem log -n 20` against `import click, dulwich.repo`": dulwich's import takes longer than most commands.
"""

from __future__ import annotations

import mmap
import os
import struct
import zlib

from gitmem.git.objects import TYPE_NAMES

_MAGIC = b"\377tOc\0\0\0\2"
_FANOUT = struct.Struct(">256L")
_NAMES = 8 + _FANOUT.size
_OFS_DELTA, _REF_DELTA = 6, 7
_DEEPEST = 10_000
# Buys "full rebuild / bare loop": the versions of a file are deltas on each other, and are read in a row.
_REMEMBERED = 16 * 1024 * 1024


class UnreadablePack(Exception):
    """A pack in a form that this reader does not know, or damaged: dulwich may tell more."""


class PackReader:
    """All packs of a directory."""

    def __init__(self, directory: str) -> None:
        self._directory = directory
        self._packs: dict[str, _Pack] = {}
        self._latest: _Pack | None = None
        self._listed = False

    def read(self, oid: str) -> tuple[bytes, bytes] | None:
        """Type and content of an object in the packs known so far, or None."""
        place = self._find(oid)
        return None if place is None else place[0].read(place[1])

    def measure(self, oid: str) -> tuple[bytes, int] | None:
        """Type and size of an object in the packs known so far, without building it, or None."""
        place = self._find(oid)
        return None if place is None else place[0].measure(place[1])

    def __contains__(self, oid: str) -> bool:
        return self._find(oid) is not None

    def _find(self, oid: str) -> tuple[_Pack, int] | None:
        if not self._listed:
            self.look_again()
        try:
            name = bytes.fromhex(oid)
        except ValueError:  # a damaged object may name anything
            return None
        if len(name) != 20:
            return None
        # Buys "fetch + merge + push": what is read together was mostly written together.
        first = (self._latest,) if self._latest is not None else ()
        for pack in (*first, *self._packs.values()):
            offset = pack.find(name)
            if offset is not None:
                self._latest = pack
                return pack, offset
        return None

    def look_again(self) -> bool:
        """List the directory; gives whether packs came or went since the last time."""
        try:
            names = {name for name in os.listdir(self._directory) if name.endswith(".idx")}
        except FileNotFoundError:
            names = set()
        changed = not self._listed or names != self._packs.keys()
        if changed:
            known = self._packs
            stems = {name: os.path.join(self._directory, name[: -len(".idx")]) for name in names}
            self._packs = {name: known.get(name) or _Pack(stem) for name, stem in stems.items()}
            self._latest, self._listed = None, True
        return changed

    def close(self) -> None:
        """Let go of all packs; the next read lists them again."""
        self._packs = {}
        self._latest, self._listed = None, False


class _Pack:
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
        start = _NAMES + 20 * (self._fanout[name[0] - 1] if name[0] else 0)
        end = _NAMES + 20 * self._fanout[name[0]]
        place = index.find(name, start, end)
        while place >= 0 and (place - _NAMES) % 20:  # the end of one name and the beginning of another
            place = index.find(name, place + 1, end)
        return self._offset(index, (place - _NAMES) // 20) if place >= 0 else None

    def _open_index(self) -> mmap.mmap | None:
        try:
            index = _view(self._stem + ".idx")
            if index[:8] != _MAGIC:
                raise UnreadablePack(f"{self._stem}.idx is not of version 2")
            self._fanout = _FANOUT.unpack_from(index, 8)
        except FileNotFoundError:  # joined into another pack meanwhile
            return None
        except (OSError, ValueError, struct.error) as error:
            raise UnreadablePack(f"{self._stem}.idx cannot be read ({error})") from error
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
            raise UnreadablePack(f"{self._stem}.idx is cut short") from error
        return offset

    def read(self, offset: int) -> tuple[bytes, bytes]:
        """Type and content of the object that begins there."""
        try:
            if self._view is None:
                self._view = _view(self._stem + ".pack")
            number, content = self._resolve(self._view, offset)
            return TYPE_NAMES[number], content
        except (OSError, ValueError, IndexError, KeyError, zlib.error) as error:
            raise UnreadablePack(f"{self._stem}.pack cannot be read ({error})") from error

    def measure(self, offset: int) -> tuple[bytes, int]:
        """Type and size of the object that begins there: what it and those it stands on say of themselves."""
        try:
            view = self._view = self._view or _view(self._stem + ".pack")
            number, size, start = _header(view, offset)
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
                    number, _, start = _header(view, base)
            if number in TYPE_NAMES:
                self._kinds.update(dict.fromkeys(passed, number))
                return TYPE_NAMES[number], size
            raise ValueError("a delta stands on nothing")
        except (OSError, ValueError, IndexError, KeyError, zlib.error) as error:
            raise UnreadablePack(f"{self._stem}.pack cannot be read ({error})") from error

    def _resolve(self, view: mmap.mmap, offset: int) -> tuple[int, bytes]:
        """Follow deltas down to a whole object, then build up from there."""
        deltas: list[tuple[int, bytes]] = []
        while True:
            known = self._built.get(offset)
            if known is not None:
                number, content = known
                break
            number, size, start = _header(view, offset)
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


def _header(view: mmap.mmap, start: int) -> tuple[int, int, int]:
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
