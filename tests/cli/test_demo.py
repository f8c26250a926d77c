"""`gitmem demo`."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from tests.cli.conftest import real


def test_the_demo_tells_its_story_and_leaves_nothing(tmp_path: Path) -> None:
    """Every command shown is run, also in a home with a bundle of its own, which is not touched."""
    temporary = tmp_path / "tmp"
    temporary.mkdir()
    real("init", ".hermes/gitmem/bundle", cwd=tmp_path)
    before = real("log", "--json", cwd=tmp_path).stdout
    done = real(
        "demo",
        cwd=tmp_path,
        env={"TMPDIR": str(temporary), "GITMEM_BUNDLE": str(tmp_path / ".hermes/gitmem/bundle")},
    )
    assert (done.returncode, done.stderr.count("\n")) == (0, 2), done.stderr  # one refused, one held
    shown = [line.split()[2] for line in done.stdout.splitlines() if line.startswith("$ gitmem ")]
    assert {"init", "commit", "diff", "check"} <= set(shown)
    assert "$ git log" in done.stdout
    assert "Whole." in done.stdout
    assert os.listdir(temporary) == []
    assert before == real("log", "--json", cwd=tmp_path).stdout


@pytest.mark.slow
def test_the_demo_works_without_git(tmp_path: Path) -> None:
    """Where git is not installed, its part is left out."""
    done = real("demo", cwd=tmp_path, env={"PATH": "/nonexistent"})
    assert (done.returncode, done.stderr.count("\n")) == (0, 2), done.stderr  # one refused, one held
    assert "$ git log" not in done.stdout
