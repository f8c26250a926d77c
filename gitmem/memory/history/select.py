"""Which commits to take back: by id, session, agent, machine, source, time or text."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING

from gitmem.errors import UnknownRevision
from gitmem.git.objects import Commit, Oid
from gitmem.memory.history.log import History, LogEntry, LogFilter

if TYPE_CHECKING:
    from gitmem.memory.bundle import Bundle

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
    derived: bool = False
    """Also what was derived from the entries that these commits brought."""

    @property
    def is_empty(self) -> bool:
        return not self.commits and not self.has_filter

    @property
    def has_filter(self) -> bool:
        return any((self.session, self.agent, self.machine, self.source, self.text, self.since, self.until))


def select(bundle: Bundle, wanted: Selection) -> tuple[list[Commit], list[LogEntry]]:
    """The commits, newest first, and each derived one that is not among them."""
    entries = list(bundle.part(History).log())
    chosen = {entry.commit.oid for entry in entries if _is_chosen(bundle, entry, wanted)}
    if not chosen:
        raise UnknownRevision("No commit fits: look at `gitmem log` for what there is.")
    followers = _derived(bundle, entries, chosen)
    if wanted.derived:
        chosen |= followers.keys()
        followers = {}
    return [entry.commit for entry in entries if entry.commit.oid in chosen], list(followers.values())


def _is_chosen(bundle: Bundle, entry: LogEntry, wanted: Selection) -> bool:
    if entry.commit.oid in wanted.commits:
        return True
    if not wanted.has_filter or wanted.commits or entry.kind in _NOT_BY_FILTER:
        return False
    simple = LogFilter(
        session=wanted.session,
        agent=wanted.agent,
        machine=wanted.machine,
        since=wanted.since,
        until=wanted.until,
    )
    if not simple.takes(entry) or (wanted.source and wanted.source not in entry.trailers.get("Source", ())):
        return False
    return not wanted.text or any(
        change.new is not None and wanted.text in change.new.text
        for change in bundle.part(History).of_commit(entry.commit)
    )


def _derived(bundle: Bundle, entries: list[LogEntry], chosen: set[Oid]) -> dict[Oid, LogEntry]:
    """Later commits that say they follow from an entry of the chosen ones, and so on."""
    hashes: set[str] = set()
    found: dict[Oid, LogEntry] = {}
    for entry in reversed(entries):
        named = set(entry.trailers.get("Derived-From", ()))
        is_new = entry.commit.oid not in chosen and any(_names(one, hashes) for one in named)
        if is_new:
            found[entry.commit.oid] = entry
        if is_new or entry.commit.oid in chosen:
            hashes |= {
                change.new.key.id
                for change in bundle.part(History).of_commit(entry.commit)
                if change.new is not None and change.new.key.space == "§"
            }
    return found


def _names(given: str, hashes: set[str]) -> bool:
    return len(given) >= 8 and any(one.startswith(given) for one in hashes)
