"""Retractions: what was taken out and must not come back, by hash and without its text."""

from __future__ import annotations

from typing import Protocol

from gitmem.okf import layout
from gitmem.okf.entries import EntryKey, entry_hash


class _Files(Protocol):
    def __contains__(self, path: str) -> bool: ...


def retraction_hash(key: EntryKey) -> str:
    """The name under which an entry is retracted: a § entry's own hash, an event's by its id."""
    return key.id if key.space == "§" else entry_hash(f"{key.space} {key.id}")


def is_retracted(files: _Files, key: EntryKey) -> bool:
    """Whether the entry was retracted in this tree."""
    return layout.retraction(retraction_hash(key)) in files
