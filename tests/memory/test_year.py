"""A bundle that is used for months stays as small as what it holds, and nobody has to tidy it."""

from __future__ import annotations

from pathlib import Path

import pytest
from benchmarks.year import GOALS, figures
from gitmem import background
from gitmem.git import housekeeping
from gitmem.memory.memory import Memory

from tests.git.support import run_git


@pytest.mark.parametrize("days", [200.0, 8.0], ids=["a few a week", "many a day"])
def test_a_bundle_does_not_outgrow_its_content(tmp_path: Path, days: float) -> None:
    """Bytes and commits, as `benchmarks/year.py` measures them over a thousand sessions; time is not asked here."""
    found = figures(str(tmp_path / "mem"), 45, days)
    found.pop("processor time of a session, the last against early ones")
    assert {} == {name: value for name, value in found.items() if value > GOALS[name]}


def test_whoever_commits_starts_housekeeping_when_it_is_due(bundle: Memory) -> None:
    """On the command line and in Python as under Hermes: closing the memory is enough."""
    packs = Path(bundle.repository.git_dir, "objects/pack")
    bundle.prepare("write")
    for number in range(60):
        bundle.remember(f"Fact {number}")
        for pack in packs.glob("*.pack"):  # as if somebody kept them: they are not joined
            pack.with_suffix(".keep").touch()
        bundle.forget(f"Fact {number}")
    for keep in packs.glob("*.keep"):
        keep.unlink()
    bundle.close()
    background.wait(120)
    assert housekeeping.last_time(bundle.repository) is not None
    assert 1 == len(list(packs.glob("*.pack")))
    assert "" == run_git(bundle.root, "fsck", "--strict")
