"""Decorators for plain Python agents: what a function decides or does is recorded, written through."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import TYPE_CHECKING, ParamSpec, TypeVar

if TYPE_CHECKING:
    from gitmem.memory.bundle import Bundle

P = ParamSpec("P")
R = TypeVar("R")


def memorize_decision(
    bundle: Bundle, *, rationale: str = "", tags: tuple[str, ...] = (), session: str = ""
) -> Callable[[Callable[P, R]], Callable[P, R]]:
    """Record what the function returns as a decision."""

    def decorate(function: Callable[P, R]) -> Callable[P, R]:
        @functools.wraps(function)
        def call(*args: P.args, **kwargs: P.kwargs) -> R:
            result = function(*args, **kwargs)
            if bundle.config.log_decisions:
                why = rationale or (function.__doc__ or "").strip().partition("\n")[0]
                bundle.record_decision(str(result), why, tags, session=session)
            return result

        return call

    return decorate


def memorize_tool(
    bundle: Bundle, *, name: str = "", session: str = ""
) -> Callable[[Callable[P, R]], Callable[P, R]]:
    """Record each call of the function as a tool call, also one that fails."""

    def decorate(function: Callable[P, R]) -> Callable[P, R]:
        tool = name or function.__name__

        @functools.wraps(function)
        def call(*args: P.args, **kwargs: P.kwargs) -> R:
            given = {"args": [repr(value) for value in args], **{k: repr(v) for k, v in kwargs.items()}}
            try:
                result = function(*args, **kwargs)
            except Exception as error:
                _record(f"failed: {type(error).__name__}: {error}", given)
                raise
            _record(str(result), given)
            return result

        def _record(result: str, given: object) -> None:
            if bundle.config.log_tool_calls:
                bundle.record_tool_call(tool, given, result, session=session)

        return call

    return decorate
