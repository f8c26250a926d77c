"""Running the fault experiments of `lab.py` from tests."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tests.git.support import PROJECT as PROJECT  # noqa: PLC0414 (handed on to the tests here)


@contextmanager
def quick_directory(tmp_path: Path) -> Iterator[Path]:
    """A directory in memory where there is one: a killed process does not care, and fsync is free."""
    if not os.path.isdir("/dev/shm"):
        yield tmp_path
        return
    directory = Path(tempfile.mkdtemp(prefix="gitmem-faults-", dir="/dev/shm"))
    try:
        yield directory
    finally:
        shutil.rmtree(directory, ignore_errors=True)


def experiment(name: str, root: Path, *arguments: str) -> str:
    """Run one experiment; gives what it printed, fails with what it complained about."""
    done = subprocess.run(
        [sys.executable, "-m", "tests.faults.lab", name, str(root), *arguments],
        cwd=PROJECT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout
