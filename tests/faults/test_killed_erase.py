"""SIGKILL at any moment of an erase: afterwards all is as before, or all is erased, and never anything between."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest


def killed(root: Path, *arguments: str) -> str:
    done = subprocess.run(
        [sys.executable, "-m", "tests.faults.erase_lab", str(root), *arguments],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def test_an_erase_that_is_killed(tmp_path: Path) -> None:
    """At some moments, spread over all of it."""
    killed(tmp_path, "12")


def test_an_erase_that_is_killed_where_directories_cannot_be_exchanged(tmp_path: Path) -> None:
    """For a moment there is no git directory; the next to come puts it back."""
    killed(tmp_path, "12", "renames")


@pytest.mark.slow
def test_an_erase_that_is_killed_two_hundred_times(tmp_path: Path) -> None:
    """At every change of the disk, and again."""
    killed(tmp_path, "200")


@pytest.mark.slow
def test_whoever_finishes_it_is_killed_too(tmp_path: Path) -> None:
    """The next process dies in the middle of finishing it, and the one after it, and so on."""
    killed(tmp_path, "60", "again")
