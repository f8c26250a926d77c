"""A database of another program, read and never written, also while that program runs."""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from urllib.parse import quote

from gitmem.errors import InvalidContent

_WAIT = 5.0
Row = dict[str, object]


class OtherDatabase:
    """An open database, by the names of its columns: which there are depends on the version that made it."""

    def __init__(self, sql: sqlite3.Connection, path: str) -> None:
        self._sql = sql
        self._path = path

    def columns(self, table: str) -> frozenset[str]:
        """The columns of a table; none where there is no such table. A view may have no end, and counts as none."""
        is_table = "(SELECT 1 FROM sqlite_master WHERE type = 'table' AND name = ?1)"
        with _translated(self._path):
            found = self._sql.execute(
                f"SELECT name FROM pragma_table_info(?1) WHERE EXISTS {is_table}", (table,)
            )
            return frozenset(str(row[0]) for row in found)

    def rows(
        self,
        table: str,
        wanted: tuple[str, ...],
        *,
        where: str = "",
        values: tuple[object, ...] = (),
        order: str = "",
    ) -> Iterator[Row]:
        """Rows of a table with those of the wanted columns that it has; the others are None. One at a time."""
        known = self.columns(table)
        present = [name for name in wanted if name in known]
        if not present:
            return
        sql = f"SELECT {', '.join(_quoted(name) for name in present)} FROM {_quoted(table)}"
        sql += f" WHERE {where}" if where else ""
        sql += f" ORDER BY {order}" if order else ""
        nothing = dict.fromkeys(wanted)
        with _translated(self._path):
            for row in self._sql.execute(sql, values):
                yield {**nothing, **dict(zip(present, row, strict=True))}


@contextmanager
def opened(path: str) -> Iterator[OtherDatabase]:
    """The database at a path. Raises InvalidContent where it is none, is damaged, or stays locked."""
    if not os.path.isfile(path):
        raise InvalidContent(f"There is no file {path}.")
    with _translated(path):
        sql = sqlite3.connect(f"file:{quote(os.path.abspath(path))}?mode=ro", uri=True, timeout=_WAIT)
    try:
        with _translated(path):
            sql.execute("PRAGMA query_only = ON")
            sql.text_factory = lambda data: data.decode("utf-8", "surrogateescape")
            sql.execute("SELECT count(*) FROM sqlite_master").fetchone()
        yield OtherDatabase(sql, path)
    finally:
        sql.close()


@contextmanager
def _translated(path: str) -> Iterator[None]:
    try:
        yield
    except sqlite3.OperationalError as error:
        raise InvalidContent(
            f"{path} cannot be read now ({error}).", hint="Close the program that uses it, and try again."
        ) from error
    except sqlite3.DatabaseError as error:
        raise InvalidContent(f"{path} is damaged, or not a database ({error}).") from error


def _quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'
