"""Ranking: from candidates to an order, each part of a score by its name. Pure: no index, no clock, no files.

BM25 over the words comes first. What is added to it, as a share of it: the neighbours of a turn in its session,
the session as a whole, the exact phrase, title and tags, a date that the query names, a link from a better hit.
What it is then multiplied by, mildly: age, trust, type, and how many better entries its session has already; and less
mildly: knowledge, by how much of a question for a choice, a reason, a preference or a rule it covers. Where a record asks
the same question, that sentence does not count: what it says besides may answer.
"""

from __future__ import annotations

import heapq
import math
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import NamedTuple

from gitmem.index.dates import Mention
from gitmem.index.find import Candidate, Candidates
from gitmem.index.query import Term
from gitmem.index.records import CONCEPT, Place
from gitmem.memory.find.alike import series_of, settled
from gitmem.memory.find.asks import NOTHING, SPEAKERS, Asks
from gitmem.memory.find.question import is_telling
from gitmem.okf import timestamps
from gitmem.okf.layout import USER
from gitmem.okf.ranks import KNOWLEDGE
from gitmem.text.words import fold

# BM25's usual constants; for sessions the length counts a little less, since one that went on longer said more.
_K1, _B = 1.2, 0.75
_B_SESSION = 0.6
_NEIGHBOURS = ((1, 0.5), (2, 0.25))  # how far away, and the share of its own score that counts
_SESSION = 0.8
_SHARE = 0.6  # of its session's weight that a single entry of it gets
_CROWD = 0.9  # what each further entry of one session counts, so that one session does not fill the answer
_PHRASE = 0.25
_TITLE = 0.5
_TAG = 0.3
_DATE = 0.6
_LINK = 0.15
_RECENT = 0.1
_TRUST = {-1: 0.5, 0: 1.0, 1: 1.04, 2: 1.1}
_TYPES = {
    "tool_call": 0.85,
    "curatedmemory": 1.3,
    "decision": 1.25,
    "plan": 1.25,
    "tool": 0.9,
    "session": 0.8,
}
_FAVOUR = {"choice": 1.2, "reason": 0.8, "preference": 1.2, "rule": 1.2}
"""What knowledge that covers all of a question gains, by what the question asks for."""
_ANSWERS = 1.5
_SOON = 600
"""Seconds: a decision that comes later may answer something else."""
_EVERYDAY = 0.5
"""What knowledge is worth to a question of which it has only words that any question could have."""
_PERSON = 0.3
_ROUTINE, _LEAST_ROUTINE = 0.9, 0.5
"""What each text that says the same with other numbers takes off: a series hardly answers a question."""
_DAY = 86_400


_PARTS = ("words", "phrase", "title", "tags", "neighbours", "session", "date")
_FACTORS = ("x recent", "x trust", "x type", "x asked", "x routine")


class Ranked(NamedTuple):
    """A text at one of its places, and its score: the sum of the parts, times the factors, and a link's share."""

    candidate: Candidate
    place: Place
    score: float
    sums: tuple[float, ...]
    factors: tuple[float, ...]
    link: float = 0.0
    crowd: float = 1.0
    raised: float = 0.0
    """What it got to come before another that it holds over."""

    @property
    def parts(self) -> dict[str, float]:
        """What the score is made of, by name; what adds and changes nothing is left out."""
        told = {name: value for name, value in zip(_PARTS, self.sums, strict=True) if value}
        told |= {name: value for name, value in zip(_FACTORS, self.factors, strict=True) if value != 1.0}
        told |= {"x crowd": self.crowd} if self.crowd != 1.0 else {}
        told |= {"link": self.link} if self.link else {}
        return {**told, "raised": self.raised} if self.raised else told

    @classmethod
    def unranked(cls, candidate: Candidate) -> Ranked:
        """A text that was not looked for by words, at its newest place."""
        place = _to_open(candidate, candidate.places[0])
        return cls(candidate, place, 0.0, (0.0,) * len(_PARTS), (1.0,) * len(_FACTORS))

    def raised_to(self, score: float) -> Ranked:
        return self if score <= self.score else self._replace(score=score, raised=score - self.score)


@dataclass(frozen=True, slots=True)
class RankedSession:
    """A session: its score, and what in it matched, the best first."""

    session: str
    score: float
    hits: tuple[Ranked, ...]


