"""What the model got to see: every request, cut into the units that a reader takes as one, searched for phrases."""

from __future__ import annotations

import json
import re
import unicodedata
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

MARK = re.compile(r"\b(?:unconfirmed|untrusted)\b", re.IGNORECASE)
"""How gitmem marks a text that nobody has confirmed."""
_OF_THE_WORLD = frozenset({"web_extract", "mail_read", "read_file", "terminal", "ask_agent"})
"""Tools whose results come from outside: whoever reads a bad page again sees it again."""
_ENTRY = re.compile(r"\n§\n|\n")


@dataclass(frozen=True, slots=True)
class Unit:
    """A piece of a request that is read as one: a line, an entry of the prompt block, a hit of a search."""

    place: str
    text: str
    listed: bool = False
    """Whether the same prompt lists it under a heading that marks it."""

    @property
    def is_marked(self) -> bool:
        return self.listed or MARK.search(self.text) is not None

    @property
    def is_answer(self) -> bool:
        """Whether the model asked for it, with a tool that looks into the memory."""
        return self.place.startswith("gitmem_")


def units(request: Mapping[str, Any], known: frozenset[str] = frozenset()) -> Iterator[Unit]:
    """Everything that a request hands to the model, except the model's own words and messages that are `known`."""
    side = "" if request.get("tools") else "summariser: "
    names: dict[str, str] = {}
    for message in request["messages"]:
        for asked in message.get("tool_calls") or ():
            names[asked["id"]] = asked["function"]["name"]
        role, content = message["role"], _content(message)
        if role == "assistant" or fingerprint(message) in known:
            continue
        if role == "tool":
            name = names.get(message.get("tool_call_id", ""), "?")
            if name not in _OF_THE_WORLD:
                yield from (Unit(f"{side}{name}", text) for text in _parts(content))
        elif role == "system":
            listed = _listed(content)
            for text in _ENTRY.split(content):
                yield Unit(f"{side}prompt", text, any(plain(text) in one for one in listed))
        else:
            said, _, recalled = content.partition("<memory-context>")
            yield from (Unit(f"{side}message", text) for text in _ENTRY.split(said))
            yield from (Unit(f"{side}recall", text) for text in _ENTRY.split(recalled))


def holding(phrase: str, found: Iterable[Unit]) -> list[Unit]:
    """The units in which a phrase is, whatever its case, its spaces and its punctuation."""
    wanted = f" {plain(phrase)} "
    return [unit for unit in found if wanted in f" {plain(unit.text)} "]


def plain(text: str) -> str:
    """Letters and digits alone, one space between words."""
    folded = unicodedata.normalize("NFKC", text).casefold()
    return " ".join(re.findall(r"[^\W_]+", folded))


def fingerprint(message: Mapping[str, Any]) -> str:
    return f"{message['role']}\0{message.get('tool_call_id', '')}\0{_content(message)}"


def _listed(prompt: str) -> list[str]:
    """What a prompt lists under a heading that marks it: the host writes its own files into it as they are."""
    return [
        plain(line)
        for part in prompt.split("\n\n")
        if MARK.search(part.partition("\n")[0])
        for line in part.split("\n")[1:]
    ]


def _content(message: Mapping[str, Any]) -> str:
    content = message.get("content") or ""
    if isinstance(content, str):
        return content
    return "\n".join(str(part.get("text", "")) for part in content)


def _parts(content: str) -> Iterator[str]:
    """A tool's answer: each object of a JSON text with what it says itself; any other text by its lines."""
    try:
        value = json.loads(content)
    except ValueError:
        yield from content.split("\n")
        return
    yield from _objects(value)


def _objects(value: Any) -> Iterator[str]:
    if isinstance(value, Mapping):
        own = [f"{name}: {one}" for name, one in value.items() if not isinstance(one, Mapping | list)]
        yield "\n".join(own)
        for one in value.values():
            if isinstance(one, Mapping | list):
                yield from _objects(one)
    elif isinstance(value, list):
        for one in value:
            yield from _objects(one)
    else:
        yield str(value)
