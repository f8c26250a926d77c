"""Reach: what was written by sessions that had certain entries before them, and how close each is to those.

Who had an entry before them is on record: the prompt block of a session, what was recalled into it, what it wrote
itself. What such a session wrote is of three groups: it quotes the entry or shares its names and numbers (`derived`, and
what follows from that is sought in the same way), it was written in the turn in which the entry was recalled or written
(`turn`), or merely later in the session (`later`).
"""

from __future__ import annotations

import contextlib
from bisect import bisect_left
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Literal, NamedTuple

from gitmem.errors import GitMemError, InvalidContent
from gitmem.memory.capture.session_page import SessionState
from gitmem.memory.capture.sessions import Sessions
from gitmem.memory.exposure import RECALLED, block_files, blocks_of, is_knowledge, keys_in, names_in, said
from gitmem.memory.history.log import History, LogEntry, LogFilter
from gitmem.memory.kinship import Kin, kinship, shared_traits, traits_of
from gitmem.okf import timestamps
from gitmem.okf.concept import Concept
from gitmem.okf.entries import SHORTEST_NAME, Change, Entry, EntryKey, shown_name
from gitmem.okf.events import Event, EventsFile
from gitmem.okf.ranks import ECHO, rank_of_event

if TYPE_CHECKING:
    from gitmem.git.objects import Commit, Oid
    from gitmem.memory.bundle import Bundle
    from gitmem.memory.indexing import Index

Group = Literal["derived", "turn", "later"]
GROUPS: tuple[Group, ...] = ("derived", "turn", "later")

_NO_WRITES = ("init", "merge", "revert", "restore", "snapshot", "session", "archive")
_SAID = ("observation", "decision", "tool_call", "turn")

Place = tuple[str, EntryKey]
"""An entry of a commit: the path and its key there."""


@dataclass(frozen=True, slots=True)
class Reached:
    """One entry that a session wrote while it had something before it."""

    group: Group
    entry: LogEntry
    """The commit that brought it."""
    change: Change
    why: str = ""
    """What it shares, where it is derived."""
    taken: bool = False
    """Whether it is taken back too."""

    @property
    def session(self) -> str:
        return self.entry.session

    @property
    def place(self) -> Place:
        return self.change.path, self.change.key


class _Span(NamedTuple):
    """The time of a write; a commit knows only the second."""

    first: float
    last: float


@dataclass(frozen=True, slots=True)
class _Tainted:
    """An entry whose reach is asked for."""

    path: str
    key: EntryKey
    text: str
    name: str
    when: _Span
    entry: LogEntry

    @classmethod
    def of(cls, entry: LogEntry, change: Change) -> _Tainted | None:
        new = change.new
        if new is None or change.op == "move" or not _is_said(change):
            return None
        # What a tool of the memory answers is the same each time, and what it was told is an entry of its own.
        text = new.extra.get("args", "") if _is_echo(new) else said(change.path, new)
        name = shown_name(change.path, new.key)
        return cls(change.path, new.key, str(text), name, _when(entry, new), entry) if text else None

    def follows(self, new: Entry | None) -> _Tainted | None:
        """It as something that others may follow from, where it is derived itself.

        The user's own words in a turn do not follow from what the agent had before it, and nothing from an echo.
        """
        if new is None or new.key.space != "event":
            return self
        own = str(new.extra.get("assistant", "")) if new.kind == "turn" else self.text
        return replace(self, text=own) if own and not _is_echo(new) else None


@dataclass(frozen=True, slots=True)
class Exposed:
    """A session that had an entry before it: in its prompt, by a recall, or because it wrote it."""

    session: str
    in_prompt: bool
    certain: bool
    """The prompt block it used is on record; else it only began while the entry was there."""
    recalled_for: tuple[str, ...] = ()
    """What the user said in the turns into which it was recalled."""
    wrote: tuple[Reached, ...] = ()


