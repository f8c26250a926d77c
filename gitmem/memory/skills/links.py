"""Skills in the directories of agents, kept in step with the bundle: file by file, three-way.

A directory is linked by a person. It has a note of the bundle that it belongs to: the bundle's word alone may be somebody
else's, and what it holds is written where an agent obeys it. Hermes' own directory has a room of its own, which builds on
this one.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from gitmem.errors import GitMemError, InvalidContent, UnknownRevision, UsageError
from gitmem.files import read_file, remove_file, replacement
from gitmem.git.message import Message
from gitmem.memory.gate.admission import UNCONFIRMED, Admission, retracted_units
from gitmem.memory.gate.egress import Egress
from gitmem.memory.gate.skill_guard import SkillGuard, text_of
from gitmem.memory.skills.directory import LEFT_OUT
from gitmem.notices import Notice
from gitmem.okf import paths
from gitmem.okf.files import open_file
from gitmem.okf.skills import MAX_FILE, ROOT, SKILL_FILE, by_skill, marked, original, stored
from gitmem.safety.verdict import Verdict
from gitmem.state import SKILL_LINKS

if TYPE_CHECKING:
    from gitmem.memory.bundle import Bundle
    from gitmem.memory.edits import Edits
    from gitmem.memory.origin import Origin
    from gitmem.safety.verdict import Result

_TOP = f"{ROOT}/"
_MOST_FILES = 200
"""Of one skill in a directory: more of them are a project, and left alone."""
_MARK = ".gitmem"
_FLAT = (".claude", ".agents", ".codex", ".cursor", ".gemini")
"""Agents that look for skills in the directory itself, and not in categories below it."""

Signature = tuple[tuple[str, int, int], ...]


@dataclass(frozen=True, slots=True)
class DirectorySkills:
    """Skills in a directory: files by their name there, and the skills that are not ours to touch."""

    files: dict[str, str]
    left_alone: frozenset[str] = frozenset()

    def is_ours(self, name: str) -> bool:
        return not any(name == skill or name.startswith(skill + "/") for skill in self.left_alone)


@dataclass(slots=True)
class ComparedSkills:
    """Result of one comparison of skills."""

    taken: int = 0
    written: list[str] = field(default_factory=list)


@dataclass(slots=True)
class Agreed:
    """The state that both sides last agreed on, and what was held back, as hashes of the directory's bytes."""

    files: dict[str, str] = field(default_factory=dict)
    held: dict[str, str] = field(default_factory=dict)

    @classmethod
    def of(cls, found: Mapping[str, object]) -> Agreed:
        files, held = found.get("files"), found.get("held")
        return cls(
            {str(k): str(v) for k, v in files.items()} if isinstance(files, dict) else {},
            {str(k): str(v) for k, v in held.items()} if isinstance(held, dict) else {},
        )

    @property
    def as_json(self) -> dict[str, object]:
        return {"files": self.files, "held": self.held}


