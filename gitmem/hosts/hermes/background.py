"""Work that belongs to no session: a sync or a cleaning, each a process of its own that nobody waits for."""

from __future__ import annotations

import contextlib
import os
import subprocess
import sys
from typing import TYPE_CHECKING

from gitmem.files import read_file
from gitmem.hosts.hermes.home import Home

if TYPE_CHECKING:
    from gitmem.git.remotes import Remote
    from gitmem.memory.memory import Memory

# Kept, because a process object that goes away while its process runs is a warning.
_started: list[subprocess.Popen[bytes]] = []


def sync(bundle: Memory, home: Home, *, fresh_is_enough: bool = False) -> list[str]:
    """Start a sync with every remote that is due; gives the names. `shutdown` never waits for a network."""
    from gitmem.memory.sync.schedule import due

    started = []
    for remote in _remotes(bundle) if bundle.config.auto_sync else ():
        if due(bundle, remote, fresh_is_enough=fresh_is_enough):
            _start(["-C", bundle.root, "sync", remote.name], bundle, home)
            started.append(remote.name)
    return started


def failures(bundle: Memory) -> list[str]:
    """A sentence for each remote whose last sync failed."""
    told = []
    for remote in _remotes(bundle):
        state = _state(bundle, remote.name)
        if state.get("failures"):
            told.append(
                f"The last sync with {remote.name} failed ({state.get('last_error', 'no reason given')}); "
                "it is tried again by itself."
            )
    return told


def clean(bundle: Memory, home: Home) -> None:
    """Compress the object store, when that is due."""
    from gitmem.git.housekeeping import due

    if due(bundle.repository):
        _start(["-C", bundle.root, "gc", "--auto"], bundle, home)


def _remotes(bundle: Memory) -> list[Remote]:
    """The remotes; a bundle without any costs no import."""
    if b"[remote" not in (read_file(os.path.join(bundle.repository.git_dir, "config")) or b""):
        return []
    from gitmem.git.remotes import Remotes

    return Remotes(bundle.repository).all()


def _state(bundle: Memory, name: str) -> dict[str, object]:
    from gitmem.memory.sync.engine import Sync

    return dict(Sync(bundle).state(name))


def _start(arguments: list[str], bundle: Memory, home: Home) -> None:
    # -P: it runs in the bundle, from where Python must not import.
    command = [sys.executable, "-P", "-m", "gitmem", *arguments]
    _started[:] = [process for process in _started if process.poll() is None]
    with contextlib.suppress(OSError):  # nothing depends on it
        _started.append(
            subprocess.Popen(
                command,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                start_new_session=True,
                cwd=bundle.root,
                env={**bundle.world.env, "HERMES_HOME": home.path, "PYTHONUNBUFFERED": "1"},
            )
        )


def wait(seconds: float) -> None:
    """For tests: let what was started come to an end."""
    for process in _started:
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(seconds)
    _started.clear()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_started.clear)
