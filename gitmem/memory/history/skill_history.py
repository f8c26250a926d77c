"""The history of one skill: where it is or was, and its newest changes."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gitmem.errors import UnknownRevision
from gitmem.memory.history.log import History, LogFilter
from gitmem.memory.skills.catalog import Catalog
from gitmem.memory.skills.store import Skills
from gitmem.okf.skills import ROOT

if TYPE_CHECKING:
    from gitmem.memory.bundle import Bundle
    from gitmem.memory.history.log import LogEntry


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


def _touching(bundle: Bundle, path: str) -> list[LogEntry]:
    return list(bundle.part(History).log(LogFilter(path=(path,))))
