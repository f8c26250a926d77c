"""Plain git without our merge driver: what it leaves is named with the command that helps."""

from __future__ import annotations

import os
import re
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
from gitmem.config import Config
from gitmem.memory.memory import Memory
from gitmem.memory.opening import open_bundle
from gitmem.memory.sync.sync import Sync
from gitmem.memory.upkeep.checks import Checks, Problem
from gitmem.memory.upkeep.create import create
from gitmem.world import World

from tests.git.support import fsck_clean, run_git, try_git
from tests.memory.conftest import Clock
from tests.trees import copied

WITHOUT_HOOKS = ("-c", "core.hooksPath=/dev/null")


@pytest.fixture(scope="module")
def ground(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A hub with one more fact than its plain clone, which has one and a note of its own."""
    root = tmp_path_factory.mktemp("plain")
    clock = Clock()
    a, _ = create(World(os.environ, clock=clock), str(root / "a"), config=Config(machine="a"))
    a.curated.add("base fact")
    note(a, "as it was")
    run_git(str(root), "clone", "-q", "--bare", a.root, "hub.git")
    run_git(str(root), "clone", "-q", "hub.git", "b")
    a.curated.add("a fact")
    note(a, "as a says")
    run_git(a.root, *WITHOUT_HOOKS, "push", "-q", "../hub.git", "main")
    (root / "b/.git/gitmem").mkdir()  # one of this machine's, without hooks and merge driver
    b = open_bundle(World(os.environ, clock=clock), str(root / "b"), "as is", config=Config(machine="b"))
    b.curated.add("b fact")
    note(b, "as b says")
    for bundle in (a, b):
        bundle.repository.store.close()
    return root


@pytest.fixture
def plain(ground: Path, tmp_path: Path) -> Iterator[Memory]:
    for name in ("hub.git", "b"):
        copied(ground / name, tmp_path / name)
    run_git(str(tmp_path / "b"), "remote", "set-url", "origin", str(tmp_path / "hub.git"))
    bundle = open_bundle(
        World(os.environ, clock=Clock()), str(tmp_path / "b"), "as is", config=Config(machine="b")
    )
    yield bundle
    fsck_clean(bundle.repository)
    bundle.repository.store.close()


def note(bundle: Memory, text: str) -> None:
    path = Path(bundle.root, "decisions", "x.md")
    path.parent.mkdir(exist_ok=True)
    path.write_text(f"---\ntype: Decision\ntitle: X\n---\n{text}\n")
    bundle.take_in_edits(strict=True)


def problems(bundle: Memory) -> list[Problem]:
    return list(Checks(bundle).run())


def repaired(bundle: Memory) -> list[str]:
    """Mends what can be repaired; gives the names of the serious problems that were found."""
    found = []
    for problem in problems(bundle):
        if problem.fix is not None:
            problem.fix()
        found += [problem.check] if problem.serious else []
    return found


def is_whole(bundle: Memory) -> None:
    """Both sides' facts are there and their notes too, no marker is anywhere, and the checks are content."""
    assert {"base fact", "a fact", "b fact"} == {entry.text for entry in bundle.curated.entries("memory")}
    tree = bundle.tree()
    everything = b"\n".join(tree.read_entry(entry) for _, entry in tree.files())
    for text in (b"as a says", b"as b says"):
        assert text in everything
    assert b"\n>>>>>>> " not in everything
    assert "" == run_git(bundle.root, "status", "--short")
    assert [] == repaired(bundle)


def test_a_plain_clone_learns_to_merge(plain: Memory) -> None:
    """After `check --fix`, `git pull` in a plain clone merges entries by our driver."""
    repaired(plain)
    attributes = Path(plain.repository.git_dir, "info", "attributes")
    assert attributes.read_text().endswith("*.md merge=gitmem\n")
    before = attributes.read_text()
    repaired(plain)
    assert before == attributes.read_text()
    assert "merge-driver %O %A %B %P" in run_git(plain.root, "config", "merge.gitmem.driver")


def test_a_pull_that_stopped_in_a_conflict(plain: Memory) -> None:
    """The commands that are named take git's merge back and make ours."""
    assert try_git(plain.root, *WITHOUT_HOOKS, "pull", "-q", "--no-rebase", "origin", "main").returncode
    [problem] = [one for one in problems(plain) if one.check == "head"]
    assert re.findall("`([^`]+)`", problem.remedy) == ["git merge --abort", "gitmem sync"]
    run_git(plain.root, "merge", "--abort")
    run_git(plain.root, "config", "remote.origin.gitmemconsent", "true")
    Sync(plain).run()
    repaired(plain)
    is_whole(plain)


def test_conflict_markers_that_were_committed(plain: Memory) -> None:
    """Somebody committed the conflict as it was: the files are named until a person took the markers out."""
    try_git(plain.root, *WITHOUT_HOOKS, "pull", "-q", "--no-rebase", "origin", "main")
    run_git(plain.root, "add", "-A")
    run_git(plain.root, *WITHOUT_HOOKS, "commit", "-q", "-m", "merged")
    [problem] = [one for one in problems(plain) if one.check == "conflict"]
    assert "decisions/x.md" in problem.what
    for path in ("decisions/x.md", "memories/MEMORY.md"):
        file = Path(plain.root, path)
        lines = file.read_text().splitlines(keepends=True)
        file.write_text(
            "".join(one for one in lines if not one.startswith(("<<<<<<< ", "=======", ">>>>>>> ")))
        )
    run_git(plain.root, *WITHOUT_HOOKS, "commit", "-q", "-a", "-m", "by hand")
    assert "conflict" not in {one.check for one in problems(plain)}


def test_a_note_about_markers_is_left_alone(plain: Memory) -> None:
    """A file that tells of conflict markers, by an ordinary commit, is nobody's conflict."""
    text = "so it looks:\n<<<<<<< HEAD\none\n=======\ntwo\n>>>>>>> other"
    note(plain, text)
    assert "conflict" not in repaired(plain)
    assert text in (plain.read("decisions/x.md") or b"").decode()


def test_sync_after_a_plain_merge(plain: Memory, tmp_path: Path) -> None:
    """A merge by plain git that went well is history like any other: a sync sends it, another machine takes it."""
    run_git(plain.root, *WITHOUT_HOOKS, "pull", "-q", "--no-rebase", "-X", "ours", "origin", "main")
    repaired(plain)
    run_git(plain.root, "config", "remote.origin.gitmemconsent", "true")
    Sync(plain).run()
    assert (
        plain.tip
        == subprocess.run(
            ["git", "-C", str(tmp_path / "hub.git"), "rev-parse", "main"],
            capture_output=True,
            text=True,
            check=True,
        ).stdout.strip()
    )
