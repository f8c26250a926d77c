"""A session as it is known, and its page: read without anything that records."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, TypedDict

from gitmem.index.readers import Reader
from gitmem.memory.gate.admission import redacted_id, redacted_words
from gitmem.memory.origin import Origin
from gitmem.okf import layout
from gitmem.okf.concept import Concept

if TYPE_CHECKING:
    from gitmem.config import Config
    from gitmem.git.tree import Tree


class SessionOptions(TypedDict, total=False):
    """Facts about a session that its caller knows."""

    agent: str
    model: str
    platform: str
    source: str
    parent: str
    title: str
    user: str
    chat: str
    chat_type: str


@dataclass(frozen=True, slots=True)
class SessionInfo:
    """A session as known when its first event is recorded, without secrets: files and commits are named by it."""

    id: str
    started: str = ""
    parent: str = ""
    agent: str = ""
    machine: str = ""
    platform: str = ""
    model: str = ""
    source: str = ""
    title: str = ""
    user: str = ""
    chat: str = ""
    chat_type: str = ""

    def __post_init__(self) -> None:
        for name in ("id", "parent"):
            object.__setattr__(self, name, redacted_id(getattr(self, name)))
        for name in ("agent", "platform", "model", "source", "title"):
            object.__setattr__(self, name, redacted_words(getattr(self, name)))

    def user_page(self, config: Config) -> str:
        """The page of its user; empty where one person has the memory, or a team wants one profile."""
        if config.users == "shared":
            return ""
        return Reader(self.platform, self.user, self.chat, self.chat_type).page

    def origin(self, config: Config) -> Origin:
        """The origin of what it writes."""
        return Origin(
            session=self.id,
            parent_session=self.parent,
            agent=self.agent or config.agent_id,
            machine=config.machine,
            platform=self.platform,
            model=self.model,
            user=self.user_page(config),
        )


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
        return SessionInfo(self.id, **{one.name: self.get(one.name) for one in fields(SessionInfo)[1:]})


def find_page(tree: Tree, session: str) -> SessionState | None:
    """The session with an id; None where there is none."""
    path = layout.find_session(tree, redacted_id(session))
    return SessionState(path, Concept.parse(tree.read(path) or b"", path)) if path else None
