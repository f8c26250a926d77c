"""Locks of files that the operating system drops with their process, so that none is ever stale; scratch directories.

A file is written in the scratch directory of its process before it gets its name, and a fetch is checked there. The lock
in the directory says that the process is alive; a process id would not (two containers may share a bundle).
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import time
import weakref
from _thread import get_ident

from gitmem.errors import BundleBusy
from gitmem.files import create as create_file
from gitmem.files import make_directory, make_missing

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import ClassVar


_POLL = 0.005
_OWNER_LENGTH = 96


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
        """Take the lock; None where somebody else has it or has just removed it."""
        flags = os.O_RDWR | os.O_NOFOLLOW
        descriptor = create_file(path, flags | os.O_CREAT) if create else os.open(path, flags)
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            if os.fstat(descriptor).st_nlink:
                return cls(path, descriptor)
        except BlockingIOError:
            pass
        except BaseException:
            os.close(descriptor)
            raise
        os.close(descriptor)
        return None

    @property
    def held(self) -> bool:
        return self._fd >= 0

    def write(self, data: bytes) -> None:
        """Write over the beginning of the lock's file."""
        os.pwrite(self._fd, data, 0)

    def remove(self, *files: str) -> None:
        """Remove those files and then the lock's own, and release it."""
        try:
            for path in (*files, self._path):
                with contextlib.suppress(FileNotFoundError):
                    os.unlink(path)
        finally:
            self.release()

    def release(self) -> None:
        descriptor, self._fd = self._fd, -1
        if descriptor >= 0:
            # A child that was forked behind Python's back has the descriptor too, and would keep the lock.
            with contextlib.suppress(OSError):
                fcntl.flock(descriptor, fcntl.LOCK_UN)
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


os.register_at_fork(after_in_child=ProcessLock.forked)


class Lock:
    """A lock of the state directory, held by one thread while it does something; the file says who took it last.

    The thread that holds it may take it again. The owner's name is for the error message; nothing is decided by it.
    """

    def __init__(self, path: str, busy: str, *, hint: str = "") -> None:
        self.path = path
        self._busy = busy
        self._hint = hint
        self._held: dict[int, ProcessLock] = {}  # by thread

    @contextlib.contextmanager
    def hold(self, purpose: str, *, wait: float = 30.0) -> Iterator[bool]:
        """Hold the lock; gives True where this call took it, False where the thread had it already.

        Raises BundleBusy where another has it after so many seconds; `{owner}` in the lock's message is who.
        """
        thread = get_ident()
        held = self._held.get(thread)
        if held is not None and held.held:  # not after a fork, which takes all locks away
            yield False
            return
        lock = self._held[thread] = self._taken(wait)
        try:
            owner = f"process {os.getpid()} ({purpose[:60]})"
            with contextlib.suppress(OSError):
                # Buys "times the floor": of one length, and written over in place; emptying it would wait for the disk.
                lock.write(owner.encode()[: _OWNER_LENGTH - 1].ljust(_OWNER_LENGTH - 1) + b"\n")
            yield True
        finally:
            if self._held.get(thread) is lock:
                del self._held[thread]
            lock.release()

    def owner(self) -> str:
        """Say in words who held the lock last; empty where nothing is known."""
        import re

        try:
            with open(self.path, "rb") as file:
                text = file.read(_OWNER_LENGTH).decode("utf-8", "replace")
        except OSError:
            return ""
        found = re.match(r"process \d{1,10} \([^\x00-\x1f\x7f-\x9f()]{0,60}\)", text)
        return found[0] if found else ""

    @property
    def is_held(self) -> bool:
        """Say whether anybody holds it at this moment."""
        try:
            lock = ProcessLock.take(self.path, create=False)
        except OSError:
            return False
        if lock is not None:
            lock.release()
        return lock is None

    def _taken(self, wait: float) -> ProcessLock:
        until = time.monotonic() + wait
        while (lock := self._try()) is None:
            if time.monotonic() >= until:
                raise BundleBusy(self._busy.format(owner=self.owner() or "another process"), hint=self._hint)
            time.sleep(_POLL)
        return lock

    def _try(self) -> ProcessLock | None:
        try:
            return ProcessLock.take(self.path, create=True)
        except FileNotFoundError:
            inner = os.path.dirname(self.path)
            make_missing(os.path.dirname(inner), inner)
            return ProcessLock.take(self.path, create=True)


# Scratch directories

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
            make_missing(os.path.dirname(top), top)
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
                lock = ProcessLock.take(os.path.join(entry.path, _LOCK), create=True)
                if lock is not None:
                    import shutil

                    shutil.rmtree(entry.path, ignore_errors=True)
                    lock.remove()
