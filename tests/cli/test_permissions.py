"""Who may read and write a bundle: its owner alone."""

from __future__ import annotations

import gc
import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from gitmem.files import create, make_directories

from tests.cli.conftest import Cli

_COMMANDS = (
    ("remember", "Every Monday NAME waters the garden."),
    ("record", "observation", "The tap of NAME drips."),
    ("snapshot", "NAME"),
    ("search", "garden"),
    ("sync",),
    ("gc",),
    ("remember", "The shed of NAME has a red door."),
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
    assert "Other users of this machine may see .git, " in gitmem("check").out
    gitmem("check", "--fix")
    assert "may see" not in gitmem("check").out
    assert {} == {name: oct(mode) for name, mode in _modes(bundle) if mode & 0o077 and name != "."}


def test_a_groups_directory_is_no_word_to_share_a_memory(gitmem: Cli, tmp_path: Path) -> None:
    """In a directory of a group a bundle is private all the same."""
    place = tmp_path / "team"
    place.mkdir()
    place.chmod(0o2775)
    gitmem("init", "team/mem")
    assert {} == {name: oct(mode) for name, mode in _modes(place / "mem") if mode & 0o077}
    place = tmp_path / "other"
    place.mkdir()
    (place / "kept.txt").write_text("ours\n")
    place.chmod(0o2775)
    gitmem("init", "other")
    assert {"."} == {name for name, mode in _modes(place) if mode & 0o077}


def test_what_is_made_is_its_owners_alone(tmp_path: Path) -> None:
    """Whatever the umask says, and also in a directory of a group."""
    tmp_path.chmod(0o2770)
    with _umask(0):
        make_directories(str(tmp_path / "own/b"))
        os.close(create(str(tmp_path / "own/b/file"), os.O_WRONLY | os.O_CREAT))
        os.close(create(str(tmp_path / "own/b/script"), os.O_WRONLY | os.O_CREAT, 0o755))
    names = ("own", "own/b", "own/b/file", "own/b/script")
    assert [0o700, 0o700, 0o600, 0o700] == [(tmp_path / name).stat().st_mode & 0o777 for name in names]
