"""Taint by content: whether what an entry says is the user's own, or came out of a tool and nobody confirmed it.

An agent rewrites what it reads; names, numbers, addresses and most of the content words survive. So an entry is held
against what its session heard, piece by piece of each tool result, and what the user said himself is taken away first.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache
from itertools import islice
from operator import attrgetter, itemgetter

from gitmem.safety import _lexicon as lexicon
from gitmem.safety._words import units
from gitmem.safety.heard import Channel, Heard, Result, Said
from gitmem.safety.stakes import STAKES, Stake, stakes_named, stakes_of

_WINDOW = 60
"""Words: how far apart the pieces of one statement are in a result."""
_RECENT = 3
"""Messages of the user in which a request to keep something counts."""
_MACHINE: frozenset[Stake] = frozenset(("host", "address", "credential"))
"""What an agent may have seen of the machine itself: that it says so changes nothing."""
_HARMLESS: Mapping[Channel, frozenset[Stake]] = {"shell": _MACHINE, "recall": frozenset(STAKES)}


@dataclass(frozen=True, slots=True)
class Taint:
    """What an entry came from (nothing where no result has it), whether a person confirmed it, and what is at stake."""

    channel: Channel | None = None
    source: str = ""
    others: tuple[str, ...] = ()
    """Further sources that have it too."""
    confirmed: bool = True
    weighed: str = ""
    """The entry, where it matters what is at stake."""
    harmless: frozenset[Stake] = frozenset()

    @property
    def stakes(self) -> frozenset[Stake]:
        """What would change if it were believed. Only an entry that may wait for a person is asked for it."""
        return stakes_of(self.weighed) - self.harmless if self.weighed else frozenset()


CLEAN = Taint()


def taint_of(text: str, heard: Heard, *, beside: Iterable[Result] = ()) -> Taint:
    """What an entry came from, by what its session heard; `beside` is what else it may repeat."""
    results = [*heard.results, *beside]
    if not results:
        return CLEAN
    wanted = _Wanted.of(text, heard)
    found = _matches(wanted, results)
    if not found:
        return _unexplained(text, wanted, heard)
    best = found[0].result
    others = tuple(
        dict.fromkeys(
            match.result.source
            for match in found[1:]
            if match.result.source != best.source and match.score >= found[0].score * _ALIKE
        )
    )
    confirmed = _is_asked_for(text, wanted, found[0], heard)
    harmless = _HARMLESS.get(best.channel, frozenset())
    return Taint(best.channel, best.source, others[:3], confirmed, "" if best.recalled else text, harmless)


# --- what is compared ------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Wanted:
    """The units of an entry: its anchors, the stems of its words, and which of both the user never said."""

    anchors: frozenset[str]
    pieces: frozenset[str]
    """What the anchors consist of."""
    words: frozenset[str]
    own: frozenset[str]
    """What of it all the user said."""
    foreign_anchors: frozenset[str]
    foreign_words: frozenset[str]

    @classmethod
    def of(cls, text: str, heard: Heard) -> _Wanted:
        anchors: dict[str, frozenset[str]] = {}
        words: set[str] = set()
        for chunk in units(text):
            if chunk[0].is_anchor:
                anchors[chunk[0].key] = frozenset(unit.key for unit in chunk[1:])
            else:
                words.update(unit.key for unit in chunk)
        all_pieces = frozenset(piece for pieces in anchors.values() for piece in pieces)
        own = _own_words(all_pieces | words | anchors.keys(), heard)
        return cls(
            frozenset(anchors),
            all_pieces,
            frozenset(words),
            own,
            frozenset(anchor for anchor, pieces in anchors.items() if not _is_own(anchor, pieces, own)),
            frozenset(words - own - anchors.keys()),
        )

    @property
    def keys(self) -> frozenset[str]:
        return self.anchors | self.words

    @property
    def size(self) -> int:
        return max(1, len(self.anchors) + len(self.words))


def _keys(words: Iterable[str]) -> frozenset[str]:
    return frozenset(chunk[0].key for word in words for chunk in units(word))


class _Read:
    """A text that is compared with many entries: its units in order, and where each of them is."""

    __slots__ = ("keys", "places", "sequence", "together")

    def __init__(self, text: str) -> None:
        self.sequence = tuple(tuple(unit.key for unit in chunk) for chunk in units(text))
        self.places: dict[str, list[int]] = {}
        for place, chunk in enumerate(self.sequence):
            for key in chunk:
                self.places.setdefault(key, []).append(place)
        self.keys = frozenset(self.places)
        self.together = "\n".join(self.keys)
        """One string, so that a part of any unit is found in one search."""


@lru_cache(maxsize=512)
def _read(text: str) -> _Read:
    return _Read(text)


@lru_cache(maxsize=512)
def _said_in(text: str) -> frozenset[str]:
    """The units of what the user said, also the beginning of a word, as kindred languages have it."""
    keys = _read(text).keys
    return keys | {key[:end] for key in keys if key.isalpha() for end in range(3, len(key))}


def _own_words(keys: frozenset[str], heard: Heard) -> frozenset[str]:
    """Those of these units that the user said. It is asked message by message: a session's grow, and are read once."""
    return frozenset().union(*(keys & _said_in(one.text) for one in heard.said))


