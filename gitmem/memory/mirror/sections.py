"""A host's own § file beside a curated store. An agent such as Hermes writes MEMORY.md and USER.md as it likes."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable, Collection, Iterable, Sequence
from contextlib import AbstractContextManager
from dataclasses import replace
from typing import TYPE_CHECKING

from gitmem.errors import BundleBusy, InvalidContent
from gitmem.files import read_file, replacement
from gitmem.git.message import Message
from gitmem.memory.curated.prompt_block import for_agents
from gitmem.memory.curated.store import CuratedStore, StoreEdit
from gitmem.memory.gate.admission import FOUND_ENTRY, Admission, redacted
from gitmem.memory.gate.marks import UNCONFIRMED
from gitmem.memory.mirror.changes import HostChange, Report, changes, plain
from gitmem.memory.mirror.mirror import Looked, Mirror
from gitmem.memory.retraction import is_retracted
from gitmem.notices import Notice
from gitmem.okf.curated import CuratedFile, check_text
from gitmem.okf.entries import DELIMITER, Entry, entry_hash, section_key
from gitmem.safety.verdict import Verdict

if TYPE_CHECKING:
    from gitmem.memory.bundle import Bundle
    from gitmem.memory.curated.store import Target
    from gitmem.memory.edits import Edits
    from gitmem.safety.verdict import Result

NAMES: dict[Target, str] = {"memory": "MEMORY.md", "user": "USER.md"}
HOST_FILE = "host file"
"""The source of a change that no agent reported."""
PATIENCE = 2.0
"""How long a change without a report waits for one: the host writes the file first and reports then."""
_TRIES = 8

Lock = Callable[[str], AbstractContextManager[None]]
"""The host's own lock around a write of a file."""


def parse(data: bytes, name: str) -> list[str]:
    """The entries as the host reads them: stripped, without blank ones and duplicates."""
    try:
        text = data.decode()
    except UnicodeDecodeError as error:
        raise InvalidContent(
            f"{name} is not UTF-8 (byte {error.start}): repair it or move it away."
        ) from error
    texts = (part.strip() for part in plain(text).split(DELIMITER))
    return list(dict.fromkeys(text for text in texts if text))


def render(texts: Iterable[str]) -> bytes:
    """The file as the host writes it: stripped entries, its delimiter; and a final newline, which the host strips.

    Without it, a line that is added with a shell would be the end of the last entry's own last line.
    """
    joined = DELIMITER.join(plain(text).strip() for text in texts)
    return f"{joined}\n".encode() if joined else b""


def _key(text: str) -> str:
    """The identity of an entry on both sides: a secret that is in the host's file is redacted in ours."""
    return entry_hash(redacted(plain(text)))


