"""Named snapshots of a bundle and of one remote: add-only, and a name keeps what it means here."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import count
from typing import TYPE_CHECKING

from gitmem.git.objects import Oid
from gitmem.git.refs import SNAPSHOTS
from gitmem.git.transport import Fetched, Update, is_travelling
from gitmem.notices import Notice
from gitmem.okf import paths

if TYPE_CHECKING:
    from gitmem.memory.bundle import Bundle


class NamedSnapshots:
    """The exchange of named snapshots with one remote."""

    def __init__(self, bundle: Bundle, remote: str, seen: Mapping[str, Oid]) -> None:
        """`seen` are those that the remote had when it was last seen."""
        self._bundle = bundle
        self._remote = remote
        self._refs = bundle.repository.refs
        self._seen = seen

    def unknown(self, theirs: Mapping[str, Oid]) -> dict[str, Oid]:
        """Those of a remote that are not here, or are others here."""
        ours = self._refs.under(SNAPSHOTS) if theirs else {}
        return {name: oid for name, oid in theirs.items() if ours.get(SNAPSHOTS + name) != oid}

    def take(self, theirs: Mapping[str, Oid]) -> list[str]:
        """Add those of a remote; gives their names here.

        The same name from two machines is kept under two more, `<name>@<machine>`, which both sides can have.
        """
        here = self._refs.under(SNAPSHOTS) if theirs else {}
        # One that was deleted here does not come back by itself.
        fresh = {
            SNAPSHOTS + name: oid
            for name, oid in theirs.items()
            if SNAPSHOTS + name not in here and self._seen.get(name) != oid
        }
        came = sorted(ref.removeprefix(SNAPSHOTS) for ref in self._refs.set_new(fresh))
        for name, oid in sorted(theirs.items()):
            ours = here.get(SNAPSHOTS + name)
            if ours is not None and self._seen.get(name) == ours:
                self._bundle.report(Notice("snapshot-moved", name, self._remote))
            elif ours is not None:
                self._also_name(name, ours, self._bundle.config.machine or "here")
                if other := self._also_name(name, oid, self._remote):
                    came.append(other)
                    self._bundle.report(Notice("snapshot-twice", name, other))
        return came

    def _also_name(self, name: str, oid: Oid, whose: str) -> str:
        """Give a snapshot a name with its machine too; empty where it has such a name already."""
        _, tag = self._bundle.repository.store.peel(oid)
        machine = paths.slug((tag.tagger.email.rpartition("@")[2] if tag else "") or whose)
        for number in count(1):
            other = f"{name}@{machine}" + (f"-{number}" if number > 1 else "")
            found = self._refs.read(SNAPSHOTS + other)
            if found is None:
                return other if self._refs.set(SNAPSHOTS + other, oid, expected=None) else ""
            if found == oid:
                break
        return ""

    def to_send(self, fetched: Fetched) -> list[Update]:
        """The updates that give a remote what it lacks; what it has as before an erase moves, or gets a new name."""
        after, before = fetched.snapshots, (fetched.there or fetched).snapshots
        moved = {name: oid for name, oid in before.items() if after.get(name) != oid}
        updates = [Update(SNAPSHOTS + name, after.get(name), oid) for name, oid in moved.items()]
        updates += [Update(SNAPSHOTS + name, oid, None) for name, oid in after.items() if name not in before]
        for ref, oid in self._refs.under(SNAPSHOTS).items():
            name = ref.removeprefix(SNAPSHOTS)
            # One that was there and is gone was deleted there on purpose; what is there needs no second name.
            is_there = name in fetched.snapshots or oid in fetched.snapshots.values()
            if is_travelling(ref) and not is_there and self._seen.get(name) != oid:
                updates.append(Update(ref, oid, None))
        return updates

    def agreed(self, there: Mapping[str, Oid]) -> dict[str, Oid]:
        """Return what to remember of a remote's snapshots: of one that was moved there, where it was when both agreed."""
        return {
            name: oid if self._refs.read(SNAPSHOTS + name) == oid else self._seen.get(name, oid)
            for name, oid in there.items()
        }
