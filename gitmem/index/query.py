"""The query language: whatever a person or an agent types, as terms. Nothing is ever a syntax error.

word            counts; the more of them, and the rarer, the better
"some words"    must be there, in that order
-word           must not be there
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Literal, NamedTuple

from gitmem.index import grams
from gitmem.text.words import STOP

Kind = Literal["word", "phrase", "run"]

MOST_TERMS = 64
_MOST_CHARACTERS = 20_000
_LONGEST_WORD = 64
_LONGEST_PHRASE = 1_000

_TOKEN = re.compile(r'(-?)"([^"]*)"|(\S+)')
# What the word table takes for a word: letters, digits and the marks on them.
_WORD = re.compile(r"[^\W_]+(?:[\u0300-\u036f]+[^\W_]*)*")
# Words that are only written together: `self-portrait`, `artists/bands`.
_COMPOUND = re.compile(r"\W*[^\W\d_]{3,}(?:[-/–—][^\W\d_]{3,})+\W*")


class Term(NamedTuple):
    """One thing to look for: a word, some words in a row, or a piece of a script without spaces."""

    kind: Kind
    text: str

    @property
    def match(self) -> str:
        """The term in FTS5's own language; in quotes, so nothing in it can mean something."""
        return grams.run_query(self.text) if self.kind == "run" else f'"{self.text}"'


@dataclass(frozen=True, slots=True)
class Query:
    """A query taken apart. `terms` are in the order they were typed; `required` are among them."""

    text: str
    terms: tuple[Term, ...] = ()
    required: frozenset[Term] = frozenset()
    excluded: tuple[Term, ...] = ()

    def __bool__(self) -> bool:
        return bool(self.terms)


def parse(text: str, *, strict: bool = True) -> Query:
    """Return the query that a text spells; without terms where there is nothing to look for.

    A question in plain words is read with `strict` off: then nothing is required and nothing excluded, because
    quotation marks and hyphens are only how people write.
    """
    found: list[Term] = []
    required: list[Term] = []
    excluded: list[Term] = []
    for minus, quoted, plain in _TOKEN.findall(text[:_MOST_CHARACTERS]):
        if plain:
            is_out = strict and len(plain) > 1 and plain[0] == "-" and plain[1] != "-"
            (excluded if is_out else found).extend(_plain(plain.lstrip("-") if is_out else plain))
            continue
        terms = _quoted(quoted)
        if not strict:
            found += [
                *terms,
                *(Term("word", word) for one in terms if one.kind == "phrase" for word in one.text.split()),
            ]
        elif minus:
            excluded += terms
        else:
            found += terms
            required += terms
    terms = list(dict.fromkeys(found))
    telling = [term for term in terms if term in required or not _says_nothing(term)]
    # A question of such words alone is asked with them.
    chosen = tuple((telling or terms)[:MOST_TERMS])
    return Query(text, chosen, frozenset(required) & frozenset(chosen), tuple(dict.fromkeys(excluded)))


def _plain(token: str) -> list[Term]:
    """Return the terms of a word as it was typed."""
    pieces = [piece.lower()[:_LONGEST_WORD] for piece in _WORD.findall(grams.without_runs(token))]
    if 1 < len(pieces) <= 4 and not _COMPOUND.fullmatch(token):
        # `v1.2`, `gpt-4o` and `it's`: its parts side by side, as the text has them.
        is_contracted = len(pieces[-1]) <= 2 and "'" in token.replace("’", "'")
        words = [Term("word", pieces[0]) if is_contracted else Term("phrase", " ".join(pieces))]
    else:
        words = [Term("word", piece) for piece in pieces]
    return [*_runs(token), *words]


def _quoted(text: str) -> list[Term]:
    words = [piece.lower() for piece in _WORD.findall(grams.without_runs(text))]
    phrase = (
        [Term("phrase" if len(words) > 1 else "word", " ".join(words)[:_LONGEST_PHRASE])] if words else []
    )
    return [*_runs(text), *phrase]


def _runs(text: str) -> list[Term]:
    """Return the pairs in what is written without spaces: most words of such a script have two characters."""
    return [Term("run", pair) for run in grams.runs(text) for pair in _pairs(run)]


def _pairs(run: str) -> list[str]:
    if len(run) <= 2:
        return [run]
    return list(dict.fromkeys(run[start : start + 2] for start in range(len(run) - 1)))


def _says_nothing(term: Term) -> bool:
    return term.kind == "word" and term.text in STOP
