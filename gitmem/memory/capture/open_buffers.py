"""What this process has under way on a bundle: its open buffers, and one for what is written through."""

from __future__ import annotations

import threading
import weakref
from typing import TYPE_CHECKING

from gitmem.errors import GitMemError

if TYPE_CHECKING:
    from gitmem.memory.bundle import Bundle
    from gitmem.memory.capture.buffer import Flushed, HotMemoryBuffer
    from gitmem.memory.provenance import Trigger

# `buffer` is imported where it is used: most commands capture nothing, and every bundle has a `Capture`.


class Capture:
    """The buffers of one bundle in this process. It keeps none of them alive but its own."""

    def __init__(self, bundle: Bundle) -> None:
        self._bundle = bundle
        self._buffers: weakref.WeakSet[HotMemoryBuffer] = weakref.WeakSet()
        self._lock = threading.Lock()
        self._through: HotMemoryBuffer | None = None

    def add(self, buffer: HotMemoryBuffer) -> None:
        with self._lock:
            self._buffers.add(buffer)

    def drop(self, buffer: HotMemoryBuffer) -> None:
        with self._lock:
            self._buffers.discard(buffer)

    def buffers(self) -> list[HotMemoryBuffer]:
        """The buffers that take events here."""
        with self._lock:
            return [buffer for buffer in self._buffers if buffer.is_open]

    def flush(self, trigger: Trigger = "explicit") -> list[Flushed]:
        """Flush every open buffer, each as a commit of its own; gives those that held something.

        All are tried before a failure is told.
        """
        done: list[Flushed] = []
        failed: list[GitMemError] = []
        for buffer in self.buffers():
            try:
                flushed = buffer.flush(trigger)
            except GitMemError as error:
                failed.append(error)
            else:
                done += [flushed] if flushed.events else []
        if failed:
            raise failed[0]
        return done

    def record(self, kind: str, session: str, fields: dict[str, object]) -> str:
        """One event, committed before this returns; gives its id, or nothing where settings leave it out."""
        buffer = self._writing_through()
        event_id = buffer.take(kind, fields, self._bundle.sessions.info(session))
        if event_id:
            buffer.flush("explicit")
        return event_id

    def _writing_through(self) -> HotMemoryBuffer:
        """One buffer for all that is written through, so that it shares part files."""
        from gitmem.memory.capture.buffer import HotMemoryBuffer

        with self._lock:
            buffer = self._through
        if buffer is None or not buffer.is_open:  # a forked child makes its own
            buffer = HotMemoryBuffer(self._bundle, self._bundle.sessions.info())
            with self._lock:
                self._through = buffer
            # Not the buffer, which has the bundle, which has us: it would never end.
            weakref.finalize(self, buffer.journal.close)
        return buffer
