"""Git's own locks, taken so that a crash at any moment leaves none that only a person could clear.

Each lock file is first made under another name, so that its inode is known and noted in
`pending` before it appears under the name that git respects.
"""

from __future__ import annotations

import contextlib
import os
import time
from collections.abc import Mapping

from gitmem.errors import BundleBusy
from gitmem.git.files import move, write_all


class PreparedLock:
    """A lock file made aside, with the content that its target will have."""

    def __init__(self, target: str, aside: str) -> None:
        self.target = target
        self.lock_path = target + ".lock"
        self._aside = aside
        self._descriptor = os.open(
            aside, os.O_RDWR | os.O_CREAT | os.O_TRUNC | getattr(os, "O_BINARY", 0), 0o644
        )
        self._held = False

    @property
    def inode(self) -> int:
        return os.fstat(self._descriptor).st_ino

    def write(self, data: bytes, *, durable: bool) -> None:
        write_all(self._descriptor, data)
        if durable:
            os.fsync(self._descriptor)

    def wait_for_foreign(self, deadline: float) -> None:
        """Wait until nobody else has the lock; raises BundleBusy at `deadline` (monotonic)."""
        while os.path.exists(self.lock_path):
            self._wait(deadline)

    def take(self, deadline: float) -> None:
        """Take the lock, waiting for another program until `deadline` (monotonic)."""
        while True:
            try:
                os.link(self._aside, self.lock_path)
            except FileExistsError:
                self._wait(deadline)
            else:
                self._held = True
                os.unlink(self._aside)
                return

    def _wait(self, deadline: float) -> None:
        if time.monotonic() >= deadline:
            raise BundleBusy(
                f"Another program holds {self.lock_path}: wait for it to end, or remove that file "
                "if no git command is running."
            )
        time.sleep(0.01)

    def commit(self) -> None:
        """Put the prepared file in the target's place, which also gives the lock back."""
        self._close()
        self._held = False
        move(self.lock_path, self.target)

    def leave(self) -> None:
        """Keep the lock file in place: what it protects is not yet right, and `pending` names it."""
        self._held = False

    def release(self) -> None:
        """Give the lock back without a change."""
        self._close()
        for path in (self.lock_path,) if self._held else (self._aside,):
            with contextlib.suppress(FileNotFoundError):
                os.unlink(path)
        self._held = False

    def _close(self) -> None:
        if self._descriptor >= 0:
            os.close(self._descriptor)
            self._descriptor = -1


def break_stale(locks: Mapping[str, int]) -> None:
    """Remove lock files that a dead writer left: only those whose inode it noted."""
    for path, inode in locks.items():
        with contextlib.suppress(FileNotFoundError):
            if os.stat(path).st_ino == inode:
                os.unlink(path)
