"""YAML read on our terms: one pass over its events, without recursion, into plain values."""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache
from typing import Any

import frontmatter as python_frontmatter
import yaml
from frontmatter.default_handlers import YAMLHandler
from yaml.events import (
    DocumentStartEvent,
    Event,
    MappingEndEvent,
    MappingStartEvent,
    ScalarEvent,
    SequenceEndEvent,
    SequenceStartEvent,
    StreamEndEvent,
)
from yaml.resolver import Resolver

from gitmem.errors import BrokenConcept, TooLarge
from gitmem.okf.frontmatter import MAX_DEPTH, MAX_NUMBER, MAX_YAML_BYTES

# Buys "`diff --session` / `git diff` of the two trees", half of which is YAML: libyaml where PyYAML has it.
# PyYAML's stubs know neither loader as a type that fits both.
_Loader: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)


@lru_cache(maxsize=16)
def through_the_package(opening: str, yaml_text: str) -> dict[str, object]:
    """The mapping of a file's front matter, by python-frontmatter and the rules of this module."""
    # `parse` strips all that it is given and changes its line ends, and copies a long body twice to do so.
    # So it gets the mark alone; the handler has the YAML as it is in the file.
    # Buys "`diff --session` / `git diff` of the two trees": most versions of a file differ in their bodies alone.
    meta, _ = python_frontmatter.parse(opening, handler=_Handler(yaml_text))
    return meta


class _Handler(YAMLHandler):
    """python-frontmatter's YAML handler for a text that is cut already: its YAML by this module's rules."""

    def __init__(self, yaml_text: str) -> None:
        super().__init__()
        self._yaml = yaml_text

    def split(self, text: str) -> tuple[str, str]:  # noqa: ARG002 (see above)
        """The YAML as it is in the file, and no body to strip."""
        return self._yaml, ""

    def load(self, fm: str, **_: object) -> dict[str, object]:
        """The mapping, as `build` gives it; the YAML begins on the second line of its file."""
        return build(fm, 2)


def build(yaml_text: str, first_line: int) -> dict[str, object]:
    """The mapping that a YAML text spells."""
    if len(yaml_text) > MAX_YAML_BYTES or len(yaml_text.encode("utf-8", "replace")) > MAX_YAML_BYTES:
        raise TooLarge(f"The front matter is larger than {MAX_YAML_BYTES // 1024} KB.")
    builder = _Builder(first_line)
    try:
        for event in _events(yaml_text):
            builder.take(event)
    except yaml.YAMLError as error:
        raise BrokenConcept(_told(error, first_line)) from error
    except UnicodeEncodeError as error:
        raise BrokenConcept("The front matter cannot be written as UTF-8.") from error
    return builder.result()


def _events(yaml_text: str) -> Iterator[Event]:
    loader = _Loader(yaml_text)
    try:
        # The end of the stream is an event too, so there is no need to ask before each whether there is one.
        while not isinstance(event := loader.get_event(), StreamEndEvent):
            yield event
    finally:
        loader.dispose()


class _Builder:
    """Turns YAML events into plain values with a stack of its own, so that depth costs no recursion."""

    def __init__(self, first_line: int) -> None:
        self._first_line = first_line
        self._documents: list[object] = []
        self._stack: list[list[object] | dict[str, object]] = [self._documents]
        self._waiting: list[str | None] = [None]
        """The key that waits for its value, for each mapping of the stack."""

    def result(self) -> dict[str, object]:
        root = self._documents[0] if self._documents else None
        if not isinstance(root, dict | None):
            raise BrokenConcept("The front matter is not a list of keys and values.")
        return root or {}

    def take(self, event: Any) -> None:
        if getattr(event, "anchor", None) is not None:
            raise self._broken("anchors and aliases are not allowed", event)
        if isinstance(event, ScalarEvent) and self._wants_key():
            self._key(event)
        elif isinstance(event, ScalarEvent):
            tag = _RESOLVER.resolve(yaml.ScalarNode, event.value, event.implicit) if event.tag is None else ""
            self._put(_scalar_value(tag, event.value))
        elif isinstance(event, MappingStartEvent | SequenceStartEvent):
            self._open({} if isinstance(event, MappingStartEvent) else [], event)
        elif isinstance(event, MappingEndEvent | SequenceEndEvent):
            self._waiting.pop()
            self._put(self._stack.pop())
        elif isinstance(event, DocumentStartEvent) and self._documents:
            raise self._broken("a second YAML document begins", event)

    def _open(self, value: list[object] | dict[str, object], event: Any) -> None:
        if len(self._stack) > MAX_DEPTH:
            raise self._broken(f"it is nested deeper than {MAX_DEPTH} levels", event)
        if self._wants_key():
            raise self._broken("a key is not plain text", event)
        self._stack.append(value)
        self._waiting.append(None)

    def _key(self, event: Any) -> None:
        key: str = event.value
        if key in self._stack[-1]:
            raise self._broken(f"the key {key[:60]!r} stands there twice", event)
        self._waiting[-1] = key

    def _put(self, value: object) -> None:
        top, key = self._stack[-1], self._waiting[-1]
        if isinstance(top, list):
            top.append(value)
        elif key is not None:
            top[key] = value
            self._waiting[-1] = None

    def _wants_key(self) -> bool:
        return isinstance(self._stack[-1], dict) and self._waiting[-1] is None

    def _broken(self, what: str, event: Any) -> BrokenConcept:
        line = self._first_line + event.start_mark.line
        return BrokenConcept(f"The front matter cannot be read: line {line}: {what}.")


# Untyped in PyYAML's stubs.
_RESOLVER: Any = Resolver()
_TRUE = ("yes", "true", "on")


def _scalar_value(tag: str, text: str) -> object:
    kind = tag.rpartition(":")[2]
    if kind == "null":
        return None
    if kind == "bool":
        return text.lower() in _TRUE
    digits = text.replace("_", "").lower()
    if kind not in ("int", "float") or len(digits) > MAX_NUMBER:  # reading it costs the square of its length
        return text
    try:
        if kind == "int":
            return _integer(digits)
        return float(digits.replace(".inf", "inf").replace(".nan", "nan"))
    except ValueError:  # base 60, a time of day to everyone but YAML 1.1; or `0x_`, a number without a digit
        return text


def _integer(digits: str) -> int:
    sign = -1 if digits.startswith("-") else 1
    digits = digits.lstrip("+-")
    base = {"0b": 2, "0x": 16}.get(digits[:2], 8 if digits.startswith("0") and digits != "0" else 10)
    return sign * int(digits[2:] if base in (2, 16) else digits, base)


def _told(error: yaml.YAMLError, first_line: int) -> str:
    mark = getattr(error, "problem_mark", None) or getattr(error, "context_mark", None)
    problem = getattr(error, "problem", None) or getattr(error, "reason", None) or "it is not YAML"
    where = f"line {first_line + mark.line}: " if mark is not None else ""
    return f"The front matter cannot be read: {where}{problem}."
