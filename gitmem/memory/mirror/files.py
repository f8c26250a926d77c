"""Skills in the directories of agents: file by file, and one commit for each skill."""

from __future__ import annotations

import contextlib
import hashlib
import os
from collections.abc import Collection, Mapping, Sequence, Set
from typing import TYPE_CHECKING

from gitmem.errors import GitMemError
from gitmem.files import read_file, remove_file, replacement
from gitmem.git.message import Message
from gitmem.memory.gate.admission import Admission
from gitmem.memory.gate.egress import Egress
from gitmem.memory.gate.marks import UNCONFIRMED
from gitmem.memory.gate.skill_guard import SkillGuard, text_of
from gitmem.memory.mirror.mirror import Looked, Mirror, agreed, conflicts, incoming, outgoing, texts_in
from gitmem.memory.retraction import retracted_units
from gitmem.memory.skills.catalog import Catalog
from gitmem.memory.skills.directory import files_below, skills_below
from gitmem.notices import Notice
from gitmem.okf import paths
from gitmem.okf.files import open_file
from gitmem.okf.plain import few
from gitmem.okf.skills import MAX_FILE, ROOT, SKILL_FILE, by_skill, marked, original, stored
from gitmem.safety.verdict import Verdict

if TYPE_CHECKING:
    from gitmem.memory.bundle import Bundle
    from gitmem.memory.edits import Edits
    from gitmem.memory.origin import Origin
    from gitmem.safety.verdict import Result

_TOP = f"{ROOT}/"
_MOST_FILES = 200
"""Of one skill in a directory: more of them are a project, and left alone."""

Batch = Mapping[str, bytes | None]
"""Files of one skill by their names below `skills/`; None: it is gone."""


