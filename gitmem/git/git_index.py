"""Git's own index file, spliced: only the records of touched files are patched in the raw bytes.

Buys "git's index at 100,000 files, per 1,000": reading and writing it as objects takes seconds.
What must hold for plain git to stay right is written at each rule below.
"""

from __future__ import annotations

import hashlib
import io
import os
import struct
from bisect import bisect_left
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from gitmem.errors import BundleBusy, BundleUnusable
from gitmem.git.objects import FILE, Oid, path_text

_HEADER = struct.Struct(">4sLL")
_FIXED = struct.Struct(">10L20sH")
_STAT = struct.Struct(">L4xLL4xLL8xL")
"""Of a record: ctime in seconds, mtime in seconds and nanoseconds, inode, mode, size."""
_U32 = 0xFFFFFFFF
_STAGE = 0x3000
_LOOKS = 64
"""How many racy files are looked at when the index is written."""
_SKIP_WORKTREE = 0x4000
_INTENT_TO_ADD = 0x2000
_MERGE = "A merge is under way in this bundle: finish or abort it with git first."


def record(name: bytes, mode: int, oid: Oid, stat: os.stat_result | None = None) -> bytes:
    """The record of a file that had this stat when it was that blob; without one, git looks at the content."""
    if stat is None:
        return _record(name, mode, oid, (0,) * 9)
    times = *divmod(stat.st_ctime_ns, 1_000_000_000), *divmod(stat.st_mtime_ns, 1_000_000_000)
    rest = stat.st_dev, stat.st_ino, stat.st_uid, stat.st_gid, stat.st_size
    return _record(name, mode, oid, (*times, *rest))


def _record(name: bytes, mode: int, oid: Oid, values: Iterable[int]) -> bytes:
    *first, user, group, size = (value & _U32 for value in values)
    fixed = _FIXED.pack(*first, mode, user, group, size, bytes.fromhex(oid), min(len(name), 0xFFF))
    return fixed + name + b"\0" * (8 - (62 + len(name)) % 8)


def _mtime(record: bytes) -> int:
    return int.from_bytes(record[8:12])


class GitIndex:
    """A version 2 index as raw bytes with the place of every record."""

    def __init__(self, raw: bytes, mtime: int) -> None:
        self.raw = raw
        self.mtime = mtime
        self.names: list[bytes] = []
        self._starts: list[int] = []
        # Racy git: a file written in the second in which the index was written may have changed
        # since without its stat showing it. So they are remembered, with that second.
        self._racy: dict[bytes, int] = {}
        self._walk()

    def _walk(self) -> None:
        raw, position = self.raw, _HEADER.size
        names, starts, racy = self.names, self._starts, self._racy
        moment = struct.pack(">L", self.mtime & _U32)
        count = _HEADER.unpack_from(raw)[2]
        for _ in range(count):
            flags = (raw[position + 60] << 8) | raw[position + 61]
            if flags & _STAGE:
                raise BundleBusy(_MERGE)
            length = flags & 0xFFF
            if length == 0xFFF:
                length = raw.index(b"\0", position + 62) - position - 62
            names.append(raw[position + 62 : position + 62 + length])
            if raw[position + 8 : position + 12] >= moment:
                racy[names[-1]] = int.from_bytes(raw[position + 8 : position + 12])
            starts.append(position)
            position += (62 + length + 8) & ~7
        starts.append(position)

    def place(self, name: bytes) -> int:
        """Return the position of a file's record, or -1."""
        place = bisect_left(self.names, name)
        return place if place < len(self.names) and self.names[place] == name else -1

    def oid(self, place: int) -> Oid:
        start = self._starts[place]
        return self.raw[start + 40 : start + 60].hex()

    def files(self) -> dict[str, Oid]:
        """Every file with its blob, in the order of the records."""
        return {path_text(name): self.oid(place) for place, name in enumerate(self.names)}

    def mode(self, place: int) -> int:
        return int.from_bytes(self.raw[self._starts[place] + 24 : self._starts[place] + 28])

    def vouches(self, name: bytes, stat: os.stat_result, oid: Oid | None) -> bool:
        """The file still is this blob for certain: same stat, and not written in the index's second."""
        place = self.place(name)
        if place < 0 or self.oid(place) != oid:
            return False
        changed, seconds, nanos, inode, mode, size = _STAT.unpack_from(self.raw, self._starts[place])
        return bool(
            seconds * 1_000_000_000 + nanos == stat.st_mtime_ns
            and 0 < size == stat.st_size & _U32
            and inode == stat.st_ino & _U32
            and changed == stat.st_ctime_ns // 1_000_000_000 & _U32  # a program may set the other time back
            and (mode == FILE) == (not stat.st_mode & 0o100)
            and seconds < self.mtime
        )

    def splice(
        self, changes: Mapping[bytes, bytes | None], moment: int, holds: Callable[[bytes, Oid], bool]
    ) -> GitIndex:
        """An index in which these records are set or dropped; it must be given its `mtime` on disk.

        `moment` (in seconds) lies before the files of the new records were written. Extensions
        are left out: a stale cache of trees makes `git commit` write the old tree while `git
        status` is clean.
        """
        raw = bytearray(self.raw)
        racy = self._settle_racy(raw, moment, holds)
        names: list[bytes] = []
        starts: list[int] = []
        pieces: list[bytes | memoryview] = []
        whole = memoryview(raw)  # a slice of it copies nothing
        done = shift = 0
        for name in sorted(changes):
            record = changes[name]
            place = bisect_left(self.names, name)
            known = place < len(self.names) and self.names[place] == name
            here, behind = self._starts[place], self._starts[place + known]
            names += self.names[done:place]
            starts += _shifted(self._starts[done:place], shift)
            pieces.append(whole[self._starts[done] : here])
            if record is not None:
                names.append(name)
                starts.append(here + shift)
                pieces.append(record)
                shift += len(pieces[-1])
            shift -= behind - here
            done = place + known
        names += self.names[done:]
        starts += _shifted(self._starts[done:], shift)
        pieces.append(whole[self._starts[done] : self._starts[-1]])
        sealed = _sealed(len(names), pieces)
        mtime = min([moment, *racy.values()])
        if mtime < self.mtime:  # the clock was set back: files that were old are young again
            return GitIndex(sealed, mtime)
        spliced = GitIndex.__new__(GitIndex)
        spliced.raw, spliced.mtime, spliced.names, spliced._starts = sealed, mtime, names, starts
        young = {name: seconds for name, seconds in racy.items() if name not in changes}
        young |= {name: _mtime(record) for name, record in changes.items() if record}
        spliced._racy = {name: seconds for name, seconds in young.items() if seconds >= mtime}
        return spliced

    def _settle_racy(
        self, raw: bytearray, moment: int, holds: Callable[[bytes, Oid], bool]
    ) -> dict[bytes, int]:
        """Look at racy files, a few at a time; gives those that stay in doubt.

        A file that still is what its record says cannot change unseen any more when its second
        is over. One that is not gets a record of size 0, as git does it, so that it is seen.
        """
        doubtful: dict[bytes, int] = {}
        left = _LOOKS
        for name, seconds in self._racy.items():
            if seconds >= moment or not left:
                doubtful[name] = seconds
                continue
            left -= 1
            place = self.place(name)
            if not holds(name, self.oid(place)):
                raw[self._starts[place] + 36 : self._starts[place] + 40] = b"\0\0\0\0"
        return doubtful


