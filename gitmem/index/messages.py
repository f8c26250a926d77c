"""Messages of a text: what the user said and what the agent answered, since each is weighed by its own length. Pure."""

from __future__ import annotations

import re

# The labels that the text of a turn has; they are not part of any message.
_TURN = re.compile(r"\[user\] (.*?)(?:\n\[assistant\] (.*))?\Z|\[assistant\] (.*)\Z", re.DOTALL)


def messages_of(text: str) -> list[tuple[int, int]]:
    """Return the start and length of each message of a text; (0, -1) for a text that is not a turn."""
    turn = None if "\0" in text else _TURN.match(text)  # SQLite's `substr` ends at a NUL
    if turn is None:
        return [(0, -1)]
    return [
        (turn.start(group), turn.end(group) - turn.start(group))
        for group in (1, 2, 3)
        if turn[group] is not None
    ]


def split(text: str) -> list[str]:
    """Return the messages themselves."""
    return [text[start : start + length] if length >= 0 else text for start, length in messages_of(text)]
