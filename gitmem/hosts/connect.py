"""Agents connected to a memory by one key of their settings, and disconnected to the byte."""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple

from gitmem.errors import ConfigError
from gitmem.files import read_settings, replacement
from gitmem.settings_edit import Edit, Form, get, put, take_back
from gitmem.state import CONNECTIONS

if TYPE_CHECKING:
    from collections.abc import Mapping

    from gitmem.state import LocalState
    from gitmem.world import World

NAME = "gitmem"
_MODE = 0o600
"""Of a file that is made: some of them come to hold keys."""


@dataclass(slots=True)
class Steps:
    """Steps of connecting or disconnecting an agent; `changed` says whether anything was."""

    agent: str
    place: str
    dry_run: bool = False
    steps: list[tuple[str, str]] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)
    changed: bool = False
    content: str = ""
    """The agent's file as it would be, of a dry run."""

    def did(self, what: str) -> None:
        self.steps.append(("done", what))
        self.changed = True

    def already(self, what: str) -> None:
        self.steps.append(("already", what))

    def step(self, did: str, already: str, *, changed: bool) -> None:
        """Note what one step did, or that there was nothing to do."""
        if changed:
            self.did(did)
        else:
            self.already(already)


@dataclass(frozen=True, slots=True)
class Check:
    """One step of a connection: whether it is as it should be, what was seen, and what to do where it is not."""

    name: str
    ok: bool
    what: str
    fix: str = ""


class Profile(NamedTuple):
    """One program: its settings file, the key that connects it, and the value of that."""

    name: str
    title: str
    form: Form
    keys: tuple[str, str]
    path: Callable[[World], str]
    entry: Callable[[Sequence[str]], Any]
    is_ours: Callable[[Any], bool] = lambda value: value is not None
    """Whether a value of the key is gitmem's: some have place for one program alone."""


def _below(world: World, variable: str, *default: str) -> str:
    named = world.env.get(variable, "").strip() if variable else ""
    return os.path.abspath(named) if named else os.path.join(world.home, *default)


def _command(words: Sequence[str]) -> dict[str, Any]:
    return {"command": words[0], "args": list(words[1:])}


def _opencode(world: World) -> str:
    base = os.path.join(_below(world, "XDG_CONFIG_HOME", ".config"), "opencode")
    commented = os.path.join(base, "opencode.jsonc")
    return commented if os.path.exists(commented) else os.path.join(base, "opencode.json")


_MCP = (
    Profile(
        "codex",
        "Codex",
        "toml",
        ("mcp_servers", NAME),
        lambda world: os.path.join(_below(world, "CODEX_HOME", ".codex"), "config.toml"),
        _command,
    ),
    Profile(
        "claude",
        "Claude Code",
        "json",
        ("mcpServers", NAME),
        lambda world: os.path.join(_below(world, "CLAUDE_CONFIG_DIR"), ".claude.json"),
        lambda words: {"type": "stdio", **_command(words)},
    ),
    Profile(
        "cursor",
        "Cursor",
        "json",
        ("mcpServers", NAME),
        lambda world: os.path.join(world.home, ".cursor", "mcp.json"),
        _command,
    ),
    Profile(
        "opencode",
        "opencode",
        "json",
        ("mcp", NAME),
        _opencode,
        lambda words: {"type": "local", "command": list(words), "enabled": True},
    ),
)
PROFILES = {one.name: one for one in _MCP}


def command(world: World, bundle: str, *, allow_undo: bool = False) -> list[str]:
    """Return the words that start a server: the gitmem that runs here, by its path; an agent may have another $PATH."""
    found = shutil.which("gitmem", path=world.env.get("PATH", os.defpath))
    # -P: agents start it in the directory they work in, which may hold a module of any name.
    start = [os.path.abspath(found)] if found else [sys.executable, "-P", "-m", "gitmem"]
    return [*start, *(["-C", bundle] if bundle else []), "mcp", *(["--allow-undo"] if allow_undo else [])]