class SkillDirectory:
    """The skills of one directory beside one bundle. Names are those of the bundle, below `skills/`."""

    def __init__(self, bundle: Bundle, top: str, *, enforce: bool = False) -> None:
        self._bundle = bundle
        self._top = top
        self._enforce = enforce
        self._seen: tuple[object, ...] = ()
        self._there: dict[str, str] = {}

    # What differs from one kind of directory to another

    def _look(self) -> DirectorySkills:
        return look(self._top)

    def _origin_of(self, skill: str, batch: Mapping[str, bytes | None]) -> Origin | None:  # noqa: ARG002
        """Return who changed a skill there; None where that is not known yet, and it has to wait."""
        return self._nobody()

    def _nobody(self) -> Origin:
        return self._bundle.origin(source=self._top)

    def _agreed(self) -> Agreed:
        raise NotImplementedError

    def _remember(self, known: Agreed) -> None:
        raise NotImplementedError

    def _inside(self, name: str) -> str:
        """The name in the bundle of a file of the directory."""
        return name

    def _outside(self, name: str) -> str:
        """The name in the directory of a file of the bundle."""
        return name

    def _beside(self) -> Mapping[str, str]:
        """Other files that a look at the directory depends on."""
        return {}

    def _begin(self, kind: str) -> int:  # noqa: ARG002
        """Prepare the comparison of files; return the number of commits that made."""
        return 0

    def _written(self) -> None:
        """Files of the directory were written."""

    # Both sides

    def compare(self, *, importing: bool = False) -> ComparedSkills:
        """Take in what was changed in the directory, then write what the bundle changed. Nothing new costs little."""
        done = ComparedSkills()
        here = self._look()
        if self._sight(here) == self._seen:
            return done
        kind = "import" if importing else "host"
        done.taken += self._begin(kind)
        left_alone = DirectorySkills({}, frozenset(self._inside(one) for one in here.left_alone))
        self._there = {self._inside(name): path for name, path in here.files.items()}
        present = {name: data for name, path in self._there.items() if (data := read_file(path)) is not None}
        known = self._agreed()
        before = Agreed(dict(known.files), dict(known.held))
        waiting = self._take_in_all(present, left_alone, known, done, kind)
        ours = self._ours()
        for name in sorted({*ours, *known.files}):
            mine, theirs = _hash(present.get(name)), _hash(ours.get(name))
            differs = left_alone.is_ours(name) and mine != theirs and mine == known.files.get(name, "")
            if differs and self._write(name, ours.get(name), done):
                known.files[name] = theirs
        known.files = {name: value for name, value in known.files.items() if value}
        if known != before:
            self._remember(known)
        if done.written:
            self._written()
        self._seen = () if waiting else self._sight(self._look())
        return done

    def _take_in_all(
        self,
        present: Mapping[str, bytes],
        left_alone: DirectorySkills,
        known: Agreed,
        done: ComparedSkills,
        kind: str,
    ) -> bool:
        """Commit what was changed there, skill by skill; gives whether something has to wait."""
        ours = self._ours()
        wanted: dict[str, bytes | None] = {}
        for name in sorted({*present, *known.files, *ours}):
            if not left_alone.is_ours(name):
                continue
            mine, theirs = _hash(present.get(name)), _hash(ours.get(name))
            if mine == theirs:
                known.files[name] = mine
            elif mine != known.files.get(name, ""):
                wanted[name] = present.get(name)
        waiting = False
        for skill, names in by_skill(wanted).items():
            batch = {name: wanted[name] for name in names}
            origin = self._origin_of(skill, batch)
            admitted = self._admitted(skill, batch, known, origin or self._nobody())
            if admitted and origin is None and kind != "import":
                waiting = True
            elif admitted:
                self._take_in(skill, batch, admitted, known, done, kind, origin or self._nobody())
        return waiting

    def _sight(self, here: DirectorySkills) -> tuple[object, ...]:
        """Both sides at a glance: while it is the same, there is nothing to do."""
        return (_signature({**here.files, **self._beside()}), self._bundle.tree().entry(ROOT))

    def _ours(self) -> dict[str, bytes]:
        tree = self._bundle.tree()
        return {path.removeprefix(_TOP): original(tree.read_entry(entry)) for path, entry in tree.files(ROOT)}

    def _admitted(
        self, skill: str, batch: Mapping[str, bytes | None], known: Agreed, origin: Origin
    ) -> dict[str, bytes | None]:
        """Return what was done to one skill, as it is stored: all of it, or nothing; what may not enter is held back,
        once.
        """
        guard = SkillGuard(self._bundle, "agent", origin=origin)
        texts = {_TOP + name: data for name, data in batch.items() if data is not None}
        found = guard.inspect(texts)
        taken: dict[str, bytes | None] = {name: None for name, data in batch.items() if data is None}
        whole = True
        for path, data in texts.items():
            name, result = path.removeprefix(_TOP), found.results[path]
            if result.verdict is not Verdict.ALLOW:
                whole = False
                if known.held.get(name) != _hash(data):
                    self._hold(skill, name, data, result, known, origin)
                continue
            try:
                paths.check_path(path)
                made = stored(path, data)
                taken[name] = marked(made, found.marks) if name.endswith(SKILL_FILE) else made
                known.held.pop(name, None)
            except GitMemError as error:
                if known.held.get(name) != _hash(data):
                    self._bundle.report(Notice("skill-file-refused", skill, str(error)))
                known.held[name] = _hash(data)
        return taken if whole else {}

    def _take_in(
        self,
        skill: str,
        batch: Mapping[str, bytes | None],
        taken: Mapping[str, bytes | None],
        known: Agreed,
        done: ComparedSkills,
        kind: str,
        origin: Origin,
    ) -> None:
        """Commit what was done to one skill."""
        withheld: list[str] = []

        def work(edits: Edits) -> Message | None:
            withheld.clear()
            for name, made in taken.items():
                path = _TOP + name
                if made is None:
                    if path in edits:
                        edits.remove(path)
                elif retracted_units(edits, open_file(path, made)):
                    withheld.append(name)
                else:
                    edits.write(path, made)
            if not edits.differs():
                return None
            gone = all(made is None for made in taken.values())
            return Message(kind, f"skill {skill} {'removed' if gone else 'changed'}: {_some(taken)}")

        published = self._bundle.commit(work, purpose=kind, origin=origin)
        done.taken += published is not None
        for name in taken:
            known.files[name] = _hash(batch[name])
        for name in withheld:
            # It was taken back, so it goes from the directory too.
            self._bundle.report(Notice("skill-file-retracted", f"{name} of the skill {skill}"))

    def _hold(
        self, skill: str, name: str, data: bytes, result: Result, known: Agreed, origin: Origin
    ) -> None:
        known.held[name] = _hash(data)
        text = text_of(data)
        if text is None:
            self._bundle.report(Notice("skill-file-refused", skill, f"{name} {result.explain()}."))
            return
        where = {"kind": "file", "path": _TOP + name}
        held = Admission(self._bundle, origin=origin).hold(text, result, where)
        look_at = f"`gitmem review {held}` shows it"
        self._bundle.report(
            Notice(
                "skill-file-held", f"{name} of the skill {skill}", f"{held} ({result.explain()}); {look_at}"
            )
        )
        if self._enforce or not {"retracted", UNCONFIRMED}.isdisjoint(result.rules):
            with contextlib.suppress(OSError):
                os.unlink(self._path(name))

    # Disk

    def _path(self, name: str) -> str:
        return os.path.join(self._top, *self._outside(name).split("/"))

    def _write(self, name: str, data: bytes | None, done: ComparedSkills) -> bool:
        path = self._path(name)
        if data is not None and not Egress(self._bundle).file(data, "skill", _TOP + name):
            self._bundle.report(Notice("skill-file-withheld", name))
            return False
        try:
            if data is None:
                remove_file(path)
                _remove_empty(os.path.dirname(path), self._top)
            else:
                _refuse_links(path, self._top)
                # It gets a fresh time, by which a host's prompt index goes.
                mode = 0o755 if "/scripts/" in f"/{name}" else 0o644
                with replacement(path, data, mode=mode, durable=False) as put:
                    put()
        except OSError as error:
            self._bundle.report(Notice("skill-file-unwritable", path, str(error.strerror)))
            return False
        done.written.append(name)
        return True


