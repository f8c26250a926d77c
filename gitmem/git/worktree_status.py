"""What a person changed in the work tree or staged, and whether somebody touched a file since we looked."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

from gitmem.git.git_index import GitIndex
from gitmem.git.index_file import IndexFile
from gitmem.git.objects import EXECUTABLE, FILE, Oid, file_id, path_bytes, path_text
from gitmem.git.store import ObjectStore
from gitmem.git.tree import Tree
from gitmem.git.worktree import Found, Marks, WorkTree, marks


@dataclass(frozen=True, slots=True)
class HandEdit:
    """One file that a person changed: its bytes, or None where they removed it.

    `problem` says why it cannot be committed as it is (a link, a special file, too large);
    `stored` is the form in which it will be committed, which may differ from `data`.
    """

    path: str
    data: bytes | None
    staged: bool = False
    problem: str = ""
    stored: bytes | None = None

    @classmethod
    def of(cls, path: str, found: Found) -> HandEdit:
        return cls(path, found.data, problem=found.problem)


@dataclass(frozen=True, slots=True)
class Look:
    """Some files and git's index as a commit found them before it writes them."""

    edits: list[HandEdit]
    """What a person changed among the files."""
    _tip: Oid
    _files: Mapping[str, Marks | None]
    _signature: bytes
    _worktree: WorkTree
    _index: IndexFile

    def file_changed(self, path: str) -> bool:
        """Somebody touched the file since."""
        return path in self._files and self._worktree.marks(path) != self._files[path]

    def index_changed(self) -> bool:
        """Somebody wrote git's index since."""
        return self._index.signature(self._tip) != self._signature


class WorkTreeStatus:
    """Compares work tree and git's index with a tip."""

    def __init__(self, worktree: WorkTree, index: IndexFile, store: ObjectStore) -> None:
        self._worktree = worktree
        self._index = index
        self._store = store

    def hand_edits(self, tip: Tree, tip_oid: Oid) -> list[HandEdit]:
        """Everything that differs from the tip: staged versions first, then the work tree's.

        The index answers for files whose stat it knows, so only touched files are read.
        """
        signature = self._index.signature(tip_oid)
        index = self._index.read()
        if index is None:
            return list(self._without_index(tip))
        staged: list[HandEdit] = []
        if not self._index.has_seen(signature):
            staged = list(self._staged(index, tip))
            if not staged:
                self._index.note(signature)
        return staged + list(self._unstaged(index))

    def look(self, tip: Tree, paths: Iterable[str], tip_oid: Oid) -> Look:
        """Some paths only: what a commit must look at before it writes them.

        Buys "100,000 files against 1,000": git's index is read only where somebody else wrote it.
        """
        signature = self._index.signature(tip_oid)
        index = None if self._index.is_ours(tip_oid) else self._index.read()
        remembered = index or self._index.remembered()
        edits: list[HandEdit] = []
        seen: dict[str, Marks | None] = {}
        for path in paths:
            known = file_id(tip.entry(path))
            name = path_bytes(path)
            if index is not None:
                place = index.place(name)
                staged = index.oid(place) if place >= 0 else None
                if staged != known:
                    edits.append(self._staged_edit(path, index, place))
                    # What differs from it in the work tree came later, also if it is the tip's.
                    known = staged
            stat = self._worktree.stat(path)
            seen[path] = None if stat is None else marks(stat)
            if stat is not None and remembered is not None and remembered.vouches(name, stat, known):
                continue
            found = self._worktree.look_at(path, stat)
            if not found.holds(known):
                edits.append(HandEdit.of(path, found))
        return Look(edits, tip_oid, seen, signature, self._worktree, self._index)

    def _staged(self, index: GitIndex, tip: Tree) -> Iterator[HandEdit]:
        missing = dict(tip.files())
        for place, name in enumerate(index.names):
            path = path_text(name)
            entry = missing.pop(path, None)
            oid = index.oid(place)
            mode = index.mode(place)
            if entry is not None and entry.oid == oid and (entry.mode == mode or mode in (FILE, EXECUTABLE)):
                continue
            yield self._staged_edit(path, index, place)
        for path in missing:
            yield HandEdit(path, None, staged=True)

    def _staged_edit(self, path: str, index: GitIndex, place: int) -> HandEdit:
        if place < 0:
            return HandEdit(path, None, staged=True)
        if index.mode(place) in (FILE, EXECUTABLE):
            return HandEdit(path, self._store.blob(index.oid(place)), staged=True)
        problem = "is a link or a repository of its own, which a bundle never holds"
        return HandEdit(path, None, staged=True, problem=problem)

    def _unstaged(self, index: GitIndex) -> Iterator[HandEdit]:
        missing = dict(zip(index.names, range(len(index.names)), strict=True))
        unknown: list[str] = []
        for path, stat in self._worktree.files():
            place = missing.pop(path_bytes(path), -1)
            if place < 0:
                unknown.append(path)
            elif not index.untouched(place, stat):
                yield from self._edited(path, index.oid(place))
        yield from self._untracked(unknown)
        yield from (HandEdit(path_text(name), None) for name in missing)

    def _without_index(self, tip: Tree) -> Iterator[HandEdit]:
        """Without a usable index: read every file and compare it with the tip."""
        missing = dict(tip.files())
        unknown: list[str] = []
        for path, _ in self._worktree.files():
            entry = missing.pop(path, None)
            if entry is None:
                unknown.append(path)
            else:
                yield from self._edited(path, entry.oid)
        yield from self._untracked(unknown)
        yield from (HandEdit(path, None) for path in missing)

    def _edited(self, path: str, oid: Oid) -> Iterator[HandEdit]:
        # Not the mode: what is executable follows from the path, so a chmod is nothing to commit.
        found = self._worktree.look(path)
        if not found.holds(oid):
            yield HandEdit.of(path, found)

    def _untracked(self, paths: list[str]) -> Iterator[HandEdit]:
        for path in self._worktree.not_ignored(paths):
            yield HandEdit.of(path, self._worktree.look(path))
