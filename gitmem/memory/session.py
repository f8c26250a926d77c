"""One session of a plain Python agent: record things in it; leaving it ends it."""

from __future__ import annotations

import contextlib
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any

from gitmem.memory.capture.buffer import HotMemoryBuffer
from gitmem.memory.capture.recorder import SessionInfo
from gitmem.memory.capture.sessions import Sessions
from gitmem.memory.curated.prompt_block import FrozenBlock, freeze
from gitmem.memory.provenance import Trigger
from gitmem.okf.events import Event

if TYPE_CHECKING:
    from gitmem.memory.bundle import Bundle
    from gitmem.memory.distill.compression import Compressed, Compressor, Messages


class Session:
    """One session of a plain Python agent: record things in it; leaving it ends it."""

    def __init__(self, bundle: Bundle, info: SessionInfo) -> None:
        self._bundle = bundle
        self.info = info
        self.buffer = HotMemoryBuffer(bundle, info)
        self._block: FrozenBlock | None = None
        self._compressor: Compressor | None = None
        self._ended = False

    @property
    def id(self) -> str:
        return self.info.id

    def record_observation(self, content: str, category: str = "Observation") -> str:
        return self.buffer.push("observation", content=content, category=category)

    def record_decision(self, decision: str, rationale: str = "", tags: Iterable[str] = ()) -> str:
        return self.buffer.push("decision", decision=decision, rationale=rationale, tags=list(tags))

    def record_tool_call(self, tool_name: str, args: object = None, result: str = "") -> str:
        return self.buffer.push("tool_call", tool_name=tool_name, args=args, result=result)

    def record_turn(self, user: str, assistant: str) -> str:
        return self.buffer.push("turn", user=user, assistant=assistant)

    def flush(self, trigger: Trigger = "explicit") -> list[Event]:
        return list(self.buffer.flush(trigger).events)

    def annotate(self, **known: object) -> None:
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
        done = self.compressor.compress(messages)
        self._block = None
        return done

    def end(self, messages: Messages = (), **known: Any) -> None:
        """Flush and close; of `messages` the facts are kept that no compression has seen. Once is enough."""
        if self._ended:
            return
        if messages:
            self.compressor.finish(messages)
        self._bundle.part(Sessions).end(self.id, buffer=self.buffer, **known)
        self._ended = True


@contextlib.contextmanager
def open_session(bundle: Bundle, session: str = "", **known: str) -> Iterator[Session]:
    """Begin or resume a session; it is flushed and ended on the way out, also after an error."""
    handle = Session(bundle, bundle.part(Sessions).start(session, keep_open=False, **known))
    try:
        bundle.part(Sessions).snapshot(handle.info, "session start")
        yield handle
    finally:
        try:
            handle.end()
        finally:
            handle.buffer.close()
