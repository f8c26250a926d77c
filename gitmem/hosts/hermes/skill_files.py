"""Skills of a Hermes home, kept in step with the bundle: the agent's own ones, file by file, three-way.

Skills that came with Hermes or from its hub are left alone, and only named: Hermes brings them back itself.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import sys
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from gitmem.errors import GitMemError
from gitmem.files import read_file, remove_file, replacement
from gitmem.git.message import Message
from gitmem.hosts.hermes import skill_references
from gitmem.hosts.hermes.home import Home
from gitmem.hosts.hermes.write_notices import skill_writes, turns_under_way
from gitmem.memory.curated.host_files import HOST_FILE
from gitmem.memory.gate.admission import UNCONFIRMED, Admission, retracted_units
from gitmem.memory.gate.egress import Egress
from gitmem.notices import Notice
from gitmem.okf import paths
from gitmem.okf.files import open_file
from gitmem.okf.skills import marked, original, stored
from gitmem.state import HOST_SKILLS

if TYPE_CHECKING:
    from gitmem.memory.edits import Edits
    from gitmem.memory.memory import Memory
    from gitmem.memory.provenance import Origin
    from gitmem.safety.verdict import Result

_ROOT = "skills/"
_MAX_FILE = 1 << 20
_MAX_FILES = 200
_TICK = 0.001
"""The journal writes milliseconds."""
_SLACK = 0.05
"""Seconds by which a file's time may be behind the clock that turns go by: a file system's ticks are coarse."""
# Directories in which Hermes looks for no skills either.
_LEFT_OUT = frozenset(("venv", "node_modules", "site-packages", "__pycache__"))

Signature = tuple[tuple[str, int, int], ...]


# --- the host's side -------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _HostSkills:
    """What lies in the skills directory: files by name, and the skills that are not ours to touch."""

    files: dict[str, str]
    left_alone: frozenset[str]

    def is_ours(self, name: str) -> bool:
        return not any(name == skill or name.startswith(skill + "/") for skill in self.left_alone)


def _look(home: Home) -> _HostSkills:
    files: dict[str, str] = {}
    left_alone: set[str] = set()
    foreign = skill_references.references(home)
    for skill, directory in _roots(home.skills):
        if os.path.basename(skill) in foreign or skill in foreign or skill == ".":
            left_alone.add(skill)
            continue
        names = list(_below(directory))[: _MAX_FILES + 1]
        if len(names) > _MAX_FILES:
            left_alone.add(skill)
            continue
        files |= {f"{skill}/{name}": os.path.join(directory, *name.split("/")) for name in names}
    return _HostSkills(files, frozenset(left_alone))


def _roots(top: str) -> Iterator[tuple[str, str]]:
    """Directories that hold a SKILL.md; what lies below one belongs to it."""
    for directory, below, names in os.walk(top):
        below[:] = sorted(name for name in below if not name.startswith(".") and name not in _LEFT_OUT)
        if "SKILL.md" in names:
            below[:] = []
            yield os.path.relpath(directory, top).replace(os.sep, "/"), directory


def _below(directory: str) -> Iterator[str]:
    for current, below, names in os.walk(directory):
        below[:] = sorted(name for name in below if not name.startswith(".") and name not in _LEFT_OUT)
        for name in sorted(names):
            full = os.path.join(current, name)
            if name.startswith(".") or name.endswith((".pyc", ".tmp")) or os.path.islink(full):
                continue
            with contextlib.suppress(OSError):
                if os.path.isfile(full) and os.stat(full).st_size <= _MAX_FILE:
                    yield os.path.relpath(full, directory).replace(os.sep, "/")


# --- both sides ------------------------------------------------------------------------------------------


@dataclass(slots=True)
class ComparedSkills:
    """What one compare of the skills did."""

    taken: int = 0
    written: list[str] = field(default_factory=list)


@dataclass(slots=True)
class _Known:
    """What both sides last agreed on, and what was held back, as hashes of the host's bytes."""

    files: dict[str, str] = field(default_factory=dict)
    held: dict[str, str] = field(default_factory=dict)


class _Writers:
    """Who wrote a skill: by the calls of the host's tool, else by the turn in which it was written."""

    def __init__(self, bundle: Memory, dead: Collection[str]) -> None:
        self._calls = skill_writes(bundle)
        self._turns = turns_under_way(bundle, dead)
        self.nobody = bundle.origin(source=HOST_FILE)

    def origin_of(self, skill: str, batch: Mapping[str, bytes | None], at: float) -> Origin | None:
        """The origin of a change; None where a turn that may be its own is not over yet."""
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
        return replace(last.origin, source=HOST_FILE, at=at) if last and at else self.nobody


