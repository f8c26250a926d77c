"""The files of a Hermes home beside its bundle: MEMORY.md, USER.md and the agent's own skills."""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
import sys
import time
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from gitmem.errors import GitMemError
from gitmem.files import read_file
from gitmem.git.message import Message
from gitmem.hosts.hermes import attribution
from gitmem.hosts.hermes.home import Home, bundle_root
from gitmem.memory.curated.store import TARGETS
from gitmem.memory.gate.admission import TRAILER, Admission
from gitmem.memory.mirror.changes import Report
from gitmem.memory.mirror.files import Batch, SkillDirectory
from gitmem.memory.mirror.mirror import Looked
from gitmem.memory.mirror.sections import HOST_FILE, PATIENCE, Sections
from gitmem.memory.opening import config_for
from gitmem.notices import Notice
from gitmem.okf import timestamps
from gitmem.okf.concept import Concept
from gitmem.okf.paths import safe_name
from gitmem.state import HOST_LINK

if TYPE_CHECKING:
    from gitmem.memory.edits import Edits
    from gitmem.memory.memory import Memory
    from gitmem.memory.origin import Origin

_LOCK_WAIT = 2.0
_MOST_PROPOSALS = 200
_LARGEST_PROPOSAL = 1 << 21
_TICK = 0.001
"""The journal writes milliseconds."""
_SLACK = 0.05
"""Seconds by which a file's time may be behind the clock that turns go by: a file system's ticks are coarse."""
_REFERENCES = "SkillReferences"


class HostFiles:
    """All files of one home. `reports` gives the writes of the memory tool that the host reported."""

    def __init__(
        self, memory: Memory, home: Home, reports: Callable[[], Sequence[Report]] | None = None
    ) -> None:
        self.reports = reports or (lambda: attribution.reports(memory))
        config = config_for(memory.world.with_hermes_home(home.path), memory.state)
        limits = {"memory": config.memory_char_limit, "user": config.user_char_limit}
        self._sections = {
            target: Sections(
                memory,
                target,
                home.memories,
                limit=limits[target],
                enforce=config.enforce_host_files,
                reports=self._reported,
                lock=host_lock,
                now=time.time,
            )
            for target in TARGETS
            if memory.curated.is_enabled(target)
        }
        self._skills = SkillFiles(memory, home)
        self.skills_wait = False
        """A skill was changed in a turn that is not over yet."""

    def _reported(self) -> Sequence[Report]:
        return self.reports()

    def look(self, *, patience: float = PATIENCE, first: bool = False) -> Looked:
        """Take in what the host changed, then write what the bundle changed.

        A change without a report waits for one for as long as `patience` says.
        """
        done = Looked()
        told = self.reports()

        def begun(one: Sections) -> str:
            return min((report.at for report in one.unused(told)), default="")

        for one in sorted(self._sections.values(), key=begun):  # as they were written
            one.patience = patience
            _join(done, one.look(first=first))
        found = self._skills.look(first=first)
        self.skills_wait = found.waiting
        _join(done, replace(found, written=[f"skills/{name}" for name in found.written], waiting=False))
        return done

    def settle(self) -> Looked:
        """Look, and wait for what is too young to tell whose it is."""
        done = self.look()
        for _ in range(12):
            if not done.waiting:
                break
            time.sleep(PATIENCE / 10)
            done.waiting = False
            _join(done, self.look())
        return done

    def used(self, target: str, journal: str) -> int:
        """The number up to which no look needs that journal's reports of a file any more."""
        return self._sections[target].used().get(journal, 0) if target in self._sections else 1 << 62


def _join(done: Looked, more: Looked) -> None:
    done.taken += more.taken
    done.written += more.written
    done.waiting = done.waiting or more.waiting


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
        self._calls: list[attribution.SkillTurn] = []
        self._turns: list[attribution.SkillTurn] = []

    def _foreign(self) -> Collection[str]:
        return references(self._home)

    def _beside(self) -> Sequence[str]:
        return _manifests(self._home)

    def _begin(self, kind: str) -> int:
        self._calls = attribution.skill_writes(self._memory)
        self._turns = attribution.turns_under_way(self._memory)
        return note_references(self._memory, self._home, kind=kind)

    def _origin_of(self, skill: str, batch: Batch) -> Origin | None:
        """The writer: by the calls of the host's tool, else by the turn in which the skill was written.

        None where a turn that may be its own is not over yet.
        """
        at = self._written_at(batch)
        name = skill.rpartition("/")[2]
        calls = [
            one
            for one in self._calls
            if one.skill == name and (not at or one.begun - _SLACK <= at <= one.told + _TICK)
        ]
        # Of several agents it is the one whose words are in the file.
        texts = [data.decode("utf-8", "replace") for data in batch.values() if data is not None]
        saying = [one for one in calls if one.content and any(one.content in text for text in texts)]
        if saying:
            return replace(saying[-1].origin, at=at)
        turns = [one for one in self._turns if one.begun - _SLACK <= (at or one.begun)]
        if any(not one.died for one in turns):
            return None
        if calls:
            return replace(calls[-1].origin, at=at)
        last = max(turns, key=lambda one: one.begun, default=None)
        return replace(last.origin, source=HOST_FILE, at=at) if last and at else self._nobody()

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


