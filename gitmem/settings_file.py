"""One setting in the text of a settings file, set or taken out; other lines and comments stay.

The cut is by lines, so it is proved: where the result does not say just what was wanted, nothing is changed.
"""

from __future__ import annotations

import json
import re

from gitmem.config import Config, Setting, Value, parse_file, resolve
from gitmem.errors import ConfigError

_PROOF = "the settings file"
"""Not the name of a file: what only some files may say is not a matter of how it is written."""


def with_setting(text: str, setting: Setting, value: Value, origin: str) -> str:
    """The text with a setting that has this value."""
    lines = text.splitlines()
    at = _line_of(lines, setting.key)
    if at is None:
        lines.append(f"{setting.key}: {_scalar(value)}")
    else:
        name = lines[at].partition(":")[0]
        lines[at] = f"{name}: {_scalar(value)}"
    return _proved(text, "\n".join(lines) + "\n", setting, value, origin)


def without_setting(text: str, setting: Setting, origin: str) -> str:
    """The text without a setting; the same text where it says nothing of it."""
    if setting.key not in _said(text, origin):
        return text
    lines = text.splitlines()
    at = _line_of(lines, setting.key)
    if at is not None:
        del lines[at]
        group = setting.key.rpartition(".")[0]
        if (
            at
            and re.match(rf"{re.escape(group)}\s*:\s*(#.*)?$", lines[at - 1])
            and not _is_inside(lines[at:])
        ):
            del lines[at - 1]  # a group that is empty now
    return _proved(text, "".join(line + "\n" for line in lines), setting, None, origin)


def _line_of(lines: list[str], key: str) -> int | None:
    """The line with a setting: by its dotted name, or by its own in the lines of its group."""
    group, _, own = key.rpartition(".")
    inside = False
    for number, line in enumerate(lines):
        if re.match(rf"{re.escape(key)}\s*:", line):
            return number
        if line[:1].strip():
            inside = bool(group) and re.match(rf"{re.escape(group)}\s*:\s*(#.*)?$", line) is not None
        elif inside and re.match(rf"\s+{re.escape(own)}\s*:", line):
            return number
    return None


def _is_inside(lines: list[str]) -> bool:
    """Whether a group goes on in these lines."""
    following = next((line for line in lines if line.strip() and not line.lstrip().startswith("#")), "")
    return following[:1].isspace()


def _scalar(value: Value) -> str:
    if isinstance(value, str):
        return (
            value
            if re.fullmatch(r"[A-Za-z][A-Za-z0-9_-]*", value) and not _is_a_word_of_yaml(value)
            else json.dumps(value)
        )
    return str(value).lower() if isinstance(value, bool) else str(value)


def _is_a_word_of_yaml(text: str) -> bool:
    return text.lower() in ("true", "false", "yes", "no", "on", "off", "null", "y", "n")


def _said(text: str, origin: str) -> dict[str, Value]:
    """The settings that a text gives."""
    found: Config = resolve({}, [parse_file(text, origin)._replace(origin=_PROOF)])
    return {key: found[key] for key in found if found.origin(key) == _PROOF}


def _proved(before: str, after: str, setting: Setting, wanted: Value | None, origin: str) -> str:
    expected = {key: value for key, value in _said(before, origin).items() if key != setting.key}
    if wanted is not None:
        expected[setting.key] = wanted
    try:
        found = _said(after, origin)
    except ConfigError:
        found = {}
    if found != expected:
        raise ConfigError(
            f"{origin} has a form that is not edited safely, so it was left as it is.",
            hint=f"Change `{setting.key}` there by hand.",
        )
    return after
