"""Joining another line of history with ours: a fast-forward, or the merge commit that every machine makes alike."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gitmem.errors import InvalidContent
from gitmem.git.ancestry import merge_bases
from gitmem.git.objects import Oid
from gitmem.git.transaction import Draft, HandEditsInTheWay, publish
from gitmem.memory.sync.merge import merge_author, merge_commits, merge_message

if TYPE_CHECKING:
    from gitmem.git.tree import Tree
    from gitmem.memory.bundle import Bundle


def join(bundle: Bundle, theirs: Oid, *, allow_unrelated: bool = False) -> None:
    """Bring a commit that is in our store into `main`. The checks are the caller's, and come before."""
    repository = bundle.repository

    def plan(ours_tree: Tree) -> Draft | None:
        ours = bundle.tip
        bases = merge_bases(repository, ours, theirs)
        if bases == [theirs]:
            return None
        who = merge_author(repository, ours, theirs)
        if bases == [ours]:
            wanted = repository.tree(theirs)
            forward = {change.path: change.new for change in ours_tree.changes(wanted)}
            return Draft(forward, merge_message(ours, theirs), who, who, adopts=theirs)
        edits = merge_commits(repository, ours, theirs, allow_unrelated=allow_unrelated, bases=bases)
        return Draft(edits.finished(), merge_message(ours, theirs), who, who, merges=theirs)

    for _ in range(20):
        try:
            publish(repository, plan, purpose="sync")
        except HandEditsInTheWay as stop:
            bundle.take_in(stop.edits)
        else:
            return
    raise InvalidContent("A file keeps changing under our hands: close the program that edits it.")
