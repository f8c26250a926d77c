"""Calls of the tools as they were before there was one table of them.

A conversation that goes on, a skill or a prompt of the user's may still call them so. What is said here is only how such
a call is put today; what it does and answers is today's.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

_RENAMED = {"reason": "why"}
_KINDS = {"memory": "fact", "user": "preference"}


def as_today(tool: str, given: Mapping[str, Any]) -> tuple[str, dict[str, Any]]:
    """The tool and its arguments by their present names; a call of today is left as it is."""
    arguments = dict(given)
    if tool == "gitmem_revert":
        return "gitmem_undo", _renamed(arguments)
    if tool == "gitmem_remember":
        kind = arguments.get("kind")
        return tool, _renamed(
            {**arguments, "kind": _KINDS.get(kind, kind)} if isinstance(kind, str) else arguments
        )
    if tool == "gitmem_history" and arguments.get("action") in ("log", "diff", "blame"):
        return _history(arguments.pop("action"), arguments)
    return tool, arguments


def _renamed(arguments: Mapping[str, Any]) -> dict[str, Any]:
    return {_RENAMED.get(name, name): value for name, value in arguments.items()}


def _history(action: str, arguments: dict[str, Any]) -> tuple[str, dict[str, Any]]:
    if action == "diff":
        ends = {"a": arguments.pop("since", None), "b": arguments.pop("until", None)}
        arguments.pop("text", None)
        return "gitmem_diff", {**arguments, **ends}
    if action == "blame":
        limit = {"limit": arguments["limit"]} if "limit" in arguments else {}
        return "gitmem_history", {"id": arguments.get("path") or "memories/MEMORY.md", **limit}
    return "gitmem_history", {name: arguments[name] for name in ("path", "limit") if name in arguments}
