"""The locks of a journal: one between processes, held for life, and one between the threads of a writer."""

from __future__ import annotations

import contextlib
import os
import threading
import weakref
from typing import ClassVar

from gitmem.errors import BundleBusy
from gitmem.files import WRITE, remove_file

HAS_FLOCK: bool
try:
    import fcntl

    HAS_FLOCK = True
except ImportError:  # Windows
    import msvcrt

    HAS_FLOCK = False


class WriterLock:
    """The lock file of one journal, held from `take` to `release` or until the system drops it with the process.

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
                remove_file(path)
            if HAS_FLOCK:
                remove_file(self._path)
        finally:
            self.release()
        if not HAS_FLOCK:
            # An open file cannot be removed there. Whoever opens it in between keeps it, and clears it away.
            with contextlib.suppress(PermissionError):
                remove_file(self._path)

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


class ThreadLock:
    """A lock that refuses the thread that has it, where a plain one would wait for itself for ever.

    A signal handler may come in the middle of a push, and push.
    """

    def __init__(self, purpose: str = "push") -> None:
        self.purpose = purpose
        self.lock = threading.RLock()
        self.taken = False

    def __enter__(self) -> None:
        self.lock.acquire()
        if self.taken:
            self.lock.release()
            raise self.busy()
        self.taken = True

    def __exit__(self, *_: object) -> None:
        self.taken = False
        self.lock.release()

    def busy(self) -> BundleBusy:
        return BundleBusy(
            f"This thread is already in the middle of a {self.purpose}: retry when it has finished."
        )
