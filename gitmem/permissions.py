"""Modes of what gitmem makes: its owner's alone, files 0600 and directories 0700, whatever the umask says."""

from __future__ import annotations

import os

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

PRIVATE = 0o600
_DIRECTORY = 0o700
_OTHERS = 0o077


def create(path: str, flags: int, mode: int = PRIVATE) -> int:
    """Open a file that may be made by that, and return its descriptor; of `mode` the owner's part counts."""
    return os.open(path, flags, mode & ~_OTHERS)


def make_directory(path: str) -> None:
    """Make a directory, as `os.mkdir` does."""
    os.mkdir(path, _DIRECTORY)


def make_directories(path: str) -> None:
    """Make a directory and those above it, where there are none."""
    if os.path.isdir(path):
        return
    above = os.path.dirname(path)
    if above and above != path:
        make_directories(above)
    try:
        make_directory(path)
    except FileExistsError:
        if not os.path.isdir(path):
            raise


def close_to_others(path: str) -> None:
    """Take from a file or directory that another program made what its mode gives to others."""
    try:
        mode = os.stat(path, follow_symlinks=False).st_mode & 0o777
        if mode & _OTHERS:
            os.chmod(path, mode & ~_OTHERS)
    except FileNotFoundError:  # gone by now
        pass


def open_to_others(*tops: str) -> Iterator[str]:
    """Yield what is below these directories and open to other users; no link is followed."""
    for top in tops:
        for directory, folders, files in os.walk(top):
            for name in (*folders, *files):
                path = os.path.join(directory, name)
                try:
                    is_open = not os.path.islink(path) and os.stat(path).st_mode & _OTHERS
                except OSError:
                    continue
                if is_open:
                    yield path
