"""The checks find the usual problems, say what to do, and repair what is safe to repair."""

from __future__ import annotations

import os
import shlex
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from datetime import datetime
from pathlib import Path

import pytest
from gitmem.config import Config
from gitmem.errors import BundleUnusable
from gitmem.files import DiskGroup
from gitmem.git.recovery import CommitNote
from gitmem.memory.memory import Memory
from gitmem.memory.opening import open_bundle
from gitmem.memory.upkeep.checks import Checks, Problem
from gitmem.memory.upkeep.create import create, install_hooks
from gitmem.state import TMP
from gitmem.world import World

from tests.git.support import run_git, try_git

NOTE = "---\ntype: Note\n---\n"


@pytest.fixture
def healthy(tmp_path: Path, clock: Callable[[], datetime]) -> Iterator[Memory]:
    """A bundle that is not looked at in the end: these tests spoil it."""
    made, _ = create(
        World(os.environ, clock=clock, person="ada"),
        str(tmp_path / "mem"),
        config=Config(machine="laptop"),
        python=sys.executable,
    )
    yield made
    made.repository.store.close()


def _problems(bundle: Memory) -> list[Problem]:
    return list(Checks(bundle, python=sys.executable).run())


def _one(bundle: Memory, name: str) -> Problem:
    (problem,) = [problem for problem in _problems(bundle) if problem.check == name]
    assert problem.what.endswith(".")
    assert problem.remedy
    return problem


def _repaired(bundle: Memory, name: str) -> None:
    """Its remedy works, and says what it did."""
    problem = _one(bundle, name)
    assert problem.fix is not None
    assert problem.fix().endswith(".")
    assert name not in {problem.check for problem in _problems(bundle)}


def test_a_healthy_bundle(healthy: Memory) -> None:
    """Nothing to tell."""
    assert _problems(healthy) == []


def test_a_disk_that_refuses(healthy: Memory) -> None:
    """The state directory cannot be written."""
    scratch = healthy.state.path(TMP)
    shutil.rmtree(scratch)
    Path(scratch).write_text("in the way")
    assert _one(healthy, "disk").serious
    os.unlink(scratch)


def test_an_interrupted_write(healthy: Memory) -> None:
    """A note that nobody settled: the next write finishes it, and so does `check --fix`."""
    with DiskGroup() as disk:
        healthy.repository.note.write(CommitNote(healthy.tip, healthy.tip, ()), disk)
        disk.flush()
    assert healthy.repository.note.read() is not None
    _repaired(healthy, "interrupted")


def test_a_foreign_lock_is_told_and_left(healthy: Memory) -> None:
    """Only a person may remove it."""
    lock = Path(healthy.repository.git_dir, "index.lock")
    lock.write_text("")
    problem = _one(healthy, "lock")
    assert (problem.serious, problem.fix) == (True, None)
    assert str(lock) in problem.what
    lock.unlink()


def test_head_elsewhere(healthy: Memory) -> None:
    """A detached HEAD is a problem with a way back."""
    run_git(healthy.root, "checkout", "-q", "--detach")
    assert "git checkout main" in _one(healthy, "head").remedy
    run_git(healthy.root, "checkout", "-q", "main")


def test_a_merge_under_way(healthy: Memory) -> None:
    """So is a merge that somebody began."""
    marker = Path(healthy.repository.git_dir, "MERGE_HEAD")
    marker.write_text(healthy.tip + "\n")
    assert "merge" in _one(healthy, "head").what
    marker.unlink()


def test_a_lost_branch(healthy: Memory) -> None:
    """The branch main is put back to its last commit, by the reflog, also where a remote has an older one."""
    old = healthy.tip
    healthy.repository.refs.set("refs/remotes/origin/main", old, expected=None)
    healthy.remember("Something that was never sent.")
    unsent = healthy.tip
    Path(healthy.repository.git_dir, "refs/heads/main").unlink()
    with pytest.raises(BundleUnusable, match=unsent[:12]) as refused:
        open_bundle(healthy.world, healthy.root)
    assert unsent in refused.value.hint
    assert ["branch"] == [problem.check for problem in Checks(healthy).run()]
    _repaired(healthy, "branch")
    assert unsent == healthy.tip


