"""Retractions: what was taken out and must not come back, by hash and without its text."""

from __future__ import annotations

from typing import Literal

from gitmem.errors import InvalidContent
from gitmem.memory.edits import Files, ListedFiles, WritableFiles
from gitmem.memory.provenance import Origin
from gitmem.okf import layout
from gitmem.okf.concept import Concept
from gitmem.okf.entries import Entry, EntryKey
from gitmem.okf.files import open_file
from gitmem.okf.identity import retraction_hash

State = Literal["reverted", "held", "released"]


def is_retracted(files: Files, key: EntryKey, path: str = "", text: str = "") -> bool:
    """Whether the entry was retracted in this tree, and nobody released it since."""
    where = layout.retraction(retraction_hash(key, path, text))
    data = files.read(where) if where in files else None
    return data is not None and retracts(data, where)


def retracts(data: bytes, path: str) -> bool:
    """Whether a retraction still holds: one that cannot be read does, one that was released does not."""
    try:
        return Concept.parse(data, path).meta.get("state") != "released"
    except InvalidContent:
        return True


class Retracted:
    """What is retracted in a tree, asked for many entries: their names are read once."""

    def __init__(self, files: ListedFiles) -> None:
        self._files = files
        self._names = frozenset(files.names("retractions"))

    def has(self, key: EntryKey, path: str = "", text: str = "") -> bool:
        if not self._names:
            return False
        where = layout.retraction(retraction_hash(key, path, text))
        return where.rpartition("/")[2] in self._names and is_retracted(self._files, key, path, text)


def retract(files: WritableFiles, entry: Entry, path: str, *, state: State, at: str, origin: Origin) -> None:
    """Say in the tree that an entry must not come back, or (`released`) that it may."""
    text = open_file(path, entry.source).body if entry.source else entry.text
    where = layout.retraction(retraction_hash(entry.key, path, text))
    data = files.read(where)
    counter = 0
    if data is not None:
        found = Concept.parse(data, where)
        value = found.meta.get("counter")
        counter = value if isinstance(value, int) else 0
        if found.meta.get("state") == state:
            return
    concept = Concept.new(
        layout.RETRACTION,
        "",
        state=state,
        counter=counter + 1,
        by=origin.agent or "human",
        at=at,
        machine=origin.machine or None,
        reason=origin.reason or None,
    )
    files.write(where, concept.render())