@dataclass
class _Record:
    """A session's page and its parts."""

    state: SessionState
    parts: list[bytes]

    @property
    def id(self) -> str:
        return self.state.id

    def recalled(self, name: str) -> list[float]:
        """Return when an entry of that name was recalled."""
        if not any(name.encode() in part for part in self.parts):  # most parts need not be read
            return []
        return [
            _moment(event.at)
            for event in self._events
            if event.kind == RECALLED and name in names_in(event.fields)
        ]

    @property
    def has_recalled(self) -> bool:
        return any(f" {RECALLED}\n".encode() in part for part in self.parts)

    @cached_property
    def turns(self) -> list[tuple[float, str]]:
        """Return when each turn was over, and what the user said."""
        return [(_moment(one.at), one.fields.get("user", "")) for one in self._events if one.kind == "turn"]

    @cached_property
    def _events(self) -> list[Event]:
        found: list[Event] = []
        for part in self.parts:
            with contextlib.suppress(InvalidContent):
                found += EventsFile.parse(part).events
        return sorted(found, key=lambda one: one.at)

    def turn_at(self, moment: float) -> int:
        return bisect_left([end for end, _ in self.turns], moment)

    def is_same_turn(self, one: _Span, other: _Span) -> bool:
        return self.turn_at(one.first) <= self.turn_at(other.last) and self.turn_at(
            other.first
        ) <= self.turn_at(one.last)

    def question_at(self, moment: float) -> str:
        turn = self.turn_at(moment)
        return self.turns[turn][1] if turn < len(self.turns) else ""


@dataclass(slots=True)
class _Seen:
    """One session's exposure to one entry."""

    tainted: _Tainted
    since: float
    in_turns: list[_Span] = field(default_factory=list)
    in_prompt: bool = False
    certain: bool = True


