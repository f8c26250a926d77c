"""Unreviewed content from others: entries of shared remotes, which count as unconfirmed, entries
that came into a full store, and what was taken back here and others say may come back.

A mark in the tree would travel, and mark for its author what he confirmed himself. So it is this machine's own note.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import TYPE_CHECKING

from gitmem.memory.gate.admission import UNCONFIRMED
from gitmem.state import FOREIGN

if TYPE_CHECKING:
    from gitmem.memory.bundle import Bundle
    from gitmem.okf.entries import Entry, EntryKey
    from gitmem.safety.verdict import Result


class Foreign:
    """Entries from other machines, by the hash of an entry or of its retraction, as noted now."""

    def __init__(self, bundle: Bundle) -> None:
        self._bundle = bundle
        found = bundle.state.read_json(FOREIGN)
        self._known = {name: dict(known) for name, known in found.items() if isinstance(known, dict)}

    def __bool__(self) -> bool:
        return bool(self._known)

    def waits(self, name: str) -> bool:
        """Return whether an entry is kept from agents here until a person has looked."""
        return bool(self._known.get(name, {}).get("waits"))

    def is_dropped(self, name: str) -> bool:
        """Return whether a person here wants none of it."""
        return bool(self._known.get(name, {}).get("dropped"))

    def is_retracted(self, name: str) -> bool:
        """Return whether it was taken back here, and only others say that it may come back."""
        return bool(self._known.get(name, {}).get("retracted"))

    def verdict(self, entry: Entry) -> Result | None:
        """Why an entry is kept out of prompts here; None where it is not."""
        if not self.waits(entry.key.id):
            return None
        from gitmem.safety.verdict import Finding, Result, Verdict

        remote = self._known[entry.key.id]["remote"]
        reason = f"came from the shared remote {remote}, and nobody here confirmed it"
        if self.is_retracted(entry.key.id):
            reason = f"was taken back here, and {remote} brings it again"
        finding = Finding(UNCONFIRMED, "taint", reason, (0, len(entry.text)), Verdict.HOLD)
        return Result(Verdict.HOLD, (finding,))

    def marked(self, entries: Iterable[Entry]) -> list[Entry]:
        """The entries, those of shared remotes with the mark that an unconfirmed one has in the tree."""
        return [
            replace(entry, extra={**entry.extra, UNCONFIRMED: "remote", "source": str(found["remote"])})
            if entry.key.space == "§" and (found := self._known.get(entry.key.id)) and "waits" in found
            else entry
            for entry in entries
        ]

    def standing(self, entry: Entry) -> tuple[bool, bool]:
        """Return the rank by which a full store keeps entries: confirmed, and here before a sync made it too full."""
        from gitmem.memory.gate.hearing import is_unconfirmed

        return not is_unconfirmed(entry), "late" not in self._known.get(entry.key.id, {})

    def precedence(self, entry: Entry) -> tuple[tuple[bool, bool], str, EntryKey]:
        """Return the rank of an entry in a prompt that cannot hold all: by standing, then the newest."""
        return self.standing(entry), entry.at, entry.key

    def note(self, remote: str, came: Iterable[Entry]) -> None:
        """Note what a sync with a shared remote brings; what gives orders or changes something waits."""
        from gitmem.safety.stakes import stakes_of

        trust = self._bundle.config.trust.remote
        if trust == "follow":
            return
        for entry in came:
            known = self._known.setdefault(entry.key.id, {"remote": remote})
            known["waits"] = bool(known.get("waits") or trust == "hold" or stakes_of(entry.text))
        self._write()

    def note_flood(self, remote: str, came: Iterable[Entry]) -> None:
        """Note more entries of a sync than their store has room for: they count as unconfirmed."""
        for entry in came:
            self._known.setdefault(entry.key.id, {"remote": remote}).setdefault("waits", False)
        self._write()

    def note_late(self, remote: str, came: Iterable[Entry]) -> None:
        """Note entries of a sync after which their store is over its limit: they leave it before what was there."""
        for entry in came:
            self._known.setdefault(entry.key.id, {"remote": remote})["late"] = True
        self._write()

    def keep_retracted(self, remote: str, names: Iterable[str]) -> None:
        """Note that others released these retractions: here they hold until a person says otherwise."""
        for name in names:
            self._known[name] = {"remote": remote, "waits": True, "retracted": True}
        self._write()

    def decide(self, name: str, *, accepted: bool) -> None:
        """A person here looked: it counts as confirmed, or stays hidden for good."""
        if accepted:
            self._known.pop(name, None)
        else:
            self._known[name] |= {"waits": True, "dropped": True}
        self._write()

    def _write(self) -> None:
        self._bundle.state.write_json(FOREIGN, self._known, durable=True)
