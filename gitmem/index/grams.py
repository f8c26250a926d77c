"""Grams: pieces of texts that words alone do not find. Scripts without spaces, and identifiers.

A run of Chinese or Thai is indexed by its pairs of characters, because most Chinese words have two; an
identifier such as `getUserName2` by its threes, so that any part of it is found. All other texts have none:
a gram costs ten times what a word does.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import pairwise

# Thai, Lao, Khmer, Myanmar, Tibetan; CJK with kana and hangul; their supplements; emoji, which are not words.
_UNSPACED = (
    "\u0e00-\u0fff\u1000-\u109f\u1780-\u17ff\u1a20-\u1aaf\u2e80-\u2fdf\u3005-\u3007\u3021-\u3029\u3031-\u3035"
    "\u3040-\u30ff\u3100-\u312f\u3131-\u318e\u31a0-\u31bf\u31f0-\u31ff\u3400-\u4dbf\u4e00-\u9fff\ua000-\ua4cf"
    "\uac00-\ud7a3\uf900-\ufaff\uff66-\uff9f\U00020000-\U0003ffff\u2600-\u27bf\U0001f000-\U0001faff"
)
_RUN = re.compile(f"[{_UNSPACED}]+")
# A word with a capital or a digit inside: what people write together and remember in parts.
_IDENTIFIER = re.compile(
    r"(?<![^\W_])(?=[A-Za-z0-9]*[a-z][A-Z]|[A-Za-z]+[0-9]+[A-Za-z]|[A-Za-z0-9]{20})[A-Za-z][A-Za-z0-9]{5,63}(?![^\W_])"
)
_HEX = re.compile(r"[0-9a-fA-F]+")
_MOST_IDENTIFIERS = 64


def runs(text: str) -> list[str]:
    """The stretches of the text that are written without spaces."""
    return [] if text.isascii() else _RUN.findall(text)


def without_runs(text: str) -> str:
    """The text with a blank for each of them."""
    return text if text.isascii() else _RUN.sub(" ", text)


def indexed(text: str) -> str:
    """Return the gram table's content for a text; empty for most texts."""
    parts = [" ".join(pairs(run)) for run in runs(text)]
    parts += [" ".join(threes(name)) for name in _identifiers(text)]
    return " . ".join(parts)


def pairs(run: str) -> Iterator[str]:
    """The tokens of a run: every pair of neighbours, and the last character with nothing behind it."""
    for one, other in pairwise(run):
        yield f"{ord(one):x}g{ord(other):x}"
    yield f"{ord(run[-1]):x}g"


def threes(name: str) -> Iterator[str]:
    """The tokens of an identifier: every three characters in a row."""
    name = name.lower()
    for start in range(len(name) - 2):
        yield f"_{name[start : start + 3]}"


def run_query(run: str) -> str:
    """The phrase that finds a run literally."""
    if len(run) == 1:
        return f'"{ord(run):x}g" *'
    return '"' + " ".join(list(pairs(run))[:-1]) + '"'


def part_query(word: str) -> str:
    """The phrase that finds a word inside an identifier; empty for one that is too short."""
    return '"' + " ".join(threes(word)) + '"' if len(word) >= 3 and word.isascii() and word.isalnum() else ""


def _identifiers(text: str) -> list[str]:
    found: dict[str, None] = {}
    for name in _IDENTIFIER.findall(text):
        if not _HEX.fullmatch(name):  # a hash is found by how it begins
            found[name.lower()] = None
            if len(found) == _MOST_IDENTIFIERS:
                break
    return list(found)
