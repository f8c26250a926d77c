"""Words in a text: which of a query's terms are in it, how often and where. About as the index sees them."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable

from gitmem.index.database import Database
from gitmem.index.query import Query, Term
from gitmem.text.words import WORD, fold, root

OPEN, CLOSE = "\x02", "\x03"
HIGHLIGHT = f"highlight(words, 0, '{OPEN}', '{CLOSE}')"
MARKED = re.compile(f"{OPEN}([^{CLOSE}]*){CLOSE}")


def marked(database: Database, query: Query, entry: int, text: str) -> str:
    """The text of an entry with what matches between OPEN and CLOSE."""
    words = [term.match for term in query.terms if term.kind != "run"]
    shown = text.replace(OPEN, "").replace(CLOSE, "")
    if words:
        found = database.row(
            f"SELECT {HIGHLIGHT} FROM words WHERE words MATCH ? AND rowid = ?", (" OR ".join(words), entry)
        )
        shown = found[0] if found else shown
    for term in query.terms:
        if term.kind == "run":
            shown = shown.replace(term.text, f"{OPEN}{term.text}{CLOSE}")
    return shown if OPEN in shown else _parts_marked(query, shown)


def _parts_marked(query: Query, text: str) -> str:
    words = [re.escape(term.text) for term in query.terms if term.kind == "word" and len(term.text) > 2]
    return re.sub(f"({'|'.join(words)})", rf"{OPEN}\1{CLOSE}", text, flags=re.IGNORECASE) if words else text


def holds(term: Term, text: str) -> bool:
    """Whether a term is in a text."""
    return counter(term)(text) > 0


def holds_exactly(term: Term, text: str) -> bool:
    """Whether one of the term's forms is in a text letter for letter; for what must not stand there."""
    if term.kind == "run":
        return term.text in text
    words = f" {' '.join(fold(word) for word in WORD.findall(text))}"
    end = "" if term.kind == "prefix" else " "
    return any(f" {fold(form)}{end}" in words + " " for form in term.forms)


def counter(term: Term) -> Callable[[str], int]:
    """A function that tells how often the term is in a text; made once for a query, asked for many texts."""
    if term.kind == "run":
        return lambda text: text.count(term.text)
    if term.kind == "word":
        forms = tuple(map(fold, term.forms))
        starts = tuple(dict.fromkeys(map(root, forms)))
        # The word itself too: what a root leaves off may be longer than another ending.
        pattern = re.compile(rf"(?<![^\W_])(?:(?:{_any(starts)})[^\W_]{{0,4}}|{_any(forms)})(?![^\W_])")
    else:
        end = "" if term.kind == "prefix" else r"(?![^\W_])"
        phrases = (r"[\W_]+".join(map(re.escape, fold(form).split())) for form in term.forms)
        starts = tuple(fold(form).split()[0] for form in term.forms)
        pattern = re.compile(rf"(?<![^\W_])(?:{'|'.join(phrases)}){end}")

    def count(text: str) -> int:
        folded = fold(text)
        # Buys "search, six-word questions": most texts do not have it, and a plain piece is looked for faster.
        if not any(start in folded for start in starts):
            return 0
        return len(pattern.findall(folded))

    return count


def part_counter(term: Term) -> Callable[[str], int]:
    """As `counter`, for a word that is looked for inside of others."""
    part = fold(term.text)
    return lambda text: fold(text).count(part)


def _any(words: Iterable[str]) -> str:
    return "|".join(map(re.escape, words))


def shared(one: str, other: str) -> int:
    count = 0
    for a, b in zip(one, other, strict=False):
        if a != b:
            break
        count += 1
    return count
