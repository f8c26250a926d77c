"""Agents' settings: what `connect` writes, what stays, what `disconnect` gives back, and what is refused."""

from __future__ import annotations

import json
import os
import stat
import subprocess
from pathlib import Path

import pytest
from gitmem.errors import ConfigError
from gitmem.hosts import connect as hosts
from gitmem.hosts.connect import PROFILES, checks, command, connect, disconnect
from gitmem.settings_edit import load, put
from gitmem.state import CONNECTIONS, LocalState
from gitmem.world import World

WORDS = ["/bin/sh", "-C", "/mem", "mcp"]


@pytest.fixture
def world(tmp_path: Path) -> World:
    return World({"PATH": "/nowhere"}, home=str(tmp_path), cwd=str(tmp_path))


@pytest.fixture
def state(tmp_path: Path) -> LocalState:
    return LocalState(str(tmp_path / ".git-of-mem"))


@pytest.fixture(autouse=True)
def git_dir(state: LocalState) -> None:
    os.makedirs(os.path.dirname(state.directory))


@pytest.mark.parametrize("name", PROFILES)
def test_connect_and_disconnect(name: str, world: World, state: LocalState) -> None:
    """A new file holds the entry alone, again nothing changes, only its owner reads it; then it is gone as it came."""
    one = PROFILES[name]
    done = connect(PROFILES[name], world, state, WORDS)
    path = Path(done.place)
    assert done.changed
    assert one.entry(WORDS) == load(one.form, path.read_text())[one.keys[0]]["gitmem"]
    assert 0o600 == stat.S_IMODE(path.stat().st_mode)
    assert not connect(PROFILES[name], world, state, WORDS).changed
    assert [True] == [check.ok for check in checks(PROFILES[name], world, "/mem") or ()]
    assert [False] == [check.ok for check in checks(PROFILES[name], world, "/other") or ()]
    assert disconnect(PROFILES[name], world, state).changed
    assert not path.exists()
    assert None is checks(PROFILES[name], world, "/mem")
    assert not disconnect(PROFILES[name], world, state).changed


@pytest.mark.parametrize("name", PROFILES)
def test_what_was_there_comes_back(name: str, world: World, state: LocalState) -> None:
    """To the byte, also after the entry was written twice; an older entry of that name too."""
    one = PROFILES[name]
    path = Path(one.path(world))
    path.parent.mkdir(parents=True, exist_ok=True)
    before = {
        "toml": '# mine\n[mcp_servers.gitmem]\ncommand = "old"\n',
        "json": f'{{\n  // mine\n  "{one.keys[0]}": {{"gitmem": {{"command": "old"}}}}\n}}\n',
        "yaml": "",
    }[one.form]
    for text in (before, before.replace("gitmem", "other")):
        path.write_text(text)
        connect(PROFILES[name], world, state, WORDS)
        assert "old" not in str(load(one.form, path.read_text())[one.keys[0]]["gitmem"])
        if "other" in text:
            connect(PROFILES[name], world, state, [*WORDS, "--allow-undo"])
            disconnect(PROFILES[name], world, state)
            assert load(one.form, text) == load(one.form, path.read_text())
        else:
            disconnect(PROFILES[name], world, state)
            assert text == path.read_text()


@pytest.mark.parametrize("name", PROFILES)
def test_what_a_user_adds_to_the_entry_stays(name: str, world: World, state: LocalState) -> None:
    """Such as variables and a timeout: to connect again changes nothing, and other words change only themselves."""
    one = PROFILES[name]
    path = Path(connect(one, world, state, WORDS).place)
    own = {"env": {"A B": "x"}, "timeout": 20}
    path.write_text(put(one.form, path.read_text(), one.keys, {**one.entry(WORDS), **own}))
    assert not connect(one, world, state, WORDS).changed
    more = [*WORDS, "--allow-undo"]
    assert connect(one, world, state, more).changed
    assert {**one.entry(more), **own} == load(one.form, path.read_text())[one.keys[0]]["gitmem"]
    disconnect(one, world, state)
    assert not path.exists() or "gitmem" not in path.read_text()


