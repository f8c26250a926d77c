"""Replaying history into the index: each commit's changed files, read once, become spans that open and close."""

from __future__ import annotations

import heapq
from collections import OrderedDict
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from gitmem.git.message import kind_of, trailers_of
from gitmem.git.objects import EMPTY_TREE, Commit, Oid, TreeEntry
from gitmem.git.repository import Repository
from gitmem.git.tree import TreeChange, TreeDiff
from gitmem.index.documents import appended, documents_of, is_part, session_of
from gitmem.index.links import targets
from gitmem.index.records import Document, SessionFacts
from gitmem.index.writer import CommitFacts, CommitOrigin, Writer
from gitmem.memory.retraction import retracts
from gitmem.okf import layout
from gitmem.okf.entries import EntryKey

Progress = Callable[[int, int], None]
"""Told how many commits of how many are done."""

# Buys "full rebuild / bare loop": the old side of a change was the new side of an earlier one.
_CACHED_FILES = 512
_RETRACTIONS = "retractions/"


@dataclass(frozen=True, slots=True)
class _File:
    """A version of a file as the index sees it."""

    data: bytes
    documents: dict[EntryKey, Document]
    links: list[str]
    session: SessionFacts | None = None
    blocks: tuple[str, ...] = ()


class Replay:
    """Adds commits to a writer. The outcome depends on the commits alone, not on how many come at a time."""

    def __init__(self, repository: Repository, writer: Writer) -> None:
        self._repository = repository
        self._writer = writer
        self._diff = TreeDiff(repository.store)
        self._files: OrderedDict[tuple[str, Oid], _File] = OrderedDict()

    def run(self, commits: Sequence[Commit], *, base: Commit | None, seq: int, progress: Progress) -> None:
        """Add the commits of the line, oldest first; `base` stands before them, at `seq`."""
        old = base.tree if base else EMPTY_TREE
        for number, commit in enumerate(commits, start=1):
            progress(number, len(commits))
            self._add(commit, list(self._diff.changes(old, commit.tree)), seq + number)
            old = commit.tree

    def _add(self, commit: Commit, changes: list[TreeChange], seq: int) -> None:
        brought = self._side(commit, seq) if len(commit.parents) > 1 else {}
        own = changes if len(commit.parents) < 2 else self._own_changes(commit, changes)
        origin = self._writer.commit(facts_of(commit), [change.path for change in own], seq=seq, main=True)
        for change in changes:
            if change.path.startswith(_RETRACTIONS):
                self._retraction(change, seq)
            elif _may_hold_documents(change.path):
                self._file(change, origin, brought, seq)

    def _file(
        self,
        change: TreeChange,
        origin: CommitOrigin,
        brought: dict[tuple[str, EntryKey], CommitOrigin],
        seq: int,
    ) -> None:
        path = change.path
        before = self._read(path, change.old)
        after, gained = self._read_after(path, before, change.new)
        for document in gained if gained is not None else after.documents.values():
            was = before.documents.get(document.key) if gained is None else None
            if was == document:
                continue
            if was is not None:
                self._writer.close(path, document.key, seq)
            self._writer.open(path, document, brought.get((path, document.key), origin), seq)
        if gained is None:
            for key in before.documents:
                if key not in after.documents:
                    self._writer.close(path, key, seq)
        if before.session != after.session:
            if before.session is not None:
                self._writer.end_session(path, seq)
            if after.session is not None:
                self._writer.session(after.session, seq)
        if after.session is not None and after.blocks != before.blocks:
            self._writer.blocks(after.session.name, after.blocks, seq)
        if before.links or after.links:
            self._writer.unlink(path, [link for link in before.links if link not in after.links], seq)
            self._writer.link(path, [link for link in after.links if link not in before.links], seq)

    def _retraction(self, change: TreeChange, seq: int) -> None:
        name = layout.retraction_name(change.path)
        if not name:
            return
        held, holds = self._retracts(change.path, change.old), self._retracts(change.path, change.new)
        if holds and not held:
            self._writer.retract(name, seq)
        elif held and not holds:
            self._writer.unretract(name, seq)

    def _retracts(self, path: str, entry: TreeEntry | None) -> bool:
        return entry is not None and retracts(self._repository.store.blob(entry.oid), path)

    # Merges

    def _side(self, merge: Commit, seq: int) -> dict[tuple[str, EntryKey], CommitOrigin]:
        """Take in the commits that a merge brought; gives the origin of what each of them added."""
        origins: dict[tuple[str, EntryKey], CommitOrigin] = {}
        for commit in reversed(self._brought_by(merge)):
            changes = list(self._diff.of_commit(commit))
            own = changes if len(commit.parents) < 2 else self._own_changes(commit, changes)
            paths = [change.path for change in own]
            origin = self._writer.commit(facts_of(commit), paths, seq=seq, main=False)
            if len(commit.parents) > 1:
                continue
            for change in changes:
                if _may_hold_documents(change.path):
                    before = self._read(change.path, change.old)
                    after, gained = self._read_after(change.path, before, change.new)
                    for document in gained if gained is not None else after.documents.values():
                        if gained is not None or before.documents.get(document.key) != document:
                            origins[change.path, document.key] = origin
        return origins

    def _brought_by(self, merge: Commit) -> list[Commit]:
        """The commits that are new with a merge, a commit before its parents."""
        store = self._repository.store
        found: list[Commit] = []
        waiting: list[tuple[int, int, Commit]] = []
        seen: set[Oid] = set()

        def reach(parents: Iterable[Oid], rank: int) -> None:
            for parent in parents:
                if parent not in seen and not self._writer.has_commit(parent):
                    seen.add(parent)
                    commit = store.commit(parent)
                    # A parent never counts as newer than the child through which it was reached.
                    heapq.heappush(waiting, (max(rank, -commit.committer.time), len(seen), commit))

        reach(merge.parents[1:], -merge.committer.time)
        while waiting:
            rank, _, commit = heapq.heappop(waiting)
            found.append(commit)
            reach(commit.parents, rank)
        return found

    def _own_changes(self, merge: Commit, changes: Iterable[TreeChange]) -> list[TreeChange]:
        """The changes of a merge whose result is none of its parents'."""
        others = [self._repository.tree(parent) for parent in merge.parents[1:]]
        return [
            change for change in changes if all(other.entry(change.path) != change.new for other in others)
        ]

    # Files

    def _read(self, path: str, entry: TreeEntry | None) -> _File:
        if entry is None:
            return _NOTHING
        found = self._files.get((path, entry.oid))
        if found is None:
            data = self._repository.store.blob(entry.oid)
            found = _file_of(path, data)
            self._remember(path, entry.oid, found)
        return found

    def _read_after(
        self, path: str, before: _File, entry: TreeEntry | None
    ) -> tuple[_File, list[Document] | None]:
        """The file as it became, and where it was merely continued, what it gained."""
        if entry is None or before is _NOTHING or (path, entry.oid) in self._files:
            return self._read(path, entry), None
        data = self._repository.store.blob(entry.oid)
        gained = appended(before.data, data, path)
        if gained is None:
            found = _file_of(path, data)
        else:
            found = _File(data, before.documents | {document.key: document for document in gained}, [])
        self._remember(path, entry.oid, found)
        return found, gained

    def _remember(self, path: str, oid: Oid, file: _File) -> None:
        self._files[path, oid] = file
        if len(self._files) > _CACHED_FILES:
            self._files.popitem(last=False)


_NOTHING = _File(b"", {}, [])


def _file_of(path: str, data: bytes) -> _File:
    documents = {document.key: document for document in documents_of(path, data)}
    # What was said in a conversation is not a link between files.
    links = targets(path, data.decode("utf-8", "replace")) if documents and not is_part(path) else []
    return _File(data, documents, links, *session_of(path, data))


def _may_hold_documents(path: str) -> bool:
    return path.endswith(".md") and not layout.is_generated(path)


def facts_of(commit: Commit) -> CommitFacts:
    """A commit as the index keeps it."""
    return CommitFacts(commit.oid, commit.made, kind_of(commit.message), trailers_of(commit.message))
