"""MEMORY.md and USER.md of a Hermes home, kept in step with the bundle in both directions."""

from __future__ import annotations

import contextlib
import os
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from gitmem.errors import BundleBusy, InvalidContent
from gitmem.files import read_file, replacement
from gitmem.hosts.hermes.home import Home
from gitmem.memory.curated import host_files
from gitmem.memory.curated.host_files import NAMES, HostChange, HostWrite, Taken
from gitmem.memory.curated.store import TARGETS, Target
from gitmem.memory.gate.admission import UNCONFIRMED, redacted
from gitmem.memory.opening import config_for
from gitmem.notices import Notice
from gitmem.okf import layout
from gitmem.state import HOST_MEMORY, HOST_STATE, HOST_USER, RELEASES, RULES_ACCEPTED, Name

if sys.platform != "win32":
    import fcntl

if TYPE_CHECKING:
    from gitmem.memory.memory import Memory

PATIENCE = 2.0
"""How long a change without a notice waits for one: the host writes the file first and tells of it then."""
_TRIES = 8
_LOCK_WAIT = 2.0
_COMPARE_WAIT = 20.0
_AGREED: Mapping[Target, Name] = {"memory": HOST_MEMORY, "user": HOST_USER}


@dataclass(slots=True)
class Compared:
    """Result of one comparison."""

    written: list[str] = field(default_factory=list)
    """Names of host files that were brought along."""
    taken: int = 0
    """Commits that were made of the host's changes."""
    waiting: bool = False
    """Something without a notice is too young to tell whose it is."""

    def __bool__(self) -> bool:
        return bool(self.written or self.taken)


@dataclass(frozen=True, slots=True)
class _Agreed:
    """The state that both sides last agreed on: the exact bytes, what had no room, and the notices that are used."""

    data: bytes | None
    omitted: frozenset[str] = frozenset()
    used: Mapping[str, int] = field(default_factory=dict)
    """Up to which number, by journal."""


