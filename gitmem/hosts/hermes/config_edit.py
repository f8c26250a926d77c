"""One key of Hermes' config.yaml set or taken out, line by line: comments, order and everything else stay.

Every edit is checked by reading the result: where it does not say just what was wanted, nothing is written.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

from gitmem.errors import ConfigError

_SECTION = "memory"
_KEY = "provider"
_HINT = "Set it by hand in config.yaml:  memory: {provider: gitmem}"

_TOP = re.compile(r"""(?P<quote>["']?)memory(?P=quote)[ \t]*:(?P<rest>([ \t].*)?)\Z""")
_ENTRY = re.compile(
    r"""(?P<indent>[ ]+)(?P<quote>["']?)provider(?P=quote)[ \t]*:(?P<gap>[ \t]*)(?P<rest>.*)\Z"""
)
_VALUE = re.compile(
    r"""(?P<value>"(?:[^"\\]|\\.)*"|'(?:[^']|'')*'|[^\s#'"&*!|>{\[][^#]*?)?(?P<tail>[ \t]+#.*|[ \t]*)\Z"""
)
_FLOW = re.compile(r"""\{(?P<inner>[^{}\[\]#"']*)\}(?P<tail>[ \t]*(#.*)?)\Z""")


@dataclass(frozen=True, slots=True)
class Edited:
    """The new text, and how to take the edit back: `removal` is what `take_out` needs."""

    text: str
    removal: str


def provider_of(text: str) -> str:
    """The memory provider that a config.yaml names; empty where it names none."""
    section = _load(text).get(_SECTION)
    value = section.get(_KEY) if isinstance(section, dict) else None
    return value.strip() if isinstance(value, str) else ""


def set_provider(text: str, value: str) -> Edited:
    """The text with `memory.provider` set."""
    before = _load(text)
    if provider_of(text) == value:
        return Edited(text, "")
    lines = _lines(text)
    place = _section(lines)
    edited = _with_section(lines, text, value) if place is None else _in_section(lines, place, value)
    _check(before, edited.text, value)
    return edited


def take_out(text: str, removal: str, value: str) -> str:
    """The text without our edit; one whose provider is another's by now is left as it is."""
    if provider_of(text) != value:
        return text
    before = _load(text)
    lines = _lines(text)
    place = _section(lines)
    if place is None:
        raise _refusal()
    kind, _, old = removal.partition(" ")
    wanted: object = _plain(old) if kind == "changed" else ""
    found = _entry(lines, place)
    if found is None:
        edited = _in_flow(lines, place, old if kind == "changed" else None).text
    elif kind == "changed":
        lines[found] = _with_value(lines[found], old)
        edited = "".join(lines)
    else:
        del lines[found]
        if kind.startswith("section") and not _inside(lines, place):
            del lines[place]
        edited = "".join(lines)
        if kind == "section+" and place == len(lines):  # there was no newline at the end
            edited = edited.removesuffix("\n").removesuffix("\r")
    after = _load(edited)
    section = after.get(_SECTION)
    named = section.get(_KEY) if isinstance(section, dict) else None
    if _without(before) != _without(after) or (named or "") != wanted:
        raise _refusal()
    return edited


# --- edits -----------------------------------------------------------------------------------------------


def _with_section(lines: list[str], text: str, value: str) -> Edited:
    end = _newline(text)
    if _load(text) == {} and text.strip().replace("{}", "").strip("- \r\n") == "" and "{}" in text:
        raise _refusal()  # `{}` alone: a flow mapping that nothing can be put behind
    head = "" if not text or text.endswith("\n") else end
    added = f"{head}{_SECTION}:{end}  {_KEY}: {value}{end}"
    at = next((n for n, line in enumerate(lines) if line.rstrip() == "..."), len(lines))
    return Edited("".join([*lines[:at], added, *lines[at:]]), "section+" if head else "section")


def _in_section(lines: list[str], place: int, value: str) -> Edited:
    match = _TOP.match(_bare(lines[place]))
    assert match is not None
    rest = match["rest"].strip()
    if rest and not rest.startswith("#"):
        return _in_flow(lines, place, value)
    found = _entry(lines, place)
    if found is not None:
        old = _value(lines[found])
        lines[found] = _with_value(lines[found], value)
        return Edited("".join(lines), f"changed {old}".rstrip())
    inside = _inside(lines, place)
    indent = " " * (len(lines[inside[0]]) - len(lines[inside[0]].lstrip(" "))) if inside else "  "
    end = _newline(lines[place]) if lines[place].endswith("\n") else _newline("".join(lines))
    if not lines[place].endswith("\n"):
        lines[place] += end
    lines.insert(place + 1, f"{indent}{_KEY}: {value}{end}")
    return Edited("".join(lines), "key")


def _in_flow(lines: list[str], place: int, value: str | None) -> Edited:
    """`memory: {}` and `memory: {a: 1}` on one line; `memory: null` counts as empty. None takes out."""
    line = lines[place]
    body = _bare(line)
    end = line[len(body) :]
    head, _, rest = body.partition(":")
    rest = rest.strip()
    if rest in ("null", "~"):
        end = end or "\n"
        lines[place] = f"{head}:{end}"
        lines.insert(place + 1, f"  {_KEY}: {value}{end}")
        return Edited("".join(lines), "key")
    match = _FLOW.match(rest)
    if match is None:
        raise _refusal()
    pairs = [pair.strip() for pair in match["inner"].split(",") if pair.strip()]
    old = next((pair for pair in pairs if pair.partition(":")[0].strip() == _KEY), None)
    new = [f"{_KEY}: {value}".rstrip()] if value is not None else []
    if old is None:
        pairs += new
    else:
        at = pairs.index(old)
        pairs[at : at + 1] = new
    lines[place] = f"{head}: {{{', '.join(pairs)}}}{match['tail']}{end}"
    was = old.partition(":")[2].strip() if old else ""
    return Edited("".join(lines), f"changed {was}".rstrip() if old else "key")


def _with_value(line: str, value: str) -> str:
    body = _bare(line)
    match = _ENTRY.match(body)
    assert match is not None
    inner = _VALUE.match(match["rest"])
    if inner is None:
        raise _refusal()
    head = body[: match.start("gap")]
    tail = inner["tail"] if inner["tail"].strip() else ""
    return f"{head} {value}".rstrip() + tail + line[len(body) :]


def _value(line: str) -> str:
    match = _ENTRY.match(_bare(line))
    assert match is not None
    inner = _VALUE.match(match["rest"])
    if inner is None:
        raise _refusal()
    return inner["value"] or ""


# --- lines -----------------------------------------------------------------------------------------------


def _lines(text: str) -> list[str]:
    return re.findall(r"[^\n]*\n|[^\n]+\Z", text)


def _bare(line: str) -> str:
    return line.rstrip("\r\n").removeprefix("\ufeff")


def _newline(text: str) -> str:
    return "\r\n" if "\r\n" in text else "\n"


def _section(lines: list[str]) -> int | None:
    """The line that opens the section; a text that only looks like it is caught by the check."""
    found = [number for number, line in enumerate(lines) if _TOP.match(_bare(line))]
    if len(found) > 1:
        raise _refusal()
    return found[0] if found else None


def _inside(lines: list[str], place: int) -> list[int]:
    """The lines that belong to the section and are neither blank nor a comment."""
    found = []
    for number in range(place + 1, len(lines)):
        body = _bare(lines[number])
        if not body.strip() or body.lstrip().startswith("#"):
            continue
        if not body.startswith(" "):
            break
        found.append(number)
    return found


def _entry(lines: list[str], place: int) -> int | None:
    inside = _inside(lines, place)
    depth = min((len(lines[number]) - len(lines[number].lstrip(" ")) for number in inside), default=0)
    for number in inside:
        match = _ENTRY.match(_bare(lines[number]))
        if match is not None and len(match["indent"]) == depth:
            return number
    return None


# --- the check -------------------------------------------------------------------------------------------


def _load(text: str) -> dict[str, Any]:
    import yaml

    try:
        found = yaml.safe_load(text.removeprefix("\ufeff"))
    except (yaml.YAMLError, ValueError, RecursionError) as error:
        mark = getattr(error, "problem_mark", None)
        where = f" (line {mark.line + 1})" if mark is not None else ""
        raise ConfigError(f"config.yaml is not readable as YAML{where}.", hint="Correct it first.") from error
    if found is None:
        return {}
    if not isinstance(found, dict):
        raise ConfigError("config.yaml does not hold `key: value` lines.", hint="Correct it first.")
    return found


def _check(before: dict[str, Any], text: str, value: str) -> None:
    after = _load(text)
    section = after.get(_SECTION)
    if not isinstance(section, dict) or section.get(_KEY) != value or _without(before) != _without(after):
        raise _refusal()


def _without(config: dict[str, Any]) -> dict[str, Any]:
    """All that must not change; an empty section and none are the same."""
    section = config.get(_SECTION)
    rest = (
        {key: item for key, item in section.items() if key != _KEY} if isinstance(section, dict) else section
    )
    return {**{key: item for key, item in config.items() if key != _SECTION}, _SECTION: rest or {}}


def _plain(value: str) -> object:
    import yaml

    return (yaml.safe_load(value) if value else "") or ""


def _refusal() -> ConfigError:
    return ConfigError(
        "config.yaml has a form that is not edited safely, so it was left as it is.", hint=_HINT
    )
