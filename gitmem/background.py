"""Work in the background: a gitmem command as a process of its own."""

from __future__ import annotations

import contextlib
import os
import subprocess
import sys
from collections.abc import Mapping

# Kept, because a process object that goes away while its process runs is a warning.
_started: list[subprocess.Popen[bytes]] = []


def start(root: str, *arguments: str, env: Mapping[str, str]) -> subprocess.Popen[bytes] | None:
    """Run `gitmem -C ROOT ARGUMENTS…`, which goes on when we end; None where no process can be started."""
    # -P: it runs in the bundle, from where Python must not import.
    command = [sys.executable, "-P", "-m", "gitmem", "-C", root, *arguments]
    _started[:] = [process for process in _started if process.poll() is None]
    try:
        process = subprocess.Popen(
            command,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
            cwd=root,
            env=dict(env),
        )
    except OSError:
        return None
    _started.append(process)
    return process


def wait(seconds: float) -> None:
    """For tests: let what was started come to an end, each within so many seconds."""
    for process in _started:
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(seconds)
    _started.clear()


os.register_at_fork(after_in_child=_started.clear)
