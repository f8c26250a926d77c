"""Who may read and write a bundle: its owner alone, or a group that it was made for."""

from __future__ import annotations

import gc
import json
import os
import stat
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from gitmem.permissions import create, make_directories, share, wrong

from tests.cli.conftest import Cli
from tests.git.support import PROJECT, plain_environment

pytestmark = pytest.mark.skipif(os.name != "posix", reason="Windows has access lists, and no modes")
_ADA, _BEN, _GROUP = 64_001, 64_002, 64_100
as_root = pytest.mark.skipif(
    not hasattr(os, "geteuid") or os.geteuid() != 0, reason="only root becomes other users"
)


_COMMANDS = (
    ("memory", "add", "Every Monday NAME waters the garden."),
    ("record", "observation", "The tap of NAME drips."),
    ("snapshot", "create", "NAME"),
    ("search", "garden"),
    ("sync",),
    ("gc",),
    ("memory", "add", "The shed of NAME has a red door."),
)
"""Everything that makes files of another kind."""


@contextmanager
def _umask(mask: int) -> Iterator[None]:
    before = os.umask(mask)
    try:
        yield
    finally:
        os.umask(before)


def _modes(top: Path) -> Iterator[tuple[str, int]]:
    """Every file and directory at and below a place, with its mode."""
    gc.collect()  # scratch directories that nobody uses any more go now, and not under our hands
    for directory, _, files in os.walk(top):
        for path in (Path(directory), *(Path(directory, name) for name in files)):
            if not path.is_symlink():
                yield str(path.relative_to(top)), path.stat().st_mode


@pytest.mark.parametrize(("umask", "apart"), [(0o000, False), (0o077, False), (0o022, True)])
def test_only_the_owner_sees_a_bundle(gitmem: Cli, tmp_path: Path, umask: int, apart: bool) -> None:
    """Directories are made 0700 and files 0600, whatever the umask: tree, objects, packs, index, state and clone."""
    bundle, git_dir = tmp_path / "mem", tmp_path / ("mem.git" if apart else "mem/.git")
    with _umask(umask):
        gitmem("init", "mem", *(("--separate-git-dir", str(git_dir)) if apart else ()))
        gitmem.git("init", "--quiet", "--bare", "-b", "main", "far")
        gitmem.cwd = bundle
        gitmem("remote", "add", "origin", str(tmp_path / "far"), "--yes")
        for command in _COMMANDS:
            gitmem(*command)
        gitmem.cwd = tmp_path
        gitmem("clone", str(tmp_path / "far"), "copy")
        gitmem("clone", "--transport", "dulwich", str(tmp_path / "far"), "copy2")
    for top in (bundle, git_dir, tmp_path / "copy", tmp_path / "copy2"):
        found = dict(_modes(top))
        assert {} == {name: oct(mode) for name, mode in found.items() if mode & 0o077}
        assert all(mode & 0o700 == 0o700 for mode in found.values() if stat.S_ISDIR(mode))
    assert os.access(git_dir / "hooks/pre-commit", os.X_OK)


def test_plain_git_makes_private_objects_too(gitmem: Cli) -> None:
    """`core.sharedRepository` of a new bundle says so."""
    gitmem.init()
    gitmem.write("note.txt", "by hand\n")
    with _umask(0):
        gitmem.git("add", "note.txt")
    assert {} == {name: oct(mode) for name, mode in _modes(gitmem.cwd / ".git") if mode & 0o077}


def test_an_empty_directory_becomes_private_and_one_in_use_stays(gitmem: Cli, tmp_path: Path) -> None:
    """Whoever made the directory for the bundle gets a private one; a place with other files keeps its mode."""
    for name, file in (("empty", ""), ("used", "note.txt")):
        (tmp_path / name).mkdir()
        (tmp_path / name).chmod(0o755)
        if file:
            (tmp_path / name / file).write_text("mine\n")
        gitmem("init", name)
    assert 0o700 == (tmp_path / "empty").stat().st_mode & 0o777
    assert 0o755 == (tmp_path / "used").stat().st_mode & 0o777
    assert 0o700 == (tmp_path / "used/.git").stat().st_mode & 0o777


def test_doctor_closes_what_others_may_see(gitmem: Cli) -> None:
    """A bundle of an older gitmem, or one that was unpacked: doctor says so, and --fix closes it."""
    bundle = gitmem.init()
    for name, mode in list(_modes(bundle)):
        (bundle / name).chmod(0o755 if stat.S_ISDIR(mode) or mode & 0o100 else 0o644)
    assert "Other users of this machine may see .git, " in gitmem("doctor").out
    gitmem("doctor", "--fix")
    assert "may see" not in gitmem("doctor").out
    assert {} == {name: oct(mode) for name, mode in _modes(bundle) if mode & 0o077 and name != "."}


def test_a_groups_directory_is_no_word_to_share_a_memory(gitmem: Cli, tmp_path: Path) -> None:
    """In a directory of a group a bundle is private all the same, and `init` says how to share it."""
    place = tmp_path / "team"
    place.mkdir()
    place.chmod(0o2775)
    gitmem("init", "team/mem")
    assert {} == {name: oct(mode) for name, mode in _modes(place / "mem") if mode & 0o077}
    place = tmp_path / "other"
    place.mkdir()
    (place / "kept.txt").write_text("ours\n")
    place.chmod(0o2775)
    told = gitmem.run("init", "other")
    assert "is a group's directory, and the bundle is yours alone" in told.err
    assert {"."} == {name for name, mode in _modes(place) if mode & 0o077}


