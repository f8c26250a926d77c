"""`status_of(memory)`: how a memory stands, as the first screen shows it."""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import TYPE_CHECKING

from gitmem.errors import GitMemError
from gitmem.git.housekeeping import Weight, last_time
from gitmem.memory.bundle import format_of
from gitmem.memory.review import in_words, unconfirmed, waiting
from gitmem.okf import layout

if TYPE_CHECKING:
    from gitmem.git.worktree_status import HandEdit
    from gitmem.memory.history.log import LogEntry
    from gitmem.memory.history.story import LastSession
    from gitmem.memory.memory import Memory
    from gitmem.memory.review import Item
    from gitmem.memory.sync.remote_state import RemoteStanding
    from gitmem.okf.learned import Learned


@dataclass(frozen=True, slots=True)
class StoreUsage:
    """Usage of a store."""

    target: str
    path: str
    entry_count: int
    usage: int
    limit: int


@dataclass(frozen=True, slots=True)
class PendingEdit:
    """A file that was edited by hand and is not committed."""

    path: str
    change: str
    problem: str = ""


@dataclass(frozen=True)
class Status:
    """The first screen of a memory."""

    bundle: str
    git_dir: str
    newest: LogEntry
    format: int
    paths: tuple[str, ...]
    weight: Weight
    curated: tuple[StoreUsage, ...]
    last_session: LastSession | None
    events_waiting: int
    remotes: tuple[RemoteStanding, ...]
    waiting: tuple[Item, ...]
    last_gc: float | None
    hand_edits: tuple[PendingEdit, ...]
    problems: tuple[str, ...]

    @property
    def concept_count(self) -> int:
        return sum(path.endswith(".md") and not layout.is_generated(path) for path in self.paths)

    @property
    def waiting_counts(self) -> dict[str, int]:
        kinds = [item.kind for item in self.waiting]
        return {kind: kinds.count(kind) for kind in dict.fromkeys(kinds)}

    @property
    def waiting_in_words(self) -> str:
        return in_words(list(self.waiting))

    @property
    def learned(self) -> Learned:
        from gitmem.okf.learned import learned

        return learned(self.last_session.changes if self.last_session else ())


def status_of(memory: Memory) -> Status:
    """Gather what the first screen shows; a memory that is busy can still be looked at."""
    from gitmem.memory.history.story import last_session

    problems: list[str] = []
    agent = memory.tree().read(layout.CONFIG_AGENT)
    version = format_of(agent) if agent is not None else layout.FORMAT
    if version > layout.FORMAT:
        problems.append(f"This bundle has format {version}: upgrade gitmem to write to it.")
    edits: list[HandEdit] = []
    try:
        memory.repository.refuse_if_busy()
        edits = memory.hand_edits()
    except GitMemError as error:
        problems.append(f"{error} {error.hint}".strip())
    return Status(
        memory.root,
        memory.repository.git_dir,
        next(memory.log()),
        version,
        tuple(memory.file_paths()),
        Weight.of(memory.repository),
        tuple(_usage(memory)),
        last_session(memory),
        _events_waiting(memory),
        tuple(_remotes(memory)),
        (*waiting(memory, edits), *unconfirmed(memory)),
        last_time(memory.repository),
        tuple(_edits(memory, edits)),
        tuple(problems),
    )


def _usage(memory: Memory) -> list[StoreUsage]:
    limits = {"memory": memory.config.memory_char_limit, "user": memory.config.user_char_limit}
    rows = []
    for target, path in (("memory", layout.MEMORY), ("user", layout.USER)):
        data = memory.read(path)
        if data is not None:
            from gitmem.okf.curated import CuratedFile

            file = CuratedFile.salvage(data, path)
            rows.append(StoreUsage(target, path, len(file.entries), file.usage, limits[target]))
    return rows


def _events_waiting(memory: Memory) -> int:
    """Return how many events in journals no commit has yet."""
    try:
        if not os.listdir(memory.journal_dir):
            return 0
    except OSError:
        return 0
    from gitmem.memory.capture.journal import pending_count

    return pending_count(memory.journal_dir)


def _remotes(memory: Memory) -> list[RemoteStanding]:
    from gitmem.git.remotes import Remotes

    if not Remotes(memory.repository).all():
        return []
    from gitmem.memory.sync.remote_state import how_remotes_stand

    return how_remotes_stand(memory)


def _edits(memory: Memory, edits: list[HandEdit]) -> list[PendingEdit]:
    if not edits:
        return []
    from gitmem.memory.hand_edits import problems_of

    tree, found = memory.tree(), dict[str, PendingEdit]()
    problems = problems_of(memory, edits)
    for edit in edits:
        change = "added" if edit.path not in tree else "changed"
        if change == "changed" and edit.data is None and not edit.problem:
            change = "removed"
        found[edit.path] = PendingEdit(edit.path, change, problems.get(edit.path, ""))
    return list(found.values())
