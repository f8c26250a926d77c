"""A stand-in for a bundle's git directory: the same objects, refs and index, and a configuration of our own.

What git does best on a bundle (compress, take a merge back, read a rare form of index) it does there: a configuration that
came with the directory could name programs for it to run.
"""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from gitmem.files import read_file, write_new
from gitmem.git import git_command
from gitmem.git.repository import Repository
from gitmem.git.setup import ATTRIBUTES, CONFIGURATION
from gitmem.permissions import make_directory
from gitmem.scratch import scratch_directory

# The data of a repository; `config`, `config.worktree`, `hooks`, `info` and everything unknown stay behind.
_DATA = (
    "objects", "refs", "logs", "packed-refs", "index", "shallow", "worktrees",
    "MERGE_HEAD", "MERGE_MODE", "MERGE_MSG", "MERGE_AUTOSTASH", "AUTO_MERGE",
)  # fmt: skip
_MAY_COME = ("packed-refs", "index")
"""Git makes them where there are none, and follows the link then too."""
_KEPT = ("reflogexpire", "reflogexpireunreachable", "pruneexpire")
"""How long git keeps what no ref names: a person's word, and no program's name."""


@dataclass(frozen=True, slots=True)
class StandIn:
    """The stand-in, while it is there."""

    path: str
    repository: Repository

    def git(
        self, *arguments: str, timeout: float, with_files: bool = False
    ) -> subprocess.CompletedProcess[bytes]:
        """Run git; `with_files` on the work tree too. Raises OSError or TimeoutExpired where it does not end."""
        files = ("--work-tree", self.repository.root) if with_files else ()
        return subprocess.run(
            git_command.command(*files, *arguments, git_dir=self.path),
            cwd=self.repository.root if with_files else self.path,
            env=git_command.environment(self.repository.env),
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=timeout,
            check=False,
        )


@contextmanager
def stand_in(repository: Repository, *, index: str = "") -> Iterator[StandIn]:
    """A stand-in among the scratch files, gone at the end; `index` is one that git works with in the index's place.

    Raises OSError where the system has no symbolic links.
    """
    git_dir = repository.git_dir
    path = scratch_directory(repository.scratch, "git-")
    try:
        shared = [name for name in os.listdir(git_dir) if name.startswith("sharedindex.")]
        for name in (*_DATA, *shared):
            target = index if index and name == "index" else os.path.join(git_dir, name)
            if name in _MAY_COME or os.path.lexists(target):
                os.symlink(os.path.abspath(target), os.path.join(path, name))
        write_new(os.path.join(path, "HEAD"), read_file(os.path.join(git_dir, "HEAD")) or b"")
        write_new(
            os.path.join(path, "config"),
            CONFIGURATION.encode() + _expiry(git_dir),
        )
        make_directory(os.path.join(path, "info"))
        write_new(os.path.join(path, "info", "attributes"), ATTRIBUTES.encode())
        yield StandIn(path, repository)
        # What git removed (it has taken a merge back) it removed here only.
        for name in _DATA:
            if name.isupper() and not os.path.lexists(os.path.join(path, name)):
                _remove(os.path.join(git_dir, name))
    finally:
        shutil.rmtree(path, ignore_errors=True)


def _remove(path: str) -> None:
    if os.path.lexists(path):
        os.unlink(path)


def _expiry(git_dir: str) -> bytes:
    """What the bundle's configuration says of how long git keeps what no ref names."""
    import io

    from dulwich.config import ConfigFile

    kept = ConfigFile()
    try:
        with open(os.path.join(git_dir, "config"), "rb") as file:
            for name, value in ConfigFile.from_file(file).items((b"gc",)):
                if name.decode("ascii", "replace").lower() in _KEPT:
                    kept.set((b"gc",), name, value)
    except (OSError, ValueError, KeyError):
        return b""
    data = io.BytesIO()
    kept.write_to_file(data)
    return data.getvalue()
