"""Restatements: answers in which an agent repeated, in words of its own, an entry that does not hold any more.

An agent says again what it has before it: "half past nine" for 9:30, in the language of the question. Such an answer has no
key of the entry. The turn links the two: it was shown the entry, or its question asks for what the entry says. In an answer
of such a turn a sentence repeats the entry if it has a word that the question does not have, and that is in the entry or in
what the user said when it was written.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import lru_cache
from typing import TYPE_CHECKING

from gitmem.text.keys import keys_of, stretches
from gitmem.text.words import WORD, fold, roots

if TYPE_CHECKING:
    from gitmem.index.lookup import Lookup

_ANSWER = re.compile(r"\n\[assistant\] ")
_LONG = 400
"""Characters from which on what the user said is about more than one entry."""
_UNSPACED = re.compile(r"[\u0e00-\u0eff\u3040-\u30ff\u3400-\u9fff]+")
_TELLING = 4
"""Letters from which on a word that two languages share tells what a question is about."""
_AMOUNT = re.compile(r"(\d+)\W+(?:\w{1,2} )?([^\W\d_]{3})|([^\W\d_]{3})[^\W\d_]* (\d+)")
"""A number with the beginning of the word behind it or before it, which related languages share."""
_MOST_ASKED = 40
_MOST_GONE = 2_000


class Restatements:
    """The gone entries of a memory, and the answers that repeat one of them; for one answer to an agent."""

    def __init__(self, index: Lookup) -> None:
        self._index = index
        self._texts: dict[int, str] = {}
        self._by_word: dict[str, set[int]] = {}
        self._by_key: dict[str, int] = {}
        for entry, key, text in index.gone_sections(_MOST_GONE):
            self._texts[entry] = text
            self._by_key[key] = entry
            for word in _words(text):
                self._by_word.setdefault(word, set()).add(entry)

    def of(self, text: str, turn: str) -> Iterator[tuple[int, list[tuple[int, int]]]]:
        """Give the entries that the answer of a turn may repeat, each with the sentences that do."""
        answer = _ANSWER.search(text)
        question = text[: answer.start()].removeprefix("[user] ") if answer else ""
        asked = _words(question)
        if not self._texts or answer is None or not turn or not 0 < len(asked) <= _MOST_ASKED:
            return
        shown = {self._by_key[name] for name in self._index.shown_in(turn) if name in self._by_key}
        for entry in sorted(shown.union(*(self._by_word.get(word, ()) for word in asked))):
            least = self._least(entry, question, is_shown=entry in shown)
            said = self._said(entry) - asked if least else frozenset()
            spans = [
                (start, end)
                for start, end in stretches(text)
                if start >= answer.end()
                and (
                    (least and len(said & _words(text[start:end])) >= least)
                    or self._completes(entry, asked, text[start:end])
                    or self._has_amount(entry, question, text[start:end])
                )
            ]
            if spans:
                yield entry, spans

    def _least(self, entry: int, question: str, *, is_shown: bool) -> int:
        """Return how many words of an entry make a sentence of the answer repeat it; 0: the question is not about it."""
        known, asked = _words(self._texts[entry]), _words(question)
        about = asked & known
        if is_shown:
            return 1 if about else 2
        return 1 if 2 * len(about) >= len(asked) and not self._asks_for_another(known, question) else 0

    def _asks_for_another(self, known: frozenset[str], question: str) -> bool:
        """Return whether something else that is known has a further word of a question, and may be what is asked for."""
        others = (word for word in WORD.findall(fold(question)) if _words(word) - known)
        return any(self._index.knowledge_with(word, 1) for word in others)

    def _has_amount(self, entry: int, question: str, sentence: str) -> bool:
        """Return whether a sentence answers with a number of an entry and what it counts: `3 mars` for 3 March."""
        known, asked = _words(self._texts[entry]), _words(question)
        amounts = _amounts(self._texts[entry]) & _amounts(sentence) - _amounts(question)
        is_about = any(len(word) >= _TELLING for word in asked & known)
        return is_about and bool(amounts) and not self._asks_for_another(known, question)

    def _completes(self, entry: int, asked: frozenset[str], sentence: str) -> bool:
        """Return whether a sentence has the words of an entry that a question leaves out, and no number of its own."""
        known = {word for word in _words(self._texts[entry]) if not word.isdigit()}
        answered = _words(sentence)
        if not asked & known or not (answered & known) - asked:
            return False
        numbers = (
            key for key in keys_of(sentence) - keys_of(self._texts[entry]) if any(map(str.isdigit, key))
        )
        return 4 * len((asked | answered) & known) >= 3 * len(known) and not any(numbers)

    def _said(self, entry: int) -> frozenset[str]:
        """Return the words of an entry, and of the user in the turns that wrote it."""
        said = (self._index.said_in(turn) for turn in self._index.turns_of_entry(entry))
        return _words(" ".join((self._texts[entry], *(one for one in said if len(one) <= _LONG))))


def _amounts(text: str) -> frozenset[tuple[str, str]]:
    found = (match.groups("") for match in _AMOUNT.finditer(fold(text)))
    return frozenset((number + later, word + before) for number, word, before, later in found)


@lru_cache(maxsize=4_096)
def _words(text: str) -> frozenset[str]:
    """Return the stems of a text's words; of writing without spaces every pair of characters."""
    pairs = {run[at : at + 2] for run in _UNSPACED.findall(text) for at in range(len(run) - 1)}
    return roots(_UNSPACED.sub(" ", text)) | pairs
