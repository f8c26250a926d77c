"""Retracted texts: the one place that knows where else such a text is, and what of it an agent gets.

An entry holds here while it is in the tree, for this machine, not retracted, not the losing side of a contest and not
hidden by the scanner. What repeats one that holds no more is known in two ways, and no words are compared:

- by link: the turn in which a session wrote the entry goes with it, whole, in whatever words and language it was;
- by key: a number, an id, an address or a name that the entry brought into the memory (`gitmem.text.keys`), or one of its
  sentences word for word. The sentence that has it is left out, with a gap in its place.

What was said after the removal is never left out: the line of commits says what came after. Nor is what knowledge that
holds says too: a curated entry always does; a decision, a plan or another concept where it is younger than the removal,
since a person or an agent wrote it knowing that.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Protocol

from gitmem.index.lookup import Standing as Span
from gitmem.index.records import DEPRECATED
from gitmem.okf.entries import entry_hash
from gitmem.okf.layout import USER_PROFILE
from gitmem.text.keys import is_sure, keys_of, says, stretches, tokens_of, without
from gitmem.text.words import STOP, root

if TYPE_CHECKING:
    from gitmem.index.lookup import Span as Event
    from gitmem.index.records import Place

_OBSERVATION = "observation"
_RECORDS = (_OBSERVATION, USER_PROFILE)
"""What says that something was known once, not that it holds."""
_MOST_RIVALS = 50
_MOST_SHARING = 8
_MOST_STEPS = 8


class Index(Protocol):
    """The search index's knowledge of keys and of the places of entries."""

    def has_keys(self) -> bool: ...
    def has_retractions(self) -> bool: ...
    def keys_near(self, tokens: Iterable[str]) -> list[tuple[int, str]]: ...
    def was_known(self, phrase: str, entry: int, seq: int, session: str) -> bool: ...
    def written_in(self, session: str) -> list[tuple[int, str, str]]: ...
    def turns_beside(self, session: str, at: str) -> tuple[list[Event], list[Event]]: ...
    def retracted_among(self, names: Iterable[str]) -> set[str]: ...
    def standings(self, entry: int) -> list[Span]: ...
    def time_of(self, seq: int) -> str: ...
    def rivals(self, path: str, replaces: str) -> list[Span]: ...
    def successors(self, key: str) -> list[tuple[int, str]]: ...
    def knowledge_with(self, phrase: str, limit: int) -> list[tuple[int, str]]: ...
    def text_of(self, entry: int) -> str: ...


@dataclass(frozen=True, slots=True)
class _Fate:
    """Fate of an entry."""

    holds: bool
    curated: bool
    keys: tuple[str, ...]
    """The hashes under which it was curated."""
    since: int = 0
    """From which commit of the line on it holds."""
    left: int = 0
    """The commit with which it was taken out; 0 for one that is there, and hidden or another machine's."""
    left_at: str = ""
    came: int = 0
    """The commit that brought it first, and in which session."""
    session: str = ""
    retracted: bool = False
    observed: bool = False
    """Whether it is only what an agent saw, which is no knowledge."""

    def is_after(self, place: Place | None) -> bool:
        """Say whether a text is older than the removal; what has no place counts as older.

        The line of commits says so. A record that was committed later, here or on another machine, has its own time.
        """
        return place is None or not self.left or place.from_seq < self.left or place.at < self.left_at


