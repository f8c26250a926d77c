"""The worker: one thread that does all slow work of one provider, in order, so that no hook waits for it."""

from __future__ import annotations

import threading
import time
from collections import deque
from collections.abc import Callable
from concurrent.futures import Future
from dataclasses import dataclass
from typing import Any, TypeVar

_T = TypeVar("_T")
_IDLE = 3.0


@dataclass(slots=True)
class _Job:
    run: Callable[[], Any]
    future: Future[Any] | None
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
        self._jobs: deque[_Job] = deque()
        self._timed: dict[str, tuple[float, Callable[[], Any]]] = {}
        self._change = threading.Condition()
        self._thread: threading.Thread | None = None

    def submit(self, run: Callable[[], _T]) -> Future[_T]:
        """Do this after what waits already; the future has its outcome."""
        future: Future[_T] = Future()
        self._add(_Job(run, future))
        return future

    def do(self, run: Callable[[], Any]) -> None:
        """Do this after what waits already; a failure is reported."""
        self._add(_Job(run, None))

    def soon(self, key: str, run: Callable[[], Any]) -> None:
        """Do this, once for all the times it is asked for before it begins."""
        with self._change:
            if any(job.key == key for job in self._jobs):
                return
        self._add(_Job(run, None, key))

    def later(self, seconds: float, key: str, run: Callable[[], Any]) -> None:
        """Do this after a while; asked for again, the earlier moment counts."""
        due = time.monotonic() + seconds
        with self._change:
            if key in self._timed:
                due = min(due, self._timed[key][0])
            self._timed[key] = (due, run)
        self._begin()

    def forget_timed(self) -> None:
        with self._change:
            self._timed.clear()

    def _add(self, job: _Job) -> None:
        with self._change:
            self._jobs.append(job)
        self._begin()

    def _begin(self) -> None:
        with self._change:
            if self._thread is None:
                thread = threading.Thread(target=self._loop, name="gitmem-worker", daemon=True)
                try:
                    thread.start()
                except RuntimeError:  # the interpreter is going down: then here and now
                    jobs, self._jobs = list(self._jobs), deque()
                else:
                    self._thread = thread
                    return
            else:
                self._change.notify()
                return
        for job in jobs:
            self._run(job)

    def _loop(self) -> None:
        while True:
            job = self._next()
            if job is None:
                return
            self._run(job)

    def _next(self) -> _Job | None:
        give_up = time.monotonic() + self._seconds
        while True:
            with self._change:
                now = time.monotonic()
                for key, (due, run) in list(self._timed.items()):
                    if due <= now:
                        del self._timed[key]
                        self._jobs.append(_Job(run, None, key))
                if self._jobs:
                    return self._jobs.popleft()
                until = min([give_up, *(due for due, _ in self._timed.values())])
                if now < until:
                    self._change.wait(until - now)
                    continue
                if self._timed:
                    continue
            # Its own connections go with the thread; work that comes meanwhile is seen below.
            self._guard(self._idle)
            with self._change:
                if not self._jobs and not self._timed:
                    self._thread = None
                    return None
                give_up = time.monotonic() + self._seconds

    def _run(self, job: _Job) -> None:
        if job.future is None:
            self._guard(job.run)
            return
        if not job.future.set_running_or_notify_cancel():
            return
        try:
            job.future.set_result(job.run())
        except Exception as error:  # noqa: BLE001 (the one that waits for it gets it)
            job.future.set_exception(error)

    def _guard(self, run: Callable[[], Any]) -> None:
        try:
            run()
        except Exception as error:  # noqa: BLE001 (no caller would hear of it)
            self._failed(error)
