"""Sync without a person: a failing remote is left alone for longer and longer, and nobody waits."""

from __future__ import annotations

import subprocess
from datetime import timedelta
from pathlib import Path

import pytest
from gitmem import background
from gitmem.errors import RemoteError
from gitmem.git.git_settings import Remote, Remotes
from gitmem.memory.memory import Memory
from gitmem.memory.sync.remote_state import RemoteState
from gitmem.memory.sync.sync import Sync
from gitmem.okf.timestamps import stamp

from tests.git.support import run_git
from tests.memory.conftest import Clock


def test_a_failing_remote_is_backed_off(bundle: Memory, tmp_path: Path, clock: Clock) -> None:
    """Each failure doubles the pause up to an hour; a success ends it."""
    hub = tmp_path / "hub.git"
    remote = Remote("origin", str(hub), consent=True)
    Remotes(bundle.repository).save(remote)
    syncing = Sync(bundle)

    def state() -> RemoteState:
        return RemoteState(bundle, remote)

    assert state().is_due()
    for minutes in (2, 4, 8, 16, 32, 60, 60):
        with pytest.raises(RemoteError):
            syncing.run()
        assert not state().is_due()
        clock.now += timedelta(minutes=minutes - 1)
        assert not state().is_due()
        clock.now += timedelta(minutes=1)
        assert state().is_due()
    assert "" < state().next_try <= stamp(clock.now)
    subprocess.run(["git", "init", "-q", "--bare", "-b", "main", str(hub)], check=True)
    syncing.run()
    assert state().is_due()
    assert not state().is_due(fresh_is_enough=True)


def test_without_consent_nothing_is_due(bundle: Memory) -> None:
    """A remote that nobody agreed to is never synced by itself; one that only gives is."""
    assert not RemoteState(bundle, Remote("origin", "/nowhere")).is_due()
    assert RemoteState(bundle, Remote("team", "/nowhere", "pull-only")).is_due()


def test_a_background_sync_reaches_the_remote(
    bundle: Memory, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """`sync --background` starts a process of its own for every remote that is due."""
    from gitmem.cli.main import main

    hub = tmp_path / "hub.git"
    subprocess.run(["git", "init", "-q", "--bare", "-b", "main", str(hub)], check=True)
    Remotes(bundle.repository).save(Remote("origin", str(hub), consent=True))
    assert main(["-C", bundle.root, "sync", "--background"]) == 0
    assert "started: origin" in capsys.readouterr().out
    background.wait(120)
    assert run_git(hub, "rev-parse", "main") == bundle.tip
