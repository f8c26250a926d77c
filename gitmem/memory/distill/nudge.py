"""The memory nudge: a short text that asks the agent to look at its memory, now and then; no model call."""

from __future__ import annotations

NUDGE = (
    "A while has passed since the last look at memory. If the user has stated a preference or corrected "
    "you, or you have learned something about the environment that a later session needs, save it now with "
    "the memory tool, one short sentence each. Progress of the task does not belong there. If there is "
    "nothing, go on."
)


def nudge_due(turn: int, interval: int) -> bool:
    """Return whether the memory nudge belongs to this turn (counted from 1)."""
    return interval > 0 and turn > 0 and turn % interval == 0
