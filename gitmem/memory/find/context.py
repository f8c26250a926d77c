"""Context: what is recalled for one turn, unasked. A few lines that have to do with it, as data and not as instructions.

An entry is recalled if it has two telling words of the prompt (or all of them) or a rare one, and enough of the prompt by
how rare each word is; of a turn the user's message decides, or a short answer. Where the prompt speaks of what is ours, less
is enough than elsewhere.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import cycle, islice
from typing import TYPE_CHECKING, NamedTuple

from gitmem.index.candidates import Candidates, find
from gitmem.index.filters import Filters
from gitmem.index.marking import Found, found_terms
from gitmem.index.messages import split
from gitmem.memory.find.date_questions import Stretch, TurnQuestion
from gitmem.memory.find.question import is_one_subject, says_little, telling_words
from gitmem.memory.find.search import Search, on_one_line
from gitmem.memory.gate.egress import DOUBTED, Egress, Standing
from gitmem.memory.indexing import Indexing
from gitmem.okf import layout, timestamps
from gitmem.okf.entries import EntryKey
from gitmem.okf.plain import plain, shortened
from gitmem.okf.ranks import KNOWLEDGE, SAID
from gitmem.safety.fence import fence
from gitmem.text.words import roots, sentences

if TYPE_CHECKING:
    from gitmem.index.lookup import Span
    from gitmem.index.readers import Reader
    from gitmem.index.records import Place, SessionFacts
    from gitmem.memory.bundle import Bundle
    from gitmem.memory.find.ranking import Ranked
    from gitmem.memory.indexing import Index
    from gitmem.okf.ranks import Rank

_LONGEST = 240  # characters of a message in a line
_LABEL = 40
_MOST = 6
_LOOKED_AT = 24
"""Candidates, from the best on, whose sentences are looked at."""
_SENTENCES = 3
_READ = 20_000  # characters of a text in which the sentences are looked for
_ELSEWHERE = (0.3, 0.15)
"""What is added to the least share of a prompt where it does not speak of what is ours: by two words, by a rare one."""
_FEW, _RARE = 5, 0.001
"""Messages, and the share of all of them, up to which a word is rare."""
_SHORT = 60
"""Words of an agent's answer up to which it decides as well."""
_SMALL = 500
"""Messages: in a memory that has fewer, a word that is missing says as little as one that is there once."""
_WORTH = 0.7  # of the best one's share of the question: what has less is left out
_KNOWN = 0.8
"""The share of a line's words from which an entry of the prompt block says it already."""
_SESSIONS = 5
_LOOKED_BACK_AT = 100
_PER_SESSION = 3
_EVENTS = 200
# What no person chose as a name: long numbers, hashes, times.
_MACHINE_MADE = re.compile(r"\d{5,}|(?=[a-f]*\d)[0-9a-f]{6,}", re.IGNORECASE)


class Shown(NamedTuple):
    """The part of an entry that a line shows, clean and on one line."""

    text: str
    place: Place
    unconfirmed: str = ""
    since: str = ""
    """The wording that holds now, where it says an older one."""

    @property
    def path(self) -> str:
        return self.place.path

    @property
    def key(self) -> EntryKey:
        return EntryKey(self.place.space, self.place.key)

    @property
    def session(self) -> str:
        return self.place.session


@dataclass(frozen=True, slots=True)
class Context:
    """Recalled lines, and the origin of each."""

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
) -> Context:
    """The entries worth knowing for a turn; the block for the prompt is within `budget` characters.

    Nothing where no entry has enough of the question. Nothing of the present `session`, which the agent has before it
    anyway, and nothing that is in the prompt block: `block` is its text, or None for the curated store as a whole.
    `reader` is for whom it is, where several users talk to one agent.
    """
    room = (bundle.config.context_budget if budget is None else budget) - _OVERHEAD
    question = TurnQuestion.of(query, now=bundle.world.local(bundle.world.clock().timestamp()))
    if room <= 0 or not question:
        return Context()
    return bundle.part(Indexing).ask(
        lambda index: _Recollection(bundle, index, session, block, reader).build(question, room)
    )


