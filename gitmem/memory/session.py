"""The one driver of a session: whatever happens in it is one call."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from gitmem.errors import GitMemError, UnknownRevision, UsageError
from gitmem.memory.capture.buffer import HotMemoryBuffer
from gitmem.memory.capture.recorder import SessionInfo
from gitmem.memory.capture.sessions import Sessions
from gitmem.memory.capture.transcripts import cut, transcripts_of
from gitmem.memory.conversation import Call, Conversation, Turn, clean, messages_in
from gitmem.memory.curated.prompt_block import FrozenBlock, freeze
from gitmem.memory.curated.store import Answer, CuratedStore, Target
from gitmem.memory.exposure import RECALLED, Exposure
from gitmem.memory.gate.admission import redacted
from gitmem.memory.gate.hearing import Hearing
from gitmem.memory.gate.holding import look_again
from gitmem.memory.origin import Origin, Trigger, origin_of
from gitmem.notices import Notice
from gitmem.okf.events import Event

if TYPE_CHECKING:
    from gitmem.index.readers import Reader
    from gitmem.memory.async_session import AsyncSession
    from gitmem.memory.bundle import Bundle
    from gitmem.memory.distill.compression import Compressed, Compressor, Messages
    from gitmem.memory.find.context import Context
    from gitmem.okf.entries import EntryKey

Soon = Callable[[Trigger], object]
_DELEGATION_LIMIT = 4_000


@dataclass(frozen=True, slots=True)
class OpenTurn:
    """A turn that has begun: its id, the user's words, and the number of its note in the journal."""

    id: str
    user: str
    note: int


@dataclass(frozen=True, slots=True)
class _Written:
    """An entry that was written in a turn that goes on."""

    path: str
    text: str
    origin: Origin
    turn: str


