"""State of a remote between two syncs: how the last one ended, what was seen there, when to try again."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import timedelta
from typing import TYPE_CHECKING, Any

from gitmem.git.objects import Oid
from gitmem.git.transport import MACHINES
from gitmem.okf import paths, timestamps
from gitmem.state import SYNC

_OID = re.compile(r"[0-9a-f]{40}")

if TYPE_CHECKING:
    from subprocess import Popen

    from gitmem.git.git_settings import Remote
    from gitmem.git.repository import Repository
    from gitmem.locks import Lock
    from gitmem.memory.bundle import Bundle
    from gitmem.state import LocalState


def branch_of(machine: str) -> str:
    """The name of a machine's branch on a remote."""
    return MACHINES + paths.slug(machine)


def remote_named(repository: Repository, name: str) -> Remote:
    """The remote of a name; without one the only remote, else `origin`."""
    from gitmem.git.git_settings import Remotes

    remotes = Remotes(repository)
    known = remotes.all()
    return remotes.get(name or (known[0].name if len(known) == 1 else "origin"))


class SyncState:
    """The state of the remotes of one bundle, in `<git dir>/gitmem/sync`."""

    def __init__(self, bundle: Bundle) -> None:
        self._bundle = bundle
        self._state = bundle.state

    def of(self, name: str) -> dict[str, Any]:
        """All that is known of a remote; nothing where it was never synced."""
        return self._state.read_json(SYNC, name)

    def failed(self, name: str, error: str) -> None:
        """Note a failure: the remote is left alone for a while."""
        failures = _failures(self.of(name)) + 1
        self._note(
            name,
            last_error=error,
            last_error_at=self._bundle.now(),
            failures=failures,
            next_try=timestamps.stamp(self._bundle.world.clock() + pause(failures)),
        )

    def succeeded(self, name: str, snapshots: Mapping[str, Oid], on_branch: Oid = "") -> None:
        """Note a success: the remote has these named snapshots, and this commit on this machine's branch."""
        now = self._bundle.now()
        self._note(name, last_success=now, failures=0, snapshots=dict(snapshots), on_branch=on_branch)

    def forget(self, name: str) -> None:
        """Forget all that is known of a remote."""
        self._state.remove(SYNC, name)

    def _note(self, name: str, **news: object) -> None:
        self._state.write_json(SYNC, self.of(name) | news, name)


def _failures(state: Mapping[str, Any]) -> int:
    found = state.get("failures")
    return found if isinstance(found, int) else 0


@dataclass(frozen=True, slots=True)
class RemoteStatus:
    """Status of a remote against this memory, as far as is known without asking it."""

    remote: Remote
    ahead: int
    behind: int
    last_success: str
    last_error: str
    last_error_at: str
    failures: int
    next_try: str


def _on_branch(repository: Repository, state: Mapping[str, Any]) -> Oid | None:
    """Return what a remote has on this machine's branch, if that is still in the history here."""
    found = str(state.get("on_branch", ""))
    return found if _OID.fullmatch(found) and found in repository.store else None


def remote_status(bundle: Bundle) -> list[RemoteStatus]:
    """Each remote, with what was seen of it last."""
    from gitmem.git.commit_graph import only_in
    from gitmem.git.git_settings import Remotes
    from gitmem.git.transport import remote_ref

    found = []
    repository, tip = bundle.repository, bundle.tip
    for one in Remotes(repository).all():
        seen, state = repository.refs.read(remote_ref(one.name)), SyncState(bundle).of(one.name)
        ahead = len(only_in(repository, tip, seen, _on_branch(repository, state)))
        behind = len(only_in(repository, seen, tip)) if seen else 0
        success, error, error_at, next_try = (
            str(state.get(name) or "") for name in ("last_success", "last_error", "last_error_at", "next_try")
        )
        failures = _failures(state)
        next_try = next_try if failures else ""
        found.append(RemoteStatus(one, ahead, behind, success, error, error_at, failures, next_try))
    return found


LONGEST = 60
"""Minutes between two tries with a remote that keeps failing: the circuit is open meanwhile."""
FRESH = timedelta(minutes=10)


def pause(failures: int) -> timedelta:
    """Return how long a remote is left alone after so many failures in a row."""
    return timedelta(minutes=min(2 ** min(failures, 10), LONGEST)) if failures > 0 else timedelta()


def due(bundle: Bundle, remote: Remote, *, fresh_is_enough: bool = False) -> bool:
    """Return whether a remote may be tried now: somebody agreed to it, and it did not just fail.

    With `fresh_is_enough` one that was synced a moment ago is left alone too.
    """
    if remote.pushes and not remote.consent:
        return False
    state, now = SyncState(bundle).of(remote.name), bundle.world.clock()
    failed, succeeded = (
        timestamps.parse(str(state.get(name, ""))) for name in ("last_error_at", "last_success")
    )
    if failed is not None and _failures(state) > 0:
        return (
            now - failed >= pause(_failures(state)) or now < failed
        )  # a clock that was set back stops nothing
    return not fresh_is_enough or succeeded is None or now - succeeded >= FRESH or now < succeeded


def all_due(bundle: Bundle, *, fresh_is_enough: bool = False) -> list[str]:
    """The names of the remotes that may be tried now."""
    from gitmem.git.git_settings import Remotes

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
    if not names or sync_lock(bundle.state).is_held:
        return [], None
    return names, background.start(bundle.root, "sync", "--due", env=env or bundle.world.env)


def sync_lock(state: LocalState) -> Lock:
    """Make the lock of which one sync at a time holds: a hanging remote holds up the others and does not pile them up."""
    return state.lock(
        "sync",
        "A sync of this memory is already running.",
        hint="Try again when it is done; it takes along what is new.",
    )
