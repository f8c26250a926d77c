"""Restatements: answers in which an agent repeated, in words of its own, an entry that does not hold any more.

An agent says again what it has before it: "half past nine" for 9:30, in the language of the question. Such an answer has no
key of the entry. The turn links the two: it was shown the entry, its question asks for what the entry or its user said, or
it goes on from the turn that wrote the entry. In such a turn a sentence repeats the entry if it has a word that the question
does not have, and that is in the entry or in what the user said when it was written.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import lru_cache
from typing import TYPE_CHECKING, NamedTuple
from weakref import WeakKeyDictionary

from gitmem.text.keys import fold, keys_of, stretches
from gitmem.text.stem import stem
from gitmem.text.words import STOP, WORD

if TYPE_CHECKING:
    from gitmem.index.database import Database
    from gitmem.index.lookup import Lookup

_ANSWER = re.compile(r"\n\[assistant\] ")
_LONG = 400
"""Characters from which on what the user said is about more than one entry."""
_UNSPACED = re.compile(r"[\u0e00-\u0eff\u3040-\u30ff\u3400-\u9fff]")
_HANGUL = re.compile(r"[\uac00-\ud7af]")
_WHOLE = re.compile(f"{_UNSPACED.pattern}|{_HANGUL.pattern}")
_WORDS = re.compile(rf"{_UNSPACED.pattern}+|[\u0900-\u0dff]+|[^\W_\u0900-\u0eff\u3040-\u30ff\u3400-\u9fff]+")
"""Runs of writing without spaces, of Indic letters with their signs, or of other letters and digits."""
_JOINED = re.compile(
    r"^[وفبكل]?ال(?=\w{3})|(?<=[\uac00-\ud7af])(?:[은는이가을를에의도와과로]|한테|에게|에서|까지|부터)$"
)
"""What Arabic joins to the beginning of a word, and Korean to its end."""
_SYLLABLES, _BEGINNING = 2, 5
"""Syllables of Korean, and letters of other words, by which two forms of a word are one."""
_TELLING = 4
"""Letters from which on a word that two texts share tells what they are about."""
_CURRENCIES = str.maketrans({"$": " dollar ", "€": " euro ", "£": " pound "})
_AMOUNT = re.compile(
    r"(?:([^\W\d_]{3})[^\W\d_]*\W+)?(\d+(?:[.,:]\d+)*)(?=(?:\W+(?:[^\W\d_]{1,2} )?([^\W\d_]{3}))?)"
)
"""A number with the beginnings of the words before and behind it, which related languages share."""
_MOST_ASKED = 40
_MOST_GONE = 2_000


class _Gone(NamedTuple):
    """An entry that is gone: its text, its words, and those of the user in the turns that wrote it."""

    text: str
    words: frozenset[str]
    said: frozenset[str]


_Read = tuple[dict[int, _Gone], dict[str, set[int]], dict[str, int]]
"""The gone entries by their id, the ids by each word, and by the key of the entry."""
_READ: WeakKeyDictionary[Database, tuple[str, _Read]] = WeakKeyDictionary()


def _gone_of(index: Lookup) -> _Read:
    """Read the gone entries of an index, once for all answers at one tip.

    Buys "of `recall`": each answer made it anew, for an eighth of a search in a memory with 200 of them.
    """
    tip, known = index.tip, _READ.get(index.database)
    if known is None or known[0] != tip:
        gone: dict[int, _Gone] = {}
        by_word: dict[str, set[int]] = {}
        by_key: dict[str, int] = {}
        for entry, key, text, said in index.gone_sections(_MOST_GONE):
            words = _words(text)
            telling = frozenset(filter(_tells, _words(said))) if len(said) <= _LONG else frozenset()
            gone[entry], by_key[key] = _Gone(text, words, telling), entry
            for word in words | telling:
                by_word.setdefault(word, set()).add(entry)
        known = _READ[index.database] = tip, (gone, by_word, by_key)
    return known[1]


class Restatements:
    """The gone entries of a memory, and the turns that repeat one of them; for one answer to an agent."""

    def __init__(self, index: Lookup) -> None:
        self._index = index
        self._gone, self._by_word, self._by_key = _gone_of(index)

    def of(self, text: str, turn: str) -> Iterator[tuple[int, list[tuple[int, int]]]]:
        """Give the entries that a turn may repeat, each with the sentences that do."""
        answer = _ANSWER.search(text)
        question = text[: answer.start()].removeprefix("[user] ") if answer else ""
        asked = _words(question)
        if not self._gone or answer is None or not turn or not 0 < len(asked) <= _MOST_ASKED:
            return
        shown = {self._by_key[name] for name in self._index.shown_in(turn) if name in self._by_key}
        before = self._index.turns_beside(turn)[0]
        goes_on = (
            {entry for entry, _ in self._index.gone_of_turn(before) if entry in self._gone}
            if before
            else set()
        )
        for entry in sorted(shown.union(goes_on, *(self._by_word.get(word, ()) for word in asked))):
            gone = self._gone[entry]
            least = self._least(gone, question, is_shown=entry in shown)
            told = (gone.words | gone.said) - asked
            spans = [
                (start, end)
                for start, end in stretches(text)
                if start >= answer.end()
                and (
                    (least and len(told & _words(text[start:end])) >= least)
                    or (entry in goes_on and self._goes_on(entry, text[start:end]))
                    or _completes(gone, asked, text[start:end])
                    or self._has_amount(gone, question, text[start:end])
                )
            ]
            if spans:
                yield entry, spans

    def _least(self, gone: _Gone, question: str, *, is_shown: bool) -> int:
        """Return how many words of an entry make a sentence of the answer repeat it; 0: the question is not about it."""
        asked = _words(question)
        if is_shown:
            return 1 if asked & gone.words else 2
        telling = frozenset(filter(_tells, asked))
        is_about = (
            2 * len(asked & gone.words) >= len(asked) or 2 * len(telling & gone.said) >= len(telling) > 0
        )
        return 1 if is_about and not self._asks_for_another(gone, question) else 0

    def _asks_for_another(self, gone: _Gone, question: str) -> bool:
        """Return whether something else that is known has a further word of a question, and may be what is asked for."""
        others = (word for word in WORD.findall(fold(question)) if _words(word) - gone.words - gone.said)
        return any(self._index.knowledge_with(word, 1) for word in others)

    def _has_amount(self, gone: _Gone, question: str, sentence: str) -> bool:
        """Return whether a sentence answers with a number of an entry and what it counts: `3 mars` for 3 March."""
        amounts = _amounts(gone.text) & _amounts(sentence) - _amounts(question)
        is_about = amounts and any(map(_tells, _words(question) & (gone.words | gone.said)))
        return bool(is_about) and not self._asks_for_another(gone, question)

    def _goes_on(self, entry: int, sentence: str) -> bool:
        """Return whether the turn behind the one that wrote an entry has a word of it that is in few other turns."""
        told = frozenset(filter(_tells, _words(sentence))) & (
            self._gone[entry].words | self._gone[entry].said
        )
        words = {
            word for word in _WORDS.findall(fold(sentence)) if len(word) > _TELLING or not word.isascii()
        }
        return any(
            not _words(word).isdisjoint(told)
            and not self._index.was_known(word, entry, self._index.seq + 1, "")
            for word in words
        )


def _completes(gone: _Gone, asked: frozenset[str], sentence: str) -> bool:
    """Return whether a sentence has the words of an entry that a question leaves out, and no number of its own."""
    known = {word for word in gone.words if not word.isdigit()}
    answered = _words(sentence)
    if not asked & known or not (answered & known) - asked:
        return False
    numbers = (key for key in keys_of(sentence) - keys_of(gone.text) if any(map(str.isdigit, key)))
    return 4 * len((asked | answered) & known) >= 3 * len(known) and not any(numbers)


@lru_cache(maxsize=4_096)
def _amounts(text: str) -> frozenset[tuple[str, str]]:
    found = (match.groups("") for match in _AMOUNT.finditer(fold(text).translate(_CURRENCIES)))
    return frozenset(
        (number.replace(",", "."), word)
        for before, number, behind in found
        for word in (before, behind)
        if word
    )


def _tells(word: str) -> bool:
    return len(word) >= _TELLING or (not word.isdigit() and _WHOLE.match(word) is not None)


@lru_cache(maxsize=4_096)
def _words(text: str) -> frozenset[str]:
    """Return the words of a text by their beginnings; of writing without spaces every pair of characters."""
    found: set[str] = set()
    for word in _WORDS.findall(fold(text)):
        if _UNSPACED.match(word):
            found |= {word[at : at + 2] for at in range(len(word) - 1)}
        elif word not in STOP:
            bare = _JOINED.sub("", word)
            found.add(bare[:_SYLLABLES] if _HANGUL.match(bare) else stem(bare)[:_BEGINNING])
    return frozenset(found) - STOP
