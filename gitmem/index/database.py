"""One SQLite database: opened for readers or a writer, with errors that say what to do."""

from __future__ import annotations

import contextlib
import os
import sqlite3
from collections.abc import Iterable, Iterator
from typing import Any
from urllib.parse import quote

from gitmem.errors import IndexTrouble, Trouble
from gitmem.files import create, remove_file
from gitmem.index import schema

PRIVATE = ""
"""The name of a database that SQLite keeps in memory or a temporary file, and that ends with its connection."""

_WAIT_MS = 30_000
"""As long as a write waits for git: an index of one's own takes longer to build than another thread to finish."""
_AT_ONCE = 500
_CACHE_KB = 16 * 1024
_BULK_CACHE_KB = 64 * 1024

_TROUBLES: dict[int, tuple[Trouble, str]] = {
    sqlite3.SQLITE_BUSY: ("busy", "another process holds it"),
    sqlite3.SQLITE_LOCKED: ("busy", "another process holds it"),
    sqlite3.SQLITE_READONLY: ("unwritable", "it cannot be written to"),
    sqlite3.SQLITE_CANTOPEN: ("unwritable", "it cannot be opened"),
    sqlite3.SQLITE_IOERR: ("unwritable", "the disk refuses"),
    sqlite3.SQLITE_FULL: ("unwritable", "the disk is full"),
    sqlite3.SQLITE_PERM: ("unwritable", "the system refuses access to it"),
}


@contextlib.contextmanager
def translated() -> Iterator[None]:
    """Errors of SQLite leave the block as an IndexTrouble."""
    try:
        yield
    except sqlite3.Error as error:
        code = getattr(error, "sqlite_errorcode", sqlite3.SQLITE_CORRUPT) & 0xFF
        kind, why = _TROUBLES.get(code, ("damaged", "it is damaged"))
        raise IndexTrouble(kind, why) from error


class Database:
    """A connection to an index whose schema is this version's. For one thread."""

    def __init__(self, connection: sqlite3.Connection, path: str, *, writable: bool) -> None:
        self.sql = connection
        self.path = path
        self.is_writable = writable
        self._identity = _identity(path)

    @classmethod
    def open(cls, path: str) -> Database:
        """The database at `path`; read only where it cannot be written."""
        if not os.path.exists(path):
            raise IndexTrouble("missing", "there is none yet")
        with translated():
            try:
                return cls._checked(_connect(path), path, writable=os.access(path, os.W_OK))
            except sqlite3.OperationalError as error:
                code = getattr(error, "sqlite_errorcode", 0) & 0xFF
                if code not in (sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_READONLY):
                    raise
            # A directory that cannot be written has no room for the files beside the database.
            return cls._checked(_connect(path, "immutable=1"), path, writable=False)

    @classmethod
    def create(cls, path: str) -> Database:
        """A new, empty database, not safe until `settle`. Buys "full rebuild / bare loop": nothing waits for a disk."""
        if path != PRIVATE:
            _make_file(path)
        with translated():
            connection = _connect(path)
            connection.execute("PRAGMA journal_mode = OFF")
            connection.execute("PRAGMA synchronous = OFF")
            connection.execute(f"PRAGMA cache_size = -{_BULK_CACHE_KB}")
            connection.executescript(schema.SCHEMA)
            connection.execute(f"PRAGMA application_id = {schema.APPLICATION}")
            connection.execute(f"PRAGMA user_version = {schema.VERSION}")
            return cls(connection, path, writable=True)

    @classmethod
    def _checked(cls, connection: sqlite3.Connection, path: str, *, writable: bool) -> Database:
        try:
            version = connection.execute("PRAGMA user_version").fetchone()[0]
            if version != schema.VERSION:
                newer = " by a newer gitmem" if version > schema.VERSION else ""
                raise IndexTrouble("damaged", f"it was made{newer} with schema {version}")
            connection.execute("SELECT 1 FROM meta WHERE key = 'tip'")
        except BaseException:
            connection.close()
            raise
        return cls(connection, path, writable=writable)

    def settle(self) -> None:
        """From here on the database survives a crash and is read while it is written."""
        with translated():
            self.sql.execute("PRAGMA synchronous = NORMAL")
            if self.path != PRIVATE:
                self.sql.execute("PRAGMA journal_mode = WAL")

    @property
    def is_replaced(self) -> bool:
        """Return whether this database's path now has another database, or none."""
        return self.path != PRIVATE and _identity(self.path) != self._identity

    @contextlib.contextmanager
    def writing(self) -> Iterator[None]:
        """An exclusive write transaction; all or nothing."""
        with translated():
            self.sql.execute("BEGIN IMMEDIATE")
            try:
                yield
                self.sql.execute("COMMIT")
            except BaseException:
                # The failure may have ended the transaction already.
                with contextlib.suppress(sqlite3.Error):
                    self.sql.execute("ROLLBACK")
                raise

    @contextlib.contextmanager
    def reading(self) -> Iterator[None]:
        """Several reads that see one state."""
        with translated():
            if self.sql.in_transaction:
                yield
                return
            self.sql.execute("BEGIN")
            try:
                yield
            finally:
                with contextlib.suppress(sqlite3.Error):
                    self.sql.execute("COMMIT")

    def rows(self, query: str, values: Any = ()) -> list[tuple[Any, ...]]:
        with translated():
            return self._asked(query, values).fetchall()

    def row(self, query: str, values: Any = ()) -> tuple[Any, ...] | None:
        with translated():
            found: tuple[Any, ...] | None = self._asked(query, values).fetchone()
            return found

    def column(self, query: str, values: Any = ()) -> list[Any]:
        """The first value of each row."""
        return [row[0] for row in self.rows(query, values)]

    def rows_of(self, query: str, values: Iterable[Any]) -> list[tuple[Any, ...]]:
        """The rows of a query that ends in IN, for any number of values."""
        listed = list(values)
        parts = [listed[start : start + _AT_ONCE] for start in range(0, len(listed), _AT_ONCE)]
        return [row for some in parts for row in self.rows(f"{query} ({', '.join('?' for _ in some)})", some)]

    def _asked(self, query: str, values: Any) -> sqlite3.Cursor:
        try:
            return self.sql.execute(query, values)
        except UnicodeEncodeError:  # half of a character, which no document has
            return self.sql.execute(query, [_whole(value) for value in values])

    def get(self, key: str) -> str:
        """A value of the table `meta`; empty where there is none."""
        found = self.row("SELECT value FROM meta WHERE key = ?", (key,))
        return found[0] if found else ""

    def set(self, key: str, value: str) -> None:
        with translated():
            self.sql.execute("INSERT OR REPLACE INTO meta VALUES (?, ?)", (key, value))

    def close(self) -> None:
        with contextlib.suppress(sqlite3.Error):
            self.sql.close()


