"""A power cut: what must be on disk before what, read off the order of writes, flushes and renames.

Killing a process cannot show this, because the page cache survives it.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from gitmem.git.objects import render_tag
from gitmem.git.repository import Repository
from gitmem.git.transaction import writing

from tests.git.support import WHO, saved, tip_of

Event = tuple[str, int, str]
"""What happened, to which inode, under which name (the new one of a rename)."""


class Recorder:
    """Notes every write, flush and rename of this process, in order."""

    def __init__(self, patch: pytest.MonkeyPatch) -> None:
        self.events: list[Event] = []
        self._lock = threading.Lock()
        write, fsync, replace = os.write, os.fsync, os.replace

        def noted_write(descriptor: int, data: Any) -> int:
            self.note("write", os.fstat(descriptor).st_ino)
            return write(descriptor, data)

        def noted_fsync(descriptor: int) -> None:
            fsync(descriptor)
            self.note("flush", os.fstat(descriptor).st_ino)

        def noted_replace(source: str, target: str) -> None:
            inode = os.stat(source).st_ino
            replace(source, target)
            self.note("rename", inode, str(target))

        patch.setattr(os, "write", noted_write)
        patch.setattr(os, "fsync", noted_fsync)
        patch.setattr(os, "fdatasync", noted_fsync)
        patch.setattr(os, "replace", noted_replace)

    def note(self, what: str, inode: int, name: str = "") -> None:
        with self._lock:
            self.events.append((what, inode, name))

    def place(self, what: str, name: str) -> int:
        """Where in the order something of this name happened."""
        return next(
            at for at, (kind, _, path) in enumerate(self.events) if kind == what and path.endswith(name)
        )

    def inode_renamed_to(self, ending: str) -> tuple[int, int]:
        at = self.place("rename", ending)
        return self.events[at][1], at

    def flushed(self, inode: int, before: int, after: int = -1) -> bool:
        """All that was written to a file before a moment was flushed before it (and after another)."""
        kinds = [
            (at, kind)
            for at, (kind, found, _) in enumerate(self.events[:before])
            if found == inode and at > after
        ]
        return bool(kinds) and kinds[-1][1] != "write" and any(kind == "flush" for _, kind in kinds)


@pytest.fixture
def recorder(repository: Repository, monkeypatch: pytest.MonkeyPatch) -> Iterator[Recorder]:
    saved(repository, {"a.md": b"1\n"})
    with monkeypatch.context() as patch:
        yield Recorder(patch)


def test_order_of_a_commit(repository: Repository, recorder: Recorder) -> None:
    """Objects, note and new ref are on disk before the ref moves, and its directory before we say so."""
    repository.on_stage = lambda stage: recorder.note("stage", 0, stage)

    saved(repository, {"a.md": b"2\n", "d/b.md": b"2\n"})

    ref, moved = recorder.inode_renamed_to("refs/heads/main")
    acknowledged = recorder.place("stage", "acknowledged")
    assert moved < acknowledged
    assert recorder.flushed(ref, moved)
    note = os.stat(os.path.join(repository.state.directory, "pending")).st_ino
    assert recorder.flushed(note, moved)
    for ending in (".pack", ".idx"):
        inode, named = recorder.inode_renamed_to(ending)
        assert recorder.flushed(inode, named)
        assert named < moved
        assert recorder.flushed(os.stat(repository.store.pack_directory).st_ino, moved, after=named)
    heads = os.stat(os.path.join(repository.git_dir, "refs", "heads")).st_ino
    assert recorder.flushed(heads, acknowledged, after=moved)
    # The work tree and git's index follow, each on disk before it has its name, and the names before the note is settled.
    assert acknowledged < recorder.place("rename", "a.md") < recorder.place("rename", "/index")
    for ending in ("a.md", "b.md", "/index"):
        inode, named = recorder.inode_renamed_to(ending)
        assert recorder.flushed(inode, named)
    _, named = recorder.inode_renamed_to("b.md")
    settled = max(at for at, event in enumerate(recorder.events) if event[:2] == ("write", note))
    for directory in (repository.root, os.path.join(repository.root, "d")):
        assert recorder.flushed(os.stat(directory).st_ino, settled, after=named)


def test_pack_before_its_index(repository: Repository, recorder: Recorder) -> None:
    """A pack gets its name before its index does: git takes a pack with an index for complete."""
    saved(repository, {"a.md": b"2\n"})

    assert recorder.place("rename", ".pack") < recorder.place("rename", ".idx")


def test_order_of_joining_packs(
    repository: Repository, recorder: Recorder, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Small packs are removed only when the pack that holds their objects is on disk, with its name."""
    unlink = os.unlink
    removed: list[int] = []

    def noted_unlink(path: str, **named: Any) -> None:
        if path.endswith((".pack", ".idx")) and repository.store.pack_directory in path:
            removed.append(len(recorder.events))
        unlink(path, **named)

    monkeypatch.setattr(os, "unlink", noted_unlink)
    for number in range(40):
        if removed:
            break
        recorder.events.clear()
        saved(repository, {"a.md": b"%d\n" % number})

    assert removed
    first = removed[0]
    joined = [
        at
        for at, event in enumerate(recorder.events[:first])
        if event[0] == "rename" and event[2].endswith(".idx")
    ]
    inode = recorder.events[joined[-1]][1]
    assert recorder.flushed(inode, joined[-1])
    assert recorder.flushed(os.stat(repository.store.pack_directory).st_ino, first, after=joined[-1])


def test_order_of_a_tag(repository: Repository, recorder: Recorder) -> None:
    """A tag's object is on disk before its ref, and the ref with its directory before the call returns."""
    tag = render_tag(tip_of(repository), "snapshot/x", WHO, "x\n")
    with writing(repository, "tag"):
        repository.store.write([tag])
        assert repository.refs.set("refs/tags/snapshot/x", tag.oid, expected=None)
    end = len(recorder.events)

    ref, moved = recorder.inode_renamed_to("refs/tags/snapshot/x")
    _, packed = recorder.inode_renamed_to(".idx")

    assert packed < moved
    assert recorder.flushed(ref, moved)
    assert recorder.flushed(os.stat(Path(repository.git_dir, "refs/tags/snapshot")).st_ino, end, after=moved)
