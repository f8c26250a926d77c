"""Entries that contradict one another: live ones that replace the same one, and a new fact and those of its subject.

Contests are derived from the entries, and stored nowhere.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import takewhile
from typing import TYPE_CHECKING

from gitmem.okf.entries import Entry
from gitmem.okf.files import open_file
from gitmem.text.words import STOP, WORD, fold, roots

if TYPE_CHECKING:
    from gitmem.memory.bundle import Bundle

_ALIKE = 0.5
"""The share of all their words that two texts have in common, from which on they are about one subject."""
_FEWEST = 2
_MOST = 3
_EQUALS = frozenset({"is", "are", "was", "were"})
_DEFINITE = frozenset({"the", "my", "our", "your", "his", "her", "its", "their"})
_LONGEST_VALUE = 3


def near(text: str, entries: Iterable[Entry]) -> tuple[Entry, ...]:
    """The entries that say nearly the same, the closest first; by words, so two values of one thing are found too."""
    words = roots(text)
    found = []
    for entry in entries:
        theirs = roots(entry.text)
        common = len(words & theirs)
        if entry.text == text or not common:
            continue
        pair = _Pair(text, entry.text)
        is_alike = common >= _FEWEST and common >= _ALIKE * len(words | theirs)
        if (is_alike and not pair.is_of_two_subjects) or pair.is_of_two_values:
            found.append((-common / len(words | theirs), entry.key, entry))
    return tuple(entry for *_, entry in sorted(found, key=lambda one: one[:2])[:_MOST])


class _Pair:
    """Two sentences: the words that both begin with, those that both end with, and what each has in between."""

    def __init__(self, one: str, other: str) -> None:
        first, second = WORD.findall(fold(one)), WORD.findall(fold(other))
        self._head = _same(first, second)
        size = len(self._head)
        self._tail = _same(first[size:][::-1], second[size:][::-1])[::-1]
        self._middles = [words[size : len(words) - len(self._tail)] for words in (first, second)]

    @property
    def is_of_two_subjects(self) -> bool:
        """Say whether only the word that they begin with differs: "The cat likes milk", "The dog likes milk"."""
        one_word_each = all(len(words) == 1 for words in self._middles)
        opens = one_word_each and not set(self._head) - STOP
        return opens and bool(self._tail) and self._tail[0] not in _EQUALS

    @property
    def is_of_two_values(self) -> bool:
        """Say whether only the value of one thing differs: "The port is 9000", "The port is 9001"."""
        values = self._middles
        if self._tail or not set(self._head) - STOP or not all(values):
            return False
        if all(len(value) == 1 and any(map(str.isdigit, value[0])) for value in values):
            return True
        # "Ada is tall" and "Ada is a nurse" are both true: a thing with one value is named by an article or an owner.
        is_definite = self._head[0] in _DEFINITE and self._head[-1] in _EQUALS
        return is_definite and all(
            len(value) <= _LONGEST_VALUE and value[0] not in ("a", "an") for value in values
        )


def _same(one: Sequence[str], other: Sequence[str]) -> list[str]:
    """The words that two sequences begin with."""
    pairs = takewhile(lambda pair: pair[0] == pair[1], zip(one, other, strict=False))
    return [word for word, _ in pairs]


@dataclass(frozen=True, slots=True)
class Contest:
    """Entries of one file that all replace the entry with the hash `replaced`, oldest first."""

    path: str
    replaced: str
    entries: tuple[Entry, ...]


def contested(bundle: Bundle) -> list[Contest]:
    """Every contest in the curated files."""
    tree = bundle.tree()
    found = []
    for path, entry in tree.files("memories"):
        rivals: dict[str, list[Entry]] = {}
        for one in open_file(path, tree.read_entry(entry)).entries.values():
            if one.key.space == "§" and one.replaces:
                rivals.setdefault(one.replaces, []).append(one)
        found += [Contest(path, was, tuple(group)) for was, group in rivals.items() if len(group) > 1]
    return found
