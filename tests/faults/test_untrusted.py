"""Untrusted directories: whatever is done in one, no code of it runs, nothing outside changes, nothing is sent."""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest
from gitmem.cli.main import main
from gitmem.world import World

from tests.faults.untrusted import KINDS, UNKNOWN, Kind, Place
from tests.git.support import plain_environment, run_git
from tests.trees import copied

COMMANDS = (
    ("status",),
    ("log",),
    ("search", "honest"),
    ("recall", "honest"),
    ("remember", "another fact"),
    ("hook", "pre-commit"),
    ("sync",),
    ("snapshot", "now"),
    ("gc",),
    ("check", "--fix"),
    ("sync",),
)
STATE_COMMANDS = (("status",), ("remember", "another fact"), ("sync",), ("gc",), ("check", "--fix"))


class Listener:
    """A port on which nobody may call."""

    def __init__(self) -> None:
        self.calls = 0
        self._socket = socket.create_server(("127.0.0.1", 0))
        self.port: int = self._socket.getsockname()[1]
        threading.Thread(target=self._listen, daemon=True).start()

    def _listen(self) -> None:
        while True:
            try:
                connection, _ = self._socket.accept()
            except OSError:
                return
            self.calls += 1
            connection.close()

    def close(self) -> None:
        self._socket.close()


@pytest.fixture(scope="module")
def ground(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A bundle with a remote and a history, one with a merge under way, and what is around them."""
    top = tmp_path_factory.mktemp("ground")
    for name in ("around/home/.hermes/memories", "around/directory/kept"):
        (top / name).mkdir(parents=True)
    (top / "around/file").write_text("kept\n")
    (top / "around/directory/kept/file").write_text("kept\n")
    (top / "around/home/.hermes/memories/MEMORY.md").write_text("mine\n")
    subprocess.run(["git", "init", "-q", "--bare", "-b", "main", str(top / "hub.git")], check=True)
    world = _world(top)
    for args in (
        ["init", "b"],
        ["init", "around/other"],
        ["-C", "b", "remember", "an honest fact"],
        ["-C", "b", "remote", "add", "origin", "hub.git", "--yes"],
        ["-C", "b", "session", "start", "an honest session"],
        ["-C", "b", "record", "turn", "--user", "is this honest?", "--assistant", "yes, an honest answer"],
        ["-C", "b", "session", "end"],
        ["-C", "b", "sync"],
    ):
        assert main(args, world) == 0
    copied(top / "b", top / "merging")
    git_dir = top / "merging"
    shutil.rmtree(git_dir / ".git/hooks")
    first = run_git(git_dir, "rev-list", "--max-parents=0", "main")
    run_git(git_dir, "checkout", "-q", "-b", "other", first)
    (git_dir / "memories/MEMORY.md").write_text("---\ntype: Memory\n---\nanother\n")
    run_git(git_dir, "commit", "-qam", "other")
    run_git(git_dir, "checkout", "-q", "main")
    run_git(git_dir, "config", "merge.gitmem.driver", "false")
    subprocess.run(["git", "-C", str(git_dir), "merge", "-q", "other"], check=False, capture_output=True)
    assert (git_dir / ".git/MERGE_HEAD").exists()
    return top


def _world(top: Path) -> World:
    env = {
        **plain_environment(),
        "HOME": str(top / "around/home"),
        "GIT_CONFIG_NOSYSTEM": "1",
        "SECRET": "the-users-own-key",
    }
    return World(env, str(top / "around/home"), str(top), person="ada", hostname="laptop")


@pytest.fixture
def listener() -> Iterator[Listener]:
    made = Listener()
    yield made
    made.close()


def _seen(around: Path) -> dict[str, object]:
    """All that is around a bundle, as it is."""
    return {
        str(path.relative_to(around)): (path.read_bytes() if path.is_file() else None, path.lstat().st_mode)
        for path in sorted(around.rglob("*"))
    }


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.name.replace("/", "|"))
def test_an_untrusted_directory_does_nothing_outside(
    kind: Kind, ground: Path, tmp_path: Path, listener: Listener, capsys: pytest.CaptureFixture[str]
) -> None:
    """No code of it runs, nothing around it changes, nobody is called; each command ends with a plain answer."""
    top = tmp_path / "w"
    copied(ground, top)
    bundle = top / ("merging" if kind.merging else "b")
    config = bundle / ".git/config"
    config.write_text(config.read_text().replace(str(ground), str(top)))
    place = Place(top / "around", bundle, listener.port)
    kind.make(place)
    before = _seen(place.around)
    world = _world(top)._replace(cwd=str(bundle))
    env = {**world.env, "GIT_INDEX_FILE": str(bundle / ".git/index")}
    here = os.getcwd()
    os.chdir(bundle)
    try:
        for args in STATE_COMMANDS if kind.is_state else COMMANDS:
            main(args, world._replace(env=env) if args[0] == "hook" else world)
            assert before == _seen(place.around), args
            assert not place.canary.exists(), args
            assert listener.calls == 0, args
    finally:
        os.chdir(here)
    told = capsys.readouterr()
    assert "a bug in gitmem" not in told.err, told.err


def test_there_are_enough_kinds() -> None:
    """At least a hundred directories, no two of one name."""
    assert len({kind.name for kind in KINDS}) == len(KINDS) >= 100


def test_each_state_file_is_forged() -> None:
    """A name that enters the state table gets a sample here, and each field of it is forged."""
    assert UNKNOWN == set()
