"""Recording without a session of one's own, and the names of entries that a session was shown."""

from __future__ import annotations

import json
import threading
import weakref
from collections.abc import Iterable
from typing import TYPE_CHECKING

from gitmem.errors import GitMemError
from gitmem.git.message import Message
from gitmem.memory.capture.buffer import HotMemoryBuffer
from gitmem.memory.capture.recorder import as_json, ensure_tool
from gitmem.memory.capture.sessions import Sessions
from gitmem.memory.exposure import RECALLED, Exposure
from gitmem.memory.gate.admission import Admission
from gitmem.memory.open_buffers import OpenBuffers
from gitmem.notices import Notice
from gitmem.okf import layout

if TYPE_CHECKING:
    from gitmem.memory.bundle import Bundle
    from gitmem.memory.edits import Edits
    from gitmem.okf.entries import EntryKey


class Recording:
    """Writes of one buffer to one bundle, which share part files."""

    def __init__(self, bundle: Bundle) -> None:
        self._bundle = bundle
        self._lock = threading.Lock()
        self._open: HotMemoryBuffer | None = None

    def record(self, kind: str, session: str, fields: dict[str, object]) -> str:
        """One event, committed before this returns; gives its id, or nothing where settings leave it out."""
        buffer, info = self._buffer(), self._bundle.part(Sessions).info(session)
        event_id = buffer.take(kind, fields, info)
        if event_id:
            buffer.flush("explicit")
        return event_id

    def register_tool(self, name: str, description: str = "", schema: object = None) -> str:
        """Make a tool known before its first use; gives the path of its concept."""
        at = self._bundle.now()
        admission = Admission(self._bundle)
        name, description = admission.note(name), admission.note(description)
        schema = json.loads(admission.note(as_json(schema, "schema"))) if schema is not None else None

        def work(edits: Edits) -> Message | None:
            ensure_tool(edits, name, at, description, schema)
            return Message("flush", f"tool {name}")

        self._bundle.commit(work, purpose="tool", origin=self._bundle.origin())
        return layout.tool(name)

    def _buffer(self) -> HotMemoryBuffer:
        with self._lock:
            buffer = self._open
        if buffer is None or not buffer.is_open:  # a forked child makes its own
            buffer = HotMemoryBuffer(self._bundle, self._bundle.part(Sessions).info())
            with self._lock:
                self._open = buffer
            # Not the buffer, which has the bundle, which has us: it would never end.
            weakref.finalize(self, buffer.journal.close)
        return buffer


def note_recalled(bundle: Bundle, session: str, entries: Iterable[tuple[str, EntryKey]]) -> None:
    """Keep what a session was shown, by path and key; of one that the memory does not know, nothing.

    It goes to the session's journal where that is open here, else it is committed. A failure is a notice: who asked
    gets the answer all the same.
    """
    try:
        names = bundle.part(Exposure).was_shown(session, entries)
        if not names or not session:
            return
        for buffer in bundle.part(OpenBuffers).all():
            if buffer.session.id == session:
                buffer.take(RECALLED, {"entries": names})
                return
        if bundle.part(Sessions).find(session) is not None:
            bundle.part(Recording).record(RECALLED, session, {"entries": names})
    except (GitMemError, OSError) as error:
        bundle.report(Notice("recall-not-noted", detail=str(error)))