class Reach:
    """Impact of what some commits brought."""

    def __init__(
        self, bundle: Bundle, chosen: Iterable[Commit], *, only: Iterable[Place] | None = None
    ) -> None:
        """`only` names the entries that count, where not all of these commits' do."""
        self._bundle = bundle
        self._history = bundle.part(History)
        self._chosen = {commit.oid for commit in chosen}
        wanted = set(only) if only is not None else None
        self._found: dict[tuple[Oid, Place], Reached] = {}
        self._seen: dict[str, list[_Seen]] = {}
        self._written: dict[str, list[tuple[LogEntry, Change]]] = {}
        self._whole = wanted is None
        start = [
            tainted
            for entry in self._history.told(chosen)
            for change in self._history.of_commit(entry.commit)
            if (wanted is None or (change.path, change.key) in wanted)
            and not (change.new is not None and _is_echo(change.new))
            and (tainted := _Tainted.of(entry, change)) is not None
        ]
        self._names = {one.name for one in start}
        self._places = {(one.entry.id, (one.path, one.key)) for one in start}
        self._since = min((one.when.first for one in start), default=0.0)
        while start:
            start = self._round(start)

    @property
    def reached(self) -> tuple[Reached, ...]:
        """Everything, the closest group first, in each the oldest first."""
        found = sorted(self._found.values(), key=lambda one: one.entry.commit.committer.time)
        return tuple(sorted(found, key=lambda one: GROUPS.index(one.group)))

    @property
    def exposed(self) -> tuple[Exposed, ...]:
        """The sessions that had the entries before them, oldest first; not those that only wrote them."""
        found = []
        for record in self._records:
            seen = self._seen.get(record.id, [])
            questions = dict.fromkeys(
                record.question_at(span.first)
                for one in seen
                if one.tainted.entry.session != record.id
                for span in one.in_turns
            )
            prompts = [one for one in seen if one.in_prompt]
            if not prompts and not questions:
                continue
            wrote = tuple(
                one for one in self.reached if one.session == record.id and is_knowledge(one.change.path)
            )
            found.append(
                Exposed(
                    record.id,
                    bool(prompts),
                    any(one.certain for one in prompts),
                    tuple(filter(None, questions)),
                    wrote,
                )
            )
        return tuple(found)

    # One round: the entries are traced, and what is derived from them is traced in the next

    def _round(self, tainted: Sequence[_Tainted]) -> list[_Tainted]:
        fresh: list[_Tainted] = []
        for record in self._records:
            seen = [one for entry in tainted if (one := self._exposure(record, entry)) is not None]
            seen += self._inherited(record, tainted, seen)
            if seen:
                self._seen.setdefault(record.id, []).extend(seen)
                fresh += self._writes(record, seen)
        fresh += self._claimed(tainted)
        return [one for one in fresh if not self._is_known(one)]

    def _is_known(self, one: _Tainted) -> bool:
        known = one.name in self._names
        self._names.add(one.name)
        return known

    def _writes(self, record: _Record, seen: Sequence[_Seen]) -> Iterator[_Tainted]:
        for entry, change in self._written_by(record.id):
            written = _Tainted.of(entry, change)
            if written is None or (entry.id, (change.path, change.key)) in self._places:
                continue
            later = [
                one
                for one in seen
                if written.when.last >= one.since
                or any(record.is_same_turn(written.when, turn) for turn in one.in_turns)
            ]
            if not later:
                continue
            kin = next(filter(None, (self._kin(written, change.new, one.tainted) for one in later)), None)
            if kin is not None:
                self._put(Reached("derived", entry, change, str(kin)))
                if (follows := written.follows(change.new)) is not None:
                    yield follows
            elif is_knowledge(change.path):
                turns = (turn for one in later for turn in one.in_turns)
                is_same = any(record.is_same_turn(written.when, turn) for turn in turns)
                self._put(Reached("turn" if is_same else "later", entry, change))

    def _put(self, one: Reached) -> None:
        place = one.entry.id, one.place
        known = self._found.get(place)
        if known is None or GROUPS.index(one.group) < GROUPS.index(known.group):
            self._found[place] = one

    def _written_by(self, session: str) -> list[tuple[LogEntry, Change]]:
        found = self._written.get(session)
        if found is None:
            entries = [
                entry
                for entry in self._history.log(LogFilter(session=(session,)))
                if entry.kind not in _NO_WRITES and (not self._whole or entry.id not in self._chosen)
            ]
            found = [(entry, change) for entry in entries for change in self._history.of_commit(entry.commit)]
            self._written[session] = found
        return found

    # Whether one follows from another

    def _kin(self, written: _Tainted, entry: Entry | None, tainted: _Tainted) -> Kin | None:
        if written.name == tainted.name and written.key.space != "§":
            return Kin(True)  # the same file, written again
        kin = kinship(written.text, tainted.text)
        if kin is None:
            return None
        own = traits_of(tainted.text)
        # What took its place may say it without what made it wrong: then only that counts.
        replaces = entry is not None and entry.replaces == tainted.key.id
        if kin.quotes and not (replaces and own.telling):
            return kin
        shared = shared_traits(traits_of(written.text), own)
        owned = tuple(trait for trait in shared if not self._was_known(trait, tainted))
        return Kin(False, owned) if owned else None

    def _was_known(self, trait: str, tainted: _Tainted) -> bool:
        """Return whether the memory had it before the entry came, from elsewhere; of a phrase one of its words."""
        loosely = " " in trait or trait in traits_of(tainted.text).labels
        return any(self._was_there(word, tainted, loosely=loosely) for word in trait.split())

    def _was_there(self, word: str, tainted: _Tainted, *, loosely: bool) -> bool:
        index = self._index
        came = index.commit(tainted.entry.id) if index is not None else None
        if index is None or came is None:
            return False
        return any(
            span.space in ("§", "concept")
            and span.from_seq < came.seq
            and span.commit not in self._chosen
            and shown_name(span.path, EntryKey(span.space, span.key)) not in self._names
            and not index.is_retracted(span.key)
            and traits_of(span.text).says(word, loosely=loosely)
            for span in index.spans_containing(word)
        )

    @cached_property
    def _index(self) -> Index | None:
        from gitmem.memory.indexing import Indexing

        try:
            return self._bundle.part(Indexing).current()
        except GitMemError:
            return None

    # What a commit says of itself

    def _claimed(self, tainted: Sequence[_Tainted]) -> Iterator[_Tainted]:
        """Yield what says that it follows from these (`Derived-From`), unless it only shares what was known before."""
        for entry, named in self._claims:
            parents = [one for one in tainted if any(_names(given, one.name) for given in named)]
            if not parents or entry.id in self._chosen:
                continue
            written = [
                (change, one)
                for change in self._history.of_commit(entry.commit)
                if is_knowledge(change.path) and (one := _Tainted.of(entry, change)) is not None
            ]
            alike = [(change, one) for change, one in written if any(_is_raw_kin(one, up) for up in parents)]
            for change, one in alike or written:
                kin = next(filter(None, (self._kin(one, change.new, up) for up in parents)), None)
                if kin is not None or not alike:
                    self._put(Reached("derived", entry, change, str(kin) if kin else "names it"))
                    yield one

    @cached_property
    def _claims(self) -> list[tuple[LogEntry, tuple[str, ...]]]:
        if self._index is not None:
            store = self._bundle.repository.store
            found = (store.commit(row.oid) for row in self._index.commits_having("Derived-From"))
            entries: Iterable[LogEntry] = self._history.told(found)
        else:
            entries = self._history.log()
        return [(entry, named) for entry in entries if (named := entry.trailers.get("Derived-From", ()))]

    # What is on record

    def _inherited(
        self, record: _Record, tainted: Sequence[_Tainted], seen: Sequence[_Seen]
    ) -> Iterator[_Seen]:
        """A session that goes on with another's conversation has before it what that one had."""
        own = {one.tainted.name for one in seen}
        for one in self._seen.get(record.state.get("parent"), ()):
            if one.tainted in tainted and one.tainted.name not in own:
                since = max(one.since, _moment(record.state.get("started")))
                yield _Seen(one.tainted, since, in_prompt=one.in_prompt, certain=one.certain)

    def _exposure(self, record: _Record, tainted: _Tainted) -> _Seen | None:
        """Return how a session had the entry before it; None where it had not."""
        moments: list[float] = []
        turns: list[_Span] = []
        if tainted.entry.session == record.id:
            moments.append(tainted.when.first)
            turns.append(tainted.when)
        for at in record.recalled(tainted.name):
            if at >= tainted.when.first:
                moments.append(at)
                turns.append(_Span(at, at))
        commits = blocks_of(record.state.concept)
        certain = bool(commits) or record.has_recalled
        if not certain and tainted.entry.session != record.id:
            commits = self._beginning(record.id)
        prompts = [
            commit for commit in commits if tainted.key in self._block(commit, record.state.get("machine"))
        ]
        moments += [self._bundle.repository.store.commit(commit).committer.time for commit in prompts]
        if not moments:
            return None
        return _Seen(tainted, min(moments), turns, bool(prompts), certain)

    def _beginning(self, session: str) -> list[Oid]:
        """The state on which a session without a block on record wrote first."""
        written = self._written_by(session)
        before = self._history.before(written[-1][0].commit) if written else None
        return [before] if before else []

    def _block(self, commit: str, machine: str) -> frozenset[EntryKey]:
        known = self._blocks.get((commit, machine))
        if known is None:
            keys: set[EntryKey] = set()
            if commit in self._bundle.repository.store:
                tree = self._bundle.repository.tree(commit)
                for path in block_files(machine):
                    entry = tree.entry(path)
                    if entry is not None and not entry.is_directory:
                        if entry.oid not in self._keys:
                            self._keys[entry.oid] = keys_in(path, tree.read_entry(entry))
                        keys.update(self._keys[entry.oid])
            known = self._blocks[commit, machine] = frozenset(keys)
        return known

    @cached_property
    def _blocks(self) -> dict[tuple[str, str], frozenset[EntryKey]]:
        return {}

    @cached_property
    def _keys(self) -> dict[Oid, list[EntryKey]]:
        return {}

    @cached_property
    def _records(self) -> list[_Record]:
        """The sessions that were there after the first of the entries came, oldest first."""
        return [self._record(state) for state in reversed(list(self._states())) if self._is_after(state)]

    def _states(self) -> Iterator[SessionState]:
        """Every session that may be meant, the newest first; the index knows which were over before."""
        if self._index is None:
            yield from self._bundle.part(Sessions).all()
            return
        tree = self._bundle.tree()
        for facts in self._index.sessions():
            if not facts.ended or _moment(facts.ended) >= self._since:
                with contextlib.suppress(InvalidContent):  # a broken one is `verify`'s business
                    yield SessionState(facts.path, Concept.parse(tree.read(facts.path) or b"", facts.path))

    def _is_after(self, state: SessionState) -> bool:
        ended = state.get("ended")
        return bool(state.id) and (not ended or _moment(ended) >= self._since)

    def _record(self, state: SessionState) -> _Record:
        tree = self._bundle.tree()
        listed = tree.names(state.path.removesuffix(".md")).items()
        parts = [
            tree.read_entry(one) for name, one in listed if name.endswith(".md") and not one.is_directory
        ]
        return _Record(state, parts)


