"""A question: whether a text is one, which words it is about, and where it was asked before. Pure."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterable
from itertools import pairwise

from gitmem import resources
from gitmem.index import grams
from gitmem.index.candidates import Candidates, CountedMessage
from gitmem.index.marking import counter
from gitmem.index.messages import split
from gitmem.text.words import STOP, WORD, fold, roots

WORDS: dict[str, dict[str, str]] = tomllib.loads(resources.read("memory/find/words.toml").decode())


def words_of(name: str) -> frozenset[str]:
    """Return a list of `words.toml` as a set."""
    return frozenset(" ".join(WORDS[name].values()).split())


_ASKING, _MARKS, _SMALL_TALK = words_of("asking"), words_of("asking_marks"), words_of("small_talk")
_WHY, _WHICH = tuple(words_of("why")), words_of("which")
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
    asked = any(mark in said for mark in _MARKS) or not _ASKING.isdisjoint(begun)
    return asked or bool(words[1:] and words[0].startswith(_WHY))


def says_nothing(word: str) -> bool:
    """Say whether a folded word is one that any text may have."""
    return word in STOP or word in _ASKING or word in _SMALL_TALK or (len(word) == 1 and word.isascii())


def telling_words(text: str) -> frozenset[str]:
    """Return the words of a text that say what it is about."""
    return frozenset(word for word in WORD.findall(fold(text)) if not says_nothing(word))


def says_little(texts: Iterable[str]) -> bool:
    """Say whether texts answer nothing: "I would have to look that up"."""
    return len(telling_words("\n".join(texts))) < _ANSWER


def is_one_subject(text: str, other: str) -> bool:
    """Say whether two texts share half of the words of the shorter one: the newer may replace the older."""
    one, two = roots(text), roots(other)
    return len(one & two) >= max(_LEAST_SHARED, min(len(one), len(two)) / 2)


def asked_before(found: Candidates) -> dict[int, tuple[CountedMessage, ...]]:
    """Return the messages of texts that only ask the query again, with its terms counted in what else they say."""
    asked = _all_words(found.query.text) if is_question(found.query.text) else frozenset()
    if len(asked) < _LEAST_ASKED:
        return {}
    needed = _SAME * sum(1 for count in found.frequency if count)
    counters = [counter(term) for term in found.query.terms]
    again: dict[int, tuple[CountedMessage, ...]] = {}
    for one in found.texts:
        if len(one.text) > _LONG or sum(map(bool, one.counts)) < needed:
            continue
        said = [_SENTENCE.findall(message) for message in split(one.text)]
        rests = [[sentence for sentence in part if not _repeats(asked, sentence)] for part in said]
        left = ["".join(part) for part in rests]
        if rests != said and len(telling_words("\n".join(left)) - asked) < _BRIEF:
            again[one.id] = tuple(
                message._replace(counts=tuple(count(fold(rest)) for count in counters))
                for message, rest in zip(one.messages, left, strict=True)
            )
    return again


def _repeats(asked: frozenset[str], sentence: str) -> bool:
    """Say whether a sentence is a question of these words: one that has them and asks nothing answers it."""
    words = WORD.findall(fold(sentence))
    begun = not _ASKING.isdisjoint(words[:1]) or not _WHICH.isdisjoint(words[1:2])
    if not begun and not any(mark in sentence for mark in _MARKS):
        return False
    said = _all_words(sentence)
    return len(asked & said) >= _SAME * len(asked) and len(said) <= 2 * len(asked)


def _all_words(text: str) -> frozenset[str]:
    """Return all words of a text, and pairs of characters where a script has no spaces."""
    runs = (f"{one}{other}" for run in grams.runs(text) for one, other in pairwise(run))
    return frozenset((*WORD.findall(fold(grams.without_runs(text))), *runs))
