"""Readers: for whom a question is asked, where several users talk to one agent. Pure, and the same rule in SQL."""

from __future__ import annotations

import hashlib
import re
from dataclasses import dataclass
from typing import Any

from gitmem.index.records import SessionFacts
from gitmem.okf import layout

_PRIVATE = ("", "dm", "private", "direct", "im")
"""What hosts call a chat with one user; any other is a group's, and a channel's."""
_PERSONAL = re.compile(r"[^@\s]+@[^@\s]+|\+?[\d\s().-]{7,20}")
_DIGITS = re.compile(r"\d")


@dataclass(frozen=True, slots=True)
class Reader:
    """A user in a chat. They see their own sessions and those of nobody; in a group, those of that group.

    In a group no private sessions are shown, not even those of the asking user: the others read the answer.
    """

    platform: str = ""
    user: str = ""
    chat: str = ""
    chat_type: str = ""

    @property
    def is_group(self) -> bool:
        return _is_group(self.chat, self.chat_type)

    @property
    def page(self) -> str:
        """The name of the page of what is known of this user, or in a group of the group; empty where neither is known."""
        name = self.chat if self.is_group else self.user or self.chat
        return _hashed(self.platform, name) if name else ""

    def sees_path(self, path: str) -> bool:
        """Return whether a file may be shown: the pages of users are for each of them alone."""
        return not path.startswith(layout.USERS) or path == layout.user_memory(self.page)

    def sees(self, session: SessionFacts | None) -> bool:
        """Return whether what was said in a session may be shown; an unknown session belongs to no one."""
        if session is None or not (session.user or session.chat):
            return True
        if session.platform != self.platform:
            return False
        if _is_group(session.chat, session.chat_type):
            return session.chat == self.chat
        if self.is_group:
            return False
        return session.user == self.user if session.user else session.chat == self.chat

    def others(self) -> tuple[str, list[Any]]:
        """The names of the sessions that `sees` denies, as a query."""
        private = ", ".join(f"'{name}'" for name in _PRIVATE)
        group = f"(chat <> '' AND lower(chat_type) NOT IN ({private}))"
        own = "0" if self.is_group else "CASE WHEN user <> '' THEN user = ? ELSE chat = ? END"
        values = [self.platform, self.chat, *(() if self.is_group else (self.user, self.chat))]
        sees = f"(platform = ? AND CASE WHEN {group} THEN chat = ? ELSE {own} END)"
        return f"SELECT name FROM session WHERE (user <> '' OR chat <> '') AND NOT {sees}", values


def _is_group(chat: str, chat_type: str) -> bool:
    return bool(chat) and chat_type.lower() not in _PRIVATE


def stored_name(platform: str, name: str) -> str:
    """A user or a chat as a session records it: as the host calls it, but never a telephone number or an address.

    Those become a short hash. It keeps them out of sight and out of a search, and tells two users apart; who has the
    memory and a list of numbers can still find which one it is.
    """
    name = name.strip()
    if not _PERSONAL.fullmatch(name) or (platform in _NUMBERED and name.lstrip("-").isdecimal()):
        return name
    if "@" not in name and len(_DIGITS.findall(name)) < 7:
        return name
    return f"#{_hashed(platform, name)}"


def _hashed(platform: str, name: str) -> str:
    return hashlib.sha256(f"gitmem {platform} {name}".encode()).hexdigest()[:12]


_NUMBERED = frozenset(("telegram", "discord", "qq", "onebot", "vk", "line"))
"""Platforms that number their users and chats: there a number is not a telephone's."""
