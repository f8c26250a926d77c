"""The buffers that this process has open on a bundle: a snapshot, a restore or a finished plan flushes them first."""

from __future__ import annotations

import threading
import weakref
from collections.abc import Sequence
from typing import TYPE_CHECKING, Protocol

from gitmem.errors import GitMemError

if TYPE_CHECKING:
    from gitmem.memory.bundle import Bundle
    from gitmem.memory.provenance import Trigger


class Flush(Protocol):
    """What a flush did: the events that it made a commit of."""

    @property
    def events(self) -> Sequence[object]: ...


class Buffer(Protocol):
    """Something that holds events back until they are flushed."""

    @property
    def is_open(self) -> bool: ...
    def flush(self, trigger: Trigger = "explicit") -> Flush: ...


class OpenBuffers:
    """The buffers of one bundle in this process. It keeps none of them alive."""

    def __init__(self, _bundle: Bundle) -> None:
        self._buffers: weakref.WeakSet[Buffer] = weakref.WeakSet()
        self._lock = threading.Lock()

    def add(self, buffer: Buffer) -> None:
        with self._lock:
            self._buffers.add(buffer)

    def drop(self, buffer: Buffer) -> None:
        with self._lock:
            self._buffers.discard(buffer)

    def all(self) -> list[Buffer]:
        """The buffers that take events here."""
        with self._lock:
            return [buffer for buffer in self._buffers if buffer.is_open]

    def flush(self, trigger: Trigger = "explicit") -> list[Flush]:
        """Flush every open buffer, each as a commit of its own; gives those that held something.

        All are tried before a failure is raised.
        """
        done: list[Flush] = []
        failed: list[GitMemError] = []
        for buffer in self.all():
            try:
                flushed = buffer.flush(trigger)
            except GitMemError as error:
                failed.append(error)
            else:
                done += [flushed] if flushed.events else []
        if failed:
            raise failed[0]
        return done
