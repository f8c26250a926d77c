"""One key of a settings file in JSON (also with comments), TOML or YAML: set, removed, and taken back to the byte.

Pure: texts in, texts out. An edit is textual, so that comments and order stay. Each form proposes places for it, and the
first is taken that is proved: read again, the text differs in that one key alone; without one nothing is changed.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Literal, NamedTuple

from gitmem.errors import ConfigError

Form = Literal["json", "toml", "yaml"]
Keys = Sequence[str]
"""The way to a key, from the top of the file."""

_BOM = "\ufeff"
_INDENT = "  "


def load(form: Form, text: str) -> dict[str, Any]:
    """Read all settings of a text; nothing where it is empty."""
    text = text.removeprefix(_BOM)
    try:
        found = _LOAD[form](text) if text.strip() else {}
    except (ValueError, RecursionError) as error:
        raise ConfigError(f"The file is not readable as {form.upper()}.", hint="Correct it first.") from error
    if not isinstance(found, dict | None):
        raise ConfigError("The file does not hold settings by their names.", hint="Correct it first.")
    return found or {}


def get(form: Form, text: str, keys: Keys) -> Any:
    """Return the value of a key; None where there is none."""
    return _at(load(form, text), keys)


def put(form: Form, text: str, keys: Keys, value: Any) -> str:
    """Return the text with this value of a key; None is to have no such key, nor a group that is empty by that."""
    if get(form, text, keys) == value:
        return text
    body = text.removeprefix(_BOM)
    for proposed in _PROPOSE[form](body, keys, value):
        after = text.removesuffix(body) + proposed
        if _is_proved(form, text, after, keys) and get(form, after, keys) == value:
            return after
    name = ".".join(keys)
    by_hand = (
        f"Take `{name}` out"
        if value is None
        else f"Set `{name}` to `{json.dumps(value, ensure_ascii=False)}`"
    )
    raise ConfigError(
        "The file has a form that is not edited safely, so it was left as it is.", hint=f"{by_hand} by hand."
    )


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

    @classmethod
    def between(cls, before: str, after: str) -> Edit:
        """Describe the difference of two texts that differ in one place."""
        start = _common(before, after)
        end = _common(before[start:][::-1], after[start:][::-1])
        return cls(start, after[start : len(after) - end], before[start : len(before) - end])


def take_back(form: Form, now: str, edit: Edit | None, keys: Keys) -> str:
    """Return the text without our edit: as it was to the byte, or cut out of a text that was changed since.

    Without a note of the edit the key is removed.
    """
    if edit is not None:
        places = [edit.start, now.find(edit.added)] if now.count(edit.added) == 1 else [edit.start]
        for at in places:
            end = at + len(edit.added)
            left = now[:at] + edit.removed + now[end:]
            # A note is a file that others may have written: it changes that one key or nothing.
            if now[at:end] == edit.added and _is_proved(form, now, left, keys):
                return left
    return put(form, now, keys, None)


def _common(one: str, other: str) -> int:
    """Return the length of the beginning that two texts share."""
    return next(
        (at for at, (a, b) in enumerate(zip(one, other, strict=False)) if a != b), min(len(one), len(other))
    )


def _is_proved(form: Form, before: str, after: str, keys: Keys) -> bool:
    """Return whether two texts differ in that key alone; strict JSON stays strict."""
    try:
        if form == "json" and _strict(before) == before and _strict(after) != after:
            return False
        is_same: bool = _without(load(form, after), keys) == _without(load(form, before), keys)
        return is_same
    except ConfigError:
        return False


def _at(found: Any, keys: Keys) -> Any:
    for key in keys:
        found = found.get(key) if isinstance(found, dict) else None
    return found


def _without(found: Any, keys: Keys) -> Any:
    """Return all that must not change; an empty group and none are the same."""
    if not keys or not isinstance(found, dict | None):
        return found if keys else None
    rest = {key: value for key, value in (found or {}).items() if key != keys[0]}
    inside = _without((found or {}).get(keys[0]), keys[1:])
    return {**rest, keys[0]: inside} if inside else rest


# --- TOML ------------------------------------------------------------------------------------------------


def _load_toml(text: str) -> Any:
    import tomllib

    return tomllib.loads(text)


def _propose_toml(text: str, keys: Keys, value: Any) -> Iterator[str]:
    """Cut the table and those below it, from their heads to the next head; then add the new one at the end."""
    name = r"\s*\.\s*".join(rf"(?:\"{re.escape(key)}\"|{re.escape(key)})" for key in keys)
    head = re.compile(rf"\s*\[\s*{name}\s*(\.[^\]]*)?\]\s*(#.*)?")
    kept: list[str] = []
    is_inside = False
    for line in text.splitlines(keepends=True):
        if line.lstrip().startswith("["):
            is_inside = head.fullmatch(line.rstrip("\r\n")) is not None
            if is_inside and kept and not kept[-1].strip():
                kept.pop()  # the empty line before it
        if not is_inside:
            kept.append(line)
    rest = "".join(kept)
    if value is None:
        yield rest
    elif isinstance(value, Mapping):
        between = "" if not rest.strip() else "\n" if rest.endswith("\n") else "\n\n"
        lines = [f"{_key(key)} = {_toml(one)}\n" for key, one in value.items()]
        yield f"{rest}{between}[{'.'.join(keys)}]\n{''.join(lines)}"


def _toml(value: Any) -> str:
    if isinstance(value, Mapping):
        return f"{{ {', '.join(f'{_key(key)} = {_toml(one)}' for key, one in value.items())} }}"
    return json.dumps(value, ensure_ascii=False)


def _key(name: str) -> str:
    return name if re.fullmatch(r"[\w-]+", name, re.ASCII) else json.dumps(name, ensure_ascii=False)


# --- JSON, also with comments ----------------------------------------------------------------------------

_STRING = r'"(?:[^"\\]|\\.)*"'
_COMMENT = re.compile(rf"({_STRING})|//[^\n]*|/\*.*?\*/", re.DOTALL)
_LAST_COMMA = re.compile(rf"({_STRING})|,(?=\s*[}}\]])", re.DOTALL)


def _load_json(text: str) -> Any:
    return json.loads(_strict(text))


def _without_comments(text: str) -> str:
    """JSON with blanks in the place of comments, of the same length."""
    return _COMMENT.sub(lambda one: one[1] or re.sub(r"[^\n]", " ", one[0]), text)


def _strict(text: str) -> str:
    """The same without a comma behind the last item."""
    return _LAST_COMMA.sub(lambda one: one[1] or " ", _without_comments(text))


def _members(text: str, key: str) -> Iterator[tuple[int, int, int]]:
    """Find a key at any depth: where it begins, where its value begins, and where that ends."""
    bare = _strict(text)
    for found in re.finditer(rf"{re.escape(json.dumps(key))}\s*:\s*", bare):
        try:
            yield found.start(), found.end(), json.JSONDecoder().raw_decode(bare, found.end())[1]
        except ValueError:  # a text in a text
            continue


def _propose_json(text: str, keys: Keys, value: Any) -> Iterator[str]:
    for start, begin, end in _members(text, keys[-1]):
        if value is not None:
            yield text[:begin] + _json(value, len(keys)) + text[end:]
            continue
        before, rest = text[:start].rstrip(), text[end:]
        yield before + re.sub(r"\A\s*,", "", rest)
        bare = _without_comments(before).rstrip()
        if bare.endswith(","):  # of the last one the comma before it goes
            yield before[: len(bare) - 1] + before[len(bare) :] + rest
        yield before + rest
    if value is None:
        return
    text = text if text.strip() else "{}\n"
    for depth in range(len(keys) - 1, -1, -1):  # into the deepest object on the way that is there
        line = f"\n{_INDENT * (depth + 1)}{json.dumps(keys[depth])}: {_json(value, depth + 1)}"
        places = [span[1] for span in _members(text, keys[depth - 1])] if depth else [text.find("{")]
        for at in places:
            rest = text[at + 1 :]
            tail = "" if rest.lstrip(" \t\r").startswith("\n") else "\n" + _INDENT * depth
            yield text[: at + 1] + line + tail + rest.lstrip(" \t")  # it was empty
            yield text[: at + 1] + line + "," + rest
        value = {keys[depth]: value}


def _json(value: Any, depth: int) -> str:
    written = json.dumps(value, indent=len(_INDENT), ensure_ascii=False)
    return written.replace("\n", "\n" + _INDENT * depth)


# --- YAML ------------------------------------------------------------------------------------------------


def _load_yaml(text: str) -> Any:
    import yaml

    try:
        return yaml.safe_load(text)
    except yaml.YAMLError as error:
        raise ValueError(str(error)) from error


def _propose_yaml(text: str, keys: Keys, value: Any) -> Iterator[str]:
    """Keys in lines of their own: the line of the key, one below the line of its group, or lines at the end."""
    newline = "\r\n" if "\r\n" in text else "\n"
    own = f" {_scalar(value)}"
    for found in _line_of(keys[-1]).finditer(text):
        if value is not None:
            yield text[: found.start("value")] + own + text[found.end("value") :]
            continue
        start, end = found.start(), found.end() + len(newline)
        if len(keys) > 1:  # with its group, where nothing else is in it
            group = re.compile(rf"^{re.escape(keys[0])}:[ \t]*\r?\n\Z", re.MULTILINE).search(text[:start])
            yield from [text[: group.start()] + text[end:]] if group else ()
        yield text[:start] + text[end:]
    if value is None:
        return
    for found in _line_of(keys[0]).finditer(text) if len(keys) > 1 else ():
        if found["value"].strip() in ("", "null", "{}") or not found["value"].strip("{ }"):
            below = re.compile(r"(?:\s*(?:#[^\n]*)?\n)*([ \t]+)\S").match(text, found.end())
            head = text[: found.start("value")] + text[found.end("value") : found.end()]
            for indent in (below[1] if below else _INDENT, _INDENT):
                yield f"{head}{newline}{indent}{keys[1]}:{own}{text[found.end() :]}"
    if keys[0] not in load("yaml", text):
        end_of_document = re.search(r"^\.\.\.", text, re.MULTILINE)
        at = end_of_document.start() if end_of_document else len(text)
        before = text[:at] + ("" if text[:at].endswith("\n") or not at else newline)
        lines = f"{keys[0]}:{own}" if len(keys) == 1 else f"{keys[0]}:{newline}{_INDENT}{keys[1]}:{own}"
        yield f"{before}{lines}{newline}{text[at:]}"


def _line_of(key: str) -> re.Pattern[str]:
    """Match a line with a key, its value, and a comment."""
    return re.compile(
        rf"^[ \t]*([\"']?){re.escape(key)}\1:(?P<value>(?: +(?:{_STRING}|'[^'\n]*'|[^\s#'\"][^\n#]*?))?)"
        r"(?P<rest>[ \t]*(?:[ \t]#[^\r\n]*)?)(?=\r?$)",
        re.MULTILINE,
    )


def _scalar(value: Any) -> str:
    if isinstance(value, str) and re.fullmatch(r"[A-Za-z][\w-]*", value) and _load_yaml(value) == value:
        return value
    return json.dumps(value, ensure_ascii=False)


_LOAD = {"toml": _load_toml, "json": _load_json, "yaml": _load_yaml}
_PROPOSE = {"toml": _propose_toml, "json": _propose_json, "yaml": _propose_yaml}
