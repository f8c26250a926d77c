"""What the host told us of its memory tool, on disk, so that whoever compares the files knows who wrote what.

Each provider keeps a journal of its own for them. Another process that compares first reads it too: an entry
belongs to the session that wrote it, not to the one that saw it.
"""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass, fields
from typing import TYPE_CHECKING

from gitmem.memory.capture import journal_format
from gitmem.memory.capture.abandoned import AbandonedJournal, abandoned
from gitmem.memory.capture.journal import Journal, Record
from gitmem.memory.curated.host_files import HostWrite
from gitmem.memory.gate.admission import redacted
from gitmem.memory.provenance import Origin
from gitmem.state import HOST_NOTICES

if TYPE_CHECKING:
    from gitmem.memory.memory import Memory
    from gitmem.state import LocalState

_WRITE = "memory-write"
_TURN = "turn"
_DONE = "turn-done"
_KEPT = 20
_ORIGIN = tuple(column.name for column in fields(Origin) if column.name != "derived_from")


@dataclass(frozen=True, slots=True)
class OpenTurn:
    """A turn whose process died before it was over."""

    session: str
    at: str
    user: str
    context: dict[str, str]


class Notices:
    """The notices of one provider, and the reading of everybody's."""

    def __init__(self, bundle: Memory) -> None:
        self._bundle = bundle
        directory = bundle.state.folder(HOST_NOTICES)
        # Only provenance hangs on it, so nobody waits for the disk.
        self._journal = Journal.create(directory, clock=bundle.world.clock, fsync="off")
        self._dead: list[AbandonedJournal] = abandoned(directory)
        self._lock = threading.Lock()
        self._open: list[Record] = []
        """Turns that began and were not told yet, oldest first."""
        self._cleared = 0

    # The agent's thread

    def post(self, action: str, target: str, content: str, old_text: str, origin: Origin) -> None:
        """A write of the memory tool; cheap, and on disk when this returns."""
        told = {
            "action": action,
            "target": target,
            "content": redacted(content),
            "old_text": redacted(old_text),
        }
        known = {name: str(value) for name in _ORIGIN if (value := getattr(origin, name))}
        self._journal.append(_WRITE, told, origin.session, known)

    def begin_turn(self, session: str, user: str, context: dict[str, str]) -> None:
        """A turn begins: should the process die in it, the user's words are not lost."""
        said = {"user": redacted(user), "begun": self._bundle.now()}
        with self._lock:
            self._open.append(self._journal.append(_TURN, said, session, context))

    def end_turn(self, user: str) -> None:
        """A turn was told: it and those before it are kept elsewhere now.

        The host tells on a thread of its own, so that the next turn may have begun already. A text that none
        of them has (of a skill the host tells only a part) is that of the oldest.
        """
        said = redacted(user)
        with self._lock:
            if self._open:
                matching = [turn for turn in self._open if turn.fields.get("user") == said]
                self._end((matching or self._open)[0])

    def end_all(self) -> None:
        """The session is over: no turn is open any more."""
        with self._lock:
            if self._open:
                self._end(self._open[-1])

    def _end(self, turn: Record) -> None:
        self._open = [one for one in self._open if one.seq > turn.seq]
        self._journal.append(_DONE, {"upto": turn.seq}, "")

    # The worker

    def left_open(self) -> list[OpenTurn]:
        """The turns in which earlier processes died."""
        found = []
        for dead in self._dead:
            ended = max((_upto(one) for one in dead.records if one.kind == _DONE), default=0)
            found += [
                OpenTurn(
                    one.session, str(one.fields.get("begun") or one.at), str(one.fields["user"]), one.context
                )
                for one in dead.records
                if one.kind == _TURN and one.seq > ended and one.fields.get("user")
            ]
        return found

    def drop_dead(self) -> None:
        """What dead processes left is used: remove it."""
        while self._dead:
            self._dead.pop().discard()

    def clear(self, used: Callable[[str], int]) -> None:
        """What every compare has used need not be kept: the journal stays short."""
        upto = used(self._journal.uuid)
        if upto - self._cleared < _KEPT:
            return
        with self._lock:
            if any(turn.seq <= upto for turn in self._open):  # they are noted again, behind what goes
                noted, self._open = self._open, []
                for turn in noted:
                    self._open.append(
                        self._journal.append(turn.kind, turn.fields, turn.session, turn.context)
                    )
                self._journal.append(_DONE, {"upto": noted[-1].seq}, "")
        self._journal.forget(upto)
        self._cleared = upto

    def close(self) -> None:
        """Nobody writes here any more: what is used goes with it."""
        while self._dead:
            self._dead.pop().release()
        records = self._journal.records()
        if records and not self._open and not any(one.kind == _WRITE for one in records):
            self._journal.forget(records[-1].seq)
        self._journal.close()


def _upto(done: Record) -> int:
    number = done.fields.get("upto")
    return number if isinstance(number, int) else done.seq


def everybody(bundle: Memory) -> list[HostWrite]:
    """The notices in every journal, of living and of dead processes."""
    found = _records(bundle.state)
    return [notice for journal, record in found if (notice := _notice(bundle, journal, record))]


def _records(state: LocalState) -> Iterator[tuple[str, Record]]:
    for uuid in state.keys(HOST_NOTICES):
        with contextlib.suppress(OSError), open(state.path(HOST_NOTICES, uuid), "rb") as file:
            yield from ((uuid, record) for record in journal_format.parse(file, uuid).records)


def _notice(bundle: Memory, journal: str, record: Record) -> HostWrite | None:
    if record.kind != _WRITE:
        return None
    told = {name: str(value) for name, value in record.fields.items()}
    known: dict[str, str] = {name: record.context.get(name, "") for name in _ORIGIN}
    known["machine"] = known["machine"] or bundle.config.machine
    return HostWrite(
        record.at,
        told.get("action", ""),
        told.get("target", "memory"),
        told.get("content", ""),
        told.get("old_text", ""),
        Origin(**known),  # type: ignore[arg-type]
        journal,
        record.seq,
    )
