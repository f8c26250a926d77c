"""The list of skills: what each says of itself, from the bundle and from directories that are only read.

The list of a tree is kept beside the bundle by the tree's id, so that to list a thousand skills parses nothing.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from gitmem.git.objects import path_text
from gitmem.okf.skills import FOLDERS, MAX_FILE, MAX_FILES, ROOT, SKILL_FILE, SkillHead, original, read_head
from gitmem.state import CACHE

if TYPE_CHECKING:
    from gitmem.git.objects import Oid
    from gitmem.git.tree import Tree
    from gitmem.memory.bundle import Bundle

_SKILLS = "skills"
_FORM = 1
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
        self._known: tuple[Oid, tuple[Skill, ...]] | None = None
        self._heads: dict[Oid, SkillHead] = {}
        self._seen: dict[Oid, tuple[tuple[tuple[str, ...], Oid], ...]] = {}
        self._passed: dict[str, set[Oid]] = {}

    def of_bundle(self, revision: str = "HEAD") -> Sequence[Skill]:
        """The skills of the bundle at a revision, by category and name."""
        tree = self._bundle.tree(revision)
        top = tree.entry(ROOT)
        if top is None or not top.is_directory:
            return ()
        if self._known is None:
            self._remember(self._bundle.state.read_json(CACHE, _SKILLS))
        if self._known is not None and self._known[0] == top.oid:
            return self._known[1]
        found = tuple(sorted(self._walk(tree), key=lambda one: (one.category, one.name)))
        if revision == "HEAD":
            self._known = top.oid, found
            self._write()
        return found

    def passing(self, skills: Iterable[Skill], rules: str, judge: Callable[[str, str], bool]) -> set[Oid]:
        """Return which SKILL.md pass a judge with these rules, who reads each version once on this machine."""
        passed = self._passed.get(rules, set())
        fresh = {
            one.oid
            for one in skills
            if one.oid and one.oid not in passed and judge((self.read(one) or b"").decode(), one.path)
        }
        if fresh:
            self._passed = {rules: passed | fresh}
            self._write()
        return passed | fresh

    def in_tree(self, tree: Tree) -> Sequence[Skill]:
        """The skills of any tree."""
        top = tree.entry(ROOT)
        if self._known is not None and top is not None and self._known[0] == top.oid:
            return self._known[1]
        return tuple(self._walk(tree))

    def external(self) -> Sequence[Skill]:
        """The skills of the directories that are only read; one that the bundle has too is the bundle's."""
        found: dict[str, Skill] = {}
        for top in external_directories(self._bundle):
            for category, directory in _skill_directories(top):
                data = _read_small(os.path.join(directory, SKILL_FILE))
                name = os.path.basename(directory)
                if data is not None and name not in found:
                    head = read_head(data.decode("utf-8", "replace"), name)
                    found[name] = Skill(name, category, head, directory, is_external=True)
        return tuple(found.values())

    def files(self, skill: Skill) -> Sequence[str]:
        """The supporting files of a skill, by their paths inside it."""
        if skill.is_external:
            return tuple(sorted(_support_files(skill.root)))[:MAX_FILES]
        prefix = skill.root + "/"
        inside = (path.removeprefix(prefix) for path, _ in self._bundle.tree().files(skill.root))
        return tuple(sorted(name for name in inside if name != SKILL_FILE))

    def read(self, skill: Skill, file: str = SKILL_FILE) -> bytes | None:
        """A file of a skill, in the form that agents have."""
        if skill.is_external:
            return _read_small(os.path.join(skill.root, *file.split("/")))
        data = self._bundle.read(f"{skill.root}/{file}")
        return None if data is None else original(data)

    def _walk(self, tree: Tree) -> Iterator[Skill]:
        """Directories that hold a SKILL.md; what lies below one belongs to it."""
        top = tree.entry(ROOT)
        for parts, oid in self._below(top.oid, 0) if top is not None and top.is_directory else ():
            *category, name = parts
            yield Skill(name, "/".join(category), self._head(oid, name), "/".join((ROOT, *parts)), oid=oid)

    def _below(self, oid: Oid, depth: int) -> tuple[tuple[tuple[str, ...], Oid], ...]:
        """The skills below a directory: the names on the way, and the SKILL.md. A directory that was seen is not read."""
        known = self._seen.get(oid)
        if known is not None:
            return known
        found: list[tuple[tuple[str, ...], Oid]] = []
        names = self._bundle.repository.store.tree(oid)
        skill = names.get(SKILL_FILE.encode())
        if skill is not None and not skill.is_directory and depth:
            found.append(((), skill.oid))
        elif depth < _DEPTH:
            for name, entry in names.items():
                if entry.is_directory:
                    part = path_text(name)
                    found += [((part, *rest), one) for rest, one in self._below(entry.oid, depth + 1)]
        if depth:  # the top is never a skill, whatever it holds, and so it is not remembered as one
            self._seen[oid] = tuple(found)
        return tuple(found)

    def _head(self, oid: Oid, name: str) -> SkillHead:
        known = self._heads.get(oid)
        if known is None:
            text = self._bundle.repository.store.blob(oid).decode("utf-8", "replace")
            known = self._heads[oid] = read_head(text, name)
        return known

    def _write(self) -> None:
        tree, skills = self._known or ("", ())
        rows = [
            [one.root, one.oid, head.name, head.description, head.version, *head.platforms]
            for one in skills
            if (head := one.head)
        ]
        passed = {rules: sorted(found & {one.oid for one in skills}) for rules, found in self._passed.items()}
        self._bundle.state.write_json(
            CACHE, {"form": _FORM, "tree": tree, "skills": rows, "passed": passed}, _SKILLS
        )

    def _remember(self, found: Mapping[str, object]) -> None:
        """Take over what an earlier process listed."""
        rows = found.get("skills")
        if found.get("form") != _FORM or not isinstance(rows, list):
            return
        skills: list[Skill] = []
        for row in rows:
            if not isinstance(row, list) or len(row) < 5 or not all(isinstance(one, str) for one in row):
                return
            root, oid, name, description, version, *platforms = row
            head = self._heads[oid] = SkillHead(name, description, version, tuple(platforms))
            *category, directory = root.split("/")[1:]
            skills.append(Skill(directory, "/".join(category), head, root, oid=oid))
        self._known = str(found.get("tree")), tuple(skills)
        passed = found.get("passed")
        self._passed = (
            {rules: set(oids) for rules, oids in passed.items()} if isinstance(passed, dict) else {}
        )


