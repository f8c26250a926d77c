"""How the cost of a function grows with its text: a ratio, so that a slow machine changes nothing."""

from __future__ import annotations

import time
from collections.abc import Callable


def growth(function: Callable[[str], object], text: str, times: int = 20) -> float:
    """The processor time for a text, over that for the first of `times` parts of it."""
    part = text[: len(text) // times]
    function(part)  # patterns are compiled on first use
    return _cost(function, text, 2) / _cost(function, part, 5)


def _cost(function: Callable[[str], object], text: str, tries: int) -> float:
    best = float("inf")
    for _ in range(tries):
        begin = time.process_time()
        function(text)
        best = min(best, time.process_time() - begin)
    return best
