"""Recall: earlier sessions. By a question, the newest, one from end to end, or around an entry."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import islice
from typing import TYPE_CHECKING

from gitmem.errors import UnknownRevision
from gitmem.index.candidates import CANDIDATES
from gitmem.index.filters import Filters
from gitmem.index.query import Query, parse
from gitmem.memory.find.ranking import Ranked, RankedSession
from gitmem.memory.find.recap import summarizer
from gitmem.memory.find.search import Search, without_tags
from gitmem.memory.gate.egress import Egress
from gitmem.memory.ids import event_meant
from gitmem.memory.indexing import Indexing
from gitmem.okf.entries import EntryKey, is_hash
from gitmem.okf.plain import Printed, brief, cut, plain
from gitmem.okf.ranks import SAID, TOOL, Rank

if TYPE_CHECKING:
    from gitmem.index.lookup import Span
    from gitmem.index.readers import Reader
    from gitmem.index.records import Place, SessionFacts
    from gitmem.memory.bundle import Bundle
    from gitmem.memory.find.recap import Summarize
    from gitmem.memory.indexing import Index

SESSIONS = 3
MOST_SESSIONS = 10
_WINDOWS = 3
_AROUND_BEST, _AROUND_MATCH, _AROUND = 2, 1, 5
"""Lines before and behind the best match, another one, and an entry that is asked for by its id."""
_BOOKENDS = 2
_FIRST, _LAST = 20, 10
_LINE = 600
_FACTS = ("started", "ended", "source", "platform", "model", "agent", "machine", "parent")
"""Facts of a session that are shown as they are, in the order of `About`."""


@dataclass(frozen=True, slots=True)
class Line:
    """One entry of a session; `matches` where the question led to it."""

    id: str
    session: str
    type: str
    at: str
    text: str
    matches: bool = False
    rank: Rank = SAID
    source: str = ""
    """For what a tool returned: the tool, and the URL, file or command that it was given."""
    since: str = ""
    """The wording that holds now, where this text talks about an older one."""
    unconfirmed: str = ""
    """Where it came from, if it came out of a tool and nobody confirmed it."""
    path: str = ""


@dataclass(frozen=True, slots=True)
class About(Printed):
    """A session: when it was, what it came from, and who took part."""

    session: str
    title: str = ""
    started: str = ""
    ended: str = ""
    source: str = ""
    platform: str = ""
    model: str = ""
    agent: str = ""
    machine: str = ""
    parent: str = ""


@dataclass(frozen=True, slots=True)
class Recap:
    """One session's part in the answer to a question."""

    about: About
    recap: str
    score: float
    windows: tuple[tuple[Line, ...], ...]
    began: tuple[Line, ...]
    ended: tuple[Line, ...]
    through: tuple[str, ...] = ()
    """The sessions of this lineage that matched, where they are others than its root."""

    def __repr__(self) -> str:
        return brief(self, session=self.about.session, score=self.score, recap=repr(self.recap))


@dataclass(frozen=True, slots=True)
class Recalled(Printed):
    """The answer to a question: recaps, best first, and how many texts the gate kept back. Iterate it for the recaps."""

    recaps: tuple[Recap, ...] = ()
    withheld: int = 0
    query: str = ""

    @property
    def entries(self) -> list[tuple[str, EntryKey]]:
        """The events among the lines."""
        lines = (line for recap in self.recaps for line in _flat((recap.began, *recap.windows, recap.ended)))
        return [
            (line.path, EntryKey("event", line.id)) for line in lines if is_hash(line.id.rpartition("-")[0])
        ]

    def __iter__(self) -> Iterator[Recap]:
        return iter(self.recaps)

    def __len__(self) -> int:
        return len(self.recaps)

    def __repr__(self) -> str:
        sessions = ", ".join(recap.about.session for recap in self.recaps)
        return brief(self, sessions=sessions or "none", withheld=self.withheld)


@dataclass(frozen=True, slots=True)
class Reading(Printed):
    """A session, or a part of it, as it was recorded."""

    about: About
    lines: tuple[Line, ...]
    left_out: int = 0
    """How many entries stand between the first and the last lines."""


