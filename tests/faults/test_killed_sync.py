"""SIGKILL of a sync or a clone at any moment: the same again finishes it, and nothing is left for a person to remove."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from gitmem.config import Config
from gitmem.errors import BundleBusy
from gitmem.memory.memory import Memory
from gitmem.memory.upkeep.clone import clone, is_free
from gitmem.memory.upkeep.create import create

from tests.faults import sync_lab
from tests.git.support import PROJECT, locks_left

BUSY = """
import sys
from gitmem.git.git_directory import new_repository
with new_repository(sys.argv[1]):
    print("held", flush=True)
    sys.stdin.readline()
    raise SystemExit
"""


def experiment(name: str, where: Path, step: int) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "tests.faults.sync_lab", name, str(where), str(step)],
        capture_output=True,
        text=True,
        cwd=PROJECT,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    print(done.stdout)


@pytest.mark.parametrize("name", ["kill-init", "kill-clone", "kill-sync"])
def test_killed_at_some_changes_of_the_disk(tmp_path: Path, name: str) -> None:
    """It dies at every 29th change of the disk."""
    experiment(name, tmp_path, 29)


def test_killed_between_what_arrives_and_its_settlement(tmp_path: Path) -> None:
    """It dies at every 11th change of the disk: what a remote took away stays, what it brought is not believed."""
    experiment("kill-settlement", tmp_path, 11)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["kill-init", "kill-clone", "kill-sync", "kill-settlement"])
def test_killed_at_every_change_of_the_disk(tmp_path: Path, name: str) -> None:
    """It dies at every change of the disk."""
    experiment(name, tmp_path, 1)


def dead_lock(bundle: Memory, ref: str) -> Path:
    """A lock that a dead process left, whose note another one wrote over."""
    lock = Path(bundle.repository.refs.path(ref) + ".lock")
    lock.parent.mkdir(parents=True, exist_ok=True)
    lock.touch()
    os.utime(lock, (1_000_000_000, 1_000_000_000))
    return lock


def test_an_old_lock_on_a_ref_is_removed(tmp_path: Path) -> None:
    """The process that sets that ref next removes it; a young one is somebody's and stays."""
    bundle, _ = create(sync_lab.WORLD, str(tmp_path / "mem"), config=Config(machine="a"))
    lock = dead_lock(bundle, "refs/remotes/origin/main")
    assert bundle.repository.refs.set("refs/remotes/origin/main", bundle.tip, expected=None)
    assert not lock.exists()
    assert locks_left(bundle.repository) == []
    lock.touch()
    with pytest.raises(BundleBusy, match="holds"):
        bundle.repository.refs.set("refs/remotes/origin/main", bundle.tip, expected=bundle.tip)
    assert lock.exists()


def test_a_second_clone_beside_the_first_is_refused(tmp_path: Path) -> None:
    """What a clone is at work on is not taken for what a dead one left."""
    sync_lab.make_hub(tmp_path)
    hub, target = str(tmp_path / "hub.git"), str(tmp_path / "copy")
    busy = subprocess.Popen(
        [sys.executable, "-c", BUSY, target], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    )
    assert busy.stdin
    assert busy.stdout
    assert busy.stdout.readline() == b"held\n"
    with pytest.raises(BundleBusy, match="Another process is at work"):
        clone(sync_lab.WORLD, hub, target, config=Config(machine="b"))
    busy.communicate(b"\n")

    assert is_free(target)
    clone(sync_lab.WORLD, hub, target, config=Config(machine="b")).close()
    assert not is_free(target)
