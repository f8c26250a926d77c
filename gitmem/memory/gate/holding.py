"""Holding back what came in: entries that the shipped rules block leave the tree, and their text is kept."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from gitmem.git.message import Message
from gitmem.memory.gate.admission import Admission
from gitmem.okf.entries import Entry
from gitmem.okf.files import open_file

if TYPE_CHECKING:
    from gitmem.memory.bundle import Bundle
    from gitmem.memory.edits import Edits
    from gitmem.memory.provenance import Origin
    from gitmem.safety.verdict import Result


@dataclass(frozen=True, slots=True)
class Flagged:
    """An entry that the shipped rules block."""

    path: str
    entry: Entry
    result: Result


def hold_back(bundle: Bundle, flagged: list[Flagged]) -> list[str]:
    """Retract these entries in a commit of their own; gives the names of their items in quarantine."""
    if not flagged:
        return []
    origin = bundle.origin(source="sync", reason="the scanner blocks it")
    held: list[str] = []

    def work(edits: Edits) -> Message | None:
        held[:] = [name for flag in flagged if (name := _hold_one(bundle, edits, flag, origin))]
        return Message("merge", f"hold back {len(held)} entries", {"Scan": tuple(held)}) if held else None

    bundle.commit(work, purpose="hold", origin=origin)
    return held


def _hold_one(bundle: Bundle, edits: Edits, flag: Flagged, origin: Origin) -> str:
    file = open_file(flag.path, edits.read(flag.path))
    key = flag.entry.key
    if key not in file.parts:
        return ""
    # Of a concept nothing can be left out: it goes as a whole.
    edits.write(flag.path, file.without({key} & file.units.keys() or file.units).render())
    admission = Admission(bundle, edits, origin=origin)
    admission.retract(file.units.get(key) or file.whole or flag.entry, flag.path, state="held")
    where = {"kind": "entry" if file.kind == "curated" else "file", "path": flag.path}
    return admission.hold(flag.entry.text, flag.result, where)