class Recall:
    """Session search in one bundle."""

    def __init__(self, bundle: Bundle) -> None:
        self._bundle = bundle

    @cached_property
    def _summarize(self) -> Summarize:
        return summarizer(self._bundle)

    # By a question

    def __call__(
        self,
        query: str,
        wanted: Filters | None = None,
        *,
        limit: int = SESSIONS,
        current: str = "",
    ) -> Recalled:
        """Recaps of the sessions that answer a question; the current session's lineage is left out."""
        asked = parse(query, strict=False)
        return self._bundle.part(Indexing).ask(
            lambda index: self._recalled(index, asked, wanted or Filters(), limit, current)
        )

    def ranked(
        self, index: Index, query: Query, wanted: Filters, *, current: str = ""
    ) -> list[RankedSession]:
        """The sessions that answer, best first, each by its root."""
        search, roots = self._bundle.part(Search), index.roots()
        root = roots.get(current, current)
        here = [current, root, *(name for name, other in roots.items() if other == root)] if current else ()
        wanted = replace(wanted, without_sessions=(*wanted.without_sessions, *here))
        found = search.found(index, query, search.filters(index, wanted), limit=2 * CANDIDATES)
        return search.ranking(index, found).sessions(roots)

    def _recalled(self, index: Index, query: Query, wanted: Filters, limit: int, current: str) -> Recalled:
        limit = max(1, min(limit, MOST_SESSIONS))
        egress = Egress(self._bundle, index, about=wanted.about, reader=wanted.reader)
        ranked = self.ranked(index, query, wanted, current=current) if query else []
        titled = [name for name in index.sessions_titled(query.text.strip()) if name != current]
        ranked.sort(key=lambda one: one.session not in titled)
        recaps: list[Recap] = []
        for one in ranked:
            if len(recaps) == limit:
                break
            if not egress.sees_session(one.session):  # its decision is shared, what else was said is not
                continue
            recap = self._recap(index, query, one, egress)
            if recap is not None:
                recaps.append(recap)
        return Recalled(tuple(recaps), egress.withheld, query.text)

    def _recap(self, index: Index, query: Query, ranked: RankedSession, egress: Egress) -> Recap | None:
        shown = (
            hit
            for hit in ranked.hits
            if egress.sees_session(hit.place.session) and egress.show(hit.candidate.text, hit.place)
        )
        hits = list(islice(shown, _WINDOWS))
        if not hits:
            return None
        windows = self._windows(index, hits, egress)
        began = self._lines(index.events(ranked.session, _BOOKENDS), egress)
        last = hits[0].place.session
        ended = self._lines(index.events(last, _BOOKENDS, last=True), egress)
        # A recap is what was said; what a page said is shown as such or not at all.
        said = [line for line in _ordered([*began, *_flat(windows), *ended]) if line.rank != TOOL]
        recap = self._summarize(query, [line for line in said if not line.unconfirmed])
        recap = plain(egress.clean(recap))
        if not egress.is_harmless(recap):  # a model may have put together what was harmless apart
            recap = ""
        through = dict.fromkeys(hit.place.session for hit in hits if hit.place.session != ranked.session)
        about = _about(index.session(ranked.session), ranked.session, egress)
        sessions = tuple(map(egress.name, through))
        return Recap(about, recap, round(ranked.score, 4), windows, began, ended, sessions)

    def _windows(self, index: Index, hits: Sequence[Ranked], egress: Egress) -> tuple[tuple[Line, ...], ...]:
        """Return what is around each hit, in the order of time; a hit that another's window shows already has none of
        its own.
        """
        places = [_in_session(hit) for hit in hits]
        matching = {place.id for place in places}
        shown: set[int] = set()
        windows: list[tuple[Line, ...]] = []
        for place in places:
            if place.id in shown:
                continue
            if place.space == "event":
                reach = _AROUND_MATCH if windows else _AROUND_BEST
                spans = index.events_around(place.session, place.id, reach)
            else:
                spans = index.spans(id=place.id)
            spans = [span for span in spans if span.id not in shown]
            shown.update(span.id for span in spans)
            lines = self._lines(spans, egress, matching)
            if lines:
                windows.append(lines)
        return tuple(sorted(windows, key=lambda lines: lines[0].at))

    # Without a question

    def browse(
        self, *, limit: int = SESSIONS, current: str = "", reader: Reader | None = None
    ) -> list[About]:
        """The newest sessions, children not counted."""
        index = self._bundle.part(Indexing).current()
        here = index.roots().get(current, current)
        egress = Egress(self._bundle, index)
        found: list[About] = []
        for facts in index.sessions():
            if facts.parent and index.session(facts.parent) is not None:
                continue
            if facts.name == here or (reader is not None and not reader.sees(facts)):
                continue
            found.append(_about(facts, facts.name, egress))
            if len(found) == limit:
                break
        return found

    def read(self, session: str, *, first: int = _FIRST, last: int = _LAST, events: bool = False) -> Reading:
        """Return how a session began and how it ended; `events` is for people, and shows all that was recorded."""
        index = self._bundle.part(Indexing).current()
        facts = self._known(index, session)
        session = facts.name
        egress = Egress(self._bundle, index, about="ever" if events else "now")
        about = _about(facts, session, egress)
        count = index.count_events(session)
        if count <= first + last:
            return Reading(about, self._lines(index.events(session, count), egress))
        lines = self._lines([*index.events(session, first), *index.events(session, last, last=True)], egress)
        return Reading(about, lines, count - first - last)

    def scroll(self, session: str, entry: str, *, events: bool = False) -> Reading:
        """Return what stands around an entry, by its id; `session` may be empty, since the id says it."""
        index = self._bundle.part(Indexing).current()
        facts = self._known(index, session) if session else None
        found = event_meant(index, entry, facts.name if facts else "")
        about = facts or index.session_once(found.session)
        spans = index.events_around(found.session, found.id, _AROUND)
        egress = Egress(self._bundle, index, about="ever" if events else "now")
        return Reading(_about(about, found.session, egress), self._lines(spans, egress, {found.id}))

    def _known(self, index: Index, session: str) -> SessionFacts:
        from gitmem.memory.capture.sessions import Sessions

        sessions = self._bundle.part(Sessions)
        facts = index.session(session) or index.session(sessions.meant(session))
        if facts is None:
            sessions.get(session)  # which tells the nearest ones
            raise UnknownRevision(f"There is no session {session!r}.")
        return facts

    def _lines(self, spans: Iterable[Span], egress: Egress, matching: Iterable[int] = ()) -> tuple[Line, ...]:
        """Entries as they may leave: without what the gate holds back, cleaned, none too long."""
        wanted = set(matching)
        return tuple(
            Line(
                span.key,
                egress.name(span.session),
                egress.name(span.type),
                span.at,
                plain(cut(without_tags(shown.text, span.tags), _LINE)),
                span.id in wanted,
                span.rank,
                egress.name(span.source),
                plain(shown.since),
                plain(shown.source),
                span.path,
            )
            for span in spans
            if (shown := egress.show(span.text, span))
        )


def _about(facts: SessionFacts | None, session: str, egress: Egress) -> About:
    if facts is None:  # entries of a session whose concept is gone
        return About(egress.name(session))
    title = egress.title(facts.name, plain(facts.title))
    return About(egress.name(facts.name), title, *(egress.name(getattr(facts, name)) for name in _FACTS))


def _in_session(hit: Ranked) -> Place:
    """The place of a hit among the events of its session, where it has one: a decision is a concept as well."""
    events = (
        one for one in hit.candidate.places if one.space == "event" and one.session == hit.place.session
    )
    return next(events, hit.place)


def _flat(windows: Iterable[Iterable[Line]]) -> list[Line]:
    return [line for window in windows for line in window]


def _ordered(lines: Iterable[Line]) -> list[Line]:
    """Each line once, by time; one that matches counts as such wherever else it stands."""
    found: dict[tuple[str, str], Line] = {}
    for line in lines:
        known = found.get((line.session, line.id))
        if known is None or line.matches:
            found[line.session, line.id] = line
    return sorted(found.values(), key=lambda line: line.at)
