"""The hot buffer in front of the archive: events wait in the journal until a flush makes them a commit."""

from __future__ import annotations

import json
import threading
import weakref
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import lru_cache
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from gitmem.errors import GitMemError, UsageError
from gitmem.git.message import Message
from gitmem.git.transaction import Published
from gitmem.memory.capture import recorder
from gitmem.memory.capture.journal import Journal, ThreadLock
from gitmem.memory.capture.journal_format import CONTROL, SETTLED, Record
from gitmem.memory.capture.recorder import HELD, KINDS
from gitmem.memory.capture.session_page import SessionInfo
from gitmem.memory.capture.sessions import Sessions
from gitmem.memory.capture.transcripts import transcripts_of
from gitmem.memory.edits import Edits
from gitmem.memory.exposure import RECALLED, Exposure
from gitmem.memory.gate.admission import EVENT, TALK, TRAILER, Admission, Marking, redacted
from gitmem.memory.gate.evidence import SessionEvidence
from gitmem.memory.origin import Origin, Trigger
from gitmem.memory.retraction import Retracted
from gitmem.notices import Notice
from gitmem.okf.events import Event
from gitmem.safety.verdict import Result, Verdict

if TYPE_CHECKING:
    from gitmem.memory.bundle import Bundle
    from gitmem.okf.entries import EntryKey


_SAID = {"turn": "assistant", "observation": "content"}
"""The field of an event that may repeat what a tool returned."""
_NONE: Mapping[str, str] = MappingProxyType({})


@dataclass(frozen=True, slots=True)
class Flushed:
    """One flush: its events in order, and the commit they are in (None where nothing was new)."""

    events: tuple[Event, ...]
    published: Published | None


