"""The query language: whatever a person or an agent types, as terms. Nothing is ever a syntax error.

word            counts; the more of them, and the rarer, the better
"some words"    must stand there, in that order
word*           begins with
-word           must not stand there
one OR other    either counts as the same
one AND other   both must stand there
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Literal

from gitmem.index import english, grams
from gitmem.text.words import STOP

Kind = Literal["word", "prefix", "phrase", "run"]

MOST_TERMS = 64
_MOST_CHARACTERS = 20_000
_LONGEST_WORD = 64

_TOKEN = re.compile(r'(-?)"([^"]*)"(\*?)|(\S+)')
# What the word table takes for a word: letters, digits and the marks on them.
_WORD = re.compile(r"[^\W_]+(?:[\u0300-\u036f]+[^\W_]*)*")
# Words that are only written together: `self-portrait`, `artists/bands`.
_COMPOUND = re.compile(r"\W*[^\W\d_]{3,}(?:[-/–—][^\W\d_]{3,})+\W*")


@dataclass(frozen=True, slots=True)
class Term:
    """One thing to look for. `forms` are spellings that count as the same."""

    kind: Kind
    forms: tuple[str, ...]

    @property
    def text(self) -> str:
        return self.forms[0]

    @property
    def match(self) -> str:
        """The term in FTS5's own language; everything in quotes, so nothing in it can mean something."""
        if self.kind == "run":
            return grams.run_query(self.text)
        star = " *" if self.kind == "prefix" else ""
        alternatives = [f'"{form}"{star}' for form in self.forms]
        return alternatives[0] if len(alternatives) == 1 else f"({' OR '.join(alternatives)})"


@dataclass(frozen=True, slots=True)
class Query:
    """A query taken apart. `terms` are in the order they were typed; `required` are among them."""

    text: str
    terms: tuple[Term, ...] = ()
    required: frozenset[Term] = frozenset()
    excluded: tuple[Term, ...] = ()

    def __bool__(self) -> bool:
        return bool(self.terms)

    @property
    def words(self) -> str:
        """The words as one text, for looking it up as a phrase."""
        return " ".join(term.text for term in self.terms)


def parse(text: str, *, strict: bool = True) -> Query:
    """The query that the text spells; without terms where there is nothing to look for.

    A question in plain words is read with `strict` off: then nothing is required and nothing excluded, because
    quotation marks and hyphens are only how people write.
    """
    reader = _Reader(strict)
    for minus, quoted, star, plain in _TOKEN.findall(text[:_MOST_CHARACTERS]):
        if plain:
            reader.plain(plain)
        else:
            reader.phrase(quoted, excluded=bool(minus), prefix=bool(star))
    return reader.query(text)


class _Reader:
    """Collects terms; `OR` and `AND` tie the term before them to the one behind."""

    def __init__(self, strict: bool) -> None:
        self._strict = strict
        self._found: list[Term] = []
        self._required: set[int] = set()
        self._excluded: list[Term] = []
        self._tie = ""

    def plain(self, token: str) -> None:
        if self._strict and token in ("OR", "AND") and self._found:
            self._tie = token
            return
        excluded = self._strict and len(token) > 1 and token[0] == "-" and token[1] != "-"
        token = token.lstrip("-") if excluded else token
        prefix = token.endswith("*")
        for run in grams.runs(token):
            self._add([Term("run", (pair,)) for pair in _pairs(run)], excluded)
        pieces = [piece.lower() for piece in _WORD.findall(grams.without_runs(token))]
        pieces = [piece[:_LONGEST_WORD] for piece in pieces if piece]
        if not pieces:
            return
        if prefix and len(pieces) == 1:
            self._add([Term("prefix", (pieces[0],))], excluded)
        elif 1 < len(pieces) <= 4 and not _COMPOUND.fullmatch(token):
            # `v1.2`, `gpt-4o` and `it's`: its parts side by side, as the text has them.
            contracted = pieces[0] if len(pieces[-1]) <= 2 and "'" in token.replace("’", "'") else ""
            self._add([_word(contracted) if contracted else Term("phrase", (" ".join(pieces),))], excluded)
        else:
            self._add([_word(piece) for piece in pieces], excluded)

    def phrase(self, quoted: str, *, excluded: bool, prefix: bool) -> None:
        runs = [Term("run", (pair,)) for run in grams.runs(quoted) for pair in _pairs(run)]
        words = [piece.lower() for piece in _WORD.findall(grams.without_runs(quoted))]
        terms = list(runs)
        if words:
            kind: Kind = "prefix" if prefix else "phrase" if len(words) > 1 else "word"
            terms.append(Term(kind, (" ".join(words)[:1000],)))
        if not self._strict:
            self._add([*terms, *map(_word, words if len(words) > 1 else ())], False)
            return
        self._add(terms, excluded, required=True)

    def _add(self, terms: list[Term], excluded: bool, required: bool = False) -> None:
        if excluded:
            self._excluded += terms
            self._tie = ""
            return
        tie, self._tie = self._tie, ""
        if not terms:
            return
        if tie == "OR" and len(terms) == 1 and self._found[-1].kind != "run" and terms[0].kind != "run":
            before = self._found.pop()
            was_required = len(self._found) in self._required
            self._required.discard(len(self._found))
            kind: Kind = before.kind if before.kind == terms[0].kind else "phrase"
            terms = [Term(kind, tuple(dict.fromkeys((*before.forms, *terms[0].forms))))]
            required = required and was_required
        elif tie == "AND":
            self._required.add(len(self._found) - 1)
            required = True
        if required:
            self._required.update(range(len(self._found), len(self._found) + len(terms)))
        self._found += terms

    def query(self, text: str) -> Query:
        required = {self._found[number] for number in self._required}
        terms = list(dict.fromkeys(self._found))
        telling = [term for term in terms if term in required or not _says_nothing(term)]
        # A question of such words alone is asked with them.
        return Query(
            text,
            tuple((telling or terms)[:MOST_TERMS]),
            frozenset(required),
            tuple(dict.fromkeys(self._excluded)),
        )


def _word(word: str) -> Term:
    return Term("word", english.forms(word))


def _pairs(run: str) -> list[str]:
    """A run as the pairs in it: most words of a script without spaces have two characters."""
    if len(run) <= 2:
        return [run]
    return list(dict.fromkeys(run[start : start + 2] for start in range(len(run) - 1)))


def _says_nothing(term: Term) -> bool:
    return term.kind == "word" and term.text in STOP
