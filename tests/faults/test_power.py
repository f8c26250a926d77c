"""Power cuts: nothing acknowledged is lost, no edit is made that nobody made, and nobody has to repair anything."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from itertools import product
from pathlib import Path

import pytest
from gitmem.files import DiskGroup
from gitmem.git.recovery import hand_edits, is_due
from gitmem.git.repository import Repository
from gitmem.git.setup import open_repository
from gitmem.git.transaction import writing

from tests.faults import power
from tests.git.support import (
    PROJECT,
    files_at,
    files_in_work_tree,
    fsck_clean,
    index_agrees,
    locks_left,
    run_git,
    saved,
    work_file,
)

TEXT = b"".join(b"line %d of a file\n" % number for number in range(200))
DAMAGES: dict[str, Callable[[bytes], bytes]] = {
    "whole": lambda data: data,
    "empty": lambda _: b"",
    "short": lambda data: data[:700],
    "zeros": lambda data: b"\0" * len(data),
    "holes": lambda data: data[:1024] + b"\0" * 1024 + data[2048:],
}


def cut(file: Path, data: bytes) -> None:
    """The file has this content, and the time that it was given before it got its name."""
    stat = file.stat()
    file.write_bytes(data)
    os.utime(file, ns=(stat.st_atime_ns, stat.st_mtime_ns))


def started(repository: Repository) -> Repository:
    """The bundle as the next process finds it."""
    repository.store.close()
    return open_repository(repository.root)


def notes(repository: Repository) -> list[Path]:
    return [Path(repository.state.directory, name) for name in ("pending", "pending-too")]


def is_as_committed(repository: Repository) -> None:
    with writing(repository, "start"):
        pass
    assert files_in_work_tree(repository) == files_at(repository)
    assert hand_edits(repository) == []
    assert locks_left(repository) == []
    index_agrees(repository)
    fsck_clean(repository)


# On a real file system


@pytest.fixture(scope="module")
def cuts_work(tmp_path_factory: pytest.TempPathFactory) -> None:
    """Skips where no file system can be cut."""
    if why := power.available(tmp_path_factory.mktemp("probe")):
        pytest.skip(why)


def run_cuts(where: Path, cuts: int | str, seed: int, option: str) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "tests.faults.power", str(where), str(cuts), str(seed), option],
        capture_output=True,
        text=True,
        cwd=PROJECT,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    print(done.stdout)


@pytest.mark.usefixtures("cuts_work")
@pytest.mark.parametrize("option", ["auto_da_alloc", "noauto_da_alloc"])
def test_cuts(tmp_path: Path, option: str) -> None:
    """An ext4 image is cut while a bundle on it is written, three times; each start finds all in order."""
    run_cuts(tmp_path, 3, 1, option)


@pytest.mark.usefixtures("cuts_work")
@pytest.mark.parametrize("option", ["auto_da_alloc", "noauto_da_alloc"])
def test_a_cut_right_after_an_erase(tmp_path: Path, option: str) -> None:
    """All that the erase and the commits before it wrote is on disk: nothing is empty, nothing is an edit."""
    run_cuts(tmp_path, "erase", 1, option)


@pytest.mark.slow
@pytest.mark.usefixtures("cuts_work")
@pytest.mark.parametrize("option", ["auto_da_alloc", "noauto_da_alloc"])
def test_many_cuts(tmp_path: Path, option: str) -> None:
    """The same, 100 times with each way of ext4 to give a new file its place on disk."""
    run_cuts(tmp_path, 100, 2, option)


# By a model of what a file system may leave


@pytest.mark.parametrize("damages", list(product(DAMAGES, repeat=2)), ids="-".join)
def test_any_damage_of_any_files(repository: Repository, damages: tuple[str, ...]) -> None:
    """Files of two commits are damaged in every combination: a look finds no edit, a start writes them anew."""
    names = ("a.md", "d/b.md")
    for number, name in enumerate(names):
        saved(repository, {name: TEXT + b"%d\n" % number, "log.md": b"%d\n" % number})
    for name, damage in zip(names, damages, strict=True):
        file = work_file(repository, name)
        cut(file, DAMAGES[damage](file.read_bytes()))
    after = started(repository)

    assert hand_edits(after) == []
    assert is_due(after) == (set(damages) != {"whole"})
    is_as_committed(after)


def test_a_damaged_older_version(repository: Repository) -> None:
    """The name of the newest version is lost with its content, and the version before it is damaged too."""
    saved(repository, {"a.md": TEXT})
    older = work_file(repository, "a.md").stat()
    index, lock = Path(repository.git_dir, "index"), Path(repository.git_dir, "index.lock")
    kept = Path(repository.git_dir, "kept")
    before = index.read_bytes()
    repository.on_stage = lambda stage: os.link(lock, kept) if stage == "work tree" else None
    saved(repository, {"a.md": TEXT + b"more\n"})
    # As if the disk had got nothing after the ref but the word that all is done.
    kept.rename(lock)
    index.write_bytes(before)
    work_file(repository, "a.md").write_bytes(b"")
    os.utime(work_file(repository, "a.md"), ns=(older.st_atime_ns, older.st_mtime_ns))
    after = started(repository)

    assert hand_edits(after) == []
    is_as_committed(after)


def test_the_next_note_before_the_last_steps(repository: Repository) -> None:
    """The disk has the note of a commit that was never made, and not yet the last steps of the one before it."""
    saved(repository, {"a.md": TEXT})
    index, lock = Path(repository.git_dir, "index"), Path(repository.git_dir, "index.lock")
    kept, before = Path(repository.git_dir, "kept"), index.read_bytes()
    first = work_file(repository, "a.md").stat().st_mtime_ns
    repository.on_stage = lambda stage: os.link(lock, kept) if stage == "work tree" else None
    saved(repository, {"a.md": b"another\n", "b.md": b"new\n"})
    last = repository.pending.last()
    assert last is not None
    with DiskGroup() as disk:
        unmade = replace(last, old=last.new, new="1" * 40, locks={}, earlier=last.unsynced)
        repository.pending.write(unmade, disk)
        disk.flush()
    kept.rename(lock)
    index.write_bytes(before)
    work_file(repository, "a.md").write_bytes(TEXT[:700])
    os.utime(work_file(repository, "a.md"), ns=(first, first))
    work_file(repository, "b.md").unlink()
    after = started(repository)

    assert hand_edits(after) == []
    is_as_committed(after)


def test_the_lock_of_a_commit_that_was_never_made(repository: Repository) -> None:
    """The last commit's note is not settled on disk, and the next one has its lock on git's index already."""
    saved(repository, {"a.md": TEXT})
    saved(repository, {"a.md": TEXT + b"more\n"})
    slot = next(path for path in notes(repository) if b'"number": 2' in path.read_bytes())
    slot.write_bytes(b"pending " + slot.read_bytes()[8:])
    last = repository.pending.last()
    assert last is not None
    lock = Path(repository.git_dir, "index.lock")
    lock.touch()
    unmade = replace(last, old=last.new, new="1" * 40, locks={"index.lock": lock.stat().st_ino})
    with DiskGroup() as disk:
        repository.pending.write(unmade, disk)
        disk.flush()
    cut(work_file(repository, "a.md"), b"")
    after = started(repository)

    assert hand_edits(after) == []
    is_as_committed(after)


@pytest.mark.parametrize("damage", [b"", b"DIRC", b"\0" * 300])
def test_a_damaged_index_of_git(repository: Repository, damage: bytes) -> None:
    """Git's index that the disk did not get is made again by the next start."""
    saved(repository, {"a.md": TEXT})
    saved(repository, {"b.md": TEXT})
    cut(Path(repository.git_dir, "index"), damage)
    after = started(repository)

    assert hand_edits(after) == []
    is_as_committed(after)


