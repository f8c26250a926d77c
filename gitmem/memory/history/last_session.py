"""The last session: whether it is open, and what it changed. By its commits alone: a look at a bundle builds no index."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import islice
from typing import TYPE_CHECKING

from gitmem.memory.history.log import History, LogEntry

if TYPE_CHECKING:
    from gitmem.memory.bundle import Bundle
    from gitmem.memory.capture.session_page import SessionState
    from gitmem.okf.entries import Change

_MOST_COMMITS = 500
"""Of a history that goes on for long without a session, or of a session that does."""


@dataclass(frozen=True, slots=True)
class LastSession:
    """The session that committed last."""

    state: SessionState
    changes: tuple[Change, ...]
    """What it did, in entries."""

    @property
    def is_open(self) -> bool:
        return self.state.status == "open"


def last_session(bundle: Bundle) -> LastSession | None:
    """The session that committed last here; None where none did, or where its page is gone."""
    history = bundle.part(History)
    session, commits = "", list[LogEntry]()
    for entry in islice(history.log(), _MOST_COMMITS):
        if entry.session and (not session or entry.session == session) and not entry.pulled_from:
            session = entry.session
            commits.append(entry)
            if entry.subject == f"session: {session} started":
                break
    if not session:
        return None
    from gitmem.memory.capture.session_page import find_page

    state = find_page(bundle.tree(), session)
    if state is None:
        return None
    from gitmem.okf.folding import fold

    changes = [change for entry in reversed(commits) for change in history.of_commit(entry.commit)]
    return LastSession(state, tuple(fold(changes)))
