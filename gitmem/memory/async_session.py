"""A session whose verbs are awaited: each runs in a thread."""

from __future__ import annotations

from gitmem.memory.awaiting import Awaitable, in_thread
from gitmem.memory.session import Session


class AsyncSession:
    """One session of an agent that runs in asyncio; `session` is the plain one."""

    def __init__(self, session: Session) -> None:
        self.session = self._of = session

    def __repr__(self) -> str:
        return f"<Async{repr(self.session)[1:]}"

    @property
    def id(self) -> str:
        return self.session.id

    async def start(self) -> AsyncSession:
        """Begin the session, or resume it. Once is enough."""
        await in_thread(self.session.start)
        return self

    end = Awaitable(Session.end)
    remember = Awaitable(Session.remember)
    said = Awaitable(Session.said)
    returned = Awaitable(Session.returned)
    delegated = Awaitable(Session.delegated)
    answered = Awaitable(Session.answered)
    record_observation = Awaitable(Session.record_observation)
    record_decision = Awaitable(Session.record_decision)
    record_tool_call = Awaitable(Session.record_tool_call)
    record_turn = Awaitable(Session.record_turn)
    context = Awaitable(Session.context)
    flush = Awaitable(Session.flush)
    annotate = Awaitable(Session.annotate)
    prompt_block = Awaitable(Session.prompt_block)
    compress = Awaitable(Session.compress)