# --- directories that a person linked --------------------------------------------------------------------


class LinkedDirectory(SkillDirectory):
    """A directory that a person linked."""

    def __init__(self, bundle: Bundle, top: str, *, is_flat: bool) -> None:
        super().__init__(bundle, top, enforce=bundle.config.enforce_host_files)
        self._is_flat = is_flat

    def _agreed(self) -> Agreed:
        found = _links(self._bundle).get(self._top)
        return Agreed.of(found if isinstance(found, dict) else {})

    def _remember(self, known: Agreed) -> None:
        links = _links(self._bundle)
        links[self._top] = {"flat": self._is_flat, **known.as_json}
        self._bundle.state.write_json(SKILL_LINKS, {"links": links})

    def _inside(self, name: str) -> str:
        if not self._is_flat:
            return name
        from gitmem.memory.skills.catalog import Catalog

        skill, _, rest = name.partition("/")
        known = next((one for one in self._bundle.part(Catalog).of_bundle() if one.name == skill), None)
        root = known.root.removeprefix(_TOP) if known is not None else skill
        return f"{root}/{rest}" if rest else root

    def _outside(self, name: str) -> str:
        if not self._is_flat:
            return name
        (skill,) = by_skill([name])
        return f"{skill.rpartition('/')[2]}{name.removeprefix(skill)}"


