"""The choice of commits to take back: by id, session, agent, machine, source, path, time or text."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import TYPE_CHECKING, Literal

from gitmem.errors import UnknownRevision
from gitmem.git.message import trailer_value
from gitmem.git.objects import Commit, Oid
from gitmem.memory.exposure import is_knowledge
from gitmem.memory.find.filter_names import check_names
from gitmem.memory.gate.admission import redacted_id
from gitmem.memory.history.impact import Derived, Impact, Place, picks_of
from gitmem.memory.history.log import History, LogEntry, LogFilter
from gitmem.memory.indexing import Indexing
from gitmem.memory.origin import is_from
from gitmem.okf import layout
from gitmem.okf.files import open_file

if TYPE_CHECKING:
    from gitmem.memory.bundle import Bundle

Condition = Literal["session", "agent", "machine", "source", "path", "text"]
_HAS: Mapping[Condition, str] = {
    "session": "belongs to the session {!r}",
    "agent": "is of the agent {!r}",
    "machine": "was made on the machine {!r}",
    "source": "came from {!r}",
    "path": "changed anything at {!r}",
    "text": "added an entry with the text {!r}",
}

_LOOK = "Look at `gitmem log` for what there is."

# Never chosen by a filter: a merge has no change of its own, the first commit is the bundle itself.
_NOT_BY_FILTER = ("init", "merge")


@dataclass(frozen=True, slots=True)
class Selection:
    """Conditions on commits. With several conditions a commit must meet all of them; of one condition any of its values."""

    commits: tuple[Oid, ...] = ()
    session: tuple[str, ...] = ()
    agent: tuple[str, ...] = ()
    machine: tuple[str, ...] = ()
    source: tuple[str, ...] = ()
    text: tuple[str, ...] = ()
    path: tuple[str, ...] = ()
    """Of the commits only what they did at or below these paths."""
    since: datetime | None = None
    until: datetime | None = None
    derived: bool = False
    """Also what follows from their entries."""
    keep_record: bool = False
    """Only what was learned: the record of conversations stays."""
    only: Mapping[Oid, frozenset[Place]] = field(default_factory=dict)
    """Of these commits only some entries."""

    @property
    def is_empty(self) -> bool:
        return not (self.commits or self.since or self.until or any(values for _, values in self.conditions))

    @property
    def conditions(self) -> tuple[tuple[Condition, tuple[str, ...]], ...]:
        return (
            ("session", tuple(map(redacted_id, self.session))),
            ("agent", self.agent),
            ("machine", self.machine),
            ("source", self.source),
            ("path", self.path),
            ("text", self.text),  # the last, since it means reading files
        )

    @property
    def is_partial(self) -> bool:
        """Return whether only a part of each commit is meant."""
        return bool(self.path) or self.keep_record

    def takes(self, path: str) -> bool:
        """Return whether a file is meant, where a commit is."""
        if self.is_partial and layout.is_generated(path):
            return False  # it follows from the others
        return (not self.keep_record or is_knowledge(path)) and (
            not self.path or any(path == one or path.startswith(f"{one}/") for one in self.path)
        )


@dataclass(frozen=True, slots=True)
class Selected:
    """Result of a selection."""

    commits: tuple[Commit, ...]
    """Newest first."""
    picks: Mapping[Oid, frozenset[Place]]
    """Of these commits only some entries; all others are taken back whole, as far as the selection goes."""
    derived: tuple[Derived, ...]


def select(bundle: Bundle, wanted: Selection) -> Selected:
    """The commits that fit, and what follows from their entries.

    What names nothing is a mistake: a value that no commit has which meets the other conditions, or a commit that does
    not meet them.
    """
    fitting = _Fitting(bundle, wanted)
    chosen = [entry for entry in _candidates(bundle, wanted) if fitting.has(entry)]
    fitting.refuse_idle(chosen)
    ids = {entry.id for entry in chosen}
    impact = Impact(bundle, [entry.commit for entry in chosen], only=_places(bundle, wanted, chosen))
    derived = tuple(
        replace(one, taken=wanted.derived and wanted.takes(one.change.path)) for one in impact.derived
    )
    picks = {
        oid: places for oid, places in picks_of(one for one in derived if one.taken).items() if oid not in ids
    }
    ordered = bundle.part(Indexing).current().in_order(ids | picks.keys())
    return Selected(tuple(map(bundle.repository.store.commit, ordered)), {**picks, **wanted.only}, derived)


def _candidates(bundle: Bundle, wanted: Selection) -> Iterable[LogEntry]:
    """The commits among which those that fit are: the named ones, those of a session, or all."""
    history = bundle.part(History)
    if wanted.commits:
        ordered = bundle.part(Indexing).current().in_order(wanted.commits)
        return history.told(map(bundle.repository.store.commit, ordered))
    named = dict(wanted.conditions)
    return history.log(LogFilter(session=named["session"], agent=named["agent"], machine=named["machine"]))


def _places(bundle: Bundle, wanted: Selection, chosen: Sequence[LogEntry]) -> list[Place] | None:
    """The entries that count, where not all do; the record that stays was before a session all the same."""
    if not wanted.path and not wanted.only:
        return None
    return [
        place
        for entry in chosen
        for change in bundle.part(History).of_commit(entry.commit)
        for place in [(change.path, change.key)]
        if wanted.takes(change.path) and place in wanted.only.get(entry.id, {place})
    ]


class _Fitting:
    """Commits that meet a selection, and the values that met one."""

    def __init__(self, bundle: Bundle, wanted: Selection) -> None:
        self._bundle = bundle
        self._wanted = wanted
        self._marked = {source: _marked(bundle, source) for source in wanted.source}
        self._met: set[tuple[Condition, str]] = set()

    def has(self, entry: LogEntry) -> bool:
        wanted = self._wanted
        if wanted.commits:
            if entry.id not in wanted.commits:
                return False
        elif entry.kind in _NOT_BY_FILTER:
            return False
        # By when it came: what an import brought today came today, however old it says that it is.
        moment = entry.commit.committer.time
        if (wanted.since and moment < wanted.since.timestamp()) or (
            wanted.until and moment > wanted.until.timestamp()
        ):
            return False
        met: set[tuple[Condition, str]] = set()
        for condition, values in wanted.conditions:
            here = {(condition, value) for value in values if self._meets(entry, condition, value)}
            if values and not here:
                return False
            met |= here
        self._met |= met
        return True

    def refuse_idle(self, chosen: Sequence[LogEntry]) -> None:
        """Raise for a value that chose nothing, and for a named commit that was not chosen."""
        wanted = self._wanted
        given = [(name, value) for name, values in wanted.conditions for value in values]
        idle = [one for one in given if one not in self._met]
        for name, value in idle:
            check_names(self._bundle, **{name: value})
        names = {name for name, _ in given}
        if idle and (chosen or (len(names) == 1 and not wanted.commits and not self._has_span)):
            name, value = idle[0]
            others = " that meets the other conditions" if chosen and len(names) > 1 else ""
            raise UnknownRevision(f"No commit{others} {_HAS[name].format(value)}.", hint=_LOOK)
        if not chosen:
            raise UnknownRevision("No commit meets all of these conditions.", hint=_LOOK)
        ids = {entry.id for entry in chosen}
        if lost := [oid for oid in wanted.commits if oid not in ids]:
            what = "does not meet the other conditions" if given or self._has_span else "is not on this line"
            raise UnknownRevision(f"The commit {lost[0][:8]} {what}.", hint=_LOOK)

    @property
    def _has_span(self) -> bool:
        return bool(self._wanted.since or self._wanted.until)

    def _meets(self, entry: LogEntry, condition: Condition, value: str) -> bool:
        history = self._bundle.part(History)
        if condition == "source":
            return self._is_from(entry, value)
        if condition == "path":
            return bool(history.of_commit(entry.commit, value))
        if condition == "text":
            changes = history.of_commit(entry.commit)
            return any(one.new is not None and value in one.new.text for one in changes)
        return trailer_value(value) in entry.trailers.get(condition.title(), ())

    def _is_from(self, entry: LogEntry, source: str) -> bool:
        if any(is_from(one, source) for one in entry.trailers.get("Source", ())):
            return True
        marked = self._marked[source]
        return bool(marked) and any(
            change.old is None and change.new is not None and change.new.key.id in marked
            for change in self._bundle.part(History).of_commit(entry.commit)
        )


def _marked(bundle: Bundle, source: str) -> frozenset[str]:
    """The entries of which it became known after they were written that they came from a source."""
    tree = bundle.tree()
    return frozenset(
        one.key.id
        for path, entry in tree.files("memories")
        for one in open_file(path, tree.read_entry(entry)).entries.values()
        if is_from(str(one.extra.get("source", "")), source)
    )
