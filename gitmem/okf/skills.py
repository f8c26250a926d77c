"""Skills as files: where one is, what its limits are, and the two forms of a file.

A skill is `skills/<category>/<name>/SKILL.md`, files beside it, and what is in its folders. Agents write SKILL.md without a
`type`, which OKF asks for: `stored` is the form in the bundle, `original` the form that agents and hosts have.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from gitmem.errors import InvalidContent, TooLarge, UnsafePath
from gitmem.okf import frontmatter, paths, validate

ROOT = "skills"
SKILL_FILE = "SKILL.md"
FOLDERS = ("references", "templates", "scripts", "assets")
PLATFORMS = ("linux", "macos", "windows")

# The limits of Hermes and of agentskills.io: what is stored here can be used there.
MAX_NAME = 64
MAX_DESCRIPTION = 1024
MAX_TEXT = 100_000
"""Characters of a SKILL.md."""
MAX_FILE = 1 << 20
MAX_FILES = 50

_NAME = re.compile(r"[a-z0-9][a-z0-9._-]*")
_MARK = "  # by gitmem\n"
_FENCE = b"---\n"
_MARKS = re.compile(rb"\A---\n(?:(?:unconfirmed|source): [^\n]*" + re.escape(_MARK.encode()) + rb")+")
_BARE = f"---\ntype: SkillFile{_MARK}---\n"
_SKILL = f"type: Skill{_MARK}"
_FILE = f"type: SkillFile{_MARK}"


# --- names and places ------------------------------------------------------------------------------------


def check_name(name: str) -> str:
    """The name, where a skill may be called that; raises where it may not."""
    if "/" in name or "\\" in name or ".." in name:
        raise UnsafePath(
            f"The name {name[:80]!a} leads to another directory.",
            hint="A skill's name is one word such as deploy-web; give its category by itself.",
        )
    if not _NAME.fullmatch(name) or len(name) > MAX_NAME:
        raise InvalidContent(
            f"{name[:80]!a} is not a skill's name: it is made of lower-case letters, digits, dots, hyphens and "
            f"underscores, begins with a letter or digit, and has at most {MAX_NAME} characters."
        )
    paths.check_path(f"{ROOT}/{name}/{SKILL_FILE}")
    return name


def check_category(category: str) -> str:
    """The category, where one may be called that: a name, or several with slashes between them; or none."""
    for part in category.split("/") if category else ():
        check_name(part)
        if part in FOLDERS:
            raise InvalidContent(f"A category cannot be called {part}: that is a folder inside a skill.")
    return category


def check_file_path(file: str) -> str:
    """Return the path of a supporting file inside a skill; raises where it cannot be one."""
    if file in (*FOLDERS, SKILL_FILE, "") or file.endswith("/"):
        raise InvalidContent(
            f"{file[:80]!a} is not the name of a supporting file.",
            hint=f"Supporting files are beside {SKILL_FILE} or in a folder, such as {FOLDERS[0]}/.",
        )
    paths.check_path(f"{ROOT}/x/{file}")
    if any(part.startswith(".") for part in file.split("/")):
        raise InvalidContent(f"{file[:80]!a} is a hidden file, which a skill has none of.")
    return file


def directory(name: str, category: str = "") -> str:
    """Return the directory of a skill in a bundle."""
    return "/".join(part for part in (ROOT, check_category(category), check_name(name)) if part)


def by_skill(names: Iterable[str], known: Iterable[str] = ()) -> dict[str, list[str]]:
    """Files by the directory of their skill: the first with a SKILL.md among them and the `known`, else a guess."""
    names = list(names)
    end = f"/{SKILL_FILE}"
    roots = {name.removesuffix(end) for name in (*names, *known) if name.endswith(end)}
    found: dict[str, list[str]] = {}
    for name in names:
        parts = name.split("/")[:-1]
        guess = next((place for place, part in enumerate(parts) if part in FOLDERS and place), len(parts))
        above = ("/".join(parts[:depth]) for depth in range(1, len(parts) + 1))
        root = next((one for one in above if one in roots), "/".join(parts[:guess]))
        found.setdefault(root or name, []).append(name)
    return found


# --- what SKILL.md says ----------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class SkillHead:
    """The front matter of a SKILL.md."""

    name: str
    description: str
    version: str = ""
    platforms: tuple[str, ...] = ()

    def runs_on(self, platform: str) -> bool:
        """Return whether the skill is meant for a platform; one that names none is for all."""
        return not self.platforms or not platform or platform in self.platforms


def read_head(text: str, fallback: str = "") -> SkillHead:
    """Return the front matter of a SKILL.md as far as it is readable; never raises."""
    try:
        found = frontmatter.read(text)
    except InvalidContent:
        found = None
    meta = found[0] if found else {}
    name = meta.get("name")
    return SkillHead(
        name if isinstance(name, str) and name.strip() else fallback,
        _line(meta.get("description")),
        _line(meta.get("version")),
        _platforms(meta.get("platforms")),
    )


def check_text(name: str, text: str) -> SkillHead:
    """The front matter of a SKILL.md that keeps all limits; raises with what is wrong with it."""
    if len(text) > MAX_TEXT:
        raise TooLarge(
            f"{SKILL_FILE} has {len(text):,} characters: at most {MAX_TEXT:,}.",
            hint="Move details into files below references/.",
        )
    found = frontmatter.read(text)
    if found is None:
        raise InvalidContent(
            f"{SKILL_FILE} does not begin with front matter.",
            hint="Begin it with `---`, a line `name:`, a line `description:` and `---`.",
        )
    meta, parts = found
    if meta.get("name") != name:
        raise InvalidContent(f"The front matter has the name {meta.get('name')!a}, and the skill is {name}.")
    described = meta.get("description")
    if not isinstance(described, str) or not described.strip():
        raise InvalidContent(
            "The front matter has no description: say in one sentence when to use the skill."
        )
    if len(described) > MAX_DESCRIPTION:
        raise TooLarge(f"The description has {len(described):,} characters: at most {MAX_DESCRIPTION:,}.")
    kind = meta.get("type")
    if kind is not None and kind != "Skill":
        raise InvalidContent(f"The front matter has the type {kind!a}: a skill is of the type Skill.")
    platforms = meta.get("platforms")
    listed = [platforms] if isinstance(platforms, str) else platforms
    if listed is not None and (
        not isinstance(listed, list) or any(_platform(one) not in PLATFORMS for one in listed)
    ):
        raise InvalidContent(f"platforms is a list of {', '.join(PLATFORMS)}.")
    if not parts.body.strip():
        raise InvalidContent(f"{SKILL_FILE} says nothing below its front matter.")
    return read_head(text, name)


def _line(value: object) -> str:
    return " ".join(str(value).split()) if isinstance(value, str | int | float) else ""


def _platforms(value: object) -> tuple[str, ...]:
    listed = [value] if isinstance(value, str) else value
    return tuple(_platform(one) for one in listed) if isinstance(listed, list) else ()


def _platform(value: object) -> str:
    name = str(value).strip().lower()
    return {"darwin": "macos", "osx": "macos", "win32": "windows"}.get(name, name)


# --- the two forms of a file -----------------------------------------------------------------------------


def marked(data: bytes, marks: Mapping[str, str]) -> bytes:
    """A stored skill with what is said of it; `original` takes it out again."""
    if not marks or not data.startswith(_FENCE):
        return data
    lines = "".join(f"{name}: {json.dumps(value)}{_MARK}" for name, value in marks.items())
    return _FENCE + lines.encode() + data[len(_FENCE) :]


def stored(name: str, data: bytes) -> bytes:
    """The file as a bundle can hold it: markdown gets the `type` that OKF asks for."""
    if not name.endswith(".md") or not validate.check_file(name, data):
        return data
    try:
        text = data.decode()
    except UnicodeDecodeError as error:
        raise InvalidContent(f"{name} is not UTF-8.") from error
    line = _SKILL if name.rpartition("/")[2] == SKILL_FILE else _FILE
    # What begins as front matter may only look like it.
    made = [f"---\n{line}{text[4:]}"] if text.startswith("---\n") else []
    for one in (*made, _BARE + text):
        if not (broken := validate.check_file(name, one.encode())):
            return one.encode()
    raise InvalidContent(f"{name} cannot be stored: {broken[0].reason}")


def original(data: bytes) -> bytes:
    """The file as the host had it."""
    data = _MARKS.sub(_FENCE, data, count=1)
    if data.startswith(_BARE.encode()):
        return data[len(_BARE.encode()) :]
    for line in (_SKILL, _FILE):
        head = f"---\n{line}".encode()
        if data.startswith(head):
            return b"---\n" + data[len(head) :]
    return data