@pytest.mark.parametrize("content", [b"", b"\0" * 41, b"nonsense\n"])
def test_a_damaged_branch(healthy: Memory, content: bytes) -> None:
    """A file without an id, as a power cut leaves it, is written again by the reflog."""
    healthy.remember("Something that was never sent.")
    unsent = healthy.tip
    Path(healthy.repository.git_dir, "refs/heads/main").write_bytes(content)
    assert ["branch"] == [problem.check for problem in Checks(healthy).run()]
    _repaired(healthy, "branch")
    assert unsent == healthy.tip


def test_an_empty_head(healthy: Memory) -> None:
    """Git itself does not know the repository then; `check --fix` writes the file again."""
    Path(healthy.repository.git_dir, "HEAD").write_bytes(b"")
    assert "check --fix" in _one(healthy, "head").remedy
    _repaired(healthy, "head")
    assert "main" == run_git(healthy.root, "branch", "--show-current")


def test_a_newer_format(healthy: Memory) -> None:
    """Written by a newer gitmem: reading only."""
    agent = Path(healthy.root, "config/agent.md")
    agent.write_text(agent.read_text().replace("gitmem_format: 1", "gitmem_format: 7"))
    run_git(healthy.root, "commit", "-q", "--no-verify", "-am", "x")
    assert "format 7" in _one(healthy, "format").what


def test_an_index_that_is_lost(healthy: Memory) -> None:
    """Git's index is rebuilt."""
    os.unlink(healthy.repository.index_file.path)
    _repaired(healthy, "index")
    assert run_git(healthy.root, "status", "--porcelain") == ""


def test_an_index_that_is_damaged(healthy: Memory) -> None:
    """The same for one with a flipped byte."""
    index = Path(healthy.repository.index_file.path)
    data = index.read_bytes()
    index.write_bytes(data[:50] + bytes([data[50] ^ 1]) + data[51:])
    _repaired(healthy, "index")
    assert run_git(healthy.root, "status", "--porcelain") == ""


def test_an_index_of_another_version(healthy: Memory) -> None:
    """Version 4 is read; a split index is a problem that git itself can undo."""
    run_git(healthy.root, "update-index", "--index-version", "4")
    assert _problems(healthy) == []
    run_git(healthy.root, "update-index", "--split-index")
    assert "--no-split-index" in _one(healthy, "index").remedy
    _repaired(healthy, "index")
    assert run_git(healthy.root, "status", "--porcelain") == ""


def test_hand_edits(healthy: Memory) -> None:
    """A bad one is a problem, a good one none; neither is touched, nothing is committed."""
    Path(healthy.root, "good.md").write_text(NOTE)
    assert [] == _problems(healthy)
    Path(healthy.root, "bad.md").write_text("---\ntype: Note\n")
    Path(healthy.root, "link").symlink_to("x")
    tip = healthy.tip
    found = {problem.what: problem.serious for problem in _problems(healthy)}
    assert found == {
        "bad.md is not a valid OKF file: The front matter has no closing line of three dashes.": True,
        "link is a symbolic link, which a bundle never holds.": True,
    }
    assert tip == healthy.tip


def test_a_journal_that_was_left(healthy: Memory) -> None:
    """Events of a dead process are committed by `check --fix`."""
    from gitmem.memory.capture.journal import Journal

    journal = Journal.create(healthy.journal_dir, clock=healthy.world.clock)
    journal.append("observation", {"content": "left behind"}, session="s1")
    _abandon(journal)
    _repaired(healthy, "journal")


def test_a_journal_with_damaged_lines(healthy: Memory) -> None:
    """`check --fix` commits what can be read and says where the rest is, until a person has removed it."""
    from gitmem.memory.capture.journal import Journal

    journal = Journal.create(healthy.journal_dir, clock=healthy.world.clock)
    for text in ("left behind", "precious"):
        journal.append("observation", {"content": text}, session="s1")
    _abandon(journal)
    path = Path(healthy.journal_dir, f"{journal.uuid}.jsonl")
    path.write_bytes(path.read_bytes().replace(b"precious", b"precieux"))
    problem = _one(healthy, "journal")
    assert "(1; 1 cannot be read in full)" in problem.what
    assert problem.fix is not None
    problem.fix()
    kept = path.with_suffix(".damaged")
    assert str(kept) in _one(healthy, "journal").what
    assert b"precieux" in kept.read_bytes()
    kept.unlink()
    assert not [each for each in _problems(healthy) if each.what.startswith("Some lines")]


