"""The layout of a bundle: the paths of things, and the OKF type at each."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable, Iterable, Iterator
from datetime import date as calendar_date
from functools import partial
from typing import Protocol

from gitmem.okf import timestamps
from gitmem.okf.paths import safe_name, slug

FORMAT = 1
OKF_VERSION = "0.2"

INDEX = "index.md"
LOG = "log.md"
MEMORY = "memories/MEMORY.md"
USER = "memories/USER.md"
USERS = "memories/users/"
CONFIG_AGENT = "config/agent.md"
CONFIG_SCANNER = "config/scanner.md"
CONFIG_ERASED = "config/erased.md"
CONFIG_SOUL = "config/soul.md"
"""What another program took for its character, as a record: no agent looks there."""

UNDATED = "undated"
_NO_DAY = "00"
_DATE = re.compile(r"(?<![0-9])(20[0-9]{2})-?([0-9]{2})-?([0-9]{2})(?![0-9])")

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
NOTE = "Note"
_TYPES: tuple[tuple[re.Pattern[str], str], ...] = tuple(
    (re.compile(pattern), name)
    for pattern, name in (
        (r"memories/(MEMORY|USER)\.md", CURATED_MEMORY),
        (r"memories/machines/[^/]+/MEMORY\.md", CURATED_MEMORY),
        (r"memories/users/[^/]+/USER\.md", CURATED_MEMORY),
        (r"memories/archive/[^/]+\.md", ARCHIVED_MEMORY),
        (r"hermes/observations/user_profile_[^/]+\.md", USER_PROFILE),
        (r"decisions/[^/]+\.md", DECISION),
        (r"tools/[^/]+\.md", TOOL),
        (r"sessions/[^/]+/[^/]+/[^/]+\.md", SESSION),
        (r"sessions/[^/]+/[^/]+/[^/]+/[^/]+\.md", SESSION_EVENTS),
        (r"plans/(archive/[^/]+/)?[^/]+\.md", PLAN),
        (r"skills/(.+/)?SKILL\.md", SKILL),
        (r"snapshots/[^/]+\.md", SNAPSHOT),
        (r"retractions/[^/]+/[^/]+\.md", RETRACTION),
        (r"config/agent\.md", AGENT_CONFIG),
        (r"config/scanner\.md", SCANNER_RULES),
        (r"config/erased\.md", ERASURE_RECEIPTS),
    )
)
TYPES = (*dict.fromkeys(name for _, name in _TYPES), NOTE)


def machine_memory(machine: str) -> str:
    """The § file of what is true on one machine only."""
    return f"memories/machines/{safe_name(machine)}/MEMORY.md"


def user_memory(user: str) -> str:
    """The § file of what is known of one user among several, or of one group; `user` is a `Reader.page`."""
    return f"{USERS}{safe_name(user)}/USER.md"


def archive(target: str) -> str:
    """The § file of entries that left a full store; `target` is "memory" or "user"."""
    return f"memories/archive/{safe_name(target)}.md"


def session(session_id: str, started_at: str) -> str:
    """The concept of one session, under the date in its id; where there is none, under the day it began on.

    So a session whose id has a date is found, or known to be new, without a look at other days.
    """
    date = _date_in(session_id) or day(started_at)
    month, number = (UNDATED, _NO_DAY) if date == UNDATED else (date[:7], date[8:])
    return f"sessions/{month}/{number}/{safe_name(session_id)}.md"


class SessionFiles(Protocol):
    """Enough of a tree to look for a session in it."""

    def __contains__(self, path: str, /) -> bool: ...

    def names(self, directory: str) -> Iterable[str]: ...

    def directories(self, directory: str) -> list[str]: ...


def find_session(files: SessionFiles, session_id: str) -> str | None:
    """The path of a session's concept; where its id has no date, on whichever day it began."""
    if _date_in(session_id):
        path = session(session_id, "")
        return path if path in files else None
    name = safe_name(session_id)
    found = (f"{directory}/{name}.md" for directory in _session_days(files))
    return next((path for path in found if path in files), None)


def session_pages(files: SessionFiles) -> Iterator[str]:
    """The paths of the concepts of all sessions, the last day first."""
    for directory in _session_days(files):
        below = set(files.directories(directory))
        for name in files.names(directory):
            if name.endswith(".md") and name not in below and not is_generated(name):
                yield f"{directory}/{name}"


def _session_days(files: SessionFiles) -> Iterator[str]:
    for month in sorted(files.directories("sessions"), reverse=True):
        for number in sorted(files.directories(f"sessions/{month}"), reverse=True):
            yield f"sessions/{month}/{number}"


def session_name(path: str) -> str:
    """The file name of the session whose concept, part or long text is at a path; empty where it is of none."""
    parts = path.split("/")
    return parts[3].removesuffix(".md") if len(parts) > 3 and parts[0] == "sessions" else ""


def plan_archive(path: str) -> str:
    """Return the archive path of a finished plan, in the directory of the year in its name."""
    name = path.rpartition("/")[2]
    return f"plans/archive/{_date_in(name)[:4] or UNDATED}/{name}"


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
    return f"retractions/{safe_name(hash[:2])}/{safe_name(hash)}.md"


def retraction_name(path: str) -> str:
    """The hash that a retraction at a path is about; empty for any other path."""
    name = path.rpartition("/")[2].removesuffix(".md")
    return name if path == retraction(name) else ""


def is_generated(path: str) -> bool:
    """Return whether gitmem makes the file from the others: index.md and log.md at any level."""
    return path.rpartition("/")[2] in (INDEX, LOG)


def is_session(path: str) -> bool:
    """Return whether the path belongs to the record of conversations."""
    return path.startswith("sessions/")


def is_record(path: str) -> bool:
    """Return whether the path is of the record, and not of what is known: conversations, pages by day, bookkeeping."""
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


def _date_in(name: str) -> str:
    """The first date in a name, as `YYYY-MM-DD`; empty where it has none."""
    dates = ("-".join(found.groups()) for found in _DATE.finditer(name))
    return next((date for date in dates if day(date) == date), "")


def _dated(
    directory: str,
    text: str,
    date: str,
    taken: Callable[[str], bool] = lambda _: False,
    discriminator: str = "",
) -> str:
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


decision = partial(_dated, "decisions")
plan = partial(_dated, "plans")
