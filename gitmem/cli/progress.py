"""Progress on the terminal while the search index is built or a remote is asked; nothing where no terminal is."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from gitmem.cli.context import App

if TYPE_CHECKING:
    from gitmem.memory.memory import Memory

_AFTER = 1.0
_WIDTH = 30


@contextmanager
def shown_while_building(app: App) -> Iterator[Memory]:
    """The bundle, for a block that reads its index; the connection is given back at the end."""
    bundle = app.bundle
    bar = _Bar() if sys.stderr.isatty() else None
    if bar is not None:
        bundle.index.progress = bar
    try:
        yield bundle
    finally:
        if bar is not None:
            bar.clear()
        bundle.index.close()


@contextmanager
def shown_stages() -> Iterator[Callable[[str], None] | None]:
    """Takes a few words for what is under way, which are gone at the end; None where nobody watches."""
    if not sys.stderr.isatty():
        yield None
        return

    def show(stage: str) -> None:
        sys.stderr.write(f"\r\x1b[K{stage} …")
        sys.stderr.flush()

    try:
        yield show
    finally:
        sys.stderr.write("\r\x1b[K")
        sys.stderr.flush()


class _Bar:
    def __init__(self) -> None:
        self._began = self._drawn = time.monotonic()
        self._visible = False

    def __call__(self, done: int, of: int) -> None:
        now = time.monotonic()
        if now - self._began < _AFTER or now - self._drawn < 0.1:
            return
        self._drawn, self._visible = now, True
        full = _WIDTH * done // max(1, of)
        sys.stderr.write(f"\rindexing [{'#' * full}{' ' * (_WIDTH - full)}] {done:,} of {of:,} commits")
        sys.stderr.flush()

    def clear(self) -> None:
        if self._visible:
            sys.stderr.write("\r\x1b[K")
            sys.stderr.flush()