def _abandon(journal: object) -> None:
    """What a process that dies does: the lock is dropped, the file stays."""
    journal._lock.release()  # type: ignore[attr-defined]


def test_generated_pages_are_made_by_the_next_commit(healthy: Memory) -> None:
    """Facts are committed without them, and somebody may have removed them: neither is a problem."""
    run_git(healthy.root, "rm", "-q", "memories/index.md", "index.md")
    run_git(healthy.root, "commit", "-q", "--no-verify", "-m", "x")
    healthy.remember("A fact")
    assert "pages" not in {problem.check for problem in _problems(healthy)}
    healthy.record_observation("something")
    assert {"index.md", "memories/index.md"} <= set(healthy.file_paths())


def test_hooks(healthy: Memory) -> None:
    """Missing, broken and foreign hooks, and a directory elsewhere."""
    hooks = Path(healthy.repository.git_dir, "hooks")
    (hooks / "pre-commit").unlink()
    assert not _one(healthy, "hooks").serious
    (hooks / "pre-commit").write_text('#!/bin/sh\nexec /no/such/python -m gitmem hook pre-commit "$@"\n')
    assert _one(healthy, "hooks").serious
    _repaired(healthy, "hooks")
    (hooks / "pre-push").write_text("#!/bin/sh\n")
    assert "somebody else" in _one(healthy, "hooks").what
    install_hooks(healthy.repository)
    (hooks / "pre-push").unlink()
    install_hooks(healthy.repository)
    run_git(healthy.root, "config", "core.hooksPath", "/elsewhere")
    assert "/elsewhere" in _one(healthy, "hooks").what


@pytest.mark.parametrize("included", [False, True])
def test_the_users_own_hooks_in_the_place_of_ours(
    tmp_path: Path, clock: Callable[[], datetime], monkeypatch: pytest.MonkeyPatch, included: bool
) -> None:
    """A `core.hooksPath` for all of a user's repositories is reported, and the command that is given helps."""
    own = tmp_path / "own"
    own.write_text("[core]\n\thooksPath = ~/my-hooks\n")
    if included:
        own.rename(tmp_path / "hooks.inc")
        own.write_text(f"[include]\n\tpath = {tmp_path}/hooks.inc\n")
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", str(own))
    made, _ = create(
        World(os.environ, str(tmp_path), clock=clock, person="ada"),
        str(tmp_path / "mem"),
        config=Config(machine="laptop"),
        python=sys.executable,
    )
    problem = _one(made, "hooks")
    assert "~/my-hooks" in problem.what

    command = problem.remedy.partition("`")[2].partition("`")[0]
    subprocess.run(shlex.split(command), check=True)
    assert _problems(made) == []
    Path(made.root, "memories/MEMORY.md").write_text("---\ntype: [\n---\n")
    refused = try_git(made.root, "commit", "-qam", "broken")
    assert refused.returncode != 0, "the hook did not run"
    made.repository.store.close()


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("core.autocrlf", "true"),
        ("core.autocrlf", "input"),
        ("core.splitIndex", "true"),
        ("core.fsmonitor", "/bin/evil"),
        ("gc.auto", "6700"),
        ("index.skipHash", "true"),
    ],
)
def test_settings_of_git(healthy: Memory, key: str, value: str) -> None:
    """Settings under which plain git does harm are set right, and the rest of the file stays."""
    run_git(healthy.root, "config", "user.name", "Ann")
    run_git(healthy.root, "config", key, value)
    _repaired(healthy, "settings")
    assert run_git(healthy.root, "config", key) in ("false", "0")
    assert run_git(healthy.root, "config", "user.name") == "Ann"


@pytest.mark.parametrize("how", [("--unset", "transfer.fsckObjects"), ("transfer.fsckObjects", "no")])
def test_plain_git_checks_what_it_fetches(healthy: Memory, how: tuple[str, ...]) -> None:
    """A bundle that was made before this was set, or where somebody turned it off."""
    run_git(healthy.root, "config", *how)
    found = _one(healthy, "settings")
    assert "plain `git pull` takes in objects" in found.what
    assert found.serious == (how[0] != "--unset")
    _repaired(healthy, "settings")
    assert "true" == run_git(healthy.root, "config", "--type=bool", "transfer.fsckObjects")
