"""Search: the entries that answer a query, now or as of any commit, best first."""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from gitmem.dates import mentions
from gitmem.errors import UnknownRevision
from gitmem.git.objects import Oid
from gitmem.index.candidates import CANDIDATES, Candidate, Candidates, find, listed
from gitmem.index.filters import Filters, shared_scopes
from gitmem.index.marking import matches
from gitmem.index.query import Query, parse
from gitmem.memory.find.embedding import Meaning
from gitmem.memory.find.filter_names import check_each
from gitmem.memory.find.question import asked_before, is_question
from gitmem.memory.find.ranking import Ranked, Ranking
from gitmem.memory.gate.egress import Egress, Standing
from gitmem.memory.indexing import Indexing
from gitmem.notices import Notice
from gitmem.okf import timestamps
from gitmem.okf.entries import EntryKey
from gitmem.okf.layout import USER_PROFILE
from gitmem.okf.plain import Printed, brief, cut, plain
from gitmem.okf.ranks import KNOWLEDGE, RANKS, Rank
from gitmem.safety.fence import sanitize
from gitmem.text.keys import GAP

if TYPE_CHECKING:
    from gitmem.index.records import Place
    from gitmem.memory.bundle import Bundle
    from gitmem.memory.indexing import Index

_SNIPPET = 240
_TYPED = 200  # characters up to which a query may command; a longer one was said or pasted
_LONGEST = 4_000  # characters of one entry; whoever wants more reads the file
MOST = 1_000
_HEADING = re.compile(r"^#{1,6}[ \t]+(\S[^\n]*)$", re.MULTILINE)
_AFTER_HEADING = " \t#"
_WHY = "\n\n## Rationale\n\n"


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

    def __repr__(self) -> str:
        return brief(self, path=self.path, type=self.type, score=self.score, snippet=repr(self.snippet))


