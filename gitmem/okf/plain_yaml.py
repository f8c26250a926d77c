"""Front matter in the form that gitmem writes, read line by line; whatever else a text has is YAML's business.

Buys "`gitmem log -n 20` against `import click, dulwich.repo`": importing PyYAML and python-frontmatter was a fifth of it.

The form: `key: value` or `key: [word, word]`; a key with `- value` or `- {key: value, …}` lines below it, or with
`  key: value` lines. A value is words, a text in double quotes without escapes, a number, a version or a moment; a comment
may stand behind one. Anything in doubt is not plain.
"""

from __future__ import annotations

import re

Keys = tuple[tuple[str, int], ...]
"""The top-level keys of a YAML text in order, each with the character it begins at."""

_LONGEST = 64 * 1024
_KEY = r"[A-Za-z_][A-Za-z0-9_-]{0,59}"
_LINE = re.compile(rf"(  )?({_KEY}):(?: (\S.*))?|- (\S.*)")
_TOP = re.compile(rf"^({_KEY}):", re.MULTILINE)
_WORDS = re.compile(r"[A-Za-z_/](?:[ !\"$-9;-~]|:(?! |\Z)|(?<! )#)*(?<! )")
_QUOTED = re.compile(r'"[ !#-[\]-~]*"')
_COMMENT = re.compile(" +#[ -~]*$")
_BEYOND_ASCII = re.compile(r"[^\x00-\x7f]")
_NUMBER = re.compile("0|[1-9][0-9]{0,17}")
_FRACTION = re.compile(r"(?:0|[1-9][0-9]{0,8})\.[0-9]{1,9}")
# A moment, a version of three parts, or an id that begins with a digit and has a letter: never a number, not even one in
# base 2, 8, 16 or 60.
_TEXT_OF_DIGITS = re.compile(
    r"[0-9]+\.[0-9]+\.[0-9]+|[0-9]{4}-[0-9]{2}-[0-9]{2}(?:T[0-9]{2}:[0-9]{2}:[0-9]{2}(?:\.[0-9]+)?Z)?|(?!0b[01]+\Z|0x[0-9a-f]+\Z)[0-9]+[a-z][0-9a-z]*"
)
_PAIR = re.compile(rf'({_KEY}): ("[^"]*"|[A-Za-z0-9_/][A-Za-z0-9_./-]*)(?:, (?!\Z)|\Z)')
_WORD_LIST = re.compile(r"\[[A-Za-z][A-Za-z0-9_-]*(?:, [A-Za-z][A-Za-z0-9_-]*)*\]")
_MEANS_SOMETHING = frozenset(("y", "n", "yes", "no", "on", "off", "true", "false", "null"))
"""Words that YAML reads as a truth or as nothing."""


def read_plain(text: str) -> dict[str, object] | None:
    """The mapping that the text spells; None where it is not in the plain form, and YAML has to say what it is."""
    if len(text) > _LONGEST or not text.endswith("\n"):
        return None
    try:
        return _read(text[:-1].split("\n"))
    except ValueError:
        return None


def plain_keys(text: str) -> Keys:
    """Where the keys of a text are that `read_plain` can read."""
    return tuple((found[1], found.start()) for found in _TOP.finditer(text))


def _read(lines: list[str]) -> dict[str, object]:
    found: dict[str, object] = {}
    name = ""  # of the key whose lines may follow
    below: list[object] | dict[str, object] | None = None
    for line in lines:
        match = _LINE.fullmatch(line)
        if match is None:
            raise ValueError(line)
        indented, key, value, item = match.groups()
        if key is None or indented:
            if not name:
                raise ValueError(line)
            if below is None:
                below = list[object]() if key is None else dict[str, object]()
                found[name] = below
            if isinstance(below, list) and key is None:
                below.append(_item(item))
            elif isinstance(below, dict) and key is not None and key not in below and value is not None:
                below[key] = _value(value)
            else:
                raise ValueError(line)
            continue
        if key in found or (name and below is None):
            raise ValueError(line)
        name, below = "", None
        if value is None:
            name, found[key] = key, None
        else:
            value = _COMMENT.sub("", value) if value[0] != '"' else value
            found[key] = _list(value) if value[:1] == "[" else _value(value)
    if name and below is None:
        raise ValueError(name)
    return found


def _list(text: str) -> list[object]:
    """A list in a line: of words, or an empty one."""
    if text == "[]":
        return []
    if not _WORD_LIST.fullmatch(text):
        raise ValueError(text)
    return [_value(word) for word in text[1:-1].split(", ")]


def _item(text: str) -> object:
    """One of a list: a value, or a small mapping in a line."""
    if not text.startswith("{"):
        return _value(text)
    inner, place = text[1:-1], 0
    found: dict[str, object] = {}
    while pair := _PAIR.match(inner, place):
        key, value = pair.groups()
        if key in found:
            raise ValueError(text)
        found[key] = _value(value)
        place = pair.end()
    if not found or place != len(inner) or text[-1] != "}":
        raise ValueError(text)
    return found


def _value(text: str) -> object:
    shape = text if text.isascii() else _BEYOND_ASCII.sub(_as_a_letter, text)
    if shape[0] == '"':
        if _QUOTED.fullmatch(shape):
            return text[1:-1]
    elif _WORDS.fullmatch(shape):
        if text.lower() not in _MEANS_SOMETHING:
            return text
    elif _NUMBER.fullmatch(shape):
        return int(text)
    elif _FRACTION.fullmatch(shape):
        return float(text)
    elif _TEXT_OF_DIGITS.fullmatch(shape):
        return text
    raise ValueError(text)


def _as_a_letter(found: re.Match[str]) -> str:
    """A letter in the place of a character that no YAML takes for a line end, a space, a mark or nothing at all."""
    if "\u00a1" <= found[0] <= "\u1fff" or "\u3041" <= found[0] <= "\ud7ff":
        return "x"
    raise ValueError(found[0])
