"""Changes of the memory since the last session here, in a few lines for the agent."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from gitmem.git import commit_graph as graph
from gitmem.git.objects import Commit
from gitmem.memory.history.log import LogEntry
from gitmem.memory.provenance import Provenance
from gitmem.okf.entries import Change

if TYPE_CHECKING:
    from gitmem.memory.memory import Memory

MAX_LINES = 5
_MAX_WALK = 300
_WATCHED = ("memories", "decisions", "skills")
_SAID = {
    "restore": "the memory was put back to an earlier state",
    "revert": "a person took changes back",
    "merge": "a sync brought changes from other machines",
    "edit": "a person edited the memory by hand",
    "erase": "a person erased something for good",
    "memory": "a person changed the memory",
    "archive": "a full store was archived",
}


def since(bundle: Memory, tip: str) -> list[str]:
    """Up to five lines on what others did behind `tip`: days and counts, and no text of anybody's.

    It is read while a session begins. So commits are told apart by the ids of their trees alone, and entries are
    compared once, from end to end.
    """
    if not tip or tip == bundle.tip:
        return []
    told: dict[str, int] = {}
    newer: LogEntry | None = None
    provenance = Provenance(bundle.repository)
    seen: tuple[object, ...] = ()
    for walked, commit in enumerate(graph.first_parents(bundle.repository, bundle.tip)):
        before, seen = seen, _sight(bundle, commit)
        if newer is not None and _is_told(newer) and seen != before:
            line = f"{newer.at[:10]}: {_SAID[newer.kind]}"
            told[line] = told.get(line, 0) + 1
        if commit.oid == tip or walked > _MAX_WALK:
            break
        newer = LogEntry.of(commit, provenance)
    if not told:
        return []
    lines = [line if times == 1 else f"{line} ({times} times)" for line, times in told.items()]
    if len(lines) > MAX_LINES - 1:
        lines = [*lines[: MAX_LINES - 2], "and earlier changes"]
    went_on = _count(bundle.diff(tip, path="memories").changes)
    return [*lines, f"of your entries, {went_on} in all"] if went_on else lines


def _is_told(entry: LogEntry) -> bool:
    """Return whether others did it: what a session of this home's agent wrote is known to it."""
    if entry.kind == "memory" and not entry.pulled_from and (entry.session or not entry.machine):
        return False
    return entry.kind in _SAID


def _sight(bundle: Memory, commit: Commit) -> tuple[object, ...]:
    tree = bundle.repository.tree(commit.oid)
    return tuple(tree.entry(name) for name in _WATCHED)


def _count(changes: Sequence[Change]) -> str:
    came = sum(change.old is None for change in changes)
    went = sum(change.new is None for change in changes)
    changed = len(changes) - came - went
    parts = [f"{came} came" * bool(came), f"{went} went" * bool(went), f"{changed} changed" * bool(changed)]
    return ", ".join(part for part in parts if part)