class HostFiles:
    """The curated files of one home beside one bundle. One compare at a time, across processes."""

    def __init__(
        self,
        bundle: Memory,
        home: Home,
        *,
        limits: Mapping[Target, int],
        enforce: bool = False,
        moment: Callable[[], float] = time.time,
    ) -> None:
        self._bundle = bundle
        self._home = home
        self._limits = limits
        self._enforce = enforce
        self._moment = moment
        self._state = bundle.state
        self._first_seen: dict[tuple[Target, str], float] = {}
        self._settled: dict[Target, tuple[object, ...]] = {}

    @classmethod
    def of(cls, bundle: Memory, home: Home) -> HostFiles:
        """With the limits that the home's own settings give the host."""
        config = config_for(bundle.world.with_hermes_home(home.path), bundle.state)
        limits: dict[Target, int] = {"memory": config.memory_char_limit, "user": config.user_char_limit}
        return cls(bundle, home, limits=limits, enforce=config.enforce_host_files)

    def compare(
        self,
        notices: Callable[[], Sequence[HostWrite]],
        *,
        patience: float = PATIENCE,
        importing: bool = False,
        wait: float = _COMPARE_WAIT,
    ) -> Compared:
        """Take in what the host changed, then write what the bundle changed.

        `importing` is for the first time: all that is there comes in as one commit.
        """
        done = Compared()
        # One look at a time: with two, the one with the older view would take back what the other did.
        busy = "Another process is comparing the host's files: try again in a moment."
        with self._state.lock("connections", busy).hold("compare", wait=wait):
            told = notices()
            for target in sorted(TARGETS, key=lambda one: _first_of(told, one)):  # as they were written
                if not self._bundle.curated.is_enabled(target):
                    continue
                sight = self._sight(target, notices())
                if sight == self._settled.get(target):
                    continue  # nothing happened on either side since nothing was to be done
                try:
                    if self._compare(target, notices, patience, importing, done):
                        self._settled[target] = sight
                except InvalidContent as error:
                    self._bundle.report(Notice("host-file-left", NAMES[target], str(error)))
        return done

    def settle(self, notices: Callable[[], Sequence[HostWrite]]) -> Compared:
        """Compare, and wait for what is too young to tell whose it is."""
        done = self.compare(notices)
        for _ in range(12):
            if not done.waiting:
                break
            time.sleep(PATIENCE / 10)
            more = self.compare(notices)
            done = Compared([*done.written, *more.written], done.taken + more.taken, more.waiting)
        return done

    def used(self, journal: str) -> int:
        """The number up to which no compare needs that journal's notices any more."""
        enabled = [target for target in TARGETS if self._bundle.curated.is_enabled(target)]
        numbers = [self._agreed(target).used.get(journal, 0) for target in enabled]
        return min(numbers, default=0)

    # One file

    def _sight(self, target: Target, told: Sequence[HostWrite]) -> tuple[object, ...]:
        """All that a compare of this file depends on, at a glance."""
        tree = self._bundle.tree()
        looked_at = (*host_files.paths_of(self._bundle, target), "retractions", layout.CONFIG_SCANNER)
        own = (self._path(target), self._state.path(RELEASES), self._state.path(RULES_ACCEPTED))
        return (
            *(tree.entry(path) for path in looked_at),
            *map(_stamp, own),
            *((one.journal, one.number) for one in told),
        )

    def _compare(
        self,
        target: Target,
        notices: Callable[[], Sequence[HostWrite]],
        patience: float,
        importing: bool,
        done: Compared,
    ) -> bool:
        """Return whether there was nothing to do."""
        for _ in range(_TRIES):
            # The host writes the file before it tells: with this order every notice that is read here has
            # its change in the file, and each is used by one compare and no other.
            told = [one for one in notices() if one.target == target]
            data = self._read(target)
            agreed = self._agreed(target)
            present = host_files.parse(data or b"", NAMES[target])
            base = agreed_entries = host_files.parse(agreed.data or b"", NAMES[target])
            waiting: list[HostChange] = []
            if present != base:
                known = [one for one in told if one.number > agreed.used.get(one.journal, 0)]
                found = host_files.changes(list(map(redacted, base)), list(map(redacted, present)), known)
                young = self._too_young(target, found, patience)
                done.waiting = done.waiting or bool(young)
                # Where an entry came from is known when its turn is over; the end of the turn compares again.
                waiting = [*young, *(one for one in found if one.notice is not None and one.notice.is_open)]
                found = [change for change in found if change not in waiting]
                if importing:
                    taken = host_files.import_entries(self._bundle, target, [change.new for change in found])
                else:
                    taken = host_files.take_in(self._bundle, target, found, of=len(base), present=present)
                done.taken += len(taken.commits)
                self._announce(target, taken)
            base = self._agreed_now(base, present, waiting)
            wanted = host_files.project(
                self._bundle,
                target,
                base=base,
                present=present,
                omitted=agreed.omitted,
                waiting=host_files.keys_of([one.new for one in waiting if one.new]),
                limit=self._limits[target],
                enforce=self._enforce,
            )
            if wanted.differs:
                new = host_files.render(wanted.texts)
                if not self._write(target, data, new):
                    continue  # the host was faster: look again
                done.written.append(NAMES[target])
                data, base = new, self._agreed_now(base, list(wanted.texts), waiting)
            exact = data or b"" if not waiting else host_files.render(base)
            used = _used(told, waiting)
            self._agree(target, agreed, _Agreed(exact, wanted.omitted, used))
            return present == agreed_entries and not wanted.differs
        raise BundleBusy(
            f"{NAMES[target]} keeps changing while gitmem works on it: it is compared again later."
        )

    def _too_young(self, target: Target, found: Sequence[HostChange], patience: float) -> list[HostChange]:
        """Changes without a notice that may still get one."""
        now = self._moment()
        path = self._path(target)
        age = 0.0
        with contextlib.suppress(OSError):
            # Of a file that was deleted (`hermes memory reset`) its directory knows when.
            age = now - os.stat(path if os.path.exists(path) else os.path.dirname(path)).st_mtime
        unexplained = [change for change in found if change.notice is None]
        seen = {(target, change.old + "\0" + change.new): now for change in unexplained}
        # What changed again since keeps the moment at which it was first seen.
        self._first_seen = {
            **{key: value for key, value in self._first_seen.items() if key[0] != target},
            **{key: self._first_seen.get(key, value) for key, value in seen.items()},
        }
        if age >= patience:
            return []
        return [
            change
            for change in unexplained
            if now - self._first_seen[target, change.old + "\0" + change.new] < patience
        ]

    def _agreed_now(
        self, base: Sequence[str], present: Sequence[str], waiting: Sequence[HostChange]
    ) -> list[str]:
        """Return what both sides agree on now: the file, but for changes that wait."""
        not_yet = {change.new for change in waiting}
        still = {change.old for change in waiting if change.old}
        return [
            *(text for text in present if redacted(text) not in not_yet),
            *(text for text in base if redacted(text) in still),
        ]

    def _announce(self, target: Target, taken: Taken) -> None:
        name = NAMES[target]
        for held, result in taken.held.items():
            gone = self._enforce or not {"retracted", UNCONFIRMED}.isdisjoint(result.rules)
            after = "and was taken out of the file" if gone else "but is still in the file"
            look = "`gitmem review` shows it"
            detail = f"{held} ({result.explain()}), {after}; {look}"
            self._bundle.report(Notice("host-entry-held", name, detail))
        for why in taken.refused:
            self._bundle.report(Notice("host-entry-refused", name, why))
        if taken.suspicious:
            lost, of = taken.lost
            detail = f"{name} lost {lost} of {of} entries"
            self._bundle.report(Notice("host-file-emptied", taken.suspicious[:12], detail))

    # Disk

    def _path(self, target: Target) -> str:
        return os.path.join(self._home.memories, NAMES[target])

    def _read(self, target: Target) -> bytes | None:
        try:
            return read_file(self._path(target))
        except OSError as error:
            raise InvalidContent(f"{NAMES[target]} cannot be read ({error.strerror}).") from error

    def _write(self, target: Target, old: bytes | None, new: bytes) -> bool:
        """Put the new file in the old one's place, under the host's lock; False where the host changed it."""
        # The host follows links too, so that a linked file stays linked.
        path = os.path.realpath(self._path(target))
        try:
            with replacement(path, new, mode=0o600) as put, host_lock(self._path(target)):
                if read_file(path) != old:
                    return False
                put()
                return True
        except OSError as error:
            raise InvalidContent(
                f"{NAMES[target]} cannot be written ({error.strerror}), so the agent sees no change."
            ) from error

    def _agreed(self, target: Target) -> _Agreed:
        data = self._state.read(_AGREED[target])
        if data is not None and not _is_text(
            data
        ):  # damaged: as if the two had never agreed, nothing is removed
            data = None
        state = self._state.read_json(HOST_STATE).get(target)
        known = state if isinstance(state, dict) else {}
        omitted, used = known.get("omitted"), known.get("used")
        return _Agreed(
            data,
            frozenset(map(str, omitted)) if isinstance(omitted, list) and data is not None else frozenset(),
            {str(name): int(number) for name, number in used.items()} if isinstance(used, dict) else {},
        )

    def _agree(self, target: Target, old: _Agreed, new: _Agreed) -> None:
        if old == new:
            return
        mine = {"omitted": sorted(new.omitted), "used": dict(new.used)}
        known = self._state.read_json(HOST_STATE)
        self._state.write_json(HOST_STATE, {**known, target: mine})
        if old.data != new.data:
            self._state.write(_AGREED[target], new.data or b"", durable=True)


