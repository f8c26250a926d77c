"""What a push costs, and a dead writer's journal to read: `python -m benchmarks.journal [DIRECTORY]`.

Beside each figure stands its ratio to a bare `os.write` of the same bytes to a file opened the same way
(for `always`: with its fdatasync), measured in turns with it, so that a busy machine slows both.
"""

from __future__ import annotations

import os
import sys
import tempfile
import time
from collections.abc import Callable
from datetime import UTC, datetime
from functools import partial
from typing import get_args

from gitmem.memory.capture.abandoned import abandoned, pending_count
from gitmem.memory.capture.journal import Fsync, Journal

TEXT = "The user prefers tabs to spaces, and wants to be asked before anything is pushed. " * 3
FIELDS = {"content": TEXT[:200], "category": "preference"}
CONTEXT = {"agent": "hermes", "platform": "cli"}
LIMIT_US = 60.0
EVENTS = 10_000


def clock() -> datetime:
    return datetime.now(UTC)


def create(directory: str, fsync: Fsync) -> Journal:
    return Journal.create(directory, clock=clock, fsync=fsync, interval_ms=200)


def timed(action: Callable[[], object]) -> float:
    """Microseconds."""
    started = time.perf_counter_ns()
    action()
    return (time.perf_counter_ns() - started) / 1000


def quantile(values: list[float], share: float) -> float:
    return sorted(values)[min(len(values) - 1, int(len(values) * share))]


class Bare:
    """The least that anybody could do: the same bytes, one write."""

    def __init__(self, directory: str, line: bytes, *, sync: bool) -> None:
        self._fd = os.open(os.path.join(directory, "bare"), os.O_RDWR | os.O_APPEND | os.O_CREAT, 0o644)
        self._line = line
        self._sync = sync

    def push(self) -> None:
        os.write(self._fd, self._line)
        if self._sync:
            os.fsync(self._fd)


def pushes(directory: str, fsync: Fsync) -> None:
    journal = create(directory, fsync)
    journal.append("observation", FIELDS, "session-1", CONTEXT)
    with open(os.path.join(directory, f"{journal.uuid}.jsonl"), "rb") as file:
        line = file.read().splitlines(keepends=True)[1]
    bare = Bare(directory, line, sync=fsync == "always")
    ours: list[float] = []
    theirs: list[float] = []
    for _ in range(20 if fsync == "always" else 200):
        ours += [
            timed(lambda: journal.append("observation", FIELDS, "session-1", CONTEXT)) for _ in range(50)
        ]
        theirs += [timed(bare.push) for _ in range(50)]
    for name, share in (("median", 0.5), ("p99", 0.99)):
        own, other = quantile(ours, share), quantile(theirs, share)
        limit = f"   limit {LIMIT_US:.0f}" if (fsync, name) == ("interval", "median") else ""
        print(
            f"push, {fsync:8} {name:6} {own:9.1f} µs   bare write {other:8.1f} µs   x{own / other:.1f}{limit}"
        )
    journal.forget(len(ours) + 1)
    journal.close()


def length(directory: str) -> None:
    """A push costs the same at the start of a journal and behind 100,000 events."""
    journal = create(directory, "interval")

    def median() -> float:
        return quantile(
            [timed(lambda: journal.append("observation", FIELDS, "session-1", CONTEXT)) for _ in range(2000)],
            0.5,
        )

    first = median()
    for _ in range(100_000):
        journal.append("observation", FIELDS, "session-1", CONTEXT)
    last = median()
    print(f"push behind 100,000 events {last:.1f} µs, at the start {first:.1f} µs   x{last / first:.2f}")
    journal.forget(10**9)
    journal.close()


def flush(directory: str) -> None:
    """What a flush of 50 events asks of the journal: read them, and forget them."""
    journal = create(directory, "interval")
    reading: list[float] = []
    emptying: list[float] = []
    cutting: list[float] = []
    last = 0
    for number in range(40):
        for _ in range(50):
            last = journal.append("observation", FIELDS, "session-1", CONTEXT).seq
        reading.append(timed(journal.records))
        if number % 2:
            emptying.append(timed(partial(journal.forget, last)))
        else:
            cutting.append(timed(partial(journal.forget, last - 1)))
    print(
        f"50 events: records {quantile(reading, 0.5):.0f} µs, forget all {quantile(emptying, 0.5):.0f} µs, "
        f"forget all but one {quantile(cutting, 0.5):.0f} µs (median)"
    )
    journal.close()


def recovery(directory: str) -> None:
    with create(directory, "off") as journal:
        for _ in range(EVENTS):
            journal.append("observation", FIELDS, "session-1", CONTEXT)
        path = os.path.join(directory, f"{journal.uuid}.jsonl")
    with open(path, "rb") as file:
        lines = file.read().splitlines(keepends=True)
    bare = os.open(os.path.join(directory, "bare"), os.O_RDWR | os.O_APPEND | os.O_CREAT, 0o644)
    written = timed(lambda: [os.write(bare, line) for line in lines])
    os.close(bare)
    best = processor = float("inf")
    for _ in range(5):
        started, used = time.perf_counter(), time.process_time()
        [found] = abandoned(directory)
        best = min(best, (time.perf_counter() - started) * 1000)
        processor = min(processor, (time.process_time() - used) * 1000)
        assert len(found.records) == EVENTS
        found.release()
    count = min(timed(lambda: pending_count(directory)) for _ in range(5)) / 1000
    print(
        f"recovery of {EVENTS:,} events {best:.0f} ms, processor {processor:.0f} ms (best of 5), limit 200; "
        f"bare writes of the same lines {written / 1000:.0f} ms   x{best * 1000 / written:.1f}"
    )
    print(f"pending_count of {EVENTS:,} events {count:.1f} ms")


def main() -> None:
    place = sys.argv[1] if len(sys.argv) > 1 else None
    for fsync in get_args(Fsync):
        with tempfile.TemporaryDirectory(dir=place) as directory:
            pushes(directory, fsync)
    for measure in (length, flush, recovery):
        with tempfile.TemporaryDirectory(dir=place) as directory:
            measure(directory)


if __name__ == "__main__":
    main()
