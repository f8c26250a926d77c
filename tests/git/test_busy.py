"""Where a commit must not be made: one clear sentence, and nothing is changed."""

from __future__ import annotations

import os
import re
import shutil
import stat
import threading
import time
import types
from collections.abc import Callable
from pathlib import Path

import pytest
from gitmem.errors import BundleBusy, BundleNotFound, BundleUnusable, GitMemError
from gitmem.git import recovery, refs, transaction
from gitmem.git.git_directory import open_repository, take_away
from gitmem.git.repository import Repository

from tests.faults.lab import die_at, forked_away
from tests.git.support import (
    append,
    files_at,
    fsck_clean,
    locks_left,
    make_repository,
    run_git,
    save,
    saved,
    tip_of,
    try_git,
    work_file,
)

Snapshot = dict[str, bytes]


def everything(repository: Repository) -> Snapshot:
    """Every file of the bundle and of its git directory, but for gitmem's own state."""
    found: Snapshot = {}
    for top in {repository.root, repository.git_dir}:
        for directory, below, files in os.walk(top):
            if os.path.basename(directory) == "gitmem":
                below.clear()
                continue
            for name in files:
                path = os.path.join(directory, name)
                if stat.S_ISREG(os.lstat(path).st_mode):
                    found[path] = Path(path).read_bytes()
    return found


@pytest.fixture
def filled(repository: Repository) -> Repository:
    saved(repository, {"a.md": b"1\n"})
    saved(repository, {"a.md": b"2\n"})
    return repository


@pytest.fixture
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    """Foreign locks are waited for only for a moment."""
    monkeypatch.setattr(refs, "PATIENCE", 0.05)


def refused(repository: Repository, kind: type[GitMemError], words: str) -> None:
    """A commit raises with a sentence or a hint that has these words in it, and changes nothing."""
    before = everything(repository)
    with pytest.raises(kind) as raised:
        save(repository, {"a.md": b"3\n", "new/x.md": b"x\n"})
    told = f"{raised.value} {raised.value.hint}"
    assert re.search(words, told)
    assert told[0].isupper()
    assert "\n" not in told
    assert before == everything(repository)


def detached(repository: Repository) -> None:
    run_git(repository.root, "checkout", "--quiet", "--detach")


def other_branch(repository: Repository) -> None:
    run_git(repository.root, "checkout", "--quiet", "-b", "feature/x")


def orphan_branch(repository: Repository) -> None:
    run_git(repository.root, "checkout", "--quiet", "--orphan", "new")


@pytest.mark.parametrize(
    ("how", "words"),
    [(detached, "detached"), (other_branch, "branch feature/x"), (orphan_branch, "branch new")],
)
def test_head_is_elsewhere(filled: Repository, how: Callable[[Repository], None], words: str) -> None:
    """With HEAD on another branch, or on none, nothing is committed; back on main all goes on."""
    how(filled)

    refused(filled, BundleUnusable, words + r".*git checkout main")

    run_git(filled.root, "checkout", "--quiet", "main")
    saved(filled, {"a.md": b"3\n"})
    fsck_clean(filled)


def conflicting(repository: Repository) -> None:
    """Two branches that changed the same line."""
    run_git(repository.root, "checkout", "--quiet", "-b", "theirs", "HEAD~1")
    work_file(repository, "a.md").write_bytes(b"theirs\n")
    run_git(repository.root, "commit", "--quiet", "-a", "-m", "theirs")
    run_git(repository.root, "checkout", "--quiet", "main")


@pytest.mark.parametrize(
    ("command", "abort", "words"),
    [
        (("merge", "theirs"), ("merge", "--abort"), "A merge is under way"),
        (("cherry-pick", "theirs"), ("cherry-pick", "--abort"), "A cherry-pick is under way"),
        (("revert", "--no-edit", "HEAD~1"), ("revert", "--abort"), "A git revert is under way"),
    ],
)
def test_git_is_in_the_middle_of_something(
    filled: Repository, command: tuple[str, ...], abort: tuple[str, ...], words: str
) -> None:
    """A merge, cherry-pick or revert that stopped at a conflict is left alone, and goes on after an abort."""
    conflicting(filled)
    assert try_git(filled.root, *command).returncode == 1

    refused(filled, BundleBusy, words)

    run_git(filled.root, *abort)
    saved(filled, {"a.md": b"3\n"})
    fsck_clean(filled)


