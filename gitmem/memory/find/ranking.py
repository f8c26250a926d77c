"""Ranking: from candidates to an order, each part of a score by its name. Pure: no index, no clock, no files.

BM25 over the messages of a text, each by its own length. Added to it: a share of its session as a whole, and of the best
where a text is from around a date that the query names. Multiplied with it: its type, and a favour for knowledge. Then
what says something goes before what only quotes it.
`benchmarks/ablate.py` has what each of them earns.
"""

from __future__ import annotations

import math
import re
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from gitmem.dates import Mention
from gitmem.index.candidates import Candidate, Candidates, CountedMessage
from gitmem.index.records import Place
from gitmem.memory.find.question import is_one_subject
from gitmem.okf import timestamps
from gitmem.okf.ranks import KNOWLEDGE
from gitmem.text.words import fold

# BM25's usual constants; for sessions the length counts a little less, since one that went on longer said more.
_K1, _B = 1.2, 0.75
_B_SESSION = 0.6
_SHARE = 0.4  # of its session's weight that a single entry of it gets
_SESSION = 0.8
_DATE = 0.6
_MEANING = 0.43  # 0.3 of a whole of which the words are 0.7
_TYPES = {
    "tool_call": 0.85,
    "curatedmemory": 1.3,
    "decision": 1.25,
    "plan": 1.25,
    "tool": 0.9,
    "session": 0.8,
}
_FAVOUR = 1.5  # what knowledge counts above talk


class Parts(NamedTuple):
    """Parts of a score: sums, then factors, then what raised it above others."""

    words: float = 0.0
    session: float = 0.0
    date: float = 0.0
    meaning: float = 0.0
    x_type: float = 1.0
    x_knowledge: float = 1.0
    raised: float = 0.0

    @property
    def factor(self) -> float:
        return self.x_type * self.x_knowledge

    @property
    def score(self) -> float:
        return (self.words + self.session + self.date + self.meaning) * self.factor + self.raised

    def named(self) -> dict[str, float]:
        """The parts by name, without those that add or change nothing."""
        return {
            name.replace("_", " "): value
            for name, value in self._asdict().items()
            if value != (1.0 if name.startswith("x_") else 0.0)
        }


class Ranked(NamedTuple):
    """A text at one of its places, and what its score is made of."""

    candidate: Candidate
    place: Place
    parts: Parts = Parts()

    @property
    def score(self) -> float:
        return self.parts.score

    @classmethod
    def unranked(cls, candidate: Candidate) -> Ranked:
        """A text that was not looked for by words, at its newest place."""
        return cls(candidate, _to_open(candidate, candidate.places[0]))

    def raised_to(self, score: float) -> Ranked:
        gap = score - self.score
        return self if gap <= 0 else self._replace(parts=self.parts._replace(raised=self.parts.raised + gap))


@dataclass(frozen=True, slots=True)
class RankedSession:
    """A session: its score, and what in it matched, the best first."""

    session: str
    score: float
    hits: tuple[Ranked, ...]


