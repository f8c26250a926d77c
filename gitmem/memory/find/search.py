"""Search: the entries that answer a query, now or as of any commit, best first."""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from gitmem.errors import IndexTrouble, UsageError
from gitmem.git.objects import Oid
from gitmem.index.dates import mentions
from gitmem.index.filters import Filters, shared_scopes
from gitmem.index.find import CANDIDATES, Candidate, Candidates, find, listed, with_decisions
from gitmem.index.marking import CLOSE, MARKED, OPEN, marked
from gitmem.index.query import Query, parse
from gitmem.memory.find.alike import folded
from gitmem.memory.find.asks import Asks
from gitmem.memory.find.ranking import Ranked, Ranking, Settings
from gitmem.memory.gate.egress import Asked, Egress
from gitmem.memory.indexing import Indexing
from gitmem.memory.results import brief
from gitmem.okf import timestamps
from gitmem.okf.entries import EntryKey
from gitmem.okf.layout import AGENT_CONFIG, SNAPSHOT, USER_PROFILE
from gitmem.okf.layout import TOOL as TOOL_PAGE
from gitmem.okf.plain import plain
from gitmem.okf.ranks import KNOWLEDGE, RANKS, SAID, TOOL, Rank
from gitmem.text.words import fold

if TYPE_CHECKING:
    from gitmem.index.readers import Reader
    from gitmem.index.records import Place
    from gitmem.memory.bundle import Bundle
    from gitmem.memory.indexing import Index

_SNIPPET = 240
_LONGEST = 4_000  # characters of one entry; whoever wants more reads the file
MOST = 1_000
_TALKS = 10
_HEADING = re.compile(r"^#{1,6}[ \t]+(\S[^\n]*)$", re.MULTILINE)
_AFTER_HEADING = " \t#"
_WHY = "\n\n## Rationale\n\n"
_NOT_LISTED = (TOOL_PAGE, SNAPSHOT, AGENT_CONFIG)
"""Types that gitmem writes for itself: whoever wants one in a list says so."""


@dataclass(frozen=True, slots=True)
class Wanted:
    """What to search in. Dates are what people write; an empty field lets all through, of several values each does.

    `scope` is "" for what holds on this machine, "shared", "all", or the name of a machine.
    """

    type: tuple[str, ...] = ()
    session: tuple[str, ...] = ()
    agent: tuple[str, ...] = ()
    tag: tuple[str, ...] = ()
    since: str = ""
    until: str = ""
    path: tuple[str, ...] = ()
    scope: str = ""
    removed: bool = False
    as_of: str = ""
    without_sessions: tuple[str, ...] = ()
    ranks: tuple[Rank, ...] = (KNOWLEDGE, SAID, TOOL)
    events: bool = False
    """For people: echoes too, and what no longer holds wherever it was written."""
    reader: Reader | None = None
    """For whom it is, where several users talk to one agent."""

    @property
    def narrows(self) -> bool:
        """Whether there is anything to list by, without words."""
        named = (self.type, self.session, self.agent, self.tag, self.since, self.until, self.path)
        return self.removed or any(named)

    def lists(self, kind: str) -> bool:
        """Whether entries of a type are in a list without words."""
        return bool(self.type or self.path or self.events) or kind not in _NOT_LISTED

    @property
    def as_list(self) -> Wanted:
        """What a list without words is of: what is known, unless a type, a session or everything is asked for."""
        return self if self.type or self.session or self.events else replace(self, ranks=(KNOWLEDGE,))

    @property
    def about(self) -> Asked:
        """What of the past counts."""
        return "ever" if self.events else "gone" if self.removed else "then" if self.as_of else "now"


@dataclass(frozen=True, slots=True)
class Hit:
    """One entry that answers. `also` counts the other places of its kind where the same text stands."""

    path: str
    session: str
    type: str
    text: str
    at: str
    score: float
    agent: str
    machine: str
    tags: tuple[str, ...]
    trust: int
    commit: str
    key: EntryKey
    snippet: str
    """Part of the text, on one line."""
    marks: tuple[tuple[int, int], ...] = ()
    """Where in the snippet a match begins and ends."""
    parts: dict[str, float] = field(default_factory=dict)
    also: int = 0
    removed: str = ""
    """The commit with which it left the tree."""
    rank: Rank = KNOWLEDGE
    """What it is worth: knowledge that holds, what was said, what a tool returned, or an echo of the memory itself."""
    source: str = ""
    """For what a tool returned: the tool, and the URL, file or command that it was given."""
    since: str = ""
    """The wording that holds now, where this text talks about an older one."""
    unconfirmed: str = ""
    """Where it came from, where nobody confirmed it."""
    alike: int = 0
    """How many older ones say the same with other numbers, and are not listed."""

    def __repr__(self) -> str:
        return brief(self, path=self.path, type=self.type, score=self.score, snippet=repr(self.snippet))


