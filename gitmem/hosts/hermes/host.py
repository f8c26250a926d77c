"""The host around a provider: its agent, its users, the lines it shows, and processes that work for its home."""

from __future__ import annotations

import contextlib
import logging
import re
import subprocess
import sys
from collections import deque
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from gitmem.errors import GitMemError

if TYPE_CHECKING:
    from gitmem.config import Config
    from gitmem.hosts.hermes.home import Home
    from gitmem.index.readers import Reader
    from gitmem.memory.capture.session_page import SessionInfo
    from gitmem.memory.memory import Memory

# Discovery imports this at every `hermes memory status`: what opens a bundle is imported where it is used.

_LOG = logging.getLogger("gitmem")
# What waits grows from turn to turn; that it grew is not news.
_COUNTED = re.compile(r"\d+ events? waits?\b")
_LOCAL = ("", "cli", "tui", "local")
"""Platforms on which the one user is the person at the machine."""


class HostAgent:
    """The agent behind a provider: no hook reports its model, title and tokens, but its callbacks lead to it."""

    def __init__(self, kwargs: Mapping[str, Any]) -> None:
        self._given = kwargs
        callbacks = (kwargs.get(name) for name in ("warning_callback", "status_callback"))
        self._agent = next((one for call in callbacks if (one := getattr(call, "__self__", None))), None)

    @property
    def model(self) -> str:
        """The model that answers now."""
        return _text(getattr(self._agent, "model", "")) or _text(self._given.get("model"))

    def title(self, session: str) -> str:
        """The title that the host has given a session by now."""
        with contextlib.suppress(Exception):  # the host's own store
            return _text(self._agent._session_db.get_session_title(session))  # type: ignore[union-attr]
        return ""

    @property
    def tokens(self) -> dict[str, int]:
        """Return how many tokens the session has taken; empty where the host does not count them."""
        counted = {
            name: getattr(self._agent, f"session_{name}_tokens", 0)
            for name in ("input", "output", "cache_read", "cache_write", "reasoning")
        }
        return {name: count for name, count in counted.items() if isinstance(count, int) and count > 0}


def _text(value: object) -> str:
    return value.strip() if isinstance(value, str) else ""


def stored_messages(home: Home, session: str) -> list[dict[str, Any]] | None:
    """The messages of a session by the host's own store, with those that were taken back; None where it has none."""
    with contextlib.suppress(Exception):  # the host's own code
        store = sys.modules["hermes_state"].SessionDB(Path(home.path, "state.db"), read_only=True)
        try:
            return list(store.get_messages(session, include_inactive=True))
        finally:
            store.close()
    return None


def session_info(config: Config, session_id: str, given: Mapping[str, Any]) -> SessionInfo:
    """The session that a host begins, with its user and chat."""
    from gitmem.index.readers import stored_name
    from gitmem.memory.capture.recovery import HOST
    from gitmem.memory.capture.session_page import SessionInfo
    from gitmem.memory.capture.transcripts import transcripts_of

    def known(name: str) -> str:
        return str(given.get(name) or "")

    identity, platform = known("agent_identity"), known("platform")
    return SessionInfo(
        session_id,
        parent=known("parent_session_id"),
        agent=identity if identity not in ("", "default") else config.agent_id,
        machine=config.machine,
        platform=platform,
        model=HostAgent(given).model,
        source=HOST,
        title=transcripts_of(config).of_the_agent(known("session_title")),
        user=stored_name(platform, known("user_id")),
        chat=stored_name(platform, known("chat_id")),
        chat_type=known("chat_type"),
    )


def reader_of(config: Config, session: SessionInfo) -> Reader | None:
    """For whom this session recalls; None where one person has it all, or a team wants one memory."""
    from gitmem.index.readers import Reader

    if config.users == "shared" or (session.platform in _LOCAL and not session.user):
        return None
    return Reader(session.platform, session.user, session.chat, session.chat_type)


class UserMessages:
    """Takes sentences from any thread, each once, and says them on the agent's own thread."""

    def __init__(self) -> None:
        self.listener: object = None
        """The host's function that shows a line; where it gave none, the log has it."""
        self._known: set[str] = set()
        self._waiting: deque[str] = deque()

    def tell(self, text: str) -> None:
        """Say this at the next hook on the agent's thread, unless it was said before."""
        line = " ".join(text.split())
        heard = _COUNTED.sub("", line)
        if line and heard not in self._known:
            self._known.add(heard)
            self._waiting.append(line)
            _LOG.info("%s", line)

    def speak(self) -> None:
        """Say what waits."""
        while self._waiting:
            line = self._waiting.popleft()
            if not callable(self.listener):
                _LOG.warning("%s", line)
                continue
            with contextlib.suppress(Exception):  # the host's own function
                self.listener(f"gitmem: {line}")


def sentence(error: BaseException) -> str:
    """An error as one line for a person."""
    if isinstance(error, GitMemError):
        return " ".join(f"{error} {error.hint}".split())
    if isinstance(error, OSError):
        where = f" ({error.filename})" if error.filename else ""
        return f"The system refused: {error.strerror or error}{where}."
    return f"{type(error).__name__}: {' '.join(str(error).split())}. This is a bug in gitmem."


# --- sync and housekeeping: processes of their own ---------------------------------------------------------


def sync_first(memory: Memory, home: Home) -> None:
    """Sync before the prompt is made, for as long as `sync_wait` says; what takes longer goes on by itself.

    The sync of another session is not waited for: its remote may hang.
    """
    from gitmem.git.git_settings import Remotes
    from gitmem.memory.sync.remote_state import start_due

    if memory.config.auto_sync and Remotes(memory.repository).all():
        _, process = start_due(memory, env=environment(memory, home))
        with contextlib.suppress(subprocess.TimeoutExpired):
            if process is not None:
                process.wait(memory.config.sync_wait)


def sync_failures(memory: Memory) -> list[str]:
    """A sentence for each remote whose last sync failed."""
    from gitmem.memory.sync.remote_state import remote_states

    return [
        f"The last sync with {one.remote.name} failed ({one.last_error}); it is tried again by itself."
        for one in remote_states(memory)
        if one.failures
    ]


def environment(memory: Memory, home: Home) -> dict[str, str]:
    """The environment of a process that works for this home."""
    return {**memory.world.env, "HERMES_HOME": home.path, "PYTHONUNBUFFERED": "1"}
