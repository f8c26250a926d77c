"""Trace: where a text came from, what it was before, who saw it, and what was written because of it."""

from __future__ import annotations

import shlex
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from gitmem.errors import UnknownRevision, UsageError
from gitmem.memory.gate.ledger import HeldItem, Ledger
from gitmem.memory.history.impact import Derived, Exposed, Impact
from gitmem.memory.history.log import History, LogEntry
from gitmem.memory.indexing import Index, Indexing
from gitmem.memory.provenance import Provenance
from gitmem.okf import layout
from gitmem.okf.entries import EntryKey
from gitmem.okf.plain import Printed, brief, shortened

if TYPE_CHECKING:
    from gitmem.index.lookup import Span
    from gitmem.memory.bundle import Bundle

_FEW = 3
"""Commits that are named rather than their session."""
_MOST_WORDINGS = 50


@dataclass(frozen=True, slots=True)
class Life:
    """One stretch in which an entry was in a file, and what the user said in the turns that wrote it."""

    path: str
    key: EntryKey
    text: str
    came: LogEntry
    left: LogEntry | None = None
    said: tuple[str, ...] = ()

    @property
    def is_knowledge(self) -> bool:
        """Say whether it is of what is known: neither talk nor a page of the record that repeats it."""
        return not layout.is_record(self.path)

    def __repr__(self) -> str:
        left = self.left.id[:8] if self.left else ""
        return brief(self, path=self.path, text=repr(self.text), came=self.came.id[:8], left=left)


@dataclass(frozen=True, slots=True)
class Traced(Printed):
    """The lives of all entries that held a text, with the wordings before and after it, and its impact."""

    text: str
    lives: tuple[Life, ...]
    exposed: tuple[Exposed, ...]
    derived: tuple[Derived, ...] = ()
    command: str = ""
    """The one command that takes back what is known and what follows from it; empty where nothing of it is known now,
    or where several entries that have nothing to do with each other have the text."""
    waiting: tuple[HeldItem, ...] = ()
    """Texts that are held until a person decides."""

    @property
    def known(self) -> list[list[Life]]:
        """The entries of what is known, each with its wordings: those of now first, then those that are gone."""
        found = _things([life for life in self.lives if life.is_knowledge])
        return sorted(found, key=lambda thing: thing[-1].left is not None)

    @property
    def talk(self) -> list[Life]:
        """Each time that it was said in a session; what an undo brought back was said once."""
        said = _things([life for life in self.lives if life.key.space == "event"])
        return [replace(thing[0], left=thing[-1].left) for thing in said]

    def __repr__(self) -> str:
        return brief(self, lives=len(self.lives), exposed=len(self.exposed), command=repr(self.command))


def trace(bundle: Bundle, text: str) -> Traced:
    """The whole life of a text, and the sessions that had it before them."""
    if not text.strip():
        raise UsageError("Give the text to trace, or a part of it.")
    index = bundle.part(Indexing).current()
    spans = index.spans_containing(text)
    held = tuple(one for one in bundle.part(Ledger).held() if text.lower() in one.text.lower())
    if not spans:
        raise UnknownRevision(
            f"No entry in the whole history contains {shortened(text)!r}.",
            hint=f"A text that is held has it: `gitmem review {held[0].id}`." if held else "",
        )
    every = _lives(bundle, index, _with_wordings(index, spans))
    own = {(span.path, span.space, span.key) for span in spans}
    lives = [life for life in every if (life.path, *life.key) in own]
    chosen, impact = _origins(bundle, lives)
    # Who wrote it without having had it did not learn it from the memory.
    wrote = {life.came.session for life in lives} - {one.session for one in impact.derived}
    exposed = tuple(one for one in impact.exposed if one.session not in wrote)
    there = [life for thing in _things(lives) if thing[-1].left is None for life in thing]
    follows = impact.derived
    if there and len(there) < len(lives):  # what is gone need not be taken back
        chosen, left = _origins(bundle, there)
        follows = left.derived
    command = _command(bundle, there, chosen, follows=bool(follows))
    return Traced(text, tuple(every), exposed, impact.derived, shlex.join(command), held)


