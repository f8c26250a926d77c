"""Where a change comes from: who, in which session, on which machine, and why."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Literal, Protocol

if TYPE_CHECKING:
    from gitmem.config import Config

Trigger = Literal[
    "session-end", "buffer-max", "plan-complete", "explicit", "pre-compress", "turn", "shutdown", ""
]


@dataclass(frozen=True, slots=True)
class Origin:
    """Provenance of one change; empty fields are left out of the commit."""

    session: str = ""
    parent_session: str = ""
    agent: str = ""
    machine: str = ""
    platform: str = ""
    model: str = ""
    trigger: Trigger = ""
    reason: str = ""
    source: str = ""
    derived_from: tuple[str, ...] = ()

    def trailers(self) -> dict[str, str | tuple[str, ...]]:
        """The trailers of a commit with this origin."""
        return {
            "Session": self.session,
            "Parent-Session": self.parent_session,
            "Agent": self.agent,
            "Machine": self.machine,
            "Platform": self.platform,
            "Model": self.model,
            "Trigger": self.trigger,
            "Reason": self.reason,
            "Source": self.source,
            "Derived-From": self.derived_from,
        }

    def because(self, trigger: Trigger, reason: str = "") -> Origin:
        return replace(self, trigger=trigger, reason=reason or self.reason)

    def redacted(self, redact: Callable[[str], str]) -> Origin:
        """The same, with the words of a person or a program in it redacted."""
        if not self.reason and not self.source:
            return self
        return replace(self, reason=redact(self.reason), source=redact(self.source))


class SessionFacts(Protocol):
    """What is known of a session, as far as it says where a change comes from."""

    @property
    def id(self) -> str: ...
    @property
    def parent(self) -> str: ...
    @property
    def agent(self) -> str: ...
    @property
    def platform(self) -> str: ...
    @property
    def model(self) -> str: ...


def origin_of(config: Config, session: SessionFacts) -> Origin:
    """The origin of what a session writes."""
    return Origin(
        session=session.id,
        parent_session=session.parent,
        agent=session.agent or config.agent_id,
        machine=config.machine,
        platform=session.platform,
        model=session.model,
    )
