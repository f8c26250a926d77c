"""The history as people tell it: one chapter a session, and one for each thing that stands by itself."""

from __future__ import annotations

import heapq
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from functools import cached_property
from itertools import count, islice
from typing import TYPE_CHECKING

from gitmem.git.message import KINDS
from gitmem.memory.history.log import Diff, History, LogEntry
from gitmem.okf import layout
from gitmem.state import SESSION

if TYPE_CHECKING:
    from gitmem.memory.bundle import Bundle
    from gitmem.memory.capture.session_page import SessionState
    from gitmem.okf.entries import Change
    from gitmem.okf.learned import Learned

BY_ITSELF = frozenset(("init", "revert", "restore", "merge", "snapshot", "erase"))
"""Kinds of commits that get a line of their own, also where a session made them."""
_PAUSE = 12 * 3600
"""Seconds without a commit after which a session that goes on gets a line of its own: it is another day then."""


@dataclass
class Chapter:
    """A session, or one commit that belongs to none."""

    session: str
    commits: list[LogEntry]
    """The newest first."""
    _bundle: Bundle = field(repr=False)

    @property
    def started(self) -> int:
        """Return when its first commit was made, in seconds since 1970."""
        return self.commits[-1].commit.made

    @property
    def ended(self) -> int:
        return self.commits[0].commit.made

    @property
    def entry(self) -> LogEntry:
        """The newest commit, which says who it was and where."""
        return self.commits[0]

    @cached_property
    def title(self) -> str:
        """Return what it is about: of a session its title, of a commit what it says."""
        if self.session:
            return self._bundle.session_title(self.session)
        said = self.entry.subject.removeprefix(f"{self.entry.kind}: ")
        kind, colon, rest = said.partition(": ")
        return rest if colon and kind in KINDS else said

    @cached_property
    def diff(self) -> Diff:
        """Return what it did to what is known; a bundle begins with nothing."""
        if self.entry.kind == "init":
            return Diff(None, None, ())
        return self._bundle.part(History).knowledge_of([entry.commit for entry in self.commits])

    @property
    def learned(self) -> Learned:
        return self.diff.learned


def chapters(bundle: Bundle, entries: Iterable[LogEntry]) -> Iterator[Chapter]:
    """Commits (newest first) as chapters, the one that began last first.

    They come as soon as it is known that no earlier commit belongs to them, so that a long history is not read whole.
    What was imported comes in the place of its own date.
    """
    imported: list[tuple[int, int, Chapter]] = []
    number = count()
    for chapter in _in_commit_order(bundle, entries):
        if chapter.entry.kind == "import":
            heapq.heappush(imported, (-chapter.started, next(number), chapter))
            continue
        while imported and -imported[0][0] > chapter.started:
            yield heapq.heappop(imported)[2]
        yield chapter
    while imported:
        yield heapq.heappop(imported)[2]


def _in_commit_order(bundle: Bundle, entries: Iterable[LogEntry]) -> Iterator[Chapter]:
    waiting: list[Chapter] = []
    under_way: dict[str, Chapter] = {}
    for entry in entries:
        moment = entry.commit.made
        under_way = {name: one for name, one in under_way.items() if one.started - moment <= _PAUSE}
        yield from _over(waiting, under_way)
        session = entry.session if entry.kind not in BY_ITSELF else ""
        if session in under_way:
            under_way[session].commits.append(entry)
        else:
            made = Chapter(session, [entry], bundle)
            waiting.append(made)
            if session:
                under_way[session] = made
    yield from _over(waiting, {})


def _over(waiting: list[Chapter], under_way: dict[str, Chapter]) -> Iterator[Chapter]:
    """Chapters to which nothing will be added, taken out of those that wait, in their order."""
    waiting.sort(key=lambda one: -one.started)
    open_ones = {id(one) for one in under_way.values()}
    while waiting and id(waiting[0]) not in open_ones:
        yield waiting.pop(0)


_MOST_COMMITS = 500
"""Of a history that goes on for long without a session."""


@dataclass(frozen=True, slots=True)
class LastSession:
    """The session that committed last."""

    state: SessionState
    changes: tuple[Change, ...]
    """What it did, in entries."""

    @property
    def is_open(self) -> bool:
        return self.state.status == "open"


def last_session(bundle: Bundle) -> LastSession | None:
    """Return the session that was begun here and has recorded nothing yet, else the one that committed last.

    None where there is neither, or where the page of the latter is gone.
    """
    begun = _begun(bundle)
    if begun is not None:
        return LastSession(begun, ())
    history = bundle.part(History)
    ours = (one for one in islice(history.log(), _MOST_COMMITS) if one.session and not one.pulled_from)
    session = next((one.session for one in ours), "")
    if not session:
        return None
    from gitmem.memory.capture.session_page import find_page

    state = find_page(bundle.tree(), session)
    return LastSession(state, history.of_session(session).changes) if state is not None else None


def _begun(bundle: Bundle) -> SessionState | None:
    """Return the session that `session start` opened and that has no page yet."""
    opening = bundle.state.read_json(SESSION).get("opening")
    session = opening.get("id") if isinstance(opening, dict) else None
    if not isinstance(opening, dict) or not isinstance(session, str):
        return None
    from gitmem.memory.capture.session_page import SessionState, find_page
    from gitmem.okf.concept import Concept

    if find_page(bundle.tree(), session) is not None:
        return None
    known = {name: str(opening[name]) for name in ("title", "started") if isinstance(opening.get(name), str)}
    return SessionState("", Concept.new(layout.SESSION, "", session=session, status="open", **known))
