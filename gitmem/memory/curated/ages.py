"""Ages of entries that plain git brought: their list knows none, and the history does."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from gitmem.git import commit_graph as graph
from gitmem.okf import timestamps
from gitmem.okf.curated import CuratedFile

if TYPE_CHECKING:
    from gitmem.memory.bundle import Bundle
    from gitmem.memory.edits import Files


def read(bundle: Bundle, files: Files, path: str, *, revision: str = "HEAD") -> CuratedFile:
    """A § file in which every entry has the age it arrived with; a write keeps it."""
    file = CuratedFile.parse_leniently(files.read(path), path)
    missing = {entry.key.id for entry in file.entries if not entry.at}
    if not missing:
        return file
    ages = _ages(bundle, path, missing, revision)
    return file.with_entries(
        entry if entry.at else replace(entry, at=ages.get(entry.key.id, "")) for entry in file.entries
    )


def _ages(bundle: Bundle, path: str, missing: set[str], revision: str) -> dict[str, str]:
    """Return when the commit was made with which each of these entries came, and since which it stayed."""
    ages: dict[str, str] = {}
    known: tuple[str, frozenset[str]] = ("", frozenset())
    for commit in graph.first_parents(bundle.repository, bundle.resolve(revision)):
        entry = bundle.repository.tree(commit.oid).entry(path)
        if entry is None:
            break
        if entry.oid != known[0]:
            data = bundle.repository.store.blob(entry.oid)
            known = (
                entry.oid,
                frozenset(one.key.id for one in CuratedFile.parse_leniently(data, path).entries),
            )
        missing = missing & known[1]
        if not missing:
            break
        moment = timestamps.stamp(timestamps.of_seconds(commit.committer.time))
        ages.update(dict.fromkeys(missing, moment))
    return ages