class HotMemoryBuffer:
    """Events of one writer, cheap to push, safe from the moment `push` returns.

    `push` appends to a journal on disk and waits for neither git nor a lock. A process that dies before a flush loses
    nothing: the next one finds its journal. Any thread may push; one at a time flushes.
    """

    def __init__(self, bundle: Bundle, session: SessionInfo | str, *, max_items: int | None = None) -> None:
        """`session` is what is known of it, or its id alone."""
        config = bundle.config
        self.pages = bundle.part(Sessions)
        info = self.pages.info(session) if isinstance(session, str) else session
        self._bundle = bundle
        self._session = info
        self._sessions = {info.id: info}
        self._max_items = max_items or config.hot_memory_max
        self.journal = Journal.create(
            bundle.journal_dir,
            clock=bundle.world.clock,
            fsync=config.fsync,
            interval_ms=config.fsync_interval_ms,
        )
        self._flushing = ThreadLock("flush")
        self._count = threading.Lock()
        self._waiting = 0
        self._committed = 0  # the last number that a commit has, also where the journal could not drop it
        self._later: set[int] = set()
        """Events that wait for the end of their turn: what they repeat is known then."""
        self._left: set[int] = set()
        """Those that a flush left in the journal."""
        self._notes: dict[int, Record] = {}
        self.turns: dict[str, str] = {}
        """The turns of this conversation, by the hash of what the user said in them."""
        bundle.add_buffer(self)

    @property
    def session(self) -> SessionInfo:
        return self._session

    @property
    def sessions(self) -> Mapping[str, SessionInfo]:
        """Return what is known of every session that events were pushed in."""
        return self._sessions

    @property
    def writer(self) -> str:
        """The name of this writer's parts, which is the journal's."""
        return self.journal.uuid

    @property
    def is_open(self) -> bool:
        """Return whether it takes events: not closed, and not another process's."""
        return self.journal.is_open

    @property
    def is_full(self) -> bool:
        return self._waiting >= self._max_items

    @property
    def wants_flush(self) -> bool:
        """Return whether what waits should be committed now: it is full, or the hot buffer is switched off."""
        return self.is_full or not self._bundle.config.use_hot_memory

    def __len__(self) -> int:
        """Return how many events wait for a flush."""
        return self._waiting

    def enter(self, session: SessionInfo) -> None:
        """Events pushed from here on belong to another session."""
        self._sessions[session.id] = session
        self._session = session

    def push(self, /, _kind: str = "observation", **fields: Any) -> str:
        """Take in one event, and flush where the buffer is full; gives its id, or nothing where settings leave it out.

        It outlives this process when this returns, and a power cut `fsync_interval_ms` (200) later; with
        `fsync: always` at once.
        """
        event_id = self.take(_kind, fields)
        if event_id and self.wants_flush:
            self.flush("buffer-max" if self.is_full else "explicit")
        return event_id

    def take(
        self,
        kind: str,
        fields: Mapping[str, object],
        session: SessionInfo | None = None,
        *,
        heard: bool = False,
        waits: bool = False,
        turn: str = "",
        call: str = "",
    ) -> str:
        """Take in one event and never flush: for an agent's own thread, where nothing may wait. Gives the event's id.

        The session hears the event, also one that the settings leave out of the record: an entry may come from it.
        `heard` says that it did already, from the conversation that its host handed over. An event that `waits` is
        committed when its turn is over, or by a flush of everything. `turn` is the turn that it belongs to, and `call` the
        host's id of a tool call.
        """
        if kind not in (*KINDS, RECALLED):
            raise UsageError(f"There is no event kind {kind!r}: the kinds are {', '.join(KINDS)}.")
        session = session or self._session
        if not heard:
            self._bundle.part(SessionEvidence).event(session.id, kind, fields)
        config = self._bundle.config
        if (kind == "tool_call" and not config.log_tool_calls) or (
            kind == "decision" and not config.log_decisions
        ):
            return ""
        self._sessions[session.id] = session
        texts = recorder.as_texts(kind, fields)
        at = texts.pop("timestamp", "")

        kept = transcripts_of(config).event(kind, texts)
        clean = {name: redacted(text) for name, text in kept.items()}
        if clean != kept:
            self._bundle.report(Notice("event-redacted", session.id))
        known = {NOTED: self.pages.noted(session.id), "turn": turn, "call": call}
        context = {**_context(session), **{name: text for name, text in known.items() if text}}
        record = self.journal.append(kind, clean, session.id, context, at)
        with self._count:
            self._waiting += 1
            self._later |= {record.seq} if waits else set()
        return record.id(self.journal.uuid)

    def note(
        self,
        kind: str,
        fields: Mapping[str, object],
        *,
        known: Mapping[str, str] = _NONE,
        durable: bool = False,
    ) -> int:
        """Keep something that a later process must know of this one, until it is settled; gives its number."""
        clean = {name: redacted(text) if isinstance(text, str) else text for name, text in fields.items()}
        context = {**_context(self._session), **known}
        record = self.journal.append(CONTROL + kind, clean, self._session.id, context)
        with self._count:
            self._notes[record.seq] = record
        if durable:
            self.journal.settle()
        return record.seq

    def settle(self, *numbers: int) -> None:
        """Mark these notes as done: they go with the next flush."""
        with self._count:
            known = [number for number in numbers if self._notes.pop(number, None) is not None]
        if known:
            self.journal.append(SETTLED, {"notes": known}, self._session.id)

    def notes(self, *kinds: str) -> list[Record]:
        """The notes of these kinds that are not settled; of every kind where none is named."""
        with self._count:
            return [one for one in self._notes.values() if not kinds or one.kind in kinds]

    def turn_is_over(self) -> None:
        """Release what waited for the end of its turn to the next flush."""
        with self._count:
            self._later.clear()

    def flush(self, trigger: Trigger = "explicit", *, everything: bool = True) -> Flushed:
        """Commit everything in order, or all but the events that wait for the end of their turn; a failure keeps it all."""
        with self.drained(everything=everything) as events:
            published = events and commit_events(
                self._bundle,
                events,
                writer=self.writer,
                sessions=self._sessions,
                kind="flush",
                origin=self._session.origin(self._bundle.config).because(trigger),
            )
        return Flushed(tuple(events), published or None)

    @contextmanager
    def drained(self, *, everything: bool = True) -> Iterator[list[Event]]:
        """The events that wait, for a commit inside the block; an error inside keeps them, and says so."""
        with self._flushing:
            found = self.journal.records()
            with self._count:
                left = set() if everything else set(self._later)
            records = [one for one in self._uncommitted(found) if one.seq not in left]
            try:
                yield [as_event(record, self.writer) for record in records]
            except GitMemError as error:
                if records:
                    many = "1 event waits" if len(records) == 1 else f"{len(records)} events wait"
                    error.args = (f"{error} {many} in the journal for the next flush.",)
                raise
            if found:
                self._committed = found[-1].seq
            with self._count:
                self._waiting = max(0, self._waiting - len(records))
                self._left = left
                self._later &= left
                keep = left | self._notes.keys()
            try:
                self.journal.forget(self._committed, keep)
            except GitMemError as error:  # the commit is made, and nothing is stored twice
                self._bundle.report(Notice("journal-kept", self.writer, str(error)))

    def waiting(self) -> list[Event]:
        """The events that wait for a flush, in order."""
        return [as_event(record, self.writer) for record in self._uncommitted(self.journal.records())]

    def _uncommitted(self, records: Sequence[Record]) -> list[Record]:
        return [
            one
            for one in records
            if not one.is_control and (one.seq > self._committed or one.seq in self._left)
        ]

    def abandon(self) -> None:
        """Give the journal back as it is: the next process commits what is in it."""
        self.journal.close()

    def close(self, trigger: Trigger = "shutdown") -> Flushed:
        """Flush and give the journal back; where the flush fails, the next start finds it."""
        try:
            return self.flush(trigger) if self.is_open else Flushed((), None)
        finally:
            self.abandon()