class SkillFiles:
    """The skills of one home beside one bundle."""

    def __init__(
        self,
        bundle: Memory,
        home: Home,
        *,
        enforce: bool = False,
    ) -> None:
        self._bundle = bundle
        self._home = home
        self._enforce = enforce
        self._seen: tuple[object, ...] = ()

    def compare(self, *, importing: bool = False, dead: Collection[str] = ()) -> ComparedSkills:
        """Take in what the host changed, then write what the bundle changed. Nothing new costs little.

        `dead` are journals of notices that were taken over from dead processes.
        """
        done = ComparedSkills()
        host = _look(self._home)
        if self._sight(host) == self._seen:
            return done
        writers = _Writers(self._bundle, dead)
        waiting = False
        kind = "import" if importing else "host"
        done.taken += skill_references.note(self._bundle, self._home, kind=kind)
        present = {name: data for name, path in host.files.items() if (data := read_file(path)) is not None}
        known = self._known()
        before = _Known(dict(known.files), dict(known.held))
        ours = self._ours()
        wanted: dict[str, bytes | None] = {}
        for name in sorted({*present, *known.files, *ours}):
            if not host.is_ours(name):
                continue
            here, there = _hash(present.get(name)), _hash(ours.get(name))
            agreed = known.files.get(name, "")
            if here == there:
                known.files[name] = here
            elif here != agreed:
                wanted[name] = present.get(name)
        for skill, batch in _by_skill(wanted).items():
            origin = writers.origin_of(skill, batch, _written_at(self._home, batch))
            admitted = self._admitted(skill, batch, known, origin or writers.nobody)
            if admitted and origin is None and not importing:
                waiting = True  # the turn in which it was written tells who and why when it is over
            elif admitted:
                self._take_in(skill, batch, admitted, known, done, kind, origin or writers.nobody)
        ours = self._ours()
        for name in sorted({*ours, *known.files}):
            here, there = _hash(present.get(name)), _hash(ours.get(name))
            differs = host.is_ours(name) and here != there and here == known.files.get(name, "")
            if differs and self._write(name, ours.get(name), done):
                known.files[name] = there
        known.files = {name: value for name, value in known.files.items() if value}
        if known != before:
            self._remember(known)
        if done.written:
            _clear_prompt_cache(self._home)
        self._seen = () if waiting else self._sight(_look(self._home))
        return done

    def _sight(self, host: _HostSkills) -> tuple[object, ...]:
        """Both sides at a glance: while it is the same, there is nothing to do."""
        noted = {path: path for path in skill_references.manifests(self._home)}
        return (_signature({**host.files, **noted}), self._bundle.tree().entry("skills"))

    def _ours(self) -> dict[str, bytes]:
        tree = self._bundle.tree()
        return {
            path.removeprefix(_ROOT): original(tree.read_entry(entry)) for path, entry in tree.files("skills")
        }

    def _admitted(
        self, skill: str, batch: Mapping[str, bytes | None], known: _Known, origin: Origin
    ) -> dict[str, bytes | None]:
        """What the host did to one skill, as it is stored; what may not enter is held back and told, once."""
        taken: dict[str, bytes | None] = {}
        for name, data in batch.items():
            if data is None:
                taken[name] = None
                continue
            if known.held.get(name) == _hash(data) and self._verdict(data, origin) is not None:
                continue
            try:
                paths.check_path(_ROOT + name)
                made = stored(_ROOT + name, data)
                if name.endswith("SKILL.md"):
                    made = marked(made, self._marks(data, origin))
            except GitMemError as error:
                known.held[name] = _hash(data)
                self._bundle.report(Notice("skill-file-refused", skill, str(error)))
                continue
            result = self._verdict(data, origin)
            if result is not None:
                self._hold(skill, name, data, result, known, origin)
            else:
                known.held.pop(name, None)
                taken[name] = made
        return taken

    def _take_in(
        self,
        skill: str,
        batch: Mapping[str, bytes | None],
        taken: Mapping[str, bytes | None],
        known: _Known,
        done: ComparedSkills,
        kind: str,
        origin: Origin,
    ) -> None:
        """Commit what the host did to one skill."""
        withheld: list[str] = []

        def work(edits: Edits) -> Message | None:
            withheld.clear()
            for name, made in taken.items():
                path = _ROOT + name
                if made is None:
                    if path in edits:
                        edits.remove(path)
                elif retracted_units(edits, open_file(path, made)):
                    withheld.append(name)
                else:
                    edits.write(path, made)
            if not edits.differs():
                return None
            edits.want_log()
            gone = all(made is None for made in taken.values())
            return Message(kind, f"skill {skill} {'removed' if gone else 'changed'}: {_some(taken)}")

        published = self._bundle.commit(work, purpose=kind, origin=origin)
        done.taken += published is not None
        for name in taken:
            known.files[name] = _hash(batch[name])
        for name in withheld:
            # It was taken back, so it goes from the host's directory too.
            self._bundle.report(Notice("skill-file-retracted", f"{name} of the skill {skill}"))

    def _marks(self, data: bytes, origin: Origin) -> Mapping[str, str]:
        return Admission(self._bundle, origin=origin).skill_marks(data.decode("utf-8", "replace"))

    def _verdict(self, data: bytes, origin: Origin) -> Result | None:
        """Why the text may not enter; None where it may."""
        from gitmem.safety.verdict import Verdict

        try:
            text = data.decode()
        except UnicodeDecodeError:
            return None
        admission = Admission(self._bundle, origin=origin)
        result = admission.judge_origin(text, admission.skill(text))
        return None if result.verdict is Verdict.ALLOW else result

    def _hold(
        self, skill: str, name: str, data: bytes, result: Result, known: _Known, origin: Origin
    ) -> None:
        where = {"kind": "file", "path": _ROOT + name}
        held = Admission(self._bundle, origin=origin).hold(data.decode(), result, where)
        known.held[name] = _hash(data)
        look = f"`gitmem quarantine show {held}` shows it"
        self._bundle.report(
            Notice("skill-file-held", f"{name} of the skill {skill}", f"{held} ({result.explain()}); {look}")
        )
        if self._enforce or not {"retracted", UNCONFIRMED}.isdisjoint(result.rules):
            with contextlib.suppress(OSError):
                os.unlink(os.path.join(self._home.skills, *name.split("/")))

    # Disk

    def _write(self, name: str, data: bytes | None, done: ComparedSkills) -> bool:
        path = os.path.join(self._home.skills, *name.split("/"))
        if data is not None and not Egress(self._bundle).file(data, "skill"):
            self._bundle.report(Notice("skill-file-withheld", name))
            return False
        try:
            if data is None:
                remove_file(path)
                _remove_empty(os.path.dirname(path), self._home.skills)
            else:
                # It gets a fresh time, by which the host's prompt index goes.
                mode = 0o755 if "/scripts/" in f"/{name}" else 0o644
                with replacement(path, data, mode=mode, durable=False) as put:
                    put()
        except OSError as error:
            self._bundle.report(Notice("skill-file-unwritable", path, str(error.strerror)))
            return False
        done.written.append(name)
        return True

    def _known(self) -> _Known:
        found = self._bundle.state.read_json(HOST_SKILLS)
        files, held = found.get("files"), found.get("held")
        return _Known(
            {str(k): str(v) for k, v in files.items()} if isinstance(files, dict) else {},
            {str(k): str(v) for k, v in held.items()} if isinstance(held, dict) else {},
        )

    def _remember(self, known: _Known) -> None:
        self._bundle.state.write_json(HOST_SKILLS, {"files": known.files, "held": known.held})


