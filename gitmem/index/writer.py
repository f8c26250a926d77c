"""The writer: what a commit changed becomes rows."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping
from dataclasses import astuple, dataclass

from gitmem.index import grams
from gitmem.index.database import Database
from gitmem.index.documents import RECALLED
from gitmem.index.filters import marks
from gitmem.index.messages import messages_of
from gitmem.index.records import CONCEPT, Document, SessionFacts
from gitmem.index.schema import VECTORS_CHANGED
from gitmem.okf.entries import EntryKey
from gitmem.okf.timestamps import of_seconds, stamp
from gitmem.text.keys import changed_words, keys_of, quotes_of, tokens_of

# Trailers that commits are looked up by.
_TRAILERS = [
    "Session",
    "Turn",
    "Agent",
    "Machine",
    "Source",
    "Derived-From",
    "Reverts",
    "Snapshot",
    "Parent-Session",
]


@dataclass(frozen=True, slots=True)
class CommitOrigin:
    """The commit that a text came with: the row it is, and what it says of who and when."""

    commit_id: int
    session: str
    at: str
    turn: str = ""


@dataclass(frozen=True, slots=True)
class CommitFacts:
    """A commit in plain values."""

    oid: str
    time: int
    kind: str
    trailers: Mapping[str, tuple[str, ...]]

    def first(self, trailer: str) -> str:
        return self.trailers.get(trailer, ("",))[0]


_OPEN = "path = ? AND key = ? AND space = ? AND to_seq IS NULL"
_KNOWN = "space <> '§' AND (rank = 'knowledge' OR type = 'observation')"
_MOST_KEYS = 200


class Writer:
    """Adds to a database inside a transaction of its caller."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._sql = database.sql
        self._paths: dict[str, int] = {}

    # Commits

    def commit(self, facts: CommitFacts, paths: Iterable[str], *, seq: int, main: bool) -> CommitOrigin:
        """Add a commit and the paths it changed; gives the origin of what it brought."""
        who = [facts.first(key) for key in ("Session", "Agent", "Machine")]
        number = self._sql.execute(
            "INSERT INTO commits VALUES (NULL, ?, ?, ?, ?, ?, ?, ?, ?)",
            (facts.oid, seq, int(main), facts.time, facts.kind, *who),
        ).lastrowid
        assert number is not None
        self._sql.executemany(
            "INSERT OR IGNORE INTO trailer VALUES (?, ?, ?)",
            [(key, value, number) for key in _TRAILERS for value in facts.trailers.get(key, ())],
        )
        self._sql.executemany(
            "INSERT OR IGNORE INTO path_change VALUES (?, ?)", [(self._path(path), number) for path in paths]
        )
        at, turn = stamp(of_seconds(facts.time)), facts.first("Turn").partition("#")[0]
        return CommitOrigin(number, facts.first("Session"), at, turn)

    def has_commit(self, oid: str) -> bool:
        return self._database.row("SELECT 1 FROM commits WHERE oid = ?", (oid,)) is not None

    # Spans

    def open(self, path: str, document: Document, origin: CommitOrigin, seq: int) -> None:
        """A document stands at a path from `seq` on."""
        session = document.session or origin.session
        if document.type == RECALLED:
            self._sql.executemany(
                "INSERT OR IGNORE INTO shown VALUES (?, ?, ?, ?)",
                [(name, session, document.turn, seq) for name in document.turns],
            )
            return
        number, entry = self._path(path), self._entry(document.text)
        self._sql.execute(
            "INSERT INTO span VALUES (NULL, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, NULL)",
            (
                entry,
                number,
                *document.key,
                document.type,
                session,
                document.at or origin.at,
                "".join(f"\n{tag}" for tag in document.tags) + "\n" if document.tags else "",
                document.deprecated,
                document.scope,
                document.rank,
                document.source,
                document.replaces,
                document.turn,
                origin.commit_id,
                seq,
            ),
        )
        # A file whose front matter is its host's, a skill's, is linked by its commit.
        by_commit = (origin.turn,) if origin.turn and document.key == CONCEPT else ()
        for turn in document.turns or by_commit:
            row = (turn, number, document.key.id, origin.commit_id, seq)
            self._sql.execute("INSERT OR IGNORE INTO wrote VALUES (?, ?, ?, ?, ?)", row)
        if document.key.space == "§":
            self._keep_keys(entry, document.text)
            self._keep_changes(number, document)

    def close(self, path: str, key: EntryKey, seq: int) -> None:
        """End the span of a key at a path from `seq` on."""
        here = (self._path(path), key.id, key.space)
        gone = self._sql.execute(
            f"SELECT e.id, e.text FROM span s JOIN entry e ON e.id = s.entry WHERE {_OPEN} AND {_KNOWN}", here
        ).fetchall()
        self._sql.execute(f"UPDATE span SET to_seq = ? WHERE {_OPEN}", (seq, *here))
        for entry, text in gone:
            self._keep_keys(entry, text)

    def _entry(self, text: str) -> int:
        """Return the row of a text; where it is new, its words can be found from here on."""
        digest = hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=16).digest()
        sql = self._sql
        added = sql.execute("INSERT OR IGNORE INTO entry VALUES (NULL, ?, ?)", (digest, text))
        if not added.rowcount:
            return int(self._database.column("SELECT id FROM entry WHERE hash = ?", (digest,))[0])
        entry = added.lastrowid
        assert entry is not None
        for start, length in messages_of(text):
            row = sql.execute("INSERT INTO message VALUES (NULL, ?, ?, ?)", (entry, start, length)).lastrowid
            said = text[start : start + length] if length >= 0 else text
            sql.execute("INSERT INTO words (rowid, text) VALUES (?, ?)", (row, said))
        if pieces := grams.indexed(text):
            sql.execute("INSERT INTO grams (rowid, pieces) VALUES (?, ?)", (entry, pieces))
        return entry

    # Keys: of what is curated, which may hold elsewhere only or be hidden, and of what is gone

    def _keep_keys(self, entry: int, text: str) -> None:
        self._insert_keys(entry, [*sorted(keys_of(text)), *quotes_of(text)][:_MOST_KEYS])

    def _keep_changes(self, path: int, document: Document) -> None:
        """Of what a § entry replaces, the words that went are its keys as well."""
        for entry, old in self._database.rows(
            "SELECT DISTINCT e.id, e.text FROM span s JOIN entry e ON e.id = s.entry "
            "WHERE s.path = ? AND s.key = ? AND s.key <> ''",
            (path, document.replaces),
        ):
            self._insert_keys(entry, changed_words(old, document.text))

    def _insert_keys(self, entry: int, words: Iterable[str]) -> None:
        self._sql.executemany(
            "INSERT OR IGNORE INTO key VALUES (?, ?, ?)",
            [(max(tokens_of(word), key=len), word, entry) for word in words],
        )

    # Sessions, links and retractions

    def session(self, facts: SessionFacts, seq: int) -> None:
        """A session's concept says this from `seq` on."""
        values = (*astuple(facts), seq, None)
        self._sql.execute(f"INSERT INTO session VALUES ({marks(values)})", values)

    def blocks(self, session: str, commits: Iterable[str], seq: int) -> None:
        """The prompts of a session were made from these commits."""
        rows = [(commit, session, seq) for commit in commits]
        self._sql.executemany("INSERT OR IGNORE INTO block VALUES (?, ?, ?)", rows)

    def end_session(self, path: str, seq: int) -> None:
        self._sql.execute(
            "UPDATE session SET to_seq = ? WHERE path = ? AND to_seq IS NULL", (seq, _storable(path))
        )

    def link(self, path: str, targets: Iterable[str], seq: int) -> None:
        self._sql.executemany(
            "INSERT INTO link VALUES (?, ?, ?, NULL)", [(self._path(path), target, seq) for target in targets]
        )

    def unlink(self, path: str, targets: Iterable[str], seq: int) -> None:
        self._sql.executemany(
            "UPDATE link SET to_seq = ? WHERE source = ? AND target = ? AND to_seq IS NULL",
            [(seq, self._path(path), target) for target in targets],
        )

    def retract(self, name: str, seq: int) -> None:
        self._sql.execute("INSERT INTO retraction VALUES (?, ?, NULL)", (name, seq))

    def unretract(self, name: str, seq: int) -> None:
        self._sql.execute("UPDATE retraction SET to_seq = ? WHERE hash = ? AND to_seq IS NULL", (seq, name))

    # Going back

    def roll_back(self, seq: int) -> None:
        """Forget what happened after `seq`: the line goes on differently from there."""
        sql = self._sql
        for table in ("path_change", "trailer"):
            sql.execute(
                f"DELETE FROM {table} WHERE commit_id IN (SELECT id FROM commits WHERE seq > ?)", (seq,)
            )
        sql.execute("DELETE FROM commits WHERE seq > ?", (seq,))
        gone = sql.execute("SELECT DISTINCT entry FROM span WHERE from_seq > ?", (seq,)).fetchall()
        for table in ("wrote", "shown", "block"):
            sql.execute(f"DELETE FROM {table} WHERE from_seq > ?", (seq,))
        for table in ("span", "link", "session", "retraction"):
            sql.execute(f"DELETE FROM {table} WHERE from_seq > ?", (seq,))
            sql.execute(f"UPDATE {table} SET to_seq = NULL WHERE to_seq > ?", (seq,))
        for (entry,) in gone:
            self._drop_if_nowhere(entry)
        sql.execute(VECTORS_CHANGED)

    def _drop_if_nowhere(self, entry: int) -> None:
        sql = self._sql
        if sql.execute("SELECT 1 FROM span WHERE entry = ? LIMIT 1", (entry,)).fetchone():
            return
        (text,) = sql.execute("SELECT text FROM entry WHERE id = ?", (entry,)).fetchone()
        sql.execute(
            "INSERT INTO words (words, rowid, text) SELECT 'delete', id, text FROM message_text WHERE entry = ?",
            (entry,),
        )
        if pieces := grams.indexed(text):
            sql.execute("INSERT INTO grams (grams, rowid, pieces) VALUES ('delete', ?, ?)", (entry, pieces))
        sql.execute("DELETE FROM vector WHERE message IN (SELECT id FROM message WHERE entry = ?)", (entry,))
        for table in ("message", "key"):
            sql.execute(f"DELETE FROM {table} WHERE entry = ?", (entry,))
        sql.execute("DELETE FROM entry WHERE id = ?", (entry,))

    def _path(self, name: str) -> int:
        found = self._paths.get(name)
        if found is None:
            self._sql.execute("INSERT OR IGNORE INTO path VALUES (NULL, ?)", (_storable(name),))
            row = self._database.row("SELECT id FROM path WHERE name = ?", (_storable(name),))
            found = self._paths[name] = int(row[0]) if row else 0
        return found


def _storable(name: str) -> str:
    """A path as SQLite can hold it; bytes that are not UTF-8 are shown."""
    return name.encode("utf-8", "backslashreplace").decode()
