"""Finding candidates: the texts that may answer a query, with all that ranking wants to know of them.

Buys "search, six-word questions": the cost of a full text query is its frequent words, which are in half of all
texts and say little. So in a large index the rare words of a query choose the texts, and the frequent ones are
looked for in those.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from gitmem.index import grams, marking
from gitmem.index.database import Database
from gitmem.index.filters import Filters, marks
from gitmem.index.lookup import PLACE_COLUMNS, SPANS, place_of
from gitmem.index.messages import split
from gitmem.index.query import Query
from gitmem.index.records import Place
from gitmem.text.words import fold

CANDIDATES = 200
_SMALL = 20_000  # texts up to which every word is asked for at once
_SAMPLE = 2_000
_FREQUENT = 0.02  # the share of all texts from which a word's frequency is estimated and not counted
_MOST_PLACES = 5_000


class CountedMessage(NamedTuple):
    """A message of a text: how many words it has, and how often each term of the query is in it."""

    length: int
    counts: tuple[int, ...]


@dataclass(slots=True)
class Candidate:
    """A text that may answer, message by message, and where it stands."""

    id: int
    text: str
    messages: tuple[CountedMessage, ...] = ()
    places: list[Place] = field(default_factory=list)

    @property
    def counts(self) -> tuple[int, ...]:
        """Return the number of occurrences of each query term in the text."""
        return tuple(map(sum, zip(*(one.counts for one in self.messages), strict=True)))


@dataclass(frozen=True, slots=True)
class Candidates:
    """Matches of a query: the texts, and how many of all texts have each of its terms."""

    query: Query
    texts: list[Candidate]
    total: int
    frequency: tuple[int, ...]
    near: Mapping[int, float] = field(default_factory=dict)
    """By entry how near it is in meaning, up to 1."""


def find(
    database: Database,
    query: Query,
    filters: Filters,
    *,
    limit: int = CANDIDATES,
    near: Mapping[int, float] | None = None,
) -> Candidates:
    """The texts that fit best by their words, and those that are near in meaning, as far as they pass the filters."""
    with database.reading():
        return _Finder(database, query, filters, limit, near or {}).find()


def listed(database: Database, filters: Filters, *, limit: int) -> list[Candidate]:
    """The newest texts that pass the filters, whatever their words."""
    condition, values = filters.condition()
    with database.reading():
        rows = database.rows(
            f"SELECT s.entry, e.text FROM {SPANS} JOIN entry e ON e.id = s.entry WHERE {condition} "
            "GROUP BY s.entry ORDER BY max(s.at) DESC, s.entry DESC LIMIT ?",
            (*values, limit),
        )
        texts = [Candidate(entry, text) for entry, text in rows]
        return _placed(database, texts, filters)


class _Finder:
    def __init__(
        self, database: Database, query: Query, filters: Filters, limit: int, near: Mapping[int, float]
    ) -> None:
        self._database = database
        self._near = near
        self._query = query
        self._filters = filters
        self._limit = limit
        found = database.row("SELECT max(id) FROM message")
        self._total = int((found and found[0]) or 0)
        self._terms = query.terms
        self._matches = [term.match for term in query.terms]
        self._in_grams = {number for number, term in enumerate(self._terms) if term.kind == "run"}
        self._frequency = [self._count(number) for number in range(len(self._terms))]
        self._counters = list(map(marking.counter, self._terms))
        for number, term in enumerate(self._terms):
            # A word that never occurs by itself may be part of an identifier.
            part = grams.part_query(term.text) if term.kind == "word" and not self._frequency[number] else ""
            if part:
                self._in_grams.add(number)
                self._matches[number] = part
                self._frequency[number] = self._count(number)
                self._counters[number] = marking.counter(term, inside=True)

    def find(self) -> Candidates:
        narrow = self._filters.is_narrow
        texts = self._search(narrow)
        found = _placed(self._database, texts, self._filters)
        if not narrow and len(texts) >= self._limit and len(found) < self._limit // 4:
            # The best of all do not pass the filters: look among those that do.
            found = _placed(self._database, self._search(True), self._filters)
        return Candidates(self._query, found, self._total, tuple(self._frequency), self._near)

    def _count(self, number: int) -> int:
        """Return how many texts have a term: exact for rare ones, otherwise estimated from the newest texts."""
        table, match, limit = self._table(number), self._matches[number], self._total
        if self._total > _SMALL:
            sampled = self._database.row(
                f"SELECT count(*) FROM {table} WHERE {table} MATCH ? AND rowid > ?",
                (match, self._total - _SAMPLE),
            )
            share = (sampled[0] if sampled else 0) / _SAMPLE
            if share > _FREQUENT:
                return int(share * self._total)
            limit = int(2 * _FREQUENT * self._total)
        found = self._database.row(
            f"SELECT count(*) FROM (SELECT 1 FROM {table} WHERE {table} MATCH ? LIMIT ?)", (match, limit)
        )
        return int(found[0]) if found else 0

    def _table(self, number: int) -> str:
        return "grams" if number in self._in_grams else "words"

    # Which texts

    def _search(self, narrow: bool) -> list[Candidate]:
        needed = [number for number, term in enumerate(self._terms) if term in self._query.required]
        if any(not self._frequency[number] for number in needed):
            return []  # a required term occurs nowhere
        known = [number for number, count in enumerate(self._frequency) if count]
        in_words = [number for number in known if number not in self._in_grams]
        in_grams = [number for number in known if number in self._in_grams]
        found: dict[int, None] = {}
        # What is required is asked for where it can be; the texts found are looked through for the rest of it.
        for plan in self._word_plans(in_words, needed):
            found |= dict.fromkeys(self._by_words(plan, narrow))
            if len(found) >= self._limit // 4:
                break
        if wanted := self._asked(in_grams, needed):
            found |= dict.fromkeys(self._by_grams(wanted, narrow))
        found |= dict.fromkeys(self._near)
        texts = dict(
            self._database.rows(f"SELECT id, text FROM entry WHERE id IN ({marks(found)})", [*found])
        )
        candidates = [self._candidate(entry, texts[entry]) for entry in found if entry in texts]
        return [candidate for candidate in candidates if self._passes(candidate)]

    def _asked(self, known: Sequence[int], needed: Sequence[int]) -> str:
        """The question to one table: all that is required of what it has, or any term where nothing is."""
        if needed:
            return " AND ".join(self._matches[number] for number in known if number in needed)
        return " OR ".join(self._matches[number] for number in known)

    def _word_plans(self, words: list[int], needed: list[int]) -> Iterator[str]:
        """Questions to ask in turn until there are enough texts: first the rare words, then every word."""
        if self._total > _SMALL and not needed:
            rare: list[int] = []
            expected = 0
            for number in sorted(words, key=lambda number: self._frequency[number]):
                if expected >= self._limit or expected + self._frequency[number] > self._total // 20:
                    break
                rare.append(number)
                expected += self._frequency[number]
            if rare:
                yield self._asked(rare, ())
        if asked := self._asked(words, needed):
            yield asked

    def _by_words(self, match: str, narrow: bool) -> list[int]:
        """The entries of the messages that fit best."""
        not_these = [term.match for term in self._query.excluded if term.kind != "run"]
        if not_these:
            match = f"({match}) NOT ({' OR '.join(not_these)})"
        inside, values = self._inside("m.entry", narrow)
        return self._database.column(
            "SELECT m.entry FROM words JOIN message m ON m.id = words.rowid "
            f"WHERE words MATCH ? {inside} ORDER BY rank LIMIT ?",
            (match, *values, self._limit),
        )

    def _by_grams(self, match: str, narrow: bool) -> list[int]:
        inside, values = self._inside("rowid", narrow)
        return self._database.column(
            f"SELECT rowid FROM grams WHERE grams MATCH ? {inside} ORDER BY rank LIMIT ?",
            (match, *values, self._limit),
        )

    def _inside(self, entry: str, narrow: bool) -> tuple[str, list[Any]]:
        if not narrow:
            return "", []
        condition, values = self._filters.condition()
        # The plus keeps SQLite from asking the full text table once for each of these texts.
        return f"AND +{entry} IN (SELECT s.entry FROM {SPANS} WHERE {condition})", values

    def _passes(self, candidate: Candidate) -> bool:
        if not self._query.required and not self._query.excluded:
            return True
        for term, count in zip(self._terms, candidate.counts, strict=True):
            if not count and term in self._query.required:
                return False
        return not any(marking.holds_exactly(term, candidate.text) for term in self._query.excluded)

    def _candidate(self, entry: int, text: str) -> Candidate:
        """A text with how often each term is in each of its messages."""
        messages = []
        for said in split(text):
            folded = fold(said)
            counts = tuple(
                count(folded) if known else 0
                for count, known in zip(self._counters, self._frequency, strict=True)
            )
            messages.append(CountedMessage(said.count(" ") + said.count("\n") + 1, counts))
        return Candidate(entry, text, tuple(messages))


def _placed(database: Database, texts: list[Candidate], filters: Filters) -> list[Candidate]:
    """The candidates with their spans; those without one that passes are left out."""
    by_id = {candidate.id: candidate for candidate in texts}
    condition, values = filters.condition()
    for entry, *row in database.rows(
        f"SELECT s.entry, {PLACE_COLUMNS} FROM {SPANS} WHERE s.entry IN ({marks(by_id)}) AND {condition} "
        f"ORDER BY s.at DESC, s.id DESC LIMIT {_MOST_PLACES}",
        (*by_id, *values),
    ):
        by_id[entry].places.append(place_of(row))
    return [candidate for candidate in texts if candidate.places]
