"""The buffers that this process has open on a bundle: a snapshot, a restore or a finished plan flushes them first."""

from __future__ import annotations

import threading
import weakref
from contextlib import ExitStack
from typing import TYPE_CHECKING, Any

from gitmem.errors import GitMemError

if TYPE_CHECKING:
    from gitmem.memory.bundle import Bundle
    from gitmem.memory.origin import Trigger


class OpenBuffers:
    """The buffers of one bundle in this process. It keeps none of them alive."""

    def __init__(self, bundle: Bundle) -> None:
        self._buffers: weakref.WeakSet[Any] = weakref.WeakSet()
        self._lock = threading.Lock()
        bundle.on_close(self.close)

    def add(self, buffer: object) -> None:
        with self._lock:
            self._buffers.add(buffer)

    def all(self) -> list[Any]:
        """The buffers that take events here."""
        with self._lock:
            return [buffer for buffer in self._buffers if buffer.is_open]

    def flush(self, trigger: Trigger = "explicit") -> list[Any]:
        """Flush every open buffer, each as a commit of its own; gives those that held something.

        All are tried before a failure is raised.
        """
        done, failed = [], []
        for buffer in self.all():
            try:
                flushed = buffer.flush(trigger)
            except GitMemError as error:
                if buffer.is_open:  # one that another thread closed meanwhile was flushed by it
                    failed.append(error)
            else:
                done += [flushed] if flushed.events else []
        if failed:
            raise failed[0]
        return done

    def close(self) -> None:
        """Flush every buffer and give its journal back; what cannot be committed waits there for the next start."""
        with ExitStack() as steps:
            for buffer in self.all():
                steps.callback(buffer.close)
