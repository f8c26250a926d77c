"""Questions to the index cost what their answers need, however much it holds. Counted in steps of SQLite, not in time."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import pytest
from gitmem.index.candidates import find
from gitmem.index.database import PRIVATE, Database
from gitmem.index.filters import Filters
from gitmem.index.lookup import Lookup
from gitmem.index.query import parse
from gitmem.index.records import Document
from gitmem.index.writer import CommitFacts, Writer
from gitmem.okf.entries import EntryKey

STORE = "memories/MEMORY.md"
SMALL, LARGE = 300, 2_400


def _filled(facts: int) -> Database:
    """An index of facts that each took the place of another, and of as many notes with two frequent words."""
    database = Database.create(PRIVATE)
    with database.writing():
        writer = Writer(database)
        origin = writer.commit(CommitFacts("0" * 40, 1, "memory", {}), [STORE], seq=1, main=True)
        for one in range(facts):
            key = EntryKey("§", f"{one:064x}")
            writer.open(
                STORE, Document(key, f"Fact {one} it is", "CuratedMemory", replaces=f"r{one}"), origin, 1
            )
            note = Document(EntryKey("concept", ""), f"Note {one}: deploy the service", "Note", tags=("ops",))
            writer.open(f"notes/n{one}.md", note, origin, 1)
    return database


@pytest.fixture(scope="module")
def indexes() -> tuple[Database, Database]:
    return _filled(SMALL), _filled(LARGE)


def _steps(database: Database, ask: Callable[[], object]) -> int:
    taken = 0

    def step() -> None:
        nonlocal taken
        taken += 1

    database.sql.set_progress_handler(step, 1)
    try:
        assert ask()
    finally:
        database.sql.set_progress_handler(None, 0)
    return taken


@pytest.mark.parametrize("of", ["successors", "rivals"])
def test_what_replaced_an_entry_is_looked_up_and_not_searched(
    of: str, indexes: tuple[Database, Database]
) -> None:
    """Both questions take the same steps in an index eight times as large."""

    def ask(database: Database) -> object:
        lookup = Lookup(database)
        return lookup.successors("r7") if of == "successors" else lookup.rivals(STORE, "r7")

    few, many = (_steps(database, partial(ask, database)) for database in indexes)
    assert many < 1.5 * few


@pytest.mark.parametrize("query", ["deploy service", "deploy the service", "note"])
def test_narrow_search_asks_the_word_table_once(query: str, indexes: tuple[Database, Database]) -> None:
    """Frequent words under a filter that lets many texts through are one question, not one for each text."""
    database = indexes[1]
    asked: list[str] = []
    database.sql.set_trace_callback(asked.append)
    try:
        assert find(database, parse(query), Filters(tag=("ops",))).texts
    finally:
        database.sql.set_trace_callback(None)
    narrowed = [one for one in asked if "MATCH" in one and " IN (SELECT" in one]
    assert narrowed
    for statement in narrowed:
        plan = [row[3] for row in database.rows(f"EXPLAIN QUERY PLAN {statement}")]
        (scan,) = [one for one in plan if one.startswith(("SCAN words", "SEARCH words"))]
        assert "=" not in scan.partition("VIRTUAL TABLE INDEX")[2].partition(":")[2], plan