def _manifests(home: Home) -> tuple[str, str]:
    """The files in which Hermes notes them."""
    return (os.path.join(home.skills, ".bundled_manifest"), os.path.join(home.skills, ".hub", "lock.json"))


def references(home: Home) -> dict[str, str]:
    """A line for each skill that Hermes brings itself, bundled or from its hub, by the name of its directory."""
    bundled, hub = _manifests(home)
    found: dict[str, str] = {}
    for line in (read_file(bundled) or b"").decode("utf-8", "replace").splitlines():
        name, _, version = (part.strip() for part in line.partition(":"))
        if name:
            found[name] = ", ".join(filter(None, (f"- {name}: came with Hermes", version[:12])))
    for name, entry in _installed(hub).items():
        known = entry if isinstance(entry, dict) else {}
        where = str(known.get("install_path") or name).rstrip("/")
        origin = str(known.get("identifier") or known.get("source") or "hub")
        version = str(known.get("content_hash") or "")[:19]
        for key in dict.fromkeys((str(name), os.path.basename(where))):
            found[key] = ", ".join(filter(None, (f"- {name}: {origin}", version)))
    return found


def note_references(bundle: Memory, home: Home, *, kind: str) -> bool:
    """Commit which skills this machine's Hermes brings itself; True where that was news.

    They are named and not copied. A file for each machine: none conflicts.
    """
    machine = bundle.config.machine or "here"
    path = f"hermes/skills/{safe_name(machine)}.md"
    listed = sorted(set(references(home).values()))
    body = "\n".join(["", *(Admission(bundle).note(one, TRAILER) for one in listed), ""])
    made = Concept.new(_REFERENCES, body, title=f"Skills that Hermes brings itself on {machine}").render()

    def work(edits: Edits) -> Message | None:
        if listed:
            edits.write(path, made)
        elif path in edits:
            edits.remove(path)
        if not edits.differs():
            return None
        return Message(kind, f"{len(listed)} skills by reference, which Hermes brings itself")

    if bundle.read(path) == (made if listed else None):
        return False
    return bundle.commit(work, purpose=kind, origin=bundle.origin(source=HOST_FILE)) is not None


def _installed(path: str) -> dict[str, Any]:
    try:
        found = json.loads(read_file(path) or b"{}")
    except ValueError:
        return {}
    installed = found.get("installed") if isinstance(found, dict) else None
    return installed if isinstance(installed, dict) else {}


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


def proposals(bundle: Memory) -> list[tuple[str, str, str, str]]:
    """Id, place, text and moment of each skill that Hermes keeps back for its user, the oldest first."""
    home = linked_home(bundle)
    directory = os.path.join(home.path, "pending", "skills") if home is not None else ""
    found: list[tuple[float, tuple[str, str, str, str]]] = []
    with contextlib.suppress(OSError):
        for name in sorted(os.listdir(directory))[:_MOST_PROPOSALS] if directory else ():
            path = os.path.join(directory, name)
            if name.endswith(".json") and os.path.isfile(path) and os.path.getsize(path) <= _LARGEST_PROPOSAL:
                found += _proposal(name.removesuffix(".json"), read_file(path) or b"")
    return [one for _, one in sorted(found, key=lambda each: each[0])]


def _proposal(name: str, data: bytes) -> list[tuple[float, tuple[str, str, str, str]]]:
    try:
        told = json.loads(data)
    except (ValueError, RecursionError):
        return []
    payload = told.get("payload") if isinstance(told, dict) else None
    if not isinstance(payload, dict):
        return []
    created = told.get("created_at")
    at = float(created) if isinstance(created, int | float) and not isinstance(created, bool) else 0.0
    words = [payload.get(key) for key in ("content", "file_content", "new_string")]
    text = "\n\n".join(
        [str(told.get("summary") or ""), *(one for one in words if isinstance(one, str) and one)]
    )
    what = f"{payload.get('action', '')} {payload.get('name', '')}".strip()
    moment = timestamps.stamp(timestamps.of_seconds(at)) if at else ""
    return [(at, (name, f"skills: {what}", text.strip(), moment))]


def take_host_along(bundle: Memory) -> None:
    """Before a change of the whole: what the host wrote meanwhile is committed first, or would be lost."""
    _look(bundle, settle=True)


def bring_host_along(bundle: Memory) -> list[Notice]:
    """After a change: write the host's files. Gives what there is to say."""
    written = _look(bundle, settle=False)
    if not written:
        return []
    shown = ", ".join(written[:4]) + (f" and {len(written) - 4} more" if len(written) > 4 else "")
    return [Notice("host-followed", "Hermes", shown)]


def _look(bundle: Memory, *, settle: bool) -> list[str]:
    home = linked_home(bundle)
    if home is None:
        return []
    files = HostFiles(bundle, home)
    try:
        return (files.settle() if settle else files.look()).written
    except (GitMemError, OSError) as error:
        bundle.report(Notice("host-left-behind", "Hermes", str(error)))
        return []
