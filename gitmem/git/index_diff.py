"""What is staged: the files that the next plain `git commit` would change."""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass

from gitmem.errors import BundleUnusable
from gitmem.git import git_index
from gitmem.git.objects import Oid, path_text
from gitmem.git.repository import Repository


@dataclass(frozen=True, slots=True)
class StagedFile:
    """A file as the index has it."""

    path: str
    mode: int
    oid: Oid


def staged_files(repository: Repository, index_path: str) -> tuple[list[StagedFile], list[str]]:
    """Files that an index adds to or changes in HEAD's commit, and all paths of the index.

    `index_path` is the one git works with: for `git commit <paths>` that is a temporary one.
    """
    head = repository.refs.read("HEAD")
    known = dict(repository.tree(head).files())
    changed: list[StagedFile] = []
    names: list[str] = []
    for file in _records(index_path):
        names.append(file.path)
        entry = known.get(file.path)
        if entry is None or entry.oid != file.oid or entry.mode != file.mode:
            changed.append(file)
    return changed, names


def _records(index_path: str) -> Iterator[StagedFile]:
    if not os.path.exists(index_path):
        return
    index = git_index.load(index_path)
    if index is None:
        raise BundleUnusable(
            "Git's index is split, sparse or damaged: gitmem does not read it.",
            hint="Run `git update-index --no-split-index`, or `git reset` if git cannot read it either.",
        )
    for place, name in enumerate(index.names):
        yield StagedFile(path_text(name), index.mode(place), index.oid(place))