class Sections(Mirror):
    """One § file of a host, with the host's own lock."""

    def __init__(
        self, bundle: Bundle, target: Target, directory: str, *, limit: int, enforce: bool, lock: Lock
    ) -> None:
        super().__init__(bundle, f"hermes-{target}")
        self.target = target
        self._file = NAMES[target]
        self._path = os.path.join(directory, self._file)
        self._limit, self._enforce, self._lock = limit, enforce, lock
        self._reports: Sequence[Report] = ()
        self._patience, self._now = PATIENCE, 0.0
        self._unexplained_since = 0.0
        self._held: dict[str, Result] = {}
        self._refused: dict[str, None] = {}

    def prepare(self, reports: Sequence[Report], *, patience: float, now: float) -> None:
        """Set what the host reported of its writes, and how long a change without a report waits for one.

        `now` is by the clock that file times go by.
        """
        self._reports, self._patience = [one for one in reports if one.target == self.target], patience
        self._now = now

    @property
    def begun(self) -> str:
        """The moment of the first write that no look has used."""
        return min((report.at for report in self._unused()), default="")

    def _unused(self) -> list[Report]:
        used = self.used()
        return [one for one in self._reports if one.number > used.get(one.journal, 0)]

    def used(self) -> dict[str, int]:
        """The number up to which no look needs the reports any more, by journal."""
        used = self._note().get("used")
        found = used.items() if isinstance(used, dict) else ()
        return {str(name): number for name, number in found if isinstance(number, int)}

    # Both sides

    def _compare(self, done: Looked, kind: str) -> None:
        try:
            for _ in range(_TRIES):
                if self._compared(done, kind):
                    return
        except InvalidContent as error:
            self._bundle.report(Notice("host-file-left", self._file, str(error)))
            return
        raise BundleBusy(f"{self._file} keeps changing while gitmem works on it: it is compared again later.")

    def _compared(self, done: Looked, kind: str) -> bool:
        """Take in and write; False where the host was faster, and everything is to be looked at again."""
        data = self._read()
        note = self._note()
        base = parse(str(note.get("text", "")).encode(), self._file)
        present = parse(data or b"", self._file)
        waiting: list[HostChange] = []
        if present != base:
            found = changes(list(map(redacted, base)), list(map(redacted, present)), self._unused())
            young = self._too_young(found)
            done.waiting = done.waiting or bool(young)
            # The sources of an entry are known when its turn is over; the end of the turn compares again.
            waiting = [*young, *(one for one in found if one.report is not None and one.report.is_open)]
            found = [change for change in found if change not in waiting]
            done.taken += self._take_in(found, kind, of=len(base))
        base = _agreed(base, present, waiting)
        wanted = self._wanted(base, present, {_key(one.new) for one in waiting if one.new})
        if wanted is not None:
            new = render(wanted)
            if not self._write(data, new):
                return False
            done.written.append(self._file)
            data, base = new, _agreed(base, wanted, waiting)
        exact = data or b"" if not waiting else render(base)
        self._agree(note, {"text": exact.decode(), "used": _used_up(self._reports, waiting)})
        return True

    def _too_young(self, found: Sequence[HostChange]) -> list[HostChange]:
        """Changes without a report that may still get one, for a while after the first of them was seen."""
        now, age = self._now, 0.0
        with contextlib.suppress(OSError):
            # Of a file that was deleted (`hermes memory reset`) its directory knows when.
            path = self._path if os.path.exists(self._path) else os.path.dirname(self._path)
            age = now - os.stat(path).st_mtime
        unexplained = [one for one in found if one.report is None]
        self._unexplained_since = (self._unexplained_since or now) if unexplained else 0.0
        return unexplained if max(age, now - self._unexplained_since) < self._patience else []

    # Into the bundle

    def _take_in(self, found: Sequence[HostChange], kind: str, *, of: int) -> int:
        """Commit changes of the host's file, one commit an entry; `of` is how many entries the base had.

        A mass removal without a report is one commit, so that one revert takes it back; so is an import.
        """
        count = 0
        self._held, self._refused = {}, {}
        if kind == "import":
            new = [HostChange("", one.new) for one in found]
            count += bool(new and self._commit(new, kind=kind))
        else:
            lost = [one for one in found if not one.new and one.report is None]
            mass = lost if 3 * len(lost) > of else []
            for change in found:
                if change in mass:
                    continue
                old = change.old
                for text, report in change.earlier:
                    count += bool(self._commit([HostChange(old, text, report)]))
                    old = text if self._has(text) else old
                count += bool(self._commit([replace(change, old=old)]))
            lost_of = f"{self._file} lost {len(mass)} of {of} entries"
            if mass and (oid := self._commit(mass, lost=lost_of)):
                self._bundle.report(Notice("host-file-emptied", oid[:12], lost_of))
                count += 1
        for held, result in self._held.items():
            gone = self._enforce or not {"retracted", UNCONFIRMED}.isdisjoint(result.rules)
            after = "and was taken out of the file" if gone else "but is still in the file"
            detail = f"{held} ({result.explain()}), {after}; `gitmem review` shows it"
            self._bundle.report(Notice("host-entry-held", self._file, detail))
        for why in self._refused:
            self._bundle.report(Notice("host-entry-refused", self._file, why))
        return count

    def _commit(self, batch: Sequence[HostChange], *, kind: str = "host", lost: str = "") -> str:
        """Commit some changes; gives the commit, or nothing where the bundle has them already."""
        report = batch[0].report
        origin = report.origin if report else self._bundle.origin(source=HOST_FILE)
        at = report.at if report else self._bundle.now()
        paths = self._bundle.part(CuratedStore).paths(self.target)

        def work(edits: Edits) -> Message | None:
            edit = StoreEdit(
                self._bundle,
                edits,
                self.target,
                paths=paths,
                path=paths[0],
                origin=origin,
                policy=FOUND_ENTRY,
                at=at,
            )
            for change in batch:
                self._lay(edit, change)
            self._held |= edit.held
            if not edit.what and not edits:
                return None
            edit.write(learned=kind != "import")
            if kind == "import":
                count = f"{len(edit.what)} {'entry' if len(edit.what) == 1 else 'entries'}"
                return Message(kind, f"{self._file}, {count}")
            if lost:
                return Message(kind, f"suspicious: {lost}", {"Scan": "mass-change"})
            return edit.message(kind)

        published = self._bundle.commit(work, purpose=kind, origin=origin)
        return published.commit.oid if published else ""

    def _lay(self, edit: StoreEdit, change: HostChange) -> None:
        """Lay one change; an entry of this machine stays one of this machine."""
        old = edit.get(entry_hash(redacted(change.old))) if change.old else None
        if change.new:
            try:
                held = edit.replace(old, change.new) if old else edit.add(change.new)
            except InvalidContent as error:
                self._refused[str(error)] = None
            else:
                if held is None or UNCONFIRMED in held.result.rules:
                    return  # what it was to replace stays until a person has looked
        if old is not None:
            edit.remove(old)

    def _has(self, text: str) -> bool:
        paths = self._bundle.part(CuratedStore).paths(self.target)
        files = (CuratedFile.parse_leniently(self._bundle.read(path), path) for path in paths)
        return any(file.get(entry_hash(redacted(text))) is not None for file in files)

    # Back to the host

    def _wanted(
        self, base: Sequence[str], present: Sequence[str], waiting: Collection[str]
    ) -> list[str] | None:
        """The host's file as the bundle wants it; None: as it is.

        It has the entries that may be shown here, new ones within the host's limit. What the host has and the bundle
        cannot take stays as it is, unless `enforce` takes out what the scanner flags; what was retracted goes.
        """
        visible = self._visible()
        own = {_key(text): text for text in present}
        agreed = {_key(text) for text in base}
        foreign = [
            text
            for key, text in own.items()
            if key not in visible and (key in waiting or self._is_foreign(text))
        ]
        chosen = {key: own[key] for key in visible if key in own}
        used = len(DELIMITER.join([*foreign, *chosen.values()]))
        stays = len(chosen) + len(foreign) == len(own)
        # What is in the base and not in the file is the host's removal on its way.
        for key in (one for one in visible if one not in own and one not in agreed):
            text = visible[key].text
            cost = len(text) + (len(DELIMITER) if used else 0)
            if used + cost <= self._limit:
                chosen[key], used, stays = text, used + cost, False
        return None if stays else [*(chosen[key] for key in visible if key in chosen), *foreign]

    def _visible(self) -> dict[str, Entry]:
        """The entries that may be in a prompt on this machine, shared ones first, by their key."""
        return {_key(entry.text): entry for entry in for_agents(self._bundle, self.target)}

    def _is_foreign(self, text: str) -> bool:
        """Return whether the host's entry is one that the bundle keeps out, and that stays the host's own affair."""
        try:
            text = redacted(check_text(text))
        except InvalidContent:
            return True
        if is_retracted(self._bundle.tree(), section_key(text)):
            return False
        verdict = Admission(self._bundle).judge(text, FOUND_ENTRY).verdict
        return not self._enforce and verdict is not Verdict.ALLOW

    # Disk

    def _read(self) -> bytes | None:
        real, directory = os.path.realpath(self._path), os.path.dirname(self._path)
        inside = (os.path.realpath(directory), os.path.realpath(os.path.dirname(directory)))
        if not any(real.startswith(place + os.sep) for place in inside):
            raise InvalidContent(
                f"{self._file} is a link out of the agent's home: put the file itself there."
            )
        try:
            return read_file(self._path)
        except OSError as error:
            raise InvalidContent(f"{self._file} cannot be read ({error.strerror}).") from error

    def _write(self, old: bytes | None, new: bytes) -> bool:
        """Put the new file in the old one's place, under the host's lock; False where the host changed it."""
        # The host follows links too, so that a file that is linked inside its home stays linked.
        path = os.path.realpath(self._path)
        try:
            with replacement(path, new, mode=0o600) as put, self._lock(self._path):
                if read_file(path) != old:
                    return False
                put()
                return True
        except OSError as error:
            raise InvalidContent(
                f"{self._file} cannot be written ({error.strerror}), so the agent sees no change."
            ) from error


def _agreed(base: Sequence[str], present: Sequence[str], waiting: Sequence[HostChange]) -> list[str]:
    """Return what both sides agree on now: the file, but for changes that wait."""
    not_yet = {change.new for change in waiting}
    still = {change.old for change in waiting if change.old}
    return [
        *(text for text in present if redacted(text) not in not_yet),
        *(text for text in base if redacted(text) in still),
    ]


def _used_up(reports: Sequence[Report], waiting: Sequence[HostChange]) -> dict[str, int]:
    """Up to which number of each journal the reports are used: none from one on that a waiting change needs."""
    used: dict[str, int] = {}
    is_open: set[str] = set()
    needed = {(one.journal, one.number) for change in waiting for _, one in change.earlier}
    for one in sorted(reports, key=lambda one: one.number):
        is_open |= {one.journal} if one.is_open or (one.journal, one.number) in needed else set()
        if one.journal not in is_open:
            used[one.journal] = one.number
    return used
