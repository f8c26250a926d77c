"""The command line, run in process under a fixed clock, home and time zone."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from gitmem.cli.app import App
from gitmem.cli.main import main
from gitmem.world import World

from tests.git.support import plain_environment

NOTE = "---\ntype: Note\n---\n"


@dataclass(frozen=True)
class Result:
    code: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        return json.loads(self.out)


class Cli:
    """Runs commands. Each one plays a minute after the one before."""

    def __init__(self, tmp_path: Path, capsys: pytest.CaptureFixture[str], *, made: bool = False) -> None:
        self.home = tmp_path / "home"
        self.home.mkdir(exist_ok=made)
        self.cwd = tmp_path
        self.now = datetime(2026, 6, 30, 14, 0, tzinfo=UTC)
        self.env: dict[str, str] = plain_environment()
        self._capsys = capsys
        self._root = str(tmp_path)

    def world(self) -> World:
        return World(dict(self.env), str(self.home), str(self.cwd), lambda: self.now, "ada", "laptop", UTC)

    def run(self, *args: str) -> Result:
        """Run a command, whatever comes of it."""
        self.now += timedelta(minutes=1)
        self._capsys.readouterr()
        code = main(args, self.world())
        out, err = self._capsys.readouterr()
        return Result(code, out, err)

    def __call__(self, *args: str, code: int = 0) -> Result:
        """Run a command that ends with that code, quietly on standard error where it is 0."""
        result = self.run(*args)
        assert code == result.code, result
        assert code or not result.err, result
        return result

    def fails(self, *args: str, code: int = 1) -> str:
        """The one line that a command which fails leaves."""
        result = self(*args, code=code)
        assert result.err.startswith("gitmem: ")
        assert result.err.count("\n") == 1, result.err
        assert "Traceback" not in result.err
        assert "bug" not in result.err
        return result.err.removeprefix("gitmem: ").rstrip("\n").replace(self._root, "/tmp")

    def masked(self, *args: str) -> str:
        """The whole output with what differs from run to run taken out."""
        text = self(*args).out.replace(self._root, "/tmp")
        return re.sub(r"\b[0-9a-f]{8,40}\b", "<id>", text)

    # A bundle to work in

    @property
    def root(self) -> Path:
        return self.cwd

    def init(self, name: str = "mem") -> Path:
        self("init", name)
        self.cwd = self.cwd / name
        return self.cwd

    def write(self, path: str, text: str | bytes) -> Path:
        full = self.cwd / path
        full.parent.mkdir(parents=True, exist_ok=True)
        full.write_bytes(text if isinstance(text, bytes) else text.encode())
        return full

    def remember(self, *texts: str) -> None:
        """Add facts to MEMORY.md by hand."""
        path = self.cwd / "memories/MEMORY.md"
        old = path.read_text()
        between = "" if old.endswith("---\n") else "\n§\n"
        path.write_text(old + between + "\n§\n".join(texts))

    def git(self, *args: str, check: bool = True, input: str | None = None) -> str:  # noqa: A002
        return git(self.cwd, *args, check=check, input=input, now=self.now)

    def state(self) -> tuple[object, ...]:
        """All that a failed command must leave as it was: refs, index, work tree."""
        files = {}
        for directory, below, names in os.walk(self.cwd):
            if directory.endswith(".git"):  # gitmem's own state comes and goes beside us
                below[:] = [name for name in below if name != "gitmem"]
            for path in (Path(directory, name) for name in names):
                files[str(path.relative_to(self.cwd))] = path.read_bytes()
        return tuple(sorted(files.items()))


def git(
    cwd: Path,
    *args: str,
    check: bool = True,
    input: str | None = None,  # noqa: A002
    now: datetime = datetime(2026, 6, 30, 14, tzinfo=UTC),
) -> str:
    """Plain git with a person's name, at a moment of the story, and no settings from outside."""
    env = {
        **plain_environment(),
        "HOME": str(cwd),
        "GIT_CONFIG_GLOBAL": os.devnull,
        "GIT_CONFIG_NOSYSTEM": "1",
        "GIT_AUTHOR_NAME": "Ann",
        "GIT_AUTHOR_EMAIL": "ann@example.org",
        "GIT_COMMITTER_NAME": "Ann",
        "GIT_COMMITTER_EMAIL": "ann@example.org",
        "GIT_AUTHOR_DATE": now.isoformat(),
        "GIT_COMMITTER_DATE": now.isoformat(),
    }
    done = subprocess.run(
        ["git", *args], cwd=cwd, env=env, check=False, capture_output=True, text=True, input=input
    )
    assert not check or done.returncode == 0, done.stderr
    return done.stdout + (done.stderr if not check else "")


def home_of(cwd: Path) -> Path:
    """The home whose list has the memories of a story."""
    return next((above / "home" for above in (cwd, *cwd.parents) if (above / "home").is_dir()), cwd)


def real(
    *args: str, cwd: Path, env: dict[str, str] | None = None, **more: Any
) -> subprocess.CompletedProcess[str]:
    """The real command in a process of its own, with the home of the story that a directory belongs to."""
    settings = {
        **plain_environment(),
        "HOME": str(home_of(cwd)),
        "GITMEM_MACHINE": "laptop",
        "LC_ALL": "C.UTF-8",
        **(env or {}),
    }
    return subprocess.run(
        [sys.executable, "-P", "-m", "gitmem", *args],
        cwd=cwd,
        env=settings,
        check=False,
        capture_output=True,
        text=True,
        **more,
    )


@pytest.fixture
def gitmem(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Cli:
    """The command line in an empty directory."""
    return Cli(tmp_path, capsys)


@pytest.fixture
def mem(gitmem: Cli) -> Cli:
    """The command line inside a new bundle."""
    gitmem.init()
    return gitmem


@pytest.fixture
def person(monkeypatch: pytest.MonkeyPatch) -> pytest.MonkeyPatch:
    """A person at a terminal."""
    monkeypatch.setattr(sys.stdin, "isatty", lambda: True, raising=False)
    monkeypatch.setattr(App, "is_person", property(lambda _: True))
    return monkeypatch
