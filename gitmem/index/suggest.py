"""Words that are there and look like one that is not, for whoever found nothing."""

from __future__ import annotations

import difflib
from collections.abc import Iterable

from gitmem.index.database import Database
from gitmem.text.words import fold

_MOST_READ = 20_000


def near_words(database: Database, words: Iterable[str], *, limit: int = 3) -> list[str]:
    """Up to `limit` words of the memory, spelled as they stand there."""
    database.rows("CREATE VIRTUAL TABLE IF NOT EXISTS temp.word_list USING fts5vocab (main, words, row)")
    found: dict[str, None] = {}
    for word in words:
        folded = fold(word)
        if len(folded) < 3:
            continue
        known = _beginning(database, folded[0])
        for stem in difflib.get_close_matches(folded, known, n=limit, cutoff=0.7):
            if spelled := _spelled(database, stem):
                found[spelled] = None
    return [word for word in found if fold(word) not in {fold(asked) for asked in words}][:limit]


def _beginning(database: Database, letter: str) -> list[str]:
    rows = database.rows(
        "SELECT term FROM temp.word_list WHERE term >= ? AND term < ? LIMIT ?",
        (letter, chr(ord(letter) + 1), _MOST_READ),
    )
    return [term for (term,) in rows]


def _spelled(database: Database, stem: str) -> str:
    """A word whose stem this is, as some text spells it."""
    row = database.row(
        "SELECT highlight(words, 0, '\x02', '\x03') FROM words WHERE words MATCH ? LIMIT 1", (f'"{stem}"',)
    )
    if row is None:
        row = database.row(
            "SELECT highlight(words, 0, '\x02', '\x03') FROM words WHERE words MATCH ? LIMIT 1",
            (f'"{stem}" *',),
        )
    return row[0].partition("\x02")[2].partition("\x03")[0].lower() if row else ""
