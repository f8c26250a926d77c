"""The worker: one thread that does all slow work of one provider, in order, so that no hook waits for it."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from concurrent.futures import Future
from dataclasses import dataclass
from typing import Any, TypeVar

_T = TypeVar("_T")
_IDLE = 3.0


@dataclass(slots=True)
class _Job:
    run: Callable[[], Any]
    due: float = 0.0
    """The moment by the monotonic clock; 0 is at once."""
    key: str = ""


class Worker:
    """Runs jobs one after the other on a thread that begins when there is work and ends when there is none.

    A host drops providers without a word; a thread that waited for ever would keep each of them alive.
    """

    def __init__(
        self,
        *,
        failed: Callable[[Exception], None],
        idle: Callable[[], None] = lambda: None,
        seconds: float = _IDLE,
    ) -> None:
        self._failed = failed
        self._idle = idle
        self._seconds = seconds
        self._jobs: list[_Job] = []
        self._change = threading.Condition()
        self._thread: threading.Thread | None = None

    def submit(self, run: Callable[[], _T]) -> Future[_T]:
        """Do this after what waits already; the future has its outcome."""
        future: Future[_T] = Future()

        def work() -> None:
            if future.set_running_or_notify_cancel():
                try:
                    future.set_result(run())
                except BaseException as error:  # noqa: BLE001 (the one that waits for it gets it, also an exit)
                    future.set_exception(error)

        self.do(work)
        return future

    def do(self, run: Callable[[], Any]) -> None:
        """Do this after what waits already; a failure is reported."""
        self._add(_Job(run))

    def soon(self, key: str, run: Callable[[], Any]) -> None:
        """Do this, once for all the times it is asked for before it begins."""
        self._add(_Job(run, key=key))

    def later(self, seconds: float, key: str, run: Callable[[], Any]) -> None:
        """Do this after a while; asked for again, the earlier moment counts."""
        self._add(_Job(run, time.monotonic() + seconds, key))

    def forget_timed(self) -> None:
        with self._change:
            self._jobs = [job for job in self._jobs if not job.due]

    def _add(self, job: _Job) -> None:
        with self._change:
            for other in (one for one in self._jobs if job.key and one.key == job.key):
                if other.due <= job.due:
                    return
                self._jobs.remove(other)
                break
            self._jobs.append(job)
            if self._thread is not None:
                self._change.notify()
                return
            thread = threading.Thread(target=self._loop, name="gitmem-worker", daemon=True)
            try:
                thread.start()
            except RuntimeError:  # the interpreter is going down: then here and now
                jobs, self._jobs = self._jobs, []
            else:
                self._thread = thread
                return
        for left in jobs:
            self._guard(left.run)

    def _loop(self) -> None:
        while (job := self._next()) is not None:
            self._guard(job.run)

    def _next(self) -> _Job | None:
        """Wait for the next job; None after a while in which there is none."""
        give_up = time.monotonic() + self._seconds
        while True:
            with self._change:
                now = time.monotonic()
                due = next((job for job in self._jobs if job.due <= now), None)
                if due is not None:
                    self._jobs.remove(due)
                    return due
                if self._jobs or now < give_up:
                    self._change.wait(
                        min(job.due for job in self._jobs) - now if self._jobs else give_up - now
                    )
                    continue
            # Its own connections go with the thread; work that comes meanwhile is seen below.
            self._guard(self._idle)
            with self._change:
                if not self._jobs:
                    self._thread = None
                    return None
                give_up = time.monotonic() + self._seconds

    def _guard(self, run: Callable[[], Any]) -> None:
        try:
            run()
        except Exception as error:  # noqa: BLE001 (no caller would hear of it)
            self._failed(error)