class Ranking:
    """The candidates of one query, weighed."""

    def __init__(
        self,
        found: Candidates,
        *,
        sizes: Mapping[str, int],
        mentions: Sequence[Mention] = (),
        again: Mapping[int, tuple[CountedMessage, ...]] | None = None,
    ) -> None:
        """Weigh them; a text that is in `again` counts with those messages, without its question."""
        self._found = found
        self._sizes = sizes
        self._mentions = mentions
        self._weights = [_idf(count, found.total) for count in found.frequency]
        lengths = [message.length for one in found.texts for message in one.messages]
        self._length = sum(lengths) / len(lengths) if lengths else 1.0
        self._messages = {one.id: one.messages for one in found.texts} | dict(again or {})
        self._own = {one.id: self._bm25f(self._messages[one.id]) for one in found.texts}
        self._best = max(self._own.values(), default=0.0)
        self._by_session = self._weigh_sessions()

    def entries(self) -> list[Ranked]:
        """Every candidate at its best place, the best first; of two as good, the newer one."""
        ranked = [self._at_best_place(candidate) for candidate in self._found.texts]
        ranked.sort(key=lambda one: one.candidate.id)
        ranked.sort(key=lambda one: one.place.at, reverse=True)
        ranked.sort(key=lambda one: -one.score)
        return settled(ranked)

    def _at_best_place(self, candidate: Candidate) -> Ranked:
        # A text that is in hundreds of places says little anyway.
        ranked = [self._ranked(candidate, place) for place in candidate.places[:20]]
        best = max(ranked, key=lambda one: one.score)
        return best._replace(place=_to_open(candidate, best.place))

    def _ranked(self, candidate: Candidate, place: Place) -> Ranked:
        parts = Parts(
            self._own[candidate.id],
            _SHARE * self._session_of(candidate, place),
            _DATE * self._best * self._date(place.at) if self._mentions else 0.0,
            _MEANING * (self._best or 1.0) * self._found.near.get(candidate.id, 0.0),
            _TYPES.get(place.type.lower(), 1.0),
            _FAVOUR if place.rank == KNOWLEDGE else 1.0,
        )
        return Ranked(candidate, place, parts)

    def _bm25f(self, messages: Sequence[CountedMessage]) -> float:
        """BM25 of a text whose messages count by their own lengths: a word of a short one says more."""
        counts = [0.0] * len(self._weights)
        for message in messages:
            norm = 1 - _B + _B * message.length / self._length
            counts = [whole + count / norm for whole, count in zip(counts, message.counts, strict=True)]
        return self._bm25(counts)

    def _bm25(self, counts: Iterable[float], norm: float = 1.0) -> float:
        """BM25 of how often each term is in a text, whose length is `norm` times the usual one."""
        return sum(
            weight * count * (_K1 + 1) / (count + _K1 * norm)
            for weight, count in zip(self._weights, counts, strict=True)
            if count
        )

    def _date(self, at: str) -> float:
        moment = timestamps.parse(at)
        return max((one.nearness(moment) for one in self._mentions), default=0.0) if moment else 0.0

    # Sessions

    def _weigh_sessions(self) -> dict[str, float]:
        """BM25 of each session taken as one text, from what of it is among the candidates, and its nearest text."""
        counts: dict[str, list[int]] = defaultdict(lambda: [0] * len(self._weights))
        nearest: dict[str, float] = defaultdict(float)
        for candidate in self._found.texts:
            said = [
                sum(column)
                for column in zip(*(one.counts for one in self._messages[candidate.id]), strict=True)
            ]
            for session in {place.session for place in candidate.places if place.session}:
                counts[session] = [one + more for one, more in zip(counts[session], said, strict=True)]
                nearest[session] = max(nearest[session], self._found.near.get(candidate.id, 0.0))
        sizes = {session: self._sizes.get(session, 1) for session in counts}
        average = sum(sizes.values()) / max(1, len(sizes))
        weights = {
            session: self._bm25(found, 1 - _B_SESSION + _B_SESSION * sizes[session] / average)
            for session, found in counts.items()
        }
        best = max(weights.values(), default=0.0) or 1.0
        return {session: weight + _MEANING * best * nearest[session] for session, weight in weights.items()}

    def _session_of(self, candidate: Candidate, place: Place) -> float:
        """Return what a hit gets of its session; what is known and belongs to none is one of its own."""
        if place.session:
            return self._by_session[place.session]
        return self._own[candidate.id] if place.rank == KNOWLEDGE else 0.0

    def sessions(self, root_of: Mapping[str, str]) -> list[RankedSession]:
        """The sessions by how well they answer, children counted to their roots; of two as good, the newer one."""
        hits: dict[str, list[Ranked]] = defaultdict(list)
        whole: dict[str, float] = defaultdict(float)
        for candidate in self._found.texts:
            for place in candidate.places:
                if place.session:
                    root = root_of.get(place.session, place.session)
                    hits[root].append(self._ranked(candidate, place))
        for session, weight in self._by_session.items():
            root = root_of.get(session, session)
            whole[root] = max(whole[root], weight)
        ranked = []
        for root, found in hits.items():
            ordered = sorted(found, key=lambda one: (-one.score, one.place.at, one.place.id))
            # A share of the session's weight is in each hit's score already.
            best = ordered[0]
            score = best.score + best.parts.factor * (_SESSION - _SHARE) * whole[root]
            ranked.append(RankedSession(root, score, tuple(_once(ordered))))
        ranked.sort(key=lambda one: one.session)
        ranked.sort(key=lambda one: max(hit.place.at for hit in one.hits), reverse=True)
        return sorted(ranked, key=lambda one: -one.score)


# --- what says something before what only quotes it --------------------------------------------------------

_NOT_SAID = re.compile(r"[\W_]+")
_LABEL = re.compile(r"^\[\w+\] ")
_LOOKED_AT = 30
_LONG = 600
_QUOTED = 4


def settled(ranked: Sequence[Ranked]) -> list[Ranked]:
    """The same order, but what says something before a later record that only quotes it, and the newer of two decisions
    first."""
    order = list(ranked)
    near = order[:_LOOKED_AT]
    records = {id(one): f" {_shape(one.candidate.text)} " for one in near if one.place.rank != KNOWLEDGE}
    for one in near:
        said = _shape(_LABEL.sub("", _first_line(one)))
        is_known = one.place.rank == KNOWLEDGE
        if said and (is_known or said.count(" ") >= _QUOTED):
            quoting = (other for other in near if f" {said} " in records.get(id(other), ""))
            _put_before(order, one, [other for other in quoting if is_known or other.place.at > one.place.at])
    decided = [one for one in near if one.place.type.lower() == "decision"]
    for one in sorted(decided, key=lambda one: one.place.at):
        subject = _first_line(one)
        older = [
            other
            for other in decided
            if other.place.at < one.place.at and is_one_subject(subject, _first_line(other))
        ]
        _put_before(order, one, older)
    return order


def _shape(text: str) -> str:
    """Return what a text says apart from case, accents and punctuation; a long one is like no other."""
    return text if len(text) > _LONG else _NOT_SAID.sub(" ", fold(text)).strip()


def _put_before(order: list[Ranked], one: Ranked, others: Sequence[Ranked]) -> None:
    """Put a hit before the first of some others, where it is not there already."""
    at = _place(order, one)
    first = min((_place(order, other) for other in others), default=at)
    if first < at:
        order.insert(first, order.pop(at).raised_to(order[first].score))


def _place(order: Sequence[Ranked], one: Ranked) -> int:
    """Return where a text is in an order; each is there once."""
    return next(number for number, other in enumerate(order) if other.candidate is one.candidate)


def _first_line(ranked: Ranked) -> str:
    return ranked.candidate.text.partition("\n")[0]


def _to_open(candidate: Candidate, place: Place) -> Place:
    """The place to name for a hit: a decision is in its session and as a concept, which people open."""
    if place.space != "event":
        return place
    concepts = (one for one in candidate.places if one.space == "concept" and one.session == place.session)
    return next(concepts, place)


def _idf(count: int, total: int) -> float:
    return math.log(1 + (total - count + 0.5) / (count + 0.5)) if count else 0.0


def _once(ranked: Iterable[Ranked]) -> Iterable[Ranked]:
    seen: set[int] = set()
    for one in ranked:
        if one.candidate.id not in seen:
            seen.add(one.candidate.id)
            yield one
