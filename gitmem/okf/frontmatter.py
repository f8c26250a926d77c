"""Front matter: where it is in a text, byte for byte, and its YAML read and written on our terms.

`read` reads a file through python-frontmatter with a handler of ours (`yaml_reading.py`) into plain values: None, bool, int,
float, str, list, dict. On purpose, and unlike `yaml.safe_load`:

- timestamps stay text, and so do times of day (`12:30`), which YAML 1.1 takes for numbers in base 60;
- keys are text at every level (`1:`, `yes:` and `null:` are the keys "1", "yes" and "null");
- duplicate keys, anchors and aliases are refused, tags are ignored (`!!python/…` is inert), `<<` is a key like any other;
- size and depth are limited before they cost anything.

Writing is done here and not by PyYAML, because the text of a value is compared in merges: it must be the same
with every version of every library on every machine.
"""

from __future__ import annotations

import math
import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Any, NamedTuple, TypeGuard

from gitmem.errors import BrokenConcept, InvalidContent

MAX_YAML_BYTES = 256 * 1024
MAX_DEPTH = 64
MAX_NUMBER = 1000

_OPENING = re.compile(r"\ufeff?---[ \t]*\r?\n")
_CLOSING = re.compile(r"^---[ \t]*(?:\r?\n|\Z)", re.MULTILINE)
_KEY = re.compile(
    r"""^(?![\s#%{}\[\],&*!|>@`]|[-?:]\s)(?:(?:"(?:\\.|[^"\\\n])*"|'[^'\n]*')[ \t]*|[^"'\n][^\n]*?):(?=\s|\Z)""",
    re.MULTILINE,
)


class Split(NamedTuple):
    """A text cut at its front matter; the four parts joined are the text again."""

    opening: str
    yaml: str
    closing: str
    body: str


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
    """Return whether the text begins with front matter, closed or not, also behind a byte order mark."""
    return _OPENING.match(text) is not None


def read(text: str) -> tuple[dict[str, object], Split] | None:
    """The values of the text's front matter, and the text cut at it; None and errors as of `split` and `load`.

    Files are read in this way; `split` and `load` alone read a broken one leniently.
    """
    parts = split(text)
    if parts is None:
        return None
    from gitmem.okf.yaml_reading import through_the_package

    return through_the_package(parts.opening, parts.yaml), parts


def load(yaml_text: str, *, first_line: int = 1) -> dict[str, object]:
    """The mapping that the YAML spells; BrokenConcept with the line, or TooLarge, when it is none we take.

    `first_line` is the number of the text's first line in its file, for messages.
    """
    from gitmem.okf.yaml_reading import build

    return build(yaml_text, first_line)


def blocks(yaml_text: str, keys: Collection[str]) -> list[tuple[int, int]] | None:
    """Return the span of each top-level key with its value, of which all are given; None when the text cannot be cut so.

    A line inside quotes may look like a key: the caller proves what it makes of the blocks. Blank lines and comments
    before a key belong to no block, so they stay when a block is changed.
    """
    starts = [found.start() for found in _KEY.finditer(yaml_text)]
    if len(starts) != len(keys):
        return None  # a flow mapping, an indented one, or `? key`
    ends = [*starts[1:], len(yaml_text)]
    return [(start, start + _used(yaml_text[start:end])) for start, end in zip(starts, ends, strict=True)]


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


def _used(text: str) -> int:
    """Return the size of a key's own block, without the blank lines and comments at its end."""
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
# Not as one class of characters: making one that wide takes longer than reading a dozen files.
_PLAIN = re.compile(rf"(?:[A-Za-z_/]|[^\x00-\xa0])(?:[^#:{_SPACES}]|:(?=[^ ])|(?<! )#)*", re.DOTALL)
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
    """Return whether front matter writes a value as a list."""
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
