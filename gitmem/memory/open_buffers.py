"""The buffers that this process has open on a bundle: a snapshot, a restore or a finished plan flushes them first."""

from __future__ import annotations

import threading
import weakref
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Protocol

from gitmem.errors import GitMemError

if TYPE_CHECKING:
    from gitmem.memory.bundle import Bundle
    from gitmem.memory.origin import Trigger


class Flush(Protocol):
    """Result of a flush: the events that it committed."""

    @property
    def events(self) -> Sequence[object]: ...


class Buffer(Protocol):
    """Something that holds events back until they are flushed."""

    @property
    def is_open(self) -> bool: ...
    def flush(self, trigger: Trigger = "explicit") -> Flush: ...
    def close(self, trigger: Trigger = "shutdown") -> Flush: ...


class OpenBuffers:
    """The buffers of one bundle in this process. It keeps none of them alive."""

    def __init__(self, bundle: Bundle) -> None:
        self._buffers: weakref.WeakSet[Buffer] = weakref.WeakSet()
        self._lock = threading.Lock()
        bundle.on_close(self.close)

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
        return self._each(lambda buffer: buffer.flush(trigger), stays_open=True)

    def close(self) -> None:
        """Flush every buffer and give its journal back; what cannot be committed waits there for the next start."""
        self._each(lambda buffer: buffer.close(), stays_open=False)

    def _each(self, work: Callable[[Buffer], Flush], *, stays_open: bool) -> list[Flush]:
        done: list[Flush] = []
        failed: list[GitMemError] = []
        for buffer in self.all():
            try:
                flushed = work(buffer)
            except GitMemError as error:
                # One that another thread closed meanwhile was flushed by it.
                if buffer.is_open or not stays_open:
                    failed.append(error)
            else:
                done += [flushed] if flushed.events else []
        if failed:
            raise failed[0]
        return done
