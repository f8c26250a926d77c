"""Words in a text: which of a query's terms are in it, how often and where. About as the index sees them."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence

from gitmem.index.database import Database
from gitmem.index.query import Query, Term
from gitmem.text.words import WORD, fold, root

OPEN, CLOSE = "\x02", "\x03"
HIGHLIGHT = f"highlight(words, 0, '{OPEN}', '{CLOSE}')"
MARKED = re.compile(f"{OPEN}([^{CLOSE}]*){CLOSE}")


def marked(database: Database, query: Query, entry: int, text: str) -> str:
    """The text of an entry with what matches between OPEN and CLOSE."""
    words = [term.match for term in query.terms if term.kind != "run"]
    shown = text.replace(OPEN, " ").replace(CLOSE, " ")
    if words:
        match = " OR ".join(words)
        for number, start, length in database.rows(
            "SELECT id, start, length FROM message WHERE entry = ? ORDER BY start DESC", (entry,)
        ):
            found = database.row(
                f"SELECT {HIGHLIGHT} FROM words WHERE words MATCH ? AND rowid = ?", (match, number)
            )
            if found:
                shown = shown[:start] + found[0] + (shown[start + length :] if length >= 0 else "")
    for term in query.terms:
        if term.kind == "run":
            shown = shown.replace(term.text, f"{OPEN}{term.text}{CLOSE}")
    return shown if OPEN in shown else _parts_marked(query, shown)


def _parts_marked(query: Query, text: str) -> str:
    words = [re.escape(term.text) for term in query.terms if term.kind == "word" and len(term.text) > 2]
    return re.sub(f"({'|'.join(words)})", rf"{OPEN}\1{CLOSE}", text, flags=re.IGNORECASE) if words else text


def holds_exactly(term: Term, text: str) -> bool:
    """Return whether a term is in a text letter for letter; for what must not stand there."""
    if term.kind == "run":
        return term.text in text
    return f" {fold(term.text)} " in f" {' '.join(fold(word) for word in WORD.findall(text))} "


def counter(term: Term) -> Callable[[str], int]:
    """A function that tells how often the term is in a folded text; made once for a query, asked for many texts."""
    folded = fold(term.text)
    if term.kind == "run":
        return lambda text: text.count(folded)
    start = root(folded) if term.kind == "word" else folded.partition(" ")[0]
    pattern = re.compile(_pattern(term, folded))
    # Buys "search, six-word questions": most texts do not have it, and a plain piece is looked for faster.
    return lambda text: len(pattern.findall(text)) if start in text else 0


def _pattern(term: Term, folded: str) -> str:
    if term.kind == "run":
        return re.escape(folded)
    if term.kind == "word":
        # The word itself too: what a root leaves off may be longer than another ending.
        words = rf"(?:{re.escape(root(folded))}[^\W_]{{0,4}}|{re.escape(folded)})"
    else:
        words = r"[\W_]+".join(map(re.escape, folded.split()))
    return rf"(?<![^\W_]){words}(?![^\W_])"


def found_terms(terms: Sequence[Term]) -> Callable[[str], frozenset[int]]:
    """Return a function that tells which terms are in a folded text; its words are compared by their stems."""
    by_root = {root(fold(term.text)): number for number, term in enumerate(terms) if term.kind == "word"}
    others = [(number, counter(term)) for number, term in enumerate(terms) if term.kind != "word"]

    def found(text: str) -> frozenset[int]:
        stems = map(root, set(WORD.findall(text)))
        return frozenset(
            (
                *(by_root[one] for one in stems if one in by_root),
                *(number for number, count in others if count(text)),
            )
        )

    return found


def part_counter(term: Term) -> Callable[[str], int]:
    """As `counter`, for a word that is looked for inside of others."""
    part = fold(term.text)
    return lambda text: text.count(part)
