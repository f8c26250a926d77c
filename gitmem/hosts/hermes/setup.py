"""What `hermes memory setup`, `status` and `backup` ask a provider for."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping
from typing import Any

from gitmem.errors import GitMemError
from gitmem.files import read_settings
from gitmem.hosts.hermes.home import Home, bundle_root
from gitmem.world import real_world

_OFFERED = ("recall_mode", "transcripts", "auto_sync", "enforce_host_files")


def config_schema() -> list[dict[str, Any]]:
    """The settings that are worth a question; all of them have a default."""
    from gitmem.config import settings

    fields = []
    for setting in settings():
        if setting.key in _OFFERED:
            choices = list(setting.choices) or (["true", "false"] if setting.type == "bool" else [])
            default = str(setting.default).lower() if setting.type == "bool" else setting.default
            fields.append(
                {"key": setting.key, "description": setting.help, "default": default, "choices": choices}
            )
    return fields


def save_settings(home: Home, values: Mapping[str, Any]) -> None:
    """Write settings to gitmem.yaml of the home, line by line; other lines and comments stay."""
    from gitmem.config import HERMES_YAML, from_text, setting_named
    from gitmem.hosts.hermes.install import replace_text
    from gitmem.settings_edit import keys_of_setting, put

    text = read_settings(home.settings, HERMES_YAML)
    for key, value in values.items():
        if key != "provider":
            setting = setting_named(key, HERMES_YAML)
            wanted = from_text(setting, str(value).strip(), HERMES_YAML)
            text = put("yaml", text, keys_of_setting(text, setting.key), wanted)
    replace_text(home.settings, text)


def set_up(home: Home) -> None:
    """`hermes memory setup gitmem`: install into this home, and say what was done."""
    from gitmem.hosts.hermes.install import install

    out = sys.stdout
    try:
        report = install(home, real_world())
    except GitMemError as error:
        out.write(f"\n  gitmem could not be set up: {error} {error.hint}\n\n")
        return
    out.write("\n")
    for mark, what in report.steps:
        out.write(f"  {'✓' if mark == 'done' else '·'} {what}\n")
    for warning in report.warnings:
        out.write(f"  ! {warning}\n")
    out.write("\n  Memory provider: gitmem\n  Start a new session to activate.\n\n")


def outside_paths(home: Home) -> list[str]:
    """The bundle and its history, where they lie outside the home that a backup walks."""
    from gitmem.git.setup import git_dir_of

    root = bundle_root(home, real_world())
    if not os.path.isdir(root):
        return []
    inside = os.path.join(os.path.realpath(home.path), "")
    found = [root, git_dir_of(root) or root]
    return [path for path in dict.fromkeys(found) if not os.path.realpath(path).startswith(inside)]