def _is_own(anchor: str, pieces: frozenset[str], own: frozenset[str]) -> bool:
    """Whether the user named it: in full, or by the piece that tells it from others."""
    if anchor in own:
        return True
    telling = {piece for piece in pieces if len(piece) > 3 or any(sign.isdigit() for sign in piece)}
    return bool(telling) and not _is_address(anchor) and telling <= own


def _is_address(anchor: str) -> bool:
    return "@" in anchor or sum(sign.isdigit() for sign in anchor) > 6


@dataclass(frozen=True, slots=True)
class _Match:
    result: Result
    anchors: frozenset[str]
    """Anchors of the entry that the result has and the user never named."""
    words: frozenset[str]
    """Words likewise, in the piece of the result that has most of the entry."""
    begin: int
    """Where that piece begins."""
    score: float

    @property
    def passage(self) -> set[str]:
        """What the result says around it."""
        around = _read(self.result.text).sequence[max(0, self.begin - 20) : self.begin + _WINDOW + 20]
        return {key for chunk in around for key in chunk}


_ALIKE = 0.8
"""A source counts beside the best one from this share of its score on."""


def _matches(wanted: _Wanted, results: Iterable[Result]) -> list[_Match]:
    """The results that an entry may come from, the best first, down to those that count beside it."""
    hopeful = []
    for result in results:
        read = _read(result.text)
        anchors = frozenset(
            anchor for anchor in wanted.foreign_anchors if anchor in read.keys or _is_part(anchor, read)
        )
        foreign = wanted.foreign_words & read.keys
        # The units of one window are at most those of the whole result.
        if anchors or len(foreign) >= 0.25 * wanted.size or foreign & _TELLING:
            hopeful.append((2 * len(anchors) + len(foreign) + 1, result, read, anchors))
    found: list[_Match] = []
    best = 0.0
    for most, result, read, anchors in sorted(hopeful, key=itemgetter(0), reverse=True):
        if most < best * _ALIKE:
            break
        if (match := _match(wanted, result, read, anchors)) is not None:
            found.append(match)
            best = max(best, match.score)
    return sorted(found, key=attrgetter("score"), reverse=True)


def _match(wanted: _Wanted, result: Result, read: _Read, anchors: frozenset[str]) -> _Match | None:
    """How far an entry says what a result says, and the user did not; None where it does not."""
    begin, together = _densest(wanted.keys & read.keys, read)
    foreign = wanted.foreign_words & together
    cover, share = len(together) / wanted.size, len(foreign) / wanted.size
    is_from = (
        bool(anchors)
        or (len(foreign) >= 3 and share >= 0.3)
        or (len(foreign) == 2 and (cover >= 0.5 and share >= 0.25))
        or (len(foreign) == 1 and (cover >= 0.6 and share >= 0.5))
        or (len(foreign) == 1 and cover >= 0.6 and bool(foreign & _TELLING))
    )
    if not is_from:
        return None
    return _Match(result, anchors, foreign, begin, 2 * len(anchors) + len(foreign) + cover)


