"""The host's reports of its memory and skill tools, on disk, so that a comparison of files knows who wrote what.

Each provider keeps a journal of its own for them. Another process that compares first reads it too: an entry
belongs to the session that wrote it, not to the one that saw it.
"""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass, fields, replace
from typing import TYPE_CHECKING

from gitmem.locks import ProcessLock
from gitmem.memory.capture import journal_format
from gitmem.memory.capture.abandoned import AbandonedJournal, abandoned
from gitmem.memory.capture.journal import Journal, Record
from gitmem.memory.capture.transcripts import transcripts_of
from gitmem.memory.curated.host_files import HostWrite
from gitmem.memory.gate.admission import redacted
from gitmem.memory.origin import Origin
from gitmem.okf import timestamps
from gitmem.state import HOST_NOTICES

if TYPE_CHECKING:
    from gitmem.memory.memory import Memory
    from gitmem.state import LocalState

_WRITE = "memory-write"
_SKILL = "skill-write"
_TURN = "turn"
_DONE = "turn-done"
_KEPT = 20
_ORIGIN = tuple(column.name for column in fields(Origin) if column.name not in ("derived_from", "at"))


@dataclass(frozen=True, slots=True)
class SkillWrite:
    """A call of the host's skill tool, which the host tells when the turn is over."""

    begun: float
    """When the turn began, and when it was told."""
    told: float
    skill: str
    content: str
    origin: Origin


class Notices:
    """The notices of one provider, and the reading of everybody's."""

    def __init__(self, bundle: Memory) -> None:
        self._bundle = bundle
        self._words = transcripts_of(bundle.config)
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
        with self._lock:
            if self._open:
                told["turn"] = str(self._open[-1].fields["turn"])
        self._journal.append(_WRITE, told, origin.session, _known(origin))

    def post_skill(self, skill: str, content: str, origin: Origin) -> None:
        """A call of the skill tool in the turn that is being told."""
        with self._lock:
            begun = str(self._open[0].fields.get("begun", "")) if self._open else ""
        told = {"skill": skill, "content": redacted(content), "begun": begun}
        self._journal.append(_SKILL, told, origin.session, _known(origin))

    def begin_turn(self, session: str, turn: str, user: str, context: dict[str, str]) -> None:
        """A turn begins: should the process die in it, the user's words are not lost."""
        words = redacted(self._words.of_the_user(user))
        said = {"turn": turn, "user": words, "begun": self._bundle.now()}
        with self._lock:
            self._open.append(self._journal.append(_TURN, said, session, context))

    def end_turn(self, user: str) -> None:
        """A turn was told: it and those before it are kept elsewhere now.

        The host tells on a thread of its own, so that the next turn may have begun already. A text that none
        of them has (of a skill the host tells only a part) is that of the oldest.
        """
        said = redacted(self._words.of_the_user(user))
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

    def note(
        self, kind: str, fields: dict[str, str], session: str, *, at: str = "", durable: bool = False
    ) -> int:
        """Something that the next start must know; gives its number."""
        number = self._journal.append(kind, fields, session, at=at).seq
        if durable:
            self._journal.settle()
        return number

    # The worker

    def of_the_dead(self) -> Iterator[list[Record]]:
        """Yield what earlier processes noted, journal by journal."""
        for dead in self._dead:
            yield dead.records

    @property
    def dead(self) -> frozenset[str]:
        """The journals of dead processes, which are ours until they are dropped."""
        return frozenset(one.uuid for one in self._dead)

    @property
    def has_others(self) -> bool:
        """Return whether another provider runs on this memory, which may still report a write."""
        others = set(self._bundle.state.keys(HOST_NOTICES)) - {self._journal.uuid} - self.dead
        return any(_is_alive(self._bundle.state, one) for one in others)

    def everybody(self, *, heard: bool = False) -> list[HostWrite]:
        """The notices in every journal; those of dead processes that this one took over are of turns that are over.

        `heard` says that of this provider's own turn all is known so far.
        """
        own = [self._journal.uuid] if heard else []
        return everybody(self._bundle, over=frozenset([*own, *self.dead]))

    def drop_dead(self) -> None:
        """Remove the notices of dead processes, which are used."""
        while self._dead:
            self._dead.pop().discard()

    def clear(self, used: Callable[[str], int], note_again: Callable[[], None]) -> None:
        """Drop the notices that every comparison has used, so that the journal stays short."""
        upto = used(self._journal.uuid)
        if upto - self._cleared < _KEPT:
            return
        note_again()
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

    def close(self, *, keep: bool) -> None:
        """Nobody writes here any more: what is used goes with it, unless there is something to `keep`."""
        while self._dead:
            self._dead.pop().release()
        records = self._journal.records()
        if records and not (keep or self._open or any(one.kind == _WRITE for one in records)):
            self._journal.forget(records[-1].seq)
        self._journal.close()


