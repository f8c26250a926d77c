"""Where things are in a bundle, and which OKF type stands there."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable, Iterable
from datetime import date as calendar_date
from typing import Protocol

from gitmem.okf import timestamps
from gitmem.okf.paths import safe_name, slug

FORMAT = 1
OKF_VERSION = "0.2"

INDEX = "index.md"
LOG = "log.md"
MEMORY = "memories/MEMORY.md"
USER = "memories/USER.md"
CONFIG_AGENT = "config/agent.md"
CONFIG_SCANNER = "config/scanner.md"
CONFIG_ERASED = "config/erased.md"
CONFIG_SOUL = "config/soul.md"
"""What another program took for its character, as a record: no agent looks there."""

UNDATED = "undated"

_RECORD = ("sessions/", "hermes/", "snapshots/", "tools/", "retractions/")

# The OKF types that gitmem writes.
CURATED_MEMORY = "CuratedMemory"
ARCHIVED_MEMORY = "ArchivedMemory"
USER_PROFILE = "UserProfile"
DECISION = "Decision"
TOOL = "Tool"
SESSION = "Session"
SESSION_EVENTS = "SessionEvents"
PLAN = "Plan"
SKILL = "Skill"
SNAPSHOT = "Snapshot"
RETRACTION = "Retraction"
AGENT_CONFIG = "AgentConfig"
SCANNER_RULES = "ScannerRules"
ERASURE_RECEIPTS = "ErasureReceipts"
QUARANTINED = "Quarantined"
NOTE = "Note"
TYPES = (
    CURATED_MEMORY,
    ARCHIVED_MEMORY,
    USER_PROFILE,
    DECISION,
    TOOL,
    SESSION,
    SESSION_EVENTS,
    PLAN,
    SKILL,
    SNAPSHOT,
    RETRACTION,
    AGENT_CONFIG,
    SCANNER_RULES,
    ERASURE_RECEIPTS,
    QUARANTINED,
    NOTE,
)

_TYPES: tuple[tuple[re.Pattern[str], str], ...] = tuple(
    (re.compile(pattern), name)
    for pattern, name in (
        (r"memories/(MEMORY|USER)\.md", CURATED_MEMORY),
        (r"memories/machines/[^/]+/MEMORY\.md", CURATED_MEMORY),
        (r"memories/archive/[^/]+\.md", ARCHIVED_MEMORY),
        (r"hermes/observations/user_profile_[^/]+\.md", USER_PROFILE),
        (r"decisions/[^/]+\.md", DECISION),
        (r"tools/[^/]+\.md", TOOL),
        (r"sessions/[^/]+/[^/]+\.md", SESSION),
        (r"sessions/[^/]+/[^/]+/[^/]+\.md", SESSION_EVENTS),
        (r"plans/(archive/)?[^/]+\.md", PLAN),
        (r"skills/(.+/)?SKILL\.md", SKILL),
        (r"snapshots/[^/]+\.md", SNAPSHOT),
        (r"retractions/[^/]+\.md", RETRACTION),
        (r"config/agent\.md", AGENT_CONFIG),
        (r"config/scanner\.md", SCANNER_RULES),
        (r"config/erased\.md", ERASURE_RECEIPTS),
    )
)


def machine_memory(machine: str) -> str:
    """The § file of what is true on one machine only."""
    return f"memories/machines/{safe_name(machine)}/MEMORY.md"


def archive(target: str) -> str:
    """The § file of entries that left a full store; `target` is "memory" or "user"."""
    return f"memories/archive/{safe_name(target)}.md"


def session(session_id: str, started_at: str) -> str:
    """The concept of one session, under the month it began in."""
    return f"sessions/{_month(started_at)}/{safe_name(session_id)}.md"


class Holder(Protocol):
    """What says whether it holds a path."""

    def __contains__(self, path: str, /) -> bool: ...


class SessionFiles(Holder, Protocol):
    """Enough of a tree to look for a session in it."""

    def directories(self, directory: str) -> list[str]: ...


def find_session(files: SessionFiles, session_id: str) -> str | None:
    """The path of a session's concept, in whichever month it began."""
    return session_path(files, files.directories("sessions"), session_id)


def session_path(files: Holder, months: Iterable[str], session_id: str) -> str | None:
    """The path of a session's concept in one of these months, the last one first."""
    name = safe_name(session_id)
    for month in sorted(months, reverse=True):
        path = f"sessions/{month}/{name}.md"
        if path in files:
            return path
    return None


def decision(
    text: str, date: str, taken: Callable[[str], bool] = lambda _: False, discriminator: str = ""
) -> str:
    """The concept of one decision; see `_dated` for a path that is taken."""
    return _dated("decisions", text, date, taken, discriminator)


def plan(
    title: str, date: str, taken: Callable[[str], bool] = lambda _: False, discriminator: str = ""
) -> str:
    """The concept of one plan; see `_dated` for a path that is taken."""
    return _dated("plans", title, date, taken, discriminator)


def plan_archive(path: str) -> str:
    """Where a finished plan goes."""
    return f"plans/archive/{path.rpartition('/')[2]}"


def tool(name: str) -> str:
    """The concept of one tool."""
    return f"tools/{safe_name(name)}.md"


def user_profile(date: str) -> str:
    """The § file of what was observed about the user on one day."""
    return f"hermes/observations/user_profile_{day(date)}.md"


def snapshot(name: str) -> str:
    """The note of a named snapshot."""
    return f"snapshots/{safe_name(name)}.md"


def retraction(hash: str) -> str:  # noqa: A002 - the design's word for the entry's identity
    """The concept that says an entry must not come back."""
    return f"retractions/{safe_name(hash)}.md"


def is_generated(path: str) -> bool:
    """Whether gitmem makes the file from the others: index.md and log.md at any level."""
    return path.rpartition("/")[2] in (INDEX, LOG)


def is_session(path: str) -> bool:
    """Whether the path belongs to the record of conversations."""
    return path.startswith("sessions/")


def is_record(path: str) -> bool:
    """Whether the path is of the record, and not of what is known: conversations, pages by day, bookkeeping."""
    return path.startswith(_RECORD) or is_generated(path)


def default_type(path: str) -> str:
    """The OKF type that belongs to a path; empty for a path that the layout does not name."""
    if is_generated(path):
        return ""
    return next((name for pattern, name in _TYPES if pattern.fullmatch(path)), "")


def day(date: str) -> str:
    """The UTC day `YYYY-MM-DD` of a date or timestamp; "undated" when it is neither."""
    moment = timestamps.parse(date)
    if moment is not None:
        return moment.date().isoformat()
    try:
        return calendar_date.fromisoformat(date).isoformat()
    except ValueError:
        return UNDATED


def _month(started_at: str) -> str:
    name = day(started_at)
    return name if name == UNDATED else name[:7]


def _dated(directory: str, text: str, date: str, taken: Callable[[str], bool], discriminator: str) -> str:
    """`<directory>/<slug>_<date>.md`; when taken, with a hash of the discriminator.

    A hash and not a counter: two machines that record different things on one day choose different paths.
    """
    stem = f"{directory}/{slug(text)}_{day(date)}"
    digest = hashlib.sha256(f"{discriminator}\0{text}".encode("utf-8", "surrogatepass")).hexdigest()
    for digits in (0, 8, 16, 64):
        path = f"{stem}-{digest[:digits]}.md" if digits else f"{stem}.md"
        if not taken(path):
            break
    return path
