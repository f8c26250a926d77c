"""Claims: what a text says, sentence by sentence, as words that can be compared. Pure.

A sentence *is* a claim where it has all of the claim's names and numbers and three quarters of its words, or four
fifths of them where it has neither name nor number, in whatever order and form. So "remember that the PIN of the
canteen is 4711" is the claim "Canteen PIN: 4711", and "who has the PIN of the canteen?" merely talks about it. A claim
of one or two words ("Likes tea") is only a sentence that says hardly anything else.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from functools import lru_cache
from itertools import pairwise

from gitmem.index import english, grams
from gitmem.text.words import STOP, WORD, fold

# The share of a claim's words, by weight, that make a sentence the claim: with a name or a number, and without.
_NAMED, _NAMELESS = 0.75, 0.8
_TALKS = 0.5  # and that make it talk about it
_FEW = 2.5  # the weight below which a claim is too small to be found inside of a longer sentence
_WORDY = 1.5  # and below which it is one where it is alone
_LEAST = 0.5  # and below which a sentence claims nothing: "Done."
_SHORT_WORD, _SHORT_WEIGHT = 3, 0.3  # a short word says little, in most languages
_MOST_CLAIMS = 200
_WINDOW = 40  # words: a longer stretch without a full stop is looked at piece by piece

_NOT = "not"
_NEGATIONS = frozenset(
    ("no", "not", "never", "none", "cannot", "isn", "aren", "wasn", "weren", "don", "doesn", "didn", "won")
)
# Whom an entry is about goes without saying in a conversation.
_WHO = frozenset(("user", "users", "agent", "assistant"))
# What ends a sentence: its mark, a line, a quotation or a bracket of JSON, a § of a host's file.
_ENDS = re.compile(r'(?<=[.!?…。！？])(?=\s|[^\W\d_a-zA-Z]|$)|[\n\r§"“”«»{}|•]+|\\n|\\"|;(?=\s)')
_CLAUSES = re.compile(
    r",\s+(?:and|but|so|because|which|while|und|aber)\s+|,\s+|\s+(?:and|but|because)\s+|:\s+|\s[-–—]\s"
)
_LEAD = re.compile(
    r"^\W*(?:\[\w+\]\s*)?(?:(?:please|ok|okay|also|and|hey|hi|yes|bitte)\W+)*"
    r"(?:(?:remember|note|notice|memori[sz]e|store|save|saved|noted|remembered|keep\s+in\s+mind|do\s*n.t\s+forget|"
    r"fyi|for\s+the\s+record|merke?\s+dir)\b\W*(?:(?:that|this|it|dass|das)\b\W*)?)?",
    re.IGNORECASE,
)
_FENCE = re.compile(r"^(```|~~~).*?^\1", re.DOTALL | re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Claim:
    """The words of a sentence, each by its stem, and those of them that are names or numbers."""

    words: frozenset[str]
    needed: frozenset[str] = frozenset()
    weight: float = field(init=False, compare=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "weight", _weigh(self.words, self.needed))

    @property
    def share(self) -> float:
        return _NAMED if self.needed - {_NOT} else _NAMELESS

    @property
    def anchors(self) -> tuple[str, ...]:
        """Words of which every sentence that is this claim has at least one."""
        if self.needed - {_NOT}:
            return (max(self.needed - {_NOT}, key=_telling),)
        spared, found = (1 - self.share) * self.weight, []
        for word in sorted(self.words - {_NOT}, key=_telling, reverse=True):
            found.append(word)
            spared -= _weight(word, self.needed)
            if spared < 0:
                break
        return tuple(found)

    @property
    def topic(self) -> str:
        """A word that most sentences have that talk about this; empty where it has names and numbers alone."""
        return max(self.words - self.needed, key=_telling, default="")

    def is_in(self, words: frozenset[str]) -> bool:
        """Whether a sentence of these words is this claim."""
        if not self.needed <= words:
            return False
        shared = _weigh(self.words & words, self.needed)
        if self.weight < _FEW and not self.numbers:
            return shared == self.weight and _weigh(words, self.needed) <= self.weight + 1
        return shared >= self.share * self.weight

    def may_be_in(self, words: frozenset[str]) -> bool:
        """Whether a text of these words may have a sentence that is this claim."""
        return self.needed <= words and _weigh(self.words & words, self.needed) >= self.share * self.weight

    def is_about(self, words: frozenset[str]) -> bool:
        """Whether a sentence of these words at least talks about what this claims."""
        shared = self.words & words
        return len(shared) > 1 and _weigh(shared, self.needed) >= _TALKS * self.weight

    @property
    def numbers(self) -> frozenset[str]:
        return frozenset(filter(_has_digit, self.needed))

    def stored(self) -> str:
        """The claim as one text."""
        return " ".join(f"!{word}" if word in self.needed else word for word in sorted(self.words))

    @staticmethod
    @lru_cache(maxsize=4096)
    def of(stored: str) -> Claim:
        listed = stored.split(" ")
        return Claim(
            frozenset(word.lstrip("!") for word in listed),
            frozenset(word[1:] for word in listed if word.startswith("!")),
        )


@dataclass(frozen=True, slots=True)
class Sentence:
    """A stretch of a text, and its words: the stem of each, with the word as it is written."""

    start: int
    end: int
    written: dict[str, str]
    words: frozenset[str] = field(init=False, compare=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "words", frozenset(self.written))


def claims_of(text: str) -> list[Claim]:
    """What a text claims: each sentence, and each clause of one that says enough by itself. Code claims nothing."""
    found: dict[Claim, None] = {}
    prose = _FENCE.sub("\n", text)
    for start, end in _stretches(prose):
        sentence = prose[start:end]
        parts = _CLAUSES.split(sentence[lead(sentence) :])
        whole = _claim(sentence)
        if whole.weight >= _LEAST:
            found[whole] = None
        if len(parts) > 1:
            found |= dict.fromkeys(claim for claim in map(_claim, parts) if claim.weight >= _FEW)
        if len(found) >= _MOST_CLAIMS:
            break
    # A word by itself is a claim where the text says nothing else: "Vegetarian.", and not "Thanks." behind a fact.
    return [claim for claim in found if len(found) == 1 or claim.weight >= _WORDY]


def sentences_of(text: str) -> list[Sentence]:
    """The sentences of a text that say anything, with their places in it."""
    return [
        Sentence(start, end, written)
        for begin, stop in _stretches(text)
        for start, end in _windows(text, begin, stop)
        if (written := {stem: word for stem, word, _ in _words(text[start:end])})
    ]


def lead(sentence: str) -> int:
    """How many characters of a sentence only lead up to what it says: "please remember that"."""
    found = _LEAD.match(sentence)
    return found.end() if found else 0


def words_of(text: str) -> frozenset[str]:
    """All words of a text that tell something, by their stems; those that lead up to a sentence too."""
    runs = (f"{one}{other}" for run in grams.runs(text) for one, other in pairwise(run))
    found = frozenset(WORD.findall(fold(grams.without_runs(text))))
    told = map(stem, found - STOP - _WHO - _NEGATIONS)
    return frozenset((*told, *runs, *((_NOT,) if found & _NEGATIONS else ())))


def _claim(sentence: str) -> Claim:
    words = list(_words(sentence))
    # Where everything is written large, that says nothing.
    shouted = sentence.isupper()
    needed = {
        stem
        for number, (stem, word, at) in enumerate(words)
        if _has_digit(word) or stem == _NOT or (not shouted and _is_name(word, first=number == 0 and at))
    }
    return Claim(frozenset(stem for stem, _, _ in words), frozenset(needed))


def _is_name(word: str, *, first: bool) -> bool:
    """Whether a word is written as a name is: with a capital, which the first word of a sentence has anyway."""
    return (len(word) > 1 and word.isupper()) or (word[:1].isupper() and not first)


def _words(sentence: str) -> Iterator[tuple[str, str, bool]]:
    """The words that tell something: their stem, as they are written, and whether they begin the sentence."""
    for run in grams.runs(sentence):
        yield from ((f"{one}{other}", f"{one}{other}", False) for one, other in pairwise(run))
    first = True
    for match in WORD.finditer(grams.without_runs(sentence), lead(sentence)):
        word = match.group()
        folded = fold(word)
        if folded in _NEGATIONS:
            yield _NOT, word, False
        elif folded not in STOP and folded not in _WHO:
            yield stem(folded), word, first
        first = False


def _stretches(text: str) -> Iterator[tuple[int, int]]:
    start = 0
    for match in _ENDS.finditer(text):
        if match.start() > start:
            yield start, match.start()
        start = match.end()
    if start < len(text):
        yield start, len(text)


def _windows(text: str, start: int, end: int) -> Iterator[tuple[int, int]]:
    """A stretch, or where it is too long for a sentence its pieces, which overlap by half."""
    places = [match.span() for match in WORD.finditer(text, start, end)] if end - start > 4 * _WINDOW else []
    if len(places) <= _WINDOW:
        yield start, end
        return
    for first in range(0, len(places) - _WINDOW // 2, _WINDOW // 2):
        yield places[first][0], places[min(first + _WINDOW, len(places)) - 1][1]


@lru_cache(maxsize=16_384)
def stem(word: str) -> str:
    """About the stem of a folded word: enough that plural, tense and an irregular form make no difference."""
    word = english.base(word)
    if not word.isascii() or len(word) <= _SHORT_WORD or _has_digit(word):
        return word
    if word.endswith("ies") and len(word) > 4:
        word = f"{word[:-3]}y"
    elif word.endswith("sses"):
        word = word[:-2]
    elif word.endswith("s") and not word.endswith(("ss", "us", "is")):
        word = word[:-1]
    for ending, shortest in (("ing", 6), ("ed", 5)):
        if word.endswith(ending) and len(word) >= shortest:
            word = word.removesuffix(ending)
            word = word[:-1] if len(word) > 3 and word[-1] == word[-2] and word[-1] not in "lsz" else word
            break
    return word[:-1] if word.endswith("e") and len(word) > 3 else word


def _weigh(words: Iterable[str], needed: frozenset[str]) -> float:
    return sum(_weight(word, needed) for word in words if word != _NOT)


def _weight(word: str, needed: frozenset[str]) -> float:
    # A pair of Chinese characters is a word; a short word with a digit is a number or a name.
    is_short = len(word) <= _SHORT_WORD and word.isascii() and not _has_digit(word)
    return _SHORT_WEIGHT if is_short and word not in needed else 1.0


def _telling(word: str) -> tuple[bool, int, str]:
    """How likely a word is rare: one with a digit, then a long one."""
    return _has_digit(word), len(word), word


def _has_digit(word: str) -> bool:
    return not word.isalpha()  # a word is made of letters and digits
