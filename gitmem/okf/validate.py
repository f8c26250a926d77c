"""OKF's three rules, and nothing more: unknown keys, types and missing optional fields are all right."""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import date
from itertools import islice
from typing import NamedTuple

from gitmem.errors import BrokenConcept, InvalidContent
from gitmem.okf import frontmatter
from gitmem.okf.concept import type_of
from gitmem.okf.layout import INDEX, LOG


class Violation(NamedTuple):
    """One broken rule: 1 front matter that can be read, 2 a type, 3 the form of the reserved files."""

    path: str
    rule: int
    reason: str


# A file that is wrong on every line is told by its first few lines.
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
    newest = None
    for number, line in _lines(parts.body if parts else text):
        if not line.startswith("## "):
            continue
        heading = line[3:].strip()
        day = _day(heading)
        if day is None:
            yield f"Line {number} of its body: the heading {heading[:60]!r} is not a date YYYY-MM-DD."
        elif newest is not None and day > newest:
            yield f"Line {number} of its body: {heading} stands below an older date."
        else:
            newest = day


def _parts(text: str) -> frontmatter.Split | None:
    try:
        return frontmatter.split(text)
    except BrokenConcept:
        return None  # a rule of three dashes, not front matter


def _day(text: str) -> date | None:
    if not re.fullmatch(r"\d{4}-\d{2}-\d{2}", text, re.ASCII):
        return None
    try:
        return date.fromisoformat(text)
    except ValueError:
        return None


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
