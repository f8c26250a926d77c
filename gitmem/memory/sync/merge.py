"""The merge of trees of one memory: whoever merges the same ones, in whatever order, gets the same tree."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import TYPE_CHECKING

from gitmem.git.commit_graph import merge_bases
from gitmem.git.objects import GitObject, Oid
from gitmem.git.refs import BRANCH
from gitmem.git.repository import Repository
from gitmem.git.tree import Tree
from gitmem.memory.edits import Edits
from gitmem.memory.retraction import Retracted as RetractedIn
from gitmem.okf import layout, paths
from gitmem.okf.merge import Merged, Retracted, beside, merge_file

if TYPE_CHECKING:
    from gitmem.git.tree import TreeChange

_RETRACTIONS = "retractions/"
_DEEPEST = 8
_MOST_MERGES = 100


class Bases:
    """One tree for several merge bases: they are merged with the same rule, in order of their ids.

    Each set of bases is merged once, and at most so many: a history may be made so that each level doubles the one below.
    """

    def __init__(self, repository: Repository, staged: dict[Oid, GitObject]) -> None:
        """`staged` takes the objects that are made on the way."""
        self._repository = repository
        self._staged = staged
        self._made: dict[tuple[Oid, ...], Tree] = {}
        self._left = _MOST_MERGES

    def tree(self, bases: Sequence[Oid], depth: int = 0) -> Tree:
        asked = tuple(bases)
        if asked not in self._made:
            self._made[asked] = self._merged(asked, depth)
        return self._made[asked]

    def _merged(self, bases: tuple[Oid, ...], depth: int) -> Tree:
        repository = self._repository
        tree = repository.tree(bases[0] if bases else None)
        for one, other in pairwise(bases):
            if not self._left:
                break
            self._left -= 1
            inner = merge_bases(repository, one, other) if depth < _DEEPEST else []
            edits = merge_trees(self.tree(inner, depth + 1), tree, repository.tree(other))
            tree, objects = tree.apply(edits.finished())
            self._staged.update((one.oid, one) for one in objects)
        return tree


def merge_trees(base: Tree, ours: Tree, theirs: Tree) -> Edits:
    """Edits over `ours` that make it the merge; from the other side they make the same tree."""
    left = {change.path: change for change in base.changes(ours)}
    right = {change.path: change for change in base.changes(theirs)}
    edits = Edits(ours)
    for path in sorted(path for path in left.keys() | right.keys() if path.startswith(_RETRACTIONS)):
        _merge_path(edits, path, base, ours, theirs, lambda _: False)
    retracted = RetractedIn(edits).has
    # What only we changed is looked at too: the other side may have retracted it.
    for path in sorted(left.keys() | right.keys()):
        is_index = path.rpartition("/")[2] == layout.INDEX
        if not path.startswith(_RETRACTIONS) and not is_index:
            _merge_path(edits, path, base, ours, theirs, retracted)
    _part_collisions(edits, left, right)
    edits.refresh_pages({*left, *right})
    return edits


def _merge_path(edits: Edits, path: str, base: Tree, ours: Tree, theirs: Tree, retracted: Retracted) -> None:
    present = ours.read(path)
    merged = merge_file(path, base.read(path), present, theirs.read(path), retracted)
    if merged.data != present:
        if merged.data is None:
            edits.remove(path)
        else:
            edits.put(path, merged.data)
    for name, data in merged.beside.items():
        edits.put(name, data)


def _part_collisions(edits: Edits, left: dict[str, TreeChange], right: dict[str, TreeChange]) -> None:
    """Two paths that some file systems take for one, or a file where the other side has a directory."""
    added_there = [path for path, change in right.items() if change.old is None and path in edits]
    added_here = {path for path, change in left.items() if change.old is None}
    for path in sorted(added_there):
        rival = _rival(edits, path)
        if rival is not None:
            loser = max(path, rival)
            data = edits.read(loser)
            if data is not None:
                edits.remove(loser)
                edits.put(beside(loser, data), data)
    for path in sorted({*added_there, *added_here}):
        parent = path.rpartition("/")[0]
        while parent:
            data = edits.read(parent)
            if data is not None:  # a file stands where this path needs a directory
                edits.remove(parent)
                edits.put(beside(parent, data), data)
            parent = parent.rpartition("/")[0]


def _rival(edits: Edits, path: str) -> str | None:
    directory, slash, name = path.rpartition("/")
    folded = paths.fold(name)
    for other in edits.names(directory):
        if other != name and paths.fold(other) == folded:
            return f"{directory}{slash}{other}"
    return None


def merge_versions(
    repository: Repository, path: str, base: bytes | None, ours: bytes | None, theirs: bytes | None
) -> Merged:
    """One file for a merge that plain git makes; what either side retracted stays out."""
    heads = [repository.refs.read(BRANCH), repository.refs.read("MERGE_HEAD")]
    trees = [repository.tree(head) for head in heads if head]
    return merge_file(path, base, ours, theirs, RetractedIn(*trees).has)
