"""What comes from a remote is looked at before any of it enters: objects, paths, sizes, OKF, content."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from gitmem.errors import GitMemError, RefusedFetch
from gitmem.git.ancestry import is_ancestor
from gitmem.git.objects import EMPTY_TREE, Oid, TreeEntry
from gitmem.git.refs import SNAPSHOTS, check_ref_name
from gitmem.git.repository import Repository
from gitmem.git.tree import MAX_FILE_BYTES
from gitmem.git.untrusted_trees import UntrustedTrees
from gitmem.memory.gate.admission import judge_incoming
from gitmem.memory.gate.holding import Flagged
from gitmem.okf import layout, validate
from gitmem.okf.files import open_file

MAX_COMMITS = 200_000


@dataclass(slots=True)
class Checked:
    """What was looked at: how much, and which entries must be held back."""

    commits: int = 0
    files: int = 0
    entries: int = 0
    flagged: list[Flagged] = field(default_factory=list)
    secrets: list[tuple[str, str]] = field(default_factory=list)
    """Path and kind of what looks like a secret in a new entry."""


def check_incoming(room: Repository, tip: Oid, commits: list[Oid], known: Oid | None) -> Checked:
    """Look at every new commit and at all that differs from what we know; raises RefusedFetch.

    `room` is the throw-away repository with what was fetched; `known` the commit to compare with.
    """
    done = Checked()
    if len(commits) > MAX_COMMITS:
        raise RefusedFetch(
            f"The remote sends {len(commits):,} commits at once: at most {MAX_COMMITS:,} are taken."
        )
    trees = UntrustedTrees(room.store)
    seen: set[Oid] = set()
    for oid in reversed(commits):
        done.commits += 1
        for change in trees.of_commit(room.store.commit(oid)):
            if change.new is not None and change.new.oid not in seen:
                seen.add(change.new.oid)
                _check_blob(room, change.path, change.new)
    done.files, trees.files = trees.files, 0
    before = room.store.commit(known).tree if known else EMPTY_TREE
    for change in trees.changes(before, room.store.commit(tip).tree):
        if change.new is not None:
            _check_content(room, change.path, change.old, change.new, done)
    return done


def check_snapshots(room: Repository, main: Oid, snapshots: Mapping[str, Oid]) -> None:
    """A snapshot names a commit of the history that was looked at, or the fetch is refused."""
    for name, oid in snapshots.items():
        try:
            check_ref_name(SNAPSHOTS + name)
            commit, _ = room.store.peel(oid)
            known = is_ancestor(room, commit, main)
        except GitMemError as error:
            raise RefusedFetch(f"The remote sent an invalid snapshot: {error}") from error
        if not known:
            raise RefusedFetch(f"The remote's snapshot {name!r} names a commit that is not in its memory.")


def _check_blob(room: Repository, path: str, entry: TreeEntry) -> None:
    kind, size = room.store.measure(entry.oid)
    if kind != b"blob":
        raise RefusedFetch(f"The remote sends a {kind.decode()} as the file {path!r}.")
    if size > MAX_FILE_BYTES:
        raise RefusedFetch(
            f"The remote sends {path!r} with {size >> 20} MB: at most {MAX_FILE_BYTES >> 20} are taken."
        )


def _check_content(room: Repository, path: str, old: TreeEntry | None, new: TreeEntry, done: Checked) -> None:
    data = room.store.blob(new.oid)
    for violation in validate.check_file(path, data):
        raise RefusedFetch(
            f"The remote's {path!r} is not valid: {violation.reason} Repair it where it was written, then sync."
        )
    if layout.is_generated(path):
        return
    before = open_file(path, room.store.blob(old.oid) if old else None).entries
    for key, entry in open_file(path, data).entries.items():
        was = before.get(key)
        if was is not None and was.text == entry.text:
            continue
        done.entries += 1
        held, result, secrets = judge_incoming(path, entry.text)
        if held:
            done.flagged.append(Flagged(path, entry, result))
        done.secrets += [(path, secret.kind) for secret in secrets[:1]]
