"""Retractions: what was taken out and must not come back, by hash and without its text."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Literal

from gitmem.memory.edits import Files, ListedFiles, WritableFiles
from gitmem.memory.origin import Origin
from gitmem.okf import layout
from gitmem.okf.concept import Concept
from gitmem.okf.entries import BODY, CONCEPT, Entry, EntryKey, retraction_hash, turns_of
from gitmem.okf.files import EntryFile, open_file

State = Literal["reverted", "held", "released"]

_WORDS = ("title", "description", "tags")
"""Front matter that is found by a search."""


def is_retracted(files: Files, key: EntryKey, path: str = "", text: str = "") -> bool:
    """Return whether the entry was retracted in this tree, and nobody released it since."""
    return holds(files, retraction_hash(key, path, text))


def says_retracted(files: Files, file: EntryFile) -> bool:
    """Return whether the text of a concept, or words about it, were retracted in this tree."""
    return any(holds(files, name) for name in names_of_sayings(file))


def retracted_units(files: Files, file: EntryFile) -> set[EntryKey]:
    """Return what of a file was retracted in a tree: entries, or the file as a whole."""
    return {key for key in file.units if is_retracted(files, key, file.path, file.body)}


def retractions_of(file: EntryFile) -> set[str]:
    """Return where the retractions would be that take something of a file away."""
    return {layout.retraction(retraction_hash(key, file.path, file.body)) for key in file.units}


def names_of_sayings(file: EntryFile) -> Iterator[str]:
    """The names under which the text of a concept, and words about it, would be retracted."""
    for key, entry in file.entries.items():
        if _is_said(key):
            yield retraction_hash(key, file.path, entry.text)


def _is_said(key: EntryKey) -> bool:
    """Return whether an entry is somebody's words; other front matter (a status, a date) may well come back."""
    return key.space != "meta" or key.id in _WORDS


def holds(files: Files, name: str, *, apart_from: str = "") -> bool:
    """Return whether the tree has a retraction of that name that holds, and that does not name the turn `apart_from`."""
    where = layout.retraction(name)
    data = files.read(where) if where in files else None
    is_apart = apart_from and data is not None and apart_from in turns_of(_said_in(data, where))
    return not is_apart and retracts(data, where)


def retracts(data: bytes | None, path: str) -> bool:
    """Return whether a retraction is there and holds: one that cannot be read does, one that was released does not."""
    return data is not None and _said_in(data, path).get("state") != "released"


def _said_in(data: bytes, path: str) -> Mapping[str, object]:
    concept = Concept.parse_leniently(data, path)
    return concept.meta if concept else {}


class Retracted:
    """Retractions of some trees, asked for many entries: their names are read once."""

    def __init__(self, *trees: ListedFiles) -> None:
        self._names = [
            (
                tree,
                {
                    name
                    for place in tree.directories("retractions")
                    for name in tree.names(f"retractions/{place}")
                },
            )
            for tree in trees
        ]

    def has(self, key: EntryKey, path: str = "", text: str = "") -> bool:
        """Return whether any of the trees retracts an entry."""
        name = retraction_hash(key, path, text) if any(names for _, names in self._names) else ""
        file = layout.retraction(name).rpartition("/")[2]
        return any(file in names and holds(tree, name) for tree, names in self._names)


def retract(files: WritableFiles, entry: Entry, path: str, *, state: State, at: str, origin: Origin) -> None:
    """Say in the tree that an entry must not come back, or (`released`) that it may.

    Of front matter only words count. A text that a concept had for a while counts as that concept, once it is gone.
    """
    if not _is_said(entry.key):
        return
    key = CONCEPT if entry.key == BODY and path not in files else entry.key
    text = open_file(path, entry.source).body if entry.source else entry.text
    where = layout.retraction(retraction_hash(key, path, text))
    set_state(files, where, state=state, at=at, origin=origin, turns=_turns(entry, path))


def _turns(entry: Entry, path: str) -> tuple[str, ...]:
    """The turns that wrote an entry: an event's own, else those that its list or its front matter names."""
    if entry.key.space == "event":
        return (entry.turn or entry.key.id,)
    meta = open_file(path, entry.source).front if entry.source else entry.extra
    return turns_of(meta)


def set_state(
    files: WritableFiles, where: str, *, state: State, at: str, origin: Origin, turns: Iterable[str] = ()
) -> None:
    """Make the retraction at a path hold, or (`released`) not any more, with the turns that wrote what it is about."""
    data = files.read(where)
    counter = 0
    every = sorted(turns)
    if data is not None:
        found = _said_in(data, where)
        value = found.get("counter")
        counter = value if isinstance(value, int) and not isinstance(value, bool) else 0
        if found.get("state") == state:
            return
        every = sorted({*every, *turns_of(found)})
    concept = Concept.new(
        layout.RETRACTION,
        "",
        state=state,
        counter=counter + 1,
        by=origin.agent or "human",
        at=at,
        machine=origin.machine or None,
        reason=origin.reason or None,
        turns=every or None,
    )
    files.write(where, concept.render())
