"""Proof that a bundle is whole: objects and refs, OKF, paths, trailers, and a work tree like the tip."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Literal, get_args

from gitmem.errors import GitMemError
from gitmem.git import commit_graph as graph
from gitmem.git import fsck
from gitmem.git.message import KINDS, trailers_of
from gitmem.git.tree_diff import TreeDiff
from gitmem.okf import layout

if TYPE_CHECKING:
    from gitmem.git.objects import Commit, Oid
    from gitmem.git.repository import Repository
    from gitmem.memory.bundle import Bundle

Check = Literal["objects", "refs", "index", "files", "paths", "trailers", "journal", "work tree"]
CHECKS: tuple[Check, ...] = get_args(Check)


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing that is not as it should be."""

    check: Check
    where: str
    what: str


class Verification:
    """One look at everything. Counts what it saw, for the sentence at the end."""

    def __init__(self, bundle: Bundle, *, history: bool = False) -> None:
        self._bundle = bundle
        self._repository = bundle.repository
        self._diff = TreeDiff(bundle.repository.store)
        self._whole_history = history
        self.commits = 0
        self.files = 0

    def run(self) -> Iterator[Finding]:
        """Every finding; damage that stops one check does not stop the next."""
        steps: tuple[tuple[Check, Callable[[], Iterator[Finding]]], ...] = (
            ("refs", partial(self._damage, "refs", fsck.check_head)),
            ("objects", partial(self._damage, "objects", fsck.check_objects)),
            ("index", partial(self._damage, "index", fsck.check_index)),
            ("files", self._files),
            ("trailers", self._commits),
            ("journal", self._journals),
            ("work tree", self._work_tree),
        )
        for name, step in steps:
            try:
                yield from step()
            except GitMemError as error:
                yield Finding(name, "", f"The check stopped: {error}")

    def _damage(self, name: Check, check: Callable[[Repository], Iterator[fsck.Damage]]) -> Iterator[Finding]:
        for damage in check(self._repository):
            yield Finding(name, damage.where, damage.what)

    def _files(self) -> Iterator[Finding]:
        from gitmem.okf import validate

        tree = self._repository.tree(self._repository.tip())
        names: list[str] = []
        for path, entry in tree.files():
            self.files += 1
            names.append(path)
            yield from self._file(path, entry.mode, entry.oid, "")
        for first, second in validate.collisions(names):
            yield Finding("paths", second, f"On a disk that ignores case it is the same as {first}.")
        for path in (layout.INDEX, layout.CONFIG_AGENT):
            if path not in tree:
                yield Finding("files", path, "It is missing, and every bundle has one.")

    def _file(self, path: str, mode: int, oid: Oid, where: str) -> Iterator[Finding]:
        from gitmem.git.tree import MAX_FILE_BYTES
        from gitmem.okf import validate

        try:
            data = b"" if mode == 0o160000 else self._repository.store.blob(oid)
        except GitMemError:
            return  # told by the check of objects
        for reason in validate.reasons(path, mode, data, limit=MAX_FILE_BYTES):
            yield Finding("files", path, reason + where)

    def _commits(self) -> Iterator[Finding]:
        tip = self._repository.tip()
        seen: set[tuple[str, Oid]] = set()
        for commit in graph.walk(self._repository, tip) if tip else ():
            self.commits += 1
            if commit.committer.name == "gitmem":
                yield from _trailers(commit)
            if self._whole_history:
                yield from self._introduced(commit, seen)

    def _introduced(self, commit: Commit, seen: set[tuple[str, Oid]]) -> Iterator[Finding]:
        """Yield what a commit brought in, checked as at the tip."""
        for change in self._diff.of_commit(commit):
            if change.new is not None and (change.path, change.new.oid) not in seen:
                seen.add((change.path, change.new.oid))
                where = f" (commit {commit.oid[:12]})"
                yield from self._file(change.path, change.new.mode, change.new.oid, where)

    def _journals(self) -> Iterator[Finding]:
        import os

        if not os.path.isdir(self._bundle.journal_dir):
            return
        from gitmem.memory.capture.journal import abandoned

        for journal in abandoned(self._bundle.journal_dir):
            for problem in journal.problems:
                yield Finding("journal", journal.uuid, problem)
            journal.release()

    def _work_tree(self) -> Iterator[Finding]:
        self._repository.refuse_if_busy()
        told: set[str] = set()
        for edit in self._bundle.hand_edits():
            if edit.path not in told:
                told.add(edit.path)
                problem = f"It {edit.problem}." if edit.problem else "It differs from the newest commit."
                yield Finding("work tree", edit.path, f"{problem} See `gitmem diff` and `gitmem commit`.")


def _trailers(commit: Commit) -> Iterator[Finding]:
    """Yield what a commit of gitmem's own says about itself."""
    kinds = trailers_of(commit.message).get("Kind", ())
    where = commit.oid[:12]
    if len(kinds) != 1:
        yield Finding("trailers", where, f"It has {len(kinds)} Kind trailers instead of one.")
    elif kinds[0] not in KINDS:
        yield Finding("trailers", where, f"Its Kind {kinds[0]!r} is none that gitmem writes.")
    elif not commit.subject.startswith(f"{kinds[0]}: "):
        yield Finding("trailers", where, f"Its subject does not begin with its Kind {kinds[0]!r}.")
