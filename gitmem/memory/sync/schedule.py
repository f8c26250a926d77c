"""Sync without a person: when a remote is tried, and when it is tried again."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import timedelta
from typing import TYPE_CHECKING, Any

from gitmem.memory.sync.one_at_a_time import is_running
from gitmem.okf import timestamps

if TYPE_CHECKING:
    from subprocess import Popen

    from gitmem.git.remotes import Remote
    from gitmem.memory.bundle import Bundle

LONGEST = 60
"""Minutes between two tries with a remote that keeps failing: the circuit is open meanwhile."""
FRESH = timedelta(minutes=10)


def pause(failures: int) -> timedelta:
    """How long a remote is left alone after so many failures in a row."""
    return timedelta(minutes=min(2 ** min(failures, 10), LONGEST)) if failures > 0 else timedelta()


def due(bundle: Bundle, remote: Remote, *, fresh_is_enough: bool = False) -> bool:
    """Whether a remote may be tried now: somebody agreed to it, and it did not just fail.

    With `fresh_is_enough` one that was synced a moment ago is left alone too.
    """
    if remote.pushes and not remote.consent:
        return False
    return is_time(_state(bundle, remote.name), bundle, fresh_is_enough=fresh_is_enough)


def is_time(state: Mapping[str, Any], bundle: Bundle, *, fresh_is_enough: bool = False) -> bool:
    """Whether enough time has passed since a remote failed, or was synced."""
    now = bundle.world.clock()
    failures = state.get("failures")
    failed = timestamps.parse(str(state.get("last_error_at", "")))
    if failed is not None and isinstance(failures, int) and failures > 0:
        return now - failed >= pause(failures) or now < failed  # a clock that was set back stops nothing
    succeeded = timestamps.parse(str(state.get("last_success", "")))
    return not fresh_is_enough or succeeded is None or now - succeeded >= FRESH or now < succeeded


def all_due(bundle: Bundle, *, fresh_is_enough: bool = False) -> list[str]:
    """The names of the remotes that may be tried now."""
    from gitmem.git.remotes import Remotes

    remotes = Remotes(bundle.repository).all()
    return [remote.name for remote in remotes if due(bundle, remote, fresh_is_enough=fresh_is_enough)]


def start_due(
    bundle: Bundle, *, env: Mapping[str, str] | None = None, fresh_is_enough: bool = False
) -> tuple[list[str], Popen[bytes] | None]:
    """Start one process that syncs with every remote that is due; their names, and the process.

    None where another sync is running already: that one takes along what is new.
    """
    from gitmem import background

    names = all_due(bundle, fresh_is_enough=fresh_is_enough)
    if not names or is_running(bundle.state):
        return [], None
    return names, background.start(bundle.root, "sync", "--due", env=env or bundle.world.env)


def _state(bundle: Bundle, name: str) -> dict[str, Any]:
    from gitmem.memory.sync.engine import Sync

    return Sync(bundle).state(name)
