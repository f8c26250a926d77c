"""Two machines push at once, again and again: both end up with everything, at the same commit."""

from __future__ import annotations

import multiprocessing
import os
import subprocess
from datetime import UTC, datetime
from multiprocessing.synchronize import Barrier
from pathlib import Path

import pytest
from gitmem.config import Config
from gitmem.git.git_settings import Remote, Remotes
from gitmem.memory.opening import open_bundle
from gitmem.memory.sync.sync import Sync
from gitmem.memory.upkeep.clone import clone
from gitmem.memory.upkeep.create import create
from gitmem.world import World

from tests.git.support import fsck_clean


def now() -> datetime:
    return datetime.now(UTC)


def learn_and_sync(root: str, machine: str, transport: str, times: int, together: Barrier) -> None:
    """One machine: learn a fact, then sync in the same moment as the other."""
    bundle = open_bundle(World(os.environ, clock=now), root, "as is", config=Config(machine=machine))
    for number in range(times):
        bundle.curated.add(f"{machine} learned {number}")
        together.wait(300)
        Sync(bundle, prefer=transport).run()
    bundle.repository.store.close()


@pytest.mark.parametrize("times", [6, pytest.param(30, marks=pytest.mark.slow)])
@pytest.mark.parametrize("transport", ["git", "dulwich"])
def test_two_machines_push_at_once(tmp_path: Path, transport: str, times: int) -> None:
    """Again and again two processes push to one hub in the same moment: nothing is lost."""
    hub = str(tmp_path / "hub.git")
    subprocess.run(["git", "init", "-q", "--bare", "-b", "main", hub], check=True)
    first, _ = create(World(os.environ, clock=now), str(tmp_path / "a"), config=Config(machine="a"))
    Remotes(first.repository).save(Remote("origin", hub, consent=True))
    Sync(first, prefer=transport).run()
    second = clone(World(os.environ, clock=now), hub, str(tmp_path / "b"), config=Config(machine="b"))
    for bundle in (first, second):
        bundle.repository.store.close()
    context = multiprocessing.get_context("spawn")
    together = context.Barrier(2)
    processes = [
        context.Process(target=learn_and_sync, args=(str(tmp_path / name), name, transport, times, together))
        for name in ("a", "b")
    ]
    for process in processes:
        process.start()
    for process in processes:
        process.join()
        assert process.exitcode == 0
    bundles = [
        open_bundle(World(os.environ, clock=now), str(tmp_path / name), "as is", config=Config(machine=name))
        for name in ("a", "b")
    ]
    for bundle in (*bundles, bundles[0]):
        Sync(bundle, prefer=transport).run()
    assert bundles[0].tip == bundles[1].tip
    expected = {f"{name} learned {number}" for name in ("a", "b") for number in range(times)}
    for bundle in bundles:
        texts = [entry.text for entry in bundle.curated.entries("memory")]
        assert expected == set(texts)
        assert len(texts) == len(expected)
        fsck_clean(bundle.repository)
        bundle.repository.store.close()