def _is_part(anchor: str, read: _Read) -> bool:
    """Whether a host, an address or a path is in a result inside a longer one."""
    return len(anchor) > 5 and anchor in read.together


def _densest(keys: frozenset[str], read: _Read) -> tuple[int, frozenset[str]]:
    """Where in a text most of these units are within one window, and which."""
    if len(read.sequence) <= _WINDOW:
        return min((read.places[key][0] for key in keys), default=0), keys
    hits = sorted((place, key) for key in keys for place in read.places[key])
    best: set[str] = set()
    where = start = 0
    counts: dict[str, int] = {}
    for place, key in hits:
        counts[key] = counts.get(key, 0) + 1
        while place - hits[start][0] > _WINDOW:
            gone = hits[start][1]
            counts[gone] -= 1
            if not counts[gone]:
                del counts[gone]
            start += 1
        if len(counts) > len(best):
            best, where = set(counts), hits[start][0]
    return where, frozenset(best)


_TELLING = _keys(lexicon.TELLING)
"""Words that turn a statement around: one of them alone from a result is enough where the rest is there too."""


def _unexplained(text: str, wanted: _Wanted, heard: Heard) -> Taint:
    """An entry that no result has in its words. Behind a foreign text, in another language say, one with something at
    stake that the user never spoke of is not confirmed all the same."""
    now = [one for one in heard.results if one.turn == heard.turn and one.channel in _FOREIGN]
    if not now or not wanted.keys or len(wanted.keys & wanted.own) / wanted.size >= 0.3:
        return CLEAN
    if not stakes_of(text) or any(True for _ in _requests(heard)):
        return CLEAN
    return Taint(now[-1].channel, now[-1].source, (), confirmed=False)


_FOREIGN: frozenset[Channel] = frozenset(("web", "mail", "agent", "file", "tool", "remote"))


# --- what the user asked to keep -------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Request:
    """A sentence in which the user asks to keep something, and what about."""

    topic: frozenset[str]
    stakes: frozenset[Stake]
    shown: str


_KEEP, _NOT, _ASKING = (
    re.compile(words, re.IGNORECASE) for words in (lexicon.KEEP, lexicon.NOT, lexicon.ASKING)
)
_SENTENCE = re.compile(r"[^.!?\n。！？]+(?:[.!?](?=\w)[^.!?\n。！？]*)*")
_REFERRING = _keys(lexicon.REFERRING)


def _requests(heard: Heard) -> Iterator[_Request]:
    recent = list(islice(reversed(heard.said), _RECENT))
    for said in recent:
        yield from _requests_in(said)


@lru_cache(maxsize=256)
def _requests_in(said: Said) -> tuple[_Request, ...]:
    found = []
    text = said.text[:4_000]
    for match in _SENTENCE.finditer(text):
        sentence = match[0]
        asked = _KEEP.search(sentence)
        if asked is None or _NOT.search(sentence[: asked.start()]) or _ASKING.search(sentence):
            continue
        keys = _read(sentence).keys
        found.append(_Request(frozenset(keys - _REFERRING), stakes_named(sentence), said.shown))
    return tuple(found)


def _is_asked_for(text: str, wanted: _Wanted, match: _Match, heard: Heard) -> bool:
    """Whether the user asked to keep just this."""
    mine = wanted.keys | wanted.pieces
    for request in _requests(heard):
        if _was_shown(match, request.shown) and len(request.topic - mine) <= 2:
            return True
        is_about = bool(request.topic & mine)
        if stakes := stakes_of(text):
            if is_about and stakes - {"order"} <= request.stakes:
                return True
        elif not request.topic or is_about or request.topic & match.passage:
            return True
    return False


def _was_shown(match: _Match, shown: str) -> bool:
    """Whether the assistant had shown it to the user, who answered with the request."""
    if not shown:
        return False
    there = _read(shown).keys
    return (match.anchors <= there) and len(match.words & there) >= len(match.words) * 0.6
