"""The lock that a writer holds on its journal for life: the system drops it when the process dies."""

from __future__ import annotations

import contextlib
import os
import weakref
from typing import ClassVar

HAS_FLOCK: bool
try:
    import fcntl

    HAS_FLOCK = True
except ImportError:  # Windows
    import msvcrt

    HAS_FLOCK = False

# What one system has and another has not; Python itself keeps files from programs that we start.
_BINARY: int = getattr(os, "O_BINARY", 0)
_NO_LINK: int = getattr(os, "O_NOFOLLOW", 0)
READ = os.O_RDONLY | _BINARY | _NO_LINK
WRITE = os.O_RDWR | _BINARY | _NO_LINK
"""How files of a journal are opened: as bytes, and never through a link."""


class WriterLock:
    """The lock file of one journal, held from `take` to `release` or to the end of the process.

    It is unlinked only by its holder and after the journal's file: while a journal is there, everybody sees
    the same lock.
    """

    _all: ClassVar[weakref.WeakSet[WriterLock]] = weakref.WeakSet()

    def __init__(self, path: str, descriptor: int) -> None:
        self._path = path
        self._fd = descriptor
        self.lost = False  # by a fork: it is the parent's
        WriterLock._all.add(self)

    @classmethod
    def take(cls, path: str, *, create: bool) -> WriterLock | None:
        """The lock, or None where somebody else has it or has just removed it."""
        descriptor = os.open(path, WRITE | (os.O_CREAT if create else 0), 0o644)
        try:
            if _locked(descriptor) and os.fstat(descriptor).st_nlink:
                return cls(path, descriptor)
        except BaseException:
            os.close(descriptor)
            raise
        os.close(descriptor)
        return None

    @property
    def held(self) -> bool:
        return self._fd >= 0

    def remove(self, *files: str) -> None:
        """Remove those files and then the lock's own, and release it."""
        try:
            for path in files:
                remove(path)
            if HAS_FLOCK:
                remove(self._path)
        finally:
            self.release()
        if not HAS_FLOCK:
            # An open file can not be removed there. Whoever opens it in between keeps it, and clears it away.
            with contextlib.suppress(PermissionError):
                remove(self._path)

    def release(self) -> None:
        descriptor, self._fd = self._fd, -1
        if descriptor >= 0:
            # A child that was forked behind Python's back has the descriptor too, and would keep the lock.
            with contextlib.suppress(OSError):
                _unlock(descriptor)
            os.close(descriptor)

    def __del__(self) -> None:
        self.release()

    @classmethod
    def forked(cls) -> None:
        """In a forked child: the locks are the parent's. Closing leaves them locked, unlocking would not."""
        for lock in list(cls._all):
            descriptor, lock._fd, lock.lost = lock._fd, -1, True
            if descriptor >= 0:
                os.close(descriptor)


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=WriterLock.forked)


def remove(path: str) -> None:
    """Remove a file that may be gone already."""
    with contextlib.suppress(FileNotFoundError):
        os.unlink(path)


# Both kinds of lock belong to whoever opened the file, and end with that.
if HAS_FLOCK:

    def _locked(descriptor: int) -> bool:
        """Lock the file, if nobody else has."""
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
        return True

    def _unlock(descriptor: int) -> None:
        fcntl.flock(descriptor, fcntl.LOCK_UN)

else:

    def _locked(descriptor: int) -> bool:
        try:
            msvcrt.locking(descriptor, msvcrt.LK_NBLCK, 1)  # type: ignore[attr-defined,unused-ignore]
        except PermissionError:
            return False
        return True

    def _unlock(descriptor: int) -> None:
        os.lseek(descriptor, 0, os.SEEK_SET)
        msvcrt.locking(descriptor, msvcrt.LK_UNLCK, 1)  # type: ignore[attr-defined,unused-ignore]
