"""Ranks: what a text is worth to an agent that gets it. Knowledge that holds, what was said, what a tool returned.

An echo is the request to a tool of the memory, or its answer: the commit has it already, with what became of it since.
"""

from __future__ import annotations

import json
import re
from typing import Literal, get_args

Rank = Literal["knowledge", "said", "tool", "echo"]

KNOWLEDGE: Rank = "knowledge"
SAID: Rank = "said"
TOOL: Rank = "tool"
ECHO: Rank = "echo"
RANKS: tuple[Rank, ...] = get_args(Rank)

TOOL_CALL = "tool_call"
_KNOWN_EVENTS: dict[str, Rank] = {"decision": KNOWLEDGE}
# The host's own tools and ours, also as a server of tools names them: `mcp_gitmem_search`, `mcp__gitmem__search`.
_ECHOING = re.compile(r"(?:mcp_+)?(?:gitmem(?:_\w*)?|memory|session_search|skills?_\w+)", re.IGNORECASE)
# The same by a shell: `gitmem search …`, `hermes gitmem log`.
_COMMAND = re.compile(r"(?:^|[;&|]\s*|\bsudo\s+)(?:hermes\s+)?gitmem(?:\s|$)")
_COMMANDS = ("command", "cmd", "code", "script")
# What names the place that a result came from, in the order in which it is believed.
_PLACES = (
    "url", "urls", "uri", "href", "file_path", "path", "file", "filename", *_COMMANDS, "query", "pattern",
)  # fmt: skip
_SOURCE = 200


def rank_of_event(kind: str, tool: str = "", arguments: str = "") -> Rank:
    """The rank of an event of a session; for a tool call it depends on the tool."""
    if kind == TOOL_CALL:
        return ECHO if is_echo(tool, arguments) else TOOL
    return _KNOWN_EVENTS.get(kind, SAID)


def is_echo(tool: str, arguments: str = "") -> bool:
    """Return whether a call goes to the memory, the skills or their history, so that it repeats what is stored."""
    if _ECHOING.fullmatch(tool.strip()):
        return True
    if "gitmem" not in arguments:
        return False
    given = _given(arguments)
    return any(_COMMAND.search(text) for name in _COMMANDS if isinstance(text := given.get(name), str))


def source_of(tool: str, arguments: str) -> str:
    """Return the source of a call's result: the tool, and the URL, file or command it was given."""
    given = _given(arguments)
    for name in _PLACES:
        value = given.get(name)
        if isinstance(value, list) and value:
            value = value[0]
        if isinstance(value, str) and value.strip():
            place = " ".join(value.split())
            return f"{tool} {place}"[:_SOURCE]
    return tool


def _given(arguments: str) -> dict[str, object]:
    try:
        found = json.loads(arguments) if arguments.lstrip().startswith("{") else None
    except (ValueError, RecursionError):
        found = None
    return found if isinstance(found, dict) else {}
