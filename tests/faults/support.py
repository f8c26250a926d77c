"""Running the fault experiments of `lab.py` from tests."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path


def experiment(name: str, root: Path, *arguments: str) -> str:
    """Run one experiment; gives what it printed, fails with what it complained about."""
    done = subprocess.run(
        [sys.executable, "-m", "tests.faults.lab", name, str(root), *arguments],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout
