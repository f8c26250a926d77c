"""The files of a Hermes home beside its bundle: MEMORY.md, USER.md and the agent's own skills."""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
import sys
import time
from collections.abc import Collection, Iterator
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING

from gitmem.errors import GitMemError
from gitmem.files import read_file
from gitmem.hosts.hermes import attribution
from gitmem.hosts.hermes.home import Home, bundle_root
from gitmem.memory.curated.store import TARGETS
from gitmem.memory.mirror.files import Batch, SkillDirectory
from gitmem.memory.mirror.mirror import Looked
from gitmem.memory.mirror.sections import HOST_FILE, PATIENCE, Sections
from gitmem.memory.opening import config_for
from gitmem.notices import Notice
from gitmem.okf import timestamps
from gitmem.state import HOST_LINK

if TYPE_CHECKING:
    from gitmem.memory.memory import Memory
    from gitmem.memory.origin import Origin

_LOCK_WAIT = 2.0
_TICK = 0.001
"""The journal writes milliseconds."""
_SLACK = 0.05
"""Seconds by which a file's time may be behind the clock that turns go by: a file system's ticks are coarse."""


class HostFiles:
    """All files of one home."""

    def __init__(self, memory: Memory, home: Home) -> None:
        self.reports = partial(attribution.reports, memory)
        """The writes of the memory tool that the host reported."""
        config = config_for(memory.world.with_hermes_home(home.path), memory.state)
        limits = {"memory": config.memory_char_limit, "user": config.user_char_limit}
        self._sections = {
            target: Sections(
                memory,
                target,
                home.memories,
                limit=limits[target],
                enforce=config.enforce_host_files,
                lock=host_lock,
            )
            for target in TARGETS
            if memory.curated.is_enabled(target)
        }
        self._skills = SkillFiles(memory, home)
        self.skills_wait = False
        """A skill was changed in a turn that is not over yet."""

    def look(self, *, over: Collection[str] = (), patience: float = PATIENCE, first: bool = False) -> Looked:
        """Take in what the host changed, then write what the bundle changed.

        A change without a report waits for one for as long as `patience` says. In the journals `over` no turn is open
        any more.
        """
        done = Looked()
        # The host writes the file before it reports: with this order every report that is read here has its change in
        # the file, and each is used by one look and no other.
        reported = self.reports(over=over)
        for one in self._sections.values():
            one.prepare(reported, patience=patience, now=time.time())
        for one in sorted(self._sections.values(), key=lambda one: one.begun):  # as they were written
            done.add(one.look(first=first))
        found = self._skills.look(first=first)
        self.skills_wait = found.waiting
        done.add(replace(found, written=[f"skills/{name}" for name in found.written], waiting=False))
        return done

    def settle(self) -> Looked:
        """Look, and wait for what is too young to tell whose it is."""
        done = self.look()
        for _ in range(12):
            if not done.waiting:
                break
            time.sleep(PATIENCE / 10)
            done.waiting = False
            done.add(self.look())
        return done

    def used(self, target: str, journal: str) -> int:
        """The number up to which no look needs that journal's reports of a file any more."""
        return self._sections[target].used().get(journal, 0) if target in self._sections else 1 << 62


@contextlib.contextmanager
def host_lock(path: str) -> Iterator[None]:
    """The lock that the host's own memory tool takes around a write of that file."""
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
        yield  # closing the file gives the lock back


# --- skills ----------------------------------------------------------------------------------------------