def _upto(done: Record) -> int:
    number = done.fields.get("upto")
    return number if isinstance(number, int) else done.seq


def everybody(bundle: Memory, *, over: frozenset[str] = frozenset()) -> list[HostWrite]:
    """The notices in every journal, of living and of dead processes; in `over` no turn is open any more."""
    found: list[HostWrite] = []
    for journal in bundle.state.keys(HOST_NOTICES):
        records = _records(bundle.state, journal)
        turns = _open_turns(records) if journal not in over else []
        going_on = {str(turn.fields.get("turn", "")) for turn in turns}
        writes = [_notice(bundle, journal, record, going_on) for record in records if record.kind == _WRITE]
        if any(write.is_open for write in writes) and not _is_alive(bundle.state, journal):
            writes = [replace(write, is_open=False) for write in writes]
        found += writes
    return found


def skill_writes(bundle: Memory) -> list[SkillWrite]:
    """The calls of the skill tool that any journal has, the newest last."""
    found = [
        SkillWrite(
            _moment(record.fields.get("begun")),
            _moment(record.at),
            str(record.fields.get("skill", "")),
            str(record.fields.get("content", "")),
            _origin(bundle, record),
        )
        for journal in bundle.state.keys(HOST_NOTICES)
        for record in _records(bundle.state, journal)
        if record.kind == _SKILL
    ]
    return sorted(found, key=lambda one: one.told)


@dataclass(frozen=True, slots=True)
class TurnUnderWay:
    """A turn that began and was not told yet; `died` where its process is no more."""

    begun: float
    origin: Origin
    died: bool


def turns_under_way(bundle: Memory, dead: Collection[str]) -> list[TurnUnderWay]:
    """The turns that are under way, and those in which a process died; `dead` are journals that are known to be such."""
    found = []
    for journal in bundle.state.keys(HOST_NOTICES):
        turns = _open_turns(_records(bundle.state, journal))
        died = bool(turns) and (journal in dead or not _is_alive(bundle.state, journal))
        for turn in turns:
            origin = replace(_origin(bundle, turn), session=turn.session)
            found.append(TurnUnderWay(_moment(turn.fields.get("begun")), origin, died))
    return found


def _moment(at: object) -> float:
    found = timestamps.parse(at) if isinstance(at, str) else None
    return found.timestamp() if found is not None else 0.0


def _known(origin: Origin) -> dict[str, str]:
    return {name: str(value) for name in _ORIGIN if (value := getattr(origin, name))}


def _origin(bundle: Memory, record: Record) -> Origin:
    known: dict[str, str] = {name: record.context.get(name, "") for name in _ORIGIN}
    known["machine"] = known["machine"] or bundle.config.machine
    return Origin(**known)  # type: ignore[arg-type]


def _records(state: LocalState, journal: str) -> list[Record]:
    with contextlib.suppress(OSError), open(state.path(HOST_NOTICES, journal), "rb") as file:
        return journal_format.parse(file, journal).records
    return []


def _open_turns(records: Sequence[Record]) -> list[Record]:
    """The turns that are not over."""
    ended = max((_upto(one) for one in records if one.kind == _DONE), default=0)
    return [one for one in records if one.kind == _TURN and one.seq > ended]


def _is_alive(state: LocalState, journal: str) -> bool:
    """Return whether somebody holds a journal: its writer, or whoever takes up what a dead one left."""
    with contextlib.suppress(OSError):
        lock = ProcessLock.take(f"{state.folder(HOST_NOTICES)}/{journal}.lock", create=False)
        if lock is not None:
            lock.release()
        return lock is None
    return False


def _notice(bundle: Memory, journal: str, record: Record, going_on: set[str]) -> HostWrite:
    told = {name: str(value) for name, value in record.fields.items()}
    return HostWrite(
        record.at,
        told.get("action", ""),
        told.get("target", "memory"),
        told.get("content", ""),
        told.get("old_text", ""),
        _origin(bundle, record),
        journal,
        record.seq,
        told.get("turn") in going_on,
    )
