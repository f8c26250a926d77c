"""Removals by a person, which an undo, redo, revert or restore by an agent does not bring back."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gitmem.memory.history.log import History
from gitmem.memory.origin import LOST
from gitmem.notices import Notice
from gitmem.okf import layout
from gitmem.okf.concept import Concept
from gitmem.okf.files import open_file

if TYPE_CHECKING:
    from gitmem.git.objects import Oid
    from gitmem.memory.bundle import Bundle
    from gitmem.memory.edits import Edits
    from gitmem.memory.origin import Origin
    from gitmem.okf.entries import Change

_RETRACTIONS = "retractions/"


def leave_out(bundle: Bundle, edits: Edits, origin: Origin) -> list[Notice]:
    """Take out of an agent's edits what a person removed earlier; gives a notice for each. A person may bring all back."""
    person = bundle.world.person
    if not person or origin.agent == person:
        return []
    for path in edits.paths():
        was = edits.tip.read(path) if path.startswith(_RETRACTIONS) else None
        if was is not None and Concept.parse(was, path).meta.get("by") in (person, "human"):
            edits.put(path, was)
    left = [change for change in edits.changes() if _is_removed_by(bundle, change, person)]
    for change in left:
        file = open_file(change.path, edits.read(change.path))
        assert change.new is not None
        without = file.replacing(change.new, change.old) if change.old else file.without({change.key})
        edits.write(change.path, without.render())
    return [Notice("person-removed", change.path, change.new.text[:60]) for change in left if change.new]


def _is_removed_by(bundle: Bundle, change: Change, person: str) -> bool:
    """Return whether a change brings something that was taken out last by this person."""
    if change.new is None or change.op == "move" or layout.is_record(change.path):
        return False
    if change.path.startswith(_RETRACTIONS) or (change.op == "change" and change.key.space != "§"):
        return False
    for entry in bundle.part(History).touching(change.path):
        if any(_has(bundle, parent, change) for parent in entry.commit.parents):
            is_edit = entry.kind == "edit" and not entry.agent and entry.commit.author.name == person
            is_edit = is_edit and LOST not in entry.subject  # that may be an accident of another program
            is_theirs = (entry.agent == person or is_edit) and not entry.session
            return is_theirs and not _has(bundle, entry.id, change)
    return False


def _has(bundle: Bundle, commit: Oid, change: Change) -> bool:
    file = open_file(change.path, bundle.repository.tree(commit).read(change.path))
    return change.key in file.units or change.key in file.entries