def _make_file(path: str) -> None:
    """An empty file for SQLite to fill, which gives its own beside it the same mode."""
    try:
        os.close(create(path, os.O_WRONLY | os.O_CREAT))
    except OSError as error:
        raise IndexTrouble("unwritable", f"the system refuses ({error.strerror})") from error


def _connect(path: str, *options: str) -> sqlite3.Connection:
    name = f"file:{quote(path)}?{'&'.join(options)}" if options else path
    connection = sqlite3.connect(
        name, timeout=_WAIT_MS / 1000, isolation_level=None, uri=bool(options), check_same_thread=False
    )
    connection.execute(f"PRAGMA cache_size = -{_CACHE_KB}")
    connection.execute("PRAGMA temp_store = MEMORY")
    return connection


def _whole(value: object) -> object:
    return value.encode("utf-8", "replace").decode() if isinstance(value, str) else value


def _identity(path: str) -> tuple[int, int]:
    try:
        found = os.stat(path)
    except OSError:
        return 0, 0
    return found.st_dev, found.st_ino


def files_of(path: str) -> tuple[str, ...]:
    """A database and what SQLite keeps beside it."""
    return path, f"{path}-wal", f"{path}-shm", f"{path}-journal"


def publish(made: str, path: str) -> None:
    """Put a finished database in the place of another; readers of the old one keep it."""
    try:
        with open(made, "rb+") as file:
            os.fsync(file.fileno())
        # SQLite sees that the file it opened has moved and neither writes to it nor deletes what is beside it.
        for name in files_of(path):
            remove_file(name)
        os.replace(made, path)
    except OSError as error:
        raise IndexTrouble("unwritable", f"the system refuses ({error.strerror})") from error


def remove(path: str) -> None:
    """Delete a database with all that belongs to it."""
    for name in files_of(path):
        with contextlib.suppress(OSError):
            os.unlink(name)
