"""Recording without a session of one's own: each event is committed before the call returns."""

from __future__ import annotations

import json
import threading
import weakref
from typing import TYPE_CHECKING

from gitmem.git.message import Message
from gitmem.memory.capture.buffer import HotMemoryBuffer
from gitmem.memory.capture.recorder import as_json, ensure_tool
from gitmem.memory.capture.sessions import Sessions
from gitmem.memory.gate.admission import Admission
from gitmem.okf import layout

if TYPE_CHECKING:
    from gitmem.memory.bundle import Bundle
    from gitmem.memory.edits import Edits


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