@dataclass(frozen=True, slots=True)
class Found(Printed):
    """The answer to a query; iterate it for the hits, best first."""

    query: Query
    hits: tuple[Hit, ...] = ()
    withheld: int = 0

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

    def __call__(self, query: str, wanted: Filters | None = None, *, limit: int = 10) -> Found:
        """The best entries for a query."""
        asked, wanted = self.asked(query), wanted or Filters()
        found = self._bundle.part(Indexing).ask(lambda index: self._answer(index, asked, wanted, limit))
        check_each(self._bundle, bool(found.hits or found.withheld), **wanted.names)
        return found

    def _answer(self, index: Index, query: Query, wanted: Filters, limit: int) -> Found:
        limit = max(1, min(limit, MOST))
        if not query and (query.text.strip() or not wanted.narrows):
            return Found(query)
        filters = self.filters(index, wanted if query else wanted.as_list)
        if not query:
            texts = listed(index.database, filters, limit=max(CANDIDATES, 2 * limit))
            ranked = [one for one in map(Ranked.unranked, texts) if wanted.lists(one.place.type)]
            return self._shown(index, query, wanted, filters, ranked, limit)
        found = self.found(index, query, filters, limit=max(CANDIDATES, 2 * limit))
        return self._shown(index, query, wanted, filters, self.ranking(index, found).entries(), limit)

    def _shown(
        self,
        index: Index,
        query: Query,
        wanted: Filters,
        filters: Filters,
        ranked: Iterable[Ranked],
        limit: int,
    ) -> Found:
        """As many as are wanted of those that may leave; last the turns whose answer no longer holds."""
        about = "then" if wanted.about == "now" and filters.seq is not None else wanted.about
        egress = Egress(self._bundle, index, about=about, reader=wanted.reader, scopes=filters.scopes)
        hits: list[Hit] = []
        without_answer: list[Hit] = []
        for one in ranked:
            if len(hits) == limit:
                break
            if shown := egress.show(one.candidate.text, one.place):
                is_open = shown.text.endswith(f"\n[assistant] {GAP}")
                (without_answer if is_open else hits).append(self._hit(index, query, one, egress, shown))
        least = hits[-1].score if hits else 0.0
        hits += (replace(hit, score=min(hit.score, least)) for hit in without_answer)
        return Found(query, tuple(hits[:limit]), egress.withheld)

    # For those who rank on their own

    def asked(self, query: str) -> Query:
        """The query as it is meant: in a question or a long text, quotation marks and minus signs are only how people
        write."""
        return parse(query, strict=len(query) <= _TYPED and not is_question(query))

    def found(self, index: Index, query: Query, filters: Filters, *, limit: int) -> Candidates:
        """The texts that may answer, by their words and by their meaning; what is in quotes is meant as it is written."""
        near = {} if query.required or query.excluded else self._bundle.part(Meaning).near(index, query.text)
        return find(index.database, query, filters, limit=limit, near=near)

    def ranking(self, index: Index, found: Candidates) -> Ranking:
        """The candidates of a query, weighed."""
        sessions = {place.session for one in found.texts for place in one.places if place.session}
        return Ranking(
            found,
            sizes=index.session_sizes(sessions),
            mentions=mentions(found.query.text, now=self._bundle.world.clock()),
            again=asked_before(found),
        )

    def filters(self, index: Index, wanted: Filters) -> Filters:
        """Return what people asked for, in the index's terms."""
        filters = replace(
            wanted,
            since=self._moment(wanted.since, start=True),
            until=self._moment(wanted.until, start=False),
            scopes=self._scopes(wanted.scope),
            ranks=RANKS if wanted.events or wanted.removed else wanted.ranks,
        )
        if wanted.as_of:
            return self._as_of(index, filters, self._bundle.resolve(wanted.as_of))
        here = self._bundle.checked_out()
        # A branch that main never was at has nothing in the index: then what main has is searched.
        return self._as_of(index, filters, here) if here and index.commit(here) else filters

    def _moment(self, text: str, *, start: bool) -> str:
        return timestamps.stamp(self._bundle.moment(text, start=start)) if text else ""

    def _scopes(self, scope: str) -> tuple[str, ...]:
        if scope == "all":
            return ()
        if scope == "shared":
            return shared_scopes("")
        return shared_scopes(scope)[1:] if scope else shared_scopes(self._bundle.config.machine)

    def _as_of(self, index: Index, filters: Filters, commit: Oid) -> Filters:
        """The filters for the tree of a commit; for one that a merge brought, the tree of that merge."""
        known = index.commit(commit)
        if known is None:
            raise UnknownRevision(
                f"main never was at {commit[:12]}.", hint="Name a commit that is in `gitmem log`."
            )
        if not known.main:
            merge = index.commit_at(known.seq)
            self._bundle.report(Notice("as-of-merge", commit[:12], merge.oid[:12] if merge else ""))
        return replace(filters, seq=known.seq)

    # What is shown

    def _hit(self, index: Index, query: Query, ranked: Ranked, egress: Egress, shown: Standing) -> Hit:
        place, candidate = ranked.place, ranked.candidate
        gone = index.commit_at(place.to_seq) if place.to_seq else None
        line = sanitize(plain(on_one_line(without_tags(shown.text, place.tags))))
        piece, marks = snippet(line, matches(query.terms, line))
        return Hit(
            egress.name(place.path),
            egress.name(place.session),
            egress.name(place.type),
            plain(cut(shown.text, _LONGEST)),
            place.at,
            round(ranked.score, 4),
            egress.name(place.agent),
            egress.name(place.machine),
            tuple(map(egress.name, place.tags)),
            place.commit,
            EntryKey(place.space, place.key),
            piece,
            marks,
            {name: round(value, 4) for name, value in ranked.parts.named().items()},
            _others(candidate, place),
            gone.oid if gone else "",
            place.rank,
            egress.name(place.source),
            plain(shown.since),
            plain(shown.source),
        )


def snippet(
    text: str, found: Sequence[tuple[int, int]], *, length: int = _SNIPPET
) -> tuple[str, tuple[tuple[int, int], ...]]:
    """Cut the part of a line in which most matches are; return it with where they are in it."""
    if len(text) <= length:
        return text, tuple(found)
    starts = [start for start, _ in found]
    most = max(range(len(starts)), key=lambda place: (_within(starts, place, length), -place), default=-1)
    start = max(0, min((starts[most] if starts else 0) - length // 5, len(text) - length))
    end = start + length
    if start:
        start = text.find(" ", start, start + 30) + 1 or start
    if end < len(text):
        end = max(text.rfind(" ", end - 30, end), start) or end
    lead = "… " if start else ""
    moved = len(lead) - start
    marks = tuple((one + moved, other + moved) for one, other in found if start <= one and other <= end)
    return lead + text[start:end] + (" …" if end < len(text) else ""), marks


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


def _within(marks: Sequence[int], place: int, length: int) -> int:
    """Return how many of the marks, which are in order, are in a piece that begins at one of them."""
    return bisect_left(marks, marks[place] + length, place) - place
