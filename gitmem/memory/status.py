"""`status_of(memory)`: the state of a memory, as the first screen shows it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import islice
from typing import TYPE_CHECKING

from gitmem.errors import GitMemError
from gitmem.git.commit_graph import walk
from gitmem.git.git_settings import Remotes
from gitmem.git.housekeeping import Weight, last_time
from gitmem.git.message import trailers_of
from gitmem.memory.bundle import format_of
from gitmem.memory.curated.store import TARGETS
from gitmem.memory.history.story import LastSession, last_session
from gitmem.memory.origin import LOST
from gitmem.memory.review import Item, in_words, unconfirmed, waiting
from gitmem.notices import Notice
from gitmem.okf import layout
from gitmem.okf.curated import CuratedFile
from gitmem.okf.learned import Learned, learned
from gitmem.okf.plain import Printed

_NEWEST = 50
"""Commits among which a hand edit that took most of a store is news."""

if TYPE_CHECKING:
    from gitmem.git.worktree import HandEdit
    from gitmem.memory.history.log import LogEntry
    from gitmem.memory.memory import Memory
    from gitmem.memory.sync.remote_state import RemoteState


@dataclass(frozen=True, slots=True)
class StoreUsage:
    """Usage of a store."""

    target: str
    path: str
    entry_count: int
    usage: int
    limit: int
    left_out: tuple[str, ...] = ()
    """Entries that the prompt block has no room for: they are found by search."""

    @property
    def tokens(self) -> int:
        """About as many tokens as a prompt has of it: four characters make one."""
        return min(self.usage, self.limit) // 4


@dataclass(frozen=True, slots=True)
class PendingEdit:
    """A file that was edited by hand and is not committed."""

    path: str
    change: str
    problem: str = ""


@dataclass(frozen=True)
class Status(Printed):
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
    remotes: tuple[RemoteState, ...]
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
    def title(self) -> str:
        """The title of the last session; empty where it has none of its own."""
        state = self.last_session.state if self.last_session else None
        title = state.get("title") if state is not None else ""
        return "" if state is None or title == f"Session {state.id}" else title

    @property
    def learned(self) -> Learned:
        return learned(self.last_session.changes if self.last_session else ())


def status_of(memory: Memory) -> Status:
    """Gather what the first screen shows; a memory that is busy can still be looked at."""
    problems: list[str] = []
    agent = memory.tree().read(layout.CONFIG_AGENT)
    version = format_of(agent) if agent is not None else layout.FORMAT
    if version > layout.FORMAT:
        problems.append(f"This memory has format {version}: upgrade gitmem to write to it.")
    edits: list[HandEdit] = []
    try:
        memory.repository.refuse_if_busy()
        edits = memory.hand_edits()
    except GitMemError as error:
        problems.append(f"{error} {error.hint}".strip())
    problems += map(str, _mass_removals(memory))
    items = waiting(memory, edits)
    return Status(
        memory.root,
        memory.repository.git_dir,
        next(memory.log()),
        version,
        tuple(memory.file_paths()),
        Weight.of(memory.repository),
        tuple(_usage(memory)),
        last_session(memory),
        _not_committed(memory),
        tuple(_remotes(memory)),
        (*items, *unconfirmed(memory)),
        last_time(memory.repository),
        tuple(_edits(memory, edits, items)),
        tuple(problems),
    )


def _not_committed(memory: Memory) -> int:
    """Count the events in journals; what reads them is imported only where there are some."""
    if not memory.has_journals:
        return 0
    from gitmem.memory.capture.recovery import pending_count

    return pending_count(memory.journal_dir)


def _usage(memory: Memory) -> Iterator[StoreUsage]:
    for target in TARGETS:
        path, limit = memory.curated.path(target), memory.curated.limit(target)
        if (data := memory.read(path)) is not None:
            file = CuratedFile.parse_leniently(data, path)
            out = []
            if file.usage > limit:
                from gitmem.memory.curated.prompt_block import left_out

                out = left_out(memory, target)
            yield StoreUsage(
                target, path, len(file.entries), file.usage, limit, tuple(entry.text for entry in out)
            )


def _remotes(memory: Memory) -> list[RemoteState]:
    if not Remotes(memory.repository).all():
        return []
    from gitmem.memory.sync.remote_state import remote_states

    return remote_states(memory)


def _edits(memory: Memory, edits: list[HandEdit], items: Iterable[Item]) -> Iterator[PendingEdit]:
    tree, problems = memory.tree(), {item.path: item.why for item in items if item.kind == "broken"}
    for edit in edits:
        is_gone = edit.data is None and not edit.problem
        change = "added" if edit.path not in tree else "removed" if is_gone else "changed"
        yield PendingEdit(edit.path, change, problems.get(edit.path, ""))


def _mass_removals(memory: Memory) -> Iterator[Notice]:
    """Yield the newest commits by which an edit or an agent took most of a store, if nothing has taken them back."""
    reverted: set[str] = set()
    for commit in islice(walk(memory.repository, memory.tip), _NEWEST):
        reverted.update(trailers_of(commit.message).get("Reverts", ()))
        what = commit.subject.removeprefix("edit: ").removeprefix("host: suspicious: ")
        if what != commit.subject and LOST in what and commit.oid not in reverted:
            yield Notice("many-removed", what, commit.oid[:8])