@pytest.mark.parametrize("how", ["--merge", "--apply"])
def test_rebase_under_way(filled: Repository, how: str) -> None:
    """A rebase that stopped at a conflict is left alone."""
    conflicting(filled)
    assert try_git(filled.root, "rebase", how, "theirs").returncode == 1

    refused(filled, BundleUnusable, r"rebase|detached")

    run_git(filled.root, "rebase", "--abort")
    saved(filled, {"a.md": b"3\n"})
    fsck_clean(filled)


def test_bisect_under_way(filled: Repository) -> None:
    """A bisect is left alone."""
    run_git(filled.root, "bisect", "start")

    refused(filled, BundleBusy, "bisect")

    run_git(filled.root, "bisect", "reset")
    saved(filled, {"a.md": b"3\n"})


@pytest.mark.parametrize("name", ["index.lock", "refs/heads/main.lock"])
def test_foreign_lock(filled: Repository, impatient: None, name: str) -> None:
    """A lock of git's that is not ours is waited for, named, never broken, and nothing is changed."""
    lock = Path(filled.git_dir, name)
    lock.touch()

    refused(filled, BundleBusy, f"holds .*{name}.*remove that file")
    refused(filled, BundleBusy, f"holds .*{name}.*remove that file")

    assert lock.exists()
    lock.unlink()
    saved(filled, {"a.md": b"3\n"})
    fsck_clean(filled)


@pytest.mark.parametrize("name", ["index.lock", "refs/heads/main.lock"])
def test_foreign_lock_that_goes_away(filled: Repository, name: str) -> None:
    """A lock that another program holds for a moment only delays a commit."""
    lock = Path(filled.git_dir, name)
    lock.touch()
    timer = threading.Timer(0.2, lock.unlink)
    timer.start()

    saved(filled, {"a.md": b"3\n"})

    timer.join()
    fsck_clean(filled)


