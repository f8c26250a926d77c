"""The note of a commit under way, on disk before its ref moves.

After a crash it tells a file that we had no time to write from a file that a person edited, and
our own git locks from somebody else's. After a power cut it tells the same of files that earlier
commits wrote and the disk did not get: a note counts until everything that it names is on disk,
and so each note carries on what those before it name.

A note is guarded by a checksum: a torn one means that the ref was not moved yet, because the ref
waits for the note. Two files take turns, so that a torn note leaves the one before it whole.
Buys "times the floor": they are written over in place, where a new file would flush the file system's journal again.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from random import randrange

from gitmem.errors import UnsafePath
from gitmem.files import (
    DiskGroup,
    do_beside,
    make_durable,
    overwrite_file,
)
from gitmem.git.objects import Oid
from gitmem.okf.paths import check_path
from gitmem.state import LocalState, Name

_MANY, _VERY_MANY = 128, 1024
"""Files that may not be on disk yet: each note lists them, and the next start looks at them."""
_MICROSECOND = 1000
_OID = re.compile("[0-9a-f]{40}")
_LOCK = re.compile(r"(?!.*(^|/)\.\.(/|$))(index|HEAD|packed-refs|config|refs/.+)\.lock")
_HEAD = 128
_MARK = b"pending "
_DONE = b"settled "
_ON_DISK = b"durable "
"""Of the same length, because they are written over each other."""


@dataclass(frozen=True, slots=True)
class Pending:
    """Old and new tip, the files between them, and the inodes of the git locks that are ours."""

    old: Oid | None
    new: Oid
    paths: Collection[str]
    locks: dict[str, int] = field(default_factory=dict)
    """By name relative to the git directory."""
    leaves: Collection[str] = ()
    """Those of the paths whose work tree file the commit did not mean to write."""
    moment: int = 0
    """The mtime, in nanoseconds, of every file that the commit writes; see `moment_after`."""
    earlier: Mapping[str, int] = field(default_factory=dict)
    """Files that commits before it wrote, each with its mtime: a power cut may empty them."""
    number: int = 0
    is_settled: bool = False
    """Work tree and index have followed."""
    is_on_disk: bool = False
    """All of it is on disk, which follows much later."""

    @property
    def unsynced(self) -> dict[str, int]:
        """Every file that may not be on disk yet, with the mtime that we gave it."""
        if self.is_on_disk:
            return {}
        written = set(self.paths) - set(self.leaves) if self.moment else ()
        return {**self.earlier, **dict.fromkeys(written, self.moment)}


def moment_after(mtime: int) -> int:
    """An mtime for the files of one commit that no file of anybody else has; 0 where the file system cannot hold it.

    It is at most a millisecond after that of a file just made, and differs from what a clock's tick would give.
    """
    return mtime + _MICROSECOND * randrange(1, 1000) if mtime % 1_000_000_000 else 0  # noqa: S311 (no secret)


def is_from(moment: int, mtime: int) -> bool:
    """Whether a moment may be the one after this mtime."""
    return 0 < moment - mtime < 1000 * _MICROSECOND


class PendingFile:
    """The newest note in one or more files that take turns."""

    def __init__(self, state: LocalState, *names: Name) -> None:
        self._state = state
        self._names = names
        self._known: dict[str, tuple[bytes, Pending | None]] = {}
        self._covered: dict[str, int] = {}
        self._is_covering = False
        self.is_trusted = False
        """This process has looked at the files of the last note: no power cut since, or we would not be here."""

    def write(self, pending: Pending, disk: DiskGroup) -> None:
        """Write the note in the place of the oldest; it counts when `disk` was flushed."""
        noted, name = self._next(pending)
        data = _rendered(noted)
        disk.write(self._state.path(name), data, in_place=True)
        self._known[name.pattern] = data[:_HEAD], noted

    def rewrite(self, pending: Pending) -> None:
        """Put a note in the place of one that still counts."""
        noted, name = self._next(pending)
        self._state.write(name, _rendered(noted), durable=True)

    def read(self) -> Pending | None:
        """The note of a commit that was not finished, or None."""
        last = self.last()
        return None if last is None or last.is_settled else last

    def last(self) -> Pending | None:
        """The note of the last commit, finished or not."""
        return self._newest()[0]

    def all(self) -> list[Pending]:
        """Every note that is whole, the newest first."""
        found = [note for name in self._names if (note := self._read(name)) is not None]
        return sorted(found, key=lambda note: -note.number)

    def settle(self) -> None:
        """The commit is finished. Not flushed: finding the note again does no harm."""
        for name in self._names:
            note = self._read(name)
            if note is not None and not note.is_settled:
                overwrite_file(self._state.path(name), _DONE)

    def carried(self) -> dict[str, int]:
        """What the next note says of the files of earlier commits."""
        last = self.last()
        found = last.unsynced if last else {}
        self._covered = {path: moment for path, moment in self._covered.items() if found.get(path) == moment}
        return {path: moment for path, moment in found.items() if path not in self._covered}

    def cover(self, root: str) -> None:
        """Let the disk catch up where many files wait for it, beside what the caller does next.

        Whoever makes one commit and ends does not live to see it: where very many wait, this does too.
        """
        files = self.carried()
        if len(files) > _VERY_MANY:
            _, name = self._newest()
            make_durable(root, files)
            if name is not None:
                overwrite_file(self._state.path(name), _ON_DISK)
        elif len(files) > _MANY and not self._is_covering:
            self._is_covering = True
            do_beside(partial(self._cover, root, files))

    def _cover(self, root: str, files: dict[str, int]) -> None:
        try:
            make_durable(root, files)
            self._covered = {**self._covered, **files}
        finally:
            self._is_covering = False

    def remove(self) -> None:
        """Settle a note by taking it away, which no file system does before what was done before it."""
        for name in self._names:
            self._state.remove(name)

    def _next(self, pending: Pending) -> tuple[Pending, Name]:
        """The note with its number, and the name whose turn it is."""
        last, name = self._newest()
        turn = 0 if name is None else (self._names.index(name) + 1) % len(self._names)
        return replace(pending, number=last.number + 1 if last else 1), self._names[turn]

    def _newest(self) -> tuple[Pending | None, Name | None]:
        best: tuple[Pending | None, Name | None] = (None, None)
        for name in self._names:
            found = self._read(name)
            if found is not None and (best[0] is None or found.number > best[0].number):
                best = found, name
        return best

    def _read(self, name: Name) -> Pending | None:
        """A note. Buys "times the floor": of one that we know, only the beginning is read, where its checksum is."""
        try:
            with open(self._state.path(name), "rb", buffering=0) as file:
                head = file.read(_HEAD)
                known, note = self._known.get(name.pattern, (b"", None))
                if note is None or head[len(_MARK) :] != known[len(_MARK) : _HEAD]:
                    note = _parsed(head + file.read())
                    self._known[name.pattern] = head, note
        except (FileNotFoundError, NotADirectoryError):
            return None
        if note is None or head.startswith(_MARK):
            return note
        return replace(note, is_settled=True, is_on_disk=head.startswith(_ON_DISK))


def _parsed(raw: bytes) -> Pending | None:
    if not raw.startswith((_MARK, _DONE, _ON_DISK)):
        return None
    head, _, rest = raw.partition(b"\n")
    try:
        _, digest, length = head.split(b" ")
        body = rest[: int(length)]
        if hashlib.sha256(body).hexdigest().encode() != digest:
            return None
        values = json.loads(body)
        old = values["old"]
        return Pending(
            None if old is None else _oid(old),
            _oid(values["new"]),
            SafePaths(values["paths"]),
            {name: int(inode) for name, inode in values["locks"].items() if _LOCK.fullmatch(name)},
            SafePaths(values["leaves"]),
            _moment(values.get("moment", 0)),
            {path: _moment(moment) for path, moment in values.get("earlier", {}).items() if _is_safe(path)},
            int(values.get("number", 0)),
        )
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
        return None


# The directory may have come from somebody else, and a note tells us what to write and to remove.


class SafePaths(Collection[str]):
    """Those of some paths that are safe.

    Buys "`gitmem log -n 20` against `import click, dulwich.repo`": they are checked when somebody looks at them. Each start
    reads the note of the last commit, which names every file of a large import, and looks at few of its paths or none.
    """

    def __init__(self, named: list[str]) -> None:
        if not isinstance(named, list) or not all(isinstance(path, str) for path in named):
            raise TypeError("a note names its paths as texts")
        self._named = named

    @cached_property
    def _checked(self) -> tuple[str, ...]:
        return tuple(path for path in self._named if _is_safe(path))

    def __contains__(self, path: object) -> bool:
        return path in self._checked

    def __iter__(self) -> Iterator[str]:
        return iter(self._checked)

    def __len__(self) -> int:
        return len(self._checked)

    def __eq__(self, other: object) -> bool:
        return self._named == other._named if isinstance(other, SafePaths) else self._checked == other

    def __hash__(self) -> int:
        return hash(self._checked)


def _is_safe(path: str) -> bool:
    try:
        check_path(path)
    except UnsafePath:
        return False
    return True


def _oid(value: str) -> Oid:
    if not _OID.fullmatch(value):
        raise ValueError(value)
    return value


def _moment(value: int) -> int:
    if not 0 <= int(value) < 1 << 63:  # no file can have it
        raise ValueError(value)
    return int(value)


def _rendered(pending: Pending) -> bytes:
    body = json.dumps(
        {
            "old": pending.old,
            "new": pending.new,
            "paths": [*pending.paths],
            "locks": pending.locks,
            "leaves": [*pending.leaves],
            "moment": pending.moment,
            "earlier": pending.earlier,
            "number": pending.number,
        }
    ).encode()
    digest = hashlib.sha256(body).hexdigest().encode()
    return _MARK + digest + b" %d\n" % len(body) + body + b"\n"
