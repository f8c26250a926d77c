"""The fold: any number of branches of one memory as one commit, the same whoever folds the same branches.

No clock, no setting and no verdict enters it. The steps are merged by halves: one after the other, each would look again at
all that the ones before it brought.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from functools import cache
from typing import TYPE_CHECKING

from gitmem.errors import GitMemError, UnrelatedHistories
from gitmem.git.commit_graph import bases_of_groups, maximal
from gitmem.git.message import Message, trailers_of
from gitmem.git.objects import GitObject, Oid, Person, parse_tree, render_commit
from gitmem.git.repository import Repository
from gitmem.okf.plain import plain

if TYPE_CHECKING:
    from gitmem.git.tree import Tree
    from gitmem.memory.bundle import Arriving
    from gitmem.memory.history.log import LogEntry

MERGE_EMAIL = "merge@gitmem"
"""Of the author of every merge that gitmem makes, on whatever machine."""
_FEW_MACHINES = 2
_LONGEST_NAME = 24
_TWO = 2
_PATIENCE = 1.0
"""Seconds of processor time that a view may take to recognise merges."""


def folded(repository: Repository, tips: Iterable[Oid], *, allow_unrelated: bool = False) -> Oid:
    """The commit that has all of these: one of them where it stands on the others, else their merge, which is written.

    The checks are the caller's, and were made before.
    """
    parents = maximal(repository, tips)
    if len(parents) == 1:
        return parents[0]
    *below, merge = _merged(repository, parents, allow_unrelated=allow_unrelated)
    repository.store.write([*below, merge])
    return merge.oid


def _merged(repository: Repository, parents: Sequence[Oid], *, allow_unrelated: bool) -> list[GitObject]:
    """The objects of the merge of these commits, itself the last; nothing is written."""
    from gitmem.memory.sync.merge import Bases, merge_trees  # here: every view of the log looks for folds

    with repository.store.staging() as staged:
        bases = Bases(repository, staged)

        def joined(tips: Sequence[Oid]) -> Tree:
            if len(tips) == 1:
                return repository.tree(tips[0])
            left, right = tips[: len(tips) // 2], tips[len(tips) // 2 :]
            common = bases_of_groups(repository, left, right)
            if not common and not allow_unrelated:
                raise UnrelatedHistories(
                    "The remote holds another memory: the two have no commit in common.",
                    hint="To join them for good, run `gitmem sync --allow-unrelated`.",
                )
            one, other = joined(left), joined(right)
            tree, objects = one.apply(merge_trees(bases.tree(common), one, other).finished())
            staged.update((made.oid, made) for made in objects)
            return tree

        tree = joined(parents)
        moment = max(repository.store.commit(one).committer.time for one in parents)
        who = Person("gitmem", MERGE_EMAIL, moment)  # nothing of the machine enters a merge
        merge = render_commit(tree.oid, parents, who, who, fold_message(repository, parents).render())
        return [*_below(tree.oid, staged), merge]


def without_folds(repository: Repository, entries: Iterable[LogEntry]) -> Iterator[LogEntry]:
    """Leave out the commits that only merge their parents: what they have is in the others.

    That a commit says so proves nothing. It is merged again and compared, within a limit of processor time; what is not
    proven by then is left in.
    """
    until = time.process_time() + _PATIENCE
    for entry in entries:
        commit, merge = entry.commit, ""
        claims = commit.author.email == MERGE_EMAIL and len(commit.parents) >= _TWO
        if claims and time.process_time() <= until:
            with suppress(GitMemError):
                merge = _merged(repository, commit.parents, allow_unrelated=False)[-1].oid
        if merge != commit.oid:
            yield entry


def arriving(
    repository: Repository, theirs: Sequence[Oid], remote: str, *, allow_unrelated: bool = False
) -> Arriving:
    """Commits of a remote, which are in our store, as something that `main` moves over."""

    @cache
    def onto(ours: Oid) -> tuple[Oid, Message | None]:
        commit = folded(repository, [ours, *theirs], allow_unrelated=allow_unrelated)
        return commit, Message("sync", f"from {remote}") if commit in theirs else None

    return onto


def fold_message(repository: Repository, parents: Iterable[Oid]) -> Message:
    """Say whose branches a merge joins: it depends on its parents alone, so that every machine says the same."""
    tips = [trailers_of(repository.store.commit(oid).message) for oid in parents]
    machines = sorted({plain(name)[:_LONGEST_NAME] for one in tips for name in one.get("Machine", ())})
    whose = f"{len(machines)} machines" if len(machines) > _FEW_MACHINES else ", ".join(machines)
    return Message("merge", f"{len(tips)} branches" + (f" of {whose}" if whose else ""))


def _below(root: Oid, staged: dict[Oid, GitObject]) -> list[GitObject]:
    """The objects of a tree that are not written yet; what the steps on the way made is left out."""
    found: dict[Oid, GitObject] = {}
    todo = [root]
    while todo:
        made = staged.get(todo.pop())
        if made is not None and made.oid not in found:
            found[made.oid] = made
            if made.type == b"tree":
                todo += [entry.oid for entry in parse_tree(made.content).values()]
    return list(found.values())