def connect(
    one: Profile, world: World, state: LocalState, words: Sequence[str] = (), *, dry_run: bool = False
) -> Steps:
    """Put gitmem into an agent's settings; comments and order stay. Run again it changes nothing."""
    file = SettingsFile(one.path(world))
    after = file.reading(lambda text: put(one.form, text, one.keys, _entry(one, text, words)))
    done = Steps(one.name, file.path, dry_run, content=after if dry_run else "")
    if after == file.text:
        done.already(f"{file.path} is as it should be")
    elif dry_run:
        done.steps.append(("would", f"write {file.path}"))
    else:
        note = {"file": file.path, "is_new": file.is_new, **Edit.between(file.text, after)._asdict()}
        # The first one knows what was there before us.
        if edit_in(state.read_json(CONNECTIONS, one.name)) is None:
            state.write_json(CONNECTIONS, note, one.name)
        file.write(after)
        done.did(f"wrote {file.path}")
    return done


def _entry(one: Profile, text: str, words: Sequence[str]) -> Any:
    """Return the value of the key; what the user added to an entry that starts a command, such as variables, stays."""
    found, entry = get(one.form, text, one.keys), one.entry(words)
    return {**found, **entry} if isinstance(found, dict) and "command" in found else entry


def disconnect(one: Profile, world: World, state: LocalState, *, dry_run: bool = False) -> Steps:
    """Take gitmem out of an agent's settings: what was there before is there again. The memory stays."""
    file = SettingsFile(one.path(world))
    note = state.read_json(CONNECTIONS, one.name)
    done = Steps(one.name, file.path, dry_run)
    if not one.is_ours(file.reading(lambda text: get(one.form, text, one.keys))):
        done.already(f"{file.path} does not name gitmem")
    else:
        left = file.reading(lambda text: take_back(one.form, text, edit_in(note), one.keys))
        if dry_run:
            done.content = left
            done.steps.append(("would", f"change {file.path}"))
            return done
        if note.get("is_new") is True and not left.strip():
            os.unlink(file.path)
            done.did(f"removed {file.path}")
        else:
            file.write(left)
            done.did(f"took gitmem out of {file.path}")
    if not dry_run:
        state.remove(CONNECTIONS, one.name)
    return done


def setting(one: Profile, world: World) -> Any:
    """Return the value of the key that connects an agent; None where there is none."""
    file = SettingsFile(one.path(world))
    return file.reading(lambda text: get(one.form, text, one.keys))


def checks(one: Profile, world: World, bundle: str) -> list[Check] | None:
    """Look at the connection of an agent with a memory; None where its settings do not name gitmem."""
    again = f"Run `gitmem connect {one.name}`."
    try:
        found = setting(one, world)
    except ConfigError as error:
        return [Check("settings", False, str(error), error.hint)]
    if found is None:
        return None
    words = [found.get("command"), *(found.get("args") or ())] if isinstance(found, dict) else []
    words = [str(part) for word in words for part in (word if isinstance(word, list) else [word])]
    place = one.path(world)
    if bundle and bundle not in words:
        return [Check("settings", False, f"{place} names another memory: {' '.join(words)}", again)]
    program = words[0] if words else ""
    if not shutil.which(program, path=world.env.get("PATH", os.defpath)):
        return [Check("program", False, f"{place} starts {program}, which is not there.", again)]
    return [Check("settings", True, place)]


def edit_in(note: Mapping[str, Any]) -> Edit | None:
    """Return the edit that a note in the state directory describes; None where it does not."""
    values = [note.get(name) for name in Edit._fields]
    if isinstance(values[0], int) and all(isinstance(one, str) for one in values[1:]):
        return Edit(*values)  # type: ignore[arg-type]
    return None


class SettingsFile:
    """A file of settings, a program's or the user's own; errors name it."""

    def __init__(self, path: str, name: str = "") -> None:
        self.path, self._name = path, name or path
        self.is_new = not os.path.exists(path)
        self.text = read_settings(path, self._name)

    def reading(self, ask: Callable[[str], Any]) -> Any:
        """Ask something of the text."""
        try:
            return ask(self.text)
        except ConfigError as error:
            raise ConfigError(f"{self._name}: {error}", hint=error.hint) from error

    def write(self, text: str) -> None:
        """Put the text in its place at once, with the mode and behind the link that the file had."""
        real = os.path.realpath(self.path)  # dotfiles are often links
        try:
            os.makedirs(os.path.dirname(real), mode=0o700, exist_ok=True)
            with replacement(real, text.encode(), mode=_MODE) as into_place:
                if read_settings(real, self._name) != self.text:
                    raise ConfigError(f"{self._name} was changed meanwhile.", hint="Run it again.")
                into_place()
        except OSError as error:
            raise ConfigError(
                f"{self.path} cannot be written ({error.strerror}): repair that and try again."
            ) from error
