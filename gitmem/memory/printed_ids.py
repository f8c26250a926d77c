"""Meaning of a printed id: a session, an entry of the curated store, or a pending item.

Commits, snapshots and files are named as revisions and paths; everything else that gitmem prints is found here.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from gitmem.errors import UnknownRevision

if TYPE_CHECKING:
    from gitmem.memory.capture.session_page import SessionState
    from gitmem.memory.history.blame import Blamed
    from gitmem.memory.history.log import LogEntry
    from gitmem.memory.memory import Memory
    from gitmem.memory.review import Item
    from gitmem.okf.entries import Change

_SHORTEST = 6
"""Characters of an entry's id that say which one is meant."""


@dataclass(frozen=True, slots=True)
class ShownSession:
    """A session with its commits, and what it changed."""

    state: SessionState
    title: str
    commits: tuple[LogEntry, ...]
    changes: tuple[Change, ...]


@dataclass(frozen=True, slots=True)
class ShownEntry:
    """An entry of the curated store, with who gave it its words."""

    path: str
    story: Blamed


def meant(memory: Memory, typed: str) -> ShownSession | ShownEntry | Item | None:
    """Find what an id names; None where it names nothing that is printed."""
    return _session(memory, typed) or _entry(memory, typed) or _pending(memory, typed)


def _session(memory: Memory, typed: str) -> ShownSession | None:
    state = memory.sessions.find(memory.sessions.meant(typed.removeprefix("session:")))
    if state is None:
        return None
    try:
        commits = tuple(memory.log(session=state.id))
    except UnknownRevision:  # it was opened, and has no commit yet
        commits = ()
    changes = memory.diff(session=state.id).changes if commits else ()
    return ShownSession(state, memory.session_title(state.id), commits, changes)


def _entry(memory: Memory, typed: str) -> ShownEntry | None:
    if len(typed) < _SHORTEST:
        return None
    for path in dict.fromkeys((*memory.curated.paths("memory"), *memory.curated.paths("user"))):
        if memory.read(path) is None:
            continue
        found = [one for one in memory.blame(path) if one.entry.key.id.startswith(typed)]
        if len(found) == 1:
            return ShownEntry(path, found[0])
    return None


def _pending(memory: Memory, typed: str) -> Item | None:
    from gitmem.memory.review import find

    try:
        return find(memory, typed)
    except UnknownRevision:
        return None
