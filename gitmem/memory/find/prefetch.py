"""Prefetch: recall in the background after each turn, so that the next one has it at once.

Buys "warm `prefetch()` / cold" and "`prefetch`, warm": a turn reads what is there.
"""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import TimeoutError as StillRunning
from typing import TYPE_CHECKING

from gitmem.memory.worker import Worker

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

    Results carry the turn they were made after; one that is older than twice the cadence is dropped. A failure recalls
    nothing and is kept in `last_error` for who asks. `idle` gives back what a lookup holds open, on the same thread.
    """

    def __init__(
        self, recall: Recaller, *, cadence: int = 1, idle: Callable[[], None] = lambda: None
    ) -> None:
        self._recall, self._cadence, self._idle = recall, cadence, idle
        self._worker = Worker(failed=lambda _: None, idle=idle)
        self._wanted: tuple[int, str] | None = None
        self._ready: tuple[int, str] | None = None
        self._closed = False
        self.last_error = ""

    def after_turn(self, turn: int, query: str) -> None:
        """A turn is over: look up what the next may need. A lookup that has not begun gives way to this."""
        if self._cadence > 0 and turn % self._cadence == 0 and query.strip() and not self._closed:
            self._wanted = turn, query
            self._worker.soon("recall", self._look_up)

    def ready(self, turn: int) -> str | None:
        """Return what was prefetched and is fresh enough for this turn; None where there is nothing such."""
        made, text = self._ready or (0, None)
        return text if turn - made <= 2 * max(1, self._cadence) else None

    def __call__(self, turn: int, query: str) -> str:
        """Return what is known for this turn: at once if it was prefetched, else looked up now."""
        found = self.ready(turn)
        if found is None:
            found = self._safely(query)
            self._ready = turn, found
        return found

    def settle(self, timeout: float) -> bool:
        """Wait until nothing is under way; False where that takes longer."""
        try:
            self._worker.submit(lambda: None).result(timeout)
        except StillRunning:
            return False
        return True

    def forget(self) -> None:
        """Drop what was prefetched: the session is another one now."""
        self._wanted = self._ready = None

    def close(self) -> None:
        """Give back what is open; a lookup under way is not waited for."""
        self._closed, self._wanted = True, None
        self._worker.do(self._idle)

    def _look_up(self) -> None:
        wanted, self._wanted = self._wanted, None
        if wanted is not None:
            text = self._safely(wanted[1])
            self._ready = None if self._closed else (wanted[0], text)

    def _safely(self, query: str) -> str:
        try:
            return self._recall(query)
        except Exception as error:  # noqa: BLE001 (a turn goes on whatever recall runs into)
            self.last_error = f"{type(error).__name__}: {error}"
            return ""
