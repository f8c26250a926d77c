"""Secrets: found and taken out before anything is journaled, committed or sent."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from gitmem.safety.secrets import Secret

# The patterns take a while to import, and most commands meet no text.


def redact(text: str) -> str:
    """Text without secrets: what is journaled, committed or sent is never the secret itself."""
    from gitmem.safety.secrets import redact as take_out

    return take_out(text)


def find_secrets(text: str) -> list[Secret]:
    """The secrets in a text, in the order they stand there."""
    from gitmem.safety.secrets import find

    return find(text)