@dataclass(frozen=True, slots=True)
class Settings:
    """What ranking is told from outside."""

    now: datetime
    half_life: float
    """Days after which being recent counts half; 0 lets age count for nothing."""
    mentions: Sequence[Mention] = ()
    asks: Asks = NOTHING


class Ranking:
    """The candidates of one query, weighed."""

    def __init__(
        self,
        found: Candidates,
        settings: Settings,
        *,
        sizes: Mapping[str, int],
        links: Iterable[tuple[str, str]] = (),
    ) -> None:
        self._found = found
        self._settings = settings
        self._sizes = sizes
        self._links = list(links)
        self._weights = [
            self._weight(term, count) for term, count in zip(found.query.terms, found.frequency, strict=True)
        ]
        lengths = [candidate.length for candidate in found.texts]
        self._length = sum(lengths) / len(lengths) if lengths else 1.0
        self._counts = {candidate.id: candidate.counts for candidate in found.texts}
        asking = settings.asks.repeated_in(found) if settings.asks.is_question else {}
        heard = {one.id: self._bm25(one) for one in found.texts if one.id in asking}
        self._counts |= asking
        self._own = {candidate.id: self._bm25(candidate) for candidate in found.texts}
        self._best = max(self._own.values(), default=0.0)
        self._by_session = self._weigh_sessions()
        self._phrases = self._phrase(found)
        self._recency: dict[str, float] = {}
        self._positions = self._place_events(self._own)
        self._answered = self._place_events(heard)
        self._heard = self._times_of(heard)
        self._covers = self._cover()
        self._series = series_of(found.texts) if settings.asks.is_question else {}

    def _weight(self, term: Term, count: int) -> float:
        """How much a term says: by how rare it is; whom a question is about says nothing."""
        if self._settings.asks.is_question and term.text in SPEAKERS:
            return 0.0
        return _idf(count, self._found.total)

    # Entries

    def entries(self) -> list[Ranked]:
        """Every candidate at its best place, the best first; of two as good, the newer one."""
        ranked = self._with_links([self._at_best_place(candidate) for candidate in self._found.texts])
        ranked.sort(key=lambda one: one.candidate.id)
        ranked.sort(key=lambda one: one.place.at, reverse=True)
        ranked.sort(key=lambda one: -one.score)
        return settled(_spread(ranked))

    def _at_best_place(self, candidate: Candidate) -> Ranked:
        # A text that is in hundreds of places says little anyway.
        ranked = [self._ranked(candidate, place) for place in candidate.places[:20]]
        best = ranked[0] if len(ranked) == 1 else max(ranked, key=lambda one: one.score)
        return best if len(ranked) == 1 else best._replace(place=_to_open(candidate, best.place))

    def _ranked(self, candidate: Candidate, place: Place) -> Ranked:
        sums = (
            self._own[candidate.id],
            self._phrases[candidate.id],
            self._title(candidate, place) if place.space == "concept" else 0.0,
            self._tags(place) if place.tags else 0.0,
            self._neighbours(place) if place.space == "event" else 0.0,
            _SHARE * self._session_of(candidate, place),
            _DATE * self._best * self._date(place.at) if self._settings.mentions else 0.0,
        )
        recent = self._recent(place.at) if self._settings.half_life else 1.0
        factors = (
            recent,
            _TRUST.get(place.trust, 1.0),
            _TYPES.get(place.type.lower(), 1.0),
            self._asked(candidate, place) if place.rank == KNOWLEDGE else 1.0,
            self._routine(candidate) if place.rank != KNOWLEDGE else 1.0,
        )
        return Ranked(candidate, place, sum(sums) * math.prod(factors), sums, factors)

    # What the query asks for

    def _asked(self, candidate: Candidate, place: Place) -> float:
        """What knowledge gains by how much of the question it covers."""
        if not self._settings.asks.is_question:
            return 1.0
        gain = _FAVOUR.get(self._settings.asks.kind, 0.0)
        if self._answers(place):
            return 1.0 + gain
        covered, telling = self._covers.get(candidate.id, (0.0, 1.0))
        about = _PERSON if place.path == USER and self._settings.asks.is_about_person else 0.0
        return (1.0 + gain * covered + about) * (_EVERYDAY + (1 - _EVERYDAY) * telling)

    def _answers(self, place: Place) -> float:
        """What a decision gains that was written down right behind the very question."""
        if not self._answered or place.rank != KNOWLEDGE or (position := _position(place)) is None:
            return 0.0
        session, writer, number = position
        before = [self._answered.get((session, writer, number - back), 0.0) for back in (1, 2)]
        before += [  # each command line writes on its own, and numbers say nothing then
            weight
            for other, at, weight in self._heard.get(session, ())
            if other != writer and 0 <= _seconds(at, place.at) <= _SOON
        ]
        return _ANSWERS * max(before)

    def _times_of(self, heard: Mapping[int, float]) -> dict[str, list[tuple[str, str, float]]]:
        """By session: who wrote down the question, when, and what it weighs."""
        found: dict[str, list[tuple[str, str, float]]] = defaultdict(list)
        for candidate in self._found.texts:
            for place in candidate.places if candidate.id in heard else ():
                if (position := _position(place)) is not None:
                    found[place.session].append((position[1], place.at, heard[candidate.id]))
        return found

    def _routine(self, candidate: Candidate) -> float:
        return max(_LEAST_ROUTINE, _ROUTINE ** (self._series.get(candidate.id, 1) - 1))

    def _cover(self) -> dict[int, tuple[float, float]]:
        """For each candidate the share of the question that it has, of the most that any has; and how much of what it
        has says what the question is about."""
        if not self._settings.asks.is_question:
            return {}
        telling = [
            weight if is_telling(term) else 0.0
            for term, weight in zip(self._found.query.terms, self._weights, strict=True)
        ]
        shares = {one.id: self._having(one, telling) for one in self._found.texts}
        most = max(shares.values(), default=0.0)
        if not most:
            return {}
        return {
            one.id: (shares[one.id] / most, shares[one.id] / (self._having(one, self._weights) or 1.0))
            for one in self._found.texts
        }

    def _having(self, candidate: Candidate, weights: Sequence[float]) -> float:
        return sum(weight for weight, count in zip(weights, self._counts[candidate.id], strict=True) if count)

    def _bm25(self, candidate: Candidate) -> float:
        norm = _K1 * (1 - _B + _B * candidate.length / self._length)
        return sum(
            weight * count * (_K1 + 1) / (count + norm)
            for weight, count in zip(self._weights, self._counts[candidate.id], strict=True)
            if count
        )

    def _phrase(self, found: Candidates) -> dict[int, float]:
        """What each candidate gains by having the query as it was typed."""
        gain = dict.fromkeys((candidate.id for candidate in found.texts), 0.0)
        words = found.query.words
        if len(found.query.terms) < 2 or len(words) > 200:
            return gain
        typed = fold(" ".join(found.query.text.split())).strip("\"'?!. ")
        terms = f" {fold(words)} "
        known = [number for number, count in enumerate(found.frequency) if count]
        for candidate in found.texts:
            counts = self._counts[candidate.id]
            if all(counts[number] for number in known):
                text = " ".join(fold(candidate.text).split())
                if typed in text or terms in f" {text} ":
                    gain[candidate.id] = _PHRASE * sum(self._weights)
        return gain

    def _title(self, candidate: Candidate, place: Place) -> float:
        if (place.space, place.key) != CONCEPT:
            return 0.0
        title = fold(candidate.text.partition("\n")[0])
        return _TITLE * sum(
            weight
            for term, weight in zip(self._found.query.terms, self._weights, strict=True)
            if any(fold(form) in title for form in term.forms)
        )

    def _tags(self, place: Place) -> float:
        tags = {fold(tag) for tag in place.tags}
        return _TAG * sum(
            weight
            for term, weight in zip(self._found.query.terms, self._weights, strict=True)
            if any(fold(form) in tags for form in term.forms)
        )

    def _date(self, at: str) -> float:
        moment = timestamps.parse(at)
        return (
            max((mention.nearness(moment) for mention in self._settings.mentions), default=0.0)
            if moment
            else 0.0
        )

    def _recent(self, at: str) -> float:
        day = at[:10]  # the hour changes nothing that counts
        known = self._recency.get(day)
        if known is None:
            moment = timestamps.parse(at)
            days = max(0.0, (self._settings.now - moment).total_seconds() / _DAY) if moment else math.inf
            known = self._recency[day] = 1 + _RECENT * math.exp2(-days / self._settings.half_life)
        return known

    # Neighbours: a turn's context counts

    def _place_events(self, weights: Mapping[int, float]) -> dict[tuple[str, str, int], float]:
        found: dict[tuple[str, str, int], float] = {}
        for candidate in self._found.texts:
            own = weights.get(candidate.id, 0.0)
            for place in candidate.places if own else ():
                if place.space == "event" and (position := _position(place)) is not None:
                    found[position] = own
        return found

    def _neighbours(self, place: Place) -> float:
        position = _position(place)
        if position is None:
            return 0.0
        session, writer, number = position
        known = self._positions
        total = self._answers(place)
        for distance, share in _NEIGHBOURS:
            total += share * known.get((session, writer, number - distance), 0.0)
            total += share * known.get((session, writer, number + distance), 0.0)
        return total

    # Sessions

    def _weigh_sessions(self) -> dict[str, float]:
        """BM25 of each session taken as one text, from what of it is among the candidates."""
        counts: dict[str, list[int]] = defaultdict(lambda: [0] * len(self._weights))
        for candidate in self._found.texts:
            for session in {place.session for place in candidate.places if place.session}:
                for number, count in enumerate(self._counts[candidate.id]):
                    counts[session][number] += count
        sizes = {session: self._sizes.get(session, 1) for session in counts}
        average = sum(sizes.values()) / len(sizes) if sizes else 1.0
        weights: dict[str, float] = {}
        for session, found in counts.items():
            norm = _K1 * (1 - _B_SESSION + _B_SESSION * sizes[session] / average)
            weights[session] = sum(
                weight * count * (_K1 + 1) / (count + norm)
                for weight, count in zip(self._weights, found, strict=True)
                if count
            )
        return weights

    def _session_of(self, candidate: Candidate, place: Place) -> float:
        """What a hit gets of its session; what is known and belongs to none is one of its own."""
        if place.session:
            return self._by_session[place.session]
        return self._own[candidate.id] if place.rank == KNOWLEDGE else 0.0

    def sessions(self, root_of: Mapping[str, str]) -> list[RankedSession]:
        """The sessions by how well they answer, children counted to their roots."""
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
            score = best.score + math.prod(best.factors) * (_SESSION - _SHARE) * whole[root]
            ranked.append(RankedSession(root, score, tuple(_once(ordered))))
        return sorted(ranked, key=lambda one: (-one.score, one.session))

    # Links

    def _with_links(self, ranked: list[Ranked]) -> list[Ranked]:
        """What a better hit links to, or is linked from, is worth a little more."""
        if not self._links:
            return ranked
        by_path: dict[str, float] = {}
        for one in ranked:
            by_path[one.place.path] = max(by_path.get(one.place.path, 0.0), one.score)
        bonus: dict[str, float] = defaultdict(float)
        for source, target in self._links:
            bonus[target] = max(bonus[target], by_path.get(source, 0.0))
        return [
            one._replace(score=one.score + _LINK * gain, link=_LINK * gain)
            if (gain := bonus.get(one.place.path, 0.0))
            else one
            for one in ranked
        ]


