"""The page of a session: what the bundle says of it, read without anything that records."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import TYPE_CHECKING

from gitmem.memory.gate.admission import redacted_id
from gitmem.okf import layout
from gitmem.okf.concept import Concept

if TYPE_CHECKING:
    from gitmem.git.tree import Tree
    from gitmem.memory.capture.recorder import SessionInfo


@dataclass(frozen=True, slots=True)
class SessionState:
    """A session as the bundle has it."""

    path: str
    concept: Concept

    @property
    def id(self) -> str:
        return str(self.concept.meta.get("session", ""))

    @property
    def status(self) -> str:
        return str(self.concept.meta.get("status", ""))

    def get(self, key: str) -> str:
        value = self.concept.meta.get(key)
        return "" if value is None else str(value)

    @property
    def info(self) -> SessionInfo:
        from gitmem.memory.capture.recorder import SessionInfo

        known = (column.name for column in fields(SessionInfo) if column.name != "id")
        return SessionInfo(self.id, **{name: self.get(name) for name in known})


def find_page(tree: Tree, session: str) -> SessionState | None:
    """The session with an id; None where there is none."""
    path = layout.find_session(tree, redacted_id(session))
    return SessionState(path, Concept.parse(tree.read(path) or b"", path)) if path else None
