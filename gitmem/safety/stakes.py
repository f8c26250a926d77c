"""Stakes of an entry if it were believed: payments, destinations, permissions, actions.

Words of a handful of languages. It need not be sure: it decides only whether a text that nobody confirmed waits for a
person or goes in marked.
"""

from __future__ import annotations

import re
from functools import cache, lru_cache
from typing import Literal, get_args

from gitmem.safety import _lexicon as lexicon
from gitmem.safety.unicode import fold

Stake = Literal["order", "payee", "address", "host", "credential", "permission"]
STAKES: tuple[Stake, ...] = get_args(Stake)

WORDS: dict[Stake, str] = {
    "order": "gives an order or changes a standing rule",
    "payee": "says who is paid",
    "address": "gives an address to write to",
    "host": "says which host or service to use",
    "credential": "says where credentials are",
    "permission": "says what is allowed",
}
"""Each stake in words, for the person who looks."""


@cache
def _compiled(stake: Stake, *, named: bool) -> re.Pattern[str]:
    pattern = f"{lexicon.CHANGING[stake]}|{lexicon.NAMED[stake]}" if named else lexicon.CHANGING[stake]
    # Line ends and the blanks at the ends of lines only lay the pattern out.
    return re.compile(re.sub(r"\s*\n\s*", "", pattern), re.IGNORECASE | re.MULTILINE)


@lru_cache(maxsize=64)
def stakes_of(text: str) -> frozenset[Stake]:
    """Return what would change if this were believed."""
    folded = fold(text)
    return frozenset(stake for stake in STAKES if _compiled(stake, named=False).search(folded))


def stakes_named(text: str) -> frozenset[Stake]:
    """Return what a request is about: the same, and where it is only named (`the bank details`)."""
    folded = fold(text)
    return frozenset(stake for stake in STAKES if _compiled(stake, named=True).search(folded))
