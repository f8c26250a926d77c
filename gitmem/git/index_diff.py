"""What is staged: the files that the next plain `git commit` would change."""

from __future__ import annotations

import os
import subprocess
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
    for file in _records(repository, index_path):
        names.append(file.path)
        entry = known.get(file.path)
        if entry is None or entry.oid != file.oid or entry.mode != file.mode:
            changed.append(file)
    return changed, names


def _records(repository: Repository, index_path: str) -> Iterator[StagedFile]:
    if not os.path.exists(index_path):
        return
    index = git_index.load(index_path)
    if index is None:
        yield from _told_by_git(repository, index_path)
        return
    for place, name in enumerate(index.names):
        yield StagedFile(path_text(name), index.mode(place), index.oid(place))


def _told_by_git(repository: Repository, index_path: str) -> Iterator[StagedFile]:
    """Of an index in a form that gitmem does not read (version 4, split): ask git."""
    from gitmem.git.stand_in import stand_in

    try:
        with stand_in(repository, index=index_path) as git:
            done = git.git("ls-files", "-s", "-z", timeout=60)
        done.check_returncode()
    except (OSError, subprocess.SubprocessError) as error:
        raise BundleUnusable(f"Git's index cannot be read ({error}).", hint="Run `gitmem check`.") from error
    for line in done.stdout.split(b"\0"):
        about, _, name = line.partition(b"\t")
        if name:
            mode, oid, _ = about.split(b" ")
            yield StagedFile(path_text(name), int(mode, 8), oid.decode())
