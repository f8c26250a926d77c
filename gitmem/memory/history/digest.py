"""The digest: what an agent learned in a stretch of time, what was taken back, and what waits for a person."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import TYPE_CHECKING

from gitmem.errors import UnknownRevision
from gitmem.git.commit_graph import first_parents
from gitmem.git.revisions import at_date
from gitmem.memory import review
from gitmem.memory.history.log import History, LogEntry
from gitmem.memory.origin import RELEASED
from gitmem.okf.learned import LearnedItem, RecordSize
from gitmem.okf.plain import Printed, brief

if TYPE_CHECKING:
    from gitmem.git.objects import Oid
    from gitmem.memory.bundle import Bundle

TOPICS = ("Learned", "Changed", "Decided", "Done", "Forgotten", "Taken back")


@dataclass(frozen=True, slots=True)
class News:
    """One thing that the digest tells, and the commit that did it, where it is known."""

    topic: str
    item: LearnedItem
    by: LogEntry | None = None

    @property
    def time(self) -> int:
        return self.by.commit.committer.time if self.by is not None else 0


@dataclass(frozen=True)
class Digest(Printed):
    """News between two moments. Every result counts once: what came and went again is no news."""

    since: datetime
    until: datetime
    news: tuple[News, ...]
    """By topic, in each the oldest first."""
    restores: tuple[LogEntry, ...] = ()
    """Times at which the memory was put back to an earlier state."""
    reviewed: tuple[LogEntry, ...] = ()
    """Decisions of people on what waited for them; the source of each says who decided."""
    waiting: tuple[review.Item, ...] = ()
    """What waits for a person now."""
    record: RecordSize = field(default_factory=RecordSize)

    def of(self, topic: str) -> list[News]:
        return [one for one in self.news if one.topic == topic]

    def __bool__(self) -> bool:
        return bool(self.news or self.restores or self.reviewed or self.waiting)

    def __repr__(self) -> str:
        counts = {topic.lower().replace(" ", "_"): len(self.of(topic)) for topic in TOPICS}
        return brief(
            self, **{name: number or "" for name, number in counts.items()}, waiting=len(self.waiting)
        )


def digest(bundle: Bundle, since: datetime, until: datetime) -> Digest:
    """Return what is new between two moments, and what waits for a person now."""
    history = bundle.part(History)
    old, new = _state(bundle, since), _state(bundle, until)
    # By when it was committed: what an import brought from last year is news of the day on which it came.
    first, end = since.timestamp(), until.timestamp()
    entries = [one for one in history.log(start=new) if first <= one.commit.committer.time <= end]
    net = history.between(old, new).learned
    last = _last(history, entries)
    gone = {place: one for place, one in last.items() if one.topic == "Taken back"}
    news = [
        News(_topic(item), item, last[place].by if (place := (item.path, item.key)) in last else None)
        for item in net.items
        if (item.path, item.key) not in gone
    ]
    ordered = sorted([*news, *gone.values()], key=lambda one: (TOPICS.index(one.topic), one.time))
    restores = tuple(entry for entry in reversed(entries) if entry.kind == "restore")
    reviewed = tuple(entry for entry in reversed(entries) if (entry.source or "").startswith(RELEASED))
    return Digest(
        since, until, tuple(ordered), restores, reviewed, tuple(review.waiting_quietly(bundle)), net.record
    )


def _state(bundle: Bundle, moment: datetime) -> Oid:
    """Return where `main` stood at a moment; before there was a bundle, at its beginning."""
    try:
        return at_date(bundle.repository, moment)
    except UnknownRevision:
        *_, first = first_parents(bundle.repository, bundle.tip)
        return first.oid


_Place = tuple[str, object]


def _last(history: History, entries: Sequence[LogEntry]) -> dict[_Place, News]:
    """For each entry the last commit that did something to it; the newest come first."""
    found: dict[_Place, News] = {}
    for entry in entries:
        for item in history.knowledge_of([entry.commit]).learned.items:
            topic = "Taken back" if entry.kind == "revert" and item.op == "remove" else _topic(item)
            found.setdefault((item.path, item.key), News(topic, item, entry))
    return found


def _topic(item: LearnedItem) -> str:
    if item.noun == "plan" and (item.is_done or item.op == "change"):
        return "Done"
    if item.op == "add":
        return "Decided" if item.noun == "decision" else "Learned"
    return "Forgotten" if item.op == "remove" else "Changed"
