"""Generated pages: index.md and log.md, each a pure function of what it lists.

An index is made of names alone, so a merge makes it again without reading a file. A log carries with each
line when it happened and an id, so that two logs can be joined into one and come out the same on every
machine.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import lru_cache
from operator import attrgetter
from typing import NamedTuple
from urllib.parse import quote

from gitmem.okf import timestamps
from gitmem.okf.layout import OKF_VERSION, day, is_generated

MAX_INDEX_LINES = 200
MAX_LOG_LINES = 50
MAX_LOG_TEXT = 120
MAX_LOG_CATEGORY = 40

_DATED = re.compile(r"(.*?)[_-]?(\d{4}-\d{2}-\d{2})(?:-[0-9a-f]{8,64})?", re.DOTALL)
_HASHED = re.compile(r"(.*)~h[0-9a-f]{12}", re.DOTALL)
# ASCII punctuation that means something in markdown; `\` before it makes it plain.
_MARKUP = re.compile(r"[\\`*_\[\]<>&|~!#]|---")

# What a file of a directory is called in its index.
_NOUNS = {
    "decisions": "decision",
    "plans": "plan",
    "plans/archive": "finished plan",
    "tools": "tool",
    "snapshots": "snapshot",
    "retractions": "retraction",
    "memories": "curated memory",
    "memories/archive": "archived memory",
    "hermes/observations": "observation",
    "config": "configuration",
}


def index_page(directory: str, names: Iterable[str], subdirectories: Iterable[str]) -> bytes:
    """The index.md of a directory ("" is the root) from the names in it; the root's has front matter."""
    noun = _NOUNS.get(directory, "session" if directory.startswith("sessions") else "concept")
    files = _newest_first(name for name in set(names) if name.endswith(".md") and not is_generated(name))
    folders = _newest_first(set(subdirectories))
    total = len(files) + len(folders)
    folders = folders[:MAX_INDEX_LINES]
    files = files[: MAX_INDEX_LINES - len(folders)]
    lines = [f"* [{item.title}]({_link(item.name)}/) - directory" for item in folders]
    split = len(lines)
    lines += [
        f"* [{item.title}]({_link(item.name)}) - {f'{noun} of {item.date}' if item.date else noun}"
        for item in files
    ]
    parts = [f'---\nokf_version: "{OKF_VERSION}"\n---\n' if not directory else ""]
    parts.append(f"# {_heading(directory)}\n")
    if lines[:split]:
        parts.append("\n## Directories\n\n" + "".join(f"{line}\n" for line in lines[:split]))
    if lines[split:]:
        parts.append("\n## Concepts\n\n" + "".join(f"{line}\n" for line in lines[split:]))
    if total > len(lines):
        parts.append(f"\nAnd {total - len(lines)} more.\n")
    return "".join(parts).encode("utf-8", "replace")


def _heading(directory: str) -> str:
    if directory.startswith("sessions/"):
        return "-".join(directory.split("/")[1:])
    return _title(directory.rpartition("/")[2]) if directory else "Index"


class _Item(NamedTuple):
    name: str
    title: str
    date: str


def _newest_first(names: Iterable[str]) -> list[_Item]:
    """Return the items of the names, newest date first and then by name; undated items are last."""
    items = [_listed(name) for name in sorted(names)]
    items.sort(key=_date_of, reverse=True)  # stable: the names of one day stay in their order
    return items


_date_of = attrgetter("date")


# Buys "after 10,000 flushes against at the start": a directory that grows is listed again and again.
@lru_cache(maxsize=1 << 16)
def _listed(name: str) -> _Item:
    stem = name.removesuffix(".md")
    dated = _DATED.fullmatch(stem)
    period = re.fullmatch(r"\d{4}(?:-\d{2})?|\d{2}", name, re.ASCII)  # a year, a month, or a day of one
    if dated and day(dated.group(2)) == dated.group(2):
        return _Item(name, _title(dated.group(1)) or dated.group(2), dated.group(2))
    return _Item(name, stem, stem) if period else _Item(name, _title(stem) or "Untitled", "")


def _title(stem: str) -> str:
    """A title made of a file name: its words, the first with a capital."""
    hashed = _HASHED.fullmatch(stem)
    words = (hashed.group(1) if hashed else stem).replace("_", " ").replace("-", " ").split()
    return _escaped(_one_line(" ".join([words[0][:1].upper() + words[0][1:], *words[1:]]))) if words else ""


def _link(name: str) -> str:
    return quote(name, errors="replace")


