"""Facts: what a distiller takes out of a conversation, as changes to the curated store."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, Protocol

Target = Literal["memory", "user"]
Action = Literal["add", "replace", "remove"]

MAX_FACTS = 12
MIN_LENGTH, MAX_LENGTH = 8, 300
HANDBACK_LIMIT = 4000


@dataclass(frozen=True)
class Fact:
    """One change to the curated store. `turn` counts the user's messages from 1; 0 is "not known"."""

    target: Target
    text: str
    action: Action = "add"
    old_text: str = ""
    source_role: Literal["user", "assistant", "model"] = "user"
    turn: int = 0


class Distiller(Protocol):
    def distil(self, messages: Sequence[Mapping[str, Any]]) -> list[Fact]:
        """The facts worth keeping, in the order they were said."""
        ...


def handback(facts: Sequence[Fact], limit: int = HANDBACK_LIMIT) -> str:
    """The facts as text for the host's summariser; nothing if there are none."""
    if not facts:
        return ""
    lines = ["Saved to long-term memory before this compression; the summary must not contradict it:"]
    for fact in facts:
        if fact.action == "remove":
            lines.append(f"- ({fact.target}) no longer holds: {fact.old_text}")
        elif fact.action == "replace":
            lines.append(f"- ({fact.target}) {fact.text} (instead of: {fact.old_text})")
        else:
            lines.append(f"- ({fact.target}) {fact.text}")
    whole = "\n".join(lines)
    if len(whole) <= limit:
        return whole
    # Whole lines only: half a fact may say the opposite.
    for kept in range(len(facts) - 1, -1, -1):
        text = "\n".join([*lines[: kept + 1], f"- and {len(facts) - kept} more"])
        if len(text) <= limit:
            return text
    return ""
