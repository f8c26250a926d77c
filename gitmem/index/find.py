"""Finding candidates: the texts that may answer a query, with all that ranking wants to know of them.

The cost of a full text query is its frequent words: they stand in half of all texts and say little. So in a
large index the texts are chosen by the rare words of a query, and the frequent ones are looked for in those.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

from gitmem.index import grams
from gitmem.index.database import Database, translated
from gitmem.index.documents import DEPRECATED, SHARED
from gitmem.index.lookup import tags_of
from gitmem.index.query import Query, Term

CANDIDATES = 200
_SMALL = 20_000  # texts up to which every word is asked for at once
_SAMPLE = 2_000
_OPEN, _CLOSE = "\x02", "\x03"
_MARKED = re.compile(f"{_OPEN}([^{_CLOSE}]*){_CLOSE}")
_WORD = re.compile(r"[^\W_]+")
_EVENTS = ("turn", "observation", "decision", "tool_call")


@dataclass(frozen=True, slots=True)
class Filters:
    """Which spans count. Empty fields let all through; `seq` None is now, `listing` a tree off the line."""

    type: str = ""
    session: str = ""
    agent: str = ""
    tag: str = ""
    since: str = ""
    until: str = ""
    path: str = ""
    scopes: tuple[str, ...] = ()
    without_sessions: tuple[str, ...] = ()
    removed: bool = False
    seq: int | None = None
    listing: int = 0

    def condition(self) -> tuple[str, list[Any]]:
        """The filters in SQL, for spans `s` with their paths `p` and commits `c`."""
        parts, values = self._time()
        for column, value in (("s.session", self.session), ("c.agent", self.agent)):
            if value:
                parts.append(f"{column} = ?")
                values.append(value)
        if self.type:
            wanted = _EVENTS if self.type.lower() == "sessionevents" else (self.type.lower(),)
            parts.append(f"lower(s.type) IN ({_marks(wanted)})")
            values += wanted
        if self.tag:
            parts.append("instr(lower(s.tags), ?) > 0")
            values.append(f"\n{self.tag.lower()}\n")
        if self.since:
            parts.append("s.at >= ?")
            values.append(self.since)
        if self.until:
            parts.append("s.at <= ?")
            values.append(self.until)
        if self.path:
            path = self.path.rstrip("/")
            parts.append("(p.name = ? OR (p.name > ? AND p.name < ?))")
            values += [path, f"{path}/", f"{path}0"]
        if self.scopes:
            parts.append(f"s.scope IN ({_marks(self.scopes)})")
            values += self.scopes
        if self.without_sessions:
            parts.append(f"s.session NOT IN ({_marks(self.without_sessions)})")
            values += self.without_sessions
        return " AND ".join(parts), values

    def _time(self) -> tuple[list[str], list[Any]]:
        alive = [f"s.trust > {DEPRECATED}"]
        if self.listing:
            base = (
                "(s.from_seq = ? OR (s.from_seq BETWEEN 1 AND ? AND (s.to_seq IS NULL OR s.to_seq > ?) "
                "AND s.path NOT IN (SELECT path FROM listing_path WHERE listing = ?)))"
            )
            return [base, *alive], [-self.listing, self.seq, self.seq, self.listing]
        if self.removed:
            # Whatever stood at some time up to then and does so no more, or is deprecated.
            if self.seq is None:
                return [f"(s.to_seq > 0 OR (s.to_seq IS NULL AND s.trust = {DEPRECATED}))"], []
            return ["s.to_seq BETWEEN 1 AND ?"], [self.seq]
        if self.seq is None:
            return ["s.to_seq IS NULL", *alive], []
        return [
            "s.from_seq BETWEEN 1 AND ? AND (s.to_seq IS NULL OR s.to_seq > ?)",
            *alive,
        ], [self.seq, self.seq]

    @property
    def is_narrow(self) -> bool:
        """Whether few texts pass, so that looking for them among the best of all would be in vain."""
        return bool(self.session or self.path or self.tag or self.removed)


@dataclass(frozen=True, slots=True)
class Place:
    """A span of a candidate."""

    id: int
    path: str
    space: str
    key: str
    type: str
    session: str
    agent: str
    machine: str
    at: str
    tags: tuple[str, ...]
    trust: int
    scope: str
    commit: str
    from_seq: int
    to_seq: int | None


@dataclass(slots=True)
class Candidate:
    """A text that may answer: how often each term of the query stands in it, and where it stands."""

    id: int
    text: str
    length: int
    counts: tuple[int, ...]
    places: list[Place] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class Candidates:
    """What was found for a query: the texts, and how many of all texts have each of its terms."""

    query: Query
    texts: list[Candidate]
    total: int
    frequency: tuple[int, ...]


def find(database: Database, query: Query, filters: Filters, *, limit: int = CANDIDATES) -> Candidates:
    """The texts that fit best by their words alone, and pass the filters."""
    finder = _Finder(database, query, filters)
    with database.reading():
        return finder.find(limit)


class _Finder:
    def __init__(self, database: Database, query: Query, filters: Filters) -> None:
        self._database = database
        self._query = query
        self._filters = filters
        found = database.row("SELECT max(id) FROM entry")
        self._total = int((found and found[0]) or 0)
        self._pieces: dict[str, int] = {}
        self._parts: set[int] = set()
        self._terms = list(query.terms)
        self._frequency = [self._count(term) for term in self._terms]

    # How many texts have a term

    def _count(self, term: Term) -> int:
        if term.kind == "run":
            return self._capped("grams", term.match)
        count = self._capped("words", term.match)
        return count

    def _capped(self, table: str, match: str) -> int:
        """How many texts match: exact for what is rare, estimated from the newest texts for what is not."""
        if self._total > _SMALL:
            sampled = self._database.row(
                f"SELECT count(*) FROM {table} WHERE {table} MATCH ? AND rowid > ?",  # noqa: S608
                (match, self._total - _SAMPLE),
            )
            share = (sampled[0] if sampled else 0) / _SAMPLE
            if share > 0.02:
                return int(share * self._total)
        limit = self._total if self._total <= _SMALL else self._total // 25
        found = self._database.row(
            f"SELECT count(*) FROM (SELECT 1 FROM {table} WHERE {table} MATCH ? LIMIT ?)",  # noqa: S608
            (match, limit),
        )
        return int(found[0]) if found else 0

    # Which texts

    def find(self, limit: int) -> Candidates:
        narrow = self._filters.is_narrow
        texts = self._search(limit, narrow)
        found = self._placed(texts)
        if not narrow and len(texts) >= limit and len(found) < limit // 4:
            # The best of all do not pass the filters: look among those that do.
            found = self._placed(self._search(limit, True))
        return Candidates(self._query, found, self._total, tuple(self._frequency))

    def _search(self, limit: int, narrow: bool) -> list[Candidate]:
        words = [
            number
            for number, term in enumerate(self._terms)
            if term.kind != "run" and self._frequency[number]
        ]
        runs = [
            number
            for number, term in enumerate(self._terms)
            if term.kind == "run" and self._frequency[number]
        ]
        parts = [number for number, term in enumerate(self._terms) if not self._frequency[number]]
        rows: dict[int, str] = {}
        required = [number for number in words if self._terms[number] in self._query.required]
        if any(self._terms[number] in self._query.required for number in parts) and not runs:
            return []  # something that must stand there stands nowhere
        if words:
            for entry, text in self._by_words(words, required, limit, narrow):
                rows.setdefault(entry, text)
        if not required:
            for match in self._gram_matches(runs, parts):
                for entry, text in self._select("grams", match, limit, narrow):
                    rows.setdefault(entry, text)
        elif runs:
            pass  # what is required among runs is looked for in the texts below
        found = [self._candidate(entry, marked) for entry, marked in rows.items()]
        return [candidate for candidate in found if self._passes(candidate)][: 2 * limit]

    def _by_words(
        self, words: list[int], required: list[int], limit: int, narrow: bool
    ) -> Iterable[tuple[int, str]]:
        for match in self._plans(words, required, limit):
            rows = self._select("words", match, limit, narrow)
            yield from rows
            if len(rows) >= limit:
                return

    def _plans(self, words: list[int], required: list[int], limit: int) -> list[str]:
        """FTS queries to try in turn until there are enough texts."""
        match = {number: self._terms[number].match for number in words}
        if required:
            return [" AND ".join(match[number] for number in required)]
        every = " OR ".join(match.values())
        if self._total <= _SMALL:
            return [every]
        by_rarity = sorted(words, key=lambda number: self._frequency[number])
        chosen: list[int] = []
        expected = 0
        affordable = self._total // 20
        for number in by_rarity:
            if chosen and (expected >= limit or expected + self._frequency[number] > affordable):
                break
            chosen.append(number)
            expected += self._frequency[number]
        rare = " OR ".join(match[number] for number in chosen)
        if expected >= limit and expected <= affordable:
            return [rare]
        plans = [rare] if expected <= affordable else []
        frequent = [number for number in by_rarity if number not in chosen or expected > affordable]
        # All of the frequent words together are rare again; then the rarer half of them; then any.
        for size in (len(frequent), (len(frequent) + 1) // 2, 2):
            if 1 < size <= len(frequent):
                plans.append(" AND ".join(match[number] for number in frequent[:size]))
        return [*dict.fromkeys(plans), every]

    def _gram_matches(self, runs: list[int], parts: list[int]) -> list[str]:
        matches = []
        if runs:
            matches.append(" OR ".join(self._terms[number].match for number in runs))
        for number in parts:
            # A word that nobody wrote as a word may be part of an identifier.
            if self._terms[number].kind == "word" and (match := grams.part_query(self._terms[number].text)):
                self._frequency[number] = self._capped("grams", match)
                if self._frequency[number]:
                    self._parts.add(number)
                    matches.append(match)
        return matches

    def _select(self, table: str, match: str, limit: int, narrow: bool) -> list[tuple[int, str]]:
        text = f"highlight(words, 0, '{_OPEN}', '{_CLOSE}')" if table == "words" else "NULL"
        not_these = [term.match for term in self._query.excluded if term.kind != "run"]
        if table == "words" and not_these:
            match = f"({match}) NOT ({' OR '.join(not_these)})"
        values: list[Any] = [match]
        inside = ""
        if narrow:
            condition, more = self._filters.condition()
            inside = (
                "AND rowid IN (SELECT s.entry FROM span s JOIN path p ON p.id = s.path "
                f"LEFT JOIN commits c ON c.id = s.origin WHERE {condition})"
            )
            values += more
        rows = self._database.rows(
            f"SELECT rowid, {text} FROM {table} WHERE {table} MATCH ? {inside} ORDER BY rank LIMIT ?",  # noqa: S608
            (*values, limit),
        )
        if table == "words":
            return [(entry, text) for entry, text in rows]
        ids = [entry for entry, _ in rows]
        texts = dict(self._database.rows(f"SELECT id, text FROM entry WHERE id IN ({_marks(ids)})", ids))  # noqa: S608
        return [(entry, texts[entry]) for entry in ids if entry in texts]

    def _passes(self, candidate: Candidate) -> bool:
        folded = ""
        for term in self._query.required:
            if term.kind == "run" and term.text not in candidate.text:
                return False
        for term in self._query.excluded:
            folded = folded or fold(candidate.text)
            if term.kind == "run":
                if term.text in candidate.text:
                    return False
            elif any(re.search(rf"(?<!\w){re.escape(fold(form))}(?!\w)", folded) for form in term.forms):
                return False
        return not (
            self._query.required
            and any(
                not count and term in self._query.required
                for term, count in zip(self._terms, candidate.counts, strict=True)
            )
        )

    # What ranking wants to know

    def _candidate(self, entry: int, marked: str) -> Candidate:
        counts = [0] * len(self._terms)
        matched = _MARKED.findall(marked)
        for piece in matched:
            number = self._term_of(fold(piece))
            if number is not None:
                counts[number] += 1
        text = _MARKED.sub(r"\1", marked) if matched else marked
        missing = [number for number, count in enumerate(counts) if not count]
        words = _WORD.findall(text)
        if missing:
            self._count_unmarked(text, words, missing, counts)
        return Candidate(entry, text, len(words) or 1, tuple(counts))

    def _term_of(self, piece: str) -> int | None:
        """The term that a marked piece is a match of: the one it shares the longest beginning with."""
        known = self._pieces.get(piece, -2)
        if known == -2:
            best, longest = -1, 0
            for number, term in enumerate(self._terms):
                if term.kind == "run":
                    continue
                for form in term.forms:
                    shared = _shared(piece, fold(form))
                    if shared > longest or (shared == longest and best >= 0 and form == piece):
                        best, longest = number, shared
            self._pieces[piece] = known = best
        return known if known >= 0 else None

    def _count_unmarked(self, text: str, words: Sequence[str], missing: list[int], counts: list[int]) -> None:
        """Count the terms that the chosen query did not ask for."""
        folded: list[str] | None = None
        for number in missing:
            term = self._terms[number]
            if term.kind == "run":
                counts[number] = text.count(term.text)
            elif term.kind == "phrase":
                pattern = "|".join(r"\W+".join(map(re.escape, form.split())) for form in term.forms)
                counts[number] = len(re.findall(rf"\b(?:{pattern})", text, re.IGNORECASE))
            else:
                if folded is None:
                    folded = [fold(word) for word in words]
                roots = tuple(_root(fold(form)) for form in term.forms)
                counts[number] = sum(
                    1
                    for word in folded
                    if word.startswith(roots) and any(_close(word, root) for root in roots)
                )

    def _placed(self, texts: list[Candidate]) -> list[Candidate]:
        """The candidates with their spans; those without one that passes are left out."""
        by_id = {candidate.id: candidate for candidate in texts}
        if not by_id:
            return []
        condition, values = self._filters.condition()
        rows = self._database.rows(
            "SELECT s.entry, s.id, p.name, s.space, s.key, s.type, s.session, coalesce(c.agent, ''), "
            "coalesce(c.machine, ''), s.at, s.tags, s.trust, s.scope, coalesce(c.oid, ''), s.from_seq, s.to_seq FROM span s JOIN path p ON p.id = s.path "
            f"LEFT JOIN commits c ON c.id = s.origin WHERE s.entry IN ({_marks(by_id)}) AND {condition} "  # noqa: S608
            "ORDER BY s.at DESC, s.id DESC LIMIT 5000",
            (*by_id, *values),
        )
        for entry, number, *rest in rows:
            path, space, key, kind, session, agent, machine, at, tags, *more = rest
            by_id[entry].places.append(
                Place(number, path, space, key, kind, session, agent, machine, at, tags_of(tags), *more)
            )
        return [candidate for candidate in texts if candidate.places]


def marked(database: Database, query: Query, entry: int, text: str) -> str:
    """The text with what matches between \\x02 and \\x03."""
    words = [term.match for term in query.terms if term.kind != "run"]
    shown = text.replace(_OPEN, "").replace(_CLOSE, "")
    if words:
        with translated():
            found = database.sql.execute(
                f"SELECT highlight(words, 0, '{_OPEN}', '{_CLOSE}') FROM words WHERE words MATCH ? AND rowid = ?",
                (" OR ".join(words), entry),
            ).fetchone()
        if found is not None:
            shown = found[0]
    for term in query.terms:
        if term.kind == "run":
            shown = shown.replace(term.text, f"{_OPEN}{term.text}{_CLOSE}")
    return shown if _OPEN in shown else _parts_marked(query, shown)


def _parts_marked(query: Query, text: str) -> str:
    words = "|".join(
        re.escape(term.text) for term in query.terms if term.kind == "word" and len(term.text) > 2
    )
    return re.sub(f"({words})", rf"{_OPEN}\1{_CLOSE}", text, flags=re.IGNORECASE) if words else text


def holds(term: Term, text: str) -> bool:
    """Whether a term stands in a text, about as the index would say."""
    if term.kind == "run":
        return term.text in text
    folded = fold(text)
    if term.kind == "phrase":
        return any(fold(form) in " ".join(_WORD.findall(folded)) for form in term.forms)
    return _count(_WORD.findall(folded), term) > 0


def shared_scopes(machine: str) -> tuple[str, ...]:
    """The scopes that hold on a machine."""
    from gitmem.index.documents import MACHINE
    from gitmem.okf.paths import safe_name

    return (SHARED, f"{MACHINE}:{safe_name(machine)}") if machine else (SHARED,)


def fold(text: str) -> str:
    """The text without case and accents, as the word table sees it."""
    if text.isascii():
        return text.lower()
    decomposed = unicodedata.normalize("NFD", text.lower())
    return "".join(char for char in decomposed if not unicodedata.combining(char))


def _count(words: Sequence[str], term: Term) -> int:
    """How many of the words are about the term."""
    roots = tuple(_root(fold(form)) for form in term.forms)
    return sum(1 for word in words if word.startswith(roots) and any(_close(word, root) for root in roots))


def _shared(one: str, other: str) -> int:
    count = 0
    for a, b in zip(one, other, strict=False):
        if a != b:
            break
        count += 1
    return count


_SUFFIX = re.compile(
    r"(?:ational|ization|ations?|ingly|edly|ings?|edly|ness|ment|ies|ied|ers?|est|ed|es|ly|e|y|s)$"
)


def _root(word: str) -> str:
    """About the stem of a word; good enough to weigh a frequent one."""
    root = _SUFFIX.sub("", word) if word.isascii() and len(word) > 4 else word
    return root if len(root) >= 3 else word


def _close(word: str, root: str) -> bool:
    return word.startswith(root) and len(word) - len(root) <= 4


def _marks(values: Iterable[object]) -> str:
    return ", ".join("?" for _ in values)
