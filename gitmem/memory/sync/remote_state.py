"""What is remembered of a remote between two syncs: how the last one ended, what was seen there, when to try again."""

from __future__ import annotations

import contextlib
import json
import os
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from gitmem.errors import GitMemError
from gitmem.files import read_file, replace_file
from gitmem.git import sync_mark
from gitmem.git.objects import Oid
from gitmem.git.transport import shown_url
from gitmem.memory.sync.schedule import pause
from gitmem.okf import timestamps

if TYPE_CHECKING:
    from gitmem.git.remotes import Remote
    from gitmem.memory.bundle import Bundle


class SyncState:
    """The state of the remotes of one bundle, in `<git dir>/gitmem/sync`."""

    def __init__(self, bundle: Bundle) -> None:
        self._bundle = bundle
        self._repository = bundle.repository

    def of(self, name: str) -> dict[str, Any]:
        """All that is known of a remote; nothing where it was never synced."""
        try:
            found = json.loads(read_file(self._path(name)) or b"{}")
        except ValueError:
            return {}
        if not isinstance(found, dict):
            return {}
        with contextlib.suppress(OSError):  # a sync that sees at a glance that nothing moved touches the mark
            touched = os.stat(sync_mark.mark_path(self._repository.git_dir, name)).st_mtime
            seen = timestamps.stamp(datetime.fromtimestamp(touched, UTC))
            found["last_success"] = max(str(found.get("last_success", "")), seen)
        return found

    def failed(self, name: str, error: str) -> None:
        """A sync failed: the remote is left alone for a while."""
        known = self.of(name)
        failures = int(known.get("failures", 0)) + 1
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
        root, git_dir = self._repository.root, self._repository.git_dir
        if shown_url(remote.url) != remote.url:
            return  # a login in an address is kept in git's settings and nowhere else
        # The state comes before the search for hand edits: one made in between is then seen next time.
        now = os.stat(self._path(remote.name)).st_mtime_ns  # just written: the file system's own clock
        state = sync_mark.state(root, git_dir, now=now)
        if not state or self._bundle.hand_edits():
            return
        path = sync_mark.mark_path(git_dir, remote.name)
        data = sync_mark.render(remote.url, state, there, is_default=is_default)
        replace_file(path, data, scratch=self._repository.scratch)
        moment = self._bundle.world.clock().timestamp()
        os.utime(path, (moment, moment))  # its time is that of the last success

    def forget(self, name: str) -> None:
        """Nothing is known of the remote any more."""
        for path in (sync_mark.mark_path(self._repository.git_dir, name), self._path(name)):
            with contextlib.suppress(FileNotFoundError):
                os.unlink(path)

    def _write(self, name: str, state: Mapping[str, Any]) -> None:
        with contextlib.suppress(FileNotFoundError):  # a mark speaks of the state before
            os.unlink(sync_mark.mark_path(self._repository.git_dir, name))
        os.makedirs(os.path.dirname(self._path(name)), exist_ok=True)
        replace_file(self._path(name), json.dumps(state).encode(), scratch=self._repository.scratch)

    def _path(self, name: str) -> str:
        return os.path.join(self._bundle.state_dir, "sync", f"{name}.json")