# --- log ------------------------------------------------------------------------------------------


class LogLine(NamedTuple):
    """One line of a log: when (a timestamp, or only a day), under which word, what, and its id."""

    at: str
    category: str
    text: str
    id: str = ""


_HEADING = re.compile(r"## (\d{4}-\d{2}-\d{2})\s*", re.ASCII)
_COMMENT = re.compile(r" ?<!-- (\S+)(?: (\S+))? -->")
_BULLET = re.compile(r"[*-] (?:\*\*((?:\\.|[^*\\])*)\*\*: ?)?(.*)", re.DOTALL)
_ESCAPE = re.compile(r"\\([!-/:-@\[-`{-~])|&sect;")
_NOT_IN_ID = re.compile(r"[^A-Za-z0-9._:@/+~-]")
_BLANK = re.compile(r"[\s\x00-\x1f\x7f-\x9f]+")
_NO_DAY = "1970-01-01"


def log_page(lines: Iterable[LogLine]) -> bytes:
    """The log.md of these lines: the newest 50, newest first, under a heading for each day."""
    parts = ["# Log\n"]
    current = ""
    for line in merge_log(lines):
        if line.at[:10] != current:
            current = line.at[:10]
            parts.append(f"\n## {current}\n\n")
        mark = f"{line.at} {line.id}".rstrip()
        parts.append(f"* **{_escaped(line.category)}**: {_escaped(line.text)} <!-- {mark} -->\n")
    return "".join(parts).encode()


def parse_log(data: bytes) -> list[LogLine]:
    """The lines of a log.md, as they stand; ones without the comment get the day of their heading."""
    found: list[LogLine] = []
    current = ""
    for raw in data.decode("utf-8", "replace").split("\n"):
        line = raw.rstrip()
        heading = _HEADING.fullmatch(line)
        if heading:
            current = heading.group(1)
            continue
        bullet = _BULLET.fullmatch(line)
        if bullet is None:
            continue
        category, text = bullet.group(1) or "", bullet.group(2)
        at, name = current, ""
        # The text cannot hold `>` unescaped, so the last comment is ours, if its time is one.
        start = text.rfind("<!--")
        comment = _COMMENT.fullmatch(text, max(0, start - 1)) if start >= 0 else None
        if comment and _when(comment.group(1)):
            at, name = comment.group(1), comment.group(2) or ""
            category, text = _unescaped(category), _unescaped(text[: comment.start()])
        found.append(_clean(LogLine(at, category, text, name)))
    return found


def merge_log(*lists: Iterable[LogLine]) -> list[LogLine]:
    """The newest 50 lines of all lists, each once, newest first; the order of the lists does not matter."""
    found: dict[object, LogLine] = {}
    for lines in lists:
        for line in map(_clean, lines):
            key = line.id or line[:3]
            # Of two lines with one id the greater stays: with the smaller, a cut in between would change the
            # outcome.
            found[key] = max(line, found.get(key, line), key=_order)
    return sorted(found.values(), key=_order, reverse=True)[:MAX_LOG_LINES]


def _order(line: LogLine) -> tuple[str, str, str, str]:
    return line.at, line.id, line.category, line.text


@lru_cache(maxsize=256)
def _clean(line: LogLine) -> LogLine:
    """The line in the one form that a page gives back. Of fifty lines each flush adds one or two."""
    return LogLine(
        _when(line.at) or _NO_DAY,
        _cut(_one_line(line.category), MAX_LOG_CATEGORY) or "Note",
        _cut(_one_line(line.text), MAX_LOG_TEXT),
        _NOT_IN_ID.sub("_", line.id)[:200],
    )


def _when(at: str) -> str:
    """A timestamp in its canonical form, or a day; empty for anything else."""
    return timestamps.canonical(at) or (at if day(at) == at else "")


def _one_line(text: str) -> str:
    return _BLANK.sub(" ", text.encode("utf-8", "replace").decode()).strip()


def _cut(text: str, limit: int) -> str:
    return text if len(text) <= limit else f"{text[: limit - 1].rstrip()}…"


def _escaped(text: str) -> str:
    marked = _MARKUP.sub(lambda found: "".join(f"\\{mark}" for mark in found.group()), text)
    # A backslash makes only ASCII plain; & itself is escaped above, so the name cannot be mistaken.
    return marked.replace("§", "&sect;")


def _unescaped(text: str) -> str:
    return _ESCAPE.sub(lambda found: found.group(1) or "§", text)
