"""The stem of an English word: Porter's algorithm of 1980, letter for letter as SQLite's word table has it. Pure.

So that a word is counted and marked in a text exactly where a query finds it: a shorter rule of our own cost two points of
R@5 in `benchmarks/retrieval.py`.
"""

from __future__ import annotations

import re
from functools import lru_cache

_SECOND = {
    "ational": "ate", "tional": "tion", "enci": "ence", "anci": "ance", "izer": "ize", "logi": "log", "bli": "ble",
    "alli": "al", "entli": "ent", "eli": "e", "ousli": "ous", "ization": "ize", "ation": "ate", "ator": "ate",
    "alism": "al", "iveness": "ive", "fulness": "ful", "ousness": "ous", "aliti": "al", "iviti": "ive", "biliti": "ble",
}  # fmt: skip
_THIRD = {
    "icate": "ic", "ative": "", "alize": "al", "iciti": "ic", "ical": "ic", "ful": "", "ness": "",
}  # fmt: skip
_SUFFIXES = "al ance ence er ic able ible ant ement ment ent ion ou ism ate iti ous ive ize"
_FOURTH = dict.fromkeys(_SUFFIXES.split(), "")
_LONGEST = 7
_SYLLABLE = re.compile("v+c+")


@lru_cache(maxsize=65_536)
def stem(word: str) -> str:
    """Return the stem of a folded word; a short one, a number, or a word of another script is its own."""
    if len(word) < 3 or not (word.isascii() and word.isalpha()):
        return word
    word = _without_ending(_without_plural(word))
    if word.endswith("y") and "v" in _shape(word[:-1]):
        word = word[:-1] + "i"
    for table, least in ((_SECOND, 1), (_THIRD, 1), (_FOURTH, 2)):
        ending = next((word[-n:] for n in range(_LONGEST, 1, -1) if len(word) > n and word[-n:] in table), "")
        before = word.removesuffix(ending)
        is_ion = ending == "ion" and table is _FOURTH
        if ending and _measure(before) >= least and (not is_ion or before.endswith(("s", "t"))):
            word = before + table[ending]
    if word.endswith("e"):
        measure = _measure(word[:-1])
        word = word[:-1] if measure > 1 or (measure == 1 and not _is_short(word[:-1])) else word
    return word[:-1] if word.endswith("ll") and _measure(word) > 1 else word


def _without_plural(word: str) -> str:
    if word.endswith(("sses", "ies")):
        return word[:-2]
    return word[:-1] if word.endswith("s") and not word.endswith("ss") else word


def _without_ending(word: str) -> str:
    """Return a word without `ed` or `ing`, with the `e` that it had before them."""
    if word.endswith("eed"):
        return word[:-1] if _measure(word[:-3]) else word
    for ending in ("ed", "ing"):
        before = word.removesuffix(ending)
        if before == word or "v" not in _shape(before):
            continue
        if before.endswith(("at", "bl", "iz")):
            return before + "e"
        if before[-2:-1] == before[-1] and before[-1] not in "lszaeiou":
            return before[:-1]
        return before + "e" if _measure(before) == 1 and _is_short(before) else before
    return word


def _shape(word: str) -> str:
    """Return c or v for each letter; y is a vowel behind a consonant."""
    shape = ""
    for letter in word:
        shape += "v" if letter in "aeiou" or (letter == "y" and shape.endswith("c")) else "c"
    return shape


def _measure(word: str) -> int:
    """Return how often vowels are followed by consonants."""
    return len(_SYLLABLE.findall(_shape(word)))


def _is_short(word: str) -> bool:
    return _shape(word).endswith("cvc") and word[-1] not in "wxy"
