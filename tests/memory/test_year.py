"""A bundle that is used for months stays as small as what it holds, and nobody has to tidy it."""

from __future__ import annotations

from pathlib import Path

import pytest
from benchmarks.year import GOALS, figures


@pytest.mark.parametrize("days", [200.0, 8.0], ids=["a few a week", "many a day"])
def test_a_bundle_does_not_outgrow_its_content(tmp_path: Path, days: float) -> None:
    """Bytes and commits, as `benchmarks/year.py` measures them over a thousand sessions; time is not asked here."""
    found = figures(str(tmp_path / "mem"), 45, days)
    found.pop("processor time of a session, the last against early ones")
    assert {} == {name: value for name, value in found.items() if value > GOALS[name]}
