"""Meaning of a printed id: a commit, a snapshot, a session, an entry of the curated store, a pending item, an event."""

from __future__ import annotations

import os
import shlex
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, TypeVar

from gitmem.errors import FoundSomething, UnknownRevision
from gitmem.memory import review
from gitmem.memory.ids import event_meant, spans_of
from gitmem.okf.files import open_file
from gitmem.okf.plain import Printed
from gitmem.okf.short_ids import looks_like_id

if TYPE_CHECKING:
    from gitmem.memory.capture.session_page import SessionState
    from gitmem.memory.find.recall import Reading
    from gitmem.memory.history.blame import Blamed
    from gitmem.memory.history.log import Diff, LogEntry, ShownCommit
    from gitmem.memory.memory import Memory
    from gitmem.memory.review import Item
    from gitmem.memory.snapshots import Snapshot
    from gitmem.okf.entries import Change, Entry

_Shown = TypeVar("_Shown")
_SHORTEST = 6
"""Characters of an entry's id that say which one is meant."""


@dataclass(frozen=True, slots=True)
class ShownSession(Printed):
    """A session with its commits, and what it changed."""

    state: SessionState
    title: str
    commits: tuple[LogEntry, ...]
    changes: tuple[Change, ...]


@dataclass(frozen=True, slots=True)
class ShownEntry(Printed):
    """An entry of the curated store, with who gave it its words."""

    path: str
    story: Blamed


@dataclass(frozen=True, slots=True)
class ShownSnapshot(Printed):
    """A snapshot, and what changed since."""

    snapshot: Snapshot
    since: Diff


@dataclass(frozen=True, slots=True)
class PageLink:
    """A link to a path, and whether something is there."""

    path: str
    exists: bool


@dataclass(frozen=True, slots=True)
class ShownFile(Printed):
    """A file as it was at a commit; a page of the present memory with its links."""

    path: str
    commit: str
    data: bytes = field(repr=False)
    links: tuple[PageLink, ...] = ()
    backlinks: tuple[str, ...] = ()

    @property
    def text(self) -> str | None:
        """The text; None where it is not UTF-8."""
        try:
            return self.data.decode()
        except UnicodeDecodeError:
            return None

    @property
    def kind(self) -> str:
        return open_file(self.path, self.data).kind

    @property
    def entries(self) -> list[Entry]:
        return list(open_file(self.path, self.data).entries.values())


@dataclass(frozen=True, slots=True)
class ShownDirectory(Printed):
    """A directory as it was at a commit."""

    path: str
    commit: str
    names: tuple[str, ...]
    kind: str = "directory"


def shown_file(memory: Memory, path: str, revision: str) -> ShownFile | ShownDirectory:
    """Read a file or a directory as it was at a revision."""
    commit = memory.resolve(revision)
    tree = memory.repository.tree(commit)
    found = tree.entry(path)
    if found is None:
        raise _no_such_file(memory, path, revision)
    if found.is_directory:
        names = sorted(tree.names(path).items())
        return ShownDirectory(path, commit, tuple(name + "/" * one.is_directory for name, one in names))
    is_page = path.endswith(".md") and not path.startswith(("memories/", "sessions/"))
    shown = ShownFile(path, commit, tree.read_entry(found))
    if not is_page or commit != memory.tip:
        return shown
    index = memory.index.current()
    links = tuple(PageLink(target, target in tree) for target in index.links(path))
    return replace(shown, links=links, backlinks=tuple(index.backlinks(path)))


def _no_such_file(memory: Memory, path: str, revision: str) -> UnknownRevision:
    where = "in the memory" if revision == "HEAD" else f"at {revision}"
    hint = f"`gitmem log --path {shlex.quote(path)}` shows whether there ever was one."
    if os.path.lexists(memory.repository.worktree.path(path)):
        hint = "It is not committed yet: run `gitmem commit`."
    return UnknownRevision(f"There is no file {path} {where}.", hint=hint)


def meant(
    memory: Memory, typed: str
) -> ShownCommit | ShownSession | ShownEntry | ShownSnapshot | Item | Reading | None:
    """Find what an id names; None where it names nothing that is printed."""
    if memory.snapshots.has(typed):
        snapshot = memory.snapshots.get(typed)
        return ShownSnapshot(snapshot, memory.diff(snapshot.commit))
    return (
        (None if typed.startswith("session:") else _if_known(lambda: memory.show(typed)))
        or _session(memory, typed)
        or _entry(memory, typed)
        or _if_known(lambda: review.find(memory, typed))
        or (looks_like_id(typed) and _if_known(lambda: _event(memory, typed)))
        or None
    )


def _if_known(look: Callable[[], _Shown]) -> _Shown | None:
    try:
        return look()
    except UnknownRevision:
        return None


def revision_of(memory: Memory, typed: str) -> str:
    """The revision that a printed id names: its own, the state before a session, or the commit that wrote an entry."""
    try:
        memory.resolve(typed)
    except UnknownRevision:
        if (shown := _session(memory, typed)) is not None:
            return f"session:{shown.state.id}"
        if (entry := _entry(memory, typed)) is not None:
            return entry.story.changed.id
        # Also one that is gone.
        if looks_like_id(typed) and (spans := spans_of(memory.index.current(), typed, "§", "event")):
            return spans[-1].commit
        if (item := _if_known(lambda: review.find(memory, typed))) is not None:
            raise FoundSomething(
                f"{item.id} waits for a person and is not in the memory yet.",
                hint=f"Look at it with `gitmem review {item.id}`.",
            ) from None
        raise
    return typed


def names_entry(memory: Memory, typed: str) -> bool:
    """Return whether a printed id is that of an entry of the curated store."""
    return _if_known(lambda: memory.resolve(typed)) is None and _entry(memory, typed) is not None


def whole_id(memory: Memory, typed: str) -> str:
    """The whole id of the event that is meant; what was typed where it is none."""
    found = _if_known(lambda: event_meant(memory.index.current(), typed)) if looks_like_id(typed) else None
    return found.key if found else typed


def _event(memory: Memory, typed: str) -> Reading:
    return memory.read_session("", around=event_meant(memory.index.current(), typed).key)


def _session(memory: Memory, typed: str) -> ShownSession | None:
    state = memory.sessions.find(memory.sessions.meant(typed.removeprefix("session:")))
    if state is None:
        return None
    # One that was only opened has no commit yet.
    commits = _if_known(lambda: tuple(memory.log(session=state.id))) or ()
    changes = memory.diff(session=state.id).changes if commits else ()
    return ShownSession(state, memory.session_title(state.id), commits, changes)


def _entry(memory: Memory, typed: str) -> ShownEntry | None:
    if len(typed) < _SHORTEST:
        return None
    for path in dict.fromkeys((*memory.curated.paths("memory"), *memory.curated.paths("user"))):
        stories = memory.blame(path) if memory.read(path) is not None else []
        found = [one for one in stories if one.entry.key.id.startswith(typed)]
        if len(found) == 1:
            return ShownEntry(path, found[0])
    return None