class SkillDirectory(Mirror):
    """The skills of one directory. Names are those of the bundle, below `skills/`."""

    def __init__(self, bundle: Bundle, name: str, top: str, *, is_flat: bool = False) -> None:
        super().__init__(bundle, name)
        self._top = top
        self._is_flat = is_flat
        self._enforce = bundle.config.enforce_host_files
        self._names: Collection[str] = ()
        """The files on both sides, by which the skill of each is known."""
        self._places: dict[str, str] = {}
        """The skills that are in the directory, each with where."""

    # What differs from one kind of directory to another

    def _foreign(self) -> Collection[str]:
        """Names or paths of skills that another program brings, and that are left alone."""
        return ()

    def _origin_of(self, skill: str, batch: Batch) -> Origin | None:  # noqa: ARG002
        """Return who changed a skill there; None where that is not known yet, and it has to wait."""
        return self._nobody()

    def _nobody(self) -> Origin:
        return self._bundle.origin(source=self._top)

    def _written(self) -> None:
        """Files of the directory were written."""

    # Both sides

    def _compare(self, done: Looked, kind: str) -> None:
        note, held = self._note(), texts_in(self._note().get("held"))
        files, left = self._directory()
        alone = left.keys()
        for name, why in left.items():
            if why and held.get(name) != why:
                held[name] = why
                self._bundle.report(Notice("skill-left", name, why))
        base = {name: one for name, one in texts_in(note.get("files")).items() if _is_ours(name, alone)}
        data = {name: found for name, path in files.items() if (found := read_file(path)) is not None}
        there = {name: _hash(found) for name, found in data.items()}
        ours = self._here(alone)
        here = {name: _hash(found) for name, found in ours.items()}
        both = conflicts(base, here, there)
        self._names = {*base, *here, *there}
        changed = by_skill(incoming(base, here, there), self._names)
        gone = self._lost(changed, there.keys())
        of = len(by_skill(base, self._names))
        if len(gone) > 1 and 3 * len(gone) > of:  # one commit, so that one revert takes it back
            batch = dict.fromkeys(name for skill in gone for name in changed.pop(skill))
            lost = f"lost {len(gone)} of {of}"
            message = Message(kind, f"suspicious: skills {lost}, in {self._top}", {"Scan": "mass-change"})
            if oid := self._commit(batch, message, self._nobody()):
                self._bundle.report(Notice("host-file-emptied", oid[:12], f"{self._top} {lost} skills"))
                done.taken += 1
            _put(base, there, batch)
        for skill, names in changed.items():
            batch = {name: data.get(name) for name in names}
            origin = self._origin_of(skill, batch)
            admitted = self._admitted(skill, batch, held, origin or self._nobody())
            if not admitted:
                continue
            if origin is None and kind != "import":
                done.waiting = True
                continue
            kept = {name: ours[name] for name in names if name in both}
            done.taken += bool(self._take_in(skill, admitted, kept, kind, origin or self._nobody()))
            _put(base, there, names)
        ours = self._here(alone)
        here = {name: _hash(found) for name, found in ours.items()}
        for name in outgoing(base, here, there):
            if self._write(name, ours.get(name)):
                done.written.append(name)
                _put(there, here, [name])
        new = {"files": agreed(base, here, there), "held": held}
        self._agree(note, {**note, **new})
        if done.written:
            self._written()

    def _lost(self, changed: Mapping[str, Sequence[str]], there: Set[str]) -> list[str]:
        """The skills that are gone there as a whole, and no agent said so."""
        return [
            skill
            for skill, names in changed.items()
            if f"{skill}/{SKILL_FILE}" in names
            and there.isdisjoint(names)
            and (origin := self._origin_of(skill, dict.fromkeys(names))) is not None
            and not origin.session
        ]

    def _here(self, alone: Collection[str]) -> dict[str, bytes]:
        tree = self._bundle.tree()
        found = ((path.removeprefix(_TOP), entry) for path, entry in tree.files(ROOT))
        return {name: original(tree.read_entry(entry)) for name, entry in found if _is_ours(name, alone)}

    def _admitted(self, skill: str, batch: Batch, held: dict[str, str], origin: Origin) -> Batch:
        """One skill as it is stored: all of it, or nothing; what may not enter is held back, once."""
        texts = {_TOP + name: data for name, data in batch.items() if data is not None}
        found = SkillGuard(self._bundle, "agent", origin=origin).inspect(texts)
        taken: dict[str, bytes | None] = {name: None for name, data in batch.items() if data is None}
        whole = True
        for path, data in texts.items():
            name, result = path.removeprefix(_TOP), found.results[path]
            is_news = held.get(name) != _hash(data)
            try:
                paths.check_path(path)
                made = stored(path, data)
            except GitMemError as error:
                held[name] = _hash(data)
                if is_news:
                    self._bundle.report(Notice("skill-file-refused", skill, str(error)))
                continue
            if result.verdict is not Verdict.ALLOW:
                whole, held[name] = False, _hash(data)
                if is_news:
                    self._hold(skill, name, data, result, origin)
                continue
            taken[name] = marked(made, found.marks) if name.endswith(SKILL_FILE) else made
            held.pop(name, None)
        return taken if whole else {}

    def _take_in(self, skill: str, taken: Batch, kept: Mapping[str, bytes], kind: str, origin: Origin) -> str:
        """Commit what was done to one skill; what the bundle had of files that both sides changed stays beside them."""
        beside = {_beside_name(skill, name, data): data for name, data in kept.items()}
        files = {**taken, **{name: stored(_TOP + name, data) for name, data in beside.items()}}
        gone = all(made is None for made in taken.values())
        names = few([name.rpartition("/")[2] for name in taken])
        message = Message(kind, f"skill {skill} {'removed' if gone else 'changed'}: {names}")
        oid = self._commit(files, message, origin)
        for name, copy in zip(kept, beside, strict=True):
            self._bundle.report(Notice("skill-file-both", name, copy))
        return oid

    def _commit(self, files: Batch, message: Message, origin: Origin) -> str:
        """Commit files as they are stored; gives the commit, or nothing where the bundle has it so."""

        def work(edits: Edits) -> Message | None:
            for name, made in files.items():
                path = _TOP + name
                if made is None:
                    if path in edits:
                        edits.remove(path)
                elif not retracted_units(edits, open_file(path, made)):
                    edits.write(path, made)
            return message if edits.differs() else None

        published = self._bundle.commit(work, purpose=message.kind, origin=origin)
        return published.commit.oid if published else ""

    def _hold(self, skill: str, name: str, data: bytes, result: Result, origin: Origin) -> None:
        text = text_of(data)
        if text is None:
            self._bundle.report(Notice("skill-file-refused", skill, f"{name} {result.explain()}."))
            return
        held = Admission(self._bundle, origin=origin).hold(
            text, result, {"kind": "skill", "path": _TOP + name}
        )
        detail = f"{held} ({result.explain()}); `gitmem review {held}` shows it"
        self._bundle.report(Notice("skill-file-held", f"{name} of the skill {skill}", detail))
        if self._enforce or not {"retracted", UNCONFIRMED}.isdisjoint(result.rules):
            with contextlib.suppress(OSError):
                os.unlink(self._path(name))

    # Disk

    def _directory(self) -> tuple[dict[str, str], dict[str, str]]:
        """The files of the directory by their names in the bundle, and the skills and files that are left alone, and why."""
        files: dict[str, str] = {}
        left: dict[str, str] = {}
        foreign = self._foreign()
        for category, directory in skills_below(self._top):
            name = os.path.basename(directory)
            skill = f"{category}/{name}" if category else name
            inside = self._inside(skill)
            self._places[inside] = directory
            found = {} if skill in foreign or name in foreign else _sizes(directory)
            if len(found) > _MOST_FILES:
                left[inside] = f"it has {len(found)} files: at most {_MOST_FILES}."
            elif not found:
                left[inside] = ""
            for name, size in found.items() if inside not in left else ():
                if size > MAX_FILE:
                    left[f"{inside}/{name}"] = f"it has {size:,} bytes: at most {MAX_FILE:,}."
                else:
                    files[f"{inside}/{name}"] = os.path.join(directory, *name.split("/"))
        return files, left

    def _inside(self, skill: str) -> str:
        """The place in the bundle of a skill of the directory, which may know no categories."""
        known = self._bundle.part(Catalog).of_bundle() if self._is_flat else ()
        return next((one.root.removeprefix(_TOP) for one in known if one.name == skill), skill)

    def _path(self, name: str) -> str:
        (skill,) = by_skill([name], self._names)
        place = self._places.get(skill)
        if place is None:
            place = os.path.join(self._top, *skill.split("/")[-1 if self._is_flat else 0 :])
        return os.path.join(place, *filter(None, name.removeprefix(skill).split("/")))

    def _write(self, name: str, data: bytes | None) -> bool:
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
        return True