class Recording:
    """Events of writers without a session of their own, each committed at once, in the part files of one journal."""

    def __init__(self, bundle: Bundle) -> None:
        self._bundle = bundle
        self._buffer: HotMemoryBuffer | None = None

    def record(self, kind: str, session: str, fields: Mapping[str, object]) -> str:
        """Commit one event before this returns; gives its id, or nothing where settings leave it out."""
        buffer = self._buffer
        if buffer is None or not buffer.is_open:  # a forked child makes its own
            self._buffer = buffer = HotMemoryBuffer(self._bundle, "")
            weakref.finalize(self, buffer.journal.close)  # not the buffer, which has the bundle, which has us
        event_id = buffer.take(kind, fields, buffer.pages.info(session))
        if event_id:
            buffer.flush("explicit")
        return event_id


def note_recalled(bundle: Bundle, session: str, entries: Iterable[tuple[str, EntryKey]]) -> None:
    """Keep what a session was shown, by path and key, in its journal or by a commit; a failure is a notice."""
    try:
        names = bundle.part(Exposure).was_shown(session, entries)
        if not names or not session:
            return
        for buffer in bundle.open_buffers():
            if buffer.session.id == session:
                buffer.take(RECALLED, {"entries": names})
                return
        if bundle.part(Sessions).find(session) is not None:
            bundle.part(Recording).record(RECALLED, session, {"entries": names})
    except (GitMemError, OSError) as error:
        bundle.report(Notice("recall-not-noted", detail=str(error)))


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
        if not done and not edits:
            return None
        return Message(kind, recorder.summary(done) or "nothing new", {"Events": marker(writer, events)})

    if len(named := {event.session for event in events}) == 1:
        origin = replace(origin, session=named.pop())
    return bundle.commit(work, purpose=kind, origin=origin)


def lay_events(
    bundle: Bundle,
    edits: Edits,
    events: Sequence[Event],
    *,
    writer: str,
    sessions: Mapping[str, SessionInfo],
    origin: Origin,
) -> Counter[str]:
    """Put events into a transaction that may hold more; what the scanner flags goes to quarantine."""

    def admitted(info: SessionInfo) -> SessionInfo:  # a refusal would reach no person
        said = {name: text for name in _SESSION_WORDS if (text := getattr(info, name))}
        return replace(info, **{name: Admission(bundle).note(text, TRAILER) for name, text in said.items()})

    # Again: a journal may be of a time with another setting, or of another program.
    words = transcripts_of(bundle.config)
    kept = [replace(event, fields=words.event(event.kind, event.fields)) for event in events]
    return recorder.record(
        edits,
        _admitted(bundle, kept, origin),
        writer=writer,
        sessions={name: admitted(info) for name, info in sessions.items()},
        retracted=Retracted(edits).has,
    )


