"""Where a change comes from: who, in which session, on which machine, and why."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Literal

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

    def told(self, redact: Callable[[str], str]) -> Origin:
        """The same with what a person or a program said in it without secrets: a commit is for good."""
        if not self.reason and not self.source:
            return self
        return replace(self, reason=redact(self.reason), source=redact(self.source))
