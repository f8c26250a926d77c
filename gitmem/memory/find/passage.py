"""The passage of a text that answers a question: a few sentences of it, and not all that was said that day."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from gitmem.memory.find.search import on_one_line
from gitmem.text.words import sentences

Counter = Callable[[str], int]
"""Tells how often a term of the question is in a text."""


def passage(text: str, counters: Sequence[Counter], longest: int) -> tuple[str, tuple[int, ...]]:
    """The sentences that have most of a question within `longest` characters, and how often each term is in them."""
    whole = on_one_line(text)
    if len(whole) <= longest:
        return whole, _counts(whole, counters)
    said = [on_one_line(sentence) for sentence in sentences(text)]
    found = [_counts(sentence, counters) for sentence in said]
    best: tuple[int, str, tuple[int, ...]] = (0, "", ())
    for start, first in enumerate(found):
        if any(first):
            shown, counts = _from(said, found, start, longest)
            kinds = sum(map(bool, counts))
            if kinds > best[0]:
                best = (kinds, shown, counts)
    return (best[1], best[2]) if best[0] else (_cut(whole, longest), _counts(whole, counters))


def _from(
    said: Sequence[str], found: Sequence[tuple[int, ...]], start: int, longest: int
) -> tuple[str, tuple[int, ...]]:
    """What begins with that sentence: up to the last one that has a term, and one behind it, which may be the answer."""
    end, length = start, 0
    while end < len(said) and length + len(said[end]) <= longest:
        length += len(said[end]) + 1
        end += 1
    if end == start:  # one long sentence
        return _cut(said[start], longest), found[start]
    last = max(number for number in range(start, end) if any(found[number]))
    end = min(end, last + 2)
    return " ".join(said[start:end]), tuple(map(sum, zip(*found[start:end], strict=True)))


def _counts(text: str, counters: Sequence[Counter]) -> tuple[int, ...]:
    return tuple(count(text) for count in counters)


def _cut(text: str, longest: int) -> str:
    return text if len(text) <= longest else text[: longest - 1].rstrip() + "…"
