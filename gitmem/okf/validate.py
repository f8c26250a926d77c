"""OKF's three rules, and nothing more: unknown keys, types and missing optional fields are all right."""

from __future__ import annotations

import re
from datetime import date
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


_BULLET = re.compile(r"[*+-] +(\S.*)")
_LINK = re.compile(r"\[(?:\\.|[^\]\\])*\]\((?:<[^>]*>|[^)]*)\)")
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
    if name == INDEX:
        reasons = _index(text, at_root=path == INDEX)
    elif name == LOG:
        reasons = _log(text)
    else:
        return _concept(path, text)
    return [Violation(path, 3, reason) for reason in reasons]


def _concept(path: str, text: str) -> list[Violation]:
    try:
        parts = frontmatter.split(text)
        if parts is None:
            return [Violation(path, 1, "It does not begin with front matter.")]
        meta = frontmatter.load(parts.yaml, first_line=2)
    except InvalidContent as error:
        return [Violation(path, 1, str(error))]
    return [] if type_of(meta) else [Violation(path, 2, "The front matter has no type, or an empty one.")]


def _index(text: str, *, at_root: bool) -> list[str]:
    try:
        parts = frontmatter.split(text)
    except BrokenConcept:
        parts = None  # a rule of three dashes, not front matter
    reasons = []
    body = text
    if parts is not None:
        body = parts.body
        if not at_root:
            reasons.append("An index.md below the root has no front matter.")
        else:
            reasons += _root_matter(parts.yaml)
    for number, line in _lines(body):
        bullet = _BULLET.match(line)
        if bullet and not _LINK.search(bullet.group(1)):
            reasons.append(f"Line {number} of its body is a bullet without a link.")
    return reasons


def _root_matter(yaml_text: str) -> list[str]:
    try:
        meta = frontmatter.load(yaml_text, first_line=2)
    except InvalidContent as error:
        return [str(error)]
    others = sorted(meta.keys() - {"okf_version"})
    return [f"The root index.md carries {others[0][:60]!r} beside okf_version."] if others else []


def _log(text: str) -> list[str]:
    try:
        parts = frontmatter.split(text)
    except BrokenConcept:
        parts = None
    reasons = []
    newest = None
    for number, line in _lines(parts.body if parts else text):
        if not line.startswith("## "):
            continue
        heading = line[3:].strip()
        day = _day(heading)
        if day is None:
            reasons.append(
                f"Line {number} of its body: the heading {heading[:60]!r} is not a date YYYY-MM-DD."
            )
        elif newest is not None and day > newest:
            reasons.append(f"Line {number} of its body: {heading} stands below an older date.")
        else:
            newest = day
    return reasons


def _day(text: str) -> date | None:
    if not re.fullmatch(r"\d{4}-\d{2}-\d{2}", text, re.ASCII):
        return None
    try:
        return date.fromisoformat(text)
    except ValueError:
        return None


def _lines(body: str) -> list[tuple[int, str]]:
    """The lines with their numbers, without what stands in code fences."""
    found = []
    fence = ""
    for number, line in enumerate(body.removeprefix("\ufeff").split("\n"), start=1):
        mark = _FENCE.match(line)
        if mark and not fence:
            fence = mark.group(1)
        elif mark and mark.group(1) == fence:
            fence = ""
        elif not fence:
            found.append((number, line.rstrip("\r")))
    return found
