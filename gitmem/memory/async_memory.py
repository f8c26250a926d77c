"""A memory whose verbs are awaited: each runs in a thread, and several at once do not hinder each other."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Concatenate, ParamSpec, TypeVar

from gitmem.memory.awaiting import Awaitable
from gitmem.memory.memory import Memory

if TYPE_CHECKING:
    from gitmem.memory.session import Session

P = ParamSpec("P")
T = TypeVar("T")


def _listed(verb: Callable[Concatenate[Memory, P], Iterator[T]]) -> Callable[Concatenate[Memory, P], list[T]]:
    """A verb that gives all at once: reading on would happen where nothing may wait."""

    def listed(memory: Memory, /, *args: P.args, **kwargs: P.kwargs) -> list[T]:
        return list(verb(memory, *args, **kwargs))

    listed.__doc__ = verb.__doc__
    return listed


class AsyncMemory:
    """The memory of an agent that runs in asyncio; `memory` is the plain one, with its nouns."""

    def __init__(self, memory: Memory) -> None:
        self.memory = self._of = memory

    def __repr__(self) -> str:
        return f"<Async{repr(self.memory)[1:]}"

    @property
    def warnings(self) -> list[str]:
        return self.memory.warnings

    def session(self, session: str = "", **known: str) -> Session:
        """A session to record in: enter it by `async with`."""
        return self.memory.session(session, **known)

    close = Awaitable(Memory.close)
    remember = Awaitable(Memory.remember)
    replace = Awaitable(Memory.replace)
    forget = Awaitable(Memory.forget)
    prompt_block = Awaitable(Memory.prompt_block)
    record_observation = Awaitable(Memory.record_observation)
    record_decision = Awaitable(Memory.record_decision)
    record_tool_call = Awaitable(Memory.record_tool_call)
    record_turn = Awaitable(Memory.record_turn)
    record_event = Awaitable(Memory.record_event)
    register_tool = Awaitable(Memory.register_tool)
    search = Awaitable(Memory.search)
    recall = Awaitable(Memory.recall)
    recent_sessions = Awaitable(Memory.recent_sessions)
    read_session = Awaitable(Memory.read_session)
    context = Awaitable(Memory.context)
    log = Awaitable(_listed(Memory.log))
    show = Awaitable(Memory.show)
    diff = Awaitable(Memory.diff)
    blame = Awaitable(Memory.blame)
    trace = Awaitable(Memory.trace)
    digest = Awaitable(Memory.digest)
    revert = Awaitable(Memory.revert)
    restore = Awaitable(Memory.restore)
    undo = Awaitable(Memory.undo)
    undoable = Awaitable(Memory.undoable)
    redo = Awaitable(Memory.redo)
    snapshot = Awaitable(Memory.snapshot)
    sync = Awaitable(Memory.sync)
    erase = Awaitable(Memory.erase)
    export = Awaitable(Memory.export)
    bring_in = Awaitable(Memory.bring_in)
