"""Recovery: journals of dead writers, found by their free locks, become commits."""

from __future__ import annotations

import contextlib
import errno
import os
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING

from gitmem.errors import BundleUnusable, GitMemError, UnknownRevision
from gitmem.files import READ, write_new
from gitmem.locks import ProcessLock
from gitmem.memory.capture import journal_format
from gitmem.memory.capture.buffer import NOTED, SESSION_CONTEXT, as_event, commit_events
from gitmem.memory.capture.journal_format import Record, is_control
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
_NAME = re.compile(r"([0-9a-f]{32})\.(jsonl|lock)", re.ASCII)
DAMAGED = ".damaged"
"""The ending of a journal that was recovered as far as it could be read."""


@dataclass(frozen=True)
class AbandonedJournal:
    """A journal that no other process holds: ours until `discard` or `release`.

    `problems` are sentences about what could not be read. `uuid` is what its head says: a file may be a copy.
    """

    uuid: str
    records: list[Record]
    problems: list[str]
    _lock: ProcessLock | None = field(default=None, repr=False)
    _path: str = field(default="", repr=False)
    _kept: str = field(default="", repr=False)
    """Where the file goes instead of nowhere: some of its lines could not be read."""

    @cached_property
    def notes(self) -> list[Record]:
        """The control records that still count."""
        return journal_format.unsettled(self.records)

    def discard(self, keep: Sequence[Record] = ()) -> None:
        """Remove it: its records are committed, but for those to keep for a later process.

        One with damaged lines is kept aside, as it is. One that could not be read at all stays.
        """
        aside = _aside(self._path)
        try:
            if self._lock is None or not self._lock.held:
                return
            if keep and keep == self.records and not self._kept:
                return
            if keep:
                lines = [journal_format.header(self.uuid), *map(journal_format.event_line, keep)]
                write_new(aside, b"".join(lines))
            if self._kept:
                os.replace(self._path, self._kept)
            if keep:
                os.replace(aside, self._path)
            else:
                self._lock.remove(aside, self._path)
        except OSError as error:
            raise BundleUnusable(
                f"The recovered journal {self._path} cannot be settled ({error.strerror or error}): repair "
                "that; until then it is read at every start, and none of its events is stored twice."
            ) from error
        finally:
            self.release()

    def release(self) -> None:
        """Leave it for another time."""
        if self._lock is not None:
            self._lock.release()


def abandoned(directory: str) -> list[AbandonedJournal]:
    """The journals with free locks, each now held by us, the one with the oldest event first.

    Files without an event are cleared away; journals that another process holds and other files are left alone.
    """
    names = _names(directory)
    found: list[AbandonedJournal] = []
    for uuid in sorted(names):
        path = os.path.join(directory, f"{uuid}.jsonl")
        lock: ProcessLock | None = None
        try:
            lock = ProcessLock.take(os.path.join(directory, f"{uuid}.lock"), create="jsonl" in names[uuid])
            if lock is None:
                continue
            if not os.path.lexists(path):  # a stray lock, or another process was faster
                lock.remove()
                continue
            journal = _opened(path, uuid, lock)
        except OSError as error:
            if lock is not None:
                lock.release()
            if error.errno != errno.ENOENT:
                problem = f"The journal {path} cannot be taken up ({error.strerror or error}): it waits."
                found.append(AbandonedJournal(uuid, [], [problem]))
            continue
        if journal is not None:
            found.append(journal)
    return sorted(found, key=lambda journal: (journal.records[0].at if journal.records else "", journal.uuid))


def _opened(path: str, uuid: str, lock: ProcessLock) -> AbandonedJournal | None:
    with open(os.open(path, READ), "rb") as file:
        contents = journal_format.parse(file, uuid)
    if contents.newer:
        lock.release()
        sentence = f"The journal {path} was written by a newer gitmem: it waits for that one."
        return AbandonedJournal(contents.uuid, [], [sentence])
    told = contents.problems()
    if not contents.records and not told:
        lock.remove(_aside(path), path)
        return None
    kept = _free_name(path.removesuffix(".jsonl")) if contents.damaged else ""
    end = f"; recovery keeps the file as {kept}." if kept else "."
    problems = [f"Journal {contents.uuid}: {problem}{end}" for problem in told]
    return AbandonedJournal(contents.uuid, contents.records, problems, lock, path, kept)


def pending_count(directory: str) -> int:
    """Return how many events wait in all journals, live ones too: their lines, counted without a lock."""
    total = 0
    for uuid in journals_in(directory):
        with contextlib.suppress(OSError), open(os.path.join(directory, f"{uuid}.jsonl"), "rb") as file:
            lines = sum(line.endswith(b"\n") and not is_control(line) for line in file)
            total += max(0, lines - 1)
    return total


def journals_in(directory: str) -> list[str]:
    """The names of the journals there, held or not."""
    return sorted(uuid for uuid, endings in _names(directory).items() if "jsonl" in endings)


def damaged(directory: str) -> list[str]:
    """Files of journals that were recovered but for some lines, and wait for a person."""
    try:
        return sorted(
            os.path.join(directory, name) for name in os.listdir(directory) if name.endswith(DAMAGED)
        )
    except OSError:
        return []


def _names(directory: str) -> dict[str, set[str]]:
    """The endings of our files by uuid."""
    names: dict[str, set[str]] = {}
    try:
        with os.scandir(directory) as entries:
            for entry in entries:
                match = _NAME.fullmatch(entry.name)
                if match is not None and entry.is_file(follow_symlinks=False):
                    names.setdefault(match.group(1), set()).add(match.group(2))
    except (FileNotFoundError, NotADirectoryError):
        pass
    except OSError as error:
        raise BundleUnusable(
            f"The journals in {directory} cannot be looked at ({error.strerror or error})."
        ) from error
    return names


def _aside(path: str) -> str:
    """Return what a writer that died while it forgot events may have left beside its journal."""
    return path.removesuffix(".jsonl") + ".new"


def _free_name(stem: str) -> str:
    """A free name; no other process looks for one while we hold the journal's lock."""
    name, number = stem + DAMAGED, 1
    while os.path.lexists(name):
        number += 1
        name = f"{stem}.{number}{DAMAGED}"
    return name


# --- what they hold, committed ---------------------------------------------------------------------------


def recover(bundle: Bundle) -> list[Notice]:
    """Commit what dead processes left in their journals; gives, and reports, a notice for each."""
    found: list[Notice] = []
    died: dict[str, str] = {}
    left = abandoned(bundle.journal_dir)
    reported = _ReportedTurns(bundle, left)
    try:
        while left:
            found += _recover_one(bundle, left[0], reported)
            died |= {one.session: left[0].records[-1].at for one in left[0].notes if one.kind == OPEN}
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
    hosts = [one for one in journal.notes if one.kind != OPEN and one.context.get("source") == HOST]
    return [replace(one, kind=DIED) if one.kind == TURN else one for one in hosts]


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
    for turn in (one for one in found.notes if one.kind == TURN):
        user = str(turn.fields.get("user") or "")
        if user and not reported.take(turn, user):
            fields = {"user": user, "note": "The process ended in the middle of this turn."}
            began = str(turn.fields.get("turn") or "")
            event = Event(turn.id(found.uuid), "turn", turn.at, fields, turn.session, turn=began)
            cut_short.append(_redacted(event))
    return cut_short


def _redacted(event: Event) -> Event:
    return replace(event, fields={name: redacted(text) for name, text in event.fields.items()})
