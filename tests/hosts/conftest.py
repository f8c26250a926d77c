"""A Hermes home with gitmem in it, and a provider that a test drives as the host would."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from gitmem import background
from gitmem.hosts.connect import Steps
from gitmem.hosts.hermes.home import Home, open_home
from gitmem.hosts.hermes.profile import install
from gitmem.hosts.hermes.provider import SHIM_VERSION, GitMemProvider
from gitmem.memory.history.log import LogEntry
from gitmem.memory.memory import Memory
from gitmem.world import World

from tests.git.support import fsck_clean

DELIMITER = "\n§\n"


class HermesHome:
    """A home on disk, written to as Hermes writes, and the bundle in it."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.home = Home(str(path))
        self.env = {**os.environ, "HERMES_HOME": str(path), "GITMEM_MACHINE": "laptop", "USER": "ada"}
        self._bundles: list[Memory] = []

    @property
    def world(self) -> World:
        return World(self.env, str(self.path.parent), str(self.path.parent), person="ada")

    def install(self) -> Steps:
        return install(self.home, self.world)

    def bundle(self) -> Memory:
        """The bundle as it is now, opened afresh."""
        bundle = open_home(self.home, self.world)
        self._bundles.append(bundle)
        return bundle

    # The host's files

    def file(self, name: str = "MEMORY.md") -> Path:
        return self.path / "memories" / name

    def entries(self, name: str = "MEMORY.md") -> list[str]:
        text = self.file(name).read_text() if self.file(name).exists() else ""
        return [part for part in text.removesuffix("\n").split(DELIMITER) if part]

    def write(self, *entries: str, name: str = "MEMORY.md", age: float = 10.0) -> None:
        """The whole file, as old as said: what nobody told of waits two seconds."""
        path = self.file(name)
        path.parent.mkdir(parents=True, exist_ok=True)
        beside = path.with_suffix(".tmp")
        beside.write_text(DELIMITER.join(entries))
        os.utime(beside, (time.time() - age, time.time() - age))
        os.replace(beside, path)

    # The bundle

    def curated(self, target: Any = "memory") -> list[str]:
        return [entry.text for entry in self.bundle().curated.entries(target)]

    def log(self) -> list[LogEntry]:
        """Commits, oldest first."""
        return list(self.bundle().log())[::-1]

    def subjects(self, kind: str = "") -> list[str]:
        return [entry.commit.subject for entry in self.log() if not kind or entry.kind == kind]

    def close(self) -> None:
        for bundle in self._bundles:
            bundle.repository.store.close()


@pytest.fixture(scope="session", autouse=True)
def unhurried() -> Iterator[None]:
    """The provider gives up on nothing, however slow the machine is; a test of giving up says after how long."""
    with pytest.MonkeyPatch.context() as patch:
        for wait in ("_TOOL_WAIT", "_COMPRESS_WAIT", "_SHUTDOWN_WAIT"):
            patch.setattr(f"gitmem.hosts.hermes.agent_run.{wait}", 120.0)
        patch.setattr("gitmem.hosts.hermes.prefetcher._PATIENCE", 120.0)
        for wait in ("_RECALL_WAIT", "_SHUTDOWN_WAIT"):
            patch.setattr(f"gitmem.hosts.loop.manager.{wait}", 120.0)
        yield


@pytest.fixture
def bare_home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[HermesHome]:
    """A home without gitmem."""
    path = tmp_path / "hermes"
    path.mkdir()
    home = HermesHome(path)
    for name in ("HERMES_HOME", "GITMEM_MACHINE", "USER"):
        monkeypatch.setenv(name, home.env[name])
    yield home
    background.wait(120)
    home.close()


@pytest.fixture
def home(bare_home: HermesHome) -> Iterator[HermesHome]:
    """A home with gitmem installed; at the end plain git finds its bundle whole."""
    bare_home.install()
    yield bare_home
    background.wait(120)
    if os.path.isdir(bare_home.home.git_dir):
        fsck_clean(bare_home.bundle().repository)


class Driver(GitMemProvider):
    """A provider with the waiting that a test needs."""

    def __init__(self) -> None:
        super().__init__(shim=SHIM_VERSION)
        self.warned: list[str] = []

    def settle(self) -> None:
        """Everything that was asked of a model and of the worker is done."""
        assert self._run is not None
        self._run.asker.submit(lambda: None).result(30)
        self._run.worker.submit(lambda: None).result(30)

    def die(self) -> None:
        """Its process is killed: the system drops its locks, and its journals stay as they are."""
        assert self._run is not None
        self._run.closed = True
        self._run._is_over = True
        for driver in self._run._drivers.values():
            driver.abandon()

    def compare(self) -> None:
        assert self._run is not None
        self._run.worker.submit(self._run.compare).result(30)


@pytest.fixture
def begin(home: HermesHome) -> Iterator[Callable[..., Driver]]:
    """Starts providers as the host does; each is shut down at the end."""
    begun: list[Driver] = []

    def start(session: str = "s1", *, settled: bool = True, **known: Any) -> Driver:
        provider = Driver()
        begun.append(provider)
        values: dict[str, Any] = {
            "platform": "cli",
            "hermes_home": str(home.path),
            "agent_context": "primary",
            "agent_identity": "default",
            "warning_callback": provider.warned.append,
            **known,
        }
        provider.initialize(session, **values)
        if settled and provider._run is not None:
            provider.settle()
        return provider

    yield start
    for provider in begun:
        provider.shutdown()
