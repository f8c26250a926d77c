"""Trace: where a text came from, and everything it may have touched while it was there."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from gitmem.errors import UnknownRevision, UsageError
from gitmem.memory.history.log import History, LogEntry
from gitmem.memory.history.reach import GROUPS, Exposed, Group, Reach, Reached
from gitmem.memory.provenance import Provenance
from gitmem.memory.results import brief
from gitmem.okf import layout
from gitmem.okf.entries import EntryKey
from gitmem.okf.plain import shortened

if TYPE_CHECKING:
    from gitmem.memory.bundle import Bundle

_FEW, _MANY = 3, 8
"""Commits that are named rather than their session, or rather than the text."""


@dataclass(frozen=True, slots=True)
class Life:
    """One stretch in which an entry was in a file."""

    path: str
    key: EntryKey
    text: str
    came: LogEntry
    left: LogEntry | None = None

    def __repr__(self) -> str:
        left = self.left.id[:8] if self.left else ""
        return brief(self, path=self.path, text=repr(self.text), came=self.came.id[:8], left=left)


@dataclass(frozen=True, slots=True)
class Traced:
    """The lives of all entries that held a text, and their blast radius."""

    text: str
    lives: tuple[Life, ...]
    exposed: tuple[Exposed, ...]
    reached: tuple[Reached, ...] = ()
    """What those sessions wrote, and what follows from it."""
    origins: tuple[str, ...] = ()
    """What to hand to `gitmem revert`, so that nothing of the text is left."""
    follows: tuple[Reached, ...] = ()
    """What follows from what is left of it."""
    only: str = ""
    """The entry itself, where those commits brought more than it and nothing follows from it."""

    @property
    def things(self) -> list[list[Life]]:
        """The lives by the entry that they are of: each wording behind the one whose place it took."""
        return _things(self.lives)

    @property
    def command(self) -> str:
        """The narrowest command that takes back the text and what follows from it."""
        if self.only:
            return shlex.join(["gitmem", "forget", self.only])
        return self._command("--derived", ("derived",))

    @property
    def command_for_all(self) -> str:
        """The command that also takes back what is only of the same turn, or later."""
        return self._command("--reached", GROUPS)

    def _command(self, option: str, groups: Sequence[Group]) -> str:
        needed = any(one.group in groups for one in self.follows)
        return shlex.join(["gitmem", "revert", *self.origins, *([option] if needed else [])])

    def __repr__(self) -> str:
        return brief(self, lives=len(self.lives), exposed=len(self.exposed), command=repr(self.command))


def trace(bundle: Bundle, text: str) -> Traced:
    """The whole life of a text, and the sessions it may have reached."""
    if not text.strip():
        raise UsageError("Give the text to trace, or a part of it.")
    lives = _lives(bundle, text)
    if not lives:
        raise UnknownRevision(f"No entry in the whole history contains {shortened(text)!r}.")
    there = [life for thing in _things(lives) if thing[-1].left is None for life in thing]
    origins, reach = _origins(bundle, lives, text)
    follows = reach.reached
    if there and len(there) < len(lives):  # what is gone need not be taken back
        origins, rest = _origins(bundle, there, text)
        follows = rest.reached
    # Who wrote it without having had it did not learn it from the memory.
    wrote = {life.came.session for life in lives} - {
        one.session for one in reach.reached if one.group == "derived"
    }
    exposed = tuple(one for one in reach.exposed if one.session not in wrote)
    only = _only(bundle, lives, follows)
    return Traced(text, tuple(lives), exposed, reach.reached, origins, follows, only)


def _origins(bundle: Bundle, lives: Sequence[Life], text: str) -> tuple[tuple[str, ...], Reach]:
    """The few commits that brought the text, or the session, where all other places follow from that; else all."""
    first = lives[0].came.session
    own = [life for life in lives if first and life.came.session == first]
    if own:
        reach = _reach(bundle, own)
        derived = {(one.entry.id, one.place) for one in reach.reached if one.group == "derived"}
        if all(life in own or (life.came.id, (life.path, life.key)) in derived for life in lives):
            commits = _commits(own)
            return commits if len(commits) <= _FEW else ("--session", first), reach
    commits = _commits(lives)
    return commits if len(commits) <= _MANY else ("--text", text), _reach(bundle, lives)


def _things(lives: Sequence[Life]) -> list[list[Life]]:
    found: list[list[Life]] = []
    for life in lives:
        thing = next((one for one in found if _goes_on(one[-1], life)), None)
        if thing is None:
            found.append([life])
        else:
            thing.append(life)
    return found


def _goes_on(before: Life, life: Life) -> bool:
    """Return whether a life is another one of the same entry, or its next wording."""
    if before.path != life.path or before.left is None:
        return False
    return before.key == life.key or (before.key.space == "§" and before.left.id == life.came.id)


def _commits(lives: Sequence[Life]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(life.came.id[:12] for life in lives))


def _only(bundle: Bundle, lives: Sequence[Life], follows: Sequence[Reached]) -> str:
    """The id of the one entry that has the text now, where the commit that brought it did more than that."""
    now = [life for life in lives if life.left is None and not layout.is_record(life.path)]
    is_one = len(now) == 1 and now[0].key.space == "§" and now[0].path.startswith("memories/")
    if not is_one or any(one.group == "derived" for one in follows):
        return ""
    brought = bundle.part(History).knowledge_of([now[0].came.commit]).learned.items
    return now[0].key.id[:8] if len(brought) > 1 else ""


def _reach(bundle: Bundle, lives: Sequence[Life]) -> Reach:
    commits = {life.came.id: life.came.commit for life in lives}
    return Reach(bundle, list(commits.values()), only=[(life.path, life.key) for life in lives])


def _lives(bundle: Bundle, text: str) -> list[Life]:
    """Oldest first: each entry with the text, from the commit it came with to the one it left with.

    Buys "`trace` over the whole history / `git log -S`": the index has them; it is made where there is none.
    """
    from gitmem.memory.indexing import Indexing

    index = bundle.part(Indexing).current()
    provenance = Provenance(bundle.repository)

    def told(commit: str) -> LogEntry:
        return LogEntry.of(bundle.repository.store.commit(commit), provenance)

    lives = []
    for span in index.spans_containing(text):
        left = index.commit_at(span.to_seq) if span.to_seq is not None else None
        lives.append(
            Life(
                span.path,
                EntryKey(span.space, span.key),
                span.text,
                told(span.commit),
                told(left.oid) if left is not None else None,
            )
        )
    return lives