class Relevance:
    """The share of a prompt that an entry must have to be put before a turn unasked."""

    def __init__(self, prompt: TurnQuestion, found: Candidates, least: float) -> None:
        self._prompt = prompt
        self._by_two, self._by_rare = (
            min(1.0, least + (0.0 if prompt.is_ours else more)) for more in _ELSEWHERE
        )
        self._enough = min(2, len(found.query.terms))
        total = max(_SMALL, found.total)
        self._rare = {
            number
            for number, (term, count) in enumerate(zip(found.query.terms, found.frequency, strict=True))
            if 0 < count <= max(_FEW, _RARE * total) and not (term.text.isdecimal() and len(term.text) < 3)
        }
        self._weights = [math.log((2 + total) / (1 + count)) for count in found.frequency]
        self._whole = sum(self._weights) or 1.0

    def share(self, ranked: Ranked) -> float:
        """The share of the prompt that an entry has, by how rare each word is; 0 where it is too little."""
        user, *answers = ranked.candidate.messages
        decide = [
            user,
            *(one for one in answers if one.length <= _SHORT),
        ]  # a long answer has two words of anything
        return max(self._share(one.counts, ranked.place.at) for one in decide)

    def _share(self, counts: Sequence[int], at: str) -> float:
        has = [number for number, count in enumerate(counts) if count]
        share = sum(self._weights[number] for number in has) / self._whole
        if self._prompt.asks_about(at):
            return 1 + share if has else 0.0  # of what was said then any word is enough
        is_enough = len(has) >= self._enough and share >= self._by_two
        is_rare = share >= self._by_rare and not self._rare.isdisjoint(has)
        return share if is_enough or is_rare else 0.0


def passage(text: str, found_in: Found, longest: int) -> str:
    """The part of a message, from a sentence on, that has most of a question; the beginning if none has any."""
    whole = on_one_line(text)
    if len(whole) <= longest:
        return whole
    said = [on_one_line(sentence) for sentence in sentences(text)]
    pieces = [
        shortened(" ".join(said[start : start + _SENTENCES]), longest)
        for start, sentence in enumerate(said)
        if found_in(sentence)
    ]
    return max(pieces, key=lambda piece: len(found_in(piece)), default=shortened(whole, longest))


