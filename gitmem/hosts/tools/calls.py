"""A call of a tool: its arguments looked at, its answer let out, its failure one sentence that a model can act on."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

from gitmem.errors import GitMemError, UsageError
from gitmem.hosts.tools.table import LONGEST, MOST, TOOLS, Tool
from gitmem.memory.gate.egress import Egress

if TYPE_CHECKING:
    from gitmem.memory.memory import Memory
    from gitmem.memory.session import Session

Value = dict[str, Any]
_TYPES: dict[str, Any] = {
    "string": str,
    "integer": int,
    "boolean": bool,
    "array": list,
    "object": Mapping,
}
_ARTICLES = {
    "string": "a text",
    "integer": "a number",
    "boolean": "true or false",
    "array": "a list",
    "object": "an object",
}


class Answer(NamedTuple):
    """A tool's answer, as it may leave; `failed` where it is a sentence on what went wrong."""

    value: Value
    failed: bool = False


class Call:
    """The arguments of one call, which fit the row of its tool."""

    def __init__(self, memory: Memory, session: Session, given: Mapping[str, Any], prefix: str = "") -> None:
        self.memory = memory
        self.session = session
        self.given = given
        self.prefix = prefix
        """What stands before the names of the tools at this host."""

    def text(self, name: str) -> str:
        """A text, without the white space around it; empty where it was left out."""
        return str(self.given.get(name) or "").strip()

    def limit(self, default: int) -> int:
        value = self.given.get("limit")
        return max(1, min(MOST, value)) if isinstance(value, int) else default

    def egress(self) -> Egress:
        """The way out for what the history has: it knows what no longer holds, and for whom it is."""
        return Egress(self.memory, self.memory.index.current(), reader=self.session.reader)


def run(
    name: str, arguments: Mapping[str, Any], memory: Memory, session: Session, *, prefix: str = ""
) -> Answer:
    """Call a tool by its own name, for a session; an error of gitmem's is an answer too."""
    egress = Egress(memory)
    try:
        tool = TOOLS[name]
        call = Call(memory, session, checked(tool, arguments), prefix)
        return Answer(egress.answer(function_of(tool)(call), checked=tool.checked))
    except GitMemError as error:
        # Without its hint: that is a command for a person, or quotes names that nobody has looked at.
        return Answer(egress.answer({"error": " ".join(str(error).split())}), failed=True)


def function_of(tool: Tool) -> Callable[[Call], Value]:
    module, _, function = tool.run.partition(":")
    found: Callable[[Call], Value] = getattr(
        importlib.import_module(f"gitmem.hosts.tools.{module}"), function
    )
    return found


def checked(tool: Tool, arguments: Mapping[str, Any]) -> dict[str, Any]:
    """The arguments that were given, each of the type that the row says; a UsageError names the one that is not."""
    given = {name: value for name, value in arguments.items() if value is not None}
    for name, value in given.items():
        rule = tool.properties.get(name)
        if rule is None:
            raise UsageError(
                f"{tool.name} has no argument `{_shown(name)}`: it has {', '.join(tool.properties)}."
            )
        _check(name, value, rule)
    for name in tool.required:
        if not str(given.get(name, "")).strip():
            raise UsageError(f"`{name}` is missing.")
    return given


def _check(name: str, value: Any, rule: Mapping[str, Any]) -> None:
    kind = rule["type"]
    if not isinstance(value, _TYPES[kind]) or (kind == "integer" and isinstance(value, bool)):
        raise UsageError(f"`{name}` must be {_ARTICLES[kind]}.")
    if kind == "string":
        longest = rule.get("maxLength", LONGEST)
        if len(value) > longest:
            raise UsageError(f"`{name}` has {len(value):,} characters: at most {longest:,} are possible.")
        if any("\ud800" <= one <= "\udfff" for one in value):
            raise UsageError(f"`{name}` holds half a character, which is not text.")
        if "enum" in rule and value not in rule["enum"]:
            raise UsageError(f"`{name}` must be one of {', '.join(rule['enum'])}.")
    elif kind == "array":
        if len(value) > MOST:
            raise UsageError(f"`{name}` has {len(value):,} items: at most {MOST} are possible.")
        for one in value:
            _check(name, one, rule["items"])
    elif kind == "object":
        for key, item in rule["properties"].items():
            if value.get(key) is not None:
                _check(key, value[key], item)


def _shown(name: object) -> str:
    return str(name)[:40]
