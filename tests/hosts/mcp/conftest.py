"""A bundle, and clients that are connected to it."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from gitmem.config import Config
from gitmem.memory.history.log import LogEntry
from gitmem.memory.memory import Memory
from gitmem.memory.opening import open_bundle
from gitmem.memory.upkeep.create import create
from gitmem.world import World

from tests.git.support import fsck_clean
from tests.hosts.mcp.client import Inside

Connect = Callable[..., Inside]


class Place:
    """A bundle on disk, looked at from outside."""

    def __init__(self, root: Path) -> None:
        self.root = root
        kept = {key: value for key, value in os.environ.items() if not key.startswith(("GITMEM_", "HERMES_"))}
        self.env = {**kept, "GITMEM_MACHINE": "laptop", "HERMES_HOME": str(root.parent / "hermes")}
        self.env["HOME"] = str(root.parent)
        self._opened: list[Memory] = []
        made, _ = create(self.world, str(root), config=Config(machine="laptop"))
        self._opened.append(made)

    @property
    def world(self) -> World:
        return World(self.env, str(self.root.parent), str(self.root.parent), person="ada", hostname="laptop")

    @property
    def memory(self) -> Memory:
        """The memory as it is now, opened afresh."""
        opened = open_bundle(self.world, str(self.root), "write")
        self._opened.append(opened)
        return opened

    def curated(self, target: Any = "memory") -> list[str]:
        return [entry.text for entry in self.memory.curated.entries(target)]

    def log(self, **wanted: Any) -> list[LogEntry]:
        """Commits, oldest first."""
        return list(self.memory.log(**wanted))[::-1]

    def close(self) -> None:
        if self.root.exists():
            fsck_clean(self.memory.repository)
        for memory in self._opened:
            memory.index.close()
            memory.repository.store.close()


@pytest.fixture
def place(tmp_path: Path) -> Iterator[Place]:
    """A bundle; at the end plain git finds it whole."""
    place = Place(tmp_path / "mem")
    yield place
    place.close()


@pytest.fixture
def connect(place: Place) -> Iterator[Connect]:
    """Connects clients; each is disconnected at the end."""
    made: list[Inside] = []

    def connect(name: str = "codex", version: str = "1.2", *, begun: bool = True, **options: Any) -> Inside:
        client = Inside(place.world, str(place.root), **options)
        made.append(client)
        if begun:
            client.begin(name, version)
        return client

    yield connect
    for client in made:
        client.close()


@pytest.fixture
def client(connect: Connect) -> Inside:
    return connect()
