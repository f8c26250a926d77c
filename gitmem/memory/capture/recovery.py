"""Recovery: what dead processes left in their journals becomes commits."""

from __future__ import annotations

import os
from dataclasses import replace
from typing import TYPE_CHECKING

from gitmem.memory.capture.abandoned import AbandonedJournal, abandoned
from gitmem.memory.capture.buffer import SESSION_CONTEXT, as_event, commit_events
from gitmem.memory.capture.journal_format import Record
from gitmem.memory.capture.recorder import SessionInfo
from gitmem.memory.gate.admission import redacted
from gitmem.notices import Notice
from gitmem.okf.events import Event

if TYPE_CHECKING:
    from gitmem.memory.bundle import Bundle


def has_journals(bundle: Bundle) -> bool:
    """Whether there is anything to look at. Buys "`gitmem log -n 20`": most often there is not."""
    try:
        return bool(os.listdir(bundle.journal_dir))
    except FileNotFoundError:
        return False


def recover(bundle: Bundle) -> list[Notice]:
    """Commit what dead processes left in their journals; gives, and reports, a notice for each."""
    found: list[Notice] = []
    left = abandoned(bundle.journal_dir)
    try:
        while left:
            found += _recover_one(bundle, left[0])
            left.pop(0).discard()
    finally:
        for waiting in left:  # an error came between: whoever starts next tries again
            waiting.release()
    for notice in found:
        bundle.report(notice)
    return found


def _recover_one(bundle: Bundle, found: AbandonedJournal) -> list[Notice]:
    # What other programs wrote into a journal nobody has redacted yet.
    events = [_redacted(as_event(record, found.uuid)) for record in found.records]
    # The oldest record of a session says when it began.
    first = {record.session: record for record in reversed(found.records)}
    sessions = {session: _session_of(record) for session, record in first.items()}
    published = None
    if events:
        origin = bundle.origin(source="journal", reason="a writer ended without a flush")
        agents = {info.agent for info in sessions.values()}
        if len(agents) == 1:  # the writer's own, not that of whoever recovers
            origin = replace(origin, agent=agents.pop() or origin.agent)
        published = commit_events(
            bundle, events, writer=found.uuid, sessions=sessions, kind="recover", origin=origin
        )
    notices = [Notice("journal-damaged", found.uuid, problem) for problem in found.problems]
    if published:
        many = "1 event" if len(events) == 1 else f"{len(events)} events"
        notices.append(Notice("events-recovered", found.uuid, many))
    return notices


def _redacted(event: Event) -> Event:
    return replace(event, fields={name: redacted(text) for name, text in event.fields.items()})


def _session_of(record: Record) -> SessionInfo:
    known = {name: value for name, value in record.context.items() if name in SESSION_CONTEXT}
    return SessionInfo(record.session, **known)
