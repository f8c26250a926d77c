"""The writer: what a commit changed becomes rows, collected and inserted in large batches."""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import astuple, dataclass, fields
from typing import Any

from gitmem.index import grams
from gitmem.index.database import Database
from gitmem.index.documents import RECALLED
from gitmem.index.messages import messages_of
from gitmem.index.records import CONCEPT, Document, SessionFacts
from gitmem.okf.entries import EntryKey
from gitmem.text.keys import changed_words, keys_of, quotes_of, tokens_of

_BATCH = 4_000  # Buys "full rebuild / bare loop": a statement for thousands of rows
_SESSION, _FROM = 5, -2  # where a row of a span has its session and its first seq
_BATCH_CHARACTERS = 8_000_000
# Trailers that commits are looked up by.
_TRAILERS = (
    "Session",
    "Turn",
    "Agent",
    "Machine",
    "Source",
    "Derived-From",
    "Reverts",
    "Snapshot",
    "Parent-Session",
)


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


_INSERT_SESSION = f"INSERT INTO session VALUES ({', '.join('?' for _ in fields(SessionFacts))}, ?, NULL)"
KEYED = (
    "s.from_seq > 0 AND (s.space = '§' OR "
    "(s.to_seq IS NOT NULL AND (s.rank = 'knowledge' OR s.type = 'observation')))"
)
"""Which spans `s` have their keys kept: what is curated, which may hold elsewhere only or be hidden, and what is gone."""

_MOST_KEYS = 200


