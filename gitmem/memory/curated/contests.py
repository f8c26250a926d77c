"""Contested entries: two live ones that replace the same one. Derived from the entries, stored nowhere."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from gitmem.okf.entries import Entry
from gitmem.okf.files import open_file

if TYPE_CHECKING:
    from gitmem.memory.bundle import Bundle


@dataclass(frozen=True, slots=True)
class Contest:
    """Entries of one file that all replace the entry with the hash `replaced`, oldest first."""

    path: str
    replaced: str
    entries: tuple[Entry, ...]


def contested(bundle: Bundle) -> list[Contest]:
    """Every contest in the curated files."""
    tree = bundle.tree()
    found = []
    for path, entry in tree.files("memories"):
        rivals: dict[str, list[Entry]] = {}
        for one in open_file(path, tree.read_entry(entry)).entries.values():
            if one.key.space == "§" and one.replaces:
                rivals.setdefault(one.replaces, []).append(one)
        found += [Contest(path, was, tuple(group)) for was, group in rivals.items() if len(group) > 1]
    return found


def uncontested(entries: Sequence[Entry]) -> list[Entry]:
    """Of entries that replace the same one, on two machines say, the newer."""
    newest: dict[str, Entry] = {}
    for entry in entries:
        rival = newest.get(entry.replaces)
        if entry.replaces and (rival is None or (rival.at, rival.key) < (entry.at, entry.key)):
            newest[entry.replaces] = entry
    return [entry for entry in entries if not entry.replaces or newest[entry.replaces] is entry]
