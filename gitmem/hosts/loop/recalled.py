"""Recalled text on its way into a turn, whoever it comes from."""

from __future__ import annotations

import re

from gitmem.safety.fence import fence, sanitize

_TURNS = re.compile("[\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]")
"""Characters that change the direction in which text is shown."""


def build_memory_context_block(recalled: object) -> str:
    """Recalled text as a block that says it is data; nothing where there is none, or where it is no text."""
    return fence(recalled) if isinstance(recalled, str) and recalled.strip() else ""


def sanitize_context(text: object) -> str:
    """A text without anything that opens or closes such a block, or turns the order of its characters around."""
    return _TURNS.sub("", sanitize(text)) if isinstance(text, str) else ""
