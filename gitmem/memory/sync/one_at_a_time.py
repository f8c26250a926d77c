"""One sync of a bundle at a time, whoever asks: a hanging remote holds up the others and does not pile them up."""

from __future__ import annotations

import contextlib
import os
import time
from collections.abc import Iterator
from typing import TYPE_CHECKING

from gitmem.errors import BundleBusy
from gitmem.process_lock import ProcessLock
from gitmem.state import SYNC_LOCK

if TYPE_CHECKING:
    from gitmem.state import LocalState

_LOOK = 0.02


@contextlib.contextmanager
def alone(state: LocalState, *, wait: float) -> Iterator[None]:
    """Be the one that syncs; raises BundleBusy where another still does after so many seconds."""
    until = time.monotonic() + wait
    while (lock := ProcessLock.take(state.path(SYNC_LOCK), create=True)) is None:
        if time.monotonic() >= until:
            raise BundleBusy(
                "A sync of this memory is already running.",
                hint="Try again when it is done; it takes along what is new.",
            )
        time.sleep(_LOOK)
    try:
        os.utime(state.path(SYNC_LOCK))
        yield
    finally:
        lock.release()


def is_running(state: LocalState) -> bool:
    """Whether somebody syncs at this moment."""
    try:
        lock = ProcessLock.take(state.path(SYNC_LOCK), create=False)
    except FileNotFoundError:
        return False
    if lock is not None:
        lock.release()
    return lock is None


def begun(state: LocalState) -> float:
    """When the last sync began, by the file system's clock; 0 where there was none."""
    try:
        return os.stat(state.path(SYNC_LOCK)).st_mtime
    except OSError:
        return 0.0
