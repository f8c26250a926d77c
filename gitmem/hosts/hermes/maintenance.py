"""Work that belongs to no session: sync and housekeeping, each a process of its own that nobody waits for."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from gitmem.hosts.hermes.home import Home
    from gitmem.memory.memory import Memory


_LOOK = 0.01


def sync(bundle: Memory, home: Home, *, fresh_is_enough: bool = False) -> None:
    """Start a sync with every remote that is due. `shutdown` never waits for a network."""
    from gitmem.memory.sync.remote_state import start_due

    if bundle.config.auto_sync:
        start_due(bundle, env=environment(bundle, home), fresh_is_enough=fresh_is_enough)


def sync_first(bundle: Memory, home: Home) -> None:
    """Sync before the prompt is made, for as long as `sync_wait` says; what takes longer goes on by itself.

    Nobody waits for a sync that has been running for longer than that: its remote hangs.
    """
    from gitmem.git.remotes import Remotes
    from gitmem.memory.sync.remote_state import start_due, sync_lock

    seconds = bundle.config.sync_wait
    if not (bundle.config.auto_sync and Remotes(bundle.repository).all()):
        return
    _, process = start_due(bundle, env=environment(bundle, home))
    until = time.monotonic() + seconds
    if process is None and bundle.world.clock().timestamp() - sync_lock(bundle.state).last_taken > seconds:
        return
    while time.monotonic() < until:
        if process.poll() is not None if process else not sync_lock(bundle.state).is_held:
            return
        time.sleep(_LOOK)


def failures(bundle: Memory) -> list[str]:
    """A sentence for each remote whose last sync failed."""
    from gitmem.git.remotes import Remotes

    sentences = []
    for remote in Remotes(bundle.repository).all():
        from gitmem.memory.sync.engine import Sync

        state = Sync(bundle).state(remote.name)
        if state.get("failures"):
            sentences.append(
                f"The last sync with {remote.name} failed ({state.get('last_error', 'no reason given')}); "
                "it is tried again by itself."
            )
    return sentences


def environment(bundle: Memory, home: Home) -> dict[str, str]:
    """The environment of a process that works for this home."""
    return {**bundle.world.env, "HERMES_HOME": home.path, "PYTHONUNBUFFERED": "1"}
