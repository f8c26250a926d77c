"""Vectors of messages, for search by meaning: a view like the index itself, kept in it and gone with it.

A vector has length 1 and is kept in a byte for each number. Only this class needs numpy.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from importlib import import_module
from typing import Any

from gitmem.index.database import Database
from gitmem.index.schema import VECTORS_CHANGED

_AT_ONCE = 20_000  # rows that are compared in one step: so much is a float at a time


class Vectors:
    """The vectors of one index, by one model."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._numpy: Any = import_module("numpy")
        self._loaded = "", 0
        self._entries: list[int] = []
        self._matrix: Any = None

    def use(self, model: str) -> None:
        """Forget the vectors of another model."""
        if self._database.get("vectors") != model:
            with self._database.writing():
                self._database.sql.execute("DELETE FROM vector")
                self._database.sql.execute(VECTORS_CHANGED)
                self._database.set("vectors", model)

    def missing(self, limit: int) -> list[tuple[int, int, int, str]]:
        """Return messages that have no vector yet, the newest first: id, entry, number in the entry, text."""
        return self._database.rows(
            "SELECT m.id, m.entry, (SELECT count(*) FROM message o WHERE o.entry = m.entry AND o.start < m.start), "
            "t.text FROM message m JOIN message_text t ON t.id = m.id "
            "WHERE NOT EXISTS (SELECT 1 FROM vector v WHERE v.message = m.id) ORDER BY m.id DESC LIMIT ?",
            (limit,),
        )

    def count_missing(self) -> int:
        found = self._database.row("SELECT (SELECT count(*) FROM message) - (SELECT count(*) FROM vector)")
        return int(found[0]) if found else 0

    def store(self, model: str, rows: Iterable[tuple[int, Sequence[float] | None]]) -> None:
        """Keep vectors, if the model is still the one in use; None marks a message that gets none."""
        packed = [(number, self._packed(vector) if vector is not None else b"") for number, vector in rows]
        with self._database.writing():
            if self._database.get("vectors") == model:
                self._database.sql.executemany(
                    "INSERT OR REPLACE INTO vector SELECT ?1, ?2 WHERE EXISTS (SELECT 1 FROM message WHERE id = ?1)",
                    packed,
                )
                self._database.sql.execute(VECTORS_CHANGED)

    def nearest(self, vector: Sequence[float], limit: int) -> list[tuple[int, float]]:
        """Return the entries whose messages are nearest, the best first, with how near each is, up to 1."""
        self._load(len(vector))
        asked, length = self._measured(vector)
        if self._matrix is None or not length:
            return []
        scores = self._numpy.concatenate(
            [
                self._matrix[start : start + _AT_ONCE].astype("float32") @ asked
                for start in range(0, len(self._matrix), _AT_ONCE)
            ]
        ) / (127 * length)
        best: dict[int, float] = {}
        for place in self._numpy.argsort(-scores)[: 2 * limit]:
            best.setdefault(self._entries[place], float(scores[place]))
        return list(best.items())[:limit]

    def _load(self, width: int) -> None:
        """Read the vectors of so many numbers, where there are others than last time; a damaged one is left out."""
        state = self._database.get("vectors changed"), width
        if state == self._loaded:
            return
        rows = self._database.rows(
            "SELECT m.entry, v.data FROM vector v JOIN message m ON m.id = v.message WHERE length(v.data) = ? ORDER BY m.id",
            (width,),
        )
        self._entries = [entry for entry, _ in rows]
        data = b"".join(row[1] for row in rows)
        self._matrix = self._numpy.frombuffer(data, dtype="int8").reshape(len(rows), width) if rows else None
        self._loaded = state

    def _packed(self, vector: Sequence[float]) -> bytes:
        """A vector of length 1 with a byte for each number; empty for one that has no direction."""
        numbers, length = self._measured(vector)
        return bytes(self._numpy.rint(numbers * (127 / length)).astype("int8").tobytes()) if length else b""

    def _measured(self, vector: Sequence[float]) -> tuple[Any, float]:
        """Return a vector as an array with its length; 0 for one that has no direction."""
        numbers = self._numpy.asarray(vector, dtype="float32")
        length = float(self._numpy.linalg.norm(numbers))
        return numbers, length if self._numpy.isfinite(length) else 0.0
