"""The facts of the curated store, as people list them."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta
from typing import TYPE_CHECKING

from gitmem.memory.curated.contests import contested
from gitmem.memory.curated.store import TARGETS, CuratedStore, Target
from gitmem.memory.gate.hearing import came_from, is_unconfirmed
from gitmem.okf.entries import DELIMITER
from gitmem.okf.timestamps import parse

if TYPE_CHECKING:
    from gitmem.memory.history.blame import Blamed
    from gitmem.memory.memory import Memory
    from gitmem.okf.entries import Entry

STALE_AFTER = timedelta(days=90)


@dataclass(frozen=True, slots=True)
class Fact:
    """An entry, the source of one that a person has not confirmed, and who wrote it where that was asked."""

    entry: Entry
    unconfirmed: str = ""
    blame: Blamed | None = None


@dataclass(frozen=True, slots=True)
class Store:
    """The listed facts of one store; `usage` counts all of it."""

    target: Target
    usage: int
    limit: int
    facts: tuple[Fact, ...]

    @property
    def percent(self) -> int:
        return self.usage * 100 // self.limit


@dataclass(frozen=True, slots=True)
class Facts:
    """The list of `gitmem facts`."""

    stores: tuple[Store, ...]

    @property
    def memory(self) -> Store | None:
        return next((one for one in self.stores if one.target == "memory"), None)

    @property
    def user(self) -> Store | None:
        return next((one for one in self.stores if one.target == "user"), None)


def list_facts(
    memory: Memory,
    target: Target | None = None,
    *,
    as_of: str = "HEAD",
    origins: bool = False,
    stale: bool = False,
    contradicting: bool = False,
    unconfirmed: bool = False,
) -> Facts:
    """List the facts of one store or both; all conditions hold."""
    disputed = {entry.key for one in contested(memory) for entry in one.entries} if contradicting else set()
    oldest = memory.world.clock() - STALE_AFTER

    def is_wanted(entry: Entry) -> bool:
        written = parse(entry.at)
        return (
            (not contradicting or entry.key in disputed)
            and (not unconfirmed or is_unconfirmed(entry))
            and (not stale or (written is not None and written < oldest))
        )

    stores, store = [], memory.part(CuratedStore)
    for one in (target,) if target else TARGETS:
        entries = store.entries(one, revision=as_of)
        usage = sum(len(entry.text) for entry in entries) + len(DELIMITER) * max(0, len(entries) - 1)
        blamed = (
            {story.entry.key: story for story in memory.blame(store.path(one), as_of=as_of)}
            if origins
            else {}
        )
        facts = tuple(
            Fact(entry, came_from(entry) if is_unconfirmed(entry) else "", blamed.get(entry.key))
            for entry in entries
            if is_wanted(entry)
        )
        stores.append(Store(one, usage, store.limit(one), facts))
    return Facts(tuple(stores))
