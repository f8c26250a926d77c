"""The note of a commit under way, on disk before its ref moves and settled when its files have their names on disk.

After a crash it tells a file that we had no time to write from a file that a person edited. A checksum guards it: a torn
note means that the ref has not moved, because the ref waits for the note, and that the commit before it was settled.
Buys "times the floor": it is written over in place, where a new file would flush the file system's journal again.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import re
from collections.abc import Collection, Mapping
from dataclasses import dataclass

from gitmem.errors import UnsafePath
from gitmem.files import DiskGroup, overwrite_file, read_file, remove_file
from gitmem.git.objects import Oid
from gitmem.okf.paths import check_path
from gitmem.state import PENDING, LocalState

_OID = re.compile("[0-9a-f]{40}")
_MARK = b"pending "
_DONE = b"settled "
"""Of the same length, because they are written over each other."""
_SIGNED = 120


@dataclass(frozen=True, slots=True)
class CommitNote:
    """Old and new tip, and the files between them."""

    old: Oid | None
    new: Oid
    paths: Collection[str]
    leaves: Collection[str] = ()
    """Those of the paths whose work tree file the commit did not mean to write."""
    was: Mapping[str, Oid | None] | None = None
    """What the files were, where the old tip is no more to say so; None for no file."""


class NoteFile:
    """The one note of a repository."""

    def __init__(self, state: LocalState) -> None:
        self._path = state.path(PENDING)

    def write(self, note: CommitNote, disk: DiskGroup) -> None:
        """Write the note in the place of a settled one; it counts when `disk` was flushed."""
        values = {"old": note.old, "new": note.new, "paths": [*note.paths], "leaves": [*note.leaves]}
        body = json.dumps(values | ({"was": dict(note.was)} if note.was is not None else {})).encode()
        digest = hashlib.sha256(body).hexdigest().encode()
        disk.write(self._path, _MARK + digest + b" %d\n" % len(body) + body + b"\n", in_place=True)

    def read(self) -> CommitNote | None:
        """The note of a commit that was not finished, or None."""
        try:
            with open(self._path, "rb", buffering=0) as file:
                if file.read(len(_MARK)) != _MARK:
                    return None
        except (FileNotFoundError, NotADirectoryError):
            return None
        return _parsed((read_file(self._path) or b"").removeprefix(_MARK))

    def settle(self, index: bytes = b"") -> None:
        """Record that the commit is finished, and the signature of a git index that matches the tip, where known.

        Not flushed: finding the note again does no harm. The caller holds the bundle lock.
        """
        note = self.read()
        if note is not None and note.was is not None:
            remove_file(self._path)  # a name in it may be what was erased
            note = None
        if index or note is not None:
            overwrite_file(self._path, _DONE + index.ljust(_SIGNED))

    def index(self) -> bytes:
        """The signature of git's index with which the last commit was settled; empty where there is none."""
        with contextlib.suppress(OSError), open(self._path, "rb", buffering=0) as file:
            head = file.read(len(_DONE) + _SIGNED)
            return head.removeprefix(_DONE).rstrip() if head.startswith(_DONE) else b""
        return b""


def _parsed(raw: bytes) -> CommitNote | None:
    """The note, if it is whole. The directory may be someone else's: an unsafe path drops the note."""
    head, _, rest = raw.partition(b"\n")
    try:
        digest, length = head.split(b" ")
        body = rest[: int(length)]
        if hashlib.sha256(body).hexdigest().encode() != digest:
            return None
        values = json.loads(body)
        old, new, paths, leaves = (values[name] for name in ("old", "new", "paths", "leaves"))
        if not all(isinstance(one, list) for one in (paths, leaves)):
            return None
        for path in (*paths, *leaves):
            check_path(path)
        was = values.get("was")
        blobs = [old, *(was or {}).values()]
        if not (_OID.fullmatch(new) and all(one is None or _OID.fullmatch(one) for one in blobs)):
            return None
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError, UnsafePath):
        return None
    return CommitNote(old, new, tuple(paths), tuple(leaves), was)
