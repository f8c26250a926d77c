"""The one driver of a session: whatever happens in it is one call."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import TYPE_CHECKING, Any, Unpack

from gitmem.errors import GitMemError, UnknownRevision, UsageError
from gitmem.index.records import UNDONE
from gitmem.memory.capture.buffer import HotMemoryBuffer
from gitmem.memory.capture.session_page import SessionInfo, SessionOptions, find_page
from gitmem.memory.capture.sessions import Sessions
from gitmem.memory.capture.transcripts import transcripts_of
from gitmem.memory.conversation import Call, Conversation, Turn, clean, clean_text, messages_in
from gitmem.memory.curated.prompt_block import FrozenBlock, freeze
from gitmem.memory.curated.store import Answer, CuratedStore, Target
from gitmem.memory.exposure import RECALLED, Exposure
from gitmem.memory.find.entry_names import entry_names
from gitmem.memory.gate.admission import redacted
from gitmem.memory.gate.evidence import SessionEvidence
from gitmem.memory.gate.holding import look_again
from gitmem.memory.origin import Origin, Trigger
from gitmem.notices import Notice
from gitmem.okf.entries import entry_hash
from gitmem.okf.events import Event
from gitmem.okf.plain import cut
from gitmem.safety.channels import cover

if TYPE_CHECKING:
    from gitmem.index.readers import Reader
    from gitmem.memory.aio import AsyncSession
    from gitmem.memory.bundle import Bundle
    from gitmem.memory.distill.compression import Compressed, Compressor, Messages
    from gitmem.memory.find.context import Context
    from gitmem.memory.pending_facts import PendingFacts
    from gitmem.okf.entries import EntryKey

Soon = Callable[[Trigger], object]
_DELEGATION_LIMIT = 4_000
_MOST_OF_IT = 0.5


@dataclass(frozen=True, slots=True)
class OpenTurn:
    """A turn that has begun: its id, the user's words, the number of its note in the journal, and when."""

    id: str
    user: str
    note: int
    begun: str


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
        by_rules: bool = False,
        **known: Unpack[SessionOptions],
    ) -> None:
        """A `SessionInfo` is a host's own session: it has a page when something of it is committed.

        `flush_soon` is asked to commit where a buffer is full; without it the caller waits for that commit. `reader` is
        for whom the answers are, where several users talk to one agent. With `by_rules` no model is asked for facts.
        """
        self._bundle = bundle
        self._about = session if isinstance(session, SessionInfo) else None
        self._has_page = self._about is None
        self.id = session if isinstance(session, str) else session.id
        """Empty until it has begun, where none was given."""
        if reader is not None:  # the reader is who talks, unless the host says more
            known = {**asdict(reader), **known}  # type: ignore[typeddict-item]
        self._known = known
        self._flush_soon = flush_soon
        self._buffer: HotMemoryBuffer | None = None
        self._block: FrozenBlock | None = None
        self._prompt = ""
        """The commit of a host's own prompt, until it is on the session's page."""
        self._compressor: Compressor | None = None
        self._facts: PendingFacts | None = None
        self._by_rules = by_rules
        self._conversation = Conversation()
        self._once: dict[tuple[str, str], str] = {}
        self._is_dirty = self._is_resumed = False
        self._note = 0
        self.turns: list[OpenTurn] = []
        """The turns that have begun and were not reported yet, the oldest first."""
        self._recorded: list[tuple[str, str]] = []
        """The turns on record, the oldest first, each with the hash of what the user said."""
        self._is_rewound = False
        """Whether the host took back turns since it last handed over its list."""
        self._unannounced = ""
        """The turn that began without a word of the user, by a write or an event; it is over when one is recorded."""
        self._last = "", ""
        """The turn that was recorded last, and what was said in it."""
        self._written: list[tuple[str, str, Origin]] = []
        """The entries written in turns that go on: path, text, origin."""
        self.reader = reader
        self.secret = os.urandom(16)
        """The key for the tokens of previews: a model cannot guess one."""

    def __repr__(self) -> str:
        return f"<Session {self.id or 'new'}: {'open' if self.is_open else 'not open'}>"

    # Beginning and ending

    def start(self) -> Session:
        """Begin the session, or resume it. Once is enough."""
        if self._about is not None:
            return self
        sessions = self._bundle.part(Sessions)
        self._about = info = sessions.start(self.id, keep_open=False, **self._known)
        self.id, self._known = info.id, {}
        self._open_buffer(info)
        try:
            sessions.snapshot()
        except BaseException:
            self._leave()
            raise
        return self

    def end(self, /, messages: Messages = (), **known: Any) -> None:
        """Flush and close, with the facts of `messages` that no compression has seen; a failure leaves it open."""
        if not self.is_open:
            return
        if messages:
            self._bundle.part(SessionEvidence).messages(self.id, messages)
            self.compressor.finish(messages)
        if not (self._has_page or self.waits or self.turns or find_page(self._bundle.tree(), self.id)):
            self._bundle.part(Sessions).drop_notes(self.id)  # it left nothing
            self.leave()
            return
        # A memory that was closed first has flushed the buffer.
        waiting = self._buffer if self._buffer is not None and self._buffer.is_open else None
        # A host may report its last turn after the end. Where it does not, the next start records what the user said.
        unreported = [] if self._has_page else [one for one in self.turns if one.user]
        self._end_turns([one for one in self.turns if one not in unreported])
        self._judge_again()
        if self.waits:
            self.resume()
        with contextlib.suppress(*(() if self._has_page else (UnknownRevision,))):  # it left nothing
            self._bundle.part(Sessions).end(self.id, buffer=waiting, **known)
        if unreported:
            self.abandon()
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
        from gitmem.memory.aio import AsyncSession

        return await AsyncSession(self).start()

    async def __aexit__(self, *_: object) -> None:
        from gitmem.memory.aio import in_thread

        await in_thread(self._leave)

    @property
    def is_open(self) -> bool:
        return self._about is not None

    @property
    def about(self) -> SessionInfo:
        if self._about is None:
            raise UsageError(f"The session {self.id!r} is not open: enter it by `with`, or call its start().")
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
        self._compressor = None
        self.turns = []  # those of an earlier journal are in it, for the next start
        return self._buffer

    @property
    def waits(self) -> int:
        """Return how many events wait for a commit."""
        return len(self._buffer) if self._buffer is not None else 0

    @property
    def is_full(self) -> bool:
        return self._buffer is not None and self._buffer.is_full

    @property
    def is_idle(self) -> bool:
        """Return whether the journal has nothing that is still to be done."""
        return self._buffer is None or not (len(self._buffer) or self._buffer.notes()[1:])

    def abandon(self) -> None:
        """Give the journal back as it is: the next start commits what is in it."""
        buffer, self._buffer = self._buffer, None
        if buffer is not None:
            buffer.abandon()

    # What happens

    def happened(self, kind: str, /, **fields: object) -> str:
        """Take in one thing, which the session hears; gives its event id, or nothing where settings leave it out."""
        return self._take(kind, fields)

    def _take(
        self, kind: str, fields: Mapping[str, object], *, heard: bool = False, turn: str = "", call: str = ""
    ) -> str:
        # What a decision repeats of its turn is known when the turn is over.
        waits, turn = bool(self.turns) and kind == "decision", turn or self.turn
        if kind == "turn":
            said = entry_hash(clean(fields.get("user")))
            self.buffer.turns[said] = turn
            self._recorded.append((turn, said))
            self._last = turn, f"{fields.get('user')}\n{fields.get('assistant')}"
        event = self.buffer.take(kind, fields, heard=heard, waits=waits, turn=turn, call=call)
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
        turn, said = _new_turn(), clean(user)
        self._bundle.part(SessionEvidence).user(self.id, said)
        words = transcripts_of(self._bundle.config).of_the_user(said)
        note = self.buffer.note("turn", {"user": words, "turn": turn})
        self.buffer.turns[entry_hash(said)] = turn
        self.turns = [*self.turns, OpenTurn(turn, said, note, self._bundle.now())]
        return turn

    @property
    def turn(self) -> str:
        """The id of the turn under way; where none was announced, one begins here."""
        if self.turns:
            return self.turns[-1].id
        self._unannounced = self._unannounced or _new_turn()
        return self._unannounced

    def _turn_of(self, text: str) -> str:
        """Return the turn that a text belongs to: the one under way, or the recorded one that says most of it."""
        turn, said = self._last
        return turn if turn and not self.turns and cover(text, said) >= _MOST_OF_IT else self.turn

    def call_begins(self) -> None:
        """A client that knows no turns called a tool: what it writes belongs to this call alone."""
        self._unannounced = ""
        self._bundle.part(SessionEvidence).call(self.id)

    def _meant(self, user: str) -> OpenTurn | None:
        """The open turn that a host reports.

        It may do so on a thread of its own, when the next turn has begun already. Words that none of the open turns has
        (of a skill a host reports only a part) are those of the oldest.
        """
        said = clean(user)
        return next((one for one in self.turns if one.user == said), self.turns[0] if self.turns else None)

    def _reported(self, user: str, recorded: Collection[str]) -> None:
        """A turn is on record: it and those before it are over."""
        meant, self._unannounced = self._meant(user), ""
        self._end_turns(self.turns[: self.turns.index(meant) + 1] if meant else (), recorded)

    def _end_turns(self, over: Sequence[OpenTurn], recorded: Collection[str] = ()) -> None:
        """Close open turns; what the user said in one that no host reported is recorded all the same."""
        for one in over:
            if one.user and one.id not in recorded:
                fields = {"user": one.user, "note": "This turn was not finished."}
                self._take("turn", fields, heard=True, turn=one.id)
        self.turns = [one for one in self.turns if one not in over]
        if over and self._buffer is not None and self._buffer.is_open:
            self._buffer.settle(*(one.note for one in over))
            if not self.turns:
                self._buffer.turn_is_over()

    def returned(self, tool: str, arguments: object, result: str) -> str:
        """A tool returned this: what is remembered of it is known to be from there."""
        return self.happened("tool_call", tool_name=tool, args=arguments, result=result)

    def delegated(self, task: str, result: str, child: str = "") -> str:
        """Another agent returned this."""
        asked, found = clean(task), clean(result)
        self._bundle.part(SessionEvidence).result(self.id, "agent", child or asked, found)
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
        copied, user = messages_in(messages), user or (self.turns[-1].user if self.turns else "")
        self._bundle.part(SessionEvidence).messages(self.id, copied)
        if self._is_rewound and copied:
            is_whole = copied[0].get("role") == "user" and clean_text(copied[0]) == clean(user)
            self._take_back_unlisted(copied, is_whole=is_whole)
            self._is_rewound = False
        turns = self._conversation.fresh(copied, user, assistant)
        meant = self._meant(user)
        for turn in turns:
            known = next((one.id for one in self.turns if one.user == turn.user), _new_turn())
            turn.id = known if turn is not turns[-1] else meant.id if meant else self.turn
            self._record_calls(turn.calls, turn.id)
            if turn.user or turn.answer:
                fields = {"user": turn.user, "assistant": turn.answer}
                self._take("turn", fields, heard=bool(copied), turn=turn.id)
        self._reported(user, {turn.id for turn in turns if turn.user or turn.answer})
        return turns

    def called(self, messages: Messages) -> list[Call]:
        """Record, and give back, the tool calls that are new in a turn that goes on."""
        copied = messages_in(messages)
        self._bundle.part(SessionEvidence).messages(self.id, copied)
        calls = self._conversation.calls(copied)
        self._record_calls(calls)
        return calls

    def _record_calls(self, calls: Sequence[Call], turn: str = "") -> None:
        for call in calls:
            fields = {"tool_name": call.name, "args": call.arguments, "result": call.result}
            self._take("tool_call", fields, heard=True, turn=turn, call=call.id)

    def heard(self, messages: Messages) -> None:
        """Take a host's conversation for evidence, and record nothing."""
        self._bundle.part(SessionEvidence).messages(self.id, messages_in(messages))

    def goes_on_from(self, session: str) -> None:
        """Take over what another session heard and was shown: this one is its branch or its continuation."""
        self._bundle.part(SessionEvidence).follow(self.id, session)
        self._bundle.part(Exposure).goes_on(self.id, session)

    def conversation_was_cut(self) -> None:
        """The host took something out of its list: only what follows is new."""
        self._conversation.reset()

    def was_rewound(self, left: Messages | None = None) -> None:
        """The user took back the last turn, or every turn behind those that are `left`.

        They stay on record, and no agent gets them any more.
        """
        self._take_back(self._recorded.pop()[0] if self._recorded else "")
        self._is_rewound = True
        if left is not None:
            self._take_back_unlisted(left, is_whole=not left)

    def was_rewound_before(self, gone: Messages) -> None:
        """The user took back turns before this process had the session: those with these messages."""
        said = [redacted(clean_text(one)) for one in gone if one.get("role") == "user"]
        if not said or find_page(self._bundle.tree(), self.id) is None:
            return
        events = self._bundle.part(Sessions).events(self.id)
        over = {one.turn for one in events if one.fields.get("category") == UNDONE}
        turns = [one for one in reversed(events) if one.kind == "turn"]  # the last ones were taken back
        for event in sorted(turns, key=lambda one: one.turn not in over):
            if (words := event.fields.get("user")) in said:
                said.remove(words)
                if event.turn not in over:
                    self._take_back(event.turn)

    def _take_back(self, turn: str) -> None:
        fields = {"content": "The user took back the last part.", "category": UNDONE}
        self._take("observation", fields, heard=True, turn=turn)

    def _take_back_unlisted(self, messages: Messages, *, is_whole: bool) -> None:
        """Take back the turns behind the last one in the host's list, which may be the `whole` conversation."""
        listed = {entry_hash(clean_text(one)) for one in messages if one.get("role") == "user"}
        if is_whole or any(said in listed for _, said in self._recorded):
            while self._recorded and self._recorded[-1][1] not in listed:
                self._take_back(self._recorded.pop()[0])

    def wrote(self, path: str, text: str, origin: Origin) -> None:
        """An entry was written to a store; what it repeats of its turn is known when the turn is over."""
        if self.turns:
            self._written.append((path, text, replace(origin, turn=self.turns[-1].id)))

    def _judge_again(self) -> None:
        """Judge the entries of turns that are over by all that was heard in them."""
        is_open, written = {one.id for one in self.turns}, self._written
        self._written = [one for one in written if one[2].turn in is_open]
        for path, text, origin in written:
            if origin.turn not in is_open and (held := look_again(self._bundle, path, text, origin)):
                self._bundle.report(Notice("entry-held", path, held))

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
        names = entry_names(self._bundle, derived_from)
        origin = replace(
            self.origin(reason=reason, source=source, turn=self._turn_of(text)), derived_from=names
        )
        store = self._bundle.part(CuratedStore)
        answer = store.add(text, target=target, machine=machine, origin=origin)
        if answer.changed:
            here = self._bundle.config.machine if machine else ""
            self.wrote(store.path(target, machine=here, user=origin.user), redacted(text), origin)
        return answer

    def record_observation(self, content: str, category: str = "Observation") -> str:
        return self.happened("observation", content=content, category=category)

    def record_decision(self, decision: str, rationale: str = "", tags: str | Iterable[str] = ()) -> str:
        fields = {"decision": decision, "rationale": rationale, "tags": tags}
        return self._take("decision", fields, turn=self._turn_of(f"{decision} {rationale}"))

    def record_tool_call(self, tool_name: str, args: object = None, result: str = "") -> str:
        return self.returned(tool_name, args, result)

    def record_turn(self, user: str, assistant: str) -> str:
        """A turn that is over, as it was said."""
        meant = self._meant(user)
        event = self._take("turn", {"user": user, "assistant": assistant}, turn=meant.id if meant else "")
        self._reported(user, {meant.id} if meant else ())
        return event

    def origin(self, *, reason: str = "", source: str = "", turn: str = "") -> Origin:
        """Return where a change of this session comes from: `turn`, or the one under way."""
        self._bundle.part(SessionEvidence).listen(self.id)
        base = self.about.origin(self._bundle.config)
        return replace(base, turn=turn or self.turn, reason=redacted(reason), source=redacted(source))

    def flush(self, trigger: Trigger = "explicit", *, everything: bool | None = None) -> list[Event]:
        """Commit what waits, but for decisions of a turn that goes on; an explicit flush asks for `everything`."""
        everything = trigger == "explicit" if everything is None else everything
        self._judge_again()
        self._is_dirty = False
        if self._buffer is None and not self._has_page:
            return []
        if self.waits:
            self.resume()
            self._note_prompt()
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

    @property
    def page(self) -> str:
        """The page of the user whom this session talks to; empty where one person has the memory."""
        return self._about.user_page(self._bundle.config) if self._about is not None else ""

    def prompt_block(self) -> str:
        """The prompt block, frozen until the session ends or compresses; the session records which it was."""
        if self._block is None:
            self._block = freeze(self._bundle, user=self.page)
            sessions = self._bundle.part(Sessions)
            sessions.note_block(self.about, commit=self._block.commit, digest=self._block.hash)
        return self._block.text

    def prompt_was_built(self, commit: str) -> None:
        """The host built its own prompt from the state at a commit: later events are under that one."""
        self._prompt = commit
        if commit:
            self._bundle.part(Exposure).had_block(self.id, commit)

    def _note_prompt(self) -> None:
        """Record once which state a host's own prompt was made from, for `gitmem why`."""
        if commit := self._prompt:
            self._prompt = ""
            block = freeze(self._bundle, revision=commit)
            self._bundle.part(Sessions).note_block(self.about, commit=block.commit, digest=block.hash)

    def context(self, query: str, *, block: str | None = None) -> Context:
        """The entries worth knowing for a turn; what is shown goes into the record."""
        from gitmem.memory.find.context import context

        found = context(self._bundle, query, session=self.id, block=block, reader=self.reader)
        self.showed((one.path, one.key) for one in found.shown)
        return found

    @property
    def compressor(self) -> Compressor:
        # Most sessions end without one.
        from gitmem.memory.distill.compression import Compressor
        from gitmem.memory.distill.distiller import RuleDistiller

        if self._compressor is None:
            distiller = RuleDistiller() if self._by_rules else None
            self._compressor = Compressor(self._bundle, self.buffer, distiller)
        return self._compressor

    @property
    def facts(self) -> PendingFacts:
        """The facts of a host's session that are still to be distilled."""
        from gitmem.memory.pending_facts import PendingFacts

        if self._facts is None:
            self._facts = PendingFacts(self._bundle, self)
        return self._facts

    def compress(self, messages: Messages) -> Compressed:
        """Keep the facts of messages that are about to be forgotten, with what waits, as one commit."""
        self._bundle.part(SessionEvidence).messages(self.id, messages)
        done = self.compressor.compress(messages)
        self._block = None
        return done


def _new_turn() -> str:
    """An id for a turn; it names nothing but the turn."""
    return os.urandom(6).hex()