@dataclass(frozen=True, slots=True)
class Link:
    """A linked directory, and whether it says that it belongs to this bundle."""

    directory: str
    is_flat: bool
    is_ours: bool


class SkillLinks:
    """The directories that are linked to one bundle."""

    def __init__(self, bundle: Bundle) -> None:
        self._bundle = bundle

    def all(self) -> list[Link]:
        return [
            Link(top, found.get("flat") is True, self._says_so(top))
            for top, found in sorted(_links(self._bundle).items())
            if isinstance(found, dict)
        ]

    def link(self, directory: str, *, is_flat: bool | None = None) -> ComparedSkills:
        """Keep a directory in step with the bundle from now on; what both have is compared at once."""
        top = os.path.realpath(directory)
        if _is_below(top, os.path.realpath(self._bundle.root)):
            raise UsageError(f"{directory} is inside the bundle: its skills are versioned there already.")
        if os.path.exists(top) and not os.path.isdir(top):
            raise InvalidContent(f"{directory} is not a directory.")
        other = (read_file(os.path.join(top, _MARK)) or b"").decode("utf-8", "replace").strip()
        if other and not self._says_so(top) and os.path.isdir(other):
            raise UsageError(
                f"{directory} is linked to another bundle, {other}.", hint="Unlink it there first."
            )
        if is_flat is None:
            is_flat = any(part in _FLAT for part in top.split(os.sep)[-2:])
        os.makedirs(top, exist_ok=True)
        with replacement(
            os.path.join(top, _MARK),
            f"{os.path.realpath(self._bundle.root)}\n".encode(),
            mode=0o644,
            durable=False,
        ) as put:
            put()
        links = _links(self._bundle)
        known = links.get(top)
        links[top] = {**(known if isinstance(known, dict) else {"files": {}, "held": {}}), "flat": is_flat}
        self._bundle.state.write_json(SKILL_LINKS, {"links": links})
        return LinkedDirectory(self._bundle, top, is_flat=is_flat).compare(importing=known is None)

    def unlink(self, directory: str) -> None:
        """Leave a directory alone from now on; its files stay."""
        top = os.path.realpath(directory)
        links = _links(self._bundle)
        if links.pop(top, None) is None:
            known = ", ".join(links) or "none"
            raise UnknownRevision(f"{directory} is not linked.", hint=f"Linked directories: {known}.")
        if self._says_so(top):
            remove_file(os.path.join(top, _MARK))
        if links:
            self._bundle.state.write_json(SKILL_LINKS, {"links": links})
        else:
            self._bundle.state.remove(SKILL_LINKS)

    def compare(self) -> list[str]:
        """Bring every linked directory and the bundle together; gives the files that were written."""
        written: list[str] = []
        for one in self.all():
            if not one.is_ours or not os.path.isdir(one.directory):
                continue
            try:
                done = LinkedDirectory(self._bundle, one.directory, is_flat=one.is_flat).compare()
            except (GitMemError, OSError) as error:
                self._bundle.report(Notice("host-left-behind", one.directory, str(error)))
            else:
                written += [f"{one.directory}: {name}" for name in done.written]
        return written

    def _says_so(self, top: str) -> bool:
        said = (read_file(os.path.join(top, _MARK)) or b"").decode("utf-8", "replace").strip()
        return said == os.path.realpath(self._bundle.root)


