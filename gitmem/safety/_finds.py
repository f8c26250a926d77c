"""What was found in one text so far, and how its patterns are kept: for the parts of `secrets`."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from functools import cache
from typing import NamedTuple


class Secret(NamedTuple):
    """What was found, and where: `text[start:end]` is the secret itself."""

    kind: str
    start: int
    end: int


@cache
def compiled(source: str) -> re.Pattern[str]:
    """The compiled pattern: compiled when first needed, as most never are."""
    return re.compile(source)


def matches(text: str, pattern: re.Pattern[str]) -> Iterator[re.Match[str]]:
    """Matches, also those that begin inside one that came to nothing."""
    position = 0
    while match := pattern.search(text, position):
        position = match.start() + 1
        yield match


class Found:
    """What was found so far. What is taken is not taken twice, and a marker of an earlier redaction is taken.

    Touching counts as taken: a find beside a marker would otherwise depend on what the marker replaced, and
    redacting twice would differ from redacting once.
    """

    def __init__(self, text: str) -> None:
        self.secrets: list[Secret] = []
        self.taken = bytearray()
        self.judged: dict[tuple[object, ...], bool] = {}
        self.length = len(text)
        # The dotted capital I is the only letter that grows by this.
        self.low = (text if text.isascii() else text.replace("\u0130", "I")).lower()
        # Tokens hold no space: only runs of some length can be one, and in prose there are few.
        runs = [run for run in text.split() if len(run) >= 20]
        self.long = " ".join(runs)
        self.longest = max(map(len, runs)) if runs else 0
        if "[redacted " in text:
            self.taken = bytearray(self.length)
            for marker in compiled(_MARKER).finditer(text):
                self.taken[marker.start() : marker.end()] = b"\1" * len(marker[0])

    def add(self, kind: str, begin: int, start: int, end: int) -> None:
        """Takes `start` to `end`, which was read from `begin` on, unless some of that is taken."""
        if not self.taken:
            self.taken = bytearray(self.length)
        elif self.taken.find(1, begin - 1 if begin else 0, end + 1) >= 0:
            return
        self.secrets.append(Secret(kind, start, end))
        self.taken[start:end] = b"\1" * (end - start)

    def judge(self, test: Callable[..., bool], *what: object) -> bool:
        """What `test` says, asked once: texts that are long tend to repeat themselves."""
        known = self.judged.get((test, *what))
        if known is None:
            known = self.judged[(test, *what)] = test(*what)
        return known

    def is_free(self, start: int, end: int) -> bool:
        return self.taken.find(1, start, end) < 0


_MARKER = r"\[redacted [a-z0-9-]{2,40}(?: …[\w+/=.~*-]{1,4})?\]"
