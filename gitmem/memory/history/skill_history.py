"""The history of one skill: where it is or was, and which commit brought each line of a file."""

from __future__ import annotations

from dataclasses import dataclass
from difflib import SequenceMatcher
from typing import TYPE_CHECKING

from gitmem.errors import UnknownRevision
from gitmem.memory.history.log import History, LogFilter
from gitmem.memory.skills.catalog import Catalog
from gitmem.memory.skills.store import Skills
from gitmem.okf.skills import ROOT, original

if TYPE_CHECKING:
    from gitmem.memory.bundle import Bundle
    from gitmem.memory.history.log import LogEntry


@dataclass(frozen=True, slots=True)
class BlamedLine:
    """One line of a file, and the commit that brought it."""

    number: int
    text: str
    entry: LogEntry


def root_of(bundle: Bundle, name: str) -> str:
    """The directory of a skill, also of one that is gone."""
    try:
        return bundle.part(Skills).get(name, external=False).root
    except UnknownRevision as unknown:
        wanted = name.strip("/")
        catalog = bundle.part(Catalog)
        for entry in _touching(bundle, ROOT):
            for parent in entry.commit.parents[:1]:
                for one in catalog.in_tree(bundle.tree(parent)):
                    if wanted in (one.name, one.title):
                        return one.root
        raise unknown from None


def last_changes(bundle: Bundle, path: str, *, count: int = 1) -> list[LogEntry]:
    """The newest commits that changed what is at a path."""
    found: list[LogEntry] = []
    for entry in _touching(bundle, path):
        found.append(entry)
        if len(found) == count:
            break
    return found


def blame_lines(bundle: Bundle, path: str) -> list[BlamedLine]:
    """Each line of a file as it is now, with the commit that brought it, along the first parents."""
    commits = list(_touching(bundle, path))
    lines: list[str] = []
    owners: list[LogEntry] = []
    for entry in reversed(commits):
        data = bundle.read(path, entry.id)
        after = original(data).decode("utf-8", "replace").split("\n") if data is not None else []
        carried: list[LogEntry] = [entry] * len(after)
        for block in SequenceMatcher(None, lines, after, autojunk=False).get_matching_blocks():
            carried[block.b : block.b + block.size] = owners[block.a : block.a + block.size]
        lines, owners = after, carried
    if lines and not lines[-1]:
        lines.pop()
    return [BlamedLine(number, text, owners[number - 1]) for number, text in enumerate(lines, 1)]


def _touching(bundle: Bundle, path: str) -> list[LogEntry]:
    return list(bundle.part(History).log(LogFilter(path=(path,))))