@pytest.mark.parametrize("name", ["index.lock", "refs/heads/main.lock"])
def test_git_may_be_slow(filled: Repository, monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    """Under load plain git holds a lock for many seconds: they are waited for."""
    lock = Path(filled.git_dir, name)
    lock.touch()

    class Clock(types.SimpleNamespace):
        """Time that passes only while somebody sleeps."""

        now = 0.0

        def monotonic(self) -> float:
            return self.now

        def sleep(self, seconds: float) -> None:
            self.now += seconds
            if self.now > 20:
                lock.unlink(missing_ok=True)

    real = {name: getattr(time, name) for name in ("clock_gettime_ns", "time_ns", "CLOCK_MONOTONIC")}
    monkeypatch.setattr(refs, "time", Clock(**real))
    saved(filled, {"a.md": b"3\n"})
    fsck_clean(filled)


def test_foreign_lock_on_a_tag(filled: Repository, impatient: None) -> None:
    """A locked tag, or locked packed refs, stop only that operation, with a sentence."""
    tip = tip_of(filled)
    lock = Path(filled.git_dir, "refs/tags/v1.lock")
    lock.touch()
    with pytest.raises(BundleBusy, match=r"v1\.lock"):
        filled.refs.set("refs/tags/v1", tip, expected=None)
    lock.unlink()
    run_git(filled.root, "tag", "v2")
    run_git(filled.root, "pack-refs", "--all")
    packed = Path(filled.git_dir, "packed-refs.lock")
    packed.touch()
    with pytest.raises(BundleBusy, match=r"packed-refs\.lock"):
        filled.refs.delete({"refs/tags/v2": tip})
    assert tip == filled.refs.read("refs/tags/v2")
    packed.unlink()

    filled.refs.delete({"refs/tags/v2": tip})
    assert [] == locks_left(filled)
    fsck_clean(filled)


def test_bundle_lock_held_by_another(filled: Repository) -> None:
    """A bundle in use says by whom, after the wait that was asked for."""
    held, done = threading.Event(), threading.Event()

    def hold() -> None:
        with open_repository(filled.root).lock.hold("a long import"):
            held.set()
            done.wait()

    thread = threading.Thread(target=hold)
    thread.start()
    held.wait()
    try:
        with pytest.raises(BundleBusy, match=rf"in use by process {os.getpid()} \(a long import\)"):
            transaction.publish(filled, lambda _: None, purpose="test", wait=0.05)
    finally:
        done.set()
        thread.join()
    saved(filled, {"a.md": b"3\n"})


def test_not_a_repository(tmp_path: Path) -> None:
    """A directory without a repository, and a path that is nothing at all, say so."""
    for root in (tmp_path, tmp_path / "no such"):
        with pytest.raises(BundleNotFound, match="There is no bundle in") as raised:
            open_repository(str(root))
        assert "gitmem init" in raised.value.hint
    assert [] == os.listdir(tmp_path)


def test_bare_repository(tmp_path: Path) -> None:
    """A bare repository says that it is one, and nothing is written into it."""
    run_git(tmp_path, "init", "--quiet", "--bare", "-b", "main", "bare.git")
    before = sorted(os.listdir(tmp_path / "bare.git"))

    with pytest.raises(BundleUnusable, match="is a bare repository"):
        open_repository(str(tmp_path / "bare.git"))

    assert before == sorted(os.listdir(tmp_path / "bare.git"))


def test_empty_repository(tmp_path: Path) -> None:
    """A repository that plain git made, without a commit, takes the first one."""
    run_git(tmp_path, "init", "--quiet", "-b", "main", "fresh")
    repository = open_repository(str(tmp_path / "fresh"))
    assert repository.tip() is None

    saved(repository, {"a.md": b"1\n", "d/b.md": b"1\n"})

    fsck_clean(repository)
    repository.store.close()


def test_clone_by_git(filled: Repository, tmp_path: Path) -> None:
    """A clone that plain git made, with none of our settings, is a repository like any other."""
    run_git(tmp_path, "-c", "index.version=4", "clone", "--quiet", filled.root, "clone")
    clone = open_repository(str(tmp_path / "clone"))
    fsck_clean(clone)

    append(clone, "a.md", b"3\n")

    assert {"a.md": b"2\n3\n"} == files_at(clone)
    fsck_clean(clone)
    clone.store.close()


def test_shallow_clone(filled: Repository, tmp_path: Path) -> None:
    """A clone without the older history takes commits, also after a crash and beside plain git."""
    run_git(tmp_path, "clone", "--quiet", "--depth=1", f"file://{filled.root}", "clone")
    clone = open_repository(str(tmp_path / "clone"))
    append(clone, "a.md", b"3\n")
    forked_away(die_at, tmp_path / "clone", {"b.md": b"1\n"}, "acknowledged")

    append(clone, "a.md", b"4\n")

    assert files_at(clone) == {"a.md": b"2\n3\n4\n", "b.md": b"1\n"}
    fsck_clean(clone)
    clone.store.close()


def test_linked_work_tree(filled: Repository, tmp_path: Path) -> None:
    """A linked work tree is refused; one beside the bundle does not disturb it."""
    run_git(filled.root, "worktree", "add", "--quiet", "-b", "side", str(tmp_path / "side"))
    with pytest.raises(
        BundleUnusable, match=rf"linked work tree; .* the main one, {re.escape(filled.root)}\."
    ):
        open_repository(str(tmp_path / "side"))

    saved(filled, {"a.md": b"3\n"})

    (tmp_path / "side" / "a.md").write_bytes(b"side\n")
    run_git(tmp_path / "side", "commit", "--quiet", "-a", "-m", "side")
    saved(filled, {"a.md": b"4\n"})
    fsck_clean(filled)


def test_sparse_checkout_is_refused(filled: Repository) -> None:
    """Files that are left out of the work tree on purpose are not taken for removed."""
    saved(filled, {"d/b.md": b"1\n", "e/c.md": b"1\n"})
    run_git(filled.root, "sparse-checkout", "set", "d")

    with pytest.raises(BundleUnusable, match="left out of the work tree"):
        recovery.hand_edits(filled)
    refused(filled, BundleUnusable, "sparse-checkout disable")

    run_git(filled.root, "sparse-checkout", "disable")
    saved(filled, {"d/b.md": b"2\n"})
    fsck_clean(filled)


@pytest.mark.parametrize("with_commit", [True, False])
def test_other_object_format(tmp_path: Path, with_commit: bool) -> None:
    """A repository with SHA-256 objects is refused before anything is written."""
    run_git(tmp_path, "init", "--quiet", "-b", "main", "--object-format=sha256", "new")
    if with_commit:
        run_git(tmp_path / "new", "commit", "--quiet", "--allow-empty", "-m", "x")

    with pytest.raises(BundleUnusable, match="SHA-1"):
        open_repository(str(tmp_path / "new"))


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b"something else\n", "is not a git link"),
        (b"gitdir: ../gone.git\n", "is gone; restore it"),
        (b"\xff\xfe\0", "is not a git link"),
        (b"", "is not a git link"),
    ],
)
def test_broken_git_link(tmp_path: Path, content: bytes, words: str) -> None:
    """A `.git` file that leads nowhere is told with what to do."""
    (tmp_path / ".git").write_bytes(content)

    with pytest.raises(BundleUnusable, match=words):
        open_repository(str(tmp_path))


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("refs/heads/main", b"nonsense\n"),
        ("refs/heads/main", b""),
        ("refs/heads/main", b"ref: refs/heads/main\n"),
        ("refs/heads/main", b"0" * 40 + b"\n"),
        ("refs/heads/main", b"\xff" * 41),
        ("HEAD", b"nonsense\n"),
        ("HEAD", b"\xff\n"),
        ("HEAD", None),
    ],
)
def test_damaged_refs(filled: Repository, name: str, content: bytes | None) -> None:
    """A damaged ref or HEAD is told in a sentence, and nothing is written over it."""
    path = Path(filled.git_dir, name)
    if content is None:
        path.unlink()
    else:
        path.write_bytes(content)

    refused(filled, BundleUnusable, r"\w+ .*\.")


