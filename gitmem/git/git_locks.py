"""Git's own locks, taken so that a crash at any moment leaves none that only a person could clear.

Each lock file is first made under another name in this process's scratch directory, and that name stays while the lock is
held. So a lock is ours when a scratch directory has its other name, and a dead writer's when no process here holds it:
taking one needs the bundle lock. After a power cut the other name may be gone; no lock is older than the boot.
"""

from __future__ import annotations

import contextlib
import os
import time
from collections.abc import Iterable
from typing import TYPE_CHECKING, ClassVar

from gitmem.errors import BundleBusy
from gitmem.files import DiskGroup, close_later, hold_replaced, remove_file, write_all
from gitmem.permissions import create

if TYPE_CHECKING:
    from gitmem.git.git_index import GitIndex

_ANCIENT = 10 * 60 * 1_000_000_000
"""Nanoseconds: git holds the lock on a ref for some of a second."""
_BOOT_SLACK = 60 * 1_000_000_000
PATIENCE = 30.0
"""Seconds to wait for another program: plain git under load needs more than a few, and no agent's thread waits here."""
_LINGER = 0.0005
_LINGER_PER_FILE = 0.25e-6


class PreparedLock:
    """A lock file made aside, with the content that its target will have."""

    held: ClassVar[set[tuple[int, int]]] = set()
    """The locks that this process holds now, by device and inode."""

    def __init__(self, target: str, aside: str) -> None:
        self.target = target
        self.lock_path = target + ".lock"
        self._aside = aside
        self._descriptor = _new_file(aside)
        self._held = False
        self.moment = self.stat().st_mtime_ns

    def stat(self) -> os.stat_result:
        """The stat of what was written so far, which no other process writes."""
        return os.fstat(self._descriptor)

    def write(self, data: bytes, disk: DiskGroup) -> None:
        """Set the target's next content; it is on disk when `disk` was flushed."""
        write_all(self._descriptor, data)
        disk.add(self._descriptor)

    def put(self, index: GitIndex, *directories: str) -> os.stat_result:
        """Make this index the target's content while the lock stays; gives the stat of the new file.

        It is on disk before it gets its name, and so are the names in `directories`.

        It gets the mtime of the lock's making, or an older one: git distrusts records of files
        that are no older than the index, so it must not look younger than it is, as a file may
        change while we write it.
        """
        begun = time.monotonic()
        new = self._aside + "-new"
        descriptor = _new_file(new)
        try:
            write_all(descriptor, index.raw)
            moment = min(self.moment, (index.mtime + 1) * 1_000_000_000 - 1)
            os.utime(new, ns=(moment, moment))
            with DiskGroup() as disk:
                disk.add(descriptor)
                for directory in directories:
                    disk.add_directory(directory)
                disk.flush()
            stat = os.fstat(descriptor)
        finally:
            os.close(descriptor)
        os.replace(new, self.target)
        # `git commit` reads the index before it takes the lock. Had it read the old one and found the lock free, it would
        # write the old one back and commit that: the change would be gone. It takes this long to read, so a program that
        # read the old one runs into our lock.
        time.sleep(max(0.0, begun + _LINGER + _LINGER_PER_FILE * len(index.names) - time.monotonic()))
        return stat

    def wait_for_foreign(self) -> None:
        """Wait until no other program has the lock; raises BundleBusy when our patience is over."""
        until = time.monotonic() + PATIENCE
        while os.path.exists(self.lock_path):
            self._wait(until)

    def take(self, over: Iterable[str] = ()) -> None:
        """Take the lock, waiting for another program; raises BundleBusy when our patience is over.

        One that is among `over`, those of dead writers, is replaced: it never is free in between.
        """
        until = time.monotonic() + PATIENCE
        while not self._held:
            try:
                if self.lock_path in over:
                    os.link(self._aside, self._aside + "-over")
                    os.replace(self._aside + "-over", self.lock_path)
                else:
                    os.link(self._aside, self.lock_path)
            except FileExistsError:
                self._wait(until)
            else:
                self._held = True
                PreparedLock.held.add(_identity(self.stat()))

    def _wait(self, until: float) -> None:
        if time.monotonic() >= until:
            raise BundleBusy(
                f"Another program holds {self.lock_path}: wait for it to end, or remove that file "
                "if no git command is running."
            )
        time.sleep(0.01)

    def commit(self) -> None:
        """Put the prepared file in the target's place, which also gives the lock back."""
        self._let_go()
        self._close()
        replaced = hold_replaced(self.target)
        try:
            os.replace(self.lock_path, self.target)
        finally:
            close_later(replaced)
        self._held = False

    def leave(self) -> None:
        """Keep the lock file in place: what it protects is not yet right."""
        self._let_go()
        self._held = False

    def _let_go(self) -> None:
        if self._held and self._descriptor >= 0:
            PreparedLock.held.discard(_identity(self.stat()))

    def release(self) -> None:
        """Give the lock back without a change."""
        self._let_go()
        self._close()
        if self._held:
            remove_file(self.lock_path)
        self._held = False

    def forget(self) -> None:
        """Remove the other name, once the lock is given back."""
        self._close()
        with contextlib.suppress(OSError):  # the next writer sweeps it up
            os.unlink(self._aside)

    def _close(self) -> None:
        if self._descriptor >= 0:
            os.close(self._descriptor)
            self._descriptor = -1


def _identity(stat: os.stat_result) -> tuple[int, int]:
    return stat.st_dev, stat.st_ino


os.register_at_fork(after_in_child=PreparedLock.held.clear)


def break_ancient(path: str) -> None:
    """Remove a lock file that was left long ago; only where a lock is held for a moment, as on a ref."""
    with contextlib.suppress(FileNotFoundError, NotADirectoryError):
        if time.time_ns() - os.stat(path).st_mtime_ns > _ANCIENT:
            os.unlink(path)


def stale_locks(paths: Iterable[str], scratch: str) -> list[str]:
    """Those of some lock files that dead writers of ours left, or that are older than the boot.

    `scratch` is this process's own directory, beside those of the others. The caller holds the bundle lock.
    """
    present = {}
    for path in paths:
        with contextlib.suppress(FileNotFoundError, NotADirectoryError):
            present[path] = os.lstat(path)
    if not present:
        return []
    others: set[int] = set()
    for directory in os.scandir(os.path.dirname(scratch)):
        with contextlib.suppress(OSError):
            if directory.is_dir(follow_symlinks=False):
                others |= {entry.inode() for entry in os.scandir(directory.path)}
    uptime = time.clock_gettime_ns(getattr(time, "CLOCK_BOOTTIME", time.CLOCK_MONOTONIC))
    begun = time.time_ns() - uptime - _BOOT_SLACK
    return [
        path
        for path, found in present.items()
        if _identity(found) not in PreparedLock.held and (found.st_ino in others or found.st_mtime_ns < begun)
    ]


def _new_file(path: str) -> int:
    """A new file: one that a dead writer left may be another name of a file in use."""
    flags = os.O_RDWR | os.O_CREAT | os.O_EXCL
    try:
        return create(path, flags)
    except FileExistsError:
        os.unlink(path)
        return create(path, flags)
