"""The list of skills: what each says of itself, from the bundle and from directories that are only read."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import TYPE_CHECKING

from gitmem.errors import InvalidContent
from gitmem.git.objects import path_text
from gitmem.memory.skills.directory import files_below, read_steadily, skills_below
from gitmem.okf.skills import MAX_FILES, ROOT, SKILL_FILE, SkillHead, original, read_head
from gitmem.state import CACHE

if TYPE_CHECKING:
    from gitmem.git.objects import Oid
    from gitmem.git.tree import Tree
    from gitmem.memory.bundle import Bundle

_PASSED = "skills"
_DEPTH = 6


@dataclass(frozen=True, slots=True)
class Skill:
    """One skill as it is listed. `root` is its directory: in the bundle, or in one that is only read."""

    name: str
    category: str
    head: SkillHead
    root: str
    is_external: bool = False
    oid: Oid = ""
    """Its SKILL.md as the bundle has it."""

    @property
    def path(self) -> str:
        """Its SKILL.md."""
        return f"{self.root}/{SKILL_FILE}"

    @property
    def description(self) -> str:
        return self.head.description

    @property
    def title(self) -> str:
        """Category and name."""
        return f"{self.category}/{self.name}" if self.category else self.name


class Catalog:
    """The skills of one bundle, listed once for each state of its tree."""

    def __init__(self, bundle: Bundle) -> None:
        self._bundle = bundle
        self._known: tuple[Oid, tuple[Skill, ...]] = ("", ())
        self._heads: dict[Oid, SkillHead] = {}

    def of_bundle(self, revision: str = "HEAD") -> Sequence[Skill]:
        """The skills of the bundle at a revision, by category and name."""
        return self.in_tree(self._bundle.tree(revision))

    def in_tree(self, tree: Tree) -> Sequence[Skill]:
        """The skills of any tree."""
        top = tree.entry(ROOT)
        if top is None or not top.is_directory:
            return ()
        if self._known[0] != top.oid:
            found = sorted(self._below(top.oid, ()), key=lambda one: (one.category, one.name))
            self._known = top.oid, tuple(found)
        return self._known[1]

    def passing(self, skills: Iterable[Skill], rules: str, judge: Callable[[str, str], bool]) -> set[Oid]:
        """Return which SKILL.md pass a judge with these rules, who reads each version once on this machine."""
        kept = self._bundle.state.read_json(CACHE, _PASSED)
        listed = kept.get("passed")
        passed = set(listed) if kept.get("rules") == rules and isinstance(listed, list) else set()
        fresh = {
            one.oid
            for one in skills
            if one.oid and one.oid not in passed and judge((self.read(one) or b"").decode(), one.path)
        }
        if fresh:
            passed = (passed | fresh) & {one.oid for one in skills}
            self._bundle.state.write_json(CACHE, {"rules": rules, "passed": sorted(passed)}, _PASSED)
        return passed

    def external(self) -> Sequence[Skill]:
        """The skills of the directories that are only read; one that the bundle has too is the bundle's."""
        found: dict[str, Skill] = {}
        for top in external_directories(self._bundle):
            for category, directory in skills_below(top):
                name = os.path.basename(directory)
                data = _read(directory, SKILL_FILE)
                if data is not None and name not in found:
                    head = read_head(data.decode("utf-8", "replace"), name)
                    found[name] = Skill(name, category, head, directory, is_external=True)
        return tuple(found.values())

    def files(self, skill: Skill) -> Sequence[str]:
        """The supporting files of a skill, by their paths inside it."""
        if skill.is_external:
            found: Iterable[str] = islice(files_below(skill.root, strict=False), MAX_FILES)
        else:
            inside = self._bundle.tree().files(skill.root)
            found = (path.removeprefix(f"{skill.root}/") for path, _ in inside)
        return tuple(sorted(name for name in found if name != SKILL_FILE))

    def read(self, skill: Skill, file: str = SKILL_FILE) -> bytes | None:
        """A file of a skill, in the form that agents have."""
        if skill.is_external:
            return _read(skill.root, file)
        data = self._bundle.read(f"{skill.root}/{file}")
        return None if data is None else original(data)

    def _below(self, oid: Oid, way: tuple[str, ...]) -> Iterator[Skill]:
        """Directories that hold a SKILL.md; what lies below one belongs to it. The top is never a skill."""
        names = self._bundle.repository.store.tree(oid)
        skill = names.get(SKILL_FILE.encode())
        if way and skill is not None and not skill.is_directory:
            *category, name = way
            head = self._head(skill.oid, name)
            yield Skill(name, "/".join(category), head, "/".join((ROOT, *way)), oid=skill.oid)
        elif len(way) < _DEPTH:
            for part, entry in names.items():
                if entry.is_directory:
                    yield from self._below(entry.oid, (*way, path_text(part)))

    def _head(self, oid: Oid, name: str) -> SkillHead:
        if oid not in self._heads:
            text = self._bundle.repository.store.blob(oid).decode("utf-8", "replace")
            self._heads[oid] = read_head(text, name)
        return self._heads[oid]


def external_directories(bundle: Bundle) -> list[str]:
    """The directories with skills that are only read, as the settings name them."""
    given = bundle.config.external_skills.split(os.pathsep)
    return [bundle.world.path(one.strip()) for one in given if one.strip()]


def _read(root: str, file: str) -> bytes | None:
    try:
        return read_steadily(os.path.join(root, *file.split("/")))
    except (OSError, InvalidContent):
        return None
