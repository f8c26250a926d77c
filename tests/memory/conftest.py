"""A bundle with a clock that tests turn."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from gitmem.config import Config
from gitmem.memory.memory import Memory
from gitmem.memory.upkeep.create import create
from gitmem.world import World

from tests.git.support import fsck_clean


class Clock:
    """A clock that moves on a little each time it is looked at, and can be set."""

    def __init__(self) -> None:
        self.now = datetime(2026, 6, 30, 14, 0, tzinfo=UTC)

    def __call__(self) -> datetime:
        self.now += timedelta(milliseconds=7)
        return self.now


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def make_bundle(tmp_path: Path, clock: Clock) -> Iterator[Callable[..., Memory]]:
    """Makes bundles with settings; each is checked by plain git at the end."""
    made: list[Memory] = []

    def make(name: str = "mem", **settings: object) -> Memory:
        config = Config(machine="laptop", **settings)  # type: ignore[arg-type]
        bundle, _ = create(World(os.environ, clock=clock, person="ada"), str(tmp_path / name), config=config)
        made.append(bundle)
        return bundle

    yield make
    for bundle in made:
        fsck_clean(bundle.repository)
        bundle.repository.store.close()


@pytest.fixture
def bundle(make_bundle: Callable[..., Memory]) -> Memory:
    return make_bundle()
