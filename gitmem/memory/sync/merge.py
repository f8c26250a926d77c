"""The merge of two histories of one memory: the same commit on every machine that makes it."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from itertools import pairwise
from typing import TYPE_CHECKING

from gitmem.errors import UnrelatedHistories
from gitmem.git.commit_graph import merge_bases, only_in
from gitmem.git.message import Message, trailers_of
from gitmem.git.objects import Oid, Person, render_commit
from gitmem.git.refs import BRANCH
from gitmem.git.repository import Repository
from gitmem.git.tree import Tree
from gitmem.memory.edits import Edits
from gitmem.memory.gate.admission import retracted_in
from gitmem.okf import layout, paths
from gitmem.okf.merge import Merged, Retracted, beside, merge_file
from gitmem.okf.plain import plain

if TYPE_CHECKING:
    from gitmem.git.tree_diff import TreeChange
    from gitmem.memory.bundle import Arriving

MERGE_EMAIL = "merge@gitmem"
"""Of the author of every merge that gitmem makes, on whatever machine."""
_RETRACTIONS = "retractions/"
_DEEPEST = 8
_FEW_MACHINES = 2
_LONGEST_NAME = 24
_MOST_MERGES = 100


def joined(repository: Repository, ours: Oid, theirs: Oid, *, allow_unrelated: bool = False) -> Oid:
    """The commit that has both: one of the two where it stands on the other, else their merge, which is written.

    The checks are the caller's, and were made before.
    """
    bases = merge_bases(repository, ours, theirs)
    if bases == [theirs]:
        return ours
    if bases == [ours]:
        return theirs
    edits = merge_commits(repository, ours, theirs, allow_unrelated=allow_unrelated, bases=bases)
    tree, objects = repository.tree(ours).apply(edits.finished())
    who = merge_author(repository, ours, theirs)
    message = merge_message(repository, ours, theirs).render()
    merge = render_commit(tree.oid, sorted((ours, theirs)), who, who, message)
    repository.store.write([*objects, merge])
    return merge.oid


def arriving(repository: Repository, theirs: Oid, remote: str, *, allow_unrelated: bool = False) -> Arriving:
    """A commit of a remote, which is in our store, as something that `main` moves over."""

    @cache
    def onto(ours: Oid) -> tuple[Oid, Message | None]:
        commit = joined(repository, ours, theirs, allow_unrelated=allow_unrelated)
        return commit, Message("sync", f"from {remote}") if commit == theirs else None

    return onto


def merge_commits(
    repository: Repository,
    ours: Oid,
    theirs: Oid,
    *,
    allow_unrelated: bool = False,
    bases: list[Oid] | None = None,
) -> Edits:
    """Edits over our tree that make it the merge of two commits; `bases` where they are known already."""
    if bases is None:
        bases = merge_bases(repository, ours, theirs)
    if not bases and not allow_unrelated:
        raise UnrelatedHistories(
            "The remote holds another memory: the two have no commit in common.",
            hint="To join them for good, run `gitmem sync --allow-unrelated`.",
        )
    base = _Folding(repository).tree(bases)
    return merge_trees(base, repository.tree(ours), repository.tree(theirs))


def base_of(repository: Repository, ours: Oid, theirs: Oid) -> Tree:
    """What two commits came from, as one tree."""
    return _Folding(repository).tree(merge_bases(repository, ours, theirs))


class _Folding:
    """One tree for several merge bases: they are merged with the same rule, in order of their ids.

    Each set of bases is merged once, and at most so many: a history may be made so that each level doubles the one below.
    """

    def __init__(self, repository: Repository) -> None:
        self._repository = repository
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
            repository.store.write(objects)  # only read from here; housekeeping drops them
        return tree


def merge_trees(base: Tree, ours: Tree, theirs: Tree) -> Edits:
    """Edits over `ours` that make it the merge; from the other side they make the same tree."""
    left = {change.path: change for change in base.changes(ours)}
    right = {change.path: change for change in base.changes(theirs)}
    edits = Edits(ours)
    for path in sorted(path for path in left.keys() | right.keys() if path.startswith(_RETRACTIONS)):
        _merge_path(edits, path, base, ours, theirs, lambda _: False)
    retracted = retracted_in(edits)
    # What only we changed is looked at too: the other side may have retracted it.
    for path in sorted(left.keys() | right.keys()):
        if not path.startswith(_RETRACTIONS) and not _is_index_page(path):
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


def _is_index_page(path: str) -> bool:
    return path.rpartition("/")[2] == layout.INDEX


def merge_versions(
    repository: Repository, path: str, base: bytes | None, ours: bytes | None, theirs: bytes | None
) -> Merged:
    """One file for a merge that plain git makes; what either side retracted stays out."""
    heads = [repository.refs.read(BRANCH), repository.refs.read("MERGE_HEAD")]
    trees = [repository.tree(head) for head in heads if head]
    return merge_file(path, base, ours, theirs, retracted_in(*trees))


def merge_message(repository: Repository, ours: Oid, theirs: Oid) -> Message:
    """What either side brings; the same on every machine, so it depends on the two commits alone."""
    first, second = sorted((ours, theirs))
    sides = (_side(repository, first, second), _side(repository, second, first))
    return Message("merge", " and ".join(sides))


def _side(repository: Repository, tip: Oid, other: Oid) -> str:
    """How many commits one side has that the other lacks, and of which machines."""
    machines: set[str] = set()
    count = 0
    for oid in only_in(repository, tip, other):
        trailers = trailers_of(repository.store.commit(oid).message)
        machines.update(plain(name)[:_LONGEST_NAME] for name in trailers.get("Machine", ()))
        count += 1
    whose = f"{len(machines)} machines" if len(machines) > _FEW_MACHINES else ", ".join(sorted(machines))
    many = "1 commit" if count == 1 else f"{count} commits"
    return f"{many} of {whose}" if whose else f"{many} up to {tip[:8]}"


def merge_author(repository: Repository, ours: Oid, theirs: Oid) -> Person:
    """A fixed name and the later parent's moment: nothing of the machine enters a merge."""
    moment = max(repository.store.commit(oid).committer.time for oid in (ours, theirs))
    return Person("gitmem", MERGE_EMAIL, moment)
