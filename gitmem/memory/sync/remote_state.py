"""What is remembered of a remote between two syncs: how the last one ended, what was seen there, when to try again."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from gitmem.errors import GitMemError
from gitmem.git import sync_mark
from gitmem.git.objects import Oid
from gitmem.git.transport import shown_url
from gitmem.memory.sync.schedule import pause
from gitmem.okf import timestamps
from gitmem.state import SYNC, SYNC_MARK

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
        found = self._state.read_json(SYNC, name)
        mark = sync_mark.read(self._state.path(SYNC_MARK, name))
        # A sync that sees at a glance that nothing moved notes its success in the mark alone.
        if mark is not None and timestamps.parse(mark.last_success):
            found["last_success"] = max(str(found.get("last_success", "")), mark.last_success)
        return found

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

    def mark(self, remote: Remote, there: Mapping[str, Oid], *, is_default: bool) -> None:
        """Both sides agree: note how all stands, so that the next sync can see that nothing moved."""
        with contextlib.suppress(
            GitMemError, OSError
        ):  # the sync is done; without a mark the next takes longer
            self._mark(remote, there, is_default=is_default)

    def _mark(self, remote: Remote, there: Mapping[str, Oid], *, is_default: bool) -> None:
        if shown_url(remote.url) != remote.url:
            return  # a login in an address is kept in git's settings and nowhere else
        # The state comes before the search for hand edits: one made in between is then seen next time.
        repository = self._bundle.repository
        written = os.stat(self._state.path(SYNC, remote.name))  # just now, by the file system's own clock
        state = sync_mark.state(repository.root, repository.git_dir, now=written.st_mtime_ns)
        if not state or self._bundle.hand_edits():
            return
        data = sync_mark.render(self._bundle.now(), remote.url, state, there, is_default=is_default)
        self._state.write(SYNC_MARK, data, remote.name)

    def forget(self, name: str) -> None:
        """Nothing is known of the remote any more."""
        self._state.remove(SYNC_MARK, name)
        self._state.remove(SYNC, name)

    def _write(self, name: str, state: Mapping[str, Any]) -> None:
        self._state.remove(SYNC_MARK, name)  # it speaks of the state before
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
