"""A session to record in."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from gitmem.errors import UsageError
from gitmem.memory.capture.buffer import HotMemoryBuffer
from gitmem.memory.capture.sessions import Sessions
from gitmem.memory.curated.prompt_block import FrozenBlock, freeze
from gitmem.memory.curated.store import Answer, CuratedStore, Target
from gitmem.memory.gate.hearing import Hearing
from gitmem.memory.origin import Trigger, origin_of
from gitmem.okf.events import Event

if TYPE_CHECKING:
    from gitmem.memory.async_session import AsyncSession
    from gitmem.memory.bundle import Bundle
    from gitmem.memory.capture.recorder import SessionInfo
    from gitmem.memory.distill.compression import Compressed, Compressor, Messages


class Session:
    """One session of a plain Python agent: record things in it; leaving it ends it.

    Without `with`, `start` begins it and `end` ends it. In `async with` both happen in a thread, and what comes back
    has the same verbs as coroutines.
    """

    def __init__(self, bundle: Bundle, session: str = "", **known: str) -> None:
        self._bundle = bundle
        self._named = session
        self._known = known
        self._buffer: HotMemoryBuffer | None = None
        self._block: FrozenBlock | None = None
        self._compressor: Compressor | None = None

    def __repr__(self) -> str:
        return f"<Session {self._named or 'new'}: {'not open' if self._buffer is None else 'open'}>"

    # Beginning and ending

    def start(self) -> Session:
        """Begin the session, or resume it. Once is enough."""
        if self._buffer is not None:
            return self
        sessions = self._bundle.part(Sessions)
        info = sessions.start(self._named, keep_open=False, **self._known)
        self._named, self._known = info.id, {}
        self._buffer = HotMemoryBuffer(self._bundle, info)
        try:
            sessions.snapshot(info, "session start")
        except BaseException:
            self._leave()
            raise
        return self

    def end(self, /, messages: Messages = (), **known: Any) -> None:
        """Flush and close; of `messages` the facts are kept that no compression has seen. Once is enough.

        Where it fails the session stays open, and nothing that was recorded is lost.
        """
        if self._buffer is None:
            return
        if messages:
            self._bundle.part(Hearing).messages(self.id, messages)
            self.compressor.finish(messages)
        # A memory that was closed first has flushed the buffer.
        waiting = self._buffer if self._buffer.is_open else None
        self._bundle.part(Sessions).end(self.id, buffer=waiting, **known)
        self._give_back()

    def _leave(self) -> None:
        """End, and give the journal back whatever comes of it: the next start finds what could not be committed."""
        try:
            self.end()
        finally:
            self._give_back()

    def _give_back(self) -> None:
        buffer, self._buffer, self._block, self._compressor = self._buffer, None, None, None
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
    def buffer(self) -> HotMemoryBuffer:
        if self._buffer is None:
            raise UsageError(
                f"The session {self._named!r} is not open: enter it by `with`, or call its start()."
            )
        return self._buffer

    @property
    def info(self) -> SessionInfo:
        return self.buffer.session

    # Recording

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
        origin = replace(
            origin_of(self._bundle.config, self.info),
            reason=reason,
            source=source,
            derived_from=tuple(derived_from),
        )
        return self._bundle.part(CuratedStore).add(text, target=target, machine=machine, origin=origin)

    def hear(self, user: str) -> None:
        """The user said this: what you remember of it is his own. A turn that is recorded says it too."""
        self._bundle.part(Hearing).user(self.id, user)

    def record_observation(self, content: str, category: str = "Observation") -> str:
        return self.buffer.push("observation", content=content, category=category)

    def record_decision(self, decision: str, rationale: str = "", tags: str | Iterable[str] = ()) -> str:
        return self.buffer.push("decision", decision=decision, rationale=rationale, tags=tags)

    def record_tool_call(self, tool_name: str, args: object = None, result: str = "") -> str:
        return self.buffer.push("tool_call", tool_name=tool_name, args=args, result=result)

    def record_turn(self, user: str, assistant: str) -> str:
        return self.buffer.push("turn", user=user, assistant=assistant)

    def flush(self, trigger: Trigger = "explicit") -> list[Event]:
        return list(self.buffer.flush(trigger).events)

    def annotate(self, /, **known: object) -> None:
        """Add what became known of the session: `tokens={"input": 1200, "output": 300}`, a title."""
        self._bundle.part(Sessions).annotate(self.id, known)

    def prompt_block(self) -> str:
        """The prompt block, frozen until the session ends or compresses; the session records which it was."""
        if self._block is None:
            self._block = freeze(self._bundle)
            sessions = self._bundle.part(Sessions)
            sessions.note_block(self.id, commit=self._block.commit, digest=self._block.hash)
        return self._block.text

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
