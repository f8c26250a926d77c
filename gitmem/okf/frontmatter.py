"""Front matter: where it is in a text, byte for byte, and its YAML read and written on our terms.

`read` reads a file through python-frontmatter with a handler of ours. Reading YAML is one pass over its events,
without recursion, and makes plain values only: None, bool, int, float, str, list, dict. On purpose, and unlike
`yaml.safe_load`:

- timestamps stay text, and so do times of day (`12:30`), which YAML 1.1 takes for numbers in base 60;
- keys are text at every level (`1:`, `yes:` and `null:` are the keys "1", "yes" and "null");
- duplicate keys are refused, tags are ignored (`!!python/…` is inert), `<<` is a key like any other;
- size, depth and what aliases expand to are limited before they cost anything.

Writing is done here and not by PyYAML, because the text of a value is compared in merges: it must be the same
with every version of every library on every machine.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple, TypeGuard

import frontmatter as python_frontmatter
import yaml
from frontmatter.default_handlers import YAMLHandler
from yaml.events import (
    AliasEvent,
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

from gitmem.errors import BrokenConcept, InvalidContent, TooLarge

MAX_YAML_BYTES = 256 * 1024
MAX_DEPTH = 64
# What all aliases together may expand to, in characters: a text of the full size fits four times.
MAX_EXPANDED = 4 * MAX_YAML_BYTES
MAX_NUMBER = 1000

# Buys "`diff --session` / `git diff` of the two trees", half of which is YAML: libyaml where PyYAML has it.
# PyYAML's stubs know neither loader as a type that fits both.
_Loader: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)

_OPENING = re.compile(r"\ufeff?---[ \t]*\r?\n")
_CLOSING = re.compile(r"^---[ \t]*(?:\r?\n|\Z)", re.MULTILINE)


class Split(NamedTuple):
    """A text cut at its front matter; the four parts joined are the text again."""

    opening: str
    yaml: str
    closing: str
    body: str


Keys = tuple[tuple[str, int], ...]
"""The top-level keys of a YAML text in order, each with the character it begins at."""


class Block(NamedTuple):
    """One top-level key and the characters of the YAML text that spell it with its value."""

    key: str
    start: int
    end: int


def split(text: str) -> Split | None:
    """The text cut at its front matter; None when it has none, BrokenConcept when the block never ends."""
    opening = _OPENING.match(text)
    if opening is None:
        return None
    closing = _CLOSING.search(text, opening.end())
    if closing is None:
        raise BrokenConcept("The front matter has no closing line of three dashes.")
    return Split(
        opening.group(), text[opening.end() : closing.start()], closing.group(), text[closing.end() :]
    )


def begins(text: str) -> bool:
    """Whether the text begins with front matter, closed or not, also behind a byte order mark."""
    return _OPENING.match(text) is not None


def read(text: str) -> tuple[dict[str, object], Split] | None:
    """The values of the text's front matter, and the text cut at it; None and errors as of `split` and `load`.

    Files are read in this way, through python-frontmatter; `split` and `load` alone salvage a broken one.
    """
    found = read_with_keys(text)
    return found and found[:2]


def read_with_keys(text: str) -> tuple[dict[str, object], Split, Keys] | None:
    """As `read`, and where the keys are: who changes one later need not read it all again."""
    parts = split(text)
    if parts is None:
        return None
    # `parse` strips all that it is given and changes its line ends, and copies a long body twice to do so.
    # So it gets the mark alone; the handler has the parts as they are in the file.
    handler = _Handler(parts)
    meta, _ = python_frontmatter.parse(parts.opening, handler=handler)
    return meta, parts, handler.keys


def load(yaml_text: str, *, first_line: int = 1) -> dict[str, object]:
    """The mapping that the YAML spells; BrokenConcept with the line, or TooLarge, when it is none we take.

    `first_line` is the number of the text's first line in its file, for messages.
    """
    return load_with_keys(yaml_text, first_line=first_line)[0]


def load_with_keys(yaml_text: str, *, first_line: int = 1) -> tuple[dict[str, object], Keys]:
    """As `load`, and where the keys are."""
    return _build(yaml_text, first_line)


def blocks(yaml_text: str, keys: Keys | None = None) -> list[Block] | None:
    """Where each top-level key stands, in order; None when the text cannot be cut between keys.

    `keys` saves reading the text, for who has read it. Blank lines and comments before a key belong to no block, so
    they stay when a block is changed.
    """
    if keys is None:
        try:
            _, keys = load_with_keys(yaml_text)
        except InvalidContent:
            return None
    starts = [start for _, start in keys]
    if any(start and yaml_text[start - 1] != "\n" for start in starts):
        return None  # a flow mapping, an indented one, or `? key`
    ends = [*starts[1:], len(yaml_text)]
    return [
        Block(key, start, start + _used(yaml_text[start:end]))
        for (key, start), end in zip(keys, ends, strict=True)
    ]


def dump(mapping: Mapping[str, object]) -> str:
    """The mapping as YAML: in its order, one stable form, and `load` gives the same mapping back."""
    return "".join(f"{line}\n" for line in _mapping_lines(mapping, 1))


def dump_value(value: object) -> str:
    """One value as YAML in its stable form: what is compared and shown when a key's value changes."""
    if isinstance(value, Mapping) and value:
        return "\n".join(_mapping_lines(value, 1))
    if is_list(value) and value:
        return "\n".join(_list_lines(value, 1))
    return _inline(value, flow=False, depth=1)


