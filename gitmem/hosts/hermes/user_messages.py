"""Messages for the user: each sentence once, through the host, on the agent's own thread."""

from __future__ import annotations

import contextlib
import logging
import re
from collections import deque

from gitmem.errors import GitMemError

_LOG = logging.getLogger("gitmem")
# What waits grows from turn to turn; that it grew is not news.
_COUNTED = re.compile(r"\d+ events? waits?\b")


class UserMessages:
    """Takes sentences from any thread, and says them when the agent's thread comes by."""

    def __init__(self) -> None:
        self.listener: object = None
        """The host's function that shows a line; where it gave none, the log has it."""
        self._told: set[str] = set()
        self._waiting: deque[str] = deque()

    def tell(self, text: str) -> None:
        """Say this at the next hook on the agent's thread, unless it was said before."""
        line = " ".join(text.split())
        heard = _COUNTED.sub("", line)
        if line and heard not in self._told:
            self._told.add(heard)
            self._waiting.append(line)
            _LOG.info("%s", line)

    def speak(self) -> None:
        """Say what waits."""
        while self._waiting:
            line = self._waiting.popleft()
            if not callable(self.listener):
                _LOG.warning("%s", line)
                continue
            with contextlib.suppress(Exception):  # the host's own function
                self.listener(f"gitmem: {line}")


def sentence(error: BaseException) -> str:
    """An error as one line for a person."""
    if isinstance(error, GitMemError):
        return " ".join(f"{error} {error.hint}".split())
    if isinstance(error, OSError):
        where = f" ({error.filename})" if error.filename else ""
        return f"The system refused: {error.strerror or error}{where}."
    return f"{type(error).__name__}: {' '.join(str(error).split())}. This is a bug in gitmem."
