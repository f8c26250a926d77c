"""Recalled text on its way into a turn, whoever it comes from."""

from __future__ import annotations

from gitmem.safety.fence import fence, sanitize


def build_memory_context_block(recalled: object) -> str:
    """Recalled text as a block that says it is data; nothing where there is none, or where it is no text."""
    return fence(recalled) if isinstance(recalled, str) and recalled.strip() else ""


def sanitize_context(text: object) -> str:
    """A text without anything that opens or closes such a block."""
    return sanitize(text) if isinstance(text, str) else ""
