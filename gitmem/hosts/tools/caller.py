"""The caller of a tool: its memory, its session, and the destination of its writes. Each host has its own."""

from __future__ import annotations

import os
from abc import ABC, abstractmethod
from collections.abc import Iterable
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from gitmem.memory.gate.admission import redacted
from gitmem.memory.origin import Origin, origin_of

if TYPE_CHECKING:
    from gitmem.index.readers import Reader
    from gitmem.memory.capture.recorder import SessionInfo
    from gitmem.memory.memory import Memory
    from gitmem.okf.entries import EntryKey


class Caller(ABC):
    """One session of one agent, as its tools see it."""

    name_of_tools = ""
    """What stands before the names of the tools here."""
    reader: Reader | None = None
    """For whom the answers are, where several users talk to one agent."""

    def __init__(self) -> None:
        self.secret = os.urandom(16)
        """What a token of a preview is made with: nobody can guess one."""

    @property
    @abstractmethod
    def memory(self) -> Memory: ...

    @property
    @abstractmethod
    def session(self) -> SessionInfo: ...

    @abstractmethod
    def record(self, kind: str, **fields: Any) -> str:
        """Take in an event of this session, in the journal when this returns; gives its id, if it has one by then."""

    @abstractmethod
    def flush(self) -> None:
        """Commit what waits."""

    @abstractmethod
    def shown(self, entries: Iterable[tuple[str, EntryKey]]) -> None:
        """The model was shown these entries: it goes into the session's record."""

    def wrote(self, path: str, text: str, origin: Origin) -> None:  # noqa: ARG002 (for those who have turns)
        """An entry was written to a store; what came of it is known when the turn is over."""
        return

    def undone(self) -> None:
        """Something was taken back: a host with files of its own follows."""
        return

    def origin(self, *, reason: str = "", source: str = "") -> Origin:
        """Return where a change of this session comes from."""
        base = origin_of(self.memory.config, self.session)
        return replace(base, reason=redacted(reason), source=redacted(source))