class Writer:
    """Adds to a database inside a transaction of its caller. Rows are in the tables after `flush`."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._sql = database.sql
        self._paths: dict[str, int] = {}
        self._new_paths: list[tuple[int, str]] = []
        self._texts: dict[bytes, str] = {}
        self._characters = 0
        self._spans: dict[tuple[int, EntryKey], list[Any]] = {}
        self._done_spans: list[list[Any]] = []
        self._wrote: list[tuple[str, int, str, int, int]] = []
        self._shown: list[tuple[str, str, str, int]] = []
        self._closed: list[tuple[int, int, str, str]] = []
        self._keyed: set[bytes] = set()
        self._first_closed: int | None = None
        self._commits: list[tuple[Any, ...]] = []
        self._trailers: list[tuple[str, str, int]] = []
        self._changes: list[tuple[int, int]] = []
        self._known: set[str] = set()
        self._next_path = self._next("path")
        self._next_commit = self._next("commits")
        self._last_entry = self._next("entry") - 1
        self._next_message = self._next("message")

    def _next(self, table: str) -> int:
        found = self._database.row(f"SELECT max(id) FROM {table}")
        return (found[0] or 0) + 1 if found else 1

    # Commits

    def commit(self, facts: CommitFacts, paths: Iterable[str], *, seq: int, main: bool) -> int:
        """A commit and the paths it changed; gives its row's id."""
        number = self._next_commit
        self._next_commit += 1
        self._known.add(facts.oid)
        who = [facts.first(key) for key in ("Session", "Agent", "Machine")]
        self._commits.append((number, facts.oid, seq, int(main), facts.time, facts.kind, *who))
        for key in _TRAILERS:
            self._trailers += [(key, value, number) for value in dict.fromkeys(facts.trailers.get(key, ()))]
        self._changes += [(self.path(path), number) for path in paths]
        if len(self._changes) >= _BATCH or len(self._commits) >= _BATCH:
            self.flush()
        return number

    def has_commit(self, oid: str) -> bool:
        if oid in self._known:
            return True
        return self._database.row("SELECT 1 FROM commits WHERE oid = ?", (oid,)) is not None

    # Spans

    def open(self, path: str, document: Document, origin: CommitOrigin, seq: int) -> None:
        """A document stands at a path from `seq` on."""
        if document.type == RECALLED:
            session = document.session or origin.session
            self._shown += [(name, session, document.turn, seq) for name in document.turns]
            return
        digest = text_hash(document.text)
        if digest not in self._texts:
            self._texts[digest] = document.text
            self._characters += len(document.text)
        number = self.path(path)
        self._spans[number, document.key] = [
            digest,
            number,
            *document.key,
            document.type,
            document.session or origin.session,
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
            None,
        ]
        # A file whose front matter is its host's, a skill's, is linked by its commit.
        by_commit = (origin.turn,) if origin.turn and document.key == CONCEPT else ()
        wrote = document.turns or by_commit
        self._wrote += [(turn, number, document.key.id, origin.commit_id, seq) for turn in wrote]
        if document.key.space == "§":
            self._keyed.add(digest)
        if len(self._spans) + len(self._done_spans) >= _BATCH or self._characters >= _BATCH_CHARACTERS:
            self.flush()

    def close(self, path: str, key: EntryKey, seq: int) -> None:
        """End the span of a key at a path from `seq` on."""
        number = self.path(path)
        self._first_closed = seq if self._first_closed is None else min(seq, self._first_closed)
        row = self._spans.pop((number, key), None)
        if row is None:
            self._closed.append((seq, number, key.id, key.space))
        else:
            row[-1] = seq
            self._done_spans.append(row)

    # Sessions, links and retractions

    def session(self, facts: SessionFacts, seq: int) -> None:
        """A session's concept says this from `seq` on."""
        self._sql.execute(_INSERT_SESSION, (*astuple(facts), seq))

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
            "INSERT INTO link VALUES (?, ?, ?, NULL)", [(self.path(path), target, seq) for target in targets]
        )

    def unlink(self, path: str, targets: Iterable[str], seq: int) -> None:
        self._sql.executemany(
            "UPDATE link SET to_seq = ? WHERE source = ? AND target = ? AND to_seq IS NULL",
            [(seq, self.path(path), target) for target in targets],
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
        sql.execute("DELETE FROM session_size")
        sql.execute("INSERT INTO session_size SELECT session, count(*) FROM span GROUP BY session")
        self._last_entry = self._next("entry") - 1
        self._next_message = self._next("message")
        self._next_commit = self._next("commits")

    def _drop_if_nowhere(self, entry: int) -> None:
        sql = self._sql
        if sql.execute("SELECT 1 FROM span WHERE entry = ? LIMIT 1", (entry,)).fetchone():
            return
        (text,) = sql.execute("SELECT text FROM entry WHERE id = ?", (entry,)).fetchone()
        sql.execute(
            "INSERT INTO words (words, rowid, text) SELECT 'delete', id, text FROM message_text WHERE entry = ?",
            (entry,),
        )
        sql.execute("DELETE FROM vector WHERE message IN (SELECT id FROM message WHERE entry = ?)", (entry,))
        sql.execute("DELETE FROM message WHERE entry = ?", (entry,))
        if piece := grams.indexed(text):
            sql.execute("INSERT INTO grams (grams, rowid, pieces) VALUES ('delete', ?, ?)", (entry, piece))
        sql.execute("DELETE FROM key WHERE entry = ?", (entry,))
        sql.execute("DELETE FROM entry WHERE id = ?", (entry,))

    # Batches

    def path(self, name: str) -> int:
        found = self._paths.get(name)
        if found is None:
            row = self._database.row("SELECT id FROM path WHERE name = ?", (_storable(name),))
            if row is not None:
                found = int(row[0])
            else:
                found = self._next_path
                self._next_path += 1
                self._new_paths.append((found, _storable(name)))
            self._paths[name] = found
        return found

    def flush(self) -> None:
        """Everything so far is in the tables."""
        many = self._sql.executemany
        many("INSERT INTO path VALUES (?, ?)", self._new_paths)
        many("INSERT INTO commits VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)", self._commits)
        many("INSERT INTO trailer VALUES (?, ?, ?)", self._trailers)
        many("INSERT OR IGNORE INTO path_change VALUES (?, ?)", self._changes)
        many(
            "UPDATE span SET to_seq = ? WHERE path = ? AND key = ? AND space = ? AND to_seq IS NULL AND from_seq > 0",
            self._closed,
        )
        self._insert_texts()
        sizes = Counter(row[_SESSION] for row in (*self._done_spans, *self._spans.values()) if row[_FROM] > 0)
        many(
            "INSERT INTO session_size VALUES (?, ?) "
            "ON CONFLICT (session) DO UPDATE SET entries = entries + excluded.entries",
            sizes.items(),
        )
        many(
            "INSERT INTO span VALUES "
            "(NULL, (SELECT id FROM entry WHERE hash = ?), ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
            [*self._done_spans, *self._spans.values()],
        )
        many("INSERT OR IGNORE INTO wrote VALUES (?, ?, ?, ?, ?)", self._wrote)
        many("INSERT OR IGNORE INTO shown VALUES (?, ?, ?, ?)", self._shown)
        self._shown.clear()
        self._insert_keys()
        for rows in (
            self._new_paths,
            self._commits,
            self._trailers,
            self._changes,
            self._closed,
            self._wrote,
        ):
            rows.clear()
        self._spans.clear()
        self._done_spans.clear()
        self._known.clear()
        if len(self._paths) > 50_000:
            self._paths.clear()

    def _insert_texts(self) -> None:
        sql = self._sql
        sql.executemany("INSERT OR IGNORE INTO entry (hash, text) VALUES (?, ?)", self._texts.items())
        added = sql.execute("SELECT id, hash FROM entry WHERE id > ? ORDER BY id", (self._last_entry,))
        messages = [(entry, *one) for entry, digest in added for one in messages_of(self._texts[digest])]
        first, self._next_message = self._next_message, self._next_message + len(messages)
        sql.executemany(
            "INSERT INTO message VALUES (?, ?, ?, ?)",
            [(number, *one) for number, one in enumerate(messages, first)],
        )
        sql.execute(
            "INSERT INTO words (rowid, text) SELECT id, text FROM message_text WHERE id >= ? ORDER BY id",
            (first,),
        )
        needing = [(digest, piece) for digest, text in self._texts.items() if (piece := grams.indexed(text))]
        sql.executemany(
            "INSERT INTO grams (rowid, pieces) SELECT id, ?2 FROM entry WHERE hash = ?1 AND id > ?3",
            [(digest, piece, self._last_entry) for digest, piece in needing],
        )
        self._last_entry = self._next("entry") - 1
        self._texts.clear()
        self._characters = 0

    def _insert_keys(self) -> None:
        """Keep the keys of what came that is curated, and of what went: of other entries none are asked for."""
        texts = [
            self._database.row("SELECT id, text FROM entry WHERE hash = ?", (digest,))
            for digest in self._keyed
        ]
        if self._first_closed is not None:
            texts += self._database.rows(
                "SELECT DISTINCT e.id, e.text FROM span s JOIN entry e ON e.id = s.entry "
                f"WHERE s.to_seq >= ? AND {KEYED}",
                (self._first_closed,),
            )
        found = [
            (entry, word)
            for entry, text in dict.fromkeys(filter(None, texts))
            for word in (*sorted(keys_of(text)), *quotes_of(text))[:_MOST_KEYS]
        ]
        for digest in self._keyed:
            corrected = self._database.rows(
                "SELECT DISTINCT o.entry, x.text, e.text FROM entry e JOIN span s ON s.entry = e.id AND s.replaces <> '' "
                "JOIN span o ON o.path = s.path AND o.key = s.replaces AND o.from_seq > 0 "
                "JOIN entry x ON x.id = o.entry WHERE e.hash = ?",
                (digest,),
            )
            found += [(entry, word) for entry, old, new in corrected for word in changed_words(old, new)]
        self._sql.executemany(
            "INSERT OR IGNORE INTO key VALUES (?, ?, ?)",
            [(max(tokens_of(word), key=len), word, entry) for entry, word in found],
        )
        self._keyed.clear()
        self._first_closed = None


def text_hash(text: str) -> bytes:
    """Return the identity of a text's row."""
    return hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=16).digest()


def _storable(name: str) -> str:
    """A path as SQLite can hold it; bytes that are not UTF-8 are shown."""
    return name.encode("utf-8", "backslashreplace").decode()
