"""Decorators for plain Python agents: what a function decides or does is recorded at once.

A memory that cannot be written costs an agent no result: the error goes to the bundle's `warnings`.
"""

from __future__ import annotations

import contextlib
import functools
import inspect
from collections.abc import Callable, Iterable, Iterator
from typing import Any, ParamSpec, Protocol, TypeVar, cast

from gitmem.errors import GitMemError
from gitmem.notices import Notice
from gitmem.okf.plain import cut

P = ParamSpec("P")
R = TypeVar("R")
_ARGUMENT_LIMIT = 2000


class Recorder(Protocol):
    """The target of decorators: a memory, or anything that records like one."""

    def report(self, notice: Notice) -> None: ...
    def record_decision(
        self, decision: str, rationale: str = "", tags: str | Iterable[str] = (), *, session: str = ""
    ) -> str: ...
    def record_event(self, kind: str, *, session: str = "", **fields: object) -> str: ...


def memorize_decision(
    bundle: Recorder, *, rationale: str = "", tags: str | Iterable[str] = (), session: str = ""
) -> Callable[[Callable[P, R]], Callable[P, R]]:
    """Record what the function returns as a decision; its docstring's first line says why, or `rationale`."""
    tags = tags if isinstance(tags, str) else tuple(tags)

    def tell(
        function: Callable[..., object], _given: object, result: object, error: Exception | None
    ) -> None:
        if error is None:
            bundle.record_decision(str(result), rationale or _first_line(function), tags, session=session)

    return lambda function: _observed(bundle, function, tell)


def memorize_tool(
    bundle: Recorder, *, name: str = "", session: str = ""
) -> Callable[[Callable[P, R]], Callable[P, R]]:
    """Record each call of the function as a tool call, also one that fails; its docstring describes the tool."""
    known: set[Callable[..., object]] = set()

    def tell(function: Callable[..., object], given: object, result: object, error: Exception | None) -> None:
        fields = {"tool_name": name or function.__name__, "args": given}
        fields["result"] = str(result) if error is None else f"failed: {type(error).__name__}: {error}"
        about = {} if function in known else {"description": _first_line(function)}
        bundle.record_event("tool_call", session=session, **fields, **about)
        known.add(function)

    return lambda function: _observed(bundle, function, tell)


def _observed(bundle: Recorder, function: Callable[P, R], tell: Callable[..., None]) -> Callable[P, R]:
    """Tell what a function was given and what came of it; a coroutine is awaited."""

    @contextlib.contextmanager
    def observed(args: tuple[object, ...], kwargs: dict[str, Any]) -> Iterator[list[Any]]:
        given = {"args": list(map(_shown, args)), **{key: _shown(value) for key, value in kwargs.items()}}
        result: list[Any] = []
        failure: Exception | None = None
        try:
            yield result
        except Exception as error:
            failure = error
            raise
        finally:
            if result or failure is not None:
                try:
                    tell(function, given, result[0] if result else None, failure)
                except GitMemError as error:
                    bundle.report(Notice("call-not-recorded", function.__name__, str(error)))

    @functools.wraps(function)
    def call(*args: P.args, **kwargs: P.kwargs) -> R:
        with observed(args, kwargs) as result:
            result.append(function(*args, **kwargs))
        return cast("R", result[0])

    @functools.wraps(function)
    async def call_later(*args: P.args, **kwargs: P.kwargs) -> object:
        with observed(args, kwargs) as result:
            result.append(await cast(Any, function(*args, **kwargs)))
        return result[0]

    return cast("Callable[P, R]", call_later) if inspect.iscoroutinefunction(function) else call


def _shown(value: object) -> str:
    try:
        return cut(repr(value), _ARGUMENT_LIMIT)
    except Exception:  # noqa: BLE001 - a foreign __repr__ may raise anything
        return f"({type(value).__name__})"


def _first_line(function: Callable[..., object]) -> str:
    return (function.__doc__ or "").strip().partition("\n")[0]
