"""The recall log: which session was shown what, and for which question. Kept on this machine, and only if asked for."""

from __future__ import annotations

import contextlib
import json
import os
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from gitmem.memory.capture.transcripts import transcripts_of
from gitmem.memory.gate.admission import redacted
from gitmem.notices import Notice
from gitmem.okf.identity import EntryKey
from gitmem.state import RECALL_LOG, RECALL_LOG_BEFORE

if TYPE_CHECKING:
    from gitmem.memory.bundle import Bundle

_LARGEST = 4_000_000  # bytes, then it begins anew and the one before is kept beside it
_QUESTION = 300


@dataclass(frozen=True, slots=True)
class Recollection:
    """One recall: the entries that were shown, each by its path and key."""

    at: str
    session: str
    question: str
    shown: tuple[tuple[str, EntryKey], ...]


class RecallLog:
    """The log of one bundle. A line that cannot be read is passed over: it is a note, and no memory."""

    def __init__(self, bundle: Bundle) -> None:
        self._bundle = bundle
        self._state = bundle.state

    def note(self, session: str, question: str, shown: Iterable[tuple[str, EntryKey]]) -> None:
        """Add one recall; a failure is a warning."""
        line = {
            "at": self._bundle.now(),
            "session": session,
            "question": redacted(transcripts_of(self._bundle.config).of_the_user(question))[:_QUESTION],
            "shown": [{"path": path, "space": key.space, "key": key.id} for path, key in shown],
        }
        try:
            path = self._state.path(RECALL_LOG)
            with contextlib.suppress(FileNotFoundError):
                if os.stat(path).st_size > _LARGEST:
                    os.replace(path, self._state.path(RECALL_LOG_BEFORE))
            self._state.append_line(RECALL_LOG, json.dumps(line, ensure_ascii=False))
        except (OSError, UnicodeEncodeError) as error:
            self._bundle.report(Notice("recall-not-noted", detail=str(error)))

    def read(self) -> Iterator[Recollection]:
        """Every recall on record, oldest first."""
        for name in (RECALL_LOG_BEFORE, RECALL_LOG):
            for line in (self._state.read(name) or b"").decode("utf-8", "replace").splitlines():
                if (found := _parsed(line)) is not None:
                    yield found


def _parsed(line: str) -> Recollection | None:
    try:
        data = json.loads(line)
    except (ValueError, RecursionError):
        return None
    if not isinstance(data, Mapping) or not isinstance(data.get("shown"), list):
        return None
    shown = tuple(
        (str(item.get("path", "")), EntryKey(str(item.get("space", "")), str(item.get("key", ""))))
        for item in data["shown"]
        if isinstance(item, Mapping)
    )
    at, session, question = (str(data.get(name, "")) for name in ("at", "session", "question"))
    return Recollection(at, session, question, shown)
