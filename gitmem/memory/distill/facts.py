"""Facts: what a distiller takes out of a conversation, as changes to the curated store."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, Protocol

from gitmem.memory.conversation import content_of, is_host_note, without_recall

Target = Literal["memory", "user"]
Action = Literal["add", "replace", "remove"]

MAX_FACTS = 12
HANDBACK_LIMIT = 4000
_HEAD, _TAIL = 4000, 2000  # of one message; longer ones are mostly pasted
_TOTAL = 200_000  # of all the user's messages, the newest first; of the assistant's a quarter
CONTROL = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f\x85\u2028\u2029]")


@dataclass(frozen=True)
class DistilledFact:
    """One change to the curated store. `turn` counts the user's messages from 1; 0 is "not known"."""

    target: Target
    text: str
    action: Action = "add"
    old_text: str = ""
    source_role: Literal["user", "assistant", "model"] = "user"
    turn: int = 0
    said_in: str = ""
    """The id of that turn, as the session has it."""


class Distiller(Protocol):
    def distil(self, messages: Sequence[Mapping[str, Any]]) -> list[DistilledFact]:
        """The facts worth keeping, in the order they were said."""
        ...


def handback(facts: Sequence[DistilledFact], limit: int = HANDBACK_LIMIT) -> str:
    """The facts as text for the host's summariser; nothing if there are none."""
    if not facts:
        return ""
    lines = ["Saved to long-term memory before this compression; the summary must not contradict it:"]
    left = limit - len(lines[0]) - len("\n- and 99999 more")
    for number, fact in enumerate(facts):
        text = {
            "add": fact.text,
            "replace": f"{fact.text} (instead of: {fact.old_text})",
            "remove": f"no longer holds: {fact.old_text}",
        }[fact.action]
        line = f"- ({fact.target}) {text}"
        left -= len(line) + 1
        if left < 0:  # whole lines only: half a fact may say the opposite
            lines.append(f"- and {len(facts) - number} more")
            break
        lines.append(line)
    return "\n".join(lines) if len(lines[0]) < limit else ""


@dataclass(frozen=True)
class Utterance:
    """One message of a conversation, as a distiller reads it."""

    role: Literal["user", "assistant"]
    turn: int
    text: str


def said_in(messages: Sequence[Mapping[str, Any]], head: int = _HEAD, tail: int = _TAIL) -> list[Utterance]:
    """Return what user and assistant said, without recalled memory and cut to a bounded size; the newest survive."""
    found: list[Utterance] = []
    turn = 0
    for message in messages:
        role = message.get("role") if isinstance(message, Mapping) else None
        if role in ("user", "assistant"):
            turn += role == "user"
            text = without_recall(content_of(message))
            text = text if len(text) <= head + tail else f"{text[:head]}\n\n{text[-tail:]}"
            text = CONTROL.sub(" ", text.encode("utf-8", "replace").decode())
            if text.strip() and not is_host_note(text):
                found.append(Utterance("user" if role == "user" else "assistant", turn, text))
    left = {"user": _TOTAL, "assistant": _TOTAL // 4}
    kept: list[Utterance] = []
    for item in reversed(found):
        if left[item.role] > 0:
            left[item.role] -= len(item.text)
            kept.append(item)
    return kept[::-1]