def _sizes(directory: str) -> dict[str, int]:
    """The regular files of a skill, without links, and their sizes."""
    found = {}
    for name in files_below(directory, strict=False):
        with contextlib.suppress(OSError):
            full = os.path.join(directory, *name.split("/"))
            if os.path.isfile(full):
                found[name] = os.stat(full).st_size
    return found


def _is_ours(name: str, alone: Collection[str]) -> bool:
    return not any(name == skill or name.startswith(skill + "/") for skill in alone)


def _put(units: dict[str, str], other: Mapping[str, str], names: Collection[str]) -> None:
    """Give some units the values that they have elsewhere."""
    for name in names:
        units.pop(name, None)
        units |= {name: other[name]} if name in other else {}


def _beside_name(skill: str, name: str, data: bytes) -> str:
    stem, ending = os.path.splitext(name.rpartition("/")[2])
    return f"{skill}/references/{stem}-{_hash(data)[:8]}{ending}"


def _refuse_links(path: str, top: str) -> None:
    """Raise where a directory on the way to a file is a link: it would be written elsewhere."""
    directory = os.path.dirname(path)
    while directory != top and directory.startswith(top):
        if os.path.islink(directory):
            raise NotADirectoryError(20, "a directory on the way is a symbolic link", directory)
        directory = os.path.dirname(directory)


def _remove_empty(directory: str, top: str) -> None:
    with contextlib.suppress(OSError):
        while directory != top and directory.startswith(top):
            os.rmdir(directory)
            directory = os.path.dirname(directory)


def _hash(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()
