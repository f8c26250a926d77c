"""What is remembered of a remote between two syncs: how the last one ended, what was seen there, when to try again."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from gitmem.git.objects import Oid
from gitmem.memory.sync.schedule import pause
from gitmem.okf import timestamps
from gitmem.state import SYNC

if TYPE_CHECKING:
    from gitmem.git.remotes import Remote
    from gitmem.memory.bundle import Bundle


class SyncState:
    """The state of the remotes of one bundle, in `<git dir>/gitmem/sync`."""

    def __init__(self, bundle: Bundle) -> None:
        self._bundle = bundle
        self._state = bundle.state

    def of(self, name: str) -> dict[str, Any]:
        """All that is known of a remote; nothing where it was never synced."""
        return self._state.read_json(SYNC, name)

    def failed(self, name: str, error: str) -> None:
        """A sync failed: the remote is left alone for a while."""
        known = self.of(name)
        before = known.get("failures")
        failures = before + 1 if isinstance(before, int) else 1
        told = {
            "last_error": error,
            "last_error_at": self._bundle.now(),
            "failures": failures,
            "next_try": timestamps.stamp(self._bundle.world.clock() + pause(failures)),
        }
        self._write(name, known | told)

    def succeeded(self, name: str, snapshots: Mapping[str, Oid]) -> None:
        """A sync succeeded, and the remote has these named snapshots."""
        told = {"last_success": self._bundle.now(), "failures": 0, "snapshots": dict(snapshots)}
        self._write(name, self.of(name) | told)

    def forget(self, name: str) -> None:
        """Nothing is known of the remote any more."""
        self._state.remove(SYNC, name)

    def _write(self, name: str, state: Mapping[str, Any]) -> None:
        self._state.write_json(SYNC, state, name)


@dataclass(frozen=True, slots=True)
class RemoteStanding:
    """How a remote and this memory stand to one another, as far as is known without asking it."""

    remote: Remote
    ahead: int
    behind: int
    last_success: str
    last_error: str
    last_error_at: str
    failures: int
    next_try: str


def how_remotes_stand(bundle: Bundle) -> list[RemoteStanding]:
    """Each remote, with what was seen of it last."""
    from gitmem.git.ancestry import only_in
    from gitmem.git.remotes import Remotes
    from gitmem.git.transport import remote_ref

    known, found = SyncState(bundle), []
    repository, tip = bundle.repository, bundle.tip
    for one in Remotes(repository).all():
        seen, state = repository.refs.read(remote_ref(one.name)), known.of(one.name)
        failures = state.get("failures")
        found.append(
            RemoteStanding(
                one,
                len(only_in(repository, tip, seen)),
                len(only_in(repository, seen, tip)) if seen else 0,
                str(state.get("last_success") or ""),
                str(state.get("last_error") or ""),
                str(state.get("last_error_at") or ""),
                failures if isinstance(failures, int) else 0,
                str(state.get("next_try") or "") if failures else "",
            )
        )
    return found
