"""A lock that says whether a process is alive: it is held for life, and the system drops it with the process."""

from __future__ import annotations

import os
import weakref

from gitmem.permissions import create as create_file

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import ClassVar

HAS_FLOCK: bool
try:
    import fcntl

    HAS_FLOCK = True
except ImportError:  # Windows
    import msvcrt

    HAS_FLOCK = False


_OPEN = os.O_RDWR | getattr(os, "O_BINARY", 0) | getattr(os, "O_NOFOLLOW", 0)


class ProcessLock:
    """A lock file, held from `take` to `release` or until the system drops it with the process.

    It is unlinked only by its holder and after what it protects (a journal, a directory of scratch files): while that
    is there, everybody sees the same lock.
    """

    _all: ClassVar[weakref.WeakSet[ProcessLock]] = weakref.WeakSet()

    def __init__(self, path: str, descriptor: int) -> None:
        self._path = path
        self._fd = descriptor
        self.lost = False  # by a fork: it is the parent's
        ProcessLock._all.add(self)

    @classmethod
    def take(cls, path: str, *, create: bool) -> ProcessLock | None:
        """The lock, or None where somebody else has it or has just removed it."""
        descriptor = create_file(path, _OPEN | os.O_CREAT) if create else os.open(path, _OPEN)
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
            for path in (*files, self._path) if HAS_FLOCK else files:
                _remove(path)
        finally:
            self.release()
        if not HAS_FLOCK:
            # An open file cannot be removed there. Whoever opens it in between keeps it, and clears it away.
            try:
                _remove(self._path)
            except PermissionError:
                pass

    def release(self) -> None:
        descriptor, self._fd = self._fd, -1
        if descriptor >= 0:
            # A child that was forked behind Python's back has the descriptor too, and would keep the lock.
            try:
                _unlock(descriptor)
            except OSError:
                pass
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
    os.register_at_fork(after_in_child=ProcessLock.forked)


def _remove(path: str) -> None:
    try:
        os.unlink(path)
    except FileNotFoundError:
        pass


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
