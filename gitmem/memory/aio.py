"""Asyncio: a memory and its sessions whose verbs are awaited, each in a thread of its own. `aio.pyi` has their types."""

from __future__ import annotations

import asyncio
import contextlib
import functools
from collections.abc import Callable, Iterator
from typing import Any, ParamSpec, TypeVar

P = ParamSpec("P")
R = TypeVar("R")


async def in_thread(work: Callable[P, R], *args: P.args, **kwargs: P.kwargs) -> R:
    """Return what `work` gives, worked out in a thread.

    A thread cannot be stopped half-way. So a cancelled caller gets its cancellation when the work is done: closing the
    memory next finds nothing under way.
    """
    working = asyncio.ensure_future(asyncio.to_thread(work, *args, **kwargs))
    try:
        return await asyncio.shield(working)
    except asyncio.CancelledError:
        while not working.done():
            with contextlib.suppress(asyncio.CancelledError):
                await asyncio.wait([working])
        if not working.cancelled():
            working.exception()  # looked at: asyncio need not report it
        raise


class _Awaited:
    """An object with coroutines in the place of its verbs; what is no verb is as it was."""

    _at_once = frozenset[str]()

    def __init__(self, of: Any) -> None:
        self._of = of

    def __getattr__(self, name: str) -> Any:
        found = getattr(self._of, name)
        if not callable(found) or name in self._at_once:
            return found

        def work(*args: Any, **kwargs: Any) -> Any:
            result = found(*args, **kwargs)
            # Reading on would happen where nothing may wait.
            return list(result) if isinstance(result, Iterator) else result

        return functools.update_wrapper(functools.partial(in_thread, work), found)

    def __dir__(self) -> list[str]:
        return dir(self._of)

    def __repr__(self) -> str:
        return f"<Async{repr(self._of)[1:]}"


class AsyncMemory(_Awaited):
    """The memory of an agent that runs in asyncio; `memory` is the plain one."""

    _at_once = frozenset(("session",))  # it is entered by `async with`

    @property
    def memory(self) -> Any:
        return self._of


class AsyncSession(_Awaited):
    """One session of an agent that runs in asyncio; `session` is the plain one."""

    @property
    def session(self) -> Any:
        return self._of

    async def start(self) -> AsyncSession:
        """Begin the session, or resume it. Once is enough."""
        await in_thread(self._of.start)
        return self