def _spread(ranked: list[Ranked]) -> list[Ranked]:
    """The order in which every further entry of a session counts a little less than the one before."""
    taken: dict[str, int] = defaultdict(int)
    heap = [(-one.score, number, 0) for number, one in enumerate(ranked)]
    found: list[Ranked] = []
    while heap:
        score, number, before = heapq.heappop(heap)
        one = ranked[number]
        session = one.place.session
        if session and taken[session] != before:
            crowd = _CROWD ** taken[session]
            heapq.heappush(heap, (-one.score * crowd, number, taken[session]))
            continue
        taken[session] += 1
        found.append(one._replace(score=-score, crowd=_CROWD**before) if before else one)
    return found


def _to_open(candidate: Candidate, place: Place) -> Place:
    """The place to name for a hit: a decision is in its session and as a concept, which people open."""
    if place.space != "event":
        return place
    concepts = (one for one in candidate.places if one.space == "concept" and one.session == place.session)
    return next(concepts, place)


def _seconds(start: str, end: str) -> float:
    """From one timestamp to another; endless where either is none."""
    one, other = timestamps.parse(start), timestamps.parse(end)
    return (other - one).total_seconds() if one and other else math.inf


def _idf(count: int, total: int) -> float:
    return math.log(1 + (total - count + 0.5) / (count + 0.5)) if count else 0.0


def _position(place: Place) -> tuple[str, str, int] | None:
    """Where an event is in its session: its writer and its number there."""
    writer, _, digits = place.key.rpartition("-")
    return (place.session, writer, int(digits)) if digits.isdecimal() else None


def _once(ranked: Iterable[Ranked]) -> Iterable[Ranked]:
    seen: set[int] = set()
    for one in ranked:
        if one.candidate.id not in seen:
            seen.add(one.candidate.id)
            yield one
