"""The ledger: what waits for a person on this machine, and what people decided here.

It is never committed: a mark in the tree would travel, and mark for its author what they confirmed themselves.
`held/<id>` is a text that was kept out, with its destination. The file `ledger` has a note for each entry or retraction by
its hash, and for each store, by its path, what remotes removed from it within a day.

Writing takes the bundle lock; a reader sees one whole file. A note on what arrives is written before `main` moves.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from gitmem.errors import GitMemError, UnknownRevision
from gitmem.okf.entries import entry_hash, turns_of
from gitmem.safety.verdict import Finding, Result, Verdict
from gitmem.state import HELD, LEDGER

if TYPE_CHECKING:
    from gitmem.memory.bundle import Bundle
    from gitmem.memory.origin import Origin
    from gitmem.okf.entries import Entry

_DAY = 24 * 60 * 60
_OWN = "machine "
"""Begins the name of a note on a machine that a person called their own."""
_PLACES = {"entry": "memories/", "skill": "skills/", "file": "", "event": ""}
"""The kinds of destination, and the directory that each of them is in."""
_EVENT = {"kind", "session", "event", "event_kind", "at"}

HoldRequest = tuple[str, "Result", Mapping[str, str]]
"""A text, the verdict on it, and its destination."""
_Notes = dict[str, dict[str, Any]]


@dataclass(frozen=True, slots=True)
class HeldItem:
    """A text that is kept out until a person decides: where it would have gone, and why it did not."""

    id: str
    text: str
    destination: Mapping[str, str]
    """Empty where the file on disk is not what was held: such a text is shown, and goes nowhere."""
    reasons: tuple[str, ...]
    origin: Mapping[str, str]
    turns: tuple[str, ...]
    """The turns that wrote it."""
    at: str

    @classmethod
    def parse(cls, name: str, found: Mapping[str, Any]) -> HeldItem:
        """Read what a file says; its name must be the hash of its text and destination."""
        text, where = str(found.get("text", "")), _strings_by_name(found.get("destination"))
        reasons = tuple(map(str, _listed(found.get("reasons"))))
        if held_id(text, where) != name or not _is_place(where):
            where, reasons = {}, ("the file was changed on disk: copy its text by hand",)
        origin = _strings_by_name(found.get("origin"))
        return cls(name, text, where, reasons, origin, turns_of(found), str(found.get("at", "")))


class Ledger:
    """The ledger of one bundle, read again whenever its files have changed."""

    def __init__(self, bundle: Bundle) -> None:
        self._bundle = bundle
        self._state = bundle.state
        self._known: tuple[object, _Notes] = (None, {})
        self._held_words: tuple[dict[str, str], tuple[tuple[str, str], ...]] = ({}, ())

    # Texts that were kept out

    def held(self) -> list[HeldItem]:
        """Return what is held and waits for a person, the oldest first."""
        waiting = (name for name in self._state.keys(HELD) if not self.is_rejected(name))
        return sorted(map(self._held, waiting), key=lambda one: (one.at, one.id))

    def get(self, name: str) -> HeldItem:
        """One held text by its id or the beginning of it."""
        from gitmem.okf.short_ids import meant

        found = meant(name, self._state.keys(HELD), "held texts")
        if not found:
            raise UnknownRevision(
                f"No held text begins with {name!r}.", hint="List them with `gitmem review --list`."
            )
        return self._held(found)

    def _held(self, name: str) -> HeldItem:
        return HeldItem.parse(name, self._state.read_json(HELD, name))

    def hold(self, texts: Iterable[HoldRequest], *, origin: Origin) -> list[str]:
        """Keep texts out, all on disk after one wait; gives their ids. The same text for the same place is kept once."""
        from gitmem.memory.gate.admission import redacted
        from gitmem.memory.origin import written_by

        names: list[str] = []
        new: dict[str, bytes] = {}
        known = set(self._state.keys(HELD))
        trailers = {key: str(value) for key, value in origin.trailers().items() if value}
        about = {"origin": trailers, **written_by(origin), "at": self._bundle.now()}
        for given, result, destination in texts:
            text = redacted(given)
            names.append(name := held_id(text, destination))
            reasons = [one.reason or one.rule for one in result.findings]
            item = {"text": text, "destination": dict(destination), "reasons": reasons, **about}
            if name not in known:
                new[name] = json.dumps(item, indent=1, sort_keys=True).encode()
        self._state.write_new(HELD, new)
        return names

    def remove_held(self, name: str) -> None:
        """Remove a held text: a person let it in."""
        found = self.get(name).id
        self._state.remove(HELD, found)
        self.clear([found])

    def is_rejected(self, name: str) -> bool:
        return "rejected" in self._notes.get(name, {})

    def reject(self, name: str, by: str) -> None:
        """A person wants none of a held text: it is kept, so that what repeats it is kept from agents as well."""
        with self._changing() as notes:
            said = {"by": by, "at": self._bundle.now(), "tip": self._bundle.tip}
            notes.setdefault(self.get(name).id, {})["rejected"] = said

    def held_words(self) -> tuple[tuple[str, str], ...]:
        """The keys and quotes of the entries that are held or were rejected, the latter each with the commit of that moment.

        A person has yet to say whether any of them holds, or said that it does not.
        """
        names = self._state.keys(HELD)
        rejected = {name: _strings_by_name(self._notes.get(name, {}).get("rejected")) for name in names}
        tips = {name: said.get("tip", "") for name, said in rejected.items()}
        if tips != self._held_words[0]:
            from gitmem.text.keys import is_sure, keys_of, quotes_of

            items = [one for one in map(self._held, names) if one.destination.get("kind") == "entry"]
            words = ((word, one.id) for one in items for word in (*keys_of(one.text), *quotes_of(one.text)))
            found = tuple((word, tips[name]) for word, name in words if " " in word or is_sure(word))
            self._held_words = tips, found
        return self._held_words[1]

    # Notes on entries

    def has_any(self, mark: str) -> bool:
        """Return whether a note with this mark is there: `waits`, `kept`, `released`."""
        return any(mark in note for note in self._notes.values())

    def is_released(self, name: str) -> bool:
        """Return whether a person here released the text, or accepted the rules, with this hash."""
        return "released" in self._note(name)

    def waits(self, name: str) -> bool:
        """Return whether an entry is kept from agents here until a person has looked."""
        return bool(self._note(name).get("waits"))

    def is_unreviewed(self, name: str) -> bool:
        """Return whether an entry of somebody else counts as unconfirmed here, whether it waits or not."""
        return "waits" in self._note(name)

    def is_dropped(self, name: str) -> bool:
        """Return whether a person here wants none of it."""
        return bool(self._note(name).get("dropped"))

    def is_retracted(self, name: str) -> bool:
        """Return whether it was taken back here, and only others say that it may come back."""
        return bool(self._note(name).get("retracted"))

    def why_kept(self, name: str) -> str:
        """Why an entry is still here that a remote took away; empty where none did, or a person has decided."""
        return str(self._note(name).get("kept", ""))

    def verdict(self, entry: Entry) -> Result | None:
        """Why an entry is kept out of prompts here; None where it is not."""
        if not self.waits(entry.key.id):
            return None
        from gitmem.memory.gate.marks import UNCONFIRMED

        remote = self._note(entry.key.id).get("remote")
        reason = f"came from {remote}, and nobody here confirmed it"
        if self.is_hidden(entry.key.id):
            reason = f"came from {remote} with a sync that was undone here"
        elif self.is_retracted(entry.key.id):
            reason = f"was taken back here, and {remote} brings it again"
        finding = Finding(UNCONFIRMED, "taint", reason, (0, len(entry.text)), Verdict.HOLD)
        return Result(Verdict.HOLD, (finding,))

    def marked(self, entries: Iterable[Entry]) -> list[Entry]:
        """The entries, those of others with the mark that an unconfirmed one has in the tree."""
        from gitmem.memory.gate.marks import UNCONFIRMED

        def mark(entry: Entry) -> Entry:
            if entry.key.space != "§" or not self.is_unreviewed(entry.key.id):
                return entry
            source = str(self._note(entry.key.id).get("remote"))
            return replace(entry, extra={**entry.extra, UNCONFIRMED: "remote", "source": source})

        return list(map(mark, entries))

    def rank(self, entry: Entry) -> tuple[bool, bool]:
        """Return the rank by which a full store keeps entries: confirmed, and here before a sync made it too full."""
        from gitmem.memory.gate.marks import is_unconfirmed

        return not is_unconfirmed(entry), "late" not in self._note(entry.key.id)

    # What others brought, released and took away

    def note_arrivals(
        self,
        remote: str,
        entries: Iterable[Entry],
        machine: str = "",
        *,
        waits: Callable[[Entry], bool] | None = None,
        late: bool = False,
    ) -> None:
        """Note what a sync brings, of which machine. With `waits` it is unconfirmed; `late` leaves a full store first."""
        with self._changing() as notes:
            for entry in entries:
                note = notes.setdefault(entry.key.id, {})
                note.setdefault("remote", remote)
                if machine:
                    note.setdefault("machine", machine)
                if waits is not None:
                    note["waits"] = bool(note.get("waits") or waits(entry))
                if late:
                    note["late"] = True

    def own_machines(self) -> frozenset[str]:
        """The other machines of this person, by what a person said here."""
        return frozenset(name.removeprefix(_OWN) for name in self._notes if name.startswith(_OWN))

    def confirm_machine(self, machine: str, by: str) -> None:
        """A person says that a machine is theirs: what it brought counts as confirmed, and so does what it brings."""
        with self._changing() as notes:
            notes[_OWN + machine] = {"by": by, "at": self._bundle.now()}
            for note in notes.values():
                if note.get("machine") == machine and "dropped" not in note and "hidden" not in note:
                    note.pop("waits", None)

    def disown_machine(self, machine: str) -> bool:
        """A person says that a machine is not theirs; False where nobody had said that it is."""
        with self._changing() as notes:
            return notes.pop(_OWN + machine, None) is not None

    def keep_retracted(self, remote: str, names: Iterable[str]) -> None:
        """Note that others released these retractions: here they hold until a person says otherwise."""
        with self._changing() as notes:
            for name in names:
                notes.setdefault(name, {}).update(remote=remote, waits=True, retracted=True)

    def hide(self, sync: str, remote: str, entries: Iterable[str], others: Iterable[str], *, by: str) -> None:
        """Hide from agents here what a sync brought: § entries by their hash, others by that of their retraction.

        It is an undo of that sync on this machine alone, by an agent or a person. `unhide` brings it back.
        """
        retracted, number = set(others), self._last_hidden(self._notes)[1] + 1
        with self._changing() as notes:
            for name in {*entries, *retracted}:
                was = notes.get(name, {})
                hidden = {"sync": sync, "at": self._now(), "number": number, "by": by, "was": was}
                notes[name] = {"remote": remote, **was, "waits": True, "hidden": hidden}
                if name in retracted:
                    notes[name]["retracted"] = True

    def is_hidden(self, name: str) -> bool:
        """Return whether an undo of a sync hides it."""
        return "hidden" in self._note(name)

    def last_hidden(self) -> tuple[int, str, str]:
        """The moment of the last undo of a sync, the commit that sync came to, and by whom; 0 and nothing where none was."""
        at, _, sync, by = self._last_hidden(self._notes)
        return at, sync, by

    def _last_hidden(self, notes: _Notes) -> tuple[int, int, str, str]:
        found = [note["hidden"] for note in notes.values() if isinstance(note.get("hidden"), dict)]
        known = ((one.get("at"), one.get("number"), one.get("sync"), str(one.get("by", ""))) for one in found)
        return max((one for one in known if _is_numbered(*one[:3])), default=(0, 0, "", ""))

    def unhide(self, sync: str) -> None:
        """Show again what an undo of a sync hid."""
        with self._changing() as notes:
            for name, note in list(notes.items()):
                hidden = note.get("hidden")
                if isinstance(hidden, dict) and hidden.get("sync") == sync:
                    del notes[name]
                    if hidden.get("was"):
                        notes[name] = hidden["was"]

    def keep(self, reasons: Mapping[str, str]) -> None:
        """Note that these entries stay until a person looks, though a remote took them away."""
        with self._changing() as notes:
            for name, why in reasons.items():
                notes.setdefault(name, {})["kept"] = why

    def removed_share(self, path: str, held: Collection[str], gone: Collection[str]) -> tuple[int, int]:
        """Return how many of how many entries of a store remotes remove within a day, with those of this sync."""
        known = self._removals(self._notes, path)
        if known is None:
            return len(gone), len(held)
        before = set(known["held"])
        return len(before & ({*known["gone"]} - {*held} | {*gone})), len(before)

    def note_removals(self, path: str, held: Collection[str], gone: Collection[str]) -> None:
        """Note that remotes removed these entries of what a store held."""
        with self._changing() as notes:
            known = self._removals(notes, path) or {"at": self._now(), "held": sorted(held), "gone": []}
            notes[path] = {**known, "gone": sorted({*known["gone"], *gone})}

    def _removals(self, notes: _Notes, path: str) -> dict[str, Any] | None:
        found = notes.get(path, {})
        at, names = found.get("at"), [*_listed(found.get("held")), *_listed(found.get("gone"))]
        is_recent = isinstance(at, int) and 0 <= self._now() - at < _DAY
        return found if is_recent and all(isinstance(name, str) for name in names) else None

    # A person's decision

    def release(self, names: Iterable[str], by: str) -> None:
        """A person says that the texts with these hashes are fine. It holds on this machine only."""
        with self._changing() as notes:
            for name in names:
                notes.setdefault(name, {})["released"] = {"by": by, "at": self._bundle.now()}

    def is_pinned(self, name: str) -> bool:
        """Return whether a person here wants the entry in every prompt."""
        return "pinned" in self._note(name)

    def pin(self, name: str, by: str) -> None:
        """A person wants an entry in every prompt of this machine; without `by`, no longer."""
        with self._changing() as notes:
            note = notes.setdefault(name, {})
            note.pop("pinned", None)
            if by:
                note["pinned"] = {"by": by, "at": self._bundle.now()}
            if not note:
                del notes[name]

    def clear(self, names: Iterable[str]) -> None:
        """A person here looked at these entries or stores: nothing about them waits any more."""
        with self._changing() as notes:
            for name in names:
                note = notes.pop(name, {})
                if "released" in note:
                    notes[name] = {"released": note["released"]}

    def drop(self, name: str) -> None:
        """A person here wants none of what others brought: it stays hidden."""
        with self._changing() as notes:
            notes.setdefault(name, {}).update(waits=True, dropped=True)

    # The file

    def _now(self) -> int:
        return int(self._bundle.world.clock().timestamp())

    @property
    def _foreign(self) -> bool:
        return self._bundle.repository.is_foreign

    def _note(self, name: str) -> Mapping[str, Any]:
        if self._foreign:
            return {"remote": self._bundle.root, "waits": False}
        return self._notes.get(name, {})

    @property
    def _notes(self) -> _Notes:
        try:
            found = os.stat(self._state.path(LEDGER))
            seen = found.st_ino, found.st_mtime_ns, found.st_size
        except OSError:
            seen = None
        if seen != self._known[0]:
            self._known = seen, self._read()
        return self._known[1]

    def _read(self) -> _Notes:
        found = self._state.read_json(LEDGER)
        return {name: note for name, note in found.items() if isinstance(note, dict)}

    @contextmanager
    def _changing(self) -> Iterator[_Notes]:
        with self._bundle.writing("ledger"):
            notes = self._read()
            yield notes
            if notes != self._read():
                self._state.write_json(LEDGER, notes, durable=True)


def held_id(text: str, destination: Mapping[str, str]) -> str:
    """The name of a held text: of its words and where they would go."""
    return entry_hash(f"{sorted(destination.items())}\n{text}")[:12]


def _is_place(where: Mapping[str, str]) -> bool:
    from gitmem.okf.paths import check_path

    kind, path = where.get("kind", ""), where.get("path", "")
    if kind == "event":
        return where.keys() >= _EVENT
    try:
        check_path(path)
    except GitMemError:
        return False
    return kind in _PLACES and path.startswith(_PLACES[kind])


def _is_numbered(at: object, number: object, sync: object) -> bool:
    return isinstance(at, int) and isinstance(number, int) and isinstance(sync, str)


def _listed(found: object) -> list[Any]:
    return found if isinstance(found, list) else []


def _strings_by_name(found: object) -> dict[str, str]:
    return {str(key): str(value) for key, value in found.items()} if isinstance(found, dict) else {}
