"""One repository with its work tree, as the rest of the git room sees it."""

from __future__ import annotations

import os
import shlex
from collections.abc import Callable, Mapping
from functools import cached_property
from types import MappingProxyType
from typing import TYPE_CHECKING

from gitmem.errors import BundleBusy, BundleUnusable
from gitmem.git.objects import Oid
from gitmem.git.refs import BRANCH, Refs
from gitmem.git.store import ObjectStore
from gitmem.git.tree import Tree
from gitmem.state import LocalState

if TYPE_CHECKING:
    from gitmem.git.recovery import NoteFile
    from gitmem.git.worktree import WorkTree
    from gitmem.git.worktree_status import IndexFile
    from gitmem.locks import Lock

_UNDER_WAY = {
    "MERGE_HEAD": "A merge",
    "CHERRY_PICK_HEAD": "A cherry-pick",
    "REVERT_HEAD": "A git revert",
    "rebase-merge": "A rebase",
    "rebase-apply": "A rebase",
    "BISECT_LOG": "A bisect",
}


_NO_ENVIRONMENT = MappingProxyType({"PATH": os.defpath})


class Repository:
    """A git repository with a work tree that gitmem writes to.

    `on_stage` is called with the progress of a commit ("objects", "acknowledged", "work tree",
    "index"): benchmarks measure by it and fault tests stop there.
    """

    def __init__(self, root: str, git_dir: str, env: Mapping[str, str] = _NO_ENVIRONMENT) -> None:
        self.root = root
        self.git_dir = git_dir
        self.env = env or _NO_ENVIRONMENT
        """The environment of the git program, where it is asked to do something here."""
        self.state = LocalState(git_dir)
        self.clocks = self.state
        """Where it is noted how wrong the clocks are; a throw-away repository asks that of its lender."""
        self.refs = Refs(git_dir, lambda: self.lock.hold("a ref"))
        self.store = ObjectStore(git_dir, self.state)
        self.has_files = True
        """Whether a commit writes the work tree and git's index; not while the repository is made."""
        self.on_stage: Callable[[str], None] = lambda _: None
        self.is_foreign = False
        """Whether it was made by others: nothing is written, and what it says of itself is a claim."""

    def only_read(self, state: LocalState) -> None:
        """Take the repository for another's: with that state instead of its own, and no lock for a writer."""
        self.is_foreign = True
        self.state = self.clocks = state
        self.store = ObjectStore(self.git_dir, state)

    @property
    def scratch(self) -> str:
        """The directory for this process's scratch files."""
        return self.state.scratch

    # Imported when they are asked for: reading the history needs none of them.

    @cached_property
    def worktree(self) -> WorkTree:
        from gitmem.git.worktree import WorkTree

        return WorkTree(self.root, self.git_dir, self.store, self.state)

    @cached_property
    def index_file(self) -> IndexFile:
        from gitmem.git.worktree_status import IndexFile

        return IndexFile(self.git_dir, self.worktree, self.note)

    @cached_property
    def lock(self) -> Lock:
        """The bundle lock: one writer at a time."""
        if self.is_foreign:
            raise BundleUnusable(
                f"{self.root} is not in your list of memories: it is only read.",
                hint=f"If it is yours, run `gitmem trust {shlex.quote(self.root)}`.",
            )
        return self.state.lock("bundle", "The bundle is in use by {owner}: try again when it is done.")

    @cached_property
    def note(self) -> NoteFile:
        """The note of the commit under way."""
        from gitmem.git.recovery import NoteFile

        return NoteFile(self.state)

    def tip(self) -> Oid | None:
        return self.refs.read(BRANCH)

    def tree(self, commit: Oid | None) -> Tree:
        """The files of a commit; an empty tree where there is none."""
        return Tree(self.store, self.store.commit(commit).tree) if commit else Tree(self.store)

    def refuse_if_busy(self) -> None:
        """Refuse where a commit on `main` would be wrong: another branch, a merge under way."""
        head = self.refs.head()
        if head != BRANCH:
            if not head:
                raise BundleUnusable("The file HEAD of this repository is lost or damaged.", hint=_LOST_HEAD)
            where = f"on branch {head.removeprefix('refs/heads/')}" if "/" in head else "detached"
            how = "Run `git checkout main` first."
            raise BundleUnusable(f"HEAD is {where}, and gitmem commits to main only.", hint=how)
        present = os.listdir(self.git_dir)
        for name, what in _UNDER_WAY.items():
            if name in present:
                raise BundleBusy(f"{what} is under way in this bundle: finish or abort it with git first.")


_LOST_HEAD = "`gitmem check --fix` writes it again: git itself does not know the repository without it."
