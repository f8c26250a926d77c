"""The bundle lock: one writer at a time, across processes, with its owner written beside it."""

from __future__ import annotations

import contextlib
import json
import os
from collections.abc import Iterator
from typing import TYPE_CHECKING

from gitmem.errors import BundleBusy
from gitmem.files import overwrite_file
from gitmem.permissions import file_mode
from gitmem.state import LOCK, LOCK_OWNER

if TYPE_CHECKING:
    from filelock import BaseFileLock

    from gitmem.state import LocalState

_OWNER_LENGTH = 512


class BundleLock:
    """A lock that the operating system drops when its owner dies, so it is never stale.

    It may be taken again by the thread that holds it. The owner file beside it is for people and
    for the error message; nothing is decided by it.
    """

    def __init__(self, state: LocalState) -> None:
        self._state = state
        self._lock: BaseFileLock | None = None
        self._process = 0

    @contextlib.contextmanager
    def hold(self, purpose: str, *, wait: float = 30.0) -> Iterator[bool]:
        """Hold the lock; gives True where this call took it, False where the thread had it already."""
        from filelock import FileLock, Timeout

        if self._lock is None or self._process != os.getpid():  # a forked child takes its own
            path = self._state.path(LOCK)
            self._lock = FileLock(path, mode=file_mode(path))
            self._process = os.getpid()
        outermost = not self._lock.is_locked
        try:
            self._lock.acquire(timeout=wait, poll_interval=0.005)
        except Timeout:
            raise BundleBusy(
                f"The bundle is in use by {self.owner() or 'another process'}: try again when it is done."
            ) from None
        try:
            if outermost:
                self._sign(purpose)
            yield outermost
        finally:
            self._lock.release()

    def owner(self) -> str:
        """Who held the lock last, in words; empty where nobody has written it."""
        owner = self._state.read_json(LOCK_OWNER)
        pid, purpose = owner.get("pid"), owner.get("purpose")
        known = isinstance(pid, int) and isinstance(purpose, str)
        return f"process {pid} ({str(purpose)[:60]})" if known else ""

    def _sign(self, purpose: str) -> None:
        # Buys "times the floor": of one length, and written over in place; emptying it would wait for the disk.
        owner = json.dumps({"pid": os.getpid(), "purpose": purpose[:60]})
        with contextlib.suppress(OSError):
            overwrite_file(self._state.path(LOCK_OWNER), owner.encode().ljust(_OWNER_LENGTH))