def picks_of(reached: Iterable[Reached]) -> Mapping[Oid, frozenset[Place]]:
    """The entries to take back, by their commit."""
    found: dict[Oid, set[Place]] = {}
    for one in reached:
        found.setdefault(one.entry.id, set()).add(one.place)
    return {oid: frozenset(places) for oid, places in found.items()}


def _is_said(change: Change) -> bool:
    """Return whether somebody said something with it: knowledge, or an event of a conversation."""
    if change.key.space == "event":
        return change.new is not None and change.new.kind in _SAID
    return is_knowledge(change.path)


def _is_echo(entry: Entry) -> bool:
    called = (str(entry.extra.get(name, "")) for name in ("tool_name", "args"))
    return entry.key.space == "event" and rank_of_event(entry.kind, *called) == ECHO


def _when(entry: LogEntry, new: Entry) -> _Span:
    moment = _moment(new.at) if new.at else 0.0
    made = entry.commit.author.time
    return _Span(moment, moment) if moment else _Span(made, made + 1)


def _moment(at: str) -> float:
    found = timestamps.parse(at)
    return found.timestamp() if found is not None else 0.0


def _names(given: str, name: str) -> bool:
    return len(given) >= SHORTEST_NAME and name.startswith(given)


def _is_raw_kin(one: _Tainted, other: _Tainted) -> bool:
    return kinship(one.text, other.text) is not None
