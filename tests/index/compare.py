"""Comparing two indexes by what they say, not by how they are stored."""

from __future__ import annotations

from gitmem.index.database import Database
from gitmem.memory.memory import Memory

# Everything that a reader could notice; ids are replaced by what they stand for.
_VIEWS = {
    "texts": "SELECT hash, text FROM entry",
    "commits": "SELECT oid, seq, main, time, kind, session, agent, machine FROM commits",
    "trailers": "SELECT t.key, t.value, c.oid FROM trailer t JOIN commits c ON c.id = t.commit_id",
    "changed paths": (
        "SELECT p.name, c.oid FROM path_change x JOIN path p ON p.id = x.path JOIN commits c ON c.id = x.commit_id"
    ),
    "spans": (
        "SELECT e.hash, p.name, s.space, s.key, s.type, s.session, s.at, s.tags, s.deprecated, s.scope, s.rank, "
        "s.source, s.replaces, s.turn, c.oid, s.from_seq, s.to_seq FROM span s JOIN entry e ON e.id = s.entry "
        "JOIN path p ON p.id = s.path JOIN commits c ON c.id = s.origin"
    ),
    "turns": (
        "SELECT w.turn, p.name, w.key, c.oid, w.from_seq FROM wrote w JOIN path p ON p.id = w.path "
        "JOIN commits c ON c.id = w.origin"
    ),
    "shown entries": "SELECT name, session, turn, from_seq FROM shown",
    "blocks": "SELECT commit_oid, session, from_seq FROM block",
    "sessions": (
        "SELECT name, path, parent, started, ended, title, status, source, platform, model, agent, machine, "
        "user, chat, chat_type, from_seq, to_seq FROM session"
    ),
    "links": "SELECT p.name, l.target, l.from_seq, l.to_seq FROM link l JOIN path p ON p.id = l.source",
    "keys": (
        "SELECT k.token, k.word, e.hash FROM key k JOIN entry e ON e.id = k.entry WHERE k.entry IN "
        "(SELECT entry FROM span WHERE space = '§' OR "
        "(to_seq IS NOT NULL AND (rank = 'knowledge' OR type = 'observation')))"
    ),
    "retractions": "SELECT hash, from_seq, to_seq FROM retraction",
    "words": (
        "SELECT v.term, e.hash, m.start, v.offset FROM words_places v JOIN message m ON m.id = v.doc "
        "JOIN entry e ON e.id = m.entry"
    ),
    "messages": "SELECT e.hash, m.start, m.length FROM message m JOIN entry e ON e.id = m.entry",
    "grams": ("SELECT v.term, e.hash, v.offset FROM grams_places v JOIN entry e ON e.id = v.doc"),
}


def same_as_rebuilt(memory: Memory) -> list[str]:
    """Compare the index of a memory with one made beside it."""
    index = memory.index.current()
    beside = memory.index._private(index.tip)
    try:
        return differences(index.database, beside)
    finally:
        beside.close()


def differences(one: Database, other: Database) -> list[str]:
    """A sentence for each kind of row in which two indexes differ; none where they say the same."""
    told = []
    for database in (one, other):
        for table in ("words", "grams"):
            database.rows(
                f"CREATE VIRTUAL TABLE IF NOT EXISTS temp.{table}_places USING fts5vocab (main, {table}, instance)"
            )
    for what, query in _VIEWS.items():
        # Row by row in one order: neither side is held in memory.
        left, right = (
            database.sql.execute(f"SELECT * FROM ({query}) ORDER BY {_all(query)}")
            for database in (one, other)
        )
        missing = unexpected = 0
        a, b = left.fetchone(), right.fetchone()
        while a is not None or b is not None:
            if a == b:
                a, b = left.fetchone(), right.fetchone()
            elif b is None or (a is not None and _order(a) < _order(b)):
                unexpected += 1
                a = left.fetchone()
            else:
                missing += 1
                b = right.fetchone()
        if missing or unexpected:
            told.append(f"Of the {what}, {missing:,} are missing and {unexpected:,} should not be there.")
    for kind in ("tip", "seq"):
        if one.get(kind) != other.get(kind):
            told.append(f"The {kind} is {one.get(kind)!r}, and should be {other.get(kind)!r}.")
    return told


def _all(query: str) -> str:
    columns = query.partition(" FROM ")[0].count(",") + 1
    return ", ".join(str(number) for number in range(1, columns + 1))


def _order(row: tuple[object, ...]) -> tuple[tuple[bool, object], ...]:
    """A row as SQLite orders it: NULL comes first."""
    return tuple((value is not None, value if value is not None else 0) for value in row)
