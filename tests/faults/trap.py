"""A trap in the system calls: the n-th one that changes the disk kills the process, or fails."""

from __future__ import annotations

import builtins
import errno
import os
import signal
import threading
from collections.abc import Callable
from typing import Any

CHANGING = (
    "write",
    "fsync",
    "fdatasync",
    "replace",
    "rename",
    "link",
    "unlink",
    "mkdir",
    "rmdir",
    "ftruncate",
)
NEEDS_SPACE = ("open", "write", "mkdir", "link", "replace", "rename", "fsync")
_WRITING = os.O_WRONLY | os.O_RDWR | os.O_CREAT


class Trap:
    """Counts the calls that change the disk, in all threads, and springs at the n-th.

    `kill`: the process dies before the call, or in the middle of a write. Otherwise the call fails
    with `error`; `sticky` lets all later ones fail too, as a full disk does.
    """

    def __init__(self, at: int, *, kill: bool = False, error: int = errno.EIO, sticky: bool = False) -> None:
        self.at = at
        self.kill = kill
        self.error = error
        self.sticky = sticky
        self.count = 0
        self.sprung = ""
        self._lock = threading.Lock()
        self._originals: dict[str, Callable[..., Any]] = {}
        self._open = builtins.open

    def __enter__(self) -> Trap:
        for name in (*CHANGING, "open"):
            original = getattr(os, name)
            self._originals[name] = original
            setattr(os, name, self._wrap(name, original))
        builtins.open = self._open_file
        return self

    def __exit__(self, *_: object) -> None:
        for name, original in self._originals.items():
            setattr(os, name, original)
        builtins.open = self._open

    def _wrap(self, name: str, original: Callable[..., Any]) -> Callable[..., Any]:
        def wrapped(*arguments: Any, **named: Any) -> Any:
            if name == "open" and not arguments[1] & _WRITING:
                return original(*arguments, **named)
            if self._springs(name):
                if self.kill:
                    if name == "write":
                        original(arguments[0], bytes(arguments[1])[: len(arguments[1]) // 2])
                    os.kill(os.getpid(), signal.SIGKILL)
                raise OSError(self.error, os.strerror(self.error), *_named(name, arguments))
            return original(*arguments, **named)

        return wrapped

    def _open_file(self, file: Any, mode: str = "r", *arguments: Any, **named: Any) -> Any:
        if set(mode) & set("wax+") and self._springs("open"):
            if self.kill:
                os.kill(os.getpid(), signal.SIGKILL)
            raise OSError(self.error, os.strerror(self.error), str(file))
        return self._open(file, mode, *arguments, **named)

    def _springs(self, name: str) -> bool:
        if self.sticky and self.error == errno.ENOSPC and name not in NEEDS_SPACE:
            return False
        with self._lock:
            self.count += 1
            springs = self.count == self.at or (self.sticky and self.count > self.at)
            if springs and not self.sprung:
                self.sprung = name
            return springs


def _named(name: str, arguments: tuple[Any, ...]) -> tuple[str, ...]:
    """The file name that the system would put into the error."""
    return () if name in ("write", "fsync", "fdatasync", "ftruncate") else (os.fspath(arguments[0]),)
