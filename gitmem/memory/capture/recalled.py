"""Recalled entries in a session's record: their names, and none of their words."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from gitmem.errors import GitMemError
from gitmem.memory.capture.buffer import HotMemoryBuffer
from gitmem.memory.capture.recording import Recording
from gitmem.memory.capture.sessions import Sessions
from gitmem.memory.exposure import RECALLED, Exposure
from gitmem.memory.open_buffers import OpenBuffers
from gitmem.notices import Notice

if TYPE_CHECKING:
    from gitmem.memory.bundle import Bundle
    from gitmem.okf.entries import EntryKey


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
            if isinstance(buffer, HotMemoryBuffer) and buffer.session.id == session:
                buffer.append(RECALLED, entries=names)
                return
        if bundle.part(Sessions).find(session) is not None:
            bundle.part(Recording).record(RECALLED, session, {"entries": names})
    except (GitMemError, OSError) as error:
        bundle.report(Notice("recall-not-noted", detail=str(error)))
