"""Finds what pays: numbers of payment cards, and the word lists that restore a wallet."""

from __future__ import annotations

import hashlib
import os
import re
from functools import cache
from itertools import groupby

from gitmem.safety._finds import Found, compiled

# 13 to 19 digits, in one run or in groups with one kind of separator, and not part of a longer number.
_DIGITS = (
    r"(?<![\w.+/-])\d(?:\d{12,18}|\d{3}(?:(?P<sep>[ -])\d{4}(?:(?P=sep)\d{4}){2}(?:(?P=sep)\d{1,3})?"
    r"|(?P<gap>[ -])\d{6}(?P=gap)\d{4,5}))(?![\w/-]|\.\d)"
)
# How the numbers of the card networks begin, and how long they are.
_ISSUED = (
    r"4(?:\d{12}|\d{15}|\d{18})|5[1-5]\d{14}|2(?:22[1-9]|2[3-9]\d|[3-6]\d\d|7[01]\d|720)\d{12}|3[47]\d{13}"
    r"|6(?:011|5\d\d|4[4-9]\d)\d{12}|35(?:2[89]|[3-8]\d)\d{12}|3(?:0[0-5]|[689]\d)\d{11}|62\d{14,17}"
)
_WORD_RUN = (
    r"\b[a-z]{3,8}(?:(?:[ \t]*+[,;][ \t]*+|[ \t]++|[ \t]*+\r?\n)(?:\d{1,2}[.):]?[ \t]++)?[a-z]{3,8}){11,}+\b"
)
_PHRASES = (24, 21, 18, 15, 12)
"""How many words a phrase has; the last bits of them are a checksum of the others."""
_LONG_RUN = 100


def cards(text: str, found: Found) -> None:
    for match in compiled(_DIGITS).finditer(text):
        number = re.sub(r"\D", "", match[0])
        if compiled(_ISSUED).fullmatch(number) and _passes_luhn(number) and len(set(number)) > 1:
            found.add("payment-card", match.start(), *match.span())


def seed_phrases(found: Found) -> None:
    """Runs of words from the list of BIP-39 with a right checksum, whatever is said about them."""
    for match in compiled(_WORD_RUN).finditer(found.low):
        words = list(re.finditer(r"[a-z]{3,8}", match[0]))
        known = [_numbers().get(word[0][:4], -1) for word in words]
        place = 0
        for is_listed, run in groupby(known, key=lambda number: number >= 0):
            numbers = list(run)
            if is_listed and (phrase := _phrase(numbers)):
                start = match.start() + words[place + phrase.start].start()
                end = match.start() + words[place + phrase.stop - 1].end()
                found.add("seed-phrase", start, start, end)
            place += len(numbers)


def _phrase(numbers: list[int]) -> range | None:
    """Where the longest phrase is in a run of listed words."""
    for size in _PHRASES:
        for start in range(min(len(numbers), _LONG_RUN) - size + 1):
            some = numbers[start : start + size]
            if len(set(some)) > size // 2 and _has_checksum(some):
                return range(start, start + size)
    return None


def _passes_luhn(number: str) -> bool:
    doubled = (int(digit) * (1 + place % 2) for place, digit in enumerate(reversed(number)))
    return sum(value - 9 if value > 9 else value for value in doubled) % 10 == 0


def _has_checksum(numbers: list[int]) -> bool:
    bits = "".join(f"{number:011b}" for number in numbers)
    size = len(bits) * 32 // 33
    entropy = int(bits[:size], 2).to_bytes(size // 8, "big")
    return f"{hashlib.sha256(entropy).digest()[0]:08b}"[: len(bits) - size] == bits[size:]


@cache
def _numbers() -> dict[str, int]:
    """The place of each word in the list, by its first four letters: no two words share them."""
    with open(os.path.join(os.path.dirname(__file__), "seed_words.txt"), encoding="ascii") as file:
        return {word: number for number, word in enumerate(file.read().split())}
