"""Refs of a remote that a person lists or deletes: branches of machines and named snapshots."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING

from gitmem.errors import RemoteError, UnknownRevision, UsageError
from gitmem.git.commit_graph import only_in
from gitmem.git.refs import SNAPSHOTS
from gitmem.git.transport import MACHINES, Fetched, Update, choose, throw_away
from gitmem.memory.sync.remote_state import branch_of, remote_named
from gitmem.okf import timestamps

if TYPE_CHECKING:
    from gitmem.git.repository import Repository
    from gitmem.memory.bundle import Bundle


@dataclass(frozen=True, slots=True)
class MachineBranch:
    """A branch of a machine on a remote."""

    machine: str
    last_commit: str
    """The date of its newest commit."""
    commit_count: int
    """Commits on it that `main` does not have yet."""


class RemoteRefs:
    """The refs of one remote, as they are now."""

    def __init__(self, bundle: Bundle, remote: str = "", *, timeout: float = 120.0, prefer: str = "") -> None:
        self._bundle = bundle
        self._remote = remote_named(bundle.repository, remote)
        self._transport = choose(bundle.world.env, timeout=timeout, prefer=prefer)

    def branches(self) -> list[MachineBranch]:
        """The branches of machines, the one that was used longest ago first."""
        with self._fetched() as (room, fetched):
            found = [
                MachineBranch(
                    name,
                    timestamps.stamp(timestamps.of_seconds(room.store.commit(oid).committer.time)),
                    len(only_in(room, oid, fetched.main)),
                )
                for name, oid in fetched.branches.items()
            ]
        return sorted(found, key=lambda branch: branch.last_commit)

    def forget_branch(self, machine: str) -> None:
        """Delete the branch of a machine that is gone, if `main` has all of it."""
        ref, where = branch_of(machine), self._remote.name
        name = ref.removeprefix("refs/heads/")
        with self._fetched() as (room, fetched):
            there = fetched.branches.get(ref.removeprefix(MACHINES))
            if there is None or fetched.main is None:
                raise UnknownRevision(
                    f"There is no branch {name} on {where}.", hint="See `gitmem fold --list`."
                )
            if only_in(room, there, fetched.main):
                raise UsageError(
                    f"main does not have all of {name} yet.", hint=f"Run `gitmem fold {where}` first."
                )
        self._delete(Update(ref, None, there), f"Another machine pushed to {name} meanwhile: it is in use.")

    def delete_snapshot(self, name: str) -> bool:
        """Delete a snapshot's name; False where the remote has none. The history it named stays."""
        with self._fetched() as (_, fetched):
            there = fetched.snapshots.get(name)
        if there is not None:
            told = (
                f"Another machine changed the snapshot {name!r} on {self._remote.name} meanwhile: try again."
            )
            self._delete(Update(SNAPSHOTS + name, None, there), told)
        return there is not None

    @contextmanager
    def _fetched(self) -> Iterator[tuple[Repository, Fetched]]:
        with throw_away(self._bundle.repository, [self._bundle.tip]) as room_dir:
            fetched = self._transport.fetch(room_dir, self._remote.url, branches=True)
            with room_dir.opened() as room:
                yield room, fetched

    def _delete(self, update: Update, beaten: str) -> None:
        with throw_away(self._bundle.repository, []) as room_dir:
            if self._transport.push(room_dir, self._remote.url, [update]):
                raise RemoteError(beaten)
