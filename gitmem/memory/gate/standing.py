"""Retracted texts: the one place that knows where else such a text is, and what of it an agent gets.

An entry holds here while it is in the tree, for this machine, not retracted, not the losing side of a contest and not
hidden by the scanner. What repeats one that holds no more is known in three ways:

- by link: the turn that wrote the entry goes with it, whole, in whatever words and language it was;
- by link: an answer of a turn that was shown the entry, or was asked for it, repeats it in other words (`restated`);
- by key: a number, an id, an address or a name that the entry brought into the memory (`gitmem.text.keys`), or one of its
  sentences word for word. The sentence that has it is left out, with a gap in its place.

What was said after the removal is never left out: the line of commits says what came after. Nor is what knowledge that
holds says too: a curated entry always does; a decision, a plan or another concept where it is younger than the removal,
since a person or an agent wrote it knowing that.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

from gitmem.memory.gate.restated import Restatements
from gitmem.okf.entries import entry_hash
from gitmem.okf.layout import SESSION, USER_PROFILE
from gitmem.safety.channels import asks_to_keep
from gitmem.text.keys import (
    CHANGED,
    is_brief,
    is_common,
    is_sure,
    keys_of,
    says,
    stretches,
    subject,
    tokens_of,
    without,
)

if TYPE_CHECKING:
    from gitmem.index.lookup import Lookup, Span
    from gitmem.index.records import Place

_OBSERVATION = "observation"
_RECORDS = (_OBSERVATION, USER_PROFILE)
"""What says that something was known once, not that it holds."""
_MOST_RIVALS = 50
_MOST_SHARING = 8
_MOST_STEPS = 8
_ASSENT, _NOD = 30, 12
"""Characters up to which the user confirms what was said before, and up to which nothing new is said."""


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


class Validity:
    """Validity of texts, for one answer: what of each still holds. `scopes` are those that hold; none is all of them."""

    def __init__(
        self,
        index: Lookup,
        scopes: Sequence[str],
        *,
        held: Callable[[], Sequence[tuple[str, str]]],
        is_hidden: Callable[[str], bool],
        came_from: Callable[[str], str],
    ) -> None:
        """`held` gives the keys and quotes of what waits in quarantine or was rejected, with the commit of that moment;
        `came_from` gives the remote that brought a commit."""
        self._index = index
        self._scopes = scopes
        self._held = held
        self._is_hidden = is_hidden
        self._came_from = came_from
        self._fates: dict[int, _Fate] = {}
        self._known: dict[tuple[int, str], bool] = {}
        self._turns: dict[str, bool] = {}

    def reading(self, text: str, place: Place | None = None) -> tuple[str, str]:
        """The text with a gap for each sentence that no longer holds, empty where it says nothing else; and the wording that
        holds in the place of what it says, empty where it says that itself or nothing does.
        """
        if place is not None and self._turn_is_gone(place):
            return "", ""
        if place is not None and place.type == SESSION and self.is_gone_title(place.session, text):
            return "", ""
        gone = self._gone(text, place)
        wordings = (self._successor(fate) for fate, _, _ in gone if fate.curated)
        instead = next((wording for wording in wordings if wording and wording not in text), "")
        gone = [one for one in gone if not one[2].startswith(CHANGED)]
        common = {(entry, word) for _, entry, word in gone if is_common(word, self._index.text_of(entry))}
        words = {word for _, entry, word in gone if (entry, word) not in common}
        words |= self._kept_out(text, place)
        keys, quotes = ({one for one in words if (" " in one) is spaced} for spaced in (False, True))
        spans = {*(says(text, keys, quotes) if words else ()), *self._retracted(text)}
        for entry, word in common:  # such a name tells beside most of what else the entry says
            about = subject(self._index.text_of(entry)) - subject(word)
            spans |= {
                span
                for span in says(text, {word})
                if len(about & subject(text[slice(*span)])) > len(about) / 2
            }
        if place is not None and place.type == "turn" and place.turn and self._has_keys:
            wrote = [(entry, list[tuple[int, int]]()) for entry, _ in self._index.gone_of_turn(place.turn)]
            for entry, said in (*wrote, *self._restatements.of(text, place.turn)):
                fate = self._fate(entry)
                if not fate.holds and fate.left and self._is_older(place, fate):
                    wording = self._successor(fate)
                    instead = instead or (wording if wording not in text else "")
                    spans |= set(said)
        return without(text, sorted(spans)) if spans else text, instead

    # One text

    def _gone(self, text: str, place: Place | None) -> list[tuple[_Fate, int, str]]:
        """The keys and quotes that a text may have of entries that hold no more, and held when it was written."""
        near = self._index.keys_near(tokens_of(text) | subject(text)) if self._has_keys else []
        shared = Counter(word for _, word in near) if near else {}
        found = []
        for entry, word in near:
            # A name that many entries have is a word like another: none of them brought it.
            if shared[word] > _MOST_SHARING and " " not in word and not is_sure(word):
                continue
            fate = self._fate(entry)
            if fate.holds and not self._hides(entry, fate):
                continue
            if self._is_older(place, fate) and self._tells(entry, word, fate):
                found.append((fate, entry, word))
        return found

    def _kept_out(self, text: str, place: Place | None) -> set[str]:
        """The keys and quotes that a text has of entries that are held, or that were rejected after it was written."""
        tokens = tokens_of(text) if self._held_words else frozenset[str]()
        found = {(word, tip) for word, tip in self._held_words if tokens_of(word) <= tokens}
        return {word for word, tip in found if place is None or not tip or self._is_before(place, tip)}

    def _is_before(self, place: Place, commit: str) -> bool:
        found = self._index.commit(commit)
        return found is None or place.from_seq <= found.seq

    def _is_older(self, place: Place | None, fate: _Fate) -> bool:
        """Say whether a text is older than the removal of an entry; what has no place counts as older.

        The line of commits says so, and no clock; what another machine recorded before and sent afterwards has its time.
        """
        if place is None or not fate.left or place.from_seq < fate.left:
            return True
        return place.at < fate.left_at and bool(self._came_from(place.commit))

    def _tells(self, entry: int, word: str, fate: _Fate) -> bool:
        """Return whether a word says that a text speaks of an entry: the entry brought it, and nothing that holds has it."""
        known = self._known.get((entry, word))
        if known is None:
            is_quote = " " in word
            known = self._known[entry, word] = not self._still_said(entry, word, fate) and (
                is_quote
                or word.startswith(CHANGED)
                or is_sure(word)
                or not self._index.was_known(word, entry, fate.came, fate.session)
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
            if " " in word or word in keys_of(text) or word.startswith(CHANGED):
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
        """Return whether an event belongs to a turn that wrote an entry which was taken out, and which nothing replaced.

        A decision is knowledge of its own, whatever else its turn wrote.
        """
        is_said = place.space == "event" and place.type != "decision" and place.turn
        return bool(is_said) and self._is_gone_with_others(place.turn)

    def _is_gone_with_others(self, turn: str) -> bool:
        """Return whether a turn is gone, or the one beside it is that it belongs to.

        "Yes, save it" writes what was said in the turn before; after "thanks" an answer goes on.
        """
        if self._is_gone(turn):
            return True
        before, behind = self._index.turns_beside(turn)
        if behind and self._is_gone(behind) and self._confirms(behind, turn):
            return True
        return bool(before) and self._is_gone(before) and is_brief(self._index.said_in(turn), _NOD)

    def _confirms(self, turn: str, before: str) -> bool:
        """Return whether a user only confirms, or asks to keep, what was said in the turn before."""
        said = self._index.said_in(turn)
        offers = any(one.text.rstrip().endswith(("?", "？")) for one in self._index.events_of_turn(before))
        return is_brief(said, _NOD) or (is_brief(said, _ASSENT) and (offers or asks_to_keep(said)))

    def is_gone_title(self, session: str, title: str) -> bool:
        """Return whether the title of a session is made of a turn that was taken back: of its first, or of its words."""
        words = title.rstrip("… ").casefold()
        turns = self._index.first_turns(session) if words else []
        return any(
            (not number or words in " ".join(said.casefold().split())) and self._is_gone_with_others(turn)
            for number, (turn, said) in enumerate(turns)
        )

    def _is_gone(self, turn: str) -> bool:
        known = self._turns.get(turn)
        if known is None:
            gone = [(self._fate(entry), commit) for entry, commit in self._index.gone_of_turn(turn)]
            known = self._turns[turn] = any(
                not fate.holds and fate.left and not self._successor(fate) and self._counts(turn, commit)
                for fate, commit in gone
            ) or any(self._counts(turn, commit) for commit in self._undone.get(turn, ()))
        return known

    def _counts(self, turn: str, commit: str) -> bool:
        """Return whether the commit that links an entry to a turn may hide the turn: a remote hides only its own."""
        came = self._came_from(commit)
        return not came or {came}.issuperset(
            self._came_from(one.commit) for one in self._index.events_of_turn(turn)
        )

    # Entries

    @cached_property
    def _held_words(self) -> Sequence[tuple[str, str]]:
        return self._held()

    @cached_property
    def _undone(self) -> Mapping[str, Sequence[str]]:
        return self._index.undone()

    @cached_property
    def _has_keys(self) -> bool:
        return self._index.has_keys()

    @cached_property
    def _restatements(self) -> Restatements:
        return Restatements(self._index)

    @cached_property
    def _has_retractions(self) -> bool:
        return self._index.has_retractions()

    def _fate(self, entry: int) -> _Fate:
        fate = self._fates.get(entry)
        if fate is None:
            fate = self._fates[entry] = self._fate_of(self._index.knowledge_spans(entry))
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
        if span.to_seq is not None or span.deprecated:
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
