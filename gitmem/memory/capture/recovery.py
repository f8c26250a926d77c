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
from gitmem.memory.capture.session_page import SessionInfo
from gitmem.memory.capture.sessions import Sessions
from gitmem.memory.gate.admission import redacted
from gitmem.memory.gate.evidence import SessionEvidence
from gitmem.notices import Notice
from gitmem.okf.events import Event
from gitmem.state import HOST_LINK

if TYPE_CHECKING:
    from gitmem.memory.bundle import Bundle


OPEN = "_open"
"""A session of this process that has not ended."""
TURN = "_turn"
"""A turn that has begun: should the process die in it, the user's words are not lost."""
DIED = "_died"
"""A turn in which a process of the host died: its words are on record."""
HOST = "hermes"
"""The source of sessions whose host keeps files of its own."""


def recover(bundle: Bundle) -> list[Notice]:
    """Commit what dead processes left in their journals; gives, and reports, a notice for each."""
    found: list[Notice] = []
    died: dict[str, str] = {}
    left = abandoned(bundle.journal_dir)
    reported = _ReportedTurns(bundle, left)
    try:
        while left:
            found += _recover_one(bundle, left[0], reported)
            died |= {one.session: left[0].records[-1].at for one in _unsettled(left[0], OPEN)}
            notes = _for_the_host(bundle, left[0])
            left.pop(0).discard(notes)
    finally:
        for waiting in left:  # an error came between: the next start tries again
            waiting.release()
    _close(bundle, died)
    for notice in found:
        bundle.report(notice)
    return found


def _close(bundle: Bundle, died: Mapping[str, str]) -> None:
    """Close the sessions of dead processes, as of their last record; one that goes on elsewhere stays open."""
    notes = notes_in(bundle.journal_dir).values() if died else ()
    alive = {one.session for found in notes for one in found if one.kind == OPEN}
    for session, at in died.items():
        if session not in alive:
            with contextlib.suppress(UnknownRevision):  # it left nothing
                bundle.part(Sessions).end(session, trigger="shutdown", ended=at)


def notes_in(directory: str) -> dict[str, list[Record]]:
    """The unsettled control records of every journal, also of those that their writers hold."""
    found: dict[str, list[Record]] = {}
    for uuid in journals_in(directory):
        with contextlib.suppress(OSError), open(os.path.join(directory, f"{uuid}.jsonl"), "rb") as file:
            found[uuid] = journal_format.unsettled(journal_format.parse(file, uuid).records)
    return found


def _for_the_host(bundle: Bundle, journal: AbandonedJournal) -> list[Record]:
    """The notes that the next session of a connected host needs: who wrote its files, what is to be distilled."""
    if not bundle.state.has(HOST_LINK):
        return []
    notes = journal_format.unsettled(journal.records)
    hosts = [one for one in notes if one.kind != OPEN and one.context.get("source") == HOST]
    return [replace(one, kind=DIED) if one.kind == TURN else one for one in hosts]


def _unsettled(journal: AbandonedJournal, kind: str) -> list[Record]:
    return [one for one in journal_format.unsettled(journal.records) if one.kind == kind]


def _recover_one(bundle: Bundle, found: AbandonedJournal, reported: _ReportedTurns) -> list[Notice]:
    events = _events_in(found)
    cut_short = _cut_short(found, reported)
    events += cut_short
    # The oldest record of a session says when it began.
    first = {record.session: record for record in reversed(found.records)}
    sessions = {
        session: SessionInfo(session, **{n: v for n, v in record.context.items() if n in SESSION_CONTEXT})
        for session, record in first.items()
    }
    published = None
    for session, record in {one.session: one for one in found.records if not one.is_control}.items():
        if noted := record.context.get(NOTED):
            bundle.part(Sessions).note_again(sessions[session], noted)
    if events:
        origin = bundle.origin(source="journal", reason="a writer ended without a flush")
        agents = {info.agent for info in sessions.values()}
        if len(agents) == 1:  # the writer's own, not that of the process that recovers
            origin = replace(origin, agent=agents.pop() or origin.agent)
        published = commit_events(
            bundle, events, writer=found.uuid, sessions=sessions, kind="recover", origin=origin
        )
    for event in cut_short:
        bundle.part(SessionEvidence).cut_short(event.session, event.fields.get("user", ""))
    notices = [Notice("journal-damaged", found.uuid, problem) for problem in found.problems]
    notices += [Notice("turn-cut-short", event.session) for event in cut_short]
    if published:
        many = "1 event" if len(events) == 1 else f"{len(events)} events"
        notices.append(Notice("events-recovered", found.uuid, many))
    return notices


def _events_in(journal: AbandonedJournal) -> list[Event]:
    # What other programs wrote into a journal is not redacted yet.
    return [_redacted(as_event(one, journal.uuid)) for one in journal.records if not one.is_control]


class _ReportedTurns:
    """Turns of sessions that are on record, or in any of these journals: a host may report one late, in another journal."""

    def __init__(self, bundle: Bundle, left: Sequence[AbandonedJournal]) -> None:
        self._bundle = bundle
        self._journaled = [event for one in left for event in _events_in(one) if event.kind == "turn"]
        self._known: dict[str, list[Event]] = {}

    def take(self, turn: Record, user: str) -> bool:
        """Say whether this turn was reported since it began; each report answers for one turn."""
        if turn.session not in self._known:
            journaled = [one for one in self._journaled if one.session in ("", turn.session)]
            every = [*journaled, *self._recorded(turn.session)]
            # In their order: the first report answers for the first turn.
            found = {one.id: one for one in every}
            self._known[turn.session] = sorted(found.values(), key=lambda one: one.at)
        known = self._known[turn.session]
        late = next((one for one in known if one.fields.get("user") == user and one.at >= turn.at), None)
        if late is not None:
            known.remove(late)
        return late is not None

    def _recorded(self, session: str) -> list[Event]:
        try:
            return [one for one in self._bundle.part(Sessions).events(session) if one.kind == "turn"]
        except GitMemError:  # there is no such session yet, or it cannot be read: better twice than never
            return []


def _cut_short(found: AbandonedJournal, reported: _ReportedTurns) -> list[Event]:
    """Make an event of each turn in which a process died, unless it was reported."""
    cut_short: list[Event] = []
    for turn in _unsettled(found, TURN):
        user = str(turn.fields.get("user") or "")
        if user and not reported.take(turn, user):
            fields = {"user": user, "note": "The process ended in the middle of this turn."}
            began = str(turn.fields.get("turn") or "")
            event = Event(turn.id(found.uuid), "turn", turn.at, fields, turn.session, turn=began)
            cut_short.append(_redacted(event))
    return cut_short


def _redacted(event: Event) -> Event:
    return replace(event, fields={name: redacted(text) for name, text in event.fields.items()})