def take_along(bundle: Bundle) -> None:
    """Before a change of the whole: commit what was written in linked directories meanwhile."""
    bundle.part(SkillLinks).compare()


def bring_along(bundle: Bundle) -> list[Notice]:
    """After a change: write the linked directories. Gives what there is to say."""
    written = bundle.part(SkillLinks).compare()
    return [Notice("host-followed", "linked skills", _some(written))] if written else []


# --- parts -----------------------------------------------------------------------------------------------


def look(top: str, foreign: Mapping[str, object] | None = None) -> DirectorySkills:
    """Return what lies in a directory with skills; those in `foreign`, by name or path, are somebody else's."""
    files: dict[str, str] = {}
    left_alone: set[str] = set()
    for skill, directory in _roots(top):
        if foreign and (os.path.basename(skill) in foreign or skill in foreign):
            left_alone.add(skill)
            continue
        names = list(_below(directory))[: _MOST_FILES + 1]
        if len(names) > _MOST_FILES or skill == ".":
            left_alone.add(skill)
            continue
        files |= {f"{skill}/{name}": os.path.join(directory, *name.split("/")) for name in names}
    return DirectorySkills(files, frozenset(left_alone))


def _roots(top: str) -> Iterator[tuple[str, str]]:
    """Directories that hold a SKILL.md; what lies below one belongs to it."""
    for directory, below, names in os.walk(top):
        below[:] = sorted(name for name in below if not name.startswith(".") and name not in LEFT_OUT)
        if SKILL_FILE in names:
            below[:] = []
            yield os.path.relpath(directory, top).replace(os.sep, "/"), directory


def _below(directory: str) -> Iterator[str]:
    for current, below, names in os.walk(directory):
        below[:] = sorted(name for name in below if not name.startswith(".") and name not in LEFT_OUT)
        for name in sorted(names):
            full = os.path.join(current, name)
            if name.startswith(".") or name.endswith((".pyc", ".tmp")) or os.path.islink(full):
                continue
            with contextlib.suppress(OSError):
                if os.path.isfile(full) and os.stat(full).st_size <= MAX_FILE:
                    yield os.path.relpath(full, directory).replace(os.sep, "/")


def _links(bundle: Bundle) -> dict[str, object]:
    found = bundle.state.read_json(SKILL_LINKS).get("links")
    return {str(top): one for top, one in found.items()} if isinstance(found, dict) else {}


def _is_below(path: str, top: str) -> bool:
    return path == top or path.startswith(top.rstrip(os.sep) + os.sep)


def _refuse_links(path: str, top: str) -> None:
    """Raise where a directory on the way to a file is a link: it would be written elsewhere."""
    directory = os.path.dirname(path)
    while directory != top and directory.startswith(top):
        if os.path.islink(directory):
            raise NotADirectoryError(20, "a directory on the way is a symbolic link", directory)
        directory = os.path.dirname(directory)


def _signature(files: Mapping[str, str]) -> Signature:
    found = []
    for name, path in sorted(files.items()):
        with contextlib.suppress(OSError):
            status = os.stat(path)
            found.append((name, status.st_mtime_ns, status.st_size))
    return tuple(found)


def _hash(data: bytes | None) -> str:
    return hashlib.sha256(data).hexdigest() if data is not None else ""


def _some(names: Mapping[str, object] | list[str]) -> str:
    listed = [name.rpartition("/")[2] for name in names]
    return ", ".join(listed[:3]) + (f" and {len(listed) - 3} more" if len(listed) > 3 else "")


def _remove_empty(directory: str, top: str) -> None:
    while directory != top and directory.startswith(top):
        try:
            os.rmdir(directory)
        except OSError:
            return
        directory = os.path.dirname(directory)