def _first_of(told: Sequence[HostWrite], target: Target) -> str:
    return min((one.at for one in told if one.target == target), default="")


def _used(told: Sequence[HostWrite], waiting: Sequence[HostChange]) -> dict[str, int]:
    """Up to which number of each journal the notices are used: none from one on that a waiting change needs."""
    used: dict[str, int] = {}
    is_open: set[str] = set()
    needed = {(one.journal, one.number) for change in waiting for _, one in change.earlier}
    for one in sorted(told, key=lambda one: one.number):
        is_open |= {one.journal} if one.is_open or (one.journal, one.number) in needed else set()
        if one.journal not in is_open:
            used[one.journal] = one.number
    return used


def _is_text(data: bytes) -> bool:
    try:
        data.decode()
    except UnicodeDecodeError:
        return False
    return True


def _stamp(path: str) -> tuple[int, ...]:
    """Return what changes when a file is written, replaced or removed."""
    try:
        status = os.stat(path)
    except OSError:
        return ()
    return status.st_ino, status.st_mtime_ns, status.st_size


@contextlib.contextmanager
def host_lock(path: str) -> Iterator[None]:
    """The lock that the host's own memory tool takes around a write of that file."""
    if sys.platform == "win32":
        yield  # the host locks by other means there, and its writes are renames too
        return
    with open(path + ".lock", "a+b") as file:
        end = time.monotonic() + _LOCK_WAIT
        while True:
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
                break
            except BlockingIOError:
                if time.monotonic() > end:
                    raise
                time.sleep(0.01)
        try:
            yield
        finally:
            fcntl.flock(file, fcntl.LOCK_UN)
