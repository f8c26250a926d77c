"""Clients of `gitmem mcp`: where each keeps its servers, and what to write there."""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from gitmem.errors import ConfigError, UsageError
from gitmem.files import read_file, replacement
from gitmem.settings_edit import Form, put, remove

if TYPE_CHECKING:
    from gitmem.world import World

NAME = "gitmem"
_MODE = 0o600
"""Of a file that is made: some of them come to hold keys."""


class Client(NamedTuple):
    """One program: its settings file, the section of its servers, and how one is written there."""

    title: str
    form: Form
    section: str
    path: Callable[[World], str]
    entry: Callable[[Sequence[str]], dict[str, Any]]


def _below(world: World, variable: str, *default: str) -> str:
    named = world.env.get(variable, "").strip() if variable else ""
    return os.path.abspath(named) if named else os.path.join(world.home, *default)


def _command(words: Sequence[str]) -> dict[str, Any]:
    return {"command": words[0], "args": list(words[1:])}


def _opencode(world: World) -> str:
    base = os.path.join(_below(world, "XDG_CONFIG_HOME", ".config"), "opencode")
    commented = os.path.join(base, "opencode.jsonc")
    return commented if os.path.exists(commented) else os.path.join(base, "opencode.json")


CLIENTS = {
    "codex": Client(
        "Codex",
        "toml",
        "mcp_servers",
        lambda world: os.path.join(_below(world, "CODEX_HOME", ".codex"), "config.toml"),
        _command,
    ),
    "claude": Client(
        "Claude Code",
        "json",
        "mcpServers",
        lambda world: os.path.join(_below(world, "CLAUDE_CONFIG_DIR"), ".claude.json"),
        lambda words: {"type": "stdio", **_command(words)},
    ),
    "cursor": Client(
        "Cursor",
        "json",
        "mcpServers",
        lambda world: os.path.join(world.home, ".cursor", "mcp.json"),
        _command,
    ),
    "opencode": Client(
        "opencode",
        "json",
        "mcp",
        _opencode,
        lambda words: {"type": "local", "command": list(words), "enabled": True},
    ),
    "hermes": Client(
        "Hermes",
        "yaml",
        "mcp_servers",
        lambda world: os.path.join(world.hermes_home, "config.yaml"),
        # It makes four more tools of resources and prompts.
        lambda words: _command([*words, "--tools-only"]),
    ),
}


class Edit(NamedTuple):
    """What becomes of a client's file."""

    path: str
    before: str
    after: str
    is_new: bool

    @property
    def changes(self) -> bool:
        return self.before != self.after

    def save(self) -> None:
        if not self.changes:
            return
        os.makedirs(os.path.dirname(self.path), exist_ok=True)
        real = os.path.realpath(self.path)  # dotfiles are often links
        mode = _MODE if self.is_new else os.stat(real).st_mode & 0o777
        with replacement(real, self.after.encode(), mode=mode) as put:
            now = read_file(real)
            if (now or b"").decode("utf-8", "replace") != self.before:
                raise ConfigError(f"{self.path} was changed meanwhile.", hint="Run it again.")
            put()


def client(name: str) -> Client:
    found = CLIENTS.get(name)
    if found is None:
        raise UsageError(f"There is no client {name!r}: the clients are {', '.join(CLIENTS)}.")
    return found


def command(world: World, bundle: str, *, allow_undo: bool = False) -> list[str]:
    """The words that start a server: the gitmem that runs here, by its path, because a client may have another $PATH."""
    found = shutil.which("gitmem", path=world.env.get("PATH", os.defpath))
    start = [os.path.abspath(found)] if found else [sys.executable, "-m", "gitmem"]
    return [*start, *(["-C", bundle] if bundle else []), "mcp", *(["--allow-undo"] if allow_undo else [])]


def printed(one: Client, words: Sequence[str]) -> str:
    """The content of a settings file that holds this server and nothing else."""
    return put(one.form, "", (one.section, NAME), one.entry(words))


def installed(one: Client, world: World, words: Sequence[str]) -> Edit:
    """The client's file with this server."""
    return _edit(one, world, lambda text: put(one.form, text, (one.section, NAME), one.entry(words)))


def uninstalled(one: Client, world: World) -> Edit:
    """The client's file without this server."""
    return _edit(one, world, lambda text: remove(one.form, text, (one.section, NAME)))


def _edit(one: Client, world: World, change: Callable[[str], str]) -> Edit:
    path = one.path(world)
    data = read_file(path)
    try:
        before = (data or b"").decode()
        return Edit(path, before, change(before), data is None)
    except UnicodeDecodeError:
        raise ConfigError(f"{path} is not UTF-8.", hint="Correct it first.") from None
    except ConfigError as error:
        raise ConfigError(f"{path}: {error}", hint=error.hint) from error
