"""Which commits to take back: by id, session, agent, machine, source, time or text."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from typing import TYPE_CHECKING, Literal

from gitmem.errors import UnknownRevision
from gitmem.git.objects import Commit, Oid
from gitmem.memory.gate.admission import redacted_id
from gitmem.memory.history.log import History, LogEntry, LogFilter
from gitmem.memory.history.reach import GROUPS, Group, Place, Reach, Reached, picks_of
from gitmem.memory.provenance import is_from
from gitmem.okf.files import open_file

if TYPE_CHECKING:
    from gitmem.memory.bundle import Bundle

Reaching = Literal["", "derived", "turn", "all"]
_TAKES: Mapping[Reaching, tuple[Group, ...]] = {
    "": (),
    "derived": ("derived",),
    "turn": ("derived", "turn"),
    "all": GROUPS,
}

# Never chosen by a filter: a merge has no change of its own, the first commit is the bundle itself.
_NOT_BY_FILTER = ("init", "merge")


@dataclass(frozen=True, slots=True)
class Selection:
    """What to take back; with several conditions a commit must meet all of them."""

    commits: tuple[Oid, ...] = ()
    session: str = ""
    agent: str = ""
    machine: str = ""
    source: str = ""
    text: str = ""
    since: datetime | None = None
    until: datetime | None = None
    reach: Reaching = ""
    """Also what these entries reached: nothing, what is derived, what is of the same turn too, or all."""

    @property
    def is_empty(self) -> bool:
        return not self.commits and not self.has_filter

    @property
    def has_filter(self) -> bool:
        return any((self.session, self.agent, self.machine, self.source, self.text, self.since, self.until))


@dataclass(frozen=True, slots=True)
class Selected:
    """What a selection found."""

    commits: tuple[Commit, ...]
    """Newest first."""
    picks: Mapping[Oid, frozenset[Place]]
    """Of these commits only some entries; all others are taken back whole."""
    reached: tuple[Reached, ...]


def select(bundle: Bundle, wanted: Selection) -> Selected:
    """The commits that fit, and what was written by sessions that had their entries before them."""
    entries = list(bundle.part(History).log())
    marked = _marked(bundle, wanted.source) if wanted.source else frozenset()
    chosen = {entry.commit.oid for entry in entries if _is_chosen(bundle, entry, wanted, marked)}
    if not chosen:
        raise UnknownRevision("No commit fits: look at `gitmem log` for what there is.")
    taken = _TAKES[wanted.reach]
    reach = Reach(bundle, [entry.commit for entry in entries if entry.commit.oid in chosen])
    reached = tuple(replace(one, taken=one.group in taken) for one in reach.reached)
    picks = picks_of(one for one in reached if one.taken)
    commits = tuple(entry.commit for entry in entries if entry.id in chosen or entry.id in picks)
    return Selected(commits, picks, reached)


def _marked(bundle: Bundle, source: str) -> frozenset[str]:
    """The entries of which it became known after they were written that they came from a source."""
    tree = bundle.tree()
    return frozenset(
        one.key.id
        for path, entry in tree.files("memories")
        for one in open_file(path, tree.read_entry(entry)).entries.values()
        if is_from(str(one.extra.get("source", "")), source)
    )


def _is_chosen(bundle: Bundle, entry: LogEntry, wanted: Selection, marked: frozenset[str]) -> bool:
    if entry.commit.oid in wanted.commits:
        return True
    if not wanted.has_filter or wanted.commits or entry.kind in _NOT_BY_FILTER:
        return False
    simple = LogFilter(
        session=redacted_id(wanted.session),
        agent=wanted.agent,
        machine=wanted.machine,
        since=wanted.since,
        until=wanted.until,
    )
    if not simple.takes(entry) or (wanted.source and not _is_from(bundle, entry, wanted.source, marked)):
        return False
    return not wanted.text or any(
        change.new is not None and wanted.text in change.new.text
        for change in bundle.part(History).of_commit(entry.commit)
    )


def _is_from(bundle: Bundle, entry: LogEntry, source: str, marked: frozenset[str]) -> bool:
    if any(is_from(one, source) for one in entry.trailers.get("Source", ())):
        return True
    return bool(marked) and any(
        change.old is None and change.new is not None and change.new.key.id in marked
        for change in bundle.part(History).of_commit(entry.commit)
    )
