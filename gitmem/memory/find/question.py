"""A question: whether a text is one, which words it is about, and where it was asked before. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from itertools import pairwise

from gitmem.index import grams
from gitmem.index.candidates import Candidate, Candidates, CountedMessage
from gitmem.index.marking import counter
from gitmem.index.messages import split
from gitmem.text.words import STOP, WORD, fold, roots

_QUESTION_WORDS = """
who whom whose what which when where why how do does did is are was were will would can could should may might
must have has had am shall wer wen wem was welche welcher welches welchen wann wo warum wieso weshalb wie darf
soll muss kann hat haben ist sind qui que quoi quel quelle quels quelles quand ou pourquoi comment est peut doit
quien quienes cual cuales cuando donde porque como puede debe es chi cosa quale quali quando dove perche come
posso devo quem qual quais onde
"""
_ASKING = frozenset(_QUESTION_WORDS.split())
_QUESTION_CHARACTERS = "? ？ ¿ 什么 哪 为什么 怎么 谁 吗 几 何 なぜ どこ どれ だれ いつ 무엇 어디 언제 왜"
_ASKING_CHARACTERS = tuple(_QUESTION_CHARACTERS.split())
_TALK_WORDS = """hello hi hey thanks thank please ok okay yes yeah no nope sure good morning evening hallo danke bitte ja
nein guten merci salut oui hola gracias por favor ciao grazie look know would anything something nothing
everything anyone someone anybody somebody here there one thing things go looks try again great continue
start stop shorter longer quick quickly difference explain example"""
_SMALL_TALK = frozenset(_TALK_WORDS.split())
_WHY = ("why", "warum", "wieso", "weshalb", "pourquoi", "perche", "porque")
_WHICH = frozenset(("which", "what", "welchem", "welchen", "welcher", "quel", "quelle", "que", "cual"))
"""Second words of a question: "in which", "from what"."""
_SENTENCE = re.compile(r"[^.!?。！？\n]+[.!?。！？\n]*")
_SAME = 0.8
"""The share of a question's words that make a sentence the same question."""
_LEAST_ASKED = 3
_ANSWER, _BRIEF = 3, 6
"""Telling words: fewer answer nothing; fewer behind the very question hardly answer it."""
_LONG = 4_000
_LEAST_SHARED = 2


def is_question(text: str) -> bool:
    """Say whether a text asks something: by its mark, its first word, or in a longer one by the two behind it."""
    said = fold(text)
    words = WORD.findall(said)
    begun = words[: max(0, len(words) - 2)][:3]
    asked = any(one in said for one in _ASKING_CHARACTERS) or not _ASKING.isdisjoint(begun)
    return asked or bool(words[1:] and words[0].startswith(_WHY))


def says_nothing(word: str) -> bool:
    """Say whether a folded word is one that any text may have."""
    return word in STOP or word in _ASKING or word in _SMALL_TALK or (len(word) == 1 and word.isascii())


def telling_words(text: str) -> frozenset[str]:
    """Return the words of a text that say what it is about."""
    return frozenset(word for word in WORD.findall(fold(text)) if not says_nothing(word))


def says_little(texts: Iterable[str]) -> bool:
    """Say whether texts answer nothing: "I would have to look that up"."""
    return len(frozenset().union(*map(telling_words, texts))) < _ANSWER


def is_one_subject(text: str, other: str) -> bool:
    """Say whether two texts share half of the words of the shorter one: the newer may replace the older."""
    one, two = roots(text), roots(other)
    return len(one & two) >= max(_LEAST_SHARED, min(len(one), len(two)) / 2)


@dataclass(frozen=True, slots=True)
class Question:
    """The words of a question, also those that say nothing; none for a text that asks nothing."""

    words: frozenset[str] = frozenset()

    @classmethod
    def of(cls, text: str) -> Question:
        return cls(_words_of(text)) if is_question(text) else cls()

    def __bool__(self) -> bool:
        return bool(self.words)

    def repeated_in(self, found: Candidates) -> dict[int, tuple[CountedMessage, ...]]:
        """Return the messages of texts that only ask the same question, with the terms counted in what else they say."""
        if len(self.words) < _LEAST_ASKED:
            return {}
        needed = _SAME * sum(1 for count in found.frequency if count)
        counters = [counter(term) for term in found.query.terms]
        return {
            one.id: tuple(
                CountedMessage(message.length, tuple(count(fold(rest)) for count in counters))
                for message, rest in zip(one.messages, rests, strict=True)
            )
            for one in found.texts
            if sum(map(bool, one.counts)) >= needed and (rests := self._rest_of(one))
        }

    def _rest_of(self, candidate: Candidate) -> list[str]:
        """Return the messages without the question, if what is left is not an answer: "I would have to look that up"."""
        if len(candidate.text) > _LONG:
            return []
        said = [_SENTENCE.findall(message) for message in split(candidate.text)]
        rests = ["".join(one for one in sentences if not self._is(one)) for sentences in said]
        is_there = any(
            len(rest) < sum(map(len, sentences)) for rest, sentences in zip(rests, said, strict=True)
        )
        return rests if is_there and self._is_left_open(rests) else []

    def _is_left_open(self, rests: Iterable[str]) -> bool:
        """Say whether what was said besides the question hardly answers it."""
        return len(frozenset().union(*map(telling_words, rests)) - self.words) < _BRIEF

    def _is(self, sentence: str) -> bool:
        """Say whether a sentence is this question: one that has its words and asks nothing answers it."""
        words = WORD.findall(fold(sentence))
        begun = not _ASKING.isdisjoint(words[:1]) or not _WHICH.isdisjoint(words[1:2])
        if not begun and not any(one in sentence for one in _ASKING_CHARACTERS):
            return False
        said = _words_of(sentence)
        return len(self.words & said) >= _SAME * len(self.words) and len(said) <= 2 * len(self.words)


def _words_of(text: str) -> frozenset[str]:
    """Return all words of a text, and pairs of characters where a script has no spaces."""
    runs = (f"{one}{other}" for run in grams.runs(text) for one, other in pairwise(run))
    return frozenset((*WORD.findall(fold(grams.without_runs(text))), *runs))
