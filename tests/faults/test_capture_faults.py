"""Capture under faults: what a push acknowledged is in the bundle exactly once, whatever happens."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest


def experiment(name: str, root: Path, *arguments: str, before: tuple[str, ...] = (), **env: str) -> str:
    """Run one experiment of the capture lab; gives what it printed, fails with what it complained about."""
    done = subprocess.run(
        [*before, sys.executable, "-m", "tests.faults.capture_lab", name, str(root), *arguments],
        env={**os.environ, **env},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def test_killed_at_random_moments(disk: Path) -> None:
    """20 kills of a writer that pushes, flushes, compresses and writes through, on the real disk."""
    experiment("kill-randomly", disk / "mem", "20", "1")


@pytest.mark.slow
@pytest.mark.parametrize("seed", ["2", "3"])
def test_killed_at_many_random_moments(disk: Path, seed: str) -> None:
    """200 kills, twice."""
    experiment("kill-randomly", disk / "mem", "200", seed)


def test_killed_at_changes_of_the_disk_of_a_flush(tmp_path: Path) -> None:
    """A flush, further pushes and the last flush die at the n-th change of the disk, for every fifth n."""
    experiment("kill-each", tmp_path / "mem", "10", "5")


def test_killed_at_changes_of_the_disk_of_a_recovery(tmp_path: Path) -> None:
    """The start that commits two dead writers' journals dies itself, at every fifth moment."""
    experiment("kill-recovery", tmp_path / "mem", "10", "5")


@pytest.mark.parametrize("how", ["once", "sticky"])
@pytest.mark.parametrize("step", ["5", pytest.param("1", marks=pytest.mark.slow)])
def test_a_full_disk_at_moments_of_a_flush(tmp_path: Path, how: str, step: str) -> None:
    """ENOSPC at the n-th change, once or from there on: everything is kept, said, and in the next flush."""
    experiment("full-disk", tmp_path / "mem", how, "10", step)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["kill-each", "kill-recovery"])
def test_everything_is_verified_after_each_kill(tmp_path: Path, name: str) -> None:
    """The same for every n, with `verify` and `git fsck` after every one."""
    experiment(name, tmp_path / "mem", "1")


def test_a_really_full_disk(tmp_path: Path) -> None:
    """A file system of 6 MB fills up under a writer; with room again every event is there once."""
    # A name space of its own: the mount is gone with the process, whatever becomes of it.
    own = ("unshare", "--mount")
    mount = tmp_path / "small"
    mount.mkdir()
    tried = subprocess.run(
        [*own, "mount", "-t", "tmpfs", "-o", "size=6m", "gitmem-test", str(mount)],
        capture_output=True,
        check=False,
    )
    if tried.returncode:
        pytest.skip("mounting needs more rights than this has")
    script = f'mount -t tmpfs -o size=6m gitmem-test {mount} && exec "$@"'
    experiment(
        "real-full-disk",
        mount / "mem",
        before=(*own, "sh", "-c", script, "sh"),
        LEDGER=str(tmp_path / "ledger"),
    )


def test_copies_and_backups(tmp_path: Path) -> None:
    """A copied bundle, a restored backup, a journal that comes back, an event that was taken back."""
    experiment("copies", tmp_path / "mem")


def test_processes_with_one_session_id(tmp_path: Path) -> None:
    """Three at once: all events, none twice, no file of two writers."""
    experiment("same-session", tmp_path / "mem", "3", "60")


@pytest.mark.slow
def test_many_processes_with_one_session_id(disk: Path) -> None:
    """Eight at once, 200 events each."""
    experiment("same-session", disk / "mem", "8", "200")