@dataclass(frozen=True, slots=True)
class Found:
    """The answer to a query; iterate it for the hits, best first."""

    query: Query
    hits: tuple[Hit, ...] = ()
    withheld: int = 0
    near: tuple[str, ...] = ()
    """Words that are in the memory and look like those that were asked for, where nothing was found."""

    def __iter__(self) -> Iterator[Hit]:
        return iter(self.hits)

    def __len__(self) -> int:
        return len(self.hits)

    def __repr__(self) -> str:
        return brief(self, query=repr(self.query.text), hits=len(self.hits), withheld=self.withheld)


class Search:
    """Searching one bundle. Every question is put to an index that stands for the tip."""

    def __init__(self, bundle: Bundle) -> None:
        self._bundle = bundle

    def __call__(self, query: str, wanted: Wanted | None = None, *, limit: int = 10) -> Found:
        """The best entries for a query."""
        asked = parse(query)
        index = self._bundle.part(Indexing).current()
        try:
            return self._answer(index, asked, wanted or Wanted(), limit)
        except IndexTrouble as trouble:  # it came to light only now
            index = self._bundle.part(Indexing).trusted(trouble)
            return self._answer(index, asked, wanted or Wanted(), limit)

    def _answer(self, index: Index, query: Query, wanted: Wanted, limit: int) -> Found:
        limit = max(1, min(limit, MOST))
        if not query and (query.text.strip() or not wanted.narrows):
            return Found(query)
        filters = self.filters(index, wanted if query else wanted.as_list)
        if not query:
            texts = listed(index.database, filters, limit=max(CANDIDATES, 2 * limit))
            ranked = [one for one in map(Ranked.unranked, texts) if wanted.lists(one.place.type)]
            return self._shown(index, query, wanted, filters, ranked, limit)
        found = self.candidates(index, query, filters, limit=max(CANDIDATES, 2 * limit))
        return self._shown(index, query, wanted, filters, self.ranking(index, found).entries(), limit)

    def _shown(
        self,
        index: Index,
        query: Query,
        wanted: Wanted,
        filters: Filters,
        ranked: Iterable[Ranked],
        limit: int,
    ) -> Found:
        """As many as are wanted of those that may leave, each series once."""
        egress = self.egress(index, wanted, filters)
        hits: list[Hit] = []
        for alike in folded(ranked):
            if len(hits) == limit:
                break
            for number, one in enumerate(alike):
                if egress.lets_out(one.candidate.text, one.place):
                    hits.append(self._hit(index, query, one, egress, len(alike) - number - 1))
                    break
        near = () if hits or egress.withheld or not query else self._near(index, query, filters, egress)
        return Found(query, tuple(hits), egress.withheld, near)

    # For those who rank on their own

    def candidates(self, index: Index, query: Query, filters: Filters, *, limit: int) -> Candidates:
        """The texts that may answer; for a choice or a reason also what was decided where it was talked about."""
        found = find(index.database, query, filters, limit=limit)
        if Asks.of(query.text).kind not in ("choice", "reason"):
            return found
        # What was decided has seldom the words of the question; it stands beside the talk that has them.
        return with_decisions(index.database, found, filters, _sessions_of(found.texts[:_TALKS]))

    def egress(self, index: Index, wanted: Wanted, filters: Filters) -> Egress:
        """The way out for what was asked; who has an older tree checked out asks about that."""
        about = "then" if wanted.about == "now" and filters.seq is not None else wanted.about
        return Egress(self._bundle, index, about=about, reader=wanted.reader, scopes=filters.scopes)

    def ranking(self, index: Index, found: Candidates) -> Ranking:
        """The candidates of a query, weighed."""
        sessions = {place.session for one in found.texts for place in one.places if place.session}
        paths = {place.path for one in found.texts[:50] for place in one.places if place.space == "concept"}
        settings = Settings(
            self._bundle.world.clock(),
            self._bundle.config.recency_half_life,
            mentions(found.query.text, now=self._bundle.world.clock()),
            Asks.of(found.query.text),
        )
        links = index.links_among(paths) if len(paths) > 1 else ()
        return Ranking(found, settings, sizes=index.session_sizes(sessions), links=links)

    def filters(self, index: Index, wanted: Wanted) -> Filters:
        """What people asked for, in the index's terms."""
        filters = Filters(
            type=wanted.type,
            session=wanted.session,
            agent=wanted.agent,
            tag=wanted.tag,
            since=self._moment(wanted.since, start=True),
            until=self._moment(wanted.until, start=False),
            path=wanted.path,
            scopes=self._scopes(wanted.scope),
            removed=wanted.removed,
            without_sessions=wanted.without_sessions,
            ranks=RANKS if wanted.events or wanted.removed else wanted.ranks,
            reader=wanted.reader,
        )
        commit = self._bundle.resolve(wanted.as_of) if wanted.as_of else self._bundle.checked_out()
        return self._as_of(index, filters, commit) if commit else filters

    def _moment(self, text: str, *, start: bool) -> str:
        return timestamps.stamp(self._bundle.moment(text, start=start)) if text else ""

    def _scopes(self, scope: str) -> tuple[str, ...]:
        if scope == "all":
            return ()
        if scope == "shared":
            return shared_scopes("")
        return shared_scopes(scope)[1:] if scope else shared_scopes(self._bundle.config.machine)

    def _as_of(self, index: Index, filters: Filters, commit: Oid) -> Filters:
        known = index.commit(commit)
        if known is not None and known.main:
            return replace(filters, seq=known.seq)
        if filters.removed:
            raise UsageError("`removed` with `as_of` requires a commit on main.")
        listing, base = self._bundle.part(Indexing).listing(index, commit)
        return replace(filters, seq=base, listing=listing)

    # What is shown

    def _hit(self, index: Index, query: Query, ranked: Ranked, egress: Egress, alike: int) -> Hit:
        place, candidate = ranked.place, ranked.candidate
        gone = index.commit_at(place.to_seq) if place.to_seq else None
        with_marks = candidate.marked or marked(index.database, query, candidate.id, candidate.text)
        with_marks = without_tags(with_marks, place.tags)
        shown, marks = _parted(egress.piece(candidate.text, with_marks, snippet))
        return Hit(
            egress.name(place.path),
            egress.name(place.session),
            egress.name(place.type),
            plain(_cut(egress.clean(candidate.text))),
            place.at,
            round(ranked.score, 4),
            egress.name(place.agent),
            egress.name(place.machine),
            tuple(map(egress.name, place.tags)),
            place.trust,
            place.commit,
            EntryKey(place.space, place.key),
            shown,
            marks,
            {name: round(value, 4) for name, value in ranked.parts.items()},
            _others(candidate, place),
            gone.oid if gone else "",
            place.rank,
            egress.name(place.source),
            plain(egress.since(candidate.text, place)),
            plain(egress.unconfirmed(place)),
            alike,
        )

    def _near(self, index: Index, query: Query, filters: Filters, egress: Egress) -> tuple[str, ...]:
        """Words like those that were asked for, of texts that a search for them would show."""
        from gitmem.index.suggest import near_words

        words = near_words(index.database, [term.text for term in query.terms if term.kind == "word"])
        return tuple(
            word
            for word in words
            if any(
                egress.lets_out(ranked.candidate.text, ranked.place)
                and word in fold(egress.clean(ranked.candidate.text))
                for ranked in self.ranking(
                    index, find(index.database, parse(word), filters, limit=CANDIDATES)
                ).entries()
            )
        )