def external_directories(bundle: Bundle) -> list[str]:
    """The directories with skills that are only read, as the settings name them."""
    given = bundle.config.external_skills.split(os.pathsep)
    return [bundle.world.path(one.strip()) for one in given if one.strip()]


def _skill_directories(top: str) -> Iterator[tuple[str, str]]:
    for directory, below, names in os.walk(top):
        inside = os.path.relpath(directory, top)
        parts = [] if inside == os.curdir else inside.split(os.sep)
        below[:] = sorted(name for name in below if not name.startswith(".")) if len(parts) < _DEPTH else []
        if SKILL_FILE in names and parts:
            below[:] = []
            yield "/".join(parts[:-1]), directory


def _support_files(root: str) -> Iterator[str]:
    with os.scandir(root) as found:
        for entry in found:
            if (
                entry.is_file(follow_symlinks=False)
                and entry.name != SKILL_FILE
                and not entry.name.startswith(".")
            ):
                yield entry.name
    for folder in FOLDERS:
        for directory, below, names in os.walk(os.path.join(root, folder)):
            below[:] = sorted(name for name in below if not name.startswith("."))
            for name in names:
                full = os.path.join(directory, name)
                if os.path.isfile(full) and not os.path.islink(full) and not name.startswith("."):
                    yield os.path.relpath(full, root).replace(os.sep, "/")


def _read_small(path: str) -> bytes | None:
    try:
        with open(path, "rb") as file:
            data = file.read(MAX_FILE + 1)
    except OSError:
        return None
    return data if len(data) <= MAX_FILE else None
