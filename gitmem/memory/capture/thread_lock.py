"""The lock between the threads of a journal's writer."""

from __future__ import annotations

import threading

from gitmem.errors import BundleBusy


class ThreadLock:
    """A lock that refuses the thread that has it, where a plain one would wait for itself for ever.

    A signal handler may come in the middle of a push, and push.
    """

    def __init__(self, purpose: str = "push") -> None:
        self.purpose = purpose
        self.lock = threading.RLock()
        self.taken = False

    def __enter__(self) -> None:
        self.lock.acquire()
        if self.taken:
            self.lock.release()
            raise self.busy()
        self.taken = True

    def __exit__(self, *_: object) -> None:
        self.taken = False
        self.lock.release()

    def busy(self) -> BundleBusy:
        return BundleBusy(
            f"This thread is already in the middle of a {self.purpose}: retry when it has finished."
        )
