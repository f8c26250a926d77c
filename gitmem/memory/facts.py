"""The facts of the curated store, as people list them."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta
from typing import TYPE_CHECKING

from gitmem.memory.curated.conflicts import contested, near
from gitmem.memory.curated.store import TARGETS, CuratedStore, Target
from gitmem.memory.gate.ledger import Ledger
from gitmem.memory.gate.marks import is_unconfirmed, source_in
from gitmem.okf.entries import DELIMITER, entry_hash
from gitmem.okf.plain import Printed
from gitmem.okf.timestamps import parse

if TYPE_CHECKING:
    from gitmem.memory.history.blame import Blamed
    from gitmem.memory.history.log import LogEntry
    from gitmem.memory.memory import Memory
    from gitmem.okf.entries import Entry, EntryKey

STALE_AFTER = timedelta(days=90)


@dataclass(frozen=True, slots=True)
class Fact:
    """An entry, its share of the block in percent, who wrote it, and the source of one that is unconfirmed."""

    entry: Entry
    unconfirmed: str = ""
    blame: Blamed | None = None
    pinned: bool = False
    share: int = 0


@dataclass(frozen=True, slots=True)
class Store:
    """The listed facts of one store; `usage` counts all of it."""

    target: Target
    usage: int
    limit: int
    facts: tuple[Fact, ...]
    hidden: int = 0
    """Entries that the undo of a sync hides on this machine; they are neither listed nor counted."""

    @property
    def percent(self) -> int:
        return self.usage * 100 // self.limit


@dataclass(frozen=True, slots=True)
class Facts(Printed):
    """The list of `gitmem facts`."""

    stores: tuple[Store, ...]

    @property
    def memory(self) -> Store | None:
        return next((one for one in self.stores if one.target == "memory"), None)

    @property
    def user(self) -> Store | None:
        return next((one for one in self.stores if one.target == "user"), None)


def pin(memory: Memory, typed: str, *, by: str) -> Entry:
    """Keep a fact in every prompt of this machine, by a person's word; without `by`, no longer."""
    *_, entry = memory.part(CuratedStore).find(typed)
    memory.part(Ledger).pin(entry.key.id, by)
    return entry


def removed_earlier(memory: Memory, text: str) -> LogEntry | None:
    """The commit by which a fact of exactly this text left the store the last time; None where it never did."""
    index = memory.index.current()
    ends = [
        span.to_seq
        for span in index.spans(space="§", key=entry_hash(text.strip()))
        if span.to_seq is not None
    ]
    left = index.commit_at(max(ends)) if ends else None
    return memory.show(left.oid).entry if left is not None else None


def _disputed(memory: Memory) -> set[EntryKey]:
    """Entries that two machines reworded differently, and those that say something in nearly the same words."""
    store, ledger = memory.part(CuratedStore), memory.part(Ledger)
    found = {entry.key for one in contested(memory) for entry in one.entries}
    for target in TARGETS:
        entries = [entry for entry in store.entries(target) if not ledger.is_hidden(entry.key.id)]
        found |= {entry.key for entry in entries if near(entry.text, entries)}
    return found


def list_facts(
    memory: Memory,
    target: Target | None = None,
    *,
    as_of: str = "HEAD",
    stale: bool = False,
    contradicting: bool = False,
    unconfirmed: bool = False,
) -> Facts:
    """List the facts of one store or both; of several conditions any."""
    disputed = _disputed(memory) if contradicting else set()
    oldest = memory.world.clock() - STALE_AFTER

    def is_wanted(entry: Entry) -> bool:
        written = parse(entry.at)
        return (
            not (stale or contradicting or unconfirmed)
            or entry.key in disputed
            or (unconfirmed and is_unconfirmed(entry))
            or (stale and written is not None and written < oldest)
        )

    stores, store, ledger = [], memory.part(CuratedStore), memory.part(Ledger)
    for one in (target,) if target else TARGETS:
        all_of_it = ledger.marked(store.entries(one, revision=as_of))
        entries = [entry for entry in all_of_it if not ledger.is_hidden(entry.key.id)]
        usage = sum(len(entry.text) for entry in entries) + len(DELIMITER) * max(0, len(entries) - 1)
        limit = store.limit(one)
        blamed = {
            story.entry.key: story
            for path in store.paths(one)
            if memory.read(path, as_of) is not None
            for story in memory.blame(path, as_of=as_of)
        }
        facts = tuple(
            Fact(
                entry,
                source_in(entry) if is_unconfirmed(entry) else "",
                blamed.get(entry.key),
                ledger.is_pinned(entry.key.id),
                len(entry.text) * 100 // limit,
            )
            for entry in entries
            if is_wanted(entry)
        )
        stores.append(Store(one, usage, limit, facts, len(all_of_it) - len(entries)))
    return Facts(tuple(stores))
