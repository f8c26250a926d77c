"""Writers of the host's files: its reports are notes in the journals of the sessions.

Every process that compares the files reads the notes of all journals: an entry belongs to the session that wrote it,
not to the one that saw it.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, fields, replace
from typing import TYPE_CHECKING

from gitmem.locks import ProcessLock
from gitmem.memory.capture.abandoned import AbandonedJournal, abandoned
from gitmem.memory.capture.journal_format import SETTLED, Record
from gitmem.memory.capture.recovery import DIED, HOST, OPEN, TURN, notes_in
from gitmem.memory.mirror.changes import Report
from gitmem.memory.origin import Origin
from gitmem.memory.pending_facts import ANNOUNCED, SAID
from gitmem.okf import timestamps
from gitmem.state import JOURNAL

if TYPE_CHECKING:
    from gitmem.memory.memory import Memory
    from gitmem.memory.session import Session

WRITE, SKILL = "_write", "_skill"
_ORIGIN = tuple(column.name for column in fields(Origin) if column.name not in ("derived_from", "at"))
_BY = "by "
"""Before each part of an origin in the context of a note, which has parts of the session too."""


# --- the agent's thread ----------------------------------------------------------------------------------


def note_write(
    session: Session, action: str, target: str, content: str, metadata: Mapping[str, object]
) -> None:
    """A write of the memory tool, with what the host says of it; it belongs to the newest open turn."""
    known = {"action": action, "target": target, **_known(_said_by(metadata, session.origin()))}
    words = {"content": content, "old_text": str(metadata.get("old_text") or "")}
    session.buffer.note(WRITE[1:], words, known=known)


def note_skill(session: Session, skill: str, content: str, begun: str, turn: str) -> None:
    """A call of the skill tool, which is reported when its turn is over; `begun` is when that was."""
    origin = session.origin(source="skill_manage tool", turn=turn)
    session.buffer.note(
        SKILL[1:], {"skill": skill, "content": content}, known={"begun": begun, **_known(origin)}
    )


def _said_by(metadata: Mapping[str, object], base: Origin) -> Origin:
    def known(name: str) -> str:
        return str(metadata.get(name) or "")

    return replace(
        base,
        session=known("session_id") or base.session,
        parent_session=known("parent_session_id") or base.parent_session,
        platform=known("platform") or base.platform,
        source=f"{known('tool_name') or 'memory'} tool",
        reason=known("write_origin"),
    )


def _known(origin: Origin) -> dict[str, str]:
    return {_BY + name: str(value) for name in _ORIGIN if (value := getattr(origin, name))}


# --- the worker ------------------------------------------------------------------------------------------


def reports(memory: Memory, *, over: Collection[str] = ()) -> list[Report]:
    """The reported writes in every journal, of living and of dead processes; in `over` no turn is open any more."""
    found: list[Report] = []
    for journal, notes in notes_in(memory.journal_dir).items():
        writes = [one for one in notes if one.kind == WRITE]
        is_live = bool(writes) and journal not in over and _is_alive(memory, journal)
        turns = {str(one.fields.get("turn")) for one in notes if is_live and one.kind == TURN}
        found += [_report(memory, journal, one, turns) for one in writes]
    return found


def settle(session: Session, used: Callable[[str, str], int], *, skills: bool) -> None:
    """Drop the notes that a comparison has used: writes up to a number for each file, and calls of the skill tool."""
    buffer = session.buffer
    writes = buffer.notes(WRITE)
    over = [one.seq for one in writes if one.seq <= used(one.context.get("target", ""), buffer.writer)]
    buffer.settle(*over, *(one.seq for one in buffer.notes(SKILL) if skills))


def has_others(memory: Memory, own: Collection[str]) -> bool:
    """Return whether another session of the host runs on this memory, which may still report a write."""
    return any(
        any(one.kind == OPEN and _is_the_hosts(one) for one in notes) and _is_alive(memory, journal)
        for journal, notes in notes_in(memory.journal_dir).items()
        if journal not in own
    )


def left_over(memory: Memory) -> list[AbandonedJournal]:
    """The journals of dead processes whose events are recovered, and that hold notes for the host alone."""
    found = []
    for journal in abandoned(memory.journal_dir):
        if all(one.kind in (WRITE, SKILL, SAID, ANNOUNCED, DIED, SETTLED) for one in journal.records):
            found.append(journal)
        else:
            journal.release()
    return found


@dataclass(frozen=True, slots=True)
class SkillTurn:
    """A turn in which a skill may have been written, or the call of the skill tool that wrote it.

    `reported` is when that was over. A turn that was not reported yet has no `skill`; `died` says that its process
    is gone.
    """

    begun: float
    origin: Origin
    reported: float = 0.0
    skill: str = ""
    content: str = ""
    died: bool = False


def skill_turns(memory: Memory) -> list[SkillTurn]:
    """The calls of the skill tool in any journal, the newest last, and the turns of the host that are not reported."""
    found: list[SkillTurn] = []
    for journal, notes in notes_in(memory.journal_dir).items():
        alive = any(one.kind == TURN for one in notes) and _is_alive(memory, journal)
        for note in notes:
            if note.kind == SKILL:
                skill, content = (str(note.fields.get(name, "")) for name in ("skill", "content"))
                begun = _moment(note.context.get("begun"))
                found.append(SkillTurn(begun, _written_by(memory, note), _moment(note.at), skill, content))
            elif note.kind in (TURN, DIED) and _is_the_hosts(note):
                known = {**note.context, "session": note.session, "turn": note.fields.get("turn", "")}
                is_dead = note.kind == DIED or not alive
                found.append(SkillTurn(_moment(note.at), _origin(memory, known), died=is_dead))
    return sorted(found, key=lambda one: one.reported)


def _is_the_hosts(note: Record) -> bool:
    return note.context.get("source") == HOST


def _moment(at: object) -> float:
    found = timestamps.parse(at) if isinstance(at, str) else None
    return found.timestamp() if found is not None else 0.0


def _origin(memory: Memory, known: Mapping[str, object]) -> Origin:
    found = {name: str(known.get(name, "")) for name in _ORIGIN}
    return Origin(**{**found, "machine": found["machine"] or memory.config.machine})  # type: ignore[arg-type]


def _written_by(memory: Memory, note: Record) -> Origin:
    return _origin(memory, {name: note.context.get(_BY + name, "") for name in _ORIGIN})


def _is_alive(memory: Memory, journal: str) -> bool:
    """Return whether a process holds a journal: its writer, or one that takes up what a dead one left."""
    with contextlib.suppress(OSError):
        lock = ProcessLock.take(f"{memory.state.folder(JOURNAL)}/{journal}.lock", create=False)
        if lock is not None:
            lock.release()
        return lock is None
    return False


def _report(memory: Memory, journal: str, note: Record, open_turns: Collection[str]) -> Report:
    origin = _written_by(memory, note)
    return Report(
        note.at,
        note.context.get("action", ""),
        note.context.get("target", "memory"),
        str(note.fields.get("content", "")),
        str(note.fields.get("old_text", "")),
        origin,
        journal,
        note.seq,
        origin.turn in open_turns,
    )