def test_no_file_is_kept(world: World, state: LocalState) -> None:
    """The settings of an agent may hold keys: what is kept is our piece and its place."""
    path = Path(PROFILES["claude"].path(world))
    path.write_text('{"apiKey": "sk-very-secret", "z": 1}')
    connect(PROFILES["claude"], world, state, WORDS)
    assert b"very-secret" not in (state.read(CONNECTIONS, "claude") or b"")


@pytest.mark.parametrize("name", PROFILES)
def test_a_pipe_is_not_read(name: str, world: World, state: LocalState) -> None:
    """It would wait for ever."""
    path = Path(PROFILES[name].path(world))
    path.parent.mkdir(parents=True, exist_ok=True)
    os.mkfifo(path)
    with pytest.raises(ConfigError, match="not a file of settings"):
        connect(PROFILES[name], world, state, WORDS)
    with pytest.raises(ConfigError, match="not a file of settings"):
        disconnect(PROFILES[name], world, state)


def test_a_program_that_is_gone(world: World, state: LocalState) -> None:
    """The connection is there and cannot work: the fix is said."""
    connect(PROFILES["cursor"], world, state, ["/gone/gitmem", *WORDS[1:]])
    [check] = checks(PROFILES["cursor"], world, "/mem") or []
    assert (False, "Run `gitmem connect cursor`.") == (check.ok, check.fix)


def test_the_places(tmp_path: Path) -> None:
    """As the programs' own variables say."""
    env = {"CODEX_HOME": "/c", "CLAUDE_CONFIG_DIR": "/d", "XDG_CONFIG_HOME": "/x", "HERMES_HOME": "/h"}
    moved, plain = World(env, home="/home/ada"), World({}, home="/home/ada")
    assert [
        ("/home/ada/.codex/config.toml", "/c/config.toml"),
        ("/home/ada/.claude.json", "/d/.claude.json"),
        ("/home/ada/.cursor/mcp.json", "/home/ada/.cursor/mcp.json"),
        ("/home/ada/.config/opencode/opencode.json", "/x/opencode/opencode.json"),
    ] == [(one.path(plain), one.path(moved)) for one in PROFILES.values()]
    commented = tmp_path / ".config/opencode/opencode.jsonc"
    commented.parent.mkdir(parents=True)
    commented.touch()
    assert str(commented) == PROFILES["opencode"].path(World({}, home=str(tmp_path)))


def test_a_file_that_somebody_changes_meanwhile(
    world: World, state: LocalState, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its program writes it too: nothing of that is lost. A link stays a link, a mode stays."""
    real = tmp_path / "dotfiles.json"
    real.write_text("{}")
    real.chmod(0o640)
    path = tmp_path / ".claude.json"
    path.symlink_to(real)
    write = hosts.SettingsFile.write

    def meanwhile(file: hosts.SettingsFile, text: str) -> None:
        real.write_text('{"newer": 1}')
        write(file, text)

    with monkeypatch.context() as patch:
        patch.setattr(hosts.SettingsFile, "write", meanwhile)
        with pytest.raises(ConfigError, match="meanwhile"):
            connect(PROFILES["claude"], world, state, WORDS)
    assert '{"newer": 1}' == real.read_text()
    connect(PROFILES["claude"], world, state, WORDS)
    assert path.is_symlink()
    assert 0o640 == stat.S_IMODE(real.stat().st_mode)
    assert 1 == json.loads(real.read_text())["newer"]


def test_the_words(tmp_path: Path) -> None:
    """The gitmem of this $PATH by its whole name, or this Python, which imports nothing from where an agent works."""
    program = tmp_path / "gitmem"
    program.write_text("#!/bin/sh\n")
    program.chmod(0o755)
    found = World({"PATH": str(tmp_path)})
    assert [str(program), "-C", "/mem", "mcp", "--allow-undo"] == command(found, "/mem", allow_undo=True)
    words = command(World({"PATH": "/nowhere"}), "")
    assert ["-P", "-m", "gitmem", "mcp"] == words[1:]
    (tmp_path / "work" / "gitmem").mkdir(parents=True)
    (tmp_path / "work" / "gitmem" / "__main__.py").write_text("print('not ours')")
    started = subprocess.run([*words, "--help"], cwd=tmp_path / "work", capture_output=True, check=True)
    assert b"not ours" not in started.stdout
