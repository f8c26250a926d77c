"""State of a remote between two syncs: how the last one ended, what was seen there, when to try again."""

from __future__ import annotations

import re
from collections.abc import Mapping
from datetime import timedelta
from typing import TYPE_CHECKING

from gitmem.git.objects import Oid
from gitmem.git.transport import MACHINES
from gitmem.okf import paths, timestamps
from gitmem.state import SYNC

_OID = re.compile(r"[0-9a-f]{40}")
_LONGEST = 60
"""Minutes between two tries with a remote that keeps failing: the circuit is open meanwhile."""
_FRESH = timedelta(minutes=10)

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


class RemoteState:
    """State of one remote against this memory, as far as is known without asking it."""

    def __init__(self, bundle: Bundle, remote: Remote) -> None:
        self.remote = remote
        self._bundle = bundle
        self._seen = bundle.state.read_json(SYNC, remote.name)
        self.last_success, self.last_error, self.last_error_at = (
            str(self._seen.get(name) or "") for name in ("last_success", "last_error", "last_error_at")
        )
        failures, snapshots = self._seen.get("failures"), self._seen.get("snapshots")
        self.failures = failures if isinstance(failures, int) else 0
        self.snapshots: dict[str, Oid] = snapshots if isinstance(snapshots, dict) else {}
        """The named snapshots that it had when it was last seen."""

    @property
    def ahead(self) -> int:
        """Commits that it has neither in `main` nor on this machine's branch."""
        from gitmem.git.commit_graph import only_in

        repository, on_branch = self._bundle.repository, str(self._seen.get("on_branch", ""))
        known = [on_branch] if _OID.fullmatch(on_branch) and on_branch in repository.store else []
        return len(only_in(repository, self._bundle.tip, self._main, *known))

    @property
    def behind(self) -> int:
        from gitmem.git.commit_graph import only_in

        return len(only_in(self._bundle.repository, self._main, self._bundle.tip)) if self._main else 0

    @property
    def _main(self) -> Oid | None:
        from gitmem.git.transport import remote_ref

        return self._bundle.repository.refs.read(remote_ref(self.remote.name))

    @property
    def next_try(self) -> str:
        """The end of the pause after a failure: it doubles with each one in a row."""
        failed = timestamps.parse(self.last_error_at) if self.failures > 0 else None
        pause = timedelta(minutes=min(2 ** min(self.failures, 10), _LONGEST))
        return timestamps.stamp(failed + pause) if failed else ""

    def is_due(self, *, fresh_is_enough: bool = False) -> bool:
        """Return whether it may be tried now: a person agreed to it, and it did not just fail.

        With `fresh_is_enough` one that was synced a moment ago is left alone too. A clock that was set back stops nothing.
        """
        if self.remote.pushes and not self.remote.consent:
            return False
        now = self._bundle.world.clock()
        since, until = timestamps.parse(self.last_error_at), timestamps.parse(self.next_try)
        if until is None:
            since = timestamps.parse(self.last_success) if fresh_is_enough else None
            until = since + _FRESH if since else None
        return since is None or until is None or now >= until or now < since

    def failed(self, error: str) -> None:
        """Note a failure: the remote is left alone for a while."""
        self._note(last_error=error, last_error_at=self._bundle.now(), failures=self.failures + 1)

    def succeeded(self, snapshots: Mapping[str, Oid], on_branch: Oid = "") -> None:
        """Note a success: the remote has these named snapshots, and this commit on this machine's branch."""
        now = self._bundle.now()
        self._note(last_success=now, failures=0, snapshots=dict(snapshots), on_branch=on_branch)

    def _note(self, **news: object) -> None:
        self._bundle.state.write_json(SYNC, self._seen | news, self.remote.name)


def forget_remote(bundle: Bundle, name: str) -> None:
    """Forget what was seen of a remote: where it stood, and which snapshots it had."""
    from gitmem.git.transport import remote_ref

    refs = bundle.repository.refs
    seen = refs.read(remote_ref(name))
    if seen is not None:
        refs.delete({remote_ref(name): seen})
    bundle.state.remove(SYNC, name)


def remote_states(bundle: Bundle) -> list[RemoteState]:
    """Each remote, with what was seen of it last."""
    from gitmem.git.git_settings import Remotes

    return [RemoteState(bundle, remote) for remote in Remotes(bundle.repository).all()]


def all_due(bundle: Bundle, *, fresh_is_enough: bool = False) -> list[str]:
    """The names of the remotes that may be tried now."""
    return [one.remote.name for one in remote_states(bundle) if one.is_due(fresh_is_enough=fresh_is_enough)]


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
