"""What a remote took away and what stayed here all the same, until a person says whether it goes.

It is this machine's own note: others may well want it gone.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from gitmem.state import TAKEN

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
