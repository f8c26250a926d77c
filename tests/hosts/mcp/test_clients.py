"""The settings of clients: what is written, what stays, and what is refused."""

from __future__ import annotations

import json
import stat
import tomllib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml
from gitmem.errors import ConfigError
from gitmem.hosts.mcp.clients import CLIENTS, command, installed, printed, uninstalled
from gitmem.world import World


@pytest.fixture
def world(tmp_path: Path) -> World:
    return World({"PATH": "/nowhere"}, home=str(tmp_path), cwd=str(tmp_path))


@pytest.mark.parametrize("name", CLIENTS)
def test_install_and_uninstall(name: str, world: World) -> None:
    """What is printed is what a new file holds; again it changes nothing; only its owner reads it."""
    one, words = CLIENTS[name], ["/bin/gitmem", "-C", "/mem", "mcp"]
    edit = installed(one, world, words)
    edit.save()
    path = Path(edit.path)
    assert path.read_text() == edit.after == printed(one, words)
    assert 0o600 == stat.S_IMODE(path.stat().st_mode)
    assert not installed(one, world, words).changes
    loaders: dict[str, Callable[[str], Any]] = {
        "toml": tomllib.loads,
        "json": json.loads,
        "yaml": yaml.safe_load,
    }
    entry = loaders[one.form](path.read_text())[one.section]["gitmem"]
    assert "/mem" in str(entry)
    assert ("--tools-only" in str(entry)) == (name == "hermes")
    uninstalled(one, world).save()
    assert "gitmem" not in path.read_text()
    assert not uninstalled(one, world).changes


def test_the_places(tmp_path: Path) -> None:
    """As the programs' own variables say."""
    env = {"CODEX_HOME": "/c", "CLAUDE_CONFIG_DIR": "/d", "XDG_CONFIG_HOME": "/x", "HERMES_HOME": "/h"}
    moved, plain = World(env, home="/home/ada"), World({}, home="/home/ada")
    assert [
        ("/home/ada/.codex/config.toml", "/c/config.toml"),
        ("/home/ada/.claude.json", "/d/.claude.json"),
        ("/home/ada/.cursor/mcp.json", "/home/ada/.cursor/mcp.json"),
        ("/home/ada/.config/opencode/opencode.json", "/x/opencode/opencode.json"),
        ("/home/ada/.hermes/config.yaml", "/h/config.yaml"),
    ] == [(one.path(plain), one.path(moved)) for one in CLIENTS.values()]
    commented = tmp_path / ".config/opencode/opencode.jsonc"
    commented.parent.mkdir(parents=True)
    commented.touch()
    assert str(commented) == CLIENTS["opencode"].path(World({}, home=str(tmp_path)))


def test_a_file_that_somebody_changes_meanwhile(world: World, tmp_path: Path) -> None:
    """Its program writes it too: nothing of that is lost. A link stays a link, a mode stays."""
    real = tmp_path / "dotfiles.json"
    real.write_text("{}")
    real.chmod(0o640)
    path = tmp_path / ".claude.json"
    path.symlink_to(real)
    edit = installed(CLIENTS["claude"], world, ["gitmem", "mcp"])
    real.write_text('{"newer": 1}')
    with pytest.raises(ConfigError, match="meanwhile"):
        edit.save()
    assert '{"newer": 1}' == real.read_text()
    installed(CLIENTS["claude"], world, ["gitmem", "mcp"]).save()
    assert path.is_symlink()
    assert 0o640 == stat.S_IMODE(real.stat().st_mode)
    assert 1 == json.loads(real.read_text())["newer"]


def test_the_words(tmp_path: Path) -> None:
    """The gitmem of this $PATH by its whole name, or this Python."""
    program = tmp_path / "gitmem"
    program.write_text("#!/bin/sh\n")
    program.chmod(0o755)
    found = World({"PATH": str(tmp_path)})
    assert [str(program), "-C", "/mem", "mcp", "--allow-undo"] == command(found, "/mem", allow_undo=True)
    assert ["-m", "gitmem", "mcp"] == command(World({"PATH": "/nowhere"}), "")[1:]
