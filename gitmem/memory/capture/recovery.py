"""Recovery: what dead processes left in their journals becomes commits."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from gitmem.errors import GitMemError, UnknownRevision
from gitmem.memory.capture import journal_format
from gitmem.memory.capture.abandoned import AbandonedJournal, abandoned, journals_in
from gitmem.memory.capture.buffer import NOTED, SESSION_CONTEXT, as_event, commit_events
from gitmem.memory.capture.journal_format import Record
from gitmem.memory.capture.recorder import SessionInfo
from gitmem.memory.capture.sessions import Sessions
from gitmem.memory.gate.admission import redacted
from gitmem.memory.gate.hearing import Hearing
from gitmem.notices import Notice
from gitmem.okf.events import Event

if TYPE_CHECKING:
    from gitmem.memory.bundle import Bundle


OPEN = "_open"
"""A session of this process that has not ended."""
TURN = "_turn"
"""A turn that has begun: should the process die in it, the user's words are not lost."""


def has_journals(bundle: Bundle) -> bool:
    """Return whether there is anything to look at. Buys "`gitmem log -n 20`": most often there is not."""
    try:
        return bool(os.listdir(bundle.journal_dir))
    except FileNotFoundError:
        return False


def recover(bundle: Bundle) -> list[Notice]:
    """Commit what dead processes left in their journals; gives, and reports, a notice for each."""
    found: list[Notice] = []
    died: dict[str, str] = {}
    left = abandoned(bundle.journal_dir)
    try:
        while left:
            found += _recover_one(bundle, left[0])
            died |= {one.session: left[0].records[-1].at for one in _unsettled(left[0], OPEN)}
            left.pop(0).discard()
    finally:
        for waiting in left:  # an error came between: whoever starts next tries again
            waiting.release()
    _close(bundle, died)
    for notice in found:
        bundle.report(notice)
    return found


def _close(bundle: Bundle, died: Mapping[str, str]) -> None:
    """Close the sessions of dead processes, as of their last record; one that goes on elsewhere stays open."""
    alive = {one.session for one in notes_in(bundle.journal_dir) if one.kind == OPEN} if died else set()
    for session, at in died.items():
        if session not in alive:
            with contextlib.suppress(UnknownRevision):  # it left nothing
                bundle.part(Sessions).end(session, trigger="shutdown", ended=at)


def notes_in(directory: str) -> list[Record]:
    """The unsettled control records of every journal, also of those that their writers hold."""
    found: list[Record] = []
    for uuid in journals_in(directory):
        with contextlib.suppress(OSError), open(os.path.join(directory, f"{uuid}.jsonl"), "rb") as file:
            found += journal_format.unsettled(journal_format.parse(file, uuid).records)
    return found


def _unsettled(journal: AbandonedJournal, kind: str) -> list[Record]:
    return [one for one in journal_format.unsettled(journal.records) if one.kind == kind]


def _recover_one(bundle: Bundle, found: AbandonedJournal) -> list[Notice]:
    # What other programs wrote into a journal nobody has redacted yet.
    events = [_redacted(as_event(one, found.uuid)) for one in found.records if not one.is_control]
    cut_short = _cut_short(bundle, found, events)
    events += cut_short
    # The oldest record of a session says when it began.
    first = {record.session: record for record in reversed(found.records)}
    sessions = {session: _session_of(record) for session, record in first.items()}
    published = None
    for session, record in {one.session: one for one in found.records if not one.is_control}.items():
        if noted := record.context.get(NOTED):
            bundle.part(Sessions).note_again(sessions[session], noted)
    if events:
        origin = bundle.origin(source="journal", reason="a writer ended without a flush")
        agents = {info.agent for info in sessions.values()}
        if len(agents) == 1:  # the writer's own, not that of whoever recovers
            origin = replace(origin, agent=agents.pop() or origin.agent)
        published = commit_events(
            bundle, events, writer=found.uuid, sessions=sessions, kind="recover", origin=origin
        )
    for event in cut_short:
        bundle.part(Hearing).cut_short(event.session, event.fields.get("user", ""))
    notices = [Notice("journal-damaged", found.uuid, problem) for problem in found.problems]
    notices += [Notice("turn-cut-short", event.session) for event in cut_short]
    if published:
        many = "1 event" if len(events) == 1 else f"{len(events)} events"
        notices.append(Notice("events-recovered", found.uuid, many))
    return notices


def _cut_short(bundle: Bundle, found: AbandonedJournal, events: Sequence[Event]) -> list[Event]:
    """The turns in which a process died, as events; one that was reported late is on record already."""
    cut_short: list[Event] = []
    told: dict[str, list[Event]] = {}
    for turn in _unsettled(found, TURN):
        user = str(turn.fields.get("user") or "")
        if not user:
            continue
        known = told.setdefault(
            turn.session, [*_turns(events, turn.session), *_recorded(bundle, turn.session)]
        )
        late = next((one for one in known if one.fields.get("user") == user and one.at >= turn.at), None)
        if late is not None:
            known.remove(late)
            continue
        fields = {"user": user, "note": "The process ended in the middle of this turn."}
        cut_short.append(_redacted(Event(turn.id(found.uuid), "turn", turn.at, fields, turn.session)))
    return cut_short


def _recorded(bundle: Bundle, session: str) -> list[Event]:
    try:
        return _turns(bundle.part(Sessions).events(session), session)
    except GitMemError:  # there is no such session yet, or it cannot be read: better twice than never
        return []


def _turns(events: Sequence[Event], session: str) -> list[Event]:
    return [one for one in events if one.kind == "turn" and one.session in ("", session)]


def _redacted(event: Event) -> Event:
    return replace(event, fields={name: redacted(text) for name, text in event.fields.items()})


def _session_of(record: Record) -> SessionInfo:
    known = {name: value for name, value in record.context.items() if name in SESSION_CONTEXT}
    return SessionInfo(record.session, **known)
