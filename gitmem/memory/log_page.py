"""The commits that write the generated pages, and the lines that log.md lacks until the next of them.

A page changes with every commit that it lists, and each version of it is stored. So index.md and log.md are not written with
every turn and every fact, but with the flush of a full buffer and where something is finished: a session, a plan, a command.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice
from typing import TYPE_CHECKING

from gitmem.errors import InvalidContent
from gitmem.git.commit_graph import first_parents
from gitmem.git.message import kind_of, trailers_of
from gitmem.okf import layout
from gitmem.okf.curated import CuratedFile
from gitmem.okf.events import EventsFile, log_line
from gitmem.okf.pages import LogLine

if TYPE_CHECKING:
    from gitmem.git.objects import Oid
    from gitmem.git.repository import Repository
    from gitmem.memory.edits import Edits, Files
    from gitmem.okf.entries import EntryKey

_QUIET = ("memory", "host", "session", "note")
_PRIVATE = re.compile(rb"\A---\n(?:(?!---).*\n)*?(?:user|chat): \S")
"""The page of a session with one user among several."""
_FAR = 1000
"""So many commits are looked through for the last one that wrote the pages."""


def makes_pages(kind: str, trigger: str) -> bool:
    """Return whether a commit of that kind and trigger writes index.md and log.md."""
    return trigger != "turn" if trigger else kind not in _QUIET


def fact_line(entry: EntryKey) -> str:
    """The id of the line about a fact."""
    return f"memory:{entry.id[:16]}"


@dataclass(frozen=True, slots=True)
class Since:
    """Commits on the line of `main` since the pages were last written."""

    paths: tuple[str, ...] = ()
    lines: tuple[LogLine, ...] = ()


def since_pages(repository: Repository, tip: Oid | None) -> Since:
    """Find what the next commit that makes the pages has to make them for."""
    if tip is None:
        return Since()
    base = tip
    for commit in islice(first_parents(repository, tip), _FAR):
        base, kind = commit.oid, kind_of(commit.message)
        trigger = "".join(trailers_of(commit.message).get("Trigger", ())[:1])
        # A merge joins two pages as they are, the same on every machine; what came before it is still to be told.
        if makes_pages(kind, trigger) and kind != "merge":
            break
    before, after = repository.tree(base), repository.tree(tip)
    paths: list[str] = []
    lines: list[LogLine] = []
    for change in before.changes(after):
        paths.append(change.path)
        if change.new is not None and _is_told(change.path, after):
            old = before.read_entry(change.old) if change.old is not None else None
            lines += _lines(change.path, old, after.read_entry(change.new))
    return Since(tuple(paths), tuple(lines))


def lines_of(edits: Edits) -> list[LogLine]:
    """Lines about the events and facts that these edits bring."""
    lines: list[LogLine] = []
    for path in edits.paths():
        if _is_told(path, edits) and (new := edits.read(path)) is not None:
            lines += _lines(path, edits.tip.read(path), new)
    return lines


def _is_told(path: str, files: Files) -> bool:
    """Return whether log.md, which all users share, has lines about a file: not about what one of several users said."""
    kind = layout.default_type(path)
    if kind == layout.SESSION_EVENTS:
        return not _PRIVATE.search(files.read(f"{path.rpartition('/')[0]}.md") or b"")
    return kind == layout.CURATED_MEMORY and not path.startswith(layout.USERS)


def _lines(path: str, old: bytes | None, new: bytes) -> list[LogLine]:
    is_part = layout.default_type(path) == layout.SESSION_EVENTS
    try:
        return list(_event_lines(path, old, new) if is_part else _fact_lines(path, old, new))
    except InvalidContent:  # a broken one is the business of `verify`
        return []


def _event_lines(path: str, old: bytes | None, new: bytes) -> Iterator[LogLine]:
    known = {event.id for event in EventsFile.parse(old, path).events} if old is not None else set()
    for event in EventsFile.parse(new, path).events:
        if event.id not in known and (line := log_line(event)) is not None:
            yield line


def _fact_lines(path: str, old: bytes | None, new: bytes) -> Iterator[LogLine]:
    known = {entry.key for entry in CuratedFile.parse(old, path).entries} if old is not None else set()
    for entry in CuratedFile.parse(new, path).entries:
        if entry.key not in known:
            word = "replace" if entry.replaces else "add"
            yield LogLine(entry.at, "HermesMemory", f"{word} {entry.text}", fact_line(entry.key))
