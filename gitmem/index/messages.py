"""Messages of a text: what the user said and what the agent answered, since each is weighed by its own length. Pure."""

from __future__ import annotations

# The labels that the text of a turn has; they are not part of any message.
_USER, _ASSISTANT = "[user] ", "[assistant] "


def messages_of(text: str) -> list[tuple[int, int]]:
    """Return the start and length of each message of a text; (0, -1) for a text that is not a turn."""
    if "\0" in text or not text.startswith((_USER, _ASSISTANT)):  # SQLite's `substr` ends at a NUL
        return [(0, -1)]
    first = len(_USER) if text.startswith(_USER) else len(_ASSISTANT)
    end = text.find(f"\n{_ASSISTANT}") if text.startswith(_USER) else -1
    if end < 0:
        return [(first, len(text) - first)]
    second = end + 1 + len(_ASSISTANT)
    return [(first, end - first), (second, len(text) - second)]


def split(text: str) -> list[str]:
    """Return the messages themselves."""
    return [text[start : start + length] if length >= 0 else text for start, length in messages_of(text)]
