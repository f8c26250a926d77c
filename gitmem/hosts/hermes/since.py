"""What happened to the memory since the last session here, in a few lines for the agent."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gitmem.git import history as graph
from gitmem.memory.history import LogEntry
from gitmem.okf.entries import Change

if TYPE_CHECKING:
    from gitmem.memory.bundle import Bundle

MAX_LINES = 5
_MAX_WALK = 300
_TOLD = ("restore", "revert", "merge", "edit", "erase", "memory", "archive")


def since(bundle: Bundle, tip: str) -> list[str]:
    """Up to five lines on what others did behind `tip`: counts and dates, and no text of anybody's."""
    if not tip or tip == bundle.tip:
        return []
    lines: list[str] = []
    for walked, commit in enumerate(graph.first_parents(bundle.repository, bundle.tip)):
        if commit.oid == tip or walked > _MAX_WALK:
            break
        entry = LogEntry.of(commit)
        if entry.kind in _TOLD and (line := _line(bundle, entry)):
            lines.append(line)
    if len(lines) > MAX_LINES:
        lines = [*lines[: MAX_LINES - 1], f"and {len(lines) - MAX_LINES + 1} earlier changes"]
    return lines


def _line(bundle: Bundle, entry: LogEntry) -> str:
    day = entry.at[:10]
    changes = [
        change
        for change in bundle.history.of_commit(entry.commit)
        if change.path.startswith(("memories/", "decisions/", "skills/"))
    ]
    if not changes:
        return ""
    what = _count(changes)
    machine = entry.first("Machine")
    if entry.kind == "memory" and (entry.session or not machine):
        return ""
    said = {
        "restore": "the memory was put back to an earlier state",
        "revert": "a person took changes back",
        "merge": "a sync brought changes from other machines",
        "edit": "a person edited the memory by hand",
        "erase": "a person erased something for good",
        "memory": "a person changed the memory",
        "archive": "a full store was archived",
    }[entry.kind]
    return f"{day}: {said} ({what})"


def _count(changes: list[Change]) -> str:
    came = sum(change.old is None for change in changes)
    went = sum(change.new is None for change in changes)
    changed = len(changes) - came - went
    parts = [f"{came} came" * bool(came), f"{went} went" * bool(went), f"{changed} changed" * bool(changed)]
    return ", ".join(part for part in parts if part)
