"""Work that belongs to no session: sync and housekeeping, each a process of its own that nobody waits for."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gitmem import background

if TYPE_CHECKING:
    from gitmem.hosts.hermes.home import Home
    from gitmem.memory.memory import Memory


def sync(bundle: Memory, home: Home, *, fresh_is_enough: bool = False) -> None:
    """Start a sync with every remote that is due. `shutdown` never waits for a network."""
    from gitmem.memory.sync.schedule import start_due

    if bundle.config.auto_sync:
        start_due(bundle, env=_environment(bundle, home), fresh_is_enough=fresh_is_enough)


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


def clean(bundle: Memory, home: Home) -> None:
    """Compress the object store, when that is due."""
    from gitmem.git.housekeeping import due

    if due(bundle.repository):
        background.start(bundle.root, "gc", "--auto", env=_environment(bundle, home))


def _environment(bundle: Memory, home: Home) -> dict[str, str]:
    return {**bundle.world.env, "HERMES_HOME": home.path, "PYTHONUNBUFFERED": "1"}
