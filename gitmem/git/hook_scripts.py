"""The scripts by which git calls gitmem: put into a git directory, and looked at."""

from __future__ import annotations

import os
import re
import shlex
from collections.abc import Collection
from typing import Literal

from gitmem import resources
from gitmem.files import make_directories, read_file, write_new

State = Literal["ours", "missing", "foreign", "broken"]

DRIVER = '"$(git rev-parse --git-path hooks/gitmem)" merge-driver %O %A %B %P'
"""How git calls our merge driver: by the launcher beside the hooks, wherever the bundle is moved to."""

_LAUNCHER = "gitmem"
_OURS = re.compile(rb'gitmem"? hook ')
_BY_LAUNCHER = b'/gitmem" hook '
_PYTHON = re.compile(r"^python=(.*)$", re.MULTILINE)


def put(git_dir: str, names: Collection[str], *, python: str) -> list[str]:
    """Put hooks in place, and the launcher they call; returns foreign ones, which are left alone.

    `python` is the interpreter that has gitmem; without it the hooks look for `gitmem` on PATH.
    """
    foreign = [name for name in names if state(git_dir, name) == "foreign"]
    launcher = resources.read(f"hooks/{_LAUNCHER}").decode()
    _write(git_dir, _LAUNCHER, launcher.replace("python=''", f"python={shlex.quote(python)}", 1))
    for name in names:
        if name not in foreign:
            _write(git_dir, name, resources.read(f"hooks/{name}").decode())
    return foreign


def state(git_dir: str, name: str) -> State:
    """Return the state of a hook; `broken` where it bypasses the launcher, or the launcher's program is gone."""
    script = read_file(os.path.join(git_dir, "hooks", name))
    if script is None:
        return "missing"
    if not _OURS.search(script):
        return "foreign"
    launcher = read_file(os.path.join(git_dir, "hooks", _LAUNCHER))
    if launcher is None or _BY_LAUNCHER not in script:
        return "broken"
    called = _PYTHON.search(launcher.decode("utf-8", "replace"))
    python = "".join(shlex.split(called[1])) if called else ""
    return "broken" if python and not os.access(python, os.X_OK) else "ours"


def _write(git_dir: str, name: str, script: str) -> None:
    directory = os.path.join(git_dir, "hooks")
    make_directories(directory)
    path = os.path.join(directory, name)
    write_new(path, script.encode(), mode=0o700, durable=True)
    os.chmod(path, 0o700)  # git runs a hook only when it is executable
