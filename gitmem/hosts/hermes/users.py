"""Users of the host: user and chat, and whose sessions may be recalled for them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from gitmem.index.readers import Reader, stored_name

if TYPE_CHECKING:
    from gitmem.config import Config
    from gitmem.memory.capture.recorder import SessionInfo

_LOCAL = ("", "cli", "tui", "local")
"""Platforms on which the one user is whoever sits at the machine."""


def known_users(given: Mapping[str, Any]) -> dict[str, str]:
    """Return what a session records of its user and chat, from what the host gave when it began."""
    platform = str(given.get("platform") or "")
    return {
        "user": stored_name(platform, str(given.get("user_id") or "")),
        "chat": stored_name(platform, str(given.get("chat_id") or "")),
        "chat_type": str(given.get("chat_type") or ""),
    }


def reader_of(config: Config, session: SessionInfo) -> Reader | None:
    """For whom this session recalls; None where one person has it all, or a team wants one memory."""
    if config.users == "shared" or (session.platform in _LOCAL and not session.user):
        return None
    return Reader(session.platform, session.user, session.chat, session.chat_type)
