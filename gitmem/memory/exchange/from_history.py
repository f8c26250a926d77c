"""The git history of an OKF bundle: each commit of its main line becomes one here, with its date and its subject.

The other repository is read as data. None of its configuration is obeyed, and nothing is written to it.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator

from gitmem.errors import GitMemError
from gitmem.git.commit_graph import first_parents
from gitmem.git.git_directory import git_dir_of
from gitmem.git.objects import Commit, TreeEntry
from gitmem.git.repository import Repository
from gitmem.git.tree import TreeDiff
from gitmem.memory.exchange.from_folder import LARGEST, OtherBundle, new_entry, repaired_times
from gitmem.memory.exchange.importing import Importer, NewEntry, NewFile, Piece
from gitmem.okf import timestamps
from gitmem.okf.entries import EntryKey
from gitmem.okf.files import EntryFile, open_file


def history_pieces(path: str, other: OtherBundle, importer: Importer) -> Iterator[Piece]:
    """Yield what each commit of a bundle did, the oldest first, without those that were imported before."""
    if not os.path.lexists(os.path.join(path, ".git")):
        return
    try:
        repository = Repository(path, git_dir_of(path) or "")
        yield from _History(repository, other, importer).pieces()
    except GitMemError as error:
        importer.problem(f"The history of {path} was not read to its end: {error}")


class _History:
    """The main line of another repository."""

    def __init__(self, repository: Repository, other: OtherBundle, importer: Importer) -> None:
        self._repository = repository
        self._other = other
        self._importer = importer
        self._diff = TreeDiff(repository.store)
        self._ages: dict[tuple[str, EntryKey], str] = {}
        """How old the entries are that do not say so: since the commit that brought them."""

    def pieces(self) -> Iterator[Piece]:
        tip = self._repository.refs.read("HEAD")
        commits = list(first_parents(self._repository, tip)) if tip else []
        try:
            for commit in reversed(commits):
                piece = self._piece(commit)
                if piece.source not in self._importer.sources and (
                    piece.entries or piece.gone or piece.files
                ):
                    yield piece
        finally:
            self._repository.store.close()

    def _piece(self, commit: Commit) -> Piece:
        entries: list[NewEntry] = []
        gone: list[NewEntry] = []
        steps: list[NewFile] = []
        for change in self._diff.of_commit(commit):
            path = self._other.place(change.path)
            if not path or any(part.startswith(".") for part in path.split("/")):
                continue
            was, data = (self._read(path, side) for side in (change.old, change.new))
            before, after = open_file(path, was), open_file(path, data)
            if "curated" in (before.kind, after.kind):
                come, left = self._entries(path, commit, before, after)
                entries += come
                gone += left
            elif was != data:
                steps.append(NewFile(path, data, was, is_step=True))
        return Piece(
            f"okf {self._other.name} {commit.oid[:12]}",
            commit.made,
            tuple(entries),
            tuple(gone),
            files=tuple(steps),
            reason=commit.subject,
        )

    def _entries(
        self, path: str, commit: Commit, before: EntryFile, after: EntryFile
    ) -> tuple[list[NewEntry], list[NewEntry]]:
        """The entries that a commit brought to a § file, and those that it took."""
        old, new = (side.entries if side.kind == "curated" else {} for side in (before, after))
        at = timestamps.stamp_of(commit.made)
        for key in new.keys() - old.keys():
            self._ages[path, key] = at
        come = [new_entry(entry, path, self._ages[path, key]) for key, entry in new.items() if key not in old]
        left = [
            new_entry(entry, path, self._ages.get((path, key), ""))
            for key, entry in old.items()
            if key not in new
        ]
        return come, left

    def _read(self, path: str, entry: TreeEntry | None) -> bytes | None:
        if entry is None or not stat.S_ISREG(entry.mode):
            return None
        store = self._repository.store
        if store.measure(entry.oid)[1] > LARGEST:
            self._importer.problem(f"{path} was left out of the history: it is larger than 8 MB.")
            return None
        return repaired_times(store.blob(entry.oid), path, self._importer)
