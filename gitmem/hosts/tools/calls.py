"""A call of a tool: its arguments are checked, its answer passes the gate, and a failure is one sentence for the model."""

from __future__ import annotations

import importlib
import json
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

from gitmem.errors import BlockedContent, GitMemError, UsageError
from gitmem.hosts.tools.table import LONGEST, MOST, TOOLS, Tool
from gitmem.hosts.tools.text import Lines, age
from gitmem.memory.gate.egress import FLAGGED, Egress, answer
from gitmem.okf.plain import shortened

if TYPE_CHECKING:
    from gitmem.memory.memory import Memory
    from gitmem.memory.session import Session

_ERROR = 1_500
"""Characters of an error that a model gets."""
_TYPES: dict[str, tuple[Any, str]] = {
    "string": (str, "a text"),
    "integer": (int, "a number"),
    "boolean": (bool, "true or false"),
    "array": (list, "a list"),
}


class StoreWrite(NamedTuple):
    """A change of a store that a tool made."""

    action: str
    target: str
    content: str
    old_text: str = ""


class ToolAnswer(NamedTuple):
    """The text that a model gets; `failed` where it is a sentence on what went wrong."""

    text: str
    failed: bool = False
    written: StoreWrite | None = None

    def as_json(self) -> str:
        """The answer for a host whose tools answer in JSON."""
        return json.dumps({"error" if self.failed else "result": self.text}, ensure_ascii=False)


def refused(why: str) -> str:
    """The answer in JSON to a call that is not made, or that failed."""
    return ToolAnswer(why, failed=True).as_json()


class ToolArguments:
    """The arguments of one call, which fit the row of its tool, and the session that makes it."""

    def __init__(self, memory: Memory, session: Session, given: Mapping[str, Any], prefix: str = "") -> None:
        self.memory = memory
        self.session = session
        self.given = given
        self.prefix = prefix
        """The prefix of the names of tools at this host."""
        self.written: StoreWrite | None = None

    def text(self, name: str) -> str:
        """A text, without the white space around it; empty where it was left out."""
        return str(self.given.get(name) or "").strip()

    def limit(self, default: int) -> int:
        value = self.given.get("limit")
        return max(1, min(MOST, value)) if isinstance(value, int) else default

    def age(self, at: str) -> str:
        return age(at, self.memory.world.clock())

    def egress(self) -> Egress:
        """The way out for what the history has: it knows what no longer holds, and who the reader is."""
        return Egress(self.memory, self.memory.index.current(), reader=self.session.reader)


def run(
    name: str, arguments: Mapping[str, Any], memory: Memory, session: Session, *, prefix: str = ""
) -> ToolAnswer:
    """Call a tool by its own name, for a session; an error of gitmem's is an answer too."""
    egress = Egress(memory)
    try:
        tool = TOOLS[name] if memory.config.past_tools else TOOLS[name].without_past()
        call = ToolArguments(memory, session, checked(tool, arguments), prefix)
        return ToolAnswer(answer(_function_of(tool)(call)), written=call.written)
    except GitMemError as error:
        # Without its hint: that is a command for a person, or quotes names that were not scanned.
        said = egress.text(shortened(str(error), _ERROR))
        if isinstance(error, BlockedContent):
            said = f"Refused, nothing is kept or held. {said if said != FLAGGED else _by_category(error, egress)}"
        return ToolAnswer(said, failed=True)


def _by_category(error: BlockedContent, egress: Egress) -> str:
    """Why a text is refused, where the scanner flags its own reasons too: they name what the text asks for."""
    found = dict.fromkeys(one.category for one in error.result.findings)
    return f"This cannot be stored: the scanner finds {egress.name(', '.join(found))} in it."


def _function_of(tool: Tool) -> Callable[[ToolArguments], Lines]:
    module, _, function = tool.run.partition(":")
    found: Callable[[ToolArguments], Lines] = getattr(
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
                f"{tool.name} has no argument `{str(name)[:40]}`: it has {', '.join(tool.properties)}."
            )
        _check(name, value, rule)
    for name in tool.required:
        if not str(given.get(name, "")).strip():
            raise UsageError(f"`{name}` is missing.")
    return given


def _check(name: str, value: Any, rule: Mapping[str, Any]) -> None:
    kind, in_words = _TYPES[rule["type"]]
    if not isinstance(value, kind) or (kind is int and isinstance(value, bool)):
        raise UsageError(f"`{name}` must be {in_words}.")
    if kind is str:
        longest = rule.get("maxLength", LONGEST)
        if len(value) > longest:
            raise UsageError(f"`{name}` has {len(value):,} characters: at most {longest:,} are possible.")
        if any("\ud800" <= one <= "\udfff" for one in value):
            raise UsageError(f"`{name}` has a broken character in it: send valid Unicode.")
        if "enum" in rule and value not in rule["enum"]:
            raise UsageError(f"`{name}` must be one of {', '.join(rule['enum'])}.")
    elif kind is list:
        if len(value) > MOST:
            raise UsageError(f"`{name}` has {len(value):,} items: at most {MOST} are possible.")
        for one in value:
            _check(name, one, rule["items"])
