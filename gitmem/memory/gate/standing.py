"""What no longer holds: the one place that knows the content of what was taken out, wherever else it was written.

An entry holds here while it is in the tree, for this machine, not retracted, not the losing side of a contest and not
hidden by the scanner. What it claims (`gitmem.index.claims`) is gone when it holds no more, or waits in quarantine.
A sentence that is such a claim is withheld from whatever record it is in, unless knowledge that holds says the same:

- a curated entry always does;
- a decision, a plan or another concept does where it is younger than the removal of a curated entry, since a person or
  an agent wrote it knowing that; and never for what was retracted or holds on another machine.

So the wording that came instead is never withheld for what it shares with the old one.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import Protocol

from gitmem.index.claims import Claim, Sentence, lead, sentences_of, words_of
from gitmem.index.lookup import Standing as Span
from gitmem.index.records import DEPRECATED
from gitmem.okf.entries import entry_hash
from gitmem.okf.layout import USER_PROFILE

_OBSERVATION = "observation"
_RECORDS = (_OBSERVATION, USER_PROFILE)
"""What says that something was known once, not that it holds."""
_MOST_RIVALS = 50
_MOST_ANSWERS = 1_000
_MOST_STEPS = 8
_LEAST_LEFT = 2
"""Words: what is left of a record that says no more is not worth showing."""


class Index(Protocol):
    """What the search index knows of claims and of where entries were."""

    def has_claims(self) -> bool: ...
    def has_retractions(self) -> bool: ...
    def retracted_among(self, names: Iterable[str]) -> set[str]: ...
    def claims_near(self, words: Iterable[str], *, topic: bool = False) -> list[tuple[int, str]]: ...
    def standings(self, entry: int) -> list[Span]: ...
    def rivals(self, path: str, replaces: str) -> list[Span]: ...
    def successors(self, key: str) -> list[tuple[int, str]]: ...
    def knowledge_with(self, words: Iterable[str], limit: int) -> list[tuple[int, str]]: ...
    def text_of(self, entry: int) -> str: ...


@dataclass(frozen=True, slots=True)
class _Fate:
    """What became of an entry."""

    holds: bool
    curated: bool
    keys: tuple[str, ...]
    """The hashes under which it was curated."""
    since: int = 0
    """From which commit of the line on it holds."""
    left: int = 0
    """The commit with which it was taken out; 0 for one that is there, and hidden or another machine's."""
    retracted: bool = False
    observed: bool = False
    """Whether it is only what an agent saw, which is no knowledge."""


