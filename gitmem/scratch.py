"""Scratch directories: each process has one of its own, and only those of dead processes are removed.

A file is written there before it gets its name, and a fetch is checked there. The lock in the directory says that the
process is alive; a process id would not (two containers may share a bundle).
"""

from __future__ import annotations

import contextlib
import os
import weakref
from typing import ClassVar

from gitmem.locks import ProcessLock
from gitmem.permissions import make_directory

_LOCK = "lock"
_TRIES = 10


class Scratch:
    """The scratch directory of this process below `top`; it goes when it is no longer used here, if it is empty then."""

    _open: ClassVar[weakref.WeakValueDictionary[str, Scratch]] = weakref.WeakValueDictionary()

    def __init__(self, top: str) -> None:
        self.directory, self._lock = _taken(top)
        weakref.finalize(self, _give_back, self.directory, self._lock)

    @classmethod
    def of(cls, top: str) -> Scratch:
        """The one that this process has already, or a new one."""
        found = cls._open.get(top)
        if found is None or not found.is_ours:
            found = cls._open[top] = cls(top)
        return found

    @property
    def is_ours(self) -> bool:
        """Return whether it may be used: neither a forked child's parent has it, nor did a person delete it."""
        return not self._lock.lost and os.path.exists(os.path.join(self.directory, _LOCK))


def scratch_directory(inside: str, prefix: str) -> str:
    """A new directory for something that takes more than a file."""
    path = os.path.join(inside, f"{prefix}{os.urandom(6).hex()}")
    make_directory(path)
    return path


def _taken(top: str) -> tuple[str, ProcessLock]:
    """A new directory and its lock."""
    for _ in range(_TRIES):
        directory = os.path.join(top, f"{os.getpid()}-{os.urandom(4).hex()}")
        try:
            make_directory(directory)
        except FileNotFoundError:
            for missing in (os.path.dirname(top), top):  # not what is above: a removed bundle stays removed
                with contextlib.suppress(FileExistsError):
                    make_directory(missing)
            make_directory(directory)
        # Before we hold its lock, somebody else may take the directory for a dead one's.
        with contextlib.suppress(FileNotFoundError):
            lock = ProcessLock.take(os.path.join(directory, _LOCK), create=True)
            if lock is not None:
                return directory, lock
    raise FileNotFoundError(2, "No directory for scratch files could be made", top)


def _give_back(directory: str, lock: ProcessLock) -> None:
    """Remove the directory. What a failed commit left in it stays until the next writer has seen to that."""
    if lock.lost:
        return
    with contextlib.suppress(OSError):
        if os.listdir(directory) == [_LOCK]:
            lock.remove()
            os.rmdir(directory)
    lock.release()


def sweep(top: str) -> None:
    """Remove what dead processes left below `top`; the caller holds the bundle lock."""
    with os.scandir(top) as found:
        for entry in list(found):
            with contextlib.suppress(OSError):
                _sweep_directory(entry.path)


def _sweep_directory(directory: str) -> None:
    lock = ProcessLock.take(os.path.join(directory, _LOCK), create=True)
    if lock is None:
        return
    import shutil

    shutil.rmtree(directory, ignore_errors=True)
    lock.remove()
