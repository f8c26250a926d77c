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
    stakes: frozenset[Stake] = frozenset()


CLEAN = Taint()


def taint_of(text: str, heard: Heard, *, beside: Iterable[Result] = ()) -> Taint:
    """What an entry came from, by what its session heard; `beside` is what else it may repeat."""
    results = [*heard.results, *beside]
    if not results:
        return CLEAN
    wanted = _Wanted.of(text)
    own = _own_words(heard)
    found = sorted(
        (match for result in results if (match := _match(wanted, result, own)) is not None),
        key=lambda match: match.score,
        reverse=True,
    )
    stakes = stakes_of(text)
    if not found:
        return _unexplained(wanted, heard, own, stakes)
    best = found[0].result
    others = tuple(
        dict.fromkeys(
            match.result.source
            for match in found[1:]
            if match.result.source != best.source and match.score >= found[0].score * 0.8
        )
    )
    confirmed = _is_asked_for(wanted, found[0], stakes, heard)
    risky = frozenset() if best.recalled else stakes - _HARMLESS.get(best.channel, frozenset())
    return Taint(best.channel, best.source, others[:3], confirmed, risky)


# --- what is compared ------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Wanted:
    """The units of an entry: its anchors with their pieces, and the stems of its words."""

    anchors: Mapping[str, frozenset[str]]
    words: frozenset[str]

    @classmethod
    def of(cls, text: str) -> _Wanted:
        anchors: dict[str, frozenset[str]] = {}
        words: set[str] = set()
        for chunk in units(text):
            if chunk[0].is_anchor:
                anchors[chunk[0].key] = frozenset(unit.key for unit in chunk[1:])
            else:
                words.update(unit.key for unit in chunk)
        return cls(anchors, frozenset(words))

    @property
    def size(self) -> int:
        return len(self.anchors) + len(self.words)


def _keys(words: Iterable[str]) -> frozenset[str]:
    return frozenset(chunk[0].key for word in words for chunk in units(word))


@lru_cache(maxsize=256)
def _sequence(text: str) -> tuple[tuple[str, ...], ...]:
    return tuple(tuple(unit.key for unit in chunk) for chunk in units(text))


def _own_words(heard: Heard) -> frozenset[str]:
    """What the user said, also where an entry has the beginning of a word, as kindred languages do."""
    said = {key for one in heard.said for chunk in _sequence(one.text) for key in chunk}
    return frozenset(said | {key[:end] for key in said if key.isalpha() for end in range(3, len(key))})


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
    passage: tuple[str, ...]
    score: float


def _match(wanted: _Wanted, result: Result, own: frozenset[str]) -> _Match | None:
    """How far an entry says what a result says, and the user did not; None where it does not."""
    sequence = _sequence(result.text)
    here = {key for chunk in sequence for key in chunk}
    anchors = frozenset(
        anchor
        for anchor, pieces in wanted.anchors.items()
        if (anchor in here or _is_part(anchor, here)) and not _is_own(anchor, pieces, own)
    )
    words = wanted.words | {anchor for anchor in wanted.anchors if anchor in here}
    begin, together = _densest(words & here, sequence)
    foreign = frozenset(together - own - wanted.anchors.keys())
    size = max(1, wanted.size)
    cover, share = len(together) / size, len(foreign) / size
    is_from = (
        bool(anchors)
        or (len(foreign) >= 3 and share >= 0.3)
        or (len(foreign) == 2 and (cover >= 0.5 and share >= 0.25))
        or (len(foreign) == 1 and (cover >= 0.6 and share >= 0.5))
        or (len(foreign) == 1 and cover >= 0.6 and bool(foreign & _TELLING))
    )
    if not is_from:
        return None
    passage = tuple(key for chunk in sequence[max(0, begin - 20) : begin + _WINDOW + 20] for key in chunk)
    return _Match(result, anchors, foreign, passage, 2 * len(anchors) + len(foreign) + cover)


def _is_part(anchor: str, here: set[str]) -> bool:
    """Whether a host, an address or a path is in a result inside a longer one."""
    return len(anchor) > 5 and any(len(key) > len(anchor) and anchor in key for key in here)


def _densest(keys: frozenset[str], sequence: tuple[tuple[str, ...], ...]) -> tuple[int, set[str]]:
    """Where in a text most of these units are within one window, and which."""
    hits = [(place, key) for place, chunk in enumerate(sequence) for key in chunk if key in keys]
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
    return where, best


_TELLING = _keys(lexicon.TELLING)
"""Words that turn a statement around: one of them alone from a result is enough where the rest is there too."""


def _unexplained(wanted: _Wanted, heard: Heard, own: frozenset[str], stakes: frozenset[Stake]) -> Taint:
    """An entry that no result has in its words. Behind a foreign text, in another language say, one with something at
    stake that the user never spoke of is not confirmed all the same."""
    if not stakes or not wanted.size:
        return CLEAN
    said = len((wanted.words | wanted.anchors.keys()) & own)
    if said / wanted.size >= 0.3:
        return CLEAN
    now = [one for one in heard.results if one.turn == heard.turn and one.channel in _FOREIGN]
    if not now or any(True for _ in _requests(heard)):
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
        keys = {key for chunk in _sequence(sentence) for key in chunk}
        found.append(_Request(frozenset(keys - _REFERRING), stakes_named(sentence), said.shown))
    return tuple(found)


def _is_asked_for(wanted: _Wanted, match: _Match, stakes: frozenset[Stake], heard: Heard) -> bool:
    """Whether the user asked to keep just this."""
    mine = (
        wanted.words | wanted.anchors.keys() | {piece for each in wanted.anchors.values() for piece in each}
    )
    for request in _requests(heard):
        if _was_shown(match, request.shown) and len(request.topic - mine) <= 2:
            return True
        is_about = bool(request.topic & mine)
        if stakes:
            if is_about and stakes - {"order"} <= request.stakes:
                return True
        elif not request.topic or is_about or request.topic & set(match.passage):
            return True
    return False


def _was_shown(match: _Match, shown: str) -> bool:
    """Whether the assistant had shown it to the user, who answered with the request."""
    if not shown:
        return False
    there = {key for chunk in _sequence(shown) for key in chunk}
    return (match.anchors <= there) and len(match.words & there) >= len(match.words) * 0.6
