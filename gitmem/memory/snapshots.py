"""Snapshots: names for states of the memory. A named one is a tag and travels; an automatic one stays on its machine.

Automatic ones are refs of their own, and thinned as backups are.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING

from gitmem.errors import InvalidContent, UnknownRevision
from gitmem.git.message import Message, one_line, trailers_of
from gitmem.git.objects import Oid, Tag, render_tag
from gitmem.git.refs import AUTOMATIC, SNAPSHOTS, check_ref_name, snapshot_name, snapshot_ref
from gitmem.memory.edits import Edits
from gitmem.memory.gate.admission import Admission
from gitmem.memory.origin import Origin
from gitmem.okf import layout
from gitmem.okf.concept import Concept
from gitmem.okf.plain import Printed, brief
from gitmem.version import __version__

if TYPE_CHECKING:
    from gitmem.memory.bundle import Bundle

_AUTO = "auto/"
_COMMANDS = ("list", "show", "delete")
"""Words that are taken for what to do with snapshots."""
_TIME = "%Y-%m-%dT%H-%M-%S"
_TIME_LENGTH = len("2026-06-30T14-00-00")
_DAY = len("auto/2026-06-30")


@dataclass(frozen=True, slots=True)
class Snapshot(Printed):
    """A name with the commit it stands for."""

    name: str
    commit: Oid
    tag: Tag | None

    @property
    def is_automatic(self) -> bool:
        return self.name.startswith(_AUTO)

    @property
    def note(self) -> str:
        return self.tag.message.strip() if self.tag else ""

    @property
    def time(self) -> int:
        if self.tag is not None:
            return self.tag.tagger.time
        made = _made_at(self.name)
        return int(made.timestamp()) if made else 0

    def __repr__(self) -> str:
        return brief(self, name=self.name, commit=self.commit[:8])


class Snapshots:
    """The snapshots of one bundle."""

    def __init__(self, bundle: Bundle) -> None:
        self._bundle = bundle
        self._repository = bundle.repository

    def all(self, *, automatic: bool = True) -> list[Snapshot]:
        """Snapshots, the oldest first."""
        refs = self._repository.refs.under(SNAPSHOTS) | (
            self._repository.refs.under(AUTOMATIC) if automatic else {}
        )
        found = [Snapshot(snapshot_name(ref), *self._repository.store.peel(oid)) for ref, oid in refs.items()]
        return sorted(found, key=lambda snapshot: (snapshot.time, snapshot.name))

    def get(self, name: str) -> Snapshot:
        name = name.removeprefix("snapshot/")
        found = self._found(name)
        if found is None:
            from gitmem.git.revisions import did_you_mean

            known = [snapshot.name for snapshot in self.all()]
            hint = did_you_mean(name, known, "List them with `gitmem snapshot --list`.")
            raise UnknownRevision(f"There is no snapshot {name!r}.", hint=hint)
        return Snapshot(name, *self._repository.store.peel(found))

    def has(self, name: str) -> bool:
        return self._found(name.removeprefix("snapshot/")) is not None

    def _found(self, name: str) -> Oid | None:
        """The object that a snapshot names."""
        return self._repository.refs.read(snapshot_ref(name))

    def create(self, name: str = "", note: str = "", *, origin: Origin | None = None) -> Snapshot:
        """A named snapshot: its concept in a commit of its own, and an annotated tag on it."""
        origin = self._bundle.admitted_origin(origin or self._bundle.origin())
        name, note = (Admission(self._bundle).note(words) for words in (name, note))
        self._bundle.flush_buffers()
        with self._bundle.writing("snapshot"):
            name = name.removeprefix("snapshot/") or self._fresh_name()
            check_ref_name(SNAPSHOTS + name)
            if name.startswith(_AUTO) or name == _AUTO.rstrip("/"):
                raise InvalidContent(
                    "Names that begin with 'auto/' are for automatic snapshots: choose another."
                )
            if name in _COMMANDS:
                raise InvalidContent(f"{name!r} is not a name for a snapshot: choose another.")
            if self._found(name) is not None:
                raise InvalidContent(f"There is a snapshot {name!r} already: choose another name.")
            at = self._bundle.now()

            def work(edits: Edits) -> Message | None:
                concept = Concept.new(
                    layout.SNAPSHOT,
                    f"{note.strip()}\n" if note.strip() else "",
                    title=name,
                    agent_id=origin.agent or None,
                    machine=origin.machine or None,
                    model=origin.model or None,
                    session=origin.session or None,
                    generated={"by": f"gitmem/{__version__}", "at": at},
                )
                edits.write(layout.snapshot(name), concept.render())
                return Message("snapshot", name, {"Snapshot": name, "Reason": note})

            published = self._bundle.commit(work, purpose="snapshot", origin=origin)
            commit = published.commit.oid if published else self._bundle.tip
            moment = int(self._bundle.world.clock().timestamp())
            who = self._bundle.person_named("gitmem", moment)
            tag = render_tag(commit, f"snapshot/{name}", who, one_line(note or name, 2000) + "\n")
            self._repository.store.write([tag])
            if not self._repository.refs.set(
                snapshot_ref(name), tag.oid, expected=None
            ):  # plain git was faster
                raise InvalidContent(f"There is a snapshot {name!r} already: choose another name.")
            return self.get(name)

    def automatic(self) -> Snapshot | None:
        """A name for the present state; None where it has one.

        A ref on the commit, which says why and by whom: no object is made for a name that is thinned out soon.
        """
        self._bundle.flush_buffers()
        with self._bundle.writing("snapshot"):
            tip, known = self._bundle.tip, self._repository.refs.under(AUTOMATIC)
            names = trailers_of(self._repository.store.commit(tip).message).get("Snapshot", ())
            if tip in known.values() or any(map(self._found, names)):
                return None
            made = Snapshot(_AUTO + self._fresh_name(_AUTO), tip, None)
            self._repository.refs.set(snapshot_ref(made.name), tip, expected=None)
            if not any(snapshot_name(ref)[:_DAY] == made.name[:_DAY] for ref in known):
                self.thin()  # there is nothing to thin before a day is over
            return made

    def thin(self) -> None:
        """Drop automatic snapshots that are too close to one another for their age; the history they named stays."""
        refs = self._repository.refs
        with self._bundle.writing("snapshot"):
            found = refs.under(AUTOMATIC)
            moments = {ref: made for ref in found if (made := _made_at(snapshot_name(ref)))}
            gone = thinned(moments.items(), self._bundle.world.clock())
            refs.delete({ref: found[ref] for ref in gone})

    def delete(self, name: str) -> Snapshot:
        """Delete a snapshot's name; the history it named stays."""
        snapshot = self.get(name)
        with self._bundle.writing("snapshot"):
            found = self._found(snapshot.name)
            if found is not None:
                self._repository.refs.delete({snapshot_ref(snapshot.name): found})
            path = layout.snapshot(snapshot.name)

            def work(edits: Edits) -> Message | None:
                if path not in edits:
                    return None
                edits.remove(path)
                return Message("snapshot", f"delete {snapshot.name}")

            self._bundle.commit(work, purpose="snapshot", origin=self._bundle.origin())
        return snapshot

    def _fresh_name(self, prefix: str = "") -> str:
        """A timestamp that never collides, also for two within a moment."""
        base = self._bundle.world.clock().strftime(_TIME)
        name, number = base, 1
        while self._found(prefix + name) is not None:
            number += 1
            name = f"{base}-{number}"
        return name


def _made_at(name: str) -> datetime | None:
    """Return when an automatic snapshot was made, by its name; None for a name that says no time."""
    try:
        return datetime.strptime(name.removeprefix(_AUTO)[:_TIME_LENGTH], _TIME).replace(tzinfo=UTC)
    except ValueError:
        return None


_ALL = timedelta(days=1)
_DAILY = timedelta(days=30)


def thinned(moments: Iterable[tuple[str, datetime]], now: datetime) -> list[str]:
    """The names to drop. Of a day or a week its last one stays, so that thinning again drops nothing more."""
    newest: dict[object, str] = {}
    dropped: list[str] = []
    for name, moment in sorted(moments, key=lambda one: (one[1], one[0]), reverse=True):
        if now - moment < _ALL:
            continue
        group = moment.date() if now - moment < _DAILY else moment.isocalendar()[:2]
        if newest.setdefault(group, name) != name:
            dropped.append(name)
    return dropped
