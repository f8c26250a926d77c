"""Words in a text: which of a query's terms are in it, how often and where. About as the index sees them."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence

from gitmem.index.query import Term
from gitmem.text.stem import stem
from gitmem.text.words import WORD, fold

Span = tuple[int, int]
Finder = Callable[[str], list[Span]]
Found = Callable[[str], frozenset[int]]
"""Gives the numbers of a query's terms that are in a text."""


def finder(term: Term, *, inside: bool = False) -> Finder:
    """A function that finds a term in a folded text; made once for a query, asked for many texts."""
    folded = fold(term.text)
    first, *others = map(re.escape, folded.split())
    if inside or term.kind == "run":
        pattern = re.compile(re.escape(folded))
    elif term.kind == "word":
        wanted = stem(folded)
        # These endings may be others in the word: happy, hoping, sensibility.
        start = re.escape(wanted[:-1] if wanted.endswith(("i", "e", "bl")) else wanted)
        word = re.compile(rf"{_begins(start)}[^\W_]*")
        return lambda text: [one.span() for one in word.finditer(text) if stem(one[0]) == wanted]
    else:
        pattern = re.compile(r"[\W_]+".join((_begins(first), *others)) + r"(?![^\W_])")
    return lambda text: [one.span() for one in pattern.finditer(text)]


def _begins(start: str) -> str:
    """Return a pattern for what a word begins with.

    Buys "processor time of a search": what begins with plain letters is found five times as fast.
    """
    return rf"{start}(?<![^\W_]{start})"


def counter(term: Term, *, inside: bool = False) -> Callable[[str], int]:
    """A function that counts a term in a folded text."""
    find = finder(term, inside=inside)
    return lambda text: len(find(text))


def found_terms(terms: Sequence[Term]) -> Found:
    """Return a function that gives the terms that are in a text; made once for a query."""
    counters = list(map(counter, terms))

    def found(text: str) -> frozenset[int]:
        folded = fold(text)
        return frozenset(number for number, count in enumerate(counters) if count(folded))

    return found


def holds_exactly(term: Term, text: str) -> bool:
    """Return whether a term is in a text letter for letter; for what must not stand there."""
    if term.kind == "run":
        return term.text in text
    return f" {fold(term.text)} " in f" {' '.join(fold(word) for word in WORD.findall(text))} "


def matches(terms: Sequence[Term], text: str) -> list[Span]:
    """Return where the terms are in a text as people read it, in order; inside of words where nowhere else."""
    folded = fold(text)
    spans = [span for term in terms for span in finder(term)(folded)]
    if not spans:
        parts = (term for term in terms if term.kind == "word" and len(term.text) > 2)
        spans = [span for term in parts for span in finder(term, inside=True)(folded)]
    if len(folded) != len(text):
        places = [place for place, char in enumerate(text) for _ in fold(char)]
        spans = [(places[start], places[end - 1] + 1) for start, end in spans]
    found: list[Span] = []
    for start, end in sorted(spans):
        if found and start <= found[-1][1]:  # a word of a phrase, or the next pair of a run
            found[-1] = found[-1][0], max(end, found[-1][1])
        else:
            found.append((start, end))
    return found
