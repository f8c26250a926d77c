"""Records: what the index holds of a file. Plain values, so that a reader need not know how files are parsed."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

from gitmem.okf.entries import EntryKey
from gitmem.okf.ranks import KNOWLEDGE, Rank

SHARED, MACHINE = "shared", "machine"

CONCEPT = EntryKey("concept", "")

UNDONE = "Undo"
"""The category of an observation which says that the user took back the turn that it belongs to."""


@dataclass(frozen=True, slots=True)
class SessionFacts:
    """The columns of a session's row."""

    name: str
    path: str
    parent: str = ""
    started: str = ""
    ended: str = ""
    title: str = ""
    status: str = ""
    source: str = ""
    platform: str = ""
    model: str = ""
    agent: str = ""
    machine: str = ""
    user: str = ""
    chat: str = ""
    chat_type: str = ""


class Document(NamedTuple):
    """One text that can be found, and what its file says about it.

    `type` is the OKF type, or the kind for an event. An empty `at` or `session` is for the commit to tell.
    """

    key: EntryKey
    text: str
    type: str
    at: str = ""
    session: str = ""
    tags: tuple[str, ...] = ()
    deprecated: bool = False
    """Found only among what was removed."""
    scope: str = SHARED
    rank: Rank = KNOWLEDGE
    source: str = ""
    """For a tool's result: where it came from."""
    replaces: str = ""
    """For a § entry: the hash of the one whose place it took."""
    turn: str = ""
    """For an event: the turn that it belongs to; where none is known, its own id."""
    turns: tuple[str, ...] = ()
    """For knowledge: the turns that wrote it, as its file says; for a `recalled` event, the entries that were shown."""


@dataclass(frozen=True, slots=True)
class Place:
    """The place and time of a text. `commit` brought it; `to_seq` is None while it is there."""

    id: int
    path: str
    space: str
    key: str
    type: str
    session: str
    agent: str
    machine: str
    at: str
    tags: tuple[str, ...]
    deprecated: bool
    scope: str
    rank: Rank
    source: str
    replaces: str
    turn: str
    commit: str
    from_seq: int
    to_seq: int | None
