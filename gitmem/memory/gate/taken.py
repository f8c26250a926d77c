"""Removals by a remote that were kept here until a person decides.

It is this machine's own note: others may well want it gone. What did go is noted for a day, so that many small syncs take
no more than one.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from gitmem.state import TAKEN, TAKEN_LATELY

if TYPE_CHECKING:
    from gitmem.memory.bundle import Bundle
    from gitmem.okf.entries import Entry


@dataclass(frozen=True, slots=True)
class Loss:
    """An entry of the curated store that a remote would take away."""

    path: str
    entry: Entry
    why: str
    """Why it stays."""


_DAY = 24 * 60 * 60


class Lately:
    """Removals by remotes within a day, by the path of the store: its entries before, and those removed."""

    def __init__(self, bundle: Bundle) -> None:
        self._bundle = bundle
        self._now = int(bundle.world.clock().timestamp())
        self._known = {
            path: known
            for path, known in bundle.state.read_json(TAKEN_LATELY).items()
            if isinstance(known, dict) and 0 <= self._now - known.get("at", 0) < _DAY
        }

    def share(self, path: str, held: Collection[str], gone: Collection[str]) -> tuple[int, int]:
        """Return how many entries have gone of how many, if these of what a store holds go too."""
        known = self._known.get(path)
        if known is None:
            return len(gone), len(held)
        before = set(known["held"])
        return len(before & ({*known["gone"]} - {*held} | {*gone})), len(before)

    def note(self, path: str, held: Collection[str], gone: Collection[str]) -> None:
        """Note that these entries of what a store held went."""
        known = self._known.setdefault(path, {"at": self._now, "held": sorted(held), "gone": []})
        known["gone"] = sorted({*known["gone"], *gone})
        self._bundle.state.write_json(TAKEN_LATELY, self._known, durable=False)

    def forget(self, paths: Iterable[str]) -> None:
        """A person looked: it counts from here."""
        for path in paths:
            self._known.pop(path, None)
        self._bundle.state.write_json(TAKEN_LATELY, self._known, durable=False)


class Taken:
    """The entries that stayed, by their hash."""

    def __init__(self, bundle: Bundle) -> None:
        self._bundle = bundle
        found = bundle.state.read_json(TAKEN)
        self._known = {name: dict(known) for name, known in found.items() if isinstance(known, dict)}

    def __bool__(self) -> bool:
        return bool(self._known)

    def why(self, name: str) -> str:
        """Why an entry waits; empty where it does not."""
        return str(self._known.get(name, {}).get("why", ""))

    def note(self, remote: str, kept: Iterable[Loss]) -> None:
        """These stayed, though a remote took them away."""
        for one in kept:
            self._known[one.entry.key.id] = {"why": f"{remote} took it away; it stays: {one.why}"}
        self._bundle.state.write_json(TAKEN, self._known, durable=True)

    def settle(self, name: str) -> None:
        """A person decided."""
        self._known.pop(name, None)
        self._bundle.state.write_json(TAKEN, self._known, durable=True)
