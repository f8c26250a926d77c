"""Finding candidates: the texts that may answer a query, with all that ranking wants to know of them.

Buys "search, six-word questions": the cost of a full text query is its frequent words, which are in half of all
texts and say little. So in a large index the rare words of a query choose the texts, and the frequent ones are
looked for in those.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from gitmem.index import grams, marking
from gitmem.index.database import Database
from gitmem.index.filters import Filters, marks
from gitmem.index.lookup import tags_of
from gitmem.index.marking import HIGHLIGHT, MARKED
from gitmem.index.messages import messages_of
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


class _Marked(NamedTuple):
    """A message as the word table gave it, and the terms whose matches are marked in it."""

    text: str
    asked: frozenset[int]


@dataclass(frozen=True, slots=True)
class _Plan:
    """One question to the full text tables, and the terms whose matches it marks."""

    match: str
    asked: frozenset[int]


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
            "SELECT s.entry, e.text FROM span s JOIN entry e ON e.id = s.entry JOIN path p ON p.id = s.path "
            f"LEFT JOIN commits c ON c.id = s.origin WHERE {condition} "
            "GROUP BY s.entry ORDER BY max(s.at) DESC, s.entry DESC LIMIT ?",
            (*values, limit),
        )
        texts = [Candidate(entry, text) for entry, text in rows]
        return _Finder(database, Query(""), filters, limit, {}).placed(texts)


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
        self._pieces: dict[str, int] = {}
        self._frequency = [
            self._count("grams" if term.kind == "run" else "words", term.match) for term in self._terms
        ]
        # A word that never occurs by itself may be part of an identifier.
        self._parts = {
            number: match
            for number, term in enumerate(self._terms)
            if not self._frequency[number] and term.kind == "word" and (match := grams.part_query(term.text))
        }
        for number, match in self._parts.items():
            self._frequency[number] = self._count("grams", match)
        self._known = frozenset(number for number, count in enumerate(self._frequency) if count)
        self._counters: dict[int, Callable[[str], int]] = {}

    def find(self) -> Candidates:
        narrow = self._filters.is_narrow
        texts = self._search(narrow)
        found = self.placed(texts)
        if not narrow and len(texts) >= self._limit and len(found) < self._limit // 4:
            # The best of all do not pass the filters: look among those that do.
            found = self.placed(self._search(True))
        return Candidates(self._query, found, self._total, tuple(self._frequency), self._near)

    # How many texts have a term

    def _count(self, table: str, match: str) -> int:
        """Return the number of matching texts: exact for rare terms, otherwise estimated from the newest texts."""
        limit = self._total
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
            f"SELECT count(*) FROM (SELECT 1 FROM {table} WHERE {table} MATCH ? LIMIT ?)",
            (match, limit),
        )
        return int(found[0]) if found else 0

    # Which texts

    def _search(self, narrow: bool) -> list[Candidate]:
        known = sorted(self._known)
        needed = [number for number, term in enumerate(self._terms) if term in self._query.required]
        if any(not self._frequency[number] for number in needed):
            return []  # a required term occurs nowhere
        in_grams = [number for number in known if self._terms[number].kind == "run" or number in self._parts]
        in_words = [number for number in known if number not in in_grams]
        found: dict[int, dict[int, _Marked]] = {}
        # What is required is asked for where it can be; the texts found are looked through for the rest of it.
        if in_words and (not needed or any(number in in_words for number in needed)):
            for plan in self._word_plans(in_words, [number for number in needed if number in in_words]):
                for entry, start, text in self._by_words(plan, narrow):
                    found.setdefault(entry, {}).setdefault(start, _Marked(text, plan.asked))
                if len(found) >= self._enough:
                    break
        if in_grams and (not needed or any(number in in_grams for number in needed)):
            wanted = [number for number in needed if number in in_grams]
            tie = " AND " if wanted else " OR "
            matches = [self._parts.get(number, self._terms[number].match) for number in wanted or in_grams]
            for entry in self._by_grams(tie.join(matches), narrow):
                found.setdefault(entry, {})
        for entry in self._near:
            found.setdefault(entry, {})
        texts = dict(
            self._database.rows(f"SELECT id, text FROM entry WHERE id IN ({marks(found)})", [*found])
        )
        candidates = [self._candidate(entry, texts[entry], found[entry]) for entry in found if entry in texts]
        return [candidate for candidate in candidates if self._passes(candidate)]

    @property
    def _enough(self) -> int:
        """In a large index the next, dearer plan is tried only where the ones before found next to nothing."""
        return self._limit if self._total <= _SMALL else max(50, self._limit // 4)

    def _word_plans(self, words: list[int], needed: list[int]) -> Iterator[_Plan]:
        """Questions to ask in turn until there are enough texts: first what is cheap, at last every word."""
        if needed:
            yield self._plan(" AND ", needed)
            return
        if self._total > _SMALL:
            by_rarity = sorted(words, key=lambda number: self._frequency[number])
            affordable = self._total // 20
            rare: list[int] = []
            expected = 0
            for number in by_rarity:
                if expected >= self._limit or expected + self._frequency[number] > affordable:
                    break
                rare.append(number)
                expected += self._frequency[number]
            if rare:
                yield self._plan(" OR ", rare)
            # Frequent words are rare again where all of them stand; then the rarer ones of them.
            frequent = [number for number in by_rarity if number not in rare]
            for size in dict.fromkeys((len(frequent), (len(frequent) + 1) // 2, 2)):
                if 1 < size <= len(frequent):
                    yield self._plan(" AND ", frequent[:size])
        yield self._plan(" OR ", words)

    def _plan(self, tie: str, numbers: Sequence[int]) -> _Plan:
        return _Plan(tie.join(self._terms[number].match for number in numbers), frozenset(numbers))

    def _by_words(self, plan: _Plan, narrow: bool) -> list[tuple[int, int, str]]:
        """The messages that fit best: the text of each with its matches marked, and where it begins in its entry."""
        match = plan.match
        not_these = [term.match for term in self._query.excluded if term.kind != "run"]
        if not_these:
            match = f"({match}) NOT ({' OR '.join(not_these)})"
        inside, values = self._inside("m.entry", narrow)
        return self._database.rows(
            f"SELECT m.entry, m.start, {HIGHLIGHT} FROM words JOIN message m ON m.id = words.rowid "
            f"WHERE words MATCH ? {inside} ORDER BY rank LIMIT ?",
            (match, *values, self._limit),
        )

    def _by_grams(self, match: str, narrow: bool) -> list[int]:
        inside, values = self._inside("rowid", narrow)
        rows = self._database.rows(
            f"SELECT rowid FROM grams WHERE grams MATCH ? {inside} ORDER BY rank LIMIT ?",
            (match, *values, self._limit),
        )
        return [entry for (entry,) in rows]

    def _inside(self, entry: str, narrow: bool) -> tuple[str, list[Any]]:
        if not narrow:
            return "", []
        condition, values = self._filters.condition()
        # The plus keeps SQLite from asking the full text table once for each of these texts.
        inside = (
            f"AND +{entry} IN (SELECT s.entry FROM span s JOIN path p ON p.id = s.path "
            f"LEFT JOIN commits c ON c.id = s.origin WHERE {condition})"
        )
        return inside, values

    def _passes(self, candidate: Candidate) -> bool:
        if not self._query.required and not self._query.excluded:
            return True
        for term, count in zip(self._terms, candidate.counts, strict=True):
            if not count and term in self._query.required:
                return False
        return not any(marking.holds_exactly(term, candidate.text) for term in self._query.excluded)

    # What ranking wants to know

    def _candidate(self, entry: int, text: str, found: Mapping[int, _Marked]) -> Candidate:
        """A text with how often each term is in each of its messages: as the word table marked it, or counted here."""
        messages = []
        for start, length in messages_of(text):
            said = text[start : start + length] if length >= 0 else text
            marked, asked = found.get(start, _Marked("", frozenset()))
            counts = [0] * len(self._terms)
            for piece in MARKED.findall(marked):
                number = self._term_of(fold(piece), asked)
                if number >= 0:
                    counts[number] += 1
            if others := self._known - asked:
                folded = fold(said)
                for number in others:
                    counts[number] = self._counter(number)(folded)
            messages.append(CountedMessage(said.count(" ") + said.count("\n") + 1, tuple(counts)))
        return Candidate(entry, text, tuple(messages))

    def _counter(self, number: int) -> Callable[[str], int]:
        """Return a counter of a term in a text, for terms the full text table was not asked for."""
        found = self._counters.get(number)
        if found is None:
            found = self._counters[number] = (
                marking.part_counter(self._terms[number])
                if number in self._parts
                else marking.counter(self._terms[number])
            )
        return found

    def _term_of(self, piece: str, asked: frozenset[int]) -> int:
        """The term that a marked piece is a match of: the one it shares the longest beginning with."""
        known = self._pieces.get(piece)
        if known is None:
            known, longest = -1, 0
            for number in asked:
                length = marking.shared(piece, fold(self._terms[number].text))
                if length > longest:
                    known, longest = number, length
            self._pieces[piece] = known
        return known

    def placed(self, texts: list[Candidate]) -> list[Candidate]:
        """The candidates with their spans; those without one that passes are left out."""
        by_id = {candidate.id: candidate for candidate in texts}
        if not by_id:
            return []
        condition, values = self._filters.condition()
        rows = self._database.rows(
            "SELECT s.entry, s.id, p.name, s.space, s.key, s.type, s.session, coalesce(c.agent, ''), "
            "coalesce(c.machine, ''), s.at, s.tags, s.deprecated, s.scope, s.rank, s.source, s.replaces, s.turn, "
            "coalesce(c.oid, ''), s.from_seq, s.to_seq "
            "FROM span s JOIN path p ON p.id = s.path LEFT JOIN commits c ON c.id = s.origin "
            f"WHERE s.entry IN ({marks(by_id)}) AND {condition} ORDER BY s.at DESC, s.id DESC LIMIT {_MOST_PLACES}",
            (*by_id, *values),
        )
        for entry, number, path, space, key, kind, session, agent, machine, at, tags, *more in rows:
            by_id[entry].places.append(
                Place(number, path, space, key, kind, session, agent, machine, at, tags_of(tags), *more)
            )
        return [candidate for candidate in texts if candidate.places]
