"""The note of a commit under way, on disk before its ref moves.

After a crash it tells a file that we had no time to write from a file that a person edited, and
our own git locks from somebody else's. It is one file, guarded by a checksum: a torn note means
that the ref was not moved yet, because the ref waits for the note.
Buys "times the floor": it is written over in place, where a new file would flush the file system's journal again.
"""

from __future__ import annotations

import hashlib
import json
import os
from dataclasses import dataclass, field

from gitmem.files import DiskGroup, read_file
from gitmem.git.objects import Oid
from gitmem.state import LocalState, Name

_MARK = b"pending "
_DONE = b"settled "


@dataclass(frozen=True, slots=True)
class Pending:
    """Old and new tip, the files between them, and the inodes of the git locks that are ours."""

    old: Oid | None
    new: Oid
    paths: tuple[str, ...]
    locks: dict[str, int] = field(default_factory=dict)
    """By name relative to the git directory."""
    leaves: tuple[str, ...] = ()
    """Those of the paths whose work tree file the commit did not mean to write."""


class PendingFile:
    def __init__(self, state: LocalState, name: Name) -> None:
        self._state = state
        self._name = name
        self.path = state.path(name)

    def write(self, pending: Pending, disk: DiskGroup) -> None:
        """Write the note; it counts when `disk` was flushed.

        Only where no note stands: one that is torn half-way is none.
        """
        disk.write(self.path, _rendered(pending), in_place=True)

    def rewrite(self, pending: Pending) -> None:
        """Put a note in the place of one that still counts."""
        self._state.write(self._name, _rendered(pending), durable=True)

    def read(self) -> Pending | None:
        """The note of a commit that was not finished, or None."""
        return self._read((_MARK,))

    def last(self) -> Pending | None:
        """The note of the last commit, finished or not."""
        return self._read((_MARK, _DONE))

    def _read(self, marks: tuple[bytes, ...]) -> Pending | None:
        raw = read_file(self.path)
        if raw is None or not raw.startswith(marks):
            return None
        head, _, rest = raw.partition(b"\n")
        try:
            _, digest, length = head.split(b" ")
            body = rest[: int(length)]
            if hashlib.sha256(body).hexdigest().encode() != digest:
                return None
            values = json.loads(body)
            return Pending(
                values["old"],
                values["new"],
                tuple(values["paths"]),
                dict(values["locks"]),
                tuple(values["leaves"]),
            )
        except (ValueError, KeyError, TypeError):
            return None

    def settle(self) -> None:
        """The commit is finished. Not flushed: finding the note again does no harm."""
        descriptor = os.open(self.path, os.O_WRONLY)
        try:
            os.write(descriptor, _DONE)
        finally:
            os.close(descriptor)


def _rendered(pending: Pending) -> bytes:
    body = json.dumps(
        {
            "old": pending.old,
            "new": pending.new,
            "paths": pending.paths,
            "locks": pending.locks,
            "leaves": pending.leaves,
        }
    ).encode()
    digest = hashlib.sha256(body).hexdigest().encode()
    return _MARK + digest + b" %d\n" % len(body) + body + b"\n"