def snippet(text: str, *, length: int = _SNIPPET) -> str:
    """The part of a marked text where most matches stand, on one line."""
    text = on_one_line(text)
    if len(text) <= length:
        return text
    marks = [match.start() for match in MARKED.finditer(text)]
    places = range(len(marks))
    best = max(places, key=lambda place: (_within(marks, place, length), -place), default=-1)
    start = marks[best] if marks else 0
    start = max(0, start - length // 5)
    end = min(len(text), start + length)
    start = max(0, end - length)
    if start:
        start = text.find(" ", start, start + 30) + 1 or start
    if end < len(text):
        cut = text.rfind(" ", end - 30, end)
        end = cut if cut > start else end
    piece = text[start:end]
    # A mark that the cut opened or closed is repaired.
    if piece.rfind(OPEN) > piece.rfind(CLOSE):
        piece += CLOSE
    if piece.find(CLOSE) >= 0 and (piece.find(OPEN) < 0 or piece.find(CLOSE) < piece.find(OPEN)):
        piece = OPEN + piece
    return ("… " if start else "") + piece.strip() + (" …" if end < len(text) else "")


def on_one_line(text: str) -> str:
    """A text without its line breaks; a heading becomes a label, and why something was decided follows a dash."""
    return " ".join(_HEADING.sub(_label, text.replace(_WHY, " — ")).split())


def without_tags(text: str, tags: Sequence[str]) -> str:
    """A text without the tags that it is found by, where nothing in them matched."""
    return text.removesuffix(f"\n\n{', '.join(tags)}") if tags else text


def _label(heading: re.Match[str]) -> str:
    return f"{heading[1].rstrip(_AFTER_HEADING) or heading[1][0]}:"


def _others(candidate: Candidate, place: Place) -> int:
    """In how many other places a text is; that a decision is in its session, or a fact in a profile, says nothing new."""
    same = (one for one in candidate.places if one.space == place.space and one.type != USER_PROFILE)
    return max(0, sum(1 for _ in same) - 1)


def _sessions_of(texts: Sequence[Candidate]) -> list[str]:
    return list(dict.fromkeys(place.session for one in texts for place in one.places if place.session))


def _cut(text: str) -> str:
    return text if len(text) <= _LONGEST else text[: _LONGEST - 1] + "…"


def _within(marks: Sequence[int], place: int, length: int) -> int:
    """How many of the marks, which are in order, are in a piece that begins at one of them."""
    return bisect_left(marks, marks[place] + length, place) - place


def _parted(text: str) -> tuple[str, tuple[tuple[int, int], ...]]:
    """A marked text on one line as a caller gets it, and where its marks were."""
    shown, start = "", -1
    marks: list[tuple[int, int]] = []
    for piece in re.split(f"([{OPEN}{CLOSE}])", text):
        if piece == OPEN:
            start = len(shown)
        elif piece == CLOSE:
            marks += [(start, len(shown))] if start >= 0 else []
            start = -1
        else:
            shown += plain(piece)
    return shown, tuple(marks)
