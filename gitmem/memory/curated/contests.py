"""Contested entries: two live ones that replace the same one. Derived from the entries, stored nowhere."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from gitmem.errors import UnknownRevision
from gitmem.git.message import Message
from gitmem.memory.curated import ages
from gitmem.memory.edits import Edits
from gitmem.memory.gate.admission import Admission, Held
from gitmem.memory.origin import Origin
from gitmem.okf.entries import Entry
from gitmem.okf.files import open_file
from gitmem.okf.short_ids import meant

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
        for one in open_file(path, tree.read_entry(entry)).entries.values():
            if one.key.space == "§" and one.replaces:
                rivals.setdefault(one.replaces, []).append(one)
        found += [Contest(path, was, tuple(group)) for was, group in rivals.items() if len(group) > 1]
    return found


@dataclass(frozen=True, slots=True)
class Resolved:
    """Outcome of a contest: its commit, or the ids under which the new wording is held for a person."""

    commit: str = ""
    held: tuple[str, ...] = ()


def resolve(bundle: Bundle, which: str, text: str, *, origin: Origin) -> Resolved:
    """Settle a contest by a fresh entry that takes the place of all; one that is held settles nothing yet."""
    contests = {one.replaced: one for one in contested(bundle)}
    found = meant(which, contests, "contested entries")
    if not found:
        raise UnknownRevision(
            f"No contested entry matches {which!r}.", hint="List them with `gitmem review --list`."
        )
    contest = contests[found]
    held: list[str] = []

    def work(edits: Edits) -> Message | None:
        held.clear()
        answer = Admission(bundle, edits, origin=origin, by_person=True).entry(text, contest.path)
        if isinstance(answer, Held):
            held.append(answer.id)
            return None
        file = ages.read(bundle, edits, contest.path)
        for entry in contest.entries:
            file = file.remove(entry.key.id)
        edits.write(contest.path, file.add(answer.text, bundle.now()).render())
        return Message("memory", f"settle {answer.text}")

    published = bundle.commit(work, purpose="settle", origin=origin)
    return Resolved(published.commit.oid if published else "", tuple(held))


def uncontested(entries: Sequence[Entry]) -> list[Entry]:
    """Of entries that replace the same one, on two machines say, the newer."""
    newest: dict[str, Entry] = {}
    for entry in entries:
        rival = newest.get(entry.replaces)
        if entry.replaces and (rival is None or (rival.at, rival.key) < (entry.at, entry.key)):
            newest[entry.replaces] = entry
    return [entry for entry in entries if not entry.replaces or newest[entry.replaces] is entry]
