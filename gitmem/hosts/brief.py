"""Changes by others since an agent was last here, in a few lines: days and counts, and no words of theirs."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from itertools import islice, takewhile
from typing import TYPE_CHECKING

from gitmem.git import commit_graph as graph
from gitmem.git.objects import Commit
from gitmem.memory.history.log import LogEntry
from gitmem.memory.provenance import Provenance
from gitmem.okf.entries import Change
from gitmem.state import LAST_SEEN

if TYPE_CHECKING:
    from gitmem.memory.memory import Memory

_MAX_LINES = 5
_MOST_AGENTS = 50
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


def last_seen(memory: Memory, agent: str) -> str:
    """The commit at which an agent was last here; empty where that is not known."""
    tip = memory.state.read_json(LAST_SEEN).get(agent)
    return tip if isinstance(tip, str) else ""


def note_seen(memory: Memory, agent: str) -> None:
    """Remember for the next session of an agent what it has seen."""
    known = memory.state.read_json(LAST_SEEN)
    if known.get(agent) != (tip := memory.tip):
        kept = {**{name: one for name, one in known.items() if name != agent}, agent: tip}
        memory.state.write_json(LAST_SEEN, dict(list(kept.items())[-_MOST_AGENTS:]))


def brief(memory: Memory, since: str) -> list[str]:
    """Up to five lines on what others did after a commit.

    It is read while a session begins: commits are compared by the ids of their trees alone, and entries once, from end
    to end.
    """
    if not since or since == memory.tip:
        return []
    provenance = Provenance(memory.repository)
    newer = takewhile(lambda one: one.oid != since, graph.first_parents(memory.repository, memory.tip))
    entries = (LogEntry.of(one, provenance) for one in islice(newer, _MAX_WALK))
    counted = Counter(
        f"{one.at[:10]}: {_SAID[one.kind]}"
        for one in entries
        if _is_by_others(one) and _changes(memory, one.commit)
    )
    if not counted:
        return []
    lines = [line if times == 1 else f"{line} ({times} times)" for line, times in counted.items()]
    if len(lines) > _MAX_LINES - 1:
        lines = [*lines[: _MAX_LINES - 2], "and earlier changes"]
    went_on = _count(memory.diff(since, path="memories").changes)
    return [*lines, f"of your entries, {went_on} in all"] if went_on else lines


def _is_by_others(entry: LogEntry) -> bool:
    """Return whether others did it: what a session of this home's agent wrote is known to it."""
    if entry.kind == "memory" and not entry.pulled_from and (entry.session or not entry.machine):
        return False
    return entry.kind in _SAID


def _changes(memory: Memory, commit: Commit) -> bool:
    """Return whether a commit changed what is known, against the state before it."""
    before = memory.repository.tree(commit.parents[0] if commit.parents else None)
    after = memory.repository.tree(commit.oid)
    return any(before.entry(name) != after.entry(name) for name in _WATCHED)


def _count(changes: Sequence[Change]) -> str:
    came = sum(change.old is None for change in changes)
    went = sum(change.new is None for change in changes)
    changed = len(changes) - came - went
    parts = [f"{came} came" * bool(came), f"{went} went" * bool(went), f"{changed} changed" * bool(changed)]
    return ", ".join(part for part in parts if part)
