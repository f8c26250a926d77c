"""Verbs for a program that must not wait: each runs in a thread of its own, and is awaited."""

from __future__ import annotations

import asyncio
import contextlib
import functools
from collections.abc import Callable, Coroutine
from typing import Any, Concatenate, Generic, ParamSpec, Protocol, TypeVar

P = ParamSpec("P")
R = TypeVar("R")
Of = TypeVar("Of")
Of_co = TypeVar("Of_co", covariant=True)


async def in_thread(work: Callable[P, R], *args: P.args, **kwargs: P.kwargs) -> R:
    """Return what `work` gives, worked out in a thread.

    A thread cannot be stopped half-way. So a cancelled caller gets its cancellation when the work is done: whoever
    closes the memory next finds nothing under way.
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


class _Owner(Protocol[Of_co]):
    """The object behind an awaitable, whose verbs it has."""

    @property
    def _of(self) -> Of_co: ...


class Awaitable(Generic[Of, P, R]):
    """A verb of what an object stands for, as a coroutine."""

    def __init__(self, verb: Callable[Concatenate[Of, P], R]) -> None:
        self._verb = verb
        self.__doc__ = verb.__doc__

    def __get__(self, owner: _Owner[Of], _: type) -> Callable[P, Coroutine[Any, Any, R]]:
        return functools.partial(in_thread, self._verb, owner._of)
