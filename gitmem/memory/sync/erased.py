"""Sync across an erase: a remote that still has the old history, and one whose receipts explain a new one."""

from __future__ import annotations

import os
import shutil
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from gitmem.git.commit_graph import only_in
from gitmem.git.objects import GitObject, Oid
from gitmem.git.refs import SNAPSHOTS
from gitmem.git.rewrite import reachable
from gitmem.git.transport import Fetched, ThrowAway
from gitmem.git.tree_diff import TreeDiff
from gitmem.memory.erase.eraser import Eraser
from gitmem.memory.erase.following import new_receipts, rewritten, rules_for
from gitmem.okf import layout
from gitmem.okf.files import open_file
from gitmem.state import ERASED_COMMITS

if TYPE_CHECKING:
    from gitmem.git.repository import Repository
    from gitmem.memory.bundle import Bundle
    from gitmem.okf.erasures import Receipt


def receipts_of(repository: Repository) -> list[Receipt]:
    """The receipts that `main` has."""
    from gitmem.okf.erasures import receipts_in

    return receipts_in(repository.tree(repository.tip()).read(layout.CONFIG_ERASED))


def erased_commits(bundle: Bundle) -> dict[Oid, Oid]:
    """Return what erases here rewrote: each commit and tag, and what it is now."""
    found: dict[Oid, Oid] = {}
    for line in bundle.state.read_text(ERASED_COMMITS).splitlines():
        old, _, new = line.partition(" ")
        found[old] = new
    return found


def translated(bundle: Bundle, room_dir: ThrowAway, room: Repository, fetched: Fetched) -> Fetched:
    """Return what a remote has, with the new commits in the place of those that an erase here rewrote.

    What others committed on top of the old history is rewritten too, before any of it enters. The throw-away
    repository then holds what is new of that, and nothing of the old.
    """
    known = erased_commits(bundle)
    if not known or fetched.main is None:
        return fetched
    old = [oid for oid in only_in(room, fetched.main, bundle.tip) if oid in known]
    if not old and not known.keys() & set(fetched.snapshots.values()):
        return fetched
    ids, made = known, dict[Oid, GitObject]()
    unknown = [oid for oid in (fetched.main, *fetched.snapshots.values()) if oid not in known]
    if old and unknown:
        receipts = receipts_of(bundle.repository)
        done = rewritten(
            room, unknown, rules_for(room, [room.store.peel(oid)[0] for oid in unknown], receipts)
        )
        ids, made = {**done.commits, **done.tags, **known}, done.objects
    main = ids.get(fetched.main, fetched.main)
    ours = {oid: ref.removeprefix(SNAPSHOTS) for ref, oid in bundle.repository.refs.under(SNAPSHOTS).items()}
    snapshots: dict[str, Oid] = {}
    for name, oid in fetched.snapshots.items():
        new = ids.get(oid, oid)
        # A name may have told what was erased: ours is another then.
        snapshots[ours.get(new, name) if new != oid else name] = new
    keep_only(room_dir, room, bundle.repository, {main, *snapshots.values()}, made)
    return Fetched(main, snapshots, there=fetched)


def keep_only(
    room_dir: ThrowAway, room: Repository, ours: Repository, tips: set[Oid], made: Mapping[Oid, GitObject]
) -> None:
    """Let the throw-away repository hold what we lack of these commits, and nothing else that was fetched."""
    lacking = [oid for oid in reachable(room.store, tips, made) if oid not in ours.store]
    objects = [made.get(oid) or GitObject(*room.store.read(oid), oid) for oid in lacking]
    room.store.close()
    for name in os.listdir(room_dir.objects):
        if name != "info":
            shutil.rmtree(os.path.join(room_dir.objects, name))
    os.mkdir(os.path.join(room_dir.objects, "pack"))
    if objects:
        room.store.write(objects)
    room.store.close()


def follow(bundle: Bundle, room: Repository, last: Oid, main: Oid) -> bool:
    """Erase here what a remote's receipts say, if that explains how it was rewritten; else nothing is changed."""
    receipts = new_receipts(room, main, bundle.tip)
    there = set(only_in(room, main, None))
    with bundle.writing("erase"):
        eraser = Eraser(bundle)
        plan = eraser.plan(rules_for(bundle.repository, eraser.commits(), receipts))
        if plan.done.commits.get(last, last) not in there:
            return False
        eraser.carry_out(plan)
    eraser.look_again(plan.rules)
    return True


def erase_by_receipts(bundle: Bundle) -> None:
    """Erase from what was made here what the receipts that came name."""
    with bundle.writing("erase"):
        eraser = Eraser(bundle)
        rules = rules_for(bundle.repository, eraser.commits(), receipts_of(bundle.repository))
        plan = eraser.plan(rules)
        eraser.carry_out(plan)
    eraser.look_again(plan.rules)


def erased_in_commits(repository: Repository, commits: Sequence[Oid]) -> tuple[Oid, str, Receipt] | None:
    """The first of these commits that brings something a receipt knows: with its path, and the receipt."""
    receipts = receipts_of(repository)
    diff = TreeDiff(repository.store)
    for oid in commits if receipts else ():
        commit = repository.store.commit(oid)
        for receipt in receipts:
            if next(receipt.found_in(commit.message), None):
                return oid, "its message", receipt
        for change in diff.of_commit(commit):
            if change.new is None or change.path == layout.CONFIG_ERASED:
                continue
            parts = open_file(change.path, repository.store.blob(change.new.oid)).parts.values()
            text = "\n".join([change.path, *(part.text for part in parts)])
            for receipt in receipts:
                if next(receipt.found_in(text), None):
                    return oid, change.path, receipt
    return None


def in_words(receipts: Sequence[Receipt]) -> str:
    """Return what receipts say, for people."""
    said = [
        f"{one.what} erased on {one.at[:10]} by {one.by}" + (f" ({one.reason})" if one.reason else "")
        for one in receipts
    ]
    return "; ".join(said)
