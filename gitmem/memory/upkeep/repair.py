"""What plain git leaves where our merge driver was not in place: a merge under way, or markers in a file."""

from __future__ import annotations

import re
import subprocess
from collections.abc import Mapping
from itertools import islice
from typing import TYPE_CHECKING

from gitmem.errors import BundleBusy, InvalidContent
from gitmem.git.commit_graph import only_in, walk
from gitmem.git.message import Message
from gitmem.git.stand_in import stand_in
from gitmem.memory.gate.admission import retracted_in
from gitmem.memory.provenance import note_pulled
from gitmem.memory.sync.fold import MERGE_EMAIL, arriving
from gitmem.memory.sync.inspect import check_incoming
from gitmem.memory.sync.keeping import settle
from gitmem.memory.sync.merge import base_of
from gitmem.memory.upkeep.git_hooks import PLAIN_PULL
from gitmem.okf import validate
from gitmem.okf.merge import merge_file

if TYPE_CHECKING:
    from gitmem.git.objects import Oid
    from gitmem.git.tree import Tree
    from gitmem.memory.bundle import Bundle
    from gitmem.memory.edits import Edits

_FAR = 1_000
_PATIENCE = 600.0
_LINE = re.compile(rb"[^\n]*\n|[^\n]+")


def sides_of(data: bytes) -> tuple[bytes, bytes] | None:
    """The two versions that a file with conflict markers was made of; None where it has none."""
    ours: list[bytes] = []
    theirs: list[bytes] = []
    left: list[bytes] = []  # lines of ours in a conflict that may turn out to be none
    right: list[bytes] = []
    whole: list[bytes] = []
    found, where = False, "outside"
    for line in _LINE.findall(data) if b"<<<<<<< " in data else ():
        whole.append(line)
        if where == "outside":
            if line.startswith(b"<<<<<<< ") and line.endswith(b"\n"):
                where, left, right, whole = "ours", [], [], [line]
            else:
                ours.append(line)
                theirs.append(line)
        elif where != "theirs" and line == b"=======\n":
            where = "theirs"
        elif where == "ours" and line.startswith(b"|||||||"):
            where = "base"
        elif where == "theirs" and line.startswith(b">>>>>>> "):
            ours += left
            theirs += right
            found, where = True, "outside"
        elif where != "base":
            (left if where == "ours" else right).append(line)
    if where != "outside":  # the last one does not end: it is what the file says
        ours += whole
        theirs += whole
    return (b"".join(ours), b"".join(theirs)) if found else None


def broken_files(bundle: Bundle) -> dict[str, Oid]:
    """Files that a merge by plain git left with conflict markers or unreadable, each with that merge.

    A note that only tells of such markers came by an ordinary commit, and is left alone.
    """
    repository = bundle.repository
    tip = bundle.tree()
    found: dict[str, Oid] = {}
    for commit in islice(walk(repository, bundle.tip), _FAR):
        if len(commit.parents) < 2 or commit.author.email == MERGE_EMAIL:
            continue
        tree = repository.tree(commit.oid)
        parents = [repository.tree(parent) for parent in commit.parents]
        for change in parents[0].changes(tree):
            data = tip.read(change.path)
            if change.path in found or data is None or change.new is None:
                continue
            if change.new in [parent.entry(change.path) for parent in parents]:
                continue
            is_unread = tip.entry(change.path) == change.new and any(validate.check_file(change.path, data))
            if sides_of(data) is not None or is_unread:
                found[change.path] = commit.oid
    return found


def mend_files(bundle: Bundle, broken: Mapping[str, Oid]) -> str:
    """Merge these files as a sync would have done, in one commit: nothing of either side is lost."""
    repository = bundle.repository
    trees: dict[Oid, list[Tree]] = {}
    for oid in set(broken.values()):
        ours, theirs = repository.store.commit(oid).parents[:2]
        trees[oid] = [base_of(repository, ours, theirs), repository.tree(ours), repository.tree(theirs)]

    def work(edits: Edits) -> Message | None:
        retracted = retracted_in(edits)
        for path, oid in broken.items():
            data = edits.read(path)
            untouched = data == repository.tree(oid).read(path)
            sides = sides_of(data or b"")
            if untouched or sides is None:
                base, ours, theirs = (tree.read(path) for tree in trees[oid])
                merged = merge_file(path, base, ours, theirs, retracted)
            else:  # somebody worked on the file since: what is in it is what there is
                merged = merge_file(path, None, *sides, retracted)
            for name, other in merged.beside.items():
                edits.put(name, other)
            if merged.data is not None and _is_sound(path, merged.data):
                edits.put(path, merged.data)
        edits.refresh_pages(broken)
        return Message("recover", f"{len(broken)} files merged that plain git left in conflict")

    bundle.commit(work, purpose="doctor", origin=bundle.origin(reason="a merge without the merge driver"))
    return "Both sides are merged, entry by entry."


def _is_sound(path: str, data: bytes) -> bool:
    return sides_of(data) is None and not any(validate.check_file(path, data))


def finish_merge(bundle: Bundle) -> None:
    """Put our merge in the place of one that plain git began and could not finish."""
    theirs = bundle.repository.refs.read("MERGE_HEAD")
    if theirs is None:
        return
    _check(bundle, theirs)
    try:
        with stand_in(bundle.repository) as git:
            done = git.git("merge", "--abort", timeout=_PATIENCE, with_files=True)
    except (OSError, subprocess.TimeoutExpired) as error:
        raise BundleBusy(f"The merge cannot be taken back by git ({error}): do it by hand.") from error
    if done.returncode:
        told = done.stderr.decode("utf-8", "replace").strip().splitlines()
        raise BundleBusy(f"The merge cannot be taken back ({told[-1] if told else 'git gave no reason'}).")
    bundle.repository.store.close()
    note_pulled(bundle.repository, theirs, bundle.tip, PLAIN_PULL)
    settle(bundle, PLAIN_PULL, arriving=arriving(bundle.repository, [theirs], PLAIN_PULL))


def _check(bundle: Bundle, theirs: Oid) -> None:
    """What plain git fetched nobody has looked at yet."""
    tip = bundle.tip
    checked = check_incoming(bundle.repository, theirs, only_in(bundle.repository, theirs, tip), tip)
    for flag in checked.flagged:
        raise InvalidContent(
            f"{flag.path} holds an entry that the scanner blocks.",
            hint="Run `git merge --abort`, then `gitmem sync`, which holds it back.",
        )
