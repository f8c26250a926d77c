"""Other programs' settings files: an entry put in, changed or taken out, with every comment and all order kept.

Each edit is proved: the file is read before and after, and may differ in that one entry alone. A file that cannot be
edited so is left as it is.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any, Literal, NamedTuple, NoReturn

from gitmem.errors import ConfigError

Form = Literal["toml", "json", "yaml"]
Entry = Mapping[str, Any]
_INDENT = "  "


def read_entry(form: Form, text: str, section: str, name: str) -> Entry | None:
    """The entry of that name in a section at the top; None where there is none."""
    found = _load(form, text).get(section)
    entry = found.get(name) if isinstance(found, dict) else None
    return entry if isinstance(entry, dict) else None


def with_entry(form: Form, text: str, section: str, name: str, entry: Entry) -> str:
    """The text with the entry, in the place of one that is there."""
    if read_entry(form, text, section, name) == entry:
        return text
    bare = without_entry(form, text, section, name)
    return _proved(form, text, _ADD[form](bare, section, name, entry), section, name, entry)


def without_entry(form: Form, text: str, section: str, name: str) -> str:
    """The text without the entry; the same text where it has none."""
    found = _load(form, text).get(section)
    if not isinstance(found, dict) or name not in found:
        return text
    return _proved(form, text, _REMOVE[form](text, section, name), section, name, None)


def rendered(form: Form, section: str, name: str, entry: Entry) -> str:
    """The entry as a file of its own."""
    return _ADD[form]("", section, name, entry)


# --- proof -----------------------------------------------------------------------------------------------


def _proved(form: Form, before: str, after: str, section: str, name: str, entry: Entry | None) -> str:
    try:
        found = _load(form, after)
    except ConfigError:
        _refuse()
    now = found.get(section)
    if (now.get(name) if isinstance(now, dict) else None) != entry:
        _refuse()
    if _rest(found, section, name) != _rest(_load(form, before), section, name):
        _refuse()
    return after


def _rest(found: dict[str, Any], section: str, name: str) -> dict[str, Any]:
    """All that must not change; an empty section and none are the same."""
    inside = found.get(section)
    others = (
        {key: value for key, value in inside.items() if key != name} if isinstance(inside, dict) else inside
    )
    return {**found, section: others or {}}


def _load(form: Form, text: str) -> dict[str, Any]:
    try:
        found = _LOAD[form](text) if text.strip() else {}
    except (ValueError, RecursionError) as error:
        raise ConfigError(f"The file is not readable as {form.upper()}.", hint="Correct it first.") from error
    if found is None:
        return {}
    if not isinstance(found, dict):
        raise ConfigError("The file does not hold settings by their names.", hint="Correct it first.")
    return found


def _refuse() -> NoReturn:
    raise ConfigError(
        "The file has a form that is not edited safely, so it was left as it is.",
        hint="Put in by hand what `gitmem mcp --print-config` prints.",
    )


# --- TOML ------------------------------------------------------------------------------------------------


def _load_toml(text: str) -> Any:
    import tomllib

    return tomllib.loads(text)


def _add_toml(text: str, section: str, name: str, entry: Entry) -> str:
    lines = [f"[{section}.{name}]", *(f"{key} = {json.dumps(value)}" for key, value in entry.items())]
    if text and not text.endswith("\n"):
        text += "\n"
    return (text + "\n" if text.strip() else text) + "\n".join(lines) + "\n"


def _remove_toml(text: str, section: str, name: str) -> str:
    """Without the table and those below it, from their heads to the next head."""
    head = re.compile(
        rf"\s*\[\s*{re.escape(section)}\s*\.\s*\"?{re.escape(name)}\"?\s*(\.[^\]]*)?\]\s*(#.*)?"
    )
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

_TOKEN = re.compile(r'"(?:[^"\\]|\\.)*"|//[^\n]*|/\*.*?\*/|[{}\[\],:]|[^\s{}\[\],:"/]+', re.DOTALL)


class _Token(NamedTuple):
    text: str
    start: int
    end: int


def _tokens(text: str) -> list[_Token]:
    """What is not white space or a comment."""
    found = (_Token(one[0], one.start(), one.end()) for one in _TOKEN.finditer(text))
    return [one for one in found if not one.text.startswith(("//", "/*"))]


def _load_json(text: str) -> Any:
    """Also with comments, and with a comma behind the last item."""
    tokens = _tokens(text)
    kept = [
        one.text
        for one, after in zip(tokens, [*(token.text for token in tokens[1:]), ""], strict=True)
        if one.text != "," or after not in ("}", "]")
    ]
    return json.loads(" ".join(kept))


class _Member(NamedTuple):
    """A key of an object and its value, by where they are in the text."""

    key: str
    start: int
    value: int
    end: int


def _members(text: str, opening: int) -> tuple[list[_Member], int]:
    """The members of the object that opens there, and where it closes."""
    tokens = [one for one in _tokens(text) if one.start >= opening]
    members: list[_Member] = []
    depth, key, value = 0, None, None
    last = opening
    for one, following in zip(tokens, [*tokens[1:], tokens[-1]], strict=True):
        if depth == 1 and one.text in (",", "}") and key is not None and value is not None:
            members.append(_Member(json.loads(key.text), key.start, value, last))
            key = value = None
        if one.text in "{[":
            depth += 1
        elif one.text in "}]":
            depth -= 1
            if not depth:
                return members, one.start
        elif depth == 1 and one.text == ":":
            value = following.start
        elif depth == 1 and key is None and one.text.startswith('"'):
            key = one
        last = one.end
    _refuse()


def _add_json(text: str, section: str, name: str, entry: Entry) -> str:
    written = json.dumps(entry, indent=len(_INDENT), ensure_ascii=False)
    if not text.strip():
        whole = json.dumps({section: {name: entry}}, indent=len(_INDENT), ensure_ascii=False)
        return f"{whole}\n"
    top = next((one.start for one in _tokens(text)), -1)
    if top < 0 or text[top] != "{":
        _refuse()
    members, _ = _members(text, top)
    inside = next((one for one in members if one.key == section), None)
    if inside is None:
        nested = _shifted(f"{json.dumps(name)}: {written}", 2)
        added = f"\n{_INDENT}{json.dumps(section)}: {{\n{nested}\n{_INDENT}}}"
        return f"{text[: top + 1]}{added}{',' if members else chr(10)}{text[top + 1 :]}"
    if text[inside.value] != "{":
        _refuse()
    others, close = _members(text, inside.value)
    added = "\n" + _shifted(f"{json.dumps(name)}: {written}", 2)
    rest = text[inside.value + 1 :]
    end = "," if others else f"\n{_INDENT}" if not text[inside.value + 1 : close].strip() else ""
    return f"{text[: inside.value + 1]}{added}{end}{rest.lstrip(' ') if not others else rest}"


def _shifted(text: str, depth: int) -> str:
    return "\n".join(_INDENT * depth + line for line in text.split("\n"))


def _remove_json(text: str, section: str, name: str) -> str:
    top = next(one.start for one in _tokens(text))
    inside = next(one for one in _members(text, top)[0] if one.key == section)
    members, _ = _members(text, inside.value)
    at = next(number for number, one in enumerate(members) if one.key == name)
    one = members[at]
    following = next(token for token in _tokens(text) if token.start >= one.end)
    if following.text == ",":
        after = re.match(r"[ \t]*\r?\n?[ \t]*", text[following.end :])
        return text[: one.start] + text[following.end + (after.end() if after else 0) :]
    if at:  # the last one: the comma before it goes
        before = members[at - 1].end
        comma = next(token for token in _tokens(text) if token.start >= before)
        return text[: comma.start] + text[comma.end : one.start].rstrip() + text[one.end :]
    start = len(text[: one.start].rstrip(" \t\r\n"))
    return text[:start] + text[one.end :].lstrip(" \t\r\n")


# --- YAML ------------------------------------------------------------------------------------------------


def _load_yaml(text: str) -> Any:
    import yaml

    try:
        return yaml.safe_load(text)
    except yaml.YAMLError as error:
        raise ValueError(str(error)) from error


def _add_yaml(text: str, section: str, name: str, entry: Entry) -> str:
    lines = [f"{name}:", *(f"{_INDENT}{key}: {json.dumps(value)}" for key, value in entry.items())]
    newline = "\r\n" if "\r\n" in text else "\n"
    found = _yaml_pair(text, section)
    if found is None:
        head = "" if not text or text.endswith("\n") else newline
        return text + head + newline.join([f"{section}:", *(_INDENT + line for line in lines)]) + newline
    key, node = found
    column = node.start_mark.column if node.id == "mapping" and node.value else len(_INDENT)
    if node.id == "mapping" and node.flow_style and node.value:
        _refuse()
    if node.id != "mapping" or not node.value:  # `mcp_servers:`, `mcp_servers: null`, `mcp_servers: {}`
        start, end = node.start_mark.index, node.end_mark.index
        text = text[:start].rstrip(" ") + text[end:]
    at = text.find("\n", key.end_mark.index)
    at = len(text) if at < 0 else at
    at -= text[:at].endswith("\r")
    return text[:at] + "".join(f"{newline}{' ' * column}{line}" for line in lines) + text[at:]


def _yaml_pair(text: str, name: str) -> Any:
    import yaml

    node: Any = yaml.compose(text, Loader=yaml.SafeLoader)
    if node is None:
        return None
    if not isinstance(node, yaml.MappingNode) or node.flow_style:
        _refuse()
    return next((pair for pair in node.value if pair[0].value == name), None)


def _remove_yaml(text: str, section: str, name: str) -> str:
    _, node = _yaml_pair(text, section)
    if node.flow_style:
        _refuse()
    key, value = next(pair for pair in node.value if pair[0].value == name)
    start = text.rfind("\n", 0, key.start_mark.index) + 1
    last = _last(value)
    end = text.find("\n", len(text[:last].rstrip())) + 1 or len(text)
    return text[:start] + text[end:]


def _last(node: Any) -> int:
    """Where a value ends; the mark of a block is behind the comments and empty lines that follow it."""
    if node.id == "scalar" or node.flow_style or not node.value:
        return int(node.end_mark.index)
    below = [one for pair in node.value for one in (pair if isinstance(pair, tuple) else (pair,))]
    return max(map(_last, below))


_LOAD = {"toml": _load_toml, "json": _load_json, "yaml": _load_yaml}
_ADD = {"toml": _add_toml, "json": _add_json, "yaml": _add_yaml}
_REMOVE = {"toml": _remove_toml, "json": _remove_json, "yaml": _remove_yaml}
