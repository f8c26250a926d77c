"""Impact: what was written because of some entries, and which sessions had them before them. By links, without a clock.

A commit names the entries that it follows from (`Derived-From`), an entry the one whose place it took (`replaces`). What
follows from those is found in the same way.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

from gitmem.memory.exposure import block_files, is_knowledge, said
from gitmem.memory.history.log import History, LogEntry
from gitmem.memory.indexing import Indexing
from gitmem.okf.entries import Change, EntryKey, shown_name
from gitmem.text.keys import keys_of, quotes_of, says, shared_keys

if TYPE_CHECKING:
    from gitmem.git.objects import Commit, Oid
    from gitmem.index.lookup import Span
    from gitmem.memory.bundle import Bundle

Place = tuple[str, EntryKey]
"""An entry of a commit: the path and its key there."""


@dataclass(frozen=True, slots=True)
class Derived:
    """One entry that follows from others: the commit that brought it, and what it shares with them."""

    entry: LogEntry
    change: Change
    why: str
    taken: bool = False
    """Whether it is taken back too."""

    @property
    def session(self) -> str:
        return self.entry.session

    @property
    def place(self) -> Place:
        return self.change.path, self.change.key


@dataclass(frozen=True, slots=True)
class Exposed:
    """A session that had an entry before it: in its prompt, or by a recall."""

    session: str
    in_prompt: bool
    recalled_for: tuple[str, ...] = ()
    """What the user said in the turns into which it was recalled."""
    wrote: tuple[Derived, ...] = ()


@dataclass(frozen=True, slots=True)
class _Source:
    """An entry whose impact is asked for."""

    path: str
    key: EntryKey
    text: str

    @property
    def name(self) -> str:
        return shown_name(self.path, self.key)


class Impact:
    """Impact of what some commits brought; `only` names the entries that count, where not all of them do."""

    def __init__(
        self, bundle: Bundle, chosen: Iterable[Commit], *, only: Iterable[Place] | None = None
    ) -> None:
        self._history = bundle.part(History)
        self._index = bundle.part(Indexing).current()
        self._store = bundle.repository.store
        self._machine = bundle.config.machine
        wanted = set(only) if only is not None else None
        self._sources: dict[str, _Source] = {}
        known: set[tuple[Oid, Place]] = set()
        for commit in chosen:
            for change, source in self._brought(commit):
                if wanted is None or (change.path, change.key) in wanted:
                    self._sources[source.name] = source
                if wanted is None or source.name in self._sources:
                    known.add((commit.oid, (change.path, change.key)))
        self._found: dict[tuple[Oid, Place], Derived] = {}
        waiting, seen = list(self._sources.values()), set(self._sources)
        while waiting:
            for one, source in self._children(waiting.pop()):
                if (one.entry.id, one.place) not in known:
                    self._found.setdefault((one.entry.id, one.place), one)
                    if source.name not in seen:
                        seen.add(source.name)
                        waiting.append(source)

    @property
    def derived(self) -> tuple[Derived, ...]:
        """Everything that follows from the entries, the oldest first."""
        return tuple(sorted(self._found.values(), key=lambda one: one.entry.commit.committer.time))

    def _children(self, parent: _Source) -> Iterator[tuple[Derived, _Source]]:
        """Yield the entries that follow from one directly."""
        for row in self._index.commits_with("Derived-From", parent.name):
            brought = self._brought(self._store.commit(row.oid), knowledge=True)
            # A commit names what it follows from as a whole: of several entries those that share something.
            alike = [(change, one) for change, one in brought if _shared(one.text, parent.text)]
            for change, one in alike or brought:
                yield self._derived(row.oid, change, _shared(one.text, parent.text) or "names it"), one
        for span in self._index.spans(replaces=parent.key.id) if parent.key.space == "§" else ():
            # A correction keeps nothing of what made the old wording wrong.
            if why := _shared(span.text, parent.text) if keys_of(parent.text) else "took its place":
                for change, one in self._brought(self._store.commit(span.commit), knowledge=True):
                    if change.key == EntryKey("§", span.key):
                        yield self._derived(span.commit, change, why), one

    def _derived(self, commit: Oid, change: Change, why: str) -> Derived:
        return Derived(next(self._history.told([self._store.commit(commit)])), change, why)

    def _brought(self, commit: Commit, *, knowledge: bool = False) -> list[tuple[Change, _Source]]:
        """The entries that a commit brought or changed, also what was said, unless only knowledge counts.

        The event of a decision goes with the decision.
        """
        return [
            (change, _Source(change.path, change.key, text))
            for change in self._history.of_commit(commit)
            if change.new is not None and change.op != "move" and (text := said(change.path, change.new))
            if is_knowledge(change.path)
            or (change.key.space == "event" and (not knowledge or change.new.kind == "decision"))
        ]

    # Who had them

    @cached_property
    def exposed(self) -> tuple[Exposed, ...]:
        """The sessions that had the entries before them, oldest first; not those that only wrote them."""
        index = self._index
        turns: dict[str, dict[str, None]] = {}
        prompted: dict[str, None] = {}
        for name, source in self._sources.items():
            for session, turn in index.shown_to(name):
                turns.setdefault(session, {})[turn] = None
            for span in index.spans(space="§", key=source.key.id) if source.key.space == "§" else ():
                if span.path == source.path:
                    prompted |= dict.fromkeys(self._prompted(span))
        wrote: dict[str, list[Derived]] = {}
        for one in self.derived:
            wrote.setdefault(one.session, []).append(one)
        return tuple(
            Exposed(
                session,
                session in prompted,
                tuple(filter(None, (self._index.said_in(turn) for turn in turns.get(session, ())))),
                tuple(wrote.get(session, ())),
            )
            for session in dict.fromkeys((*prompted, *turns))
        )

    def _prompted(self, span: Span) -> list[str]:
        """The sessions that had an entry in their prompt: of a machine's own entries those on that machine."""
        found = self._index.prompted_between(span.from_seq, span.to_seq)
        if span.path in block_files(""):
            return found
        machine = span.scope.partition(":")[2]
        known = ((name, self._index.session_once(name)) for name in found)
        return [name for name, facts in known if machine and facts is not None and facts.machine == machine]


def _shared(text: str, parent: str) -> str:
    """Return what a text shares with one that it may follow from, in words; empty where nothing."""
    if shared := sorted(shared_keys(text, parent)):
        return f"shares {', '.join(shared[:3])}"
    return "quotes it" if says(text, (), quotes_of(parent)) else ""


def picks_of(derived: Iterable[Derived]) -> Mapping[Oid, frozenset[Place]]:
    """The entries to take back, by their commit."""
    found: dict[Oid, set[Place]] = {}
    for one in derived:
        found.setdefault(one.entry.id, set()).add(one.place)
    return {oid: frozenset(places) for oid, places in found.items()}
