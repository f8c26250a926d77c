"""The hot buffer in front of the archive: events wait in the journal until a flush makes them a commit."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from gitmem.errors import UsageError
from gitmem.git.message import Message
from gitmem.git.transaction import Published
from gitmem.memory import journal, recorder
from gitmem.memory.edits import Edits
from gitmem.memory.journal import AbandonedJournal, Journal, Record
from gitmem.memory.origin import Origin, Trigger
from gitmem.memory.recorder import HELD, KINDS, Recorded, SessionInfo
from gitmem.okf.events import Event

if TYPE_CHECKING:
    from gitmem.memory.bundle import Bundle

Redactor = Callable[[object], object]


@dataclass(frozen=True, slots=True)
class Flushed:
    """One flush: its events in order, and the commit they are in (None where nothing was new)."""

    events: tuple[Event, ...]
    published: Published | None


class HotMemoryBuffer:
    """Events of one writer, cheap to push, safe from the moment `push` returns.

    `push` appends to a journal on disk and waits for neither git nor a lock. `flush` drains
    everything in order as one commit. A process that dies in between loses nothing: the next one
    finds its journal and commits it.
    """

    def __init__(self, bundle: Bundle, session: SessionInfo, *, max_items: int | None = None) -> None:
        config = bundle.config
        self._bundle = bundle
        self._session = session
        self._sessions = {session.id: session}
        self._max_items = max_items or config.hot_memory_max
        self._journal = Journal.create(
            bundle.journal_dir, clock=bundle.clock, fsync=config.fsync, interval_ms=config.fsync_interval_ms
        )
        self._flushing = threading.Lock()
        self._waiting = 0
        self._count = threading.Lock()

    @property
    def session(self) -> SessionInfo:
        return self._session

    def __len__(self) -> int:
        """How many events wait for a flush."""
        return self._waiting

    def enter(self, session: SessionInfo) -> None:
        """Events pushed from here on belong to another session."""
        self._session = session
        self._sessions[session.id] = session

    def push(self, _kind: str = "observation", **fields: Any) -> str:
        """Take in one event; it is on disk when this returns. Gives the event's id.

        Flushes when the buffer is full, or at once where the hot buffer is switched off.
        """
        event_id = self.append(_kind, **fields)
        if not self._bundle.config.use_hot_memory:
            self.flush("explicit")
        elif self._waiting >= self._max_items:
            self.flush("buffer-max")
        return event_id

    def append(self, _kind: str = "observation", **fields: Any) -> str:
        """Take in one event and never flush: for an agent's own thread, where nothing may wait."""
        if _kind not in KINDS:
            raise UsageError(f"There is no event kind {_kind!r}: the kinds are {', '.join(KINDS)}.")
        at = str(fields.pop("timestamp", "") or "")
        texts = recorder.as_texts(_kind, fields)
        redacted = {name: self._bundle.redact(text) for name, text in texts.items()}
        record = self._journal.append(_kind, redacted, self._session.id, _context(self._session), at)
        with self._count:
            self._waiting += 1
        return record.id(self._journal.uuid)

    @property
    def is_full(self) -> bool:
        return self._waiting >= self._max_items

    def flush(self, trigger: Trigger = "explicit", *, origin: Origin | None = None) -> Flushed:
        """Drain everything in order as one commit; what can not be committed stays in the journal."""
        with self._flushing:
            records = self._journal.records()
            if not records:
                return Flushed((), None)
            events = [as_event(record, self._journal.uuid) for record in records]
            published = commit_events(
                self._bundle,
                events,
                writer=self._journal.uuid,
                sessions=self._sessions,
                kind="flush",
                origin=(origin or origin_of(self._bundle, self._session)).because(trigger),
            )
            self.forget(records)
            return Flushed(tuple(events), published)

    def waiting(self) -> list[Event]:
        """The events that a larger transaction may commit; tell `forget` when it has."""
        return [as_event(record, self._journal.uuid) for record in self._journal.records()]

    @property
    def writer(self) -> str:
        return self._journal.uuid

    @property
    def sessions(self) -> Mapping[str, SessionInfo]:
        return self._sessions

    def forget(self, done: Sequence[Record] | Sequence[Event]) -> None:
        """These are committed: the journal may drop them."""
        if done:
            last = done[-1]
            sequence = last.seq if isinstance(last, Record) else int(last.id.rpartition("-")[2])
            self._journal.forget(sequence)
            with self._count:
                self._waiting = max(0, self._waiting - len(done))

    def abandon(self) -> None:
        """Give the journal back as it is: whoever comes next commits what is in it."""
        self._journal.close()

    def close(self, trigger: Trigger = "shutdown") -> Flushed:
        """Flush and give the journal back; where the flush fails, the next start finds it."""
        try:
            return self.flush(trigger)
        finally:
            self._journal.close()


