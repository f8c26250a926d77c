"""The statistical stage: a linear model over hashed words, pairs of words and pieces of words.

It sees what no rule names, and can only turn `allow` into `hold`. Weights are one byte each in
`model.bin` (written by benchmarks/train_scanner.py). A text is scored in windows of some fifty
words, so that a payload does not drown in what stands around it, and the highest score counts.
"""

from __future__ import annotations

import struct
import zlib
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cache
from heapq import nlargest
from itertools import accumulate
from math import log2, sqrt
from typing import TYPE_CHECKING

from gitmem import resources
from gitmem.safety.unicode import words_of
from gitmem.safety.verdict import Finding, Verdict

if TYPE_CHECKING:
    from gitmem.safety.decode import Layer

BITS = 18
MASK = (1 << BITS) - 1
WINDOW, STEP = 48, 24  # words
LONGEST = 24  # letters of a word; what is longer is cut into pieces of this length
PIECES = 0.3  # what a piece of a word counts beside a whole word
LENGTH_PENALTY = 0.35  # a long text has more windows, and so more chances to look suspicious
NUMBER = "0"  # all numbers count as one word
_START = (0.0, 0, 0)
_MAX_WINDOWS = 200  # windows whose pairs of words are looked at in one text
_MAX_WORDS = 1500  # different words whose pieces are looked at in one text
_HEADER = struct.Struct("<4sBfff")  # magic, bits, value of one unit, bias, threshold
_MAGIC = b"GMS1"


def word_hash(word: str) -> int:
    """The number of a word; pairs are made from the numbers of their words."""
    return zlib.crc32(word.encode("utf-8", "replace"))


def pair_halves(number: int) -> tuple[int, int]:
    """Return the contribution of a word to the hash of a pair, as its first and as its second word."""
    return number * 0x9E3779B1 & 0xFFFFFFFF, (number * 0x85EBCA6B ^ 0x5BD1E995) & 0xFFFFFFFF


def pair_hash(first: int, second: int) -> int:
    """The hash of two consecutive words; 0 precedes the first word."""
    return (pair_halves(first)[0] ^ pair_halves(second)[1]) >> 7 & MASK


def piece_hashes(word: str) -> Iterator[int]:
    """The numbers of the four-letter pieces of a word, its ends marked; two letters where letters are words."""
    size = 2 if word > "\u2e80" else 4
    marked = f"<{word}>".encode("utf-8", "replace") if word.isascii() else f"<{word}>"
    for start in range(len(marked) - size + 1):
        piece = marked[start : start + size]
        yield zlib.crc32(piece if isinstance(piece, bytes) else piece.encode("utf-8", "replace"), 1) & MASK


def split_words(words: list[str]) -> list[str]:
    """The words as the model counts them: none longer than LONGEST."""
    if max(map(len, words), default=0) <= LONGEST:
        return words
    return [word[start : start + LONGEST] for word in words for start in range(0, len(word), LONGEST)]


@dataclass(frozen=True)
class StatisticalModel:
    """Weights, and the score above which a text is held."""

    weights: memoryview
    unit: float
    bias: float
    threshold: float
    _known: dict[str, tuple[float, int, int]] = field(default_factory=dict, repr=False, compare=False)

    @staticmethod
    @cache
    def shipped() -> StatisticalModel | None:
        """The model that ships with gitmem, or None if its file is missing."""
        # By its path: `importlib.resources` would be a tenth of what a search as a command costs.
        try:
            return StatisticalModel.from_bytes(resources.read("safety/model.bin"))
        except FileNotFoundError:
            return None

    @classmethod
    def from_bytes(cls, data: bytes) -> StatisticalModel:
        """The model in a weights file; ValueError if it is not one."""
        if len(data) != _HEADER.size + (1 << BITS):
            raise ValueError("not a weights file of this version")
        magic, bits, unit, bias, threshold = _HEADER.unpack_from(data)
        if magic != _MAGIC or bits != BITS:
            raise ValueError("not a weights file of this version")
        return cls(memoryview(data)[_HEADER.size :].cast("b"), unit, bias, threshold)

    @staticmethod
    def to_bytes(weights: list[int], unit: float, bias: float, threshold: float) -> bytes:
        """A weights file."""
        return _HEADER.pack(_MAGIC, BITS, unit, bias, threshold) + struct.pack(f"{1 << BITS}b", *weights)

    def doubt(
        self, text: str, words: list[str], layers: list[Layer], *, patience: float = 0.0
    ) -> Finding | None:
        """A finding if a text, or what it says once decoded, looks like an attack to the model.

        `patience` is how much more than usual it has to look like one.
        """
        best = self.score(words)
        for layer in layers:
            if not layer.dense and len(layer.text) >= 20:
                best = max(best, self.score(words_of(layer.text)))
        if best < self.threshold + patience:
            return None
        return Finding(
            "model.suspicious",
            "statistics",
            "reads like texts that attack an agent, though no single rule says why",
            (0, len(text)),
            Verdict.HOLD,
        )

    def score(self, words: list[str]) -> float:
        """Return the attack score of a text; above the threshold it counts as an attack."""
        words = split_words(words)
        if not words:
            return self.bias
        entries = self._entries(words)
        values = {word: entry[0] for word, entry in entries.items()}
        sums = [0.0, *accumulate(map(values.__getitem__, words))]
        total = len(words)
        spans = [(0, total)]
        penalty = 0.0
        if total > WINDOW + 8:
            spans = [(start, min(start + WINDOW, total)) for start in range(0, total - 8, STEP)]
            penalty = LENGTH_PENALTY * log2(len(spans))
            if len(spans) > _MAX_WINDOWS:
                # The words alone say which windows are worth looking at pair by pair.
                spans = nlargest(_MAX_WINDOWS, spans, key=lambda span: sums[span[1]] - sums[span[0]])
        best = max(
            (sums[end] - sums[start] + self._pairs(entries, words[max(0, start - 1) : end], start == 0))
            / sqrt(end - start + 3)
            for start, end in spans
        )
        return self.bias + best * self.unit - penalty

    def _pairs(self, entries: dict[str, tuple[float, int, int]], words: list[str], first: bool) -> int:
        """Return the weight of the word pairs in a window."""
        weights = self.weights
        found = [entries[word] for word in words]
        before = [_START, *found[:-1]] if first else found[:-1]
        after = found if first else found[1:]
        return sum(
            [
                weights[(left ^ right) >> 7 & MASK]
                for (_, left, _), (_, _, right) in zip(before, after, strict=True)
            ]
        )

    def _entries(self, words: list[str]) -> dict[str, tuple[float, int, int]]:
        """For every different word its value, and its two halves of the numbers of pairs."""
        known = self._known
        if len(known) > 50_000:  # a cache for a process that lives long
            known.clear()
        entries = dict.fromkeys(words, _START)
        different = list(entries)
        for word in different[:_MAX_WORDS]:
            spelled = NUMBER if word.isdigit() else word
            entry = known.get(spelled)
            if entry is None:
                entry = known[spelled] = self._entry(spelled)
            entries[word] = entry
        weights = self.weights
        # Beyond what ordinary texts have, without the pieces: looking at them is what costs time.
        for word in different[_MAX_WORDS:]:
            number = word_hash(NUMBER if word.isdigit() else word)
            entries[word] = (weights[number & MASK], *pair_halves(number))
        return entries

    def _entry(self, word: str) -> tuple[float, int, int]:
        number = word_hash(word)
        value = self.weights[number & MASK] + PIECES * sum(self.weights[each] for each in piece_hashes(word))
        return value, *pair_halves(number)
