"""Archiving: a curated store that a merge made too full gets back under its limit, and nothing is lost.

Never part of a merge: this machine's own change on top of it, made in the same move of `main`.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from gitmem.git.message import Message
from gitmem.memory.curated import ages
from gitmem.memory.curated.store import TARGETS, CuratedStore, Target, dated, latest_date
from gitmem.memory.edits import Edits
from gitmem.memory.gate.ledger import Ledger
from gitmem.okf import layout
from gitmem.okf.curated import CuratedFile
from gitmem.okf.entries import DELIMITER, Entry, EntryKey

if TYPE_CHECKING:
    from gitmem.memory.bundle import Bundle


LESSON, QUIRK, ENVIRONMENT, PREFERENCE = range(4)
"""What leaves a full store first, and what last."""

# The first that matches counts; what matches none is a fact about the surroundings.
_CLASSES = (
    (
        LESSON,
        re.compile(r"\blessons?\b|\blearn(?:ed|t)\b|\bturn(?:s|ed) out\b|\bnext time\b|\broot cause\b", re.I),
    ),
    (PREFERENCE, re.compile(r"\bprefer|\blikes?\b|\bwants?\b|\balways\b|\bnever\b|\buser\b|, not \w", re.I)),
    (
        QUIRK,
        re.compile(r"\bquirk|\bwork-?around|\bhangs?\b|\bfails?\b|\bbugs?\b|\bcommand\b|\btime-?out", re.I),
    ),
)


@dataclass(frozen=True, slots=True)
class Archived:
    """Entries that left a store, in the order they left."""

    target: Target
    texts: tuple[str, ...]


def class_of(text: str, target: Target = "memory") -> int:
    """Return what kind of fact an entry is, by its words; the same on every machine."""
    for number, words in _CLASSES:
        if words.search(text):
            return number
    return PREFERENCE if target == "user" else ENVIRONMENT


def archive_overfull(bundle: Bundle) -> list[Archived]:
    """Move entries of stores over their limit to `memories/archive/`, one commit for each store."""
    return [done for target in TARGETS if (done := archive_store(bundle, target, again=False))]


def archive_store(bundle: Bundle, target: Target, *, again: bool = True) -> Archived | None:
    """Move entries of one store to `memories/archive/` until the rest fits; None where there is none to move."""
    moved: list[Entry] = []

    def work(edits: Edits) -> Message | None:
        moved[:] = lay_archive(bundle, edits, target, again=again)
        return Message("archive", in_words(target, moved)) if moved else None

    published = bundle.commit(work, purpose="archive", origin=bundle.origin(source="archive"))
    return Archived(target, tuple(e.text for e in moved)) if published else None


def in_words(target: Target, moved: Collection[Entry]) -> str:
    """Return what a commit says of entries that it moves to the archive."""
    what = "1 entry" if len(moved) == 1 else f"{len(moved)} entries"
    return f"{what} of the {target} store, which was over its limit"


def lay_archive(
    bundle: Bundle, edits: Edits, target: Target, *, again: bool, revision: str = "HEAD"
) -> list[Entry]:
    """Add to the edits what moves entries of one store to `memories/archive/`, until the rest fits; gives those entries.

    Without `again` what was archived once and is back stays: on some machine it was here first, and two would move it
    to and fro.
    """
    curated = bundle.part(CuratedStore)
    limit = curated.limit(target)
    if not curated.is_enabled(target) or curated.usage(edits, target) <= limit:
        return []
    if not curated.is_bounded(target) and curated.usage(bundle.tree(), target) > limit:
        return []  # it was over the limit before, on purpose
    where = layout.archive(target)
    known = {entry.key for entry in CuratedFile.parse_leniently(edits.read(where), where).entries}
    stores = {path: ages.read(bundle, edits, path, revision=revision) for path in curated.paths(target)}
    excess = curated.usage(edits, target) - limit
    moved = _leaving(bundle, target, stores.values(), excess, frozenset() if again else known)
    gone = {entry.key for entry in moved}
    for path, store in stores.items():
        if gone & {entry.key for entry in store.entries}:
            edits.write(path, store.with_entries(e for e in store.entries if e.key not in gone).render())
    lay_evicted(edits, target, moved)
    return moved


def lay_evicted(edits: Edits, target: Target, entries: Sequence[Entry]) -> None:
    """Add to the edits what keeps entries in `memories/archive/` that leave a full store."""
    where = layout.archive(target)
    kept = CuratedFile.parse_leniently(edits.read(where), where)
    known = {entry.key for entry in kept.entries}
    fresh = [entry for entry in entries if entry.key not in known]
    if fresh:
        edits.write(where, kept.with_entries([*kept.entries, *fresh]).render())


def _leaving(
    bundle: Bundle,
    target: Target,
    stores: Iterable[CuratedFile],
    excess: int,
    stay: Collection[EntryKey],
) -> list[Entry]:
    """Entries to move, so that the rest fits: those of others first, then by class, within a class the oldest first.

    All files of the target are chosen from: filling one of them must not empty another.
    """
    stored = {entry.key: entry for store in stores for entry in store.entries}
    ledger = bundle.part(Ledger)
    entries = ledger.marked(stored.values())
    latest = latest_date(bundle)
    found: list[Entry] = []
    for entry in sorted(
        (entry for entry in entries if entry.key not in stay),
        key=lambda e: (ledger.rank(e), class_of(e.text, target), dated(e, latest).at, e.key),
    ):
        if excess <= 0:
            break
        found.append(stored[entry.key])
        excess -= len(entry.text) + len(DELIMITER)
    return found
