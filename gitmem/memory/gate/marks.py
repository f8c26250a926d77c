"""Marks of an entry in the tree: that nobody confirmed it, where it came from, and of which project it is. Pure."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

from gitmem.okf.entries import Entry, entry_hash
from gitmem.safety.verdict import Result

UNCONFIRMED = "unconfirmed"
"""The channel of an entry that the user did not confirm; `source` beside it names its source."""
PROJECT = "project"
"""The project from whose files an entry came: it is confirmed there alone."""
MARKS = (UNCONFIRMED, "source", PROJECT)


def is_unconfirmed(entry: Entry) -> bool:
    """Return whether an entry of the curated store came out of a tool or a remote, and nobody confirmed it."""
    return UNCONFIRMED in entry.extra


def marks_of(entry: Entry) -> dict[str, Any]:
    """Return what an entry takes along to another page: its marks, and the turns that wrote it."""
    return {name: entry.extra[name] for name in (*MARKS, "turns") if name in entry.extra}


def source_in(entry: Entry) -> str:
    """Return where an unconfirmed entry came from, in words."""
    return str(entry.extra.get("source") or entry.extra.get(UNCONFIRMED, ""))


def confirmed(entry: Entry) -> Entry:
    """The entry without marks: a person said it."""
    return replace(entry, extra={name: value for name, value in entry.extra.items() if name not in MARKS})


def marked_here(entry: Entry, project: str) -> Entry:
    """The entry as it counts in a project: unconfirmed where it came from a file of another one."""
    known = entry.extra.get(PROJECT, project)
    if is_unconfirmed(entry) or known == project:
        return entry
    return replace(entry, extra={**entry.extra, UNCONFIRMED: "file", "source": f"{PROJECT} {known}"})


@dataclass(frozen=True, slots=True)
class FlaggedEntry:
    """An entry that the scanner flags: of the tree, where it stays out of prompt and recall, or of what arrives."""

    path: str
    entry: Entry
    result: Result
    before: bytes | None = None
    """The file as it was here: an honest text does not go because somebody put words into it."""

    @property
    def id(self) -> str:
        """Return what a person names it by."""
        return entry_hash(self.entry.text)[:12]