def load_value(text: str) -> object:
    """The value that `dump_value` wrote."""
    return load("value:\n" + "".join(f"  {line}\n" for line in text.split("\n")))["value"]


def plain_newlines(text: str) -> str:
    """The text with `\\n` line ends if every line of it ended with `\\r\\n`; else as it is.

    A mixed text keeps its `\\r`: there they are content, not the habit of an editor.
    """
    crlf = text.count("\r\n")
    return text.replace("\r\n", "\n") if crlf and crlf == text.count("\n") else text


class _Handler(YAMLHandler):
    """python-frontmatter's YAML handler for a text that is cut already: its YAML by this module's rules."""

    def __init__(self, parts: Split) -> None:
        super().__init__()
        self._parts = parts
        self.keys: Keys = ()

    def split(self, text: str) -> tuple[str, str]:  # noqa: ARG002 - see `read`
        """The YAML as it is in the file, and no body to strip."""
        return self._parts.yaml, ""

    def load(self, fm: str, **_: object) -> dict[str, object]:
        """The mapping, as `load` gives it; the YAML begins on the second line of its file."""
        meta, self.keys = load_with_keys(fm, first_line=2)
        return meta


# --- reading --------------------------------------------------------------------------------------


class _Open:
    """A list or mapping whose end has not been read yet."""

    __slots__ = ("anchor", "cost", "key", "value")

    def __init__(self, value: list[object] | dict[str, object], anchor: str | None) -> None:
        self.value = value
        self.anchor = anchor
        self.cost = 1
        self.key: str | None = None


def _build(yaml_text: str, first_line: int) -> tuple[dict[str, object], Keys]:
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
    return builder.result(), tuple(builder.keys)