class Standing:
    """The standing of entries, for one answer. `scopes` are those that hold; none is all of them."""

    def __init__(
        self,
        index: Index,
        scopes: Sequence[str],
        *,
        held: Callable[[], Sequence[str]],
        is_hidden: Callable[[str], bool],
    ) -> None:
        """`held` gives the keys and quotes of what waits in quarantine."""
        self._index = index
        self._scopes = scopes
        self._held = held
        self._is_hidden = is_hidden
        self._fates: dict[int, _Fate] = {}
        self._known: dict[tuple[int, str], bool] = {}
        self._turns: dict[str, dict[str, tuple[_Fate, str]]] = {}

    def kept(self, text: str, place: Place | None = None) -> str:
        """The text with a gap for each sentence that no longer holds; empty where it says nothing else."""
        if place is not None and self._turn_is_gone(place):
            return ""
        words = {word for _, word in self._gone(text, place)}
        words |= {word for word in self._held() if tokens_of(word) <= tokens_of(text)}
        keys, quotes = ({one for one in words if (" " in one) is spaced} for spaced in (False, True))
        spans = {*(says(text, keys, quotes) if words else ()), *self._retracted(text)}
        return without(text, sorted(spans)) if spans else text

    def instead(self, text: str, place: Place | None = None) -> str:
        """The wording that holds now, for a text that has an older one; empty where none does."""
        for fate, _ in self._gone(text, place):
            wording = self._successor(fate) if fate.curated else ""
            if wording and wording not in text:  # what a text says itself needs no note
                return wording
        return ""

    # One text

    def _gone(self, text: str, place: Place | None) -> list[tuple[_Fate, str]]:
        """The keys and quotes that a text may have of entries that hold no more, and held when it was written."""
        near = self._index.keys_near(tokens_of(text)) if self._has_keys else []
        shared = Counter(word for _, word in near)
        found = []
        for entry, word in near:
            # A name that many entries have is a word like another: none of them brought it.
            if shared[word] > _MOST_SHARING and " " not in word and not is_sure(word):
                continue
            fate = self._fate(entry)
            if fate.holds and not self._hides(entry, fate):
                continue
            if fate.is_after(place) and self._tells(entry, word, fate):
                found.append((fate, word))
        return found

    def _tells(self, entry: int, word: str, fate: _Fate) -> bool:
        """Return whether a word says that a text speaks of an entry: the entry brought it, and nothing that holds has it."""
        known = self._known.get((entry, word))
        if known is None:
            is_quote = " " in word
            known = self._known[entry, word] = not self._still_said(entry, word, fate) and (
                is_quote or is_sure(word) or not self._index.was_known(word, entry, fate.came, fate.session)
            )
        return known

    def _still_said(self, gone: int, word: str, fate: _Fate) -> bool:
        """Return whether knowledge that holds has a word of an entry that is gone."""
        if " " in word and any(self._still_said(gone, one, fate) for one in word.split() if is_sure(one)):
            return True
        for entry, text in self._index.knowledge_with(word, _MOST_RIVALS):
            other = self._fate(entry)
            if entry == gone or not other.holds or self._hides(entry, other) or not _outlives(other, fate):
                continue
            if " " in word or word in keys_of(text):
                return True
        return False

    def _retracted(self, text: str) -> list[tuple[int, int]]:
        """The sentences that are a retracted entry, word for word: its text may never have been here."""
        if not self._has_retractions:
            return []
        names = {name: span for span in stretches(text) for name in _names(text[slice(*span)])}
        return [names[name] for name in self._index.retracted_among(names)]

    # One turn

    def _turn_is_gone(self, place: Place) -> bool:
        """Return whether an event belongs to a turn that wrote an entry which was taken out, and which nothing replaced."""
        if place.space != "event" or not place.session or place.type == "decision":
            return False
        gone = self._gone_in(place.session)
        if not gone:
            return False
        _, behind = self._index.turns_beside(place.session, place.at)
        turn = place.key if place.type == "turn" else behind[0].key if behind else ""
        return turn in gone and gone[turn][0].is_after(place)

    def is_of_gone_turn(self, session: str, text: str) -> bool:
        """Return whether some words, a title say, are those of a turn of a session that was taken back."""
        words = text.rstrip("… ").casefold()
        gone = self._gone_in(session) if words else {}
        return any(words in said for _, said in gone.values())

    def _gone_in(self, session: str) -> dict[str, tuple[_Fate, str]]:
        if session not in self._turns:
            self._turns[session] = self._gone_turns(session)
        return self._turns[session]

    def _gone_turns(self, session: str) -> dict[str, tuple[_Fate, str]]:
        """The turns of a session that wrote what is gone, by their ids: what became of it, and what was said."""
        found = {}
        for entry, at, text in self._index.written_in(session):
            fate = self._fate(entry)
            if not fate.holds and fate.left and not self._successor(fate):
                before, behind = self._index.turns_beside(session, at)
                # A turn is recorded when it is over. A program of one's own may do so before it writes the entry.
                turns = sorted([*behind, *before], key=lambda one: _shares(text, one.text), reverse=True)
                if turns:
                    found[turns[0].key] = fate, " ".join(turns[0].text.casefold().split())
        return found

    # Entries

    @cached_property
    def _has_keys(self) -> bool:
        return self._index.has_keys()

    @cached_property
    def _has_retractions(self) -> bool:
        return self._index.has_retractions()

    def _fate(self, entry: int) -> _Fate:
        fate = self._fates.get(entry)
        if fate is None:
            fate = self._fates[entry] = self._fate_of(self._index.standings(entry))
        return fate

    def _fate_of(self, spans: Sequence[Span]) -> _Fate:
        curated = [span for span in spans if _is_curated(span)] or [
            span for span in spans if span.space == "§"
        ]
        keys = tuple(dict.fromkeys(span.key for span in curated))
        retracted = bool(keys) and bool(self._index.retracted_among(keys))
        ours = curated or spans
        left = max((span.to_seq for span in ours if span.to_seq), default=0)
        left = left if all(span.to_seq for span in ours) else 0
        holding = [span for span in spans if not retracted and self._holds(span)]
        if curated and not any(span in curated for span in holding):
            # It was curated and is not any more: a concept with the same words has to be younger than that. A page of
            # the user's profile only says that it was learned that day.
            holding = [one for one in holding if 0 < left <= one.from_seq and one.type not in _RECORDS]
        return _Fate(
            # One that never was knowledge says nothing that could be gone.
            bool(holding) or not spans,
            any(span.space == "§" for span in (holding or spans)),
            keys,
            max((span.from_seq for span in holding), default=0),
            left,
            self._index.time_of(left) if left else "",
            min((span.from_seq for span in spans), default=0),
            spans[0].session if spans else "",
            retracted,
            bool(spans) and all(span.type == _OBSERVATION for span in spans),
        )

    def _holds(self, span: Span) -> bool:
        if span.to_seq is not None or span.trust <= DEPRECATED:
            return False
        if span.type == "decision":  # the event; whether it holds its concept says
            return False
        if self._scopes and span.scope not in self._scopes:
            return False
        if not span.replaces or span.space != "§":
            return True
        rivals = self._index.rivals(span.path, span.replaces)
        return all((one.at, one.key) <= (span.at, span.key) for one in rivals)

    def _hides(self, entry: int, fate: _Fate) -> bool:
        """Return whether the scanner keeps an entry that is in the tree from every prompt."""
        return fate.curated and fate.holds and self._is_hidden(self._index.text_of(entry))

    def _successor(self, fate: _Fate) -> str:
        """Return what took an entry's place and holds now, by however many steps."""
        waiting, seen = list(fate.keys), set(fate.keys)
        for _ in range(_MOST_STEPS):
            if not waiting:
                break
            for entry, text in self._index.successors(waiting.pop(0)):
                other = self._fate(entry)
                if other.holds:
                    return "" if self._hides(entry, other) else text
                fresh = [key for key in other.keys if key not in seen]
                waiting += fresh
                seen.update(fresh)
        return ""


def _is_curated(span: Span) -> bool:
    return span.space == "§" and span.type != USER_PROFILE


def _outlives(other: _Fate, gone: _Fate | None) -> bool:
    """Return whether an entry that holds may say what one that is gone said."""
    if other.curated:
        return True
    if gone is None or gone.retracted or (other.observed and not gone.observed):
        return False
    return not gone.curated or 0 < gone.left <= other.since


def _names(sentence: str) -> Iterable[str]:
    """The names under which an entry of these words would be retracted, as people would write it."""
    bare = sentence.strip().rstrip(".")
    for one in (bare, f"{bare}."):
        yield entry_hash(one)
        yield entry_hash(one[:1].upper() + one[1:])


def _shares(text: str, turn: str) -> int:
    """The number of words and keys of an entry that a turn has, to tell the one before it from the one behind it."""
    words = {root(one) for one in tokens_of(text) - STOP}
    return len(words & {root(one) for one in tokens_of(turn)}) + len(keys_of(text) & keys_of(turn))