def _command(bundle: Bundle, there: Sequence[Life], chosen: Sequence[str], *, follows: bool) -> list[str]:
    """The command that takes back what is known of a text now, given what brought all of it."""
    known = [life for life in there if life.is_knowledge]
    derived = ["--derived"] if follows else []
    if not known:
        return []
    if chosen and (follows or chosen[0] == "--session"):
        return ["gitmem", "revert", *chosen, *derived]
    if len({life.key if life.key.space == "§" else life.path for life in known if life.left is None}) > 1:
        return []
    commits = _commits(known)
    if not follows and (only := _only(bundle, known, commits)):
        return ["gitmem", "forget", only]
    return ["gitmem", "revert", *commits, *derived]


def _origins(bundle: Bundle, lives: Sequence[Life]) -> tuple[tuple[str, ...], Impact]:
    """The few commits that brought the text, or the session, where all other places follow from that; else none."""
    first = lives[0].came.session
    own = [life for life in lives if first and life.came.session == first]
    if own:
        impact = _impact(bundle, own)
        derived = {(one.entry.id, one.place) for one in impact.derived}
        if all(life in own or (life.came.id, (life.path, life.key)) in derived for life in lives):
            commits = _commits(own)
            return commits if len(commits) <= _FEW else ("--session", first), impact
    return (), _impact(bundle, lives)


def _commits(lives: Sequence[Life]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(life.came.id[:12] for life in lives))


def _only(bundle: Bundle, known: Sequence[Life], commits: Sequence[str]) -> str:
    """The id of the one fact that has the text now, where no single commit brought it and nothing else."""
    now = [life for life in known if life.left is None]
    if len(now) != 1 or now[0].key.space != "§" or not now[0].path.startswith("memories/"):
        return ""
    brought = bundle.part(History).knowledge_of([now[0].came.commit]).learned.items
    return now[0].key.id[:8] if len(brought) > 1 or len(commits) > 1 else ""


def _impact(bundle: Bundle, lives: Sequence[Life]) -> Impact:
    commits = {life.came.id: life.came.commit for life in lives}
    return Impact(bundle, list(commits.values()), only=[(life.path, life.key) for life in lives])


def _things(lives: Sequence[Life]) -> list[list[Life]]:
    found: list[list[Life]] = []
    for life in lives:
        for thing in found:
            before = thing[-1]
            is_reworded = before.left and before.key.space == "§" and before.left.id == life.came.id
            if before.path == life.path and before.left and (before.key == life.key or is_reworded):
                thing.append(life)
                break
        else:
            found.append([life])
    return found


def _with_wordings(index: Index, spans: Iterable[Span]) -> list[Span]:
    """The spans, with those of earlier and later wordings in the same file; oldest first."""
    found = {span.id: span for span in spans}
    waiting = [span for span in found.values() if span.space == "§"]
    while waiting and len(found) < _MOST_WORDINGS:
        span = waiting.pop()
        replaced = index.spans(space="§", key=span.replaces) if span.replaces else []
        near = [one for one in (*replaced, *index.spans(replaces=span.key)) if one.path == span.path]
        waiting += [one for one in near if one.id not in found]
        found |= {one.id: one for one in near}
    return sorted(found.values(), key=lambda span: (span.from_seq, span.id))


def _lives(bundle: Bundle, index: Index, spans: Iterable[Span]) -> list[Life]:
    """Each span as a life, from the commit it came with to the one it left with."""
    provenance, store = Provenance(bundle.repository), bundle.repository.store

    def told(commit: str) -> LogEntry:
        return LogEntry.of(store.commit(commit), provenance)

    lives = []
    for span in spans:
        left = index.commit_at(span.to_seq) if span.to_seq is not None else None
        turns = index.turns_of(span.path, span.key) if span.space != "event" else []
        lives.append(
            Life(
                span.path,
                EntryKey(span.space, span.key),
                span.text,
                told(span.commit),
                told(left.oid) if left is not None else None,
                tuple(filter(None, map(index.said_in, turns))),
            )
        )
    return lives