def _admitted(bundle: Bundle, events: Sequence[Event], origin: Origin) -> list[Event]:
    """The events; in place of one that the scanner flags, one of the same id that says where its text is."""
    admission = Admission(bundle, origin=origin)
    admitted = list(events)
    flagged: dict[int, Result] = {}
    judged = admission.judge_all([event.entry for event in events], EVENT)
    for number, (event, result) in enumerate(zip(events, judged, strict=True)):
        came = _came(bundle, event, origin)
        policy = TALK if event.kind == "turn" else EVENT
        is_let_in = policy.on_hold == "let in" and result.verdict is Verdict.HOLD
        scanned = Result(Verdict.ALLOW, result.findings) if is_let_in else result
        judged_by = admission.judge_origin(event.text, scanned, session=event.session, turn=event.turn)
        verdict = came.judged(judged_by, len(event.text))
        if verdict.verdict is not Verdict.ALLOW:
            flagged[number] = verdict
        elif came.marks:
            admitted[number] = replace(event, fields={**event.fields, **came.marks})
    if flagged:
        held = admission.hold_all([_held(events[number], result) for number, result in flagged.items()])
        for name, (number, result) in zip(held, flagged.items(), strict=True):
            admitted[number] = replace(
                events[number], kind=HELD, fields={"held": f"{name}: {result.explain()}"}
            )
    return admitted


def _came(bundle: Bundle, event: Event, origin: Origin) -> Marking:
    """Return where an event came from: a decision, which is believed later, or an answer, which a model may read again."""
    admission = Admission(bundle, origin=replace(origin, session=event.session))
    if event.kind == "decision":
        # Without the names of the fields: what begins as an order must be seen to.
        said = "\n".join(filter(None, map(event.fields.get, ("decision", "rationale"))))
        return admission.marking(said, decides=True)
    said = event.fields.get(_SAID.get(event.kind, ""), "")
    return admission.marking(said, may_wait=False) if said else Marking()


def _held(event: Event, result: Result) -> tuple[str, Result, dict[str, str]]:
    where = {"kind": "event", "event": event.id, "session": event.session}
    where |= {"event_kind": event.kind, "at": event.at}
    return json.dumps(dict(event.fields), ensure_ascii=False, indent=1), result, where


def marker(writer: str, events: Sequence[Event]) -> str:
    """Return which events a commit holds, for people who read the log."""
    numbers = [event.id.rpartition("-")[2] for event in events]
    return f"{writer} {numbers[0]}-{numbers[-1]}" if numbers else ""


def as_event(record: Record, writer: str) -> Event:
    """The event that a record stands for; what other programs wrote into a journal becomes text."""
    texts = {name: value if isinstance(value, str) else str(value) for name, value in record.fields.items()}
    turn, call = (str(record.context.get(name, "")) for name in ("turn", "call"))
    return Event(record.id(writer), record.kind, record.at, texts, record.session, turn, call)


_SESSION_WORDS = ("platform", "model", "source", "title")
NOTED = "noted"
"""Where the context of an event has what waits for the page of its session."""
SESSION_CONTEXT = ("started", "parent", "agent", "machine", "user", "chat", "chat_type", *_SESSION_WORDS)


@lru_cache(maxsize=64)  # a push is to cost next to nothing, and most are of one session
def _context(session: SessionInfo) -> Mapping[str, str]:
    """Return what a later process needs to know of the session to commit this event for us."""
    known = {name: value for name in SESSION_CONTEXT if (value := getattr(session, name))}
    return {name: redacted(value) if name in _SESSION_WORDS else value for name, value in known.items()}
