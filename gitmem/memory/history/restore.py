"""Restore: the tree of an earlier moment becomes a new commit on top; nothing is lost by it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING

from gitmem.errors import UnknownRevision
from gitmem.git.commit_graph import only_in
from gitmem.git.message import Message, kind_of
from gitmem.git.tree import Tree
from gitmem.memory.edits import Edits
from gitmem.memory.history.persons_removals import leave_out
from gitmem.memory.origin import Origin
from gitmem.memory.retraction import retracted_units, says_retracted
from gitmem.okf import layout, pages
from gitmem.okf.entries import Change
from gitmem.okf.files import open_file
from gitmem.okf.plain import Printed, brief

if TYPE_CHECKING:
    from gitmem.git.objects import Oid
    from gitmem.git.transaction import Published
    from gitmem.memory.bundle import Bundle

# What was taken out stays out, and what was erased stays erased, wherever one goes back to.
_KEPT = ("retractions/", layout.CONFIG_ERASED)


@dataclass(frozen=True)
class Restored(Printed):
    """Result of a restore, or of its dry run."""

    target: Oid
    edits: Edits | None = field(repr=False)
    withheld: int = 0
    """Entries that stay out: they were retracted since, or a person removed them and an agent asks."""
    published: Published | None = None
    dry_run: bool = False
    at: int = 0
    """When the state that it goes back to was committed, in seconds."""

    @cached_property
    def changes(self) -> tuple[Change, ...]:
        """Return what differs afterwards, in entries; read only when asked for, because it means reading files."""
        return tuple(self.edits.changes()) if self.edits is not None else ()

    @property
    def commit(self) -> str:
        """The commit that this made; empty where it changed nothing."""
        return self.published.commit.oid if self.published else ""

    def __repr__(self) -> str:
        return brief(self, target=self.target[:8], withheld=self.withheld, commit=self.commit[:8])


def restore(
    bundle: Bundle,
    revision: str,
    *,
    paths: Sequence[str] = (),
    everything: bool = False,
    dry_run: bool = False,
    origin: Origin,
) -> Restored:
    """Put what was known at a revision back, or all that is below some paths, as one commit on top.

    The record of conversations stays as it is, unless `everything` or a path of it is asked for.
    What waits in the buffers of this process is flushed first: it happened before the restore.
    """
    target = bundle.resolve(revision)
    if not dry_run:
        bundle.flush_buffers()
    wanted = bundle.repository.tree(target)
    paths = [path.rstrip("/") for path in paths]
    for path in paths:
        if path not in wanted and path not in bundle.tree():
            raise UnknownRevision(f"Neither {revision} nor the present has anything at {path!r}.")
    everything = everything and not paths
    done: Edits | None = None
    withheld = 0

    def work(edits: Edits) -> Message | None:
        nonlocal done, withheld
        done, withheld = None, 0
        has_retractions = bool(edits.directories("retractions"))
        for change in edits.tip.changes(wanted):
            path = change.path
            if path.startswith(_KEPT) or not _is_within(path, paths):
                continue
            if not everything and not paths and layout.is_record(path):
                continue
            edits.refresh_pages([path])
            if change.new is None:
                edits.remove(path)
            elif has_retractions and path == layout.LOG:
                edits.write(path, _log_without_reverted(bundle, target))
            elif has_retractions:
                withheld += _put_unretracted(edits, path, wanted)
            else:
                edits.put(path, change.new)
        withheld += len(leave_out(bundle, edits, origin))
        if everything and not has_retractions and not withheld:
            edits.keep_pages()  # those of the revision, to the byte
        if not edits.differs():
            return None
        done = edits
        return Message("restore", f"to {revision} ({target[:12]})")

    published = None
    if dry_run:
        work(Edits(bundle.tree()))
    else:
        published = bundle.commit(work, purpose="restore", origin=origin)
    made = bundle.repository.store.commit(target).made
    return Restored(target, done, withheld, published, dry_run, made)


def _is_within(path: str, paths: Sequence[str]) -> bool:
    return not paths or any(path == one or path.startswith(f"{one}/") for one in paths)


def _put_unretracted(edits: Edits, path: str, wanted: Tree) -> int:
    """A file of the revision without what was retracted since; gives how many entries stay out."""
    data = wanted.read(path)
    file = open_file(path, data)
    if file.kind == "concept" and says_retracted(edits, file):
        return 1  # that wording was taken back: the present one stays
    gone = retracted_units(edits, file)
    kept = file.without(gone).render()
    if kept is None:
        if path in edits:
            edits.remove(path)
    elif kept == data:
        entry = wanted.entry(path)
        assert entry is not None
        edits.put(path, entry)
    else:
        edits.write(path, kept)
    return len(gone)


def _log_without_reverted(bundle: Bundle, target: Oid) -> bytes:
    """The log of the revision without the lines that a revert took out since: they carry its texts."""
    repository = bundle.repository

    def lines(revision: Oid) -> dict[tuple[str, str], pages.LogLine]:
        found = pages.parse_log(repository.tree(revision).read(layout.LOG) or b"")
        return {(line.at, line.id): line for line in found}

    gone: set[tuple[str, str]] = set()
    for oid in only_in(repository, bundle.tip, target):
        commit = repository.store.commit(oid)
        if kind_of(commit.message) == "revert" and commit.parents:
            gone |= lines(commit.parents[0]).keys() - lines(oid).keys()
    gone -= lines(bundle.tip).keys()  # the revert was taken back
    return pages.log_page(line for key, line in lines(target).items() if key not in gone)
