"""Stems are those of SQLite's word table: what a query finds is what is counted and marked."""

from __future__ import annotations

import re
import sqlite3
from pathlib import Path

from gitmem.text.stem import stem


def test_every_word_has_the_stem_of_the_word_table() -> None:
    """All words of the documentation, and forms of each step of the algorithm."""
    docs = Path(__file__).parents[2] / "docs"
    said = " ".join(path.read_text("utf-8") for path in docs.glob("*.md")).lower()
    forms = """caresses ponies ties cats feed agreed plastered bled motoring sing conflated troubled sized hopping tanned
    falling hissing fizzed failing filing happy sky relational conditional rational valenci hesitanci digitizer
    radicalli vileli analogousli vietnamization predication operator feudalism decisiveness hopefulness callousness
    formaliti sensitiviti sensibiliti triplicate formative formalize electriciti electrical goodness revival allowance
    inference airliner adjustable defensible irritant replacement adjustment dependent adoption communism activate
    angulariti homologous effective bowdlerize probate rate cease controll roll dying by y"""
    words = sorted({*re.findall("[a-z]+", said), *forms.split()})
    database = sqlite3.connect(":memory:")
    database.execute("CREATE VIRTUAL TABLE t USING fts5 (word, tokenize = 'porter unicode61')")
    database.execute("CREATE VIRTUAL TABLE v USING fts5vocab (t, instance)")
    database.executemany("INSERT INTO t (rowid, word) VALUES (?, ?)", list(enumerate(words)))
    theirs = dict(database.execute("SELECT doc, term FROM v"))
    assert {word: theirs[number] for number, word in enumerate(words)} == {word: stem(word) for word in words}
    assert len(words) > 1_000
