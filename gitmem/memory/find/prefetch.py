"""Prefetch: recall in the background after each turn, so that the next one has it at once.

Buys "warm `prefetch()` / cold" and "`prefetch`, warm": a turn reads what is there.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from gitmem.config import Config

Recaller = Callable[[str], str]
"""Gives the text for a query; called on a thread of its own."""


def recalls(config: Config, turn: int | None = None) -> bool:
    """Return whether the settings recall anything unasked; with a turn, counted from 1, whether that one is due."""
    if config.recall_mode == "tools" or config.context_budget <= 0:
        return False
    cadence = config.context_cadence
    return turn is None or (cadence > 0 and (turn - 1) % cadence == 0)


class Prefetch:
    """One background thread, which only ever works on the newest query. Nothing here blocks or raises.

    Results carry the turn they were made after; one that is older than twice the cadence is dropped. A failure
    recalls nothing and is kept in `last_error` for who asks.
    """

    def __init__(self, recall: Recaller, *, cadence: int = 1) -> None:
        self._recall = recall
        self._cadence = cadence
        self._changed = threading.Condition()
        self._wanted: tuple[int, str] | None = None
        self._ready: tuple[int, str] | None = None
        self._working = False
        self._closed = False
        self._thread: threading.Thread | None = None
        self.last_error = ""

    def after_turn(self, turn: int, query: str) -> None:
        """A turn is over: look up what the next may need. A lookup that has not begun gives way to this."""
        if self._cadence <= 0 or turn % self._cadence or not query.strip():
            return
        with self._changed:
            if self._closed:
                return
            self._wanted = (turn, query)
            if self._thread is None:
                self._thread = threading.Thread(target=self._work, name="gitmem-prefetch", daemon=True)
                try:
                    self._thread.start()
                except RuntimeError:  # the interpreter is about to end
                    self._thread, self._closed = None, True
            self._changed.notify_all()

    def ready(self, turn: int) -> str | None:
        """Return what was prefetched and is fresh enough for this turn; None where there is nothing such."""
        with self._changed:
            if self._ready is None:
                return None
            made, text = self._ready
            if turn - made > 2 * max(1, self._cadence):
                self._ready = None
                return None
            return text

    def __call__(self, turn: int, query: str) -> str:
        """Return what is known for this turn: at once if it was prefetched, else looked up now."""
        found = self.ready(turn)
        if found is not None:
            return found
        text = self._safely(query)
        with self._changed:
            self._ready = (turn, text)
        return text

    def settle(self, timeout: float) -> bool:
        """Wait until nothing is under way; False where that takes longer."""
        with self._changed:
            return self._changed.wait_for(lambda: self._wanted is None and not self._working, timeout)

    def forget(self) -> None:
        """Drop what was prefetched: the session is another one now."""
        with self._changed:
            self._wanted = self._ready = None

    def close(self) -> None:
        """End the thread; a lookup under way is not waited for."""
        with self._changed:
            self._closed = True
            self._wanted = None
            self._changed.notify_all()

    def _work(self) -> None:
        while True:
            with self._changed:
                self._changed.wait_for(lambda: self._wanted is not None or self._closed)
                if self._wanted is None:
                    return
                (turn, query), self._wanted = self._wanted, None
                self._working = True
            text = self._safely(query)
            with self._changed:
                self._working = False
                if not self._closed:
                    self._ready = (turn, text)
                self._changed.notify_all()

    def _safely(self, query: str) -> str:
        try:
            return self._recall(query)
        except Exception as error:  # noqa: BLE001 (a turn goes on whatever recall runs into)
            self.last_error = f"{type(error).__name__}: {error}"
            return ""
