"""One key of Hermes' config.yaml set or taken out: comments, order and everything else stay to the byte.

PyYAML's marks say where the key is. The cut is textual, so it is proved, as a concept's is: where the result
does not say just what was wanted, nothing is written.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any, NoReturn

from gitmem.errors import ConfigError

_SECTION = "memory"
_KEY = "provider"
_HINT = "Set it by hand in config.yaml:  memory: {provider: gitmem}"
_BOM = "\ufeff"
_DOCUMENT_END = re.compile(r"^\.\.\.", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Edited:
    """The new text, and how to take the edit back: `removal` is what `take_out` needs."""

    text: str
    removal: str


def provider_of(text: str) -> str:
    """The memory provider that a config.yaml names; empty where it names none."""
    value = _named(_load(text))
    return value.strip() if isinstance(value, str) else ""


def set_provider(text: str, value: str) -> Edited:
    """The text with `memory.provider` set."""
    if provider_of(text) == value:
        return Edited(text, "")
    body = text.removeprefix(_BOM)
    edited, removal = _set(body, value)
    return Edited(_proved(text, text.removesuffix(body) + edited, value), removal)


def take_out(text: str, removal: str, value: str) -> str:
    """The text without our edit; one whose provider is another's by now is left as it is."""
    if provider_of(text) != value:
        return text
    body = text.removeprefix(_BOM)
    kind, _, old = removal.partition(" ")
    edited = _without_pair(body, kind) if kind != "changed" else _set(body, old)[0]
    return _proved(text, text.removesuffix(body) + edited, _load(f"old: {old}")["old"] or "")


# --- edits: PyYAML's nodes are untyped --------------------------------------------------------------------


def _set(text: str, value: str) -> tuple[str, str]:
    """The text with the value in it, and the removal."""
    found = _pair(_compose(text), _SECTION)
    if found is None:
        return _with_section(text, value)
    head, section = found
    pair = _pair(section, _KEY)
    if pair is not None:
        start, end = _span(pair[1])
        old = text[start:end]
        _refuse_unless(pair[1].id == "scalar" and "\n" not in old)
        return f"{text[:start].rstrip(' ')} {value}".rstrip(" ") + text[end:], f"changed {old}".rstrip()
    start, end = _span(section)
    column = section.start_mark.column
    if section.tag.endswith(":null"):  # `memory:`, `memory: null`
        text, column = text[:start].rstrip(" ") + text[end:], 2
    elif section.flow_style:
        _refuse_unless(all(item.id == "scalar" for _, item in section.value))  # nested: laid out by a person
        at = _span(section.value[-1][1])[1] if section.value else start + 1
        return f"{text[:at]}{', ' if section.value else ''}{_KEY}: {value}{text[at:]}", "key"
    # Behind the line of the section itself, before its first comment.
    at = _span(head)[1] + len(re.split(r"\r?\n", text[_span(head)[1] :], maxsplit=1)[0])
    return f"{text[:at]}{_newline(text)}{' ' * column}{_KEY}: {value}{text[at:]}", "key"


def _with_section(text: str, value: str) -> tuple[str, str]:
    newline = _newline(text)
    end = _DOCUMENT_END.search(text)
    at = end.start() if end else len(text)
    head = "" if text[:at].endswith("\n") or not at else newline
    added = f"{head}{_SECTION}:{newline}  {_KEY}: {value}{newline}"
    return text[:at] + added + text[at:], "section+" if head else "section"


def _without_pair(text: str, kind: str) -> str:
    head, section = _pair(_compose(text), _SECTION) or _refuse()
    pair = _pair(section, _KEY) or _refuse()
    pairs = section.value
    at = pairs.index(pair)
    if section.flow_style:
        start = _span(pairs[at - 1][1])[1] if at else _span(pair[0])[0]
        end = _span(pairs[1][0])[0] if not at and len(pairs) > 1 else _span(pair[1])[1]
        return text[:start] + text[end:]
    text = _without_line(text, _span(pair[0])[0])
    if kind.startswith("section") and len(pairs) == 1:
        start = _span(head)[0]
        text = _without_line(text, start)
        if kind == "section+" and start == len(text):  # there was no newline at the end
            text = text.removesuffix("\n").removesuffix("\r")
    return text


def _without_line(text: str, at: int) -> str:
    """The text without the line that has the place `at`; the last one may have no line end of its own."""
    start, end = text.rfind("\n", 0, at) + 1, text.find("\n", at) + 1
    return text[:start] + text[end:] if end else text[:start].removesuffix("\n").removesuffix("\r")


def _newline(text: str) -> str:
    return "\r\n" if "\r\n" in text else "\n"


def _pair(node: Any, name: str) -> Any:
    """A key of a mapping and its value, where it is there; of nothing, or null, there is none."""
    if node is None or node.tag.endswith(":null"):
        return None
    _refuse_unless(node.id == "mapping")
    found = [pair for pair in node.value if pair[0].value == name]
    _refuse_unless(len(found) < 2)
    return found[0] if found else None


def _span(node: Any) -> tuple[int, int]:
    return node.start_mark.index, node.end_mark.index


# --- reading and the proof --------------------------------------------------------------------------------


def _compose(text: str) -> Any:
    import yaml

    node = yaml.compose(text, Loader=yaml.SafeLoader)
    _refuse_unless(not getattr(node, "flow_style", False))  # `{…}` as a whole: nothing can be put behind it
    return node


def _load(text: str) -> dict[str, Any]:
    import yaml

    try:
        found = yaml.safe_load(text.removeprefix(_BOM))
    except (yaml.YAMLError, ValueError, RecursionError) as error:
        mark = getattr(error, "problem_mark", None)
        where = f" (line {mark.line + 1})" if mark is not None else ""
        raise ConfigError(f"config.yaml is not readable as YAML{where}.", hint="Correct it first.") from error
    if found is None:
        return {}
    if not isinstance(found, dict):
        raise ConfigError("config.yaml does not hold `key: value` lines.", hint="Correct it first.")
    return found


def _proved(before: str, after: str, wanted: object) -> str:
    """The text after an edit; a refusal where it names another provider or says anything else differently."""
    try:
        found = _load(after)
    except ConfigError:
        _refuse()
    _refuse_unless((_named(found) or "") == wanted and _without(found) == _without(_load(before)))
    return after


def _named(config: dict[str, Any]) -> object:
    section = config.get(_SECTION)
    return section.get(_KEY) if isinstance(section, dict) else None


def _without(config: dict[str, Any]) -> dict[str, Any]:
    """All that must not change; an empty section and none are the same."""
    section = config.get(_SECTION)
    rest = (
        {key: item for key, item in section.items() if key != _KEY} if isinstance(section, dict) else section
    )
    return {**config, _SECTION: rest or {}}


def _refuse_unless(safe: bool) -> None:
    if not safe:
        _refuse()


def _refuse() -> NoReturn:
    raise ConfigError(
        "config.yaml has a form that is not edited safely, so it was left as it is.", hint=_HINT
    )
