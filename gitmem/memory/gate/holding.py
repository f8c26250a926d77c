"""Holding back what is in the tree already: entries that the shipped rules block, and those of which it is known
later that they came out of a tool, leave it, and their text is kept."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from gitmem.git.message import Message
from gitmem.memory.gate.admission import Admission, Marking
from gitmem.memory.origin import source_trailer
from gitmem.memory.retraction import is_retracted
from gitmem.okf.curated import CuratedFile
from gitmem.okf.entries import EntryKey, entry_hash
from gitmem.okf.files import open_file
from gitmem.safety.verdict import Result, Verdict

if TYPE_CHECKING:
    from gitmem.memory.bundle import Bundle
    from gitmem.memory.edits import Edits
    from gitmem.memory.gate.marks import FlaggedEntry
    from gitmem.memory.origin import Origin


def hold_back(bundle: Bundle, flagged: Sequence[FlaggedEntry]) -> None:
    """Retract these entries in a commit of their own, and keep their texts in quarantine."""
    if not flagged:
        return

    def work(edits: Edits) -> Message | None:
        held = lay_holds(bundle, edits, flagged)
        return Message("merge", in_words(held), {"Scan": tuple(held)}) if held else None

    bundle.commit(work, purpose="hold", origin=_origin(bundle))


def lay_holds(bundle: Bundle, edits: Edits, flagged: Iterable[FlaggedEntry]) -> list[str]:
    """Add to the edits what retracts these entries; gives the names of their items in quarantine."""
    origin = _origin(bundle)
    return [name for flag in flagged if (name := _hold_one(bundle, edits, flag, origin))]


def in_words(held: Sequence[str]) -> str:
    """Return what a commit says of entries that it holds back."""
    return f"hold back {len(held)} entries"


def _origin(bundle: Bundle) -> Origin:
    return bundle.origin(source="sync", reason="the scanner blocks it")


def look_again(bundle: Bundle, path: str, text: str, origin: Origin) -> str:
    """Judge an entry that was written before its turn was over; gives its name in quarantine where it must wait."""
    held = ""

    def work(edits: Edits) -> Message | None:
        nonlocal held
        held = ""
        file = CuratedFile.parse_leniently(edits.read(path), path)
        entry = file.get(entry_hash(text))
        admission = Admission(bundle, edits, origin=origin)
        came = admission.marking(text) if entry is not None else Marking()
        if entry is None or not came.marks:
            return None
        what = "mark"
        if came.waits:
            what, file = "hold", file.remove(entry.key.id)
            admission.retract(entry, path, state="held")
            result = came.judged(Result(Verdict.ALLOW), len(text))
            held = admission.hold(text, result, {"kind": "entry", "path": path})
        else:
            marked = replace(entry, extra={**entry.extra, **came.marks})
            file = file.with_entries([*(one for one in file.entries if one is not entry), marked])
        edits.write(path, file.render())
        return Message("memory", f"{what} {text}", source_trailer(came.sources, origin))

    bundle.commit(work, purpose="hold", origin=origin)
    return held


def _hold_one(bundle: Bundle, edits: Edits, flag: FlaggedEntry, origin: Origin) -> str:
    file, before = open_file(flag.path, edits.read(flag.path)), open_file(flag.path, flag.before)
    key = flag.entry.key
    found = file.parts.get(key)
    if found is None or found.text != flag.entry.text:
        return ""
    admission = Admission(bundle, edits, origin=origin)
    known = before.units.get(key)
    if known is not None and key.space == "event":
        edits.write(flag.path, file.replacing(found, known).render())
    elif key in file.units:
        left, replaced = file.without({key}), before.units.get(EntryKey("§", found.replaces))
        if replaced is not None and replaced.key not in left.units and not is_retracted(edits, replaced.key):
            left = left.plus(replaced)  # what is held takes nobody's place
        edits.put(flag.path, left.render())
        admission.retract(found, flag.path, state="held")
    else:
        # Of a concept nothing can be left out: it goes as a whole, or is again what it was.
        as_before = flag.before if file.kind == before.kind else None
        edits.put(flag.path, as_before or file.without(file.units).render())
        admission.retract(file.whole or flag.entry, flag.path, state="held")
    where = {"kind": "entry" if file.kind == "curated" else "file", "path": flag.path}
    return admission.hold(flag.entry.text, flag.result, where)
