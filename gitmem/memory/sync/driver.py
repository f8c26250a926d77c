"""The merge driver: one file for a merge that plain git makes, by the same code as our own."""

from __future__ import annotations

from gitmem.git.refs import BRANCH
from gitmem.git.repository import Repository
from gitmem.memory.gate.admission import retracted_in
from gitmem.okf.merge import Merged, merge_file


def merge_versions(
    repository: Repository, path: str, base: bytes | None, ours: bytes | None, theirs: bytes | None
) -> Merged:
    """The merged file; what either side retracted stays out."""
    heads = [repository.refs.read(BRANCH), repository.refs.read("MERGE_HEAD")]
    trees = [repository.tree(head) for head in heads if head]
    return merge_file(path, base, ours, theirs, retracted_in(*trees))