def _events(yaml_text: str) -> Iterator[Event]:
    # A byte order mark inside the block would shift every offset; YAML allows it only as the first character.
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
        self.keys: list[tuple[str, int]] = []
        self._first_line = first_line
        self._stack: list[_Open] = []
        self._anchors: dict[str, tuple[object, int]] = {}
        self._expanded = 0
        self._documents = 0
        self._root: object = None
        self._resolver = _RESOLVER

    def result(self) -> dict[str, object]:
        if self._root is None:
            return {}
        if not isinstance(self._root, dict):
            raise BrokenConcept("The front matter is not a list of keys and values.")
        return self._root

    def take(self, event: Event) -> None:
        if isinstance(event, ScalarEvent):
            self._scalar(event)
        elif isinstance(event, MappingStartEvent):
            self._open({}, event)
        elif isinstance(event, SequenceStartEvent):
            self._open([], event)
        elif isinstance(event, MappingEndEvent | SequenceEndEvent):
            done = self._stack.pop()
            self._put(done.value, done.cost, done.anchor)
        elif isinstance(event, AliasEvent):
            self._alias(event)
        elif isinstance(event, DocumentStartEvent):
            self._documents += 1
            if self._documents > 1:
                raise self._broken("a second YAML document begins", event)

    def _open(self, value: list[object] | dict[str, object], event: Any) -> None:
        if len(self._stack) >= MAX_DEPTH:
            raise self._broken(f"it is nested deeper than {MAX_DEPTH} levels", event)
        self._refuse_as_key(event)
        self._stack.append(_Open(value, event.anchor))

    def _scalar(self, event: Any) -> None:
        if self._wants_key():
            self._key(event)
            return
        text: str = event.value
        tag = self._resolver.resolve(yaml.ScalarNode, text, event.implicit) if event.tag is None else ""
        self._put(_scalar_value(tag, text), 1 + len(text), event.anchor)

    def _key(self, event: Any) -> None:
        top = self._stack[-1]
        key: str = event.value
        if key in top.value:
            raise self._broken(f"the key {key[:60]!r} stands there twice", event)
        top.key = key
        top.cost += len(key)
        if len(self._stack) == 1:
            self.keys.append((key, event.start_mark.index))

    def _alias(self, event: Any) -> None:
        self._refuse_as_key(event)
        if event.anchor not in self._anchors:  # unknown, or the value that is still open: a circle
            raise self._broken(f"the alias {event.anchor[:60]!r} names nothing", event)
        value, cost = self._anchors[event.anchor]
        self._expanded += cost
        if self._expanded > MAX_EXPANDED:
            raise self._broken("its aliases expand to too much", event)
        self._put(value, cost, None)

    def _put(self, value: object, cost: int, anchor: str | None) -> None:
        if anchor is not None:
            self._anchors[anchor] = (value, cost)
        if not self._stack:
            self._root = value
            return
        top = self._stack[-1]
        top.cost += cost
        if isinstance(top.value, list):
            top.value.append(value)
        else:
            assert top.key is not None
            top.value[top.key] = value
            top.key = None

    def _wants_key(self) -> bool:
        return bool(self._stack) and isinstance(self._stack[-1].value, dict) and self._stack[-1].key is None

    def _refuse_as_key(self, event: Event) -> None:
        if self._wants_key():
            raise self._broken("a key is not plain text", event)

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
    if kind == "int":
        return _integer(text)
    if kind == "float":
        return _float(text)
    return text


def _integer(text: str) -> object:
    digits = text.replace("_", "")
    if len(digits) > MAX_NUMBER:  # reading it costs the square of its length
        return text
    sign = -1 if digits.startswith("-") else 1
    digits = digits.lstrip("+-")
    base = {"0b": 2, "0x": 16}.get(digits[:2], 8 if digits.startswith("0") and digits != "0" else 10)
    try:
        return sign * int(digits[2:] if base in (2, 16) else digits, base)
    except ValueError:  # base 60, a time of day to everyone but YAML 1.1; or `0x_`, a number without a digit
        return text


def _float(text: str) -> object:
    digits = text.replace("_", "").lower()
    if len(digits) > MAX_NUMBER:
        return text
    try:
        return float(digits.replace(".inf", "inf").replace(".nan", "nan"))
    except ValueError:
        return text


def _told(error: yaml.YAMLError, first_line: int) -> str:
    mark = getattr(error, "problem_mark", None) or getattr(error, "context_mark", None)
    problem = getattr(error, "problem", None) or getattr(error, "reason", None) or "it is not YAML"
    where = f"line {first_line + mark.line}: " if mark is not None else ""
    return f"The front matter cannot be read: {where}{problem}."


def _used(text: str) -> int:
    """How much of a key's stretch is the key's own: without the blank lines and comments at its end."""
    lines = text.split("\n")
    if lines[-1] == "":
        lines.pop()
    while len(lines) > 1 and (not lines[-1].strip() or lines[-1].startswith("#")):
        lines.pop()
    return min(len(text), sum(len(line) + 1 for line in lines))


# --- writing --------------------------------------------------------------------------------------

# Escaped: what YAML does not print, its line breaks, and characters that are invisible or turn the line
# around, so that a reader sees that they are there. Fixed ranges: `str.isprintable` differs between Python
# versions.
_ESCAPED = re.compile(
    '["\\\\\x00-\x1f\x7f-\x9f\u00ad\u061c\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff0-\uffff'
    "\U000e0000-\U000e0fff]"
)
_NAMED = {'"': '\\"', "\\": "\\\\", "\n": "\\n", "\t": "\\t", "\r": "\\r"}
_SPACES = "\u00a0\u1680\u2000-\u200a\u202f\u205f\u3000"
# A plain scalar begins with a letter (so it is no number, date or marker in any YAML) or `_` or `/`.
_PLAIN = re.compile(rf"[A-Za-z_/\u00a1-\U0010ffff](?:[^#:{_SPACES}]|:(?=[^ ])|(?<! )#)*", re.DOTALL)
_FLOW_MARKS = re.compile(r"[,\[\]{}:]")
_WORDS_OF_YAML = frozenset(("y", "n", "yes", "no", "on", "off", "true", "false", "null", "nan", "inf"))


