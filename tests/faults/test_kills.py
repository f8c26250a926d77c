"""SIGKILL at any moment: nothing acknowledged is lost, and nothing is left for a person to clean up."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from gitmem.git.git_directory import open_repository
from gitmem.git.recovery import hand_edits
from gitmem.git.repository import Repository

from tests.faults.lab import BEFORE, CHANGE, applied, die_at, forked_away
from tests.faults.support import experiment
from tests.git.support import files_at, fsck_clean, locks_left, run_git, saved, try_git, work_file


@pytest.mark.parametrize(
    ("kind", "edit"),
    [
        ("plain", "no"),
        ("plain", "edit"),
        ("first", "no"),
        ("join", "no"),
        ("separate", "no"),
    ],
)
def test_killed_at_every_change_of_the_disk(tmp_path: Path, kind: str, edit: str) -> None:
    """A commit dies at its n-th change of the disk, for every n; later edits are told from what it left."""
    experiment("kill-each", tmp_path / "bundle", kind, edit, str(tmp_path))


@pytest.mark.slow
@pytest.mark.parametrize(("kind", "edit"), [("plain", "remove"), ("first", "edit"), ("join", "edit")])
def test_killed_at_every_change_of_the_disk_more(tmp_path: Path, kind: str, edit: str) -> None:
    """The same with other beginnings and other edits."""
    experiment("kill-each", tmp_path / "bundle", kind, edit)


@pytest.mark.parametrize("edit", ["no", "edit"])
def test_killed_while_recovering(tmp_path: Path, edit: str) -> None:
    """The process that repairs after a kill is killed itself, at every moment."""
    experiment("kill-recovery", tmp_path / "bundle", edit)


def test_killed_while_a_file_is_left_alone(tmp_path: Path) -> None:
    """The work tree's version of a file that a commit leaves alone survives a kill at every moment, as an edit."""
    experiment("kill-leaving", tmp_path / "bundle")


def test_killed_while_tagging(tmp_path: Path) -> None:
    """No lock on a tag or on packed refs outlives its owner, and the same name can be set again."""
    experiment("kill-tags", tmp_path / "bundle")


def test_killed_at_random_moments(disk: Path) -> None:
    """30 kills of a busy writer, on the real disk, with a ledger of what was acknowledged."""
    experiment("kill-randomly", disk / "bundle", "30", "1")


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(2, 6))
def test_killed_at_many_random_moments(disk: Path, seed: int) -> None:
    """200 kills of a busy writer, four times."""
    experiment("kill-randomly", disk / "bundle", "200", str(seed))


@pytest.mark.parametrize("stage", ["objects", "acknowledged", "work tree", "index"])
def test_killed_at_each_stage(repository: Repository, stage: str) -> None:
    """After a kill at a stage plain git is kept from committing the lag, and a reader sees no edits."""
    saved(repository, BEFORE)
    forked_away(die_at, Path(repository.root), CHANGE, stage)
    after = open_repository(repository.root)

    assert hand_edits(after) == []
    acknowledged = stage != "objects"
    assert files_at(after) == (applied(BEFORE, CHANGE) if acknowledged else BEFORE)
    # Between the ref and the index, a plain commit would take the change back: it cannot be made.
    committed = (
        try_git(repository.root, "commit", "--quiet", "-a", "--allow-empty", "-m", "plain").returncode == 0
    )
    assert committed == (stage == "index")
    saved(after, {"after.md": b"x\n"})
    assert files_at(after) == applied(BEFORE, {**(CHANGE if acknowledged else {}), "after.md": b"x\n"})
    assert locks_left(after) == []
    fsck_clean(after)
    after.store.close()


@pytest.mark.parametrize("how", ["move", "copy"])
def test_bundle_moved_after_a_kill(repository: Repository, tmp_path: Path, how: str) -> None:
    """A bundle that was moved after a kill repairs itself where it is now; a copy leaves the original alone."""
    saved(repository, BEFORE)
    root = Path(repository.root)
    forked_away(die_at, root, CHANGE, "acknowledged")
    target = tmp_path / "elsewhere"
    if how == "move":
        root.rename(target)
    else:
        shutil.copytree(root, target, symlinks=True)
        (target / ".git" / "index.lock").unlink()  # a copy has another inode, so the lock counts as foreign
    after = open_repository(str(target))

    saved(after, {"after.md": b"x\n"})

    assert files_at(after) == applied(BEFORE, {**CHANGE, "after.md": b"x\n"})
    fsck_clean(after)
    if how == "copy":
        assert (root / ".git" / "index.lock").exists()
        saved(open_repository(str(root)), {"other.md": b"x\n"})
        assert locks_left(repository) == []
    after.store.close()


def test_foreign_lock_after_a_kill_is_not_broken(
    repository: Repository, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A lock that git made after a kill has another inode than the dead writer noted: it is waited for."""
    from gitmem.errors import BundleBusy
    from gitmem.git import refs

    monkeypatch.setattr(refs, "PATIENCE", 0.05)
    saved(repository, BEFORE)
    forked_away(die_at, Path(repository.root), CHANGE, "acknowledged")
    lock = Path(repository.git_dir, "index.lock")
    lock.unlink()
    lock.write_bytes(b"somebody else's\n")

    with pytest.raises(BundleBusy, match=r"index\.lock"):
        saved(repository, {"after.md": b"x\n"})
    with pytest.raises(BundleBusy, match=r"index\.lock"):
        saved(repository, {"after.md": b"x\n"})

    assert lock.read_bytes() == b"somebody else's\n"
    assert hand_edits(repository) == []
    lock.unlink()
    saved(repository, {"after.md": b"x\n"})
    fsck_clean(repository)


def test_commit_by_plain_git_after_a_kill(repository: Repository) -> None:
    """What plain git commits between a kill and our next write is kept, with the repaired files beside it."""
    saved(repository, BEFORE)
    forked_away(die_at, Path(repository.root), CHANGE, "work tree")
    Path(repository.git_dir, "index.lock").unlink()  # as git tells people to do
    work_file(repository, "by hand.md").write_bytes(b"x\n")
    run_git(repository.root, "add", "--all")
    run_git(repository.root, "commit", "--quiet", "-m", "by hand")

    saved(repository, {"after.md": b"x\n"})

    assert files_at(repository) == applied(BEFORE, {**CHANGE, "after.md": b"x\n", "by hand.md": b"x\n"})
    fsck_clean(repository)
