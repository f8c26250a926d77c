"""Files of a commit made aside while the disk is busy: afterwards they only need their names."""

from __future__ import annotations

import contextlib
import os

from gitmem.files import close_later, hold_replaced, move, write_new

_AT_MOST = 64
"""Each may hold a file descriptor for a moment, of which a host has perhaps a thousand."""


class FilesAside:
    """Work tree files that are written but have not got their names yet."""

    def __init__(self, stem: str) -> None:
        self._stem = stem
        self._made: dict[str, tuple[str, os.stat_result]] = {}
        self._replaced: list[int] = []

    def make(self, path: str, data: bytes, mode: int) -> None:
        """Write a file aside; a large change goes without, file by file."""
        if len(self._made) < _AT_MOST:
            temporary = f"{self._stem}-{len(self._made)}"
            self._made[path] = temporary, write_new(temporary, data, mode=mode & 0o777)

    def __contains__(self, path: str) -> bool:
        return path in self._made

    def put(self, path: str, full: str) -> os.stat_result:
        """Give a file its name; gives its stat from before anybody else could change it."""
        temporary, written = self._made[path]
        # Freeing the old file takes longer than all else, and can wait until `close`.
        self._replaced += hold_replaced(full)
        copied = move(temporary, full)
        del self._made[path]
        return copied or written

    def close(self) -> None:
        """Let go of the old files, and of new ones that never got their names."""
        close_later(self._replaced)
        self._replaced = []
        for temporary, _ in self._made.values():
            with contextlib.suppress(OSError):
                os.unlink(temporary)
        self._made.clear()
