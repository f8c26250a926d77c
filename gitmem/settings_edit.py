"""One key of a settings file in JSON (also with comments), TOML or YAML: set, removed, and taken back to the byte.

Pure: texts in, texts out. The place of a key is found by the marks of a parser, and the cut is textual, so that comments
and order stay. Each edit is proved: read again, the text may differ in that one key alone; else nothing is changed.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Mapping, Sequence
from typing import Any, Literal, NamedTuple, NoReturn

from gitmem.errors import ConfigError

Form = Literal["json", "toml", "yaml"]
Keys = Sequence[str]
"""The way to a key, from the top of the file."""

_BOM = "\ufeff"
_INDENT = "  "
_WORDS_OF_YAML = ("true", "false", "yes", "no", "on", "off", "null", "y", "n")


def load(form: Form, text: str) -> dict[str, Any]:
    """Read all settings of a text; nothing where it is empty."""
    text = text.removeprefix(_BOM)
    try:
        found = _LOAD[form](text) if text.strip() else {}
    except (ValueError, RecursionError) as error:
        where = f" (line {error.args[1]})" if len(error.args) > 1 and isinstance(error.args[1], int) else ""
        raise ConfigError(
            f"The file is not readable as {form.upper()}{where}.", hint="Correct it first."
        ) from error
    if not isinstance(found, dict | None):
        raise ConfigError("The file does not hold settings by their names.", hint="Correct it first.")
    return found or {}


def get(form: Form, text: str, keys: Keys) -> Any:
    """Return the value of a key; None where there is none."""
    return _at(load(form, text), keys)


def put(form: Form, text: str, keys: Keys, value: Any) -> str:
    """Return the text with this value of a key."""
    if get(form, text, keys) == value:
        return text
    body = text.removeprefix(_BOM)
    return _proved(form, text, text.removesuffix(body) + _PUT[form](body, keys, value), keys, value)


def remove(form: Form, text: str, keys: Keys) -> str:
    """Return the text without a key, and without a group that is empty by that; the same text where it has none."""
    if get(form, text, keys) is None:
        return text
    body = text.removeprefix(_BOM)
    return _proved(form, text, text.removesuffix(body) + _REMOVE[form](body, keys), keys, None)


def keys_of_setting(text: str, name: str) -> Keys:
    """Return the way to a setting of gitmem in a YAML text: by its dotted name, or in the lines of its group."""
    group, _, own = name.rpartition(".")
    is_in_group = (
        group and get("yaml", text, (name,)) is None and isinstance(get("yaml", text, (group,)), dict)
    )
    return (group, own) if is_in_group else (name,)


class Edit(NamedTuple):
    """An edit that can be taken back: the piece that was put in, the one that it replaced, and their place.

    The file itself is not kept, since it may hold keys.
    """

    start: int
    added: str
    removed: str
    after: str

    @classmethod
    def between(cls, before: str, after: str) -> Edit:
        """Describe the difference of two texts that differ in one place."""
        start = _common(before, after)
        end = _common(before[start:][::-1], after[start:][::-1])
        added, removed = after[start : len(after) - end], before[start : len(before) - end]
        return cls(start, added, removed, _hash(after))


def take_back(form: Form, now: str, edit: Edit | None, keys: Keys) -> str:
    """Return the text without our edit: as it was to the byte, or cut out of a text that was changed since.

    Without a note of the edit the key is removed.
    """
    tried: list[str] = []
    if edit is not None and _hash(now) == edit.after:
        tried.append(now[: edit.start] + edit.removed + now[edit.start + len(edit.added) :])
    if edit is not None and edit.added.strip() and now.count(edit.added) == 1:
        tried.append(now.replace(edit.added, edit.removed))
    for text in tried:
        try:
            # A note is a file that others may have written: it changes that one key or nothing.
            if _without(load(form, text), keys) == _without(load(form, now), keys):
                return text
        except ConfigError:
            pass
    return remove(form, now, keys)


def _common(one: str, other: str) -> int:
    """Return the length of the beginning that two texts share."""
    shortest = min(len(one), len(other))
    return next((place for place in range(shortest) if one[place] != other[place]), shortest)


def _hash(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


# --- proof -----------------------------------------------------------------------------------------------


def _proved(form: Form, before: str, after: str, keys: Keys, value: Any) -> str:
    try:
        found = load(form, after)
    except ConfigError:
        _refuse()
    if _at(found, keys) != value or _without(found, keys) != _without(load(form, before), keys):
        _refuse()
    return after


def _at(found: Any, keys: Keys) -> Any:
    for key in keys:
        found = found.get(key) if isinstance(found, dict) else None
    return found


def _without(found: Any, keys: Keys) -> Any:
    """Return all that must not change; an empty group and none are the same."""
    if not keys or not isinstance(found, dict | None):
        return None if not keys else found
    rest = {key: value for key, value in (found or {}).items() if key != keys[0]}
    inside = _without((found or {}).get(keys[0]), keys[1:])
    return {**rest, keys[0]: inside} if inside else rest


def _refuse() -> NoReturn:
    raise ConfigError(
        "The file has a form that is not edited safely, so it was left as it is.", hint="Change it by hand."
    )


# --- TOML ------------------------------------------------------------------------------------------------


def _load_toml(text: str) -> Any:
    import tomllib

    return tomllib.loads(text)


def _put_toml(text: str, keys: Keys, value: Any) -> str:
    if not isinstance(value, Mapping):
        _refuse()
    text = _remove_toml(text, keys)
    head = ".".join(key if re.fullmatch(r"[\w-]+", key, re.ASCII) else json.dumps(key) for key in keys)
    lines = [f"[{head}]", *(f"{key} = {json.dumps(one, ensure_ascii=False)}" for key, one in value.items())]
    between = "" if not text.strip() else "\n" if text.endswith("\n") else "\n\n"
    return text + between + "\n".join(lines) + "\n"


def _remove_toml(text: str, keys: Keys) -> str:
    """Cut the table and those below it, from their heads to the next head."""
    name = r"\s*\.\s*".join(rf"(?:\"{re.escape(key)}\"|{re.escape(key)})" for key in keys)
    head = re.compile(rf"\s*\[\s*{name}\s*(\.[^\]]*)?\]\s*(#.*)?")
    kept: list[str] = []
    inside = False
    for line in text.splitlines(keepends=True):
        if line.lstrip().startswith("["):
            inside = head.fullmatch(line.rstrip("\r\n")) is not None
            if inside and kept and not kept[-1].strip():
                kept.pop()  # the empty line before it
        if not inside:
            kept.append(line)
    return "".join(kept)


# --- JSON, also with comments ----------------------------------------------------------------------------

_STRING = r'"(?:[^"\\]|\\.)*"'
_COMMENT = re.compile(rf"({_STRING})|//[^\n]*|/\*.*?\*/", re.DOTALL)
_LAST_COMMA = re.compile(rf"({_STRING})|,(?=\s*[}}\]])", re.DOTALL)
_KEY = re.compile(rf"[\s,]*({_STRING})\s*:\s*", re.DOTALL)
_COMMA = re.compile(r"\s*,")


class _Member(NamedTuple):
    """A key of an object and its value, by where they are in the text."""

    key: str
    start: int
    value: int
    end: int


def _without_comments(text: str) -> str:
    """JSON with blanks in the place of comments, of the same length."""
    return _COMMENT.sub(lambda one: one[1] or re.sub(r"[^\n]", " ", one[0]), text)


def _strict(text: str) -> str:
    """The same without a comma behind the last item."""
    return _LAST_COMMA.sub(lambda one: one[1] or " ", _without_comments(text))


def _load_json(text: str) -> Any:
    return json.loads(_strict(text))


def _members(bare: str, opening: int) -> list[_Member]:
    """Find the members of the object that opens there, in strict JSON."""
    members: list[_Member] = []
    end = opening + 1
    while key := _KEY.match(bare, end):
        end = json.JSONDecoder().raw_decode(bare, key.end())[1]
        members.append(_Member(json.loads(key[1]), key.start(1), key.end(), end))
    return members


def _json_way(text: str, keys: Keys) -> tuple[int, list[_Member], int]:
    """Go down to the last object on the way that is there: where it opens, its members, how deep it is."""
    bare = _strict(text)
    top = len(bare) - len(bare.lstrip())
    members = _members(bare, top)
    for depth, key in enumerate(keys[:-1]):
        inside = next((one for one in members if one.key == key), None)
        if inside is None:
            return top, members, depth
        if text[inside.value] != "{":
            _refuse()
        top, members = inside.value, _members(bare, inside.value)
    return top, members, len(keys) - 1


def _put_json(text: str, keys: Keys, value: Any) -> str:
    top, members, depth = _json_way(text, keys) if text.strip() else (0, [], 0)
    margin = "\n" + _INDENT * (depth + 1)
    there = next((one for one in members if one.key == keys[depth]), None)
    for key in reversed(keys[depth + 1 :]):
        value = {key: value}
    written = json.dumps(value, indent=len(_INDENT), ensure_ascii=False).replace("\n", margin)
    if there is not None:
        return text[: there.value] + written + text[there.end :]
    line = f"{margin}{json.dumps(keys[depth])}: {written}"
    if not text.strip():
        return f"{{{line}\n}}\n"
    rest = text[top + 1 :]
    if not members and rest.lstrip(" \t").startswith("}"):
        line, rest = line + "\n" + _INDENT * depth, rest.lstrip(" \t")
    return text[: top + 1] + line + ("," if members else "") + rest


def _remove_json(text: str, keys: Keys) -> str:
    _, members, _ = _json_way(text, keys)
    at = next(number for number, one in enumerate(members) if one.key == keys[-1])
    one, bare = members[at], _without_comments(text)
    if comma := _COMMA.match(bare, one.end):
        rest = text[comma.end() :]
        return text[: one.start] + re.sub(r"\A[ \t]*\r?\n?[ \t]*", "", rest)
    if at and (comma := _COMMA.match(bare, members[at - 1].end)):  # the last one: the comma before it goes
        return text[: comma.end() - 1] + text[comma.end() : one.start].rstrip() + text[one.end :]
    return text[: one.start].rstrip() + text[one.end :].lstrip()


# --- YAML: PyYAML's nodes are untyped --------------------------------------------------------------------


def _load_yaml(text: str) -> Any:
    import yaml

    try:
        return yaml.safe_load(text)
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        raise ValueError(str(error), mark.line + 1 if mark is not None else "") from error


def _pairs(text: str, keys: Keys) -> list[Any]:
    """Find key and value of each name on the way, as far as they are there; only groups in lines of their own are edited."""
    import yaml

    node: Any = yaml.compose(text, Loader=yaml.SafeLoader)
    found: list[Any] = []
    for name in keys:
        if node is None or _is_empty(node):
            break
        if node.id != "mapping" or node.flow_style:
            _refuse()
        same = next((pair for pair in node.value if pair[0].value == name), None)
        if same is None:
            break
        found.append(same)
        node = same[1]
    return found


def _is_empty(node: Any) -> bool:
    return not node.value or node.tag.endswith(":null")


def _put_yaml(text: str, keys: Keys, value: Any) -> str:
    found = _pairs(text, keys)
    if len(found) == len(keys):
        start, end = _span(found[-1][1])
        return f"{text[:start].rstrip(' ')} {_scalar(value)}{text[end:]}"
    rest = keys[len(found) :]
    lines = [f"{_INDENT * depth}{key}:" for depth, key in enumerate(rest)]
    lines[-1] += f" {_scalar(value)}"
    newline = "\r\n" if "\r\n" in text else "\n"
    if not found:
        end_of_document = re.search(r"^\.\.\.", text, re.MULTILINE)
        at = end_of_document.start() if end_of_document else len(text)
        head = "" if text[:at].endswith("\n") or not at else newline
        return text[:at] + head + "".join(f"{one}{newline}" for one in lines) + text[at:]
    key, group = found[-1]
    column = group.start_mark.column
    if _is_empty(group):  # `memory:`, `memory: null`, `memory: {}`
        start, end = _span(group)
        text, column = text[:start].rstrip(" ") + text[end:], key.start_mark.column + len(_INDENT)
    # Behind the line of the group itself, before its first comment.
    at = re.compile(r"\r?\n|\Z").search(text, _span(key)[1]).start()  # type: ignore[union-attr]
    return text[:at] + "".join(f"{newline}{' ' * column}{one}" for one in lines) + text[at:]


def _remove_yaml(text: str, keys: Keys) -> str:
    found = _pairs(text, keys)
    key, value = found[-1]
    if len(found) > 1:
        above, group = found[-2]
        if len(group.value) == 1 and "#" not in text[_span(above)[1] : _span(key)[0]]:  # it would be empty
            key = above
    start = text.rfind("\n", 0, _span(key)[0]) + 1
    end = text.find("\n", _span(value)[1]) + 1
    return text[:start] + text[end:] if end else text[:start].removesuffix("\n").removesuffix("\r")


def _span(node: Any) -> tuple[int, int]:
    """Return where a key or value of one line is."""
    start, end = node.start_mark, node.end_mark
    if (node.id != "scalar" and not _is_empty(node)) or start.line != end.line:
        _refuse()
    return start.index, end.index


def _scalar(value: Any) -> str:
    if isinstance(value, bool) or not isinstance(value, str):
        return json.dumps(value)
    is_plain = re.fullmatch(r"[A-Za-z][A-Za-z0-9_-]*", value) and value.lower() not in _WORDS_OF_YAML
    return value if is_plain else json.dumps(value, ensure_ascii=False)


_LOAD = {"toml": _load_toml, "json": _load_json, "yaml": _load_yaml}
_PUT = {"toml": _put_toml, "json": _put_json, "yaml": _put_yaml}
_REMOVE = {"toml": _remove_toml, "json": _remove_json, "yaml": _remove_yaml}
