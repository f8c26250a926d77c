"""Relevance: whether an entry has enough of a question to be put before a turn unasked.

Two telling words of the question, or a rare one: a word that is in few texts of this memory and that not everybody
uses; or any word in very few texts, where the question speaks of what is ours. They must be a good share of the
question, each word by how rare it is, and hardly be together by chance. Pure: no index, no files.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from gitmem.index.find import Candidates
from gitmem.memory.find.question import Question, is_common
from gitmem.text.words import WORD, fold

_COMMON = 0.5
"""What a word counts that everybody uses, against one that is not such."""
_FEW, _RARE = 5, 0.02
"""Texts, and the share of all of them, up to which a word is rare."""
_SMALL = 500
"""Texts: in a memory that has fewer every word is in few of them, and that says little."""
_SHARE_OF_TWO = 0.45
_SHARE_OF_ONE = 0.3
_CHANCE = 0.5
"""Texts that may be expected to have the same words if words fell anywhere."""


class Relevance:
    """How much of one question a text has."""

    def __init__(self, question: Question, found: Candidates) -> None:
        self._terms = found.query.terms
        self._is_ours = question.is_ours
        self._total = max(_SMALL, found.total)
        self._frequency = found.frequency
        rare = max(_FEW, _RARE * self._total)
        common = list(map(is_common, self._terms))
        self._rare = [
            0 < count <= ((_FEW if self._is_ours else 0) if is_common else rare)
            for count, is_common in zip(found.frequency, common, strict=True)
        ]
        self._weights = [
            (_COMMON if is_common else 1.0) * math.log((2 + self._total) / (1 + count))
            for count, is_common in zip(found.frequency, common, strict=True)
        ]
        self._whole = sum(self._weights)

    def share(self, counts: Sequence[int], text: str, *, then: bool = False) -> float:
        """The share of the question that is in a text, by how often it has each term; 0 where that is too little.

        Of what was said when the question asks about (`then`) any word is enough.
        """
        has = [number for number, count in enumerate(counts) if count]
        share = sum(self._weights[number] for number in has) / self._whole if self._whole else 0.0
        if then and has:
            return 1 + share
        if len(has) > 1 and share >= _SHARE_OF_TWO and (self._is_ours or self._by_chance(has) <= _CHANCE):
            return share
        if share >= _SHARE_OF_ONE and any(
            self._rare[number] and self._is_spelled(number, text) for number in has
        ):
            return share
        return 0.0

    def _by_chance(self, has: Sequence[int]) -> float:
        return self._total * math.prod(self._frequency[number] / self._total for number in has)

    def _is_spelled(self, number: int, text: str) -> bool:
        """Whether the word itself is there, or its plural: a stem alone may be that of another word."""
        wanted = {form.removesuffix("s") for term in self._terms[number].forms for form in fold(term).split()}
        return any(word.removesuffix("s") in wanted for word in WORD.findall(fold(text)))
