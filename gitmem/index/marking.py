"""Words in a text: which of a query's terms are in it, how often and where. About as the index sees them."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence

from gitmem.index.query import Term
from gitmem.text.stem import stem
from gitmem.text.words import WORD, fold

Found = Callable[[str], frozenset[int]]
"""Tells by their numbers which terms of a query are in a text."""


def counter(term: Term) -> Callable[[str], int]:
    """A function that counts a term in a folded text; made once for a query, asked for many texts."""
    folded = fold(term.text)
    if term.kind == "run":
        return lambda text: text.count(folded)
    if term.kind == "word":
        wanted = stem(folded)
        # These endings may be others in the word: happy, hoping, sensibility.
        start = wanted[:-1] if wanted.endswith(("i", "e", "bl")) else wanted
        pattern = re.compile(rf"(?<![^\W_]){re.escape(start)}[^\W_]*")
        # Buys "search, six-word questions": most texts do not have it, and a plain piece is looked for faster.
        return lambda text: (
            sum(stem(word) == wanted for word in pattern.findall(text)) if start in text else 0
        )
    words = r"[\W_]+".join(map(re.escape, folded.split()))
    phrase = re.compile(rf"(?<![^\W_]){words}(?![^\W_])")
    return lambda text: len(phrase.findall(text))


def part_counter(term: Term) -> Callable[[str], int]:
    """As `counter`, for a word that is looked for inside of others."""
    part = fold(term.text)
    return lambda text: text.count(part)


def found_terms(terms: Sequence[Term]) -> Found:
    """Return a function that tells which terms are in a text; words are compared by their stems."""
    by_stem = {stem(fold(term.text)): number for number, term in enumerate(terms) if term.kind == "word"}
    others = [(number, counter(term)) for number, term in enumerate(terms) if term.kind != "word"]

    def found(text: str) -> frozenset[int]:
        folded = fold(text)
        stems = map(stem, set(WORD.findall(folded)))
        words = {by_stem[one] for one in stems if one in by_stem}
        return frozenset(words.union(number for number, count in others if count(folded)))

    return found


def holds_exactly(term: Term, text: str) -> bool:
    """Return whether a term is in a text letter for letter; for what must not stand there."""
    if term.kind == "run":
        return term.text in text
    return f" {fold(term.text)} " in f" {' '.join(fold(word) for word in WORD.findall(text))} "


def matches(terms: Sequence[Term], text: str) -> list[tuple[int, int]]:
    """Return where the terms are in a text as people read it, in order; inside of words where nowhere else."""
    runs = [match for term in terms if term.kind == "run" for match in _all(re.escape(term.text), text)]
    found: list[tuple[int, int]] = []
    for start, end in sorted([*runs, *_of_words(terms, text)]) or _parts(terms, text):
        if found and start <= found[-1][1]:  # a word of a phrase, or the next pair of a run
            found[-1] = found[-1][0], max(end, found[-1][1])
        else:
            found.append((start, end))
    return found


def _of_words(terms: Sequence[Term], text: str) -> Iterator[tuple[int, int]]:
    words = [(match.span(), fold(match[0])) for match in WORD.finditer(text)]
    stems = {stem(fold(term.text)) for term in terms if term.kind == "word"}
    yield from (span for span, word in words if stem(word) in stems)
    for phrase in (fold(term.text).split() for term in terms if term.kind == "phrase"):
        for start in (number for number, (_, word) in enumerate(words) if word == phrase[0]):
            said = words[start : start + len(phrase)]
            if [word for _, word in said] == phrase:
                yield said[0][0][0], said[-1][0][1]


def _parts(terms: Sequence[Term], text: str) -> list[tuple[int, int]]:
    parts = [re.escape(term.text) for term in terms if term.kind == "word" and len(term.text) > 2]
    return _all("|".join(parts), text) if parts else []


def _all(pattern: str, text: str) -> list[tuple[int, int]]:
    return [match.span() for match in re.finditer(pattern, text, re.IGNORECASE)]