class SkillFiles(SkillDirectory):
    """The skills of one home beside one bundle."""

    def __init__(self, bundle: Memory, home: Home) -> None:
        super().__init__(bundle, "hermes-skills", home.skills)
        self._memory = bundle
        self._home = home

    def _foreign(self) -> Collection[str]:
        return shipped(self._home)

    def _origin_of(self, skill: str, batch: Batch) -> Origin | None:
        """The writer: by the calls of the host's tool, else by the turn in which the skill was written.

        None where a turn that may be its own is not over yet.
        """
        known = attribution.reports(self._memory)
        at = self._written_at(batch)
        name = f"skills/{skill.rpartition('/')[2]}"
        calls = [
            one
            for one in known
            if one.target == name and (not at or _moment(one.begun) - _SLACK <= at <= _moment(one.at) + _TICK)
        ]
        # Of several agents it is the one whose words are in the file.
        texts = [data.decode("utf-8", "replace") for data in batch.values() if data is not None]
        saying = [one for one in calls if one.content and any(one.content in text for text in texts)]
        if saying:
            return replace(saying[-1].origin, at=at)
        turns = [one for one in known if one.action == "turn" and (not at or _moment(one.at) - _SLACK <= at)]
        if any(one.is_open for one in turns):
            return None
        if calls:
            return replace(calls[-1].origin, at=at)
        return replace(turns[-1].origin, source=HOST_FILE, at=at) if turns and at else self._nobody()

    def _nobody(self) -> Origin:
        return self._memory.origin(source=HOST_FILE)

    def _written_at(self, batch: Batch) -> float:
        """Return when the host last wrote these files of a skill; 0 where they are gone."""
        found = [0.0]
        for name, data in batch.items():
            with contextlib.suppress(OSError):
                found.append(os.stat(self._path(name)).st_mtime if data is not None else 0.0)
        return max(found)

    def _written(self) -> None:
        """The host keeps a list of skills beside its files, and one in the process."""
        with contextlib.suppress(OSError):
            os.unlink(os.path.join(self._home.path, ".skills_prompt_snapshot.json"))
        builder = sys.modules.get("agent.prompt_builder")
        clear = getattr(builder, "clear_skills_system_prompt_cache", None)
        if callable(clear):
            with contextlib.suppress(Exception):  # the host's own function: nothing depends on it
                clear()


def _moment(at: str) -> float:
    found = timestamps.parse(at)
    return found.timestamp() if found is not None else 0.0


def shipped(home: Home) -> set[str]:
    """Names and places of the skills that Hermes brings itself, bundled or from its hub."""
    bundled = read_file(os.path.join(home.skills, ".bundled_manifest")) or b""
    hub = read_file(os.path.join(home.skills, ".hub", "lock.json")) or b"{}"
    lines = bundled.decode("utf-8", "replace").splitlines()
    found = {line.partition(":")[0].strip() for line in lines}
    with contextlib.suppress(ValueError, AttributeError):
        for name, entry in json.loads(hub).get("installed", {}).items():
            place = entry.get("install_path") if isinstance(entry, dict) else ""
            found |= {name, os.path.basename(str(place or name).rstrip("/"))}
    return found - {""}


# --- the home beside the bundle ---------------------------------------------------------------------------


def link(bundle: Memory, home: Home) -> bool:
    """Let every command on the bundle find the home; gives whether that was news."""
    # Relative: a backup that is put back elsewhere, or a home that moves, keeps its link.
    wanted = {"home": os.path.relpath(home.path, bundle.repository.git_dir)}
    if bundle.state.read_json(HOST_LINK) == wanted:
        return False
    bundle.state.write_json(HOST_LINK, wanted)
    return True


def linked_home(bundle: Memory) -> Home | None:
    """The home whose files belong to this bundle; None for a bundle without a host.

    The home must say the same: the bundle's word alone may be a stranger's, and its entries go into the home's files.
    """
    found = bundle.state.read_json(HOST_LINK).get("home")
    path = os.path.normpath(os.path.join(bundle.repository.git_dir, str(found)))
    if not found or "\0" in path or not os.path.isdir(path):
        return None
    home = Home(path)
    return (
        home if os.path.realpath(bundle_root(home, bundle.world)) == os.path.realpath(bundle.root) else None
    )


def look(bundle: Memory, *, settle: bool) -> list[str]:
    """Bring the linked home and the bundle together; gives the names of the files that were written there."""
    home = linked_home(bundle)
    if home is None:
        return []
    files = HostFiles(bundle, home)
    try:
        return (files.settle() if settle else files.look()).written
    except (GitMemError, OSError) as error:
        bundle.report(Notice("host-left-behind", "Hermes", str(error)))
        return []
