"""Context: what is recalled for one turn, unasked. A few lines that have to do with it, as data and not as instructions."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from itertools import islice
from typing import TYPE_CHECKING, NamedTuple

from gitmem.errors import IndexTrouble
from gitmem.index.find import find
from gitmem.index.marking import counter
from gitmem.memory.find.passage import passage
from gitmem.memory.find.question import Question, words_of
from gitmem.memory.find.relevance import Relevance
from gitmem.memory.find.search import Search, Wanted
from gitmem.memory.gate.egress import DOUBTED, Egress
from gitmem.memory.indexing import Indexing
from gitmem.okf import layout, timestamps
from gitmem.okf.entries import EntryKey
from gitmem.okf.plain import plain, shortened
from gitmem.okf.ranks import KNOWLEDGE, SAID
from gitmem.safety.fence import fence
from gitmem.text.words import STOP, WORD, fold, root

if TYPE_CHECKING:
    from gitmem.index.lookup import Span
    from gitmem.index.readers import Reader
    from gitmem.index.records import Place, SessionFacts
    from gitmem.memory.bundle import Bundle
    from gitmem.memory.find.look_back import Stretch
    from gitmem.memory.find.ranking import Ranked, Ranking
    from gitmem.memory.indexing import Index
    from gitmem.okf.ranks import Rank

_LONGEST = 240  # characters of one line's text
_LABEL = 40
_MOST = 6
_LOOKED_AT = 24
"""Candidates, from the best on, whose sentences are looked at."""
_READ = 20_000  # characters of a text in which the sentences are looked for
_WORTH = 0.7  # of the best one's share of the question: what has less is left out
_ALIKE = 0.8
_SAME_SUBJECT = 0.5
_KNOWN = 0.85
"""The share of a line's words from which an entry of the prompt block says it already."""
_SESSIONS = 5
_LOOKED_BACK_AT = 100
_PER_SESSION = 3
_EVENTS = 200
_WHO = re.compile(r"^\[(?:user|assistant)\] | \[assistant\] ")
_USER_PART = re.compile(r"\[user\] (.*?)(?:\n\[assistant\]|\Z)", re.DOTALL)
# What no person chose as a name: long numbers, hashes, times.
_MACHINE_MADE = re.compile(r"\d{5,}|(?=[a-f]*\d)[0-9a-f]{6,}", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Shown:
    """One entry that was recalled."""

    path: str
    key: EntryKey
    session: str
    at: str
    text: str


@dataclass(frozen=True, slots=True)
class Context:
    """What was recalled: the lines by themselves, and where each came from."""

    lines: str = ""
    shown: tuple[Shown, ...] = ()
    withheld: int = 0

    @property
    def fenced(self) -> str:
        """The lines as a block for a prompt; empty where nothing was recalled."""
        return fence(self.lines) if self.lines else ""

    def __bool__(self) -> bool:
        return bool(self.lines)


_OVERHEAD = len(fence(""))


def context(
    bundle: Bundle,
    query: str,
    budget: int | None = None,
    *,
    session: str = "",
    block: str | None = None,
    reader: Reader | None = None,
    noted: bool = True,
) -> Context:
    """The entries worth knowing for a turn; the block for the prompt is within `budget` characters.

    Nothing where no entry has two telling words of the question, or a rare one. Nothing of the present `session`,
    which the agent has before it anyway, and nothing that is in the prompt block: `block` is its text, or None for
    the curated store as a whole. `reader` is for whom it is, where several users talk to one agent. What is
    shown is `noted` in the session's record, so that a take-back knows what it reached.
    """
    room = (bundle.config.context_budget if budget is None else budget) - _OVERHEAD
    question = Question.of(query, now=bundle.world.local(bundle.world.clock().timestamp()))
    if room <= 0 or not question:
        return Context()
    try:
        found = _Builder(bundle, bundle.part(Indexing).current(), session, block, reader).build(
            question, room
        )
    except IndexTrouble as trouble:
        index = bundle.part(Indexing).trusted(trouble)
        found = _Builder(bundle, index, session, block, reader).build(question, room)
    if found and session and noted:
        from gitmem.memory.capture.recalled import note_recalled

        note_recalled(bundle, session, ((one.path, one.key) for one in found.shown))
    return found


class _Piece(NamedTuple):
    """What a line may show of an entry that was let out: a part of its text, clean and on one line."""

    text: str
    place: Place
    words: frozenset[str]
    """Those that say what it is about."""


class _Builder:
    def __init__(
        self, bundle: Bundle, index: Index, session: str, block: str | None, reader: Reader | None
    ) -> None:
        self._bundle = bundle
        self._index = index
        self._session = session
        self._block = block
        self._reader = reader
        self._egress = Egress(bundle, index, reader=reader)

    def build(self, question: Question, room: int) -> Context:
        lines: list[str] = []
        shown: list[Shown] = []
        said: list[frozenset[str]] = []
        for piece in self._pieces(question):
            spelled = frozenset(WORD.findall(fold(piece.text)))
            if any(_alike(spelled, known) for known in said):
                continue
            came_from = self._egress.unconfirmed(piece.place)
            doubt = f"(unconfirmed, from {plain(shortened(came_from, _LABEL))}) " if came_from else ""
            line = f"- {doubt}{piece.text} ({self._when_and_where(piece.place)})"
            if len(line) + 1 > room:
                continue
            place = piece.place
            lines.append(line)
            shown.append(
                Shown(place.path, EntryKey(place.space, place.key), place.session, place.at, piece.text)
            )
            said.append(spelled)
            room -= len(line) + 1
        # What is harmless line by line may not be so together.
        while lines and not self._egress.is_harmless("\n".join(lines)):
            lines.pop()
            shown.pop()
        return Context("\n".join(lines), tuple(shown), self._egress.withheld)

    @property
    def _ranks(self) -> tuple[Rank, ...]:
        """What is recalled by itself: not what a tool returned, which nobody chose to keep."""
        return (KNOWLEDGE, SAID) if self._bundle.config.session_search else (KNOWLEDGE,)

    def _pieces(self, question: Question) -> Iterable[_Piece]:
        if question.about_user:
            return self._profile()
        return self._answers(question) if question.query else self._looking_back(question.stretches)

    # By the words of a question

    def _answers(self, question: Question) -> list[_Piece]:
        """The entries that have enough of the question, the best first and of two that disagree the newer."""
        search = self._bundle.part(Search)
        here = (self._session,) if self._session else ()
        wanted = Wanted(without_sessions=here, ranks=self._ranks, reader=self._reader)
        found = find(self._index.database, question.query, search.filters(self._index, wanted))
        relevance = Relevance(question, found)
        counters = list(map(counter, question.query.terms))
        known = self._known()
        rated: list[tuple[float, _Piece]] = []
        best = 0.0
        for ranked in self._likely(question, search.ranking(self._index, found), relevance):
            # What is read must have the words: a long text has two of them by chance.
            clean = self._egress.clean(ranked.candidate.text)[:_READ]
            text, counts = passage(clean, counters, _LONGEST)
            share = relevance.share(counts, text, then=question.asks_about(ranked.place.at))
            if not share or self._is_replaced(ranked.candidate.id, ranked.place):
                continue
            if not self._may_inject(ranked.candidate.text, ranked.place):
                continue  # nor does it raise the bar for the others
            best = max(best, share)
            if not _says(known, text):
                rated.append((share, _Piece(plain(text), ranked.place, words_of(text))))
        return _newest_first(piece for share, piece in rated if share >= _WORTH * best)[:_MOST]

    def _may_inject(self, text: str, place: Place) -> bool:
        """Talk that the scanner doubts is found by those who search for it, and put before no model unasked."""
        return self._egress.lets_out(text, place) and self._egress.unconfirmed(place) != DOUBTED

    def _likely(self, question: Question, ranking: Ranking, relevance: Relevance) -> Iterator[Ranked]:
        """The best of the entries that have enough of the question somewhere in them."""
        return islice(
            (
                one
                for one in ranking.entries()
                if relevance.share(
                    one.candidate.counts, one.candidate.text, then=question.asks_about(one.place.at)
                )
            ),
            _LOOKED_AT,
        )

    def _is_replaced(self, entry: int, place: Place) -> bool:
        """Whether it was about the user and is for the prompt block to say, as it holds now."""
        return place.type == layout.USER_PROFILE and self._index.stood_in(entry, layout.USER)

    def _known(self) -> list[frozenset[str]]:
        """What the agent has before it in its prompt block, entry by entry."""
        if self._block is not None:
            return list(map(_roots, re.split(r"\n§\n|\n\n+|\n(?=[-*] )", self._block)))
        machine = self._bundle.config.machine
        files = (layout.MEMORY, layout.USER, *((layout.machine_memory(machine),) if machine else ()))
        return [_roots(span.text) for path in files for span in self._index.spans_in(path)]

    # About the user

    def _profile(self) -> Iterator[_Piece]:
        """What USER.md says, but for what the prompt block has; all of it where nobody said what that has."""
        known = self._known() if self._block is not None else []
        return self._pieces_of(
            span for span in self._index.spans_in(layout.USER) if not _says(known, span.text)
        )

    # By time

    def _looking_back(self, stretches: Iterable[Stretch]) -> Iterator[_Piece]:
        """What the sessions of the first of these stretches that has any were about, the newest first."""
        here = self._index.root_of(self._session) if self._session else ""
        for stretch in stretches:
            start, end = stretch.start, stretch.end
            count = 0
            for facts in self._index.sessions_between(start, end, limit=_LOOKED_BACK_AT):
                if not self._egress.sees_session(facts.name):
                    continue
                if facts.name == self._session or (here and self._index.root_of(facts.name) == here):
                    continue
                recap = self._session_recap(facts, start, end)
                yield from recap
                count += bool(recap)
                if count == (1 if stretch.newest else _SESSIONS):
                    break
            if count:
                return

    def _session_recap(self, facts: SessionFacts, start: str, end: str) -> list[_Piece]:
        """How a session began, what was decided in it, and what it came to."""
        asked: list[Span] = []
        decided: list[Span] = []
        for span in self._index.events_between(facts.name, start, end, _EVENTS):
            if span.rank not in self._ranks:
                continue
            if span.type == "decision":
                decided.append(span)
            elif span.type == "turn" and words_of(_said_by_user(span.text)):
                asked.append(span)
        decided = decided[1 - _PER_SESSION :]
        first = max(1, _PER_SESSION - len(decided) - 1)
        last = asked[first:][-1:] if len(decided) + first < _PER_SESSION else []
        return [
            *self._pieces_of(asked[:first], _said_by_user),
            *self._pieces_of(decided, "Decided: {}".format),
            *self._pieces_of(last, _said_by_user),
        ]

    def _pieces_of(self, spans: Iterable[Span], part: Callable[[str], str] = str) -> Iterator[_Piece]:
        """A part of each entry that may leave, as far as it still holds."""
        for span in spans:
            if self._may_inject(span.text, span) and (clean := self._egress.clean(span.text)):
                shown = plain(shortened(part(clean), _LONGEST))
                yield _Piece(shown, span, words_of(shown))

    # A line

    def _when_and_where(self, place: Place) -> str:
        moment = timestamps.parse(place.at)
        when = f"{self._bundle.world.local(moment.timestamp()):%Y-%m-%d}" if moment else "undated"
        facts = self._index.session(place.session) if place.session else None
        name = facts.title if facts and facts.title else place.session
        if not name or (name == place.session and _MACHINE_MADE.search(name)):
            return when
        return f"{when}, {self._egress.name(plain(shortened(name, _LABEL)))}"


def _said_by_user(turn: str) -> str:
    found = _USER_PART.match(turn)
    return found[1] if found else ""


def _newest_first(pieces: Iterable[_Piece]) -> list[_Piece]:
    """The pieces in their order, but of two about one subject the newer first: it may say otherwise."""
    found: list[_Piece] = []
    for piece in pieces:
        older = (
            number
            for number, other in enumerate(found)
            if other.place.at < piece.place.at and _overlap(piece.words, other.words) >= _SAME_SUBJECT
        )
        found.insert(next(older, len(found)), piece)
    return found


def _overlap(one: frozenset[str], other: frozenset[str]) -> float:
    return len(one & other) / max(1, min(len(one), len(other)))


def _says(known: Iterable[frozenset[str]], text: str) -> bool:
    """Whether one of the known texts has nearly all words of this one, but for those that say nothing."""
    text = _WHO.sub("", text)
    words = _roots(" ".join(words_of(text)))
    words = words if len(words) > 1 else _roots(text)
    return bool(words) and any(len(words & one) >= _KNOWN * len(words) for one in known)


def _roots(text: str) -> frozenset[str]:
    return frozenset(map(root, WORD.findall(fold(text)))) - STOP


def _alike(one: frozenset[str], other: frozenset[str]) -> bool:
    """Whether two texts say nearly the same: many copies of one fact must not crowd out the others."""
    return len(one & other) >= _ALIKE * len(one | other) > 0