class _Recollection:
    def __init__(
        self, bundle: Bundle, index: Index, session: str, block: str | None, reader: Reader | None
    ) -> None:
        self._bundle = bundle
        self._index = index
        self._session = session
        self._block = block
        self._reader = reader
        self._egress = Egress(bundle, index, reader=reader)
        page = reader.page if reader is not None else ""
        self._user_files = (layout.USER, *((layout.user_memory(page),) if page else ()))

    def build(self, question: TurnQuestion, room: int) -> Context:
        lines: list[str] = []
        shown: list[Shown] = []
        said: list[frozenset[str]] = []
        for piece in self._pieces(question):
            if _says(said, piece.text):
                continue
            source = plain(shortened(piece.unconfirmed, _LABEL))
            doubt = f"(unconfirmed, from {source}) " if source else ""
            since = f" (since then: replaced by {piece.since})" if piece.since else ""
            line = f"- {doubt}{piece.text}{since} ({self._when_and_where(piece.place)})"
            if len(line) + 1 > room:
                continue
            lines.append(line)
            shown.append(piece)
            said.append(roots(piece.text))
            room -= len(line) + 1
        # What is harmless line by line may not be so together.
        while lines and not self._egress.is_harmless("\n".join(lines)):
            lines.pop()
            shown.pop()
        return Context("\n".join(lines), tuple(shown), self._egress.withheld)

    @property
    def _ranks(self) -> tuple[Rank, ...]:
        """Return what is recalled by itself: not what a tool returned, which nobody chose to keep."""
        return (KNOWLEDGE, SAID) if self._bundle.config.session_search else (KNOWLEDGE,)

    def _pieces(self, question: TurnQuestion) -> Iterable[Shown]:
        if question.about_user:
            return self._profile()
        return self._answers(question) if question.query else self._looking_back(question.stretches)

    # By the words of a question

    def _answers(self, question: TurnQuestion) -> list[Shown]:
        """The entries that have enough of the question, the best first and of two that disagree the newer."""
        search = self._bundle.part(Search)
        here = (self._session,) if self._session else ()
        wanted = Filters(without_sessions=here, ranks=self._ranks, reader=self._reader)
        found = find(self._index.database, question.query, search.filters(self._index, wanted))
        gate = Relevance(question, found, self._bundle.config.context_share)
        found_in = found_terms(question.query.terms)
        known = self._known()
        rated: list[tuple[float, Shown]] = []
        best = 0.0
        likely = (
            (share, one)
            for one in search.ranking(self._index, found).entries()
            if (share := gate.share(one)) and not self._asks_for_reworded(question, one.place)
        )
        for share, ranked in islice(likely, _LOOKED_AT):
            shown = self._injected(ranked.candidate.text, ranked.place)
            text = self._line(shown.text, ranked, found_in) if shown is not None else ""
            if shown is None or not text:
                continue  # nor does it raise the bar for the others
            best = max(best, share)
            if not _says(known, split(ranked.candidate.text)[0]):
                rated.append((share, self._shown(plain(text), ranked.place, shown)))
        return _newest_first(piece for share, piece in rated if share >= _WORTH * best)[:_MOST]

    def _asks_for_reworded(self, question: TurnQuestion, place: Place) -> bool:
        """Return whether a turn wrote what is asked for, in words that were replaced: the prompt has the newer ones."""
        gone = self._index.gone_of_turn(place.turn) if place.type == "turn" and place.turn else []
        asked = roots(question.query.text)
        return any(2 * len(asked & roots(self._index.text_of(entry))) >= len(asked) for entry, _ in gone)

    def _injected(self, text: str, place: Place) -> Standing | None:
        """Return a text as it leaves unasked: talk that the scanner doubts is for those who search for it."""
        shown = self._egress.show(text, place)
        return shown if shown and shown.source != DOUBTED else None

    def _line(self, clean: str, ranked: Ranked, found_in: Found) -> str:
        """Return what a line shows of an entry, of each message the sentences that answer; empty for an open question."""
        said = split(clean[:_READ])
        shown = [passage(message, found_in, _LONGEST) for message in said]
        if ranked.place.type != "turn":
            return " ".join(shown)
        if said[0].rstrip().endswith(("?", "？")) and says_little(said[1:]):
            # The question was left open: what was said next may be the answer, and without one it says nothing.
            if not (behind := self._next(ranked.place)):
                return ""
            shown += behind
        return " ".join(
            f"[{who}] {text}" for who, text in zip(cycle(("user", "assistant")), shown, strict=False)
        )

    def _next(self, place: Place) -> list[str]:
        """Return what was said in the turn after one, as far as it may leave."""
        behind = self._index.events_around(place.session, place.id, 1)[-1:]
        return [
            shortened(message, _LONGEST)
            for span in behind
            if span.id != place.id and span.type == "turn" and (left := self._injected(span.text, span))
            for message in split(left.text)
        ]

    def _known(self) -> list[frozenset[str]]:
        """Return what the agent has before it in its prompt block, entry by entry."""
        if self._block is not None:
            return list(map(roots, re.split(r"\n§\n|\n\n+|\n(?=[-*] )", self._block)))
        machine = self._bundle.config.machine
        files = (layout.MEMORY, *self._user_files, *((layout.machine_memory(machine),) if machine else ()))
        return [roots(span.text) for path in files for span in self._index.spans_in(path)]

    # About the user

    def _profile(self) -> Iterator[Shown]:
        """Yield what USER.md says, but for what the prompt block has; all of it where nobody said what that has."""
        known = self._known() if self._block is not None else []
        return self._pieces_of(
            span
            for path in self._user_files
            for span in self._index.spans_in(path)
            if not _says(known, span.text)
        )

    # By time

    def _looking_back(self, stretches: Iterable[Stretch]) -> Iterator[Shown]:
        """Yield what the sessions of the first of these stretches that has any were about, the newest first."""
        root_of = self._index.roots()
        here = root_of.get(self._session, self._session)
        for stretch in stretches:
            start, end = stretch.start, stretch.end
            count = 0
            for facts in self._index.sessions_between(start, end, limit=_LOOKED_BACK_AT):
                is_here = bool(here) and root_of.get(facts.name, facts.name) == here
                if is_here or not self._egress.sees_session(facts.name):
                    continue
                recap = self._session_recap(facts, start, end)
                yield from recap
                count += bool(recap)
                if count == (1 if stretch.newest else _SESSIONS):
                    break
            if count:
                return

    def _session_recap(self, facts: SessionFacts, start: str, end: str) -> list[Shown]:
        """Return how a session began, what was decided in it, and what it came to."""
        asked: list[Span] = []
        decided: list[Span] = []
        for span in self._index.events(facts.name, _EVENTS, start=start, end=end):
            if span.rank not in self._ranks:
                continue
            if span.type == "decision":
                decided.append(span)
            elif span.type == "turn" and telling_words(_said_by_user(span.text)):
                asked.append(span)
        return [
            *self._pieces_of(asked[:1], _said_by_user),
            *self._pieces_of(decided[1 - _PER_SESSION :], "Decided: {}".format),
            *self._pieces_of(asked[1:][-1:], _said_by_user),
        ][:_PER_SESSION]

    def _pieces_of(self, spans: Iterable[Span], part: Callable[[str], str] = str) -> Iterator[Shown]:
        """A part of each entry that may leave, as far as it still holds."""
        for span in spans:
            if left := self._injected(span.text, span):
                shown = plain(shortened(part(left.text), _LONGEST))
                yield self._shown(shown, span, left)

    def _shown(self, text: str, place: Place, shown: Standing) -> Shown:
        since = plain(shortened(shown.since, _LONGEST))
        return Shown(text, place, shown.source, since)

    # A line

    def _when_and_where(self, place: Place) -> str:
        moment = timestamps.parse(place.at)
        when = f"{self._bundle.world.local(moment.timestamp()):%Y-%m-%d}" if moment else "undated"
        facts = self._index.session(place.session) if place.session else None
        name = facts.title if facts and facts.title else place.session
        if not name or (name == place.session and _MACHINE_MADE.search(name)):
            return when
        title = self._egress.title(place.session, plain(shortened(name, _LABEL)))
        return f"{when}, {title}"


def _said_by_user(turn: str) -> str:
    return split(turn)[0] if turn.startswith("[user] ") else ""


def _newest_first(pieces: Iterable[Shown]) -> list[Shown]:
    """The pieces in their order, but of two about one subject the newer first: it may say otherwise."""
    found: list[Shown] = []
    for piece in pieces:
        older = (
            number
            for number, other in enumerate(found)
            if other.place.at < piece.place.at and is_one_subject(piece.text, other.text)
        )
        found.insert(next(older, len(found)), piece)
    return found


def _says(known: Iterable[frozenset[str]], text: str) -> bool:
    """Return whether one of the known texts has nearly all words of this one, but for those that say nothing."""
    words = roots(" ".join(telling_words(text)))
    words = words if len(words) > 1 else roots(text)
    return bool(words) and any(len(words & one) >= _KNOWN * len(words) for one in known)
