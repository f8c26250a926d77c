"""`gitmem demo`, and the picture that is drawn from it."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.cli.conftest import real
from tests.git.support import plain_environment

ROOT = Path(__file__).parents[2]


def test_the_demo_is_short(tmp_path: Path) -> None:
    """At most 60 lines of 80 columns, and nothing on standard error."""
    done = real("demo", cwd=tmp_path)
    assert (done.returncode, done.stderr) == (0, "")
    lines = [re.sub(r"/\S+/mem", "/tmp/gitmem-demo/mem", line) for line in done.stdout.splitlines()]
    assert len(lines) <= 60
    assert [line for line in lines if len(line) > 80] == []
    assert [line for line in lines if line.startswith("$ ")][-1] == "$ gitmem check"


def test_the_picture_shows_what_the_demo_shows_now(tmp_path: Path) -> None:
    """The file of the README against a new one, without ids and times."""
    drawn = tmp_path / "picture.svg"
    subprocess.run(
        [sys.executable, ROOT / "examples/picture.py", drawn],
        cwd=tmp_path,
        env={**plain_environment(), "HOME": str(tmp_path)},
        check=True,
    )

    def words(path: Path) -> list[str]:
        text = re.sub(r"<[^>]*>", "", path.read_text())
        return re.sub(r"Today, .*|\b\d\d:\d\d\b|\b[0-9a-f]{8,12}\b", "…", text).splitlines()

    assert words(drawn) == words(ROOT / "docs/picture.svg")


def test_the_demo_tells_its_story_and_leaves_nothing(tmp_path: Path) -> None:
    """Every command shown is run, also in a home with a bundle of its own, which is not touched."""
    temporary = tmp_path / "tmp"
    temporary.mkdir()
    real("init", ".hermes/gitmem/bundle", cwd=tmp_path)
    before = real("log", "--json", cwd=tmp_path).stdout
    done = real(
        "demo",
        "--full",
        cwd=tmp_path,
        env={"TMPDIR": str(temporary), "GITMEM_BUNDLE": str(tmp_path / ".hermes/gitmem/bundle")},
    )
    assert (done.returncode, done.stderr.count("\n")) == (0, 3), done.stderr  # refused, held, unconfirmed
    shown = [line.split()[2] for line in done.stdout.splitlines() if line.startswith("$ gitmem ")]
    assert {"init", "diff", "sync", "check"} <= set(shown)
    assert "$ git log" in done.stdout
    assert "Whole." in done.stdout
    assert os.listdir(temporary) == []
    assert before == real("log", "--json", cwd=tmp_path).stdout


@pytest.mark.slow
def test_the_demo_works_without_git(tmp_path: Path) -> None:
    """Where git is not installed, its part is left out."""
    done = real("demo", "--full", cwd=tmp_path, env={"PATH": "/nonexistent"})
    assert (done.returncode, done.stderr.count("\n")) == (0, 3), done.stderr  # refused, held, unconfirmed
    assert "$ git log" not in done.stdout
