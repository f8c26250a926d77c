"""Hand edits in the work tree, and a check whether a file was touched since.

Git's index only answers for files whose stat it knows: what is staged and not in a file is no edit.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

from gitmem.git.git_index import GitIndex
from gitmem.git.index_file import IndexFile
from gitmem.git.objects import Oid, file_id, path_bytes
from gitmem.git.tree import Tree
from gitmem.git.worktree import FileContent, Marks, WorkTree, marks


@dataclass(frozen=True, slots=True)
class HandEdit:
    """One file that a person changed: its bytes, or None where they removed it.

    `problem` says why it cannot be committed as it is (a link, a special file, too large);
    `stored` is the form in which it will be committed, which may differ from `data`.
    """

    path: str
    data: bytes | None
    problem: str = ""
    stored: bytes | None = None

    @classmethod
    def of(cls, path: str, found: FileContent) -> HandEdit:
        return cls(path, found.data, problem=found.problem)

    def holds(self, blob: Oid | None) -> bool:
        """The person's file is this blob; None stands for no file."""
        return FileContent(self.data, self.problem).holds(blob)


@dataclass(frozen=True, slots=True)
class Look:
    """Some files as a commit found them before it writes them."""

    edits: list[HandEdit]
    """What a person changed among the files."""
    _files: Mapping[str, Marks | None]
    _worktree: WorkTree

    def file_changed(self, path: str) -> bool:
        """Somebody touched the file since."""
        return path in self._files and self._worktree.marks(path) != self._files[path]


class WorkTreeStatus:
    """Compares the work tree with a tip."""

    def __init__(self, worktree: WorkTree, index: IndexFile) -> None:
        self._worktree = worktree
        self._index = index

    def hand_edits(self, tip: Tree, tip_oid: Oid) -> list[HandEdit]:
        """Everything in the work tree that differs from the tip; only files whose stat is unknown are read."""
        signature = self._index.signature(tip_oid)
        index = self._index.read()
        if index is not None and self._index.has_seen(signature):
            return list(self._differing(index.files(), index))
        return list(self._differing({path: entry.oid for path, entry in tip.files()}, index))

    def look(self, tip: Tree, paths: Iterable[str], tip_oid: Oid) -> Look:
        """Some paths only: what a commit must look at before it writes them.

        Raises BundleBusy where git's index has a merge in it.
        Buys "100,000 files against 1,000": the index is read only where another program wrote it.
        """
        index = self._index.remembered() if self._index.is_ours(tip_oid) else self._index.read()
        edits: list[HandEdit] = []
        seen: dict[str, Marks | None] = {}
        for path in paths:
            known = file_id(tip.entry(path))
            stat = self._worktree.stat(path)
            seen[path] = None if stat is None else marks(stat)
            if stat is not None and index is not None and index.vouches(path_bytes(path), stat, known):
                continue
            found = self._worktree.look_at(path, stat)
            if not found.holds(known):
                edits.append(HandEdit.of(path, found))
        return Look(edits, seen, self._worktree)

    def _differing(self, known: Mapping[str, Oid], index: GitIndex | None) -> Iterator[HandEdit]:
        missing = dict(known)
        unknown: list[str] = []
        for path, stat in self._worktree.files():
            oid = missing.pop(path, None)
            if oid is None:
                unknown.append(path)
            elif index is None or not index.vouches(path_bytes(path), stat, oid):
                # Not the mode: what is executable follows from the path, so a chmod is nothing to commit.
                found = self._worktree.look(path)
                if not found.holds(oid):
                    yield HandEdit.of(path, found)
        tracked = [path for path in unknown if index is not None and index.place(path_bytes(path)) >= 0]
        new = self._worktree.not_ignored([path for path in unknown if path not in set(tracked)])
        for path in (*tracked, *new):
            yield HandEdit.of(path, self._worktree.look(path))
        yield from (HandEdit(path, None) for path in missing)