def _mapping_lines(mapping: Mapping[str, object], depth: int) -> Iterator[str]:
    _check_depth(depth)
    for key, value in mapping.items():
        if not isinstance(key, str):
            kind = type(key).__name__  # type: ignore[unreachable]
            raise InvalidContent(f"A key is not text ({kind}), so it cannot be in front matter.")
        name = _text(key, flow=True)
        lead = f"{name}:"
        if len(name) > 500:  # longer than what YAML reads as a key without a mark
            yield f"? {name}"
            lead = ":"
        if isinstance(value, Mapping) and value:
            yield lead
            yield from (f"  {line}" for line in _mapping_lines(value, depth + 1))
        elif is_list(value) and value:
            yield lead
            yield from _list_lines(value, depth + 1)
        else:
            yield f"{lead} {_inline(value, flow=False, depth=depth + 1)}"


def _list_lines(values: Any, depth: int) -> Iterator[str]:
    _check_depth(depth)
    for value in values:
        # A small mapping in a list is one line: an entry, a source or a check reads and diffs as one thing.
        if isinstance(value, Mapping) and value and not _is_flat(value):
            lines = _mapping_lines(value, depth + 1)
        elif is_list(value) and value:
            lines = _list_lines(value, depth + 1)
        else:
            lines = iter((_inline(value, flow=False, depth=depth + 1),))
        yield f"- {next(lines)}"
        yield from (f"  {line}" for line in lines)


def _inline(value: object, *, flow: bool, depth: int) -> str:
    if isinstance(value, str):
        return _text(value, flow=flow)
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int):
        return _number(value)
    if isinstance(value, float):
        return _real(value)
    _check_depth(depth)
    if isinstance(value, Mapping):
        pairs = (
            f"{_text(key, flow=True)}: {_inline(item, flow=True, depth=depth + 1)}"
            for key, item in value.items()
        )
        return f"{{{', '.join(pairs)}}}"
    if is_list(value) and not value:
        return "[]"
    raise InvalidContent(f"A value of the kind {type(value).__name__} cannot be in front matter.")


def _is_flat(mapping: Mapping[str, object]) -> bool:
    return all(
        isinstance(key, str) and len(key) <= 100 and (item is None or isinstance(item, str | int | float))
        for key, item in mapping.items()
    )


def is_list(value: object) -> TypeGuard[Sequence[object]]:
    """Whether front matter writes a value as a list."""
    return isinstance(value, Sequence) and not isinstance(value, str | bytes | bytearray)


def _check_depth(depth: int) -> None:
    if depth > MAX_DEPTH:
        raise InvalidContent(f"Front matter cannot be nested deeper than {MAX_DEPTH} levels.")


def _text(text: str, *, flow: bool) -> str:
    if (
        _PLAIN.fullmatch(text)
        and not _ESCAPED.search(text)
        and text[-1] not in " :"
        and text.lower() not in _WORDS_OF_YAML
        and not (flow and _FLOW_MARKS.search(text))
    ):
        return text
    return f'"{_ESCAPED.sub(_escape, text)}"'


def _escape(found: re.Match[str]) -> str:
    character = found.group()
    if character in _NAMED:
        return _NAMED[character]
    code = ord(character)
    if code < 0x100:
        return f"\\x{code:02X}"
    return f"\\u{code:04X}" if code < 0x10000 else f"\\U{code:08X}"


def _number(value: int) -> str:
    if abs(value) >= 10**MAX_NUMBER:
        raise InvalidContent(f"A number of more than {MAX_NUMBER} digits cannot be in front matter.")
    return str(int(value))


def _real(value: float) -> str:
    if math.isnan(value):
        return ".nan"
    if math.isinf(value):
        return ".inf" if value > 0 else "-.inf"
    text = repr(float(value))
    # YAML 1.1 reads `1e+20` as text: it wants the dot, and a sign in the exponent.
    mantissa, mark, exponent = text.partition("e")
    if not mark:
        return text
    if "." not in mantissa:
        mantissa += ".0"
    return f"{mantissa}e{exponent if exponent[0] in '+-' else '+' + exponent}"
