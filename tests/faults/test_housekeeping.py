"""Housekeeping by git, while it runs and after a kill: nobody is locked out."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import gitmem
import pytest

from tests.git.support import PROJECT, plain_environment, run_git

COMMANDS = (
    ("status",),
    ("remember", "a fact of another process"),
    ("search", "fact"),
    ("log",),
    ("check",),
    ("check", "--fix"),
    ("snapshot", "now"),
)


@pytest.fixture
def paused(tmp_path: Path) -> Iterator[tuple[Path, subprocess.Popen[bytes]]]:
    """A memory whose `gitmem gc` waits in the middle: its git program begins, and does not go on."""
    gitmem.open(str(tmp_path / "mem"), create=True, machine="laptop").close()
    programs = tmp_path / "bin"
    programs.mkdir()
    real = shutil.which("git")
    assert real
    waiting = tmp_path / "waiting"
    (programs / "git").write_text(f"#!/bin/sh\ntouch {waiting}\nexec sleep 600\n")
    (programs / "git").chmod(0o755)
    env = {**plain_environment(), "PATH": f"{programs}{os.pathsep}{os.environ['PATH']}"}
    gc = subprocess.Popen(
        [sys.executable, "-m", "gitmem", "-C", str(tmp_path / "mem"), "gc"],
        cwd=PROJECT,
        env=env,
        start_new_session=True,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
    )
    while not waiting.exists():
        assert gc.poll() is None, gc.communicate()
        time.sleep(0.02)
    yield tmp_path / "mem", gc
    if gc.poll() is None:
        os.killpg(gc.pid, signal.SIGKILL)
    gc.communicate()


def run(root: Path, *args: str) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "gitmem", "-C", str(root), *args],
        cwd=PROJECT,
        env=plain_environment(),
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, (args, done.stdout, done.stderr)


def test_other_commands_work_meanwhile(paused: tuple[Path, subprocess.Popen[bytes]]) -> None:
    """They read, write and repair."""
    root, gc = paused
    for args in COMMANDS:
        run(root, *args)
    assert gc.poll() is None


def test_after_a_kill_the_next_command_works(paused: tuple[Path, subprocess.Popen[bytes]]) -> None:
    """What it left is swept by the next write."""
    root, gc = paused
    os.killpg(gc.pid, signal.SIGKILL)
    gc.wait()
    run(root, "status")
    run(root, "remember", "a fact")
    scratch = root / ".git" / "gitmem" / "tmp"
    assert [path for path in scratch.rglob("*") if path.is_symlink() or path.name.startswith("git-")] == []
    run(root, "gc")
    assert run_git(root, "fsck", "--strict") == ""
