"""Writers of the host's files: its reports are notes in the journals of the sessions.

Every process that compares the files reads the notes of all journals: an entry belongs to the session that wrote it,
not to the one that saw it.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Collection, Mapping
from dataclasses import fields, replace
from typing import TYPE_CHECKING

from gitmem.locks import ProcessLock
from gitmem.memory.capture.journal_format import SETTLED, Record
from gitmem.memory.capture.recovery import DIED, HOST, OPEN, TURN, AbandonedJournal, abandoned, notes_in
from gitmem.memory.mirror.changes import Report
from gitmem.memory.origin import Origin
from gitmem.memory.pending_facts import ANNOUNCED, SAID
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
    """The writes, skill calls and unreported turns of the host in every journal, of living and of dead processes.

    In the journals `over` no turn is open any more.
    """
    found: list[Report] = []
    for journal, notes in notes_in(memory.journal_dir).items():
        mine = [one for one in notes if one.kind in (WRITE, SKILL) or _is_turn(one)]
        alive = bool(mine) and journal not in over and _is_alive(memory, journal)
        turns = {str(one.fields.get("turn")) for one in mine if alive and one.kind == TURN}
        found += [_report(memory, journal, one, turns) for one in mine]
    return sorted(found, key=lambda one: one.at)


def settle(session: Session, used: Callable[[str, str], int], *, skills: bool) -> None:
    """Drop the notes that a comparison has used: writes up to a number for each file, and calls of the skill tool."""
    buffer = session.buffer
    writes = buffer.notes(WRITE)
    over = [one.seq for one in writes if one.seq <= used(one.context.get("target", ""), buffer.writer)]
    buffer.settle(*over, *(one.seq for one in buffer.notes(SKILL) if skills))


def has_others(memory: Memory, own: Collection[str]) -> bool:
    """Return whether another session of the host runs on this memory, which may still report a write."""
    return any(
        any(one.kind == OPEN and one.context.get("source") == HOST for one in notes)
        and _is_alive(memory, journal)
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


def _is_turn(note: Record) -> bool:
    return note.kind in (TURN, DIED) and note.context.get("source") == HOST


def _is_alive(memory: Memory, journal: str) -> bool:
    """Return whether a process holds a journal: its writer, or one that takes up what a dead one left."""
    with contextlib.suppress(OSError):
        lock = ProcessLock.take(f"{memory.state.folder(JOURNAL)}/{journal}.lock", create=False)
        if lock is not None:
            lock.release()
        return lock is None
    return False


def _report(memory: Memory, journal: str, note: Record, open_turns: Collection[str]) -> Report:
    words = {name: str(value) for name, value in note.fields.items()}
    known = {name: note.context.get(_BY + name, "") for name in _ORIGIN}
    action, target = note.context.get("action", ""), note.context.get("target", "memory")
    if note.kind == SKILL:
        action, target = "skill", f"skills/{words.get('skill', '')}"
    elif _is_turn(note):
        action, target = "turn", ""
        known = {**note.context, "session": note.session, "turn": words.get("turn", "")}
    found = {name: known.get(name, "") for name in _ORIGIN}
    origin = Origin(**{**found, "machine": found["machine"] or memory.config.machine})  # type: ignore[arg-type]
    return Report(
        note.at,
        action,
        target,
        words.get("content", ""),
        words.get("old_text", ""),
        origin,
        journal,
        note.seq,
        origin.turn in open_turns,
        note.context.get("begun", note.at),
    )
