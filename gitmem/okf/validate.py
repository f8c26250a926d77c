"""The limits of a bundle: OKF's three rules, names, modes and sizes, and files that other programs obey.

Of OKF no more than its rules: unknown keys, types and missing optional fields are all right. A file that a shell, an editor,
Python or another agent obeys may be kept by a person in a bundle of their own. One from a remote would be run or followed by
the next program that opens the directory. So outside of skills only plain names arrive, and at the root only markdown.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from fnmatch import fnmatchcase
from itertools import islice
from typing import NamedTuple

from gitmem.errors import BrokenConcept, InvalidContent
from gitmem.okf import frontmatter, layout, paths
from gitmem.okf.concept import MAX_CONCEPT_BYTES, type_of
from gitmem.okf.curated import MAX_STORE_BYTES, CuratedFile
from gitmem.okf.entries import CURATED_TYPES, DELIMITER
from gitmem.okf.layout import INDEX, LOG
from gitmem.okf.plain import shortened


class Violation(NamedTuple):
    """One broken rule: 1 front matter that can be read, 2 a type, 3 the form of the reserved files."""

    path: str
    rule: int
    reason: str


# A file that is wrong on every line is described by its first few lines.
MAX_REASONS = 10

_BULLET = re.compile(r"[*+-] +(\S.*)")
_FENCE = re.compile(r" {0,3}(```|~~~)")


def check_file(path: str, data: bytes) -> list[Violation]:
    """The rules of OKF v0.2 that the file breaks; none for a file that is not markdown. Never an error."""
    if not path.endswith(".md"):
        return []
    name = path.rpartition("/")[2]
    reserved = name in (INDEX, LOG)
    try:
        text = data.decode()
    except UnicodeDecodeError as error:
        return [Violation(path, 3 if reserved else 1, f"It is not UTF-8 (byte {error.start}).")]
    if not reserved:
        return _concept(path, text)
    reasons = _index(text, at_root=path == INDEX) if name == INDEX else _log(text)
    return [Violation(path, 3, reason) for reason in islice(reasons, MAX_REASONS)]


def _concept(path: str, text: str) -> list[Violation]:
    try:
        found = frontmatter.read(text)
    except InvalidContent as error:
        return [Violation(path, 1, str(error))]
    if found is None:
        return [Violation(path, 1, "It does not begin with front matter.")]
    return [] if type_of(found[0]) else [Violation(path, 2, "The front matter has no type, or an empty one.")]


def _index(text: str, *, at_root: bool) -> Iterator[str]:
    parts = _parts(text)
    if parts is not None and not at_root:
        yield "An index.md below the root has no front matter."
    elif parts is not None:
        yield from _root_matter(parts.yaml)
    for number, line in _lines(parts.body if parts else text):
        bullet = _BULLET.match(line)
        if bullet and not _has_link(bullet.group(1)):
            yield f"Line {number} of its body is a bullet without a link."


def _has_link(text: str) -> bool:
    # By searching, not by one pattern: brackets without end make every pattern for links quadratic.
    opening = text.find("[")
    middle = text.find("](", opening + 1) if opening >= 0 else -1
    return middle >= 0 and text.find(")", middle) >= 0


def _root_matter(yaml_text: str) -> list[str]:
    try:
        meta = frontmatter.load(yaml_text, first_line=2)
    except InvalidContent as error:
        return [str(error)]
    others = sorted(meta.keys() - {"okf_version"})
    return [f"The root index.md carries {others[0][:60]!r} beside okf_version."] if others else []


def _log(text: str) -> Iterator[str]:
    parts = _parts(text)
    newest = ""
    for number, line in _lines(parts.body if parts else text):
        if not line.startswith("## "):
            continue
        heading = line[3:].strip()
        if layout.day(heading) != heading or heading == layout.UNDATED:
            yield f"Line {number} of its body: the heading {heading[:60]!r} is not a date YYYY-MM-DD."
        elif newest and heading > newest:
            yield f"Line {number} of its body: {heading} stands below an older date."
        else:
            newest = heading


def _parts(text: str) -> frontmatter.Split | None:
    try:
        return frontmatter.split(text)
    except BrokenConcept:
        return None  # a rule of three dashes, not front matter


def _lines(body: str) -> Iterator[tuple[int, str]]:
    """The lines that are not blank with their numbers, without what is in code fences."""
    fence = ""
    for number, line in enumerate(body.removeprefix("\ufeff").split("\n"), start=1):
        if not line:
            continue
        mark = _FENCE.match(line)
        if mark and not fence:
            fence = mark.group(1)
        elif mark and mark.group(1) == fence:
            fence = ""
        elif not fence:
            yield number, line.rstrip("\r")


_REGULAR = (0o100644, 0o100755)
_OTHER_MODES = {0o120000: "a symbolic link", 0o160000: "a submodule"}


def reasons(path: str, mode: int, data: bytes, *, limit: int) -> list[str]:
    """Sentences that say why a file cannot be part of a bundle; none for one that can.

    `limit` is the largest size in bytes.
    """
    found = list(_outside(path, mode))
    if mode not in _REGULAR:
        return found
    if len(data) > limit:
        return [*found, f"It is too large ({len(data) >> 20} MB; at most {limit >> 20} MB)."]
    if reason := too_large(path, data):
        return [*found, reason]
    found += [f"{violation.reason} (OKF rule {violation.rule})" for violation in check_file(path, data)]
    if not found and layout.default_type(path) in CURATED_TYPES:
        try:
            CuratedFile.parse(data, path)
        except InvalidContent as error:
            found.append(str(error))
    return found


def largest(path: str) -> int:
    """Bytes of a file of entries that can be read back."""
    return MAX_STORE_BYTES if layout.default_type(path) == layout.CURATED_MEMORY else MAX_CONCEPT_BYTES


def too_large(path: str, data: bytes) -> str:
    """Why a § file is larger than one can be read back, with its largest entry; empty for any other file."""
    limit = largest(path)
    if layout.default_type(path) not in CURATED_TYPES or len(data) <= limit:
        return ""
    text = data.decode("utf-8", "replace")
    body = text.partition("\n---\n")[2] if text.startswith("---\n") else text
    longest = max(body.split(DELIMITER), key=len)
    said = shortened(longest[:1_000], 60)
    return (
        f"It has {len(data) >> 10:,} KB, and at most {limit >> 10:,} can be read back. "
        f"Its largest entry has {len(longest):,} characters: {said!r}."
    )


def _outside(path: str, mode: int) -> Iterator[str]:
    """Yield the problems that do not depend on the content."""
    try:
        paths.check_path(path)
    except InvalidContent as error:
        yield str(error)
    if mode not in _REGULAR:
        yield f"It is {_OTHER_MODES.get(mode, f'of mode {mode:o}')}, and a bundle holds regular files only."


def collisions(names: Iterable[str]) -> list[tuple[str, str]]:
    """Pairs of paths that are one path where the file system ignores case or Unicode form.

    Directories count too: `Notes/a.md` and `notes/b.md` end up in one directory there.
    """
    spelled: dict[str, str] = {}
    found: list[tuple[str, str]] = []
    for path in names:
        parts = path.split("/")
        for depth in range(1, len(parts) + 1):
            part = "/".join(parts[:depth])
            first = spelled.setdefault(paths.fold(part), part)
            if first != part:
                found.append((first, path))
                break
    return found


IGNORE = ".gitignore"
_IGNORE_BYTES = 64 * 1024

_FOR_AGENTS = frozenset(
    ("agent.md", "agents.md", "agents.override.md", "claude.md", "claude.local.md", "gemini.md", "qwen.md",
     "copilot-instructions.md", "soul.md", "hermes.md")
)  # fmt: skip
_CODE = (".py", ".pyc", ".pyd", ".pyi", ".pyw", ".pyz", ".pth", ".so", ".dll", ".sh", ".bat", ".cmd", ".ps1")
_AT_ROOT = frozenset(("license", "copying", "notice"))
_HIDDEN_IN_SKILLS = frozenset(
    (".env", ".envrc", ".claude", ".cursor", ".cursorrules", ".vscode", ".mcp.json")
)
_OURS = (
    "index.md", "log.md", "config/agent.md", "config/scanner.md", "memories/MEMORY.md", "memories/USER.md",
    "memories/machines/laptop/MEMORY.md", "memories/users/0a1b/USER.md", "memories/archive/memory.md",
    "decisions/tabs_2026-06-30.md",
    "plans/move_2026-06-30.md", "sessions/2026-06/30/s-1.md", "sessions/2026-06/30/s-1/0001.md", "tools/web.md",
    "skills/deploy/SKILL.md", "skills/deploy/scripts/run.py", "snapshots/good.md",
    "retractions/01/0123456789abcdef0123456789abcdef.md", "hermes/observations/user_profile_2026-06-30.md",
)  # fmt: skip


def who_obeys(path: str) -> str:
    """Why a file of this name must not come from a remote; empty where it may."""
    parts = path.casefold().split("/")
    name, in_skills = parts[-1], parts[0] == "skills" and len(parts) > 1
    if path == IGNORE:
        return ""
    hidden = [part for part in parts if part.startswith(".")]
    if hidden and (not in_skills or not _HIDDEN_IN_SKILLS.isdisjoint(hidden)):
        return "programs obey hidden files of that kind"
    if in_skills:
        return ""
    # tools/claude.md is a note about a tool, and config/soul.md a record of what was imported.
    if name in _FOR_AGENTS and not layout.default_type(path) and path != layout.CONFIG_SOUL:
        return "agents take a file of that name for orders"
    if name.endswith(_CODE):
        return "it is code, which belongs into skills"
    if len(parts) == 1 and not name.endswith(".md") and name not in _AT_ROOT:
        return "programs look for files at the root of a directory"
    return ""


def hides(ignore: bytes) -> str:
    """A pattern of a `.gitignore` that hides files of a memory from git; empty where none does."""
    if len(ignore) > _IGNORE_BYTES:
        return "more than 64 KB of patterns"
    return next((line for line in _patterns(ignore) if any(_matches(line, path) for path in _OURS)), "")


def _patterns(ignore: bytes) -> Iterator[str]:
    for line in ignore.decode("utf-8", "replace").splitlines():
        pattern = line.strip()
        if pattern and not pattern.startswith(("#", "!")):
            yield pattern


def _matches(pattern: str, path: str) -> bool:
    """Return whether git would ignore the path for this pattern; in doubt it would."""
    bare = pattern.removeprefix("\\").strip("/")
    parts = path.casefold().split("/")
    bare = bare.casefold()
    if "/" not in bare and not pattern.startswith("/"):
        return any(fnmatchcase(part, bare) for part in parts)
    bare = bare.removeprefix("**/").removesuffix("/**")
    leading = ("/".join(parts[:depth]) for depth in range(1, len(parts) + 1))
    return any(fnmatchcase(one, bare) for one in leading)