def _signature(files: Mapping[str, str]) -> Signature:
    found = []
    for name, path in sorted(files.items()):
        with contextlib.suppress(OSError):
            status = os.stat(path)
            found.append((name, status.st_mtime_ns, status.st_size))
    return tuple(found)


def _written_at(home: Home, batch: Mapping[str, bytes | None]) -> float:
    """When the host last wrote these files of a skill; 0 where they are gone."""
    found = [0.0]
    for name, data in batch.items():
        with contextlib.suppress(OSError):
            found.append(
                os.stat(os.path.join(home.skills, *name.split("/"))).st_mtime if data is not None else 0.0
            )
    return max(found)


def _hash(data: bytes | None) -> str:
    return hashlib.sha256(data).hexdigest() if data is not None else ""


def _by_skill(wanted: Mapping[str, bytes | None]) -> dict[str, dict[str, bytes | None]]:
    """Files by the skill they belong to: its directory, as far as a name can tell."""
    found: dict[str, dict[str, bytes | None]] = {}
    support = ("references", "templates", "scripts", "assets")
    for name, data in wanted.items():
        parts = name.split("/")[:-1]
        depth = next((place for place, part in enumerate(parts) if part in support and place), len(parts))
        found.setdefault("/".join(parts[:depth]) or name, {})[name] = data
    return found


def _some(names: Mapping[str, object]) -> str:
    listed = [name.rpartition("/")[2] for name in names]
    return ", ".join(listed[:3]) + (f" and {len(listed) - 3} more" if len(listed) > 3 else "")


def _remove_empty(directory: str, top: str) -> None:
    while directory != top and directory.startswith(top):
        try:
            os.rmdir(directory)
        except OSError:
            return
        directory = os.path.dirname(directory)


def _clear_prompt_cache(home: Home) -> None:
    """The host keeps a list of skills beside its files, and one in the process."""
    with contextlib.suppress(OSError):
        os.unlink(os.path.join(home.path, ".skills_prompt_snapshot.json"))
    builder = sys.modules.get("agent.prompt_builder")
    clear = getattr(builder, "clear_skills_system_prompt_cache", None)
    if callable(clear):
        with contextlib.suppress(Exception):  # the host's own function: nothing depends on it
            clear()