def commit_events(
    bundle: Bundle,
    events: Sequence[Event],
    *,
    writer: str,
    sessions: Mapping[str, SessionInfo],
    kind: str,
    origin: Origin,
) -> Published | None:
    """One commit that holds these events; None where the tree has them all already."""

    def work(edits: Edits) -> Message | None:
        done = lay_events(bundle, edits, events, writer=writer, sessions=sessions, origin=origin)
        if not done.counts and not edits:
            return None
        if origin.trigger != "turn":
            edits.want_log()
        return Message(kind, done.summary() or "nothing new", {"Events": marker(writer, events)})

    return bundle.commit(work, purpose=kind, origin=_of_sessions(origin, events))


def lay_events(
    bundle: Bundle,
    edits: Edits,
    events: Sequence[Event],
    *,
    writer: str,
    sessions: Mapping[str, SessionInfo],
    origin: Origin,
) -> Recorded:
    """Put events into a transaction that may hold more; what the scanner flags goes to quarantine."""
    return recorder.record(
        edits,
        [_admitted(bundle, event, origin) for event in events],
        writer=writer,
        sessions=sessions,
        transcripts=bundle.config.transcripts,
    )


def _admitted(bundle: Bundle, event: Event, origin: Origin) -> Event:
    """The event, or in its place one of the same id that says where its text is held."""
    from gitmem.safety.verdict import Verdict

    result = bundle.gate.judge(event.entry.text, "event")
    if result.verdict is Verdict.ALLOW:
        return event
    where = {
        "kind": "event",
        "event": event.id,
        "session": event.session,
        "event_kind": event.kind,
        "at": event.at,
    }
    held = bundle.quarantine.hold(
        json.dumps(dict(event.fields), ensure_ascii=False, indent=1), result, destination=where, origin=origin
    )
    return Event(event.id, HELD, event.at, {"held": f"{held}: {result.explain()}"}, event.session)


def recover(bundle: Bundle) -> list[str]:
    """Commit what dead processes left in their journals; gives a sentence for each."""
    told: list[str] = []
    left = journal.abandoned(bundle.journal_dir)
    try:
        while left:
            told += _recover_one(bundle, left[0])
            left.pop(0).discard()
    finally:
        for found in left:  # an error came between: whoever starts next tries again
            found.release()
    return told


def _recover_one(bundle: Bundle, found: AbandonedJournal) -> list[str]:
    events = [as_event(record, found.uuid) for record in found.records]
    sessions = {record.session: _session_of(record) for record in reversed(found.records)}
    published = None
    if events:
        origin = bundle.origin(source="journal", reason="a writer ended without a flush")
        published = commit_events(
            bundle, events, writer=found.uuid, sessions=sessions, kind="recover", origin=origin
        )
    told = [f"In a journal that was left behind: {problem}" for problem in found.problems]
    if published:
        told.append(f"Recovered {len(events)} events of a writer that ended without a flush.")
    return told


def marker(writer: str, events: Sequence[Event]) -> str:
    """Which events a commit holds, for people who read the log."""
    numbers = [event.id.rpartition("-")[2] for event in events]
    return f"{writer} {numbers[0]}-{numbers[-1]}" if numbers else ""


def as_event(record: Record, writer: str) -> Event:
    texts = {name: value if isinstance(value, str) else str(value) for name, value in record.fields.items()}
    return Event(record.id(writer), record.kind, record.at, texts, record.session)


def origin_of(bundle: Bundle, session: SessionInfo) -> Origin:
    """The origin of what a session writes."""
    return Origin(
        session=session.id,
        parent_session=session.parent,
        agent=session.agent or bundle.config.agent_id,
        machine=bundle.config.machine,
        platform=session.platform,
        model=session.model,
    )


def _of_sessions(origin: Origin, events: Sequence[Event]) -> Origin:
    """The origin with the session of the events, where they are all of one."""
    sessions = {event.session for event in events}
    return replace(origin, session=sessions.pop()) if len(sessions) == 1 else origin


_CONTEXT = ("started", "parent", "agent", "machine", "platform", "model", "source", "title")


def _context(session: SessionInfo) -> dict[str, str]:
    """What a later process needs to know of the session to commit this event for us."""
    return {name: value for name in _CONTEXT if (value := getattr(session, name))}


def _session_of(record: Record) -> SessionInfo:
    known = {name: value for name, value in record.context.items() if name in _CONTEXT}
    return SessionInfo(record.session, **known)
