"""Contested entries: two live ones that replace the same one. Derived from the entries, stored nowhere."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from gitmem.errors import UnknownRevision
from gitmem.git.message import Message
from gitmem.memory.edits import Edits
from gitmem.memory.gate.scan import Gate
from gitmem.memory.gate.secrets import redact
from gitmem.memory.provenance import Origin
from gitmem.okf import entries as okf
from gitmem.okf.curated import CuratedFile
from gitmem.okf.entries import Entry

if TYPE_CHECKING:
    from gitmem.memory.bundle import Bundle


@dataclass(frozen=True, slots=True)
class Contest:
    """Entries of one file that all replace the entry with the hash `replaced`, oldest first."""

    path: str
    replaced: str
    entries: tuple[Entry, ...]


def contested(bundle: Bundle) -> list[Contest]:
    """Every contest in the curated files."""
    tree = bundle.tree()
    found = []
    for path, entry in tree.files("memories"):
        rivals: dict[str, list[Entry]] = {}
        for one in okf.entries_of(path, tree.read_entry(entry)).values():
            if one.key.space == "§" and one.replaces:
                rivals.setdefault(one.replaces, []).append(one)
        found += [Contest(path, was, tuple(group)) for was, group in rivals.items() if len(group) > 1]
    return found


def resolve(bundle: Bundle, which: str, text: str, *, origin: Origin) -> str:
    """Settle a contest by a fresh entry that takes the place of all; gives the commit."""
    found = [one for one in contested(bundle) if one.replaced.startswith(which)]
    if len(found) != 1:
        raise UnknownRevision(
            f"{len(found)} contests are called {which!r}.", hint="List them with `gitmem contested list`."
        )
    contest = found[0]
    text = redact(text)
    bundle.part(Gate).refuse_blocked(text, "memory")

    def work(edits: Edits) -> Message | None:
        file = CuratedFile.salvage(edits.read(contest.path) or b"", contest.path)
        for entry in contest.entries:
            file = file.remove(entry.key.id)
        edits.write(contest.path, file.add(text, file.next_at(bundle.now())).render())
        return Message("memory", f"settle {text}")

    published = bundle.commit(work, purpose="settle", origin=origin)
    return published.commit.oid if published else bundle.tip