def test_a_torn_note_leaves_the_one_before_it(repository: Repository) -> None:
    """A cut while the next note was written: files of the commits before it are still known as ours."""
    for number in range(3):
        saved(repository, {f"{number}.md": TEXT})
    newest = max(notes(repository), key=lambda path: path.stat().st_mtime_ns)
    other = newest.with_name("pending" if newest.name == "pending-too" else "pending-too")
    other.write_bytes(b"pending " + newest.read_bytes()[8:90])
    for number in range(3):
        cut(work_file(repository, f"{number}.md"), b"")

    after = started(repository)
    assert hand_edits(after) == []
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


def test_other_words_with_our_time_are_a_persons(repository: Repository) -> None:
    """A file that a program gave its old time again, and that has other words, is an edit and stays."""
    saved(repository, {"a.md": TEXT})
    cut(work_file(repository, "a.md"), b"words of somebody\n")
    after = started(repository)

    with writing(after, "start"):
        pass
    assert [("a.md", b"words of somebody\n")] == [(one.path, one.data) for one in hand_edits(after)]


def test_notes_do_not_grow_for_ever(repository: Repository) -> None:
    """Files that are on disk leave the notes: when many wait, the disk is made to catch up."""
    for number in range(12):
        saved(repository, {f"{number}/{one}.md": b"x\n" for one in range(100)})
    last = repository.pending.last()
    assert last is not None
    assert len(last.unsynced) < 1200
    saved(repository, {f"many/{one}.md": b"x\n" for one in range(1100)})

    last = started(repository).pending.last()
    assert last is not None
    assert last.unsynced == {}
    saved(repository, {"a.md": b"y\n"})
    last = repository.pending.last()
    assert last is not None
    assert list(last.unsynced) == ["a.md"]
    assert run_git(repository.root, "status", "--porcelain") == ""
