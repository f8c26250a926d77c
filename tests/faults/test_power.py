"""Power cuts: nothing acknowledged is lost, no edit is made that nobody made, and nobody has to repair anything."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from gitmem.git.git_directory import open_repository
from gitmem.git.recovery import hand_edits
from gitmem.git.repository import Repository
from gitmem.git.transaction import writing

from tests.faults import power
from tests.git.support import (
    PROJECT,
    files_at,
    files_in_work_tree,
    fsck_clean,
    index_agrees,
    locks_left,
    saved,
    work_file,
)

TEXT = b"".join(b"line %d of a file\n" % number for number in range(200))


class Damaged:
    """Names that files got before their bytes were flushed."""

    def __init__(self, patch: pytest.MonkeyPatch) -> None:
        self.names: list[str] = []
        flushed: set[int] = set()
        write, fsync, replace = os.write, os.fsync, os.replace

        def noted_write(descriptor: int, data: Any) -> int:
            flushed.discard(os.fstat(descriptor).st_ino)
            return write(descriptor, data)

        def noted_fsync(descriptor: int) -> None:
            fsync(descriptor)
            flushed.add(os.fstat(descriptor).st_ino)

        def noted_replace(source: str, target: str) -> None:
            if os.stat(source).st_ino not in flushed:
                self.names.append(target)
            replace(source, target)

        patch.setattr(os, "write", noted_write)
        patch.setattr(os, "fsync", noted_fsync)
        patch.setattr(os, "replace", noted_replace)


@pytest.fixture
def damaged(monkeypatch: pytest.MonkeyPatch) -> Damaged:
    return Damaged(monkeypatch)


def started(repository: Repository) -> Repository:
    """The bundle as the next process finds it."""
    repository.store.close()
    return open_repository(repository.root)


def is_as_committed(repository: Repository) -> None:
    with writing(repository, "start"):
        pass
    assert files_in_work_tree(repository) == files_at(repository)
    assert hand_edits(repository) == []
    assert locks_left(repository) == []
    index_agrees(repository)
    fsck_clean(repository)


# On a real file system


def run_cuts(where: Path, cuts: int | str, seed: int, kind: str) -> None:
    """Cut an image of that kind in a process of its own; skip where none can be cut."""
    if why := power.available(where / "probe", kind):
        pytest.skip(why)
    done = subprocess.run(
        [sys.executable, "-m", "tests.faults.power", str(where), str(cuts), str(seed), kind],
        capture_output=True,
        text=True,
        cwd=PROJECT,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    print(done.stdout)


@pytest.mark.parametrize("kind", ["ext4", "ext4-noauto_da_alloc"])
def test_cuts(tmp_path: Path, kind: str) -> None:
    """An image is cut while a bundle on it is written, three times; each start finds all in order."""
    run_cuts(tmp_path, 3, 1, kind)


@pytest.mark.parametrize("kind", ["ext4", "ext4-noauto_da_alloc"])
def test_a_cut_right_after_an_erase(tmp_path: Path, kind: str) -> None:
    """All that the erase and the commits before it wrote is on disk: nothing is empty, nothing is an edit."""
    run_cuts(tmp_path, "erase", 1, kind)


@pytest.mark.power
@pytest.mark.parametrize("kind", power.KINDS)
def test_many_cuts(tmp_path: Path, kind: str) -> None:
    """The same, 100 times on each file system."""
    run_cuts(tmp_path, os.environ.get("CUTS", "100"), 2, kind)


@pytest.mark.power
@pytest.mark.parametrize("kind", power.KINDS)
def test_a_cut_after_an_erase_everywhere(tmp_path: Path, kind: str) -> None:
    """An erase that was acknowledged holds on each file system."""
    run_cuts(tmp_path, "erase", 1, kind)


@pytest.mark.parametrize("kills", [4, pytest.param(300, marks=pytest.mark.slow)])
def test_every_verb_is_killed(tmp_path: Path, kills: int) -> None:
    """Facts, decisions, snapshots, imports, hand edits, undo, gc and erase, killed at any moment: nobody is stuck."""
    written = [sys.executable, "-m", "tests.faults.power", str(tmp_path), str(kills), "3", "kill"]
    done = subprocess.run(written, capture_output=True, text=True, cwd=PROJECT, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


# By a model of what a file system may leave


def test_files_are_on_disk_before_they_have_their_names(repository: Repository, damaged: Damaged) -> None:
    """Whatever a cut does to what was not flushed, a file of ours is whole under its name, and so is git's index."""
    saved(repository, {"a.md": TEXT, "d/b.md": TEXT})
    saved(repository, {"a.md": TEXT + b"more\n", "e/f/c.md": TEXT, "d/b.md": None})
    assert damaged.names == []


@pytest.mark.parametrize("damage", [b"", b"DIRC", b"\0" * 300])
def test_a_damaged_index_of_git(repository: Repository, damage: bytes) -> None:
    """Git's index that was lost is made again by the next write."""
    saved(repository, {"a.md": TEXT})
    saved(repository, {"b.md": TEXT})
    Path(repository.git_dir, "index").write_bytes(damage)
    after = started(repository)

    assert hand_edits(after) == []
    saved(after, {"c.md": TEXT})
    is_as_committed(after)


@pytest.mark.parametrize("lost", ["other name", "scratch directory"])
def test_a_lock_whose_other_name_is_lost(repository: Repository, lost: str) -> None:
    """After a cut the directory of the dead writer may be gone: a lock from before the boot is nobody's."""
    saved(repository, {"a.md": TEXT})
    lock = Path(repository.git_dir, "index.lock")
    lock.write_bytes(b"")
    os.utime(lock, (1_000_000_000, 1_000_000_000))
    if lost == "scratch directory":
        shutil.rmtree(repository.scratch)
    after = started(repository)

    saved(after, {"a.md": TEXT + b"more\n"})
    is_as_committed(after)


@pytest.mark.parametrize("edit", ["emptied", "shortened", "removed", "put back", "written"])
def test_an_edit_right_after_a_commit_is_kept(repository: Repository, edit: str) -> None:
    """A person's edit of a file that may not be on disk yet is theirs, whatever it looks like."""
    saved(repository, {"a.md": TEXT, "b.md": b"b\n"})
    file = work_file(repository, "a.md")
    backup = file.with_suffix(".bak")
    subprocess.run(["cp", "-p", file, backup], check=True)
    saved(repository, {"a.md": TEXT + b"more\n", "b.md": b"bb\n"})
    if edit == "removed":
        file.unlink()
    elif edit == "put back":
        os.replace(backup, file)
    else:
        file.write_bytes({"emptied": b"", "shortened": TEXT, "written": b"mine\n"}[edit])
    backup.unlink(missing_ok=True)
    wanted = file.read_bytes() if file.exists() else None
    after = started(repository)

    assert [("a.md", wanted)] == [(one.path, one.data) for one in hand_edits(after)]
    with writing(after, "start"):
        pass
    assert [("a.md", wanted)] == [(one.path, one.data) for one in hand_edits(after)]