class Session:
    """One session of one agent. Whatever happens in it is one call; each is on disk when it returns.

    `with` begins and ends it, or `start` and `end` do. In `async with` both happen in a thread, and what is given back
    has the same verbs as coroutines.
    """

    def __init__(
        self,
        bundle: Bundle,
        session: str | SessionInfo = "",
        *,
        reader: Reader | None = None,
        flush_soon: Soon | None = None,
        **known: str,
    ) -> None:
        """A `SessionInfo` is a host's own session: it has a page when something of it is committed.

        `flush_soon` is asked to commit where a buffer is full; without it the caller waits for that commit. `reader` is
        for whom the answers are, where several users talk to one agent.
        """
        self._bundle = bundle
        self._about = session if isinstance(session, SessionInfo) else None
        self._has_page = self._about is None
        self._named = session if isinstance(session, str) else session.id
        self._known = known
        self._flush_soon = flush_soon
        self._buffer: HotMemoryBuffer | None = None
        self._block: FrozenBlock | None = None
        self._compressor: Compressor | None = None
        self._conversation = Conversation()
        self._once: dict[tuple[str, str], str] = {}
        self._is_dirty = self._is_resumed = False
        self._note = 0
        self._turns: list[OpenTurn] = []
        """Those that have begun and were not reported yet, the oldest first."""
        self._written: list[_Written] = []
        self.reader = reader
        self.secret = os.urandom(16)
        """The key for the tokens of previews: a model cannot guess one."""

    def __repr__(self) -> str:
        return f"<Session {self._named or 'new'}: {'open' if self.is_open else 'not open'}>"

    # Beginning and ending

    def start(self) -> Session:
        """Begin the session, or resume it. Once is enough."""
        if self._about is not None:
            return self
        sessions = self._bundle.part(Sessions)
        self._about = info = sessions.start(self._named, keep_open=False, **self._known)
        self._named, self._known = info.id, {}
        self._open_buffer(info)
        try:
            sessions.snapshot()
        except BaseException:
            self._leave()
            raise
        return self

    def end(self, /, messages: Messages = (), **known: Any) -> None:
        """Flush and close; of `messages` the facts are kept that no compression has seen. Once is enough.

        Where it fails the session stays open, and nothing that was recorded is lost.
        """
        if not self.is_open:
            return
        if messages:
            self._bundle.part(Hearing).messages(self.id, messages)
            self.compressor.finish(messages)
        # A memory that was closed first has flushed the buffer.
        waiting = self._buffer if self._buffer is not None and self._buffer.is_open else None
        self._end_turns(self._turns)
        self._judge_again()
        if self.waits:
            self.resume()
        with contextlib.suppress(*(() if self._has_page else (UnknownRevision,))):  # it left nothing
            self._bundle.part(Sessions).end(self.id, buffer=waiting, **known)
        self.leave()

    def leave(self) -> None:
        """Give the journal back without a word on the session's page."""
        if self._buffer is not None and self._buffer.is_open:
            self._buffer.settle(self._note)
        self._give_back()

    def _leave(self) -> None:
        """End, and give the journal back even where that fails: the next start finds what could not be committed."""
        try:
            self.end()
        finally:
            self._give_back()

    def _give_back(self) -> None:
        buffer, self._buffer, self._block, self._compressor = self._buffer, None, None, None
        self._about = self._about if not self._has_page else None
        if buffer is not None:
            buffer.close()

    def __enter__(self) -> Session:
        return self.start()

    def __exit__(self, *_: object) -> None:
        self._leave()

    async def __aenter__(self) -> AsyncSession:
        # asyncio is for those who use it.
        from gitmem.memory.async_session import AsyncSession

        return await AsyncSession(self).start()

    async def __aexit__(self, *_: object) -> None:
        from gitmem.memory.awaiting import in_thread

        await in_thread(self._leave)

    @property
    def id(self) -> str:
        """Its id; empty until it has begun, where none was given."""
        return self._named

    @property
    def is_open(self) -> bool:
        return self._about is not None

    @property
    def about(self) -> SessionInfo:
        if self._about is None:
            raise UsageError(
                f"The session {self._named!r} is not open: enter it by `with`, or call its start()."
            )
        return self._about

    @property
    def buffer(self) -> HotMemoryBuffer:
        about = self.about
        if self._buffer is None or not (self._has_page or self._buffer.is_open):
            return self._open_buffer(about)
        return self._buffer

    def _open_buffer(self, about: SessionInfo) -> HotMemoryBuffer:
        self._buffer = HotMemoryBuffer(self._bundle, about)
        self._note = self._buffer.note("open", {})
        self._turns = []  # those of an earlier journal are in it, for the next start
        return self._buffer

    @property
    def waits(self) -> int:
        """Return how many events wait for a commit."""
        return len(self._buffer) if self._buffer is not None else 0

    @property
    def is_full(self) -> bool:
        return self._buffer is not None and self._buffer.is_full

    def abandon(self) -> None:
        """Give the journal back as it is: the next start commits what is in it."""
        buffer, self._buffer = self._buffer, None
        if buffer is not None:
            buffer.abandon()

    # What happens

    def happened(self, kind: str, /, **fields: object) -> str:
        """Take in one thing. Gives its event id; empty where the settings keep no such event.

        The session hears it first, also what the settings leave out of the record.
        """
        return self._take(kind, fields)

    def _take(self, kind: str, fields: Mapping[str, object], *, heard: bool = False) -> str:
        # What a decision repeats of its turn is known when the turn is over.
        waits = self.in_turn and kind == "decision"
        event = self.buffer.take(kind, fields, heard=heard, waits=waits)
        self._is_dirty |= kind != RECALLED
        if event and self.buffer.wants_flush:
            trigger: Trigger = "buffer-max" if self.buffer.is_full else "explicit"
            if self._flush_soon is not None:
                self._flush_soon(trigger)
            else:
                self.flush(trigger)
        return event

    def happened_once(self, kind: str, /, **fields: object) -> str:
        """Take in one thing that a model reports; one that it reports again is the event that is there."""
        known = (kind, repr(sorted(fields.items())))
        if known not in self._once:
            self._once[known] = self.happened(kind, **fields)
        return self._once[known]

    def said(self, user: str) -> str:
        """The user spoke: a turn begins. What is remembered of it is the user's own. Gives the id of the turn.

        Should the process die in the turn, the next start records these words.
        """
        turn, said = os.urandom(6).hex(), clean(user)
        self._bundle.part(Hearing).user(self.id, said)
        words = transcripts_of(self._bundle.config).of_the_user(said)
        note = self.buffer.note("turn", {"user": words, "turn": turn})
        self._turns = [*self._turns, OpenTurn(turn, said, note)]
        return turn

    @property
    def in_turn(self) -> bool:
        return bool(self._turns)

    def _reported(self, user: str) -> None:
        """A turn is on record: it and those before it are over.

        A host may report on a thread of its own, when the next turn has begun already. Words that none of the open
        turns has (of a skill a host reports only a part) are those of the oldest.
        """
        said = clean(user)
        found = next((number for number, one in enumerate(self._turns) if one.user == said), 0)
        self._end_turns(self._turns[: found + 1])

    def _end_turns(self, over: Sequence[OpenTurn]) -> None:
        self._turns = [one for one in self._turns if one not in over]
        if over and self._buffer is not None and self._buffer.is_open:
            self._buffer.settle(*(one.note for one in over))
            if not self._turns:
                self._buffer.turn_is_over()

    def returned(self, tool: str, arguments: object, result: str) -> str:
        """A tool returned this: what is remembered of it is known to be from there."""
        return self.happened("tool_call", tool_name=tool, args=arguments, result=result)

    def delegated(self, task: str, result: str, child: str = "") -> str:
        """Another agent returned this."""
        asked, found = clean(task), clean(result)
        self._bundle.part(Hearing).delegated(self.id, child or asked, found)
        asked, found = cut(asked, _DELEGATION_LIMIT), cut(found, _DELEGATION_LIMIT)
        has_words = transcripts_of(self._bundle.config).tools
        content = f"Delegated: {asked}\n\nResult: {found}" if has_words else "A task was delegated."
        known = {"child_session": child} if child else {}
        return self._take("observation", {"content": content, "category": "Delegation", **known}, heard=True)

    def showed(self, entries: Iterable[tuple[str, EntryKey]]) -> None:
        """The model was shown these entries: their names go into the record. A failure is a notice."""
        try:
            if self.is_open and (names := self._bundle.part(Exposure).was_shown(self.id, entries)):
                self.happened(RECALLED, entries=names)
        except (GitMemError, OSError) as error:
            self._bundle.report(Notice("recall-not-noted", detail=str(error)))

    def answered(self, assistant: str, *, user: str = "", messages: Messages = ()) -> list[Turn]:
        """The turn is over: what is new in `messages` is recorded, and given back."""
        copied, user = messages_in(messages), user or (self._turns[-1].user if self._turns else "")
        self._bundle.part(Hearing).messages(self.id, copied)
        turns = self._conversation.fresh(copied, user, assistant)
        for turn in turns:
            self._record_calls(turn.calls)
            if turn.user or turn.answer:
                fields = {"user": turn.user, "assistant": turn.answer}
                self._take("turn", fields, heard=bool(copied))
        self._reported(user)
        return turns

    def called(self, messages: Messages) -> list[Call]:
        """Record, and give back, the tool calls that are new in a turn that goes on."""
        copied = messages_in(messages)
        self._bundle.part(Hearing).messages(self.id, copied)
        calls = self._conversation.calls(copied)
        self._record_calls(calls)
        return calls

    def _record_calls(self, calls: Sequence[Call]) -> None:
        for call in calls:
            fields = {"tool_name": call.name, "args": call.arguments, "result": call.result}
            self._take("tool_call", fields, heard=True)

    def conversation_was_cut(self) -> None:
        """The host took something out of its list: only what follows is new."""
        self._conversation.reset()

    def wrote(self, path: str, text: str, origin: Origin) -> None:
        """An entry was written to a store; what it repeats of its turn is known when the turn is over."""
        if self._turns:
            self._written.append(_Written(path, text, origin, self._turns[-1].id))

    def _judge_again(self) -> None:
        """Judge the entries of turns that are over by all that was heard in them."""
        is_open = {one.id for one in self._turns}
        over = [one for one in self._written if one.turn not in is_open]
        self._written = [one for one in self._written if one.turn in is_open]
        for one in over:
            if held := look_again(self._bundle, one.path, one.text, one.origin):
                self._bundle.report(Notice("entry-held", one.path, held))

    # The verbs of Python

    def remember(
        self,
        text: str,
        *,
        target: Target = "memory",
        machine: bool = False,
        reason: str = "",
        source: str = "",
        derived_from: Iterable[str] = (),
    ) -> Answer:
        """Add an entry to the curated store; it belongs to this session."""
        if derived_from:
            from gitmem.memory.find.entry_names import entry_names

            derived_from = entry_names(self._bundle, derived_from)
        origin = replace(self.origin(reason=reason, source=source), derived_from=tuple(derived_from))
        store = self._bundle.part(CuratedStore)
        answer = store.add(text, target=target, machine=machine, origin=origin)
        if answer.changed:
            here = self._bundle.config.machine if machine else ""
            self.wrote(store.path(target, machine=here), redacted(text), origin)
        return answer

    def record_observation(self, content: str, category: str = "Observation") -> str:
        return self.happened("observation", content=content, category=category)

    def record_decision(self, decision: str, rationale: str = "", tags: str | Iterable[str] = ()) -> str:
        return self.happened("decision", decision=decision, rationale=rationale, tags=tags)

    def record_tool_call(self, tool_name: str, args: object = None, result: str = "") -> str:
        return self.returned(tool_name, args, result)

    def record_turn(self, user: str, assistant: str) -> str:
        """A turn that is over, as it was said."""
        event = self.happened("turn", user=user, assistant=assistant)
        self._reported(user)
        return event

    def origin(self, *, reason: str = "", source: str = "") -> Origin:
        """Return where a change of this session comes from."""
        self._bundle.part(Hearing).listen(self.id)
        base = origin_of(self._bundle.config, self.about)
        return replace(base, reason=redacted(reason), source=redacted(source))

    def flush(self, trigger: Trigger = "explicit", *, everything: bool | None = None) -> list[Event]:
        """Commit what waits; decisions of a turn that goes on wait for its end, unless `everything` is asked for.

        An explicit flush asks for everything.
        """
        everything = trigger == "explicit" if everything is None else everything
        self._judge_again()
        self._is_dirty = False
        if self._buffer is None and not self._has_page:
            return []
        if self.waits:
            self.resume()
        return list(self.buffer.flush(trigger, everything=everything).events)

    def resume(self) -> None:
        """A session that was closed goes on: its page is opened again before its first commit."""
        if self._is_resumed or self._has_page:
            return
        state = self._bundle.part(Sessions).find(self.id)
        if state is not None and state.status == "closed":
            self._bundle.part(Sessions).start(self.id)
        self._is_resumed = True

    def flush_for_search(self) -> None:
        """Commit what a search should find; the names of recalled entries are no reason for a commit."""
        if self._is_dirty:
            self.flush()

    def annotate(self, /, **known: object) -> None:
        """Add what became known of the session: `tokens={"input": 1200, "output": 300}`, a title."""
        self._bundle.part(Sessions).annotate(self.id, known)

    # What the model sees

    def prompt_block(self) -> str:
        """The prompt block, frozen until the session ends or compresses; the session records which it was."""
        if self._block is None:
            self._block = freeze(self._bundle)
            sessions = self._bundle.part(Sessions)
            sessions.note_block(self.about, commit=self._block.commit, digest=self._block.hash)
        return self._block.text

    def context(self, query: str, *, block: str | None = None) -> Context:
        """The entries worth knowing for a turn; what is shown goes into the record."""
        from gitmem.memory.find.context import context

        found = context(self._bundle, query, session=self.id, block=block, reader=self.reader, noted=False)
        self.showed((one.path, one.key) for one in found.shown)
        return found

    @property
    def compressor(self) -> Compressor:
        # Most sessions end without one.
        from gitmem.memory.distill.compression import Compressor

        if self._compressor is None:
            self._compressor = Compressor(self._bundle, self.buffer)
        return self._compressor

    def compress(self, messages: Messages) -> Compressed:
        """Keep the facts of messages that are about to be forgotten, with what waits, as one commit."""
        self._bundle.part(Hearing).messages(self.id, messages)
        done = self.compressor.compress(messages)
        self._block = None
        return done