def test_a_directory_without_a_head_that_is_no_memory(tmp_path: Path) -> None:
    """Only of a memory it is known that nothing but its HEAD is lost."""
    (tmp_path / ".git").mkdir()
    with pytest.raises(BundleUnusable, match="it has no HEAD"):
        open_repository(str(tmp_path))


@pytest.mark.parametrize("where", ["objects/pack", "gitmem", "refs/heads", "gitmem/tmp", "gitmem/pending"])
def test_disk_that_takes_no_writes(filled: Repository, where: str, tmp_path: Path) -> None:
    """A file where a directory must be (even root is refused) gives a sentence; nothing is changed."""
    path = Path(filled.git_dir, where)
    aside = tmp_path / "aside"
    run_git(filled.root, "pack-refs", "--all")
    filled.store.blob(filled.tree(filled.tip()).entry("a.md").oid)  # type: ignore[union-attr]
    shutil.move(path, aside)
    if where == "gitmem/pending":
        path.mkdir()
    else:
        path.write_bytes(b"in the way\n")

    refused(filled, GitMemError, r"\w+ .*\.")

    path.rmdir() if path.is_dir() else path.unlink()
    shutil.move(aside, path)
    saved(filled, {"a.md": b"3\n"})
    fsck_clean(filled)


def test_make_where_nothing_can_be_made(tmp_path: Path) -> None:
    """A repository cannot be made below a file: a sentence, no traceback; a failed one can be taken back."""
    (tmp_path / "file").write_bytes(b"x\n")
    with pytest.raises(BundleUnusable, match="cannot be written"):
        make_repository(str(tmp_path / "file" / "bundle"))

    made = make_repository(str(tmp_path / "bundle"), separate_git_dir=str(tmp_path / "bundle.git"))
    take_away(made)

    assert ["bundle", "file"] == sorted(os.listdir(tmp_path))
    assert [] == os.listdir(tmp_path / "bundle")


def test_work_tree_that_can_not_follow(filled: Repository) -> None:
    """Where only the work tree cannot follow, the commit stands with a warning; the next write repairs it."""

    def block(stage: str) -> None:
        if stage == "acknowledged":
            work_file(filled, "n").write_bytes(b"in the way\n")

    filled.on_stage = block
    published = save(filled, {"n/x.md": b"x\n", "a.md": b"3\n"})
    filled.on_stage = lambda _: None

    assert published is not None
    assert "the work tree lags behind" in published.warning
    assert {"a.md": b"3\n", "n/x.md": b"x\n"} == files_at(filled)
    assert ["index.lock"] == locks_left(filled)
    # Plain git cannot commit from the index that lags behind.
    assert try_git(filled.root, "commit", "-m", "plain", "--allow-empty").returncode == 128
    work_file(filled, "n").unlink()
    saved(filled, {"b.md": b"1\n"})
    assert b"x\n" == work_file(filled, "n/x.md").read_bytes()
    fsck_clean(filled)


def test_clock_that_jumps_back(filled: Repository, monkeypatch: pytest.MonkeyPatch) -> None:
    """Waiting for a lock does not depend on the time of day."""
    monkeypatch.setattr(time, "time", lambda: 0.0)

    saved(filled, {"a.md": b"3\n"})

    fsck_clean(filled)