class _Members:
    """What members of a group do in places of theirs, one after another."""

    def __init__(self, disk: Path) -> None:
        disk.chmod(0o755)
        self._disk = disk
        self._jobs: list[dict[str, object]] = []
        (disk / "gitconfig").write_text("[safe]\n\tdirectory = *\n")

    def place(self, name: str) -> Path:
        made = self._disk / name
        made.mkdir()
        os.chown(made, _ADA, _GROUP)
        made.chmod(0o2770)
        return made

    def do(self, user: int, cwd: Path, *words: str, umask: int = 0o022) -> None:
        env = {**plain_environment(), "HOME": str(self._disk), "GITMEM_SAFE_DIRECTORY": "*"}
        env["GIT_CONFIG_GLOBAL"] = str(self._disk / "gitconfig")
        job = {"user": user, "groups": [_GROUP], "umask": umask, "cwd": str(cwd), "words": words, "env": env}
        self._jobs.append(job)

    def results(self) -> Iterator[dict[str, Any]]:
        """What came of each, as an iterator in their order."""
        done = subprocess.run(
            [sys.executable, "-P", str(PROJECT / "tests/other_users.py")],
            input=json.dumps(self._jobs),
            capture_output=True,
            text=True,
            timeout=300,
            check=True,
        )
        return iter(json.loads(done.stdout))


@as_root
def test_a_group_shares_a_bundle(disk: Path) -> None:
    """`init --shared`, `git init --shared` before it, or the setting and doctor: each member writes, nobody else reads.

    Without any of them another member gets a sentence, even one who is allowed to work in the directory.
    """
    team = _Members(disk)
    ways = ("init", "git", "doctor")
    for by in ways:
        place = team.place(by)
        bundle = place / "mem"
        if by == "git":
            team.do(_ADA, place, "git", "init", "--quiet", "--shared", "-b", "main", "mem")
        team.do(_ADA, place, "gitmem", "init", *(["--shared"] if by == "init" else []), "mem")
        if by == "doctor":
            team.do(_ADA, bundle, "chgrp", "-R", str(_GROUP), ".")
            team.do(_ADA, bundle, "git", "config", "core.sharedRepository", "group")
            team.do(_ADA, bundle, "gitmem", "doctor", "--fix")
        team.do(_ADA, place, "git", "init", "--quiet", "--bare", "--shared", "-b", "main", "far")
        team.do(_ADA, bundle, "gitmem", "remote", "add", "origin", str(place / "far"), "--yes")
        for name, user, umask in (("ada", _ADA, 0o022), ("ben", _BEN, 0o077), ("ada-again", _ADA, 0o077)):
            for words in _COMMANDS if by == "init" else _COMMANDS[:2]:
                team.do(user, bundle, "gitmem", *(word.replace("NAME", name) for word in words), umask=umask)
        team.do(_ADA, bundle, "gitmem", "doctor")
    private = team.place("private")
    team.do(_ADA, private, "gitmem", "init", "mem")
    team.do(_BEN, private, "gitmem", "-C", "mem", "memory", "add", "Mine.")
    team.do(_BEN, private, "cat", "mem/memories/MEMORY.md")

    done = team.results()
    for by in ways:
        for _ in range({"init": 3 + 3 * len(_COMMANDS), "git": 4 + 6, "doctor": 6 + 6}[by]):
            one = next(done)
            if "core.sharedRepository" in one["out"]:
                assert "lets a group use this bundle, and its directories say otherwise" in one["out"]
            else:
                assert not one["code"], one
        health = next(done)["out"]
        assert "core.sharedRepository" not in health
        assert "The group cannot use" not in health
        bundle = disk / by / "mem"
        assert [0o2770, 0o2770] == [path.stat().st_mode & 0o7777 for path in (bundle, bundle / ".git")]
        assert [] == wrong(str(bundle), shared=True)
        text = (bundle / "memories/MEMORY.md").read_text()
        assert all(f"{name} waters" in text for name in ("ada", "ben", "ada-again"))
    made, refused, read = done
    assert not made["code"]
    assert refused["code"]
    assert refused["err"].startswith("gitmem: ")
    assert "bug" not in refused["err"]
    assert read["out"] == ""


def test_a_file_is_as_open_as_its_directory(tmp_path: Path) -> None:
    """In a group's directory the umask takes nothing from the group; elsewhere it gives nothing to it."""
    shared = tmp_path / "shared"
    with _umask(0o077):
        make_directories(str(shared))
        share(str(shared))
        make_directories(str(shared / "a/b"))
        _make_files(shared / "a/b")
    with _umask(0):
        make_directories(str(tmp_path / "own/b"))
        _make_files(tmp_path / "own/b")
    names = ("a", "a/b", "a/b/file", "a/b/script")
    assert [0o2770, 0o2770, 0o660, 0o770] == [(shared / name).stat().st_mode & 0o7777 for name in names]
    names = ("own", "own/b", "own/b/file", "own/b/script")
    assert [0o700, 0o700, 0o600, 0o700] == [(tmp_path / name).stat().st_mode & 0o7777 for name in names]


def _make_files(place: Path) -> None:
    os.close(create(str(place / "file"), os.O_WRONLY | os.O_CREAT))
    os.close(create(str(place / "script"), os.O_WRONLY | os.O_CREAT, 0o755))
