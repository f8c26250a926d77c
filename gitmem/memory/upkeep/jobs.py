"""Work that is due when a session of any host is over, each as a process of its own: nobody waits for it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from gitmem.memory.sync.remote_state import start_due as start_syncs

if TYPE_CHECKING:
    from gitmem.memory.lifetime import OpenBundle


def start_due(bundle: OpenBundle, *, env: Mapping[str, str] | None = None, changed: bool = True) -> None:
    """Start a sync with every remote that is due, unless `auto_sync` says no, and housekeeping."""
    if bundle.config.auto_sync:
        start_syncs(bundle, env=env, fresh_is_enough=not changed)
    bundle.tidy_in_background(env)
