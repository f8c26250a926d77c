"""What lies below a directory while gitmem works in it."""

from __future__ import annotations

import os
import shutil
from pathlib import Path


def contents(top: str | Path) -> dict[str, bytes]:
    """Every file below a directory by its path from there.

    A scratch directory goes when the collector finds its owner, so also in the middle of a walk: what has gone is
    left out. `Path.rglob` raises then.
    """
    found = {}
    for directory, _, names in os.walk(top):
        for path in (Path(directory, name) for name in sorted(names)):
            try:
                found[path.relative_to(top).as_posix()] = path.read_bytes()
            except FileNotFoundError:
                continue
    return found


def copied(source: str | Path, target: str | Path) -> None:
    """A copy of a directory with bundles in it, without their scratch directories, which may go meanwhile."""
    shutil.copytree(source, target, symlinks=True, ignore=_scratch)


def _scratch(directory: str, names: list[str]) -> list[str]:
    return [name for name in names if name == "tmp" and os.path.basename(directory) == "gitmem"]