def _shifted(starts: list[int], by: int) -> list[int]:
    return [start + by for start in starts] if by else starts


def load(path: str) -> GitIndex | None:
    """The index at `path` ready to be spliced; None where there is none or it must be rebuilt."""
    try:
        with open(path, "rb") as file:
            raw = file.read()
            mtime = int(os.fstat(file.fileno()).st_mtime)
    except FileNotFoundError:
        return None
    if len(raw) < 32 or raw[:7] != b"DIRC\0\0\0" or raw[7] not in (2, 3, 4):
        return None
    if raw[-20:] != b"\0" * 20 and hashlib.sha1(raw[:-20], usedforsecurity=False).digest() != raw[-20:]:
        return None
    try:
        index = GitIndex(raw if raw[7] == 2 else _as_version_2(raw), mtime)
    except (struct.error, IndexError, ValueError, AssertionError):
        return None
    return None if _has_foreign_extension(index.raw, index._starts[-1]) else index


def _as_version_2(raw: bytes) -> bytes:
    """An index of version 3 or 4 as one of version 2: what a person staged is in it.

    Files that were only announced (`git add -N`) are left out: they are untracked then, as they
    are to a commit.
    """
    from dulwich.index import read_index_dict_with_version

    file = io.BytesIO(raw)
    found: dict[bytes, Any] = dict(read_index_dict_with_version(file)[0])
    if file.tell() < len(raw) - 20:
        raise ValueError("an extension changes what the records mean")
    records: dict[bytes, bytes] = {}
    for name, one in found.items():
        if not hasattr(one, "sha"):
            raise BundleBusy(_MERGE)
        if one.extended_flags & _SKIP_WORKTREE:
            raise BundleUnusable(
                "Some files are left out of the work tree.", hint="Run `git sparse-checkout disable` first."
            )
        if not one.extended_flags & _INTENT_TO_ADD:
            stat = *one.ctime, *one.mtime, one.dev, one.ino, one.uid, one.gid, one.size
            records[name] = _record(name, one.mode, one.sha.decode(), stat)
    return build(records)


def build(records: Mapping[bytes, bytes]) -> bytes:
    """The bytes of a new version 2 index."""
    return _sealed(len(records), [records[name] for name in sorted(records)])


def _sealed(count: int, records: Sequence[bytes | memoryview]) -> bytes:
    pieces = [_HEADER.pack(b"DIRC", 2, count), *records]
    seal = hashlib.sha1(usedforsecurity=False)
    for piece in pieces:
        seal.update(piece)
    return b"".join((*pieces, seal.digest()))


def _has_foreign_extension(raw: bytes, position: int) -> bool:
    """An extension with a lower-case name (split or sparse index) changes what the records mean."""
    while position < len(raw) - 20:
        name, size = raw[position : position + 4], struct.unpack_from(">L", raw, position + 4)[0]
        if not 65 <= name[0] <= 90:
            return True
        position += 8 + size
    return False