class Standing:
    """What holds here and what no longer does, for one answer. `scopes` are those that hold; none is all of them."""

    def __init__(
        self,
        index: Index,
        scopes: Sequence[str],
        *,
        held: Callable[[], Sequence[Claim]],
        is_hidden: Callable[[str], bool],
    ) -> None:
        self._index = index
        self._scopes = scopes
        self._held = held
        self._is_hidden = is_hidden
        self._fates: dict[int, _Fate] = {}
        self._looked: dict[str, list[tuple[int, int]]] = {}
        self._answers: dict[tuple[frozenset[str], tuple[str, ...], _Fate | None], bool] = {}
        self._sayings: dict[int, set[frozenset[str]]] = {}

    def kept(self, text: str) -> str:
        """The text without the sentences that no longer hold; empty where it says nothing else."""
        gone = self._gone(text)
        if not gone:
            return text
        kept, end = [], 0
        for start, stop in gone:
            kept.append(text[end : max(start, end)])
            end = max(end, stop)
        left = "".join([*kept, text[end:]])
        if sum(len(one.words) for one in sentences_of(left)) < _LEAST_LEFT:
            return ""
        return "\n".join(line for line in left.splitlines() if line.strip(" \t.!?,;:") not in _EMPTY)

    def instead(self, text: str) -> str:
        """The wording that holds now, for a text that says or talks about an older one; empty where none does."""
        if not self._has_claims:
            return ""
        words = words_of(text)
        near = dict.fromkeys([*self._index.claims_near(words), *self._index.claims_near(words, topic=True)])
        claims = [(claim, entry) for entry, stored in near if (claim := Claim.of(stored)).is_about(words)]
        sentences = sentences_of(text) if claims else []
        for claim, entry in claims:
            if any(claim.is_in(one.words) or claim.is_about(one.words) for one in sentences):
                fate = self._fate(entry)
                wording = self._successor(fate) if fate.curated and not fate.holds else ""
                if wording and wording not in text:  # what a text says itself needs no note
                    return wording
        return ""

    # One text

    def _gone(self, text: str) -> list[tuple[int, int]]:
        """Where in a text something is that no longer holds, in order."""
        known = self._looked.get(text)
        if known is None:
            known = self._looked[text] = self._looked_for(text)
        return known

    def _looked_for(self, text: str) -> list[tuple[int, int]]:
        words = words_of(text)
        near: list[tuple[int, str]] = self._index.claims_near(words) if self._has_claims else []
        claims = [(Claim.of(stored), entry) for entry, stored in near]
        claims += [(claim, 0) for claim in self._held()]
        claims = [(claim, entry) for claim, entry in claims if claim.may_be_in(words)]
        if not claims and not self._has_retractions:
            return []
        sentences = sentences_of(text)
        gone = set(map(_place, self._retracted(text, sentences)))
        for claim, entry in claims:
            matches = _said(claim, sentences)
            fate = self._fate(entry) if matches and entry else None
            if fate is None or not fate.holds or self._hides(entry, fate):
                gone.update(_place(one) for one, whole in matches if not self._still_said(whole, claim, fate))
        return sorted(gone)

    def _retracted(self, text: str, sentences: Sequence[Sentence]) -> list[Sentence]:
        """The sentences that are a retracted entry, word for word: its text may never have been here."""
        if not self._has_retractions:
            return []
        names = {name: one for one in sentences for name in _hashes(text[one.start : one.end])}
        return [names[name] for name in self._index.retracted_among(names)]

    def _still_said(self, sentence: Sentence, claim: Claim, fate: _Fate | None = None) -> bool:
        """Whether knowledge that holds says what a sentence shares with a claim that is gone."""
        shared = claim.words & sentence.words
        written = tuple(sorted(sentence.written[word] for word in shared if word.isascii() and word != "not"))
        asked = shared, written, fate
        # One text may say the same a thousand times, or a thousand times nearly the same: then what is gone stays gone.
        if asked not in self._answers and len(self._answers) < _MOST_ANSWERS:
            self._answers[asked] = self._is_known(shared, written, fate)
        return self._answers.get(asked, False)

    def _is_known(self, shared: frozenset[str], written: Sequence[str], fate: _Fate | None) -> bool:
        for entry, text in self._index.knowledge_with(written, _MOST_RIVALS):
            other = self._fate(entry)
            if not other.holds or self._hides(entry, other) or not _outlives(other, fate):
                continue
            if entry not in self._sayings:
                self._sayings[entry] = {one.words for one in sentences_of(text)}
            if any(shared <= words for words in self._sayings[entry]):
                return True
        return False

    # Entries

    @cached_property
    def _has_claims(self) -> bool:
        return self._index.has_claims()

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
            # One that never was knowledge claims nothing that could be gone.
            bool(holding) or not spans,
            any(span.space == "§" for span in (holding or spans)),
            keys,
            max((span.from_seq for span in holding), default=0),
            left,
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
        """Whether the scanner keeps an entry that is in the tree from every prompt."""
        return fate.curated and fate.holds and self._is_hidden(self._index.text_of(entry))

    def _successor(self, fate: _Fate) -> str:
        """What took an entry's place and holds now, by however many steps."""
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
    """Whether an entry that holds may say what one that is gone said."""
    if other.curated:
        return True
    if gone is None or gone.retracted or (other.observed and not gone.observed):
        return False
    return not gone.curated or 0 < gone.left <= other.since


def _said(claim: Claim, sentences: Sequence[Sentence]) -> list[tuple[Sentence, Sentence]]:
    """The sentences that are a claim, each with the words by which it is one.

    A number is also one in the answer to a question: "What is the PIN of the canteen?" "4711".
    """
    found = [(one, one) for one in sentences if claim.is_in(one.words)]
    numbers = claim.numbers
    if numbers:
        for one, other in pairwise(sentences):
            both = Sentence(one.start, other.end, one.written | other.written)
            if claim.is_in(both.words):
                found += [(each, both) for each in (one, other) if not numbers.isdisjoint(each.words)]
    return found


def _place(sentence: Sentence) -> tuple[int, int]:
    return sentence.start, sentence.end


def _hashes(sentence: str) -> Iterable[str]:
    """The names under which an entry of these words would be retracted, as people would write it."""
    for text in dict.fromkeys((sentence.strip(), sentence[lead(sentence) :].strip())):
        bare = text.rstrip(".")
        for one in (bare, f"{bare}."):
            yield entry_hash(one)
            yield entry_hash(one[:1].upper() + one[1:])


_EMPTY = frozenset(("", "[user]", "[assistant]"))
