"""Texts that are alike: the same with other numbers, decisions about one subject, a turn that says an entry. Pure."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from functools import lru_cache
from typing import TYPE_CHECKING

from gitmem.index.claims import words_of
from gitmem.okf.ranks import KNOWLEDGE
from gitmem.text.words import fold

if TYPE_CHECKING:
    from gitmem.index.find import Candidate
    from gitmem.memory.find.ranking import Ranked

_NUMBER = re.compile(r"\d+(?:[.,:]\d+)*")
_NOT_SAID = re.compile(r"[\W_]+")
_ONE_SUBJECT = 0.5
_LEAST_SHARED = 2
_LOOKED_AT = 30
_LONG = 600
_QUOTED = 4
_LABEL = re.compile(r"^\[\w+\] ")


@lru_cache(maxsize=2_048)
def shape(text: str) -> str:
    """What a text says apart from its numbers, case, accents and punctuation; a long one is like no other."""
    if len(text) > _LONG:
        return text
    return _NOT_SAID.sub(" ", _NUMBER.sub("0", fold(text))).strip()


def series_of(texts: Iterable[Candidate]) -> dict[int, int]:
    """For texts that are in a series, how many it has."""
    shapes = {one.id: shape(one.text) for one in texts}
    many = Counter(shapes.values())
    return {number: many[own] for number, own in shapes.items() if many[own] > 1}


def folded(ranked: Iterable[Ranked]) -> list[list[Ranked]]:
    """The hits with those of one series together: the newest of it first, where the best of it was.

    What is known is never folded: each is an entry of its own to whoever wants to change it.
    """
    found: dict[object, list[Ranked]] = {}
    for one in ranked:
        key = one.candidate.id if one.place.rank == KNOWLEDGE else shape(one.candidate.text)
        found.setdefault(key, []).append(one)
    return [
        [one.raised_to(group[0].score) for one in sorted(group, key=lambda one: one.place.at, reverse=True)]
        for group in found.values()
    ]


def settled(ranked: Sequence[Ranked]) -> list[Ranked]:
    """The same order, but what says something before a later record that only quotes it, and the newer of two decisions
    first."""
    order = list(ranked)
    near = order[:_LOOKED_AT]
    records = {id(one): f" {shape(one.candidate.text)} " for one in near if one.place.rank != KNOWLEDGE}
    for one in near:
        said = shape(_LABEL.sub("", one.candidate.text.partition("\n")[0]))
        is_known = one.place.rank == KNOWLEDGE
        if said and (is_known or said.count(" ") >= _QUOTED):
            quoting = (other for other in near if f" {said} " in records.get(id(other), ""))
            _put_before(order, one, [other for other in quoting if is_known or other.place.at > one.place.at])
    decided = [one for one in near if one.place.type.lower() == "decision"]
    words = {one.candidate.id: words_of(one.candidate.text.partition("\n")[0]) for one in decided}
    for one in sorted(decided, key=lambda one: one.place.at):
        older = [
            other
            for other in decided
            if other.place.at < one.place.at
            and _is_one_subject(words[one.candidate.id], words[other.candidate.id])
        ]
        _put_before(order, one, older)
    return order


def _put_before(order: list[Ranked], one: Ranked, others: Sequence[Ranked]) -> None:
    """Put a hit before the first of some others, where it is not there already."""
    at = _place(order, one)
    first = min((_place(order, other) for other in others), default=at)
    if first < at:
        raised = order.pop(at).raised_to(order[first].score)
        order.insert(first, raised)


def _place(order: Sequence[Ranked], one: Ranked) -> int:
    """Where a text is in an order; each is there once."""
    return next(number for number, other in enumerate(order) if other.candidate is one.candidate)


def _is_one_subject(one: frozenset[str], other: frozenset[str]) -> bool:
    shared = len(one & other)
    return shared >= _LEAST_SHARED and shared >= _ONE_SUBJECT * min(len(one), len(other))
