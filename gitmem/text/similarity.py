"""Pairs of old and new texts: where a § file was changed by hand, and where a view shows what was reworded.

Used there and nowhere else: merge, revert and blame go by identity only.
"""

from __future__ import annotations

from difflib import SequenceMatcher

SIMILAR = 0.6
# Beyond this many pairs a file was rewritten, and no pairing would be one that a person means.
MAX_PAIRS = 2_500
# The full comparison costs the square of the length and more. So it is made for the few that may be the one,
# by words for what is longer than this many characters, and up to this many words.
_LONG = 400
_CANDIDATES = 3


def pair_similar(old: list[str], new: list[str]) -> dict[int, int]:
    """For positions in `new` the one in `old` whose text it most likely replaces; each at most once."""
    if len(old) * len(new) > MAX_PAIRS:
        return {}
    scored = []
    for k, after in enumerate(new):
        matchers = [_matcher(before, after) for before in old]
        likely = sorted((-matcher.quick_ratio(), i) for i, matcher in enumerate(matchers))
        for bound, i in likely[:_CANDIDATES]:
            if -bound >= SIMILAR and (score := matchers[i].ratio()) >= SIMILAR:
                scored.append((-score, i, k))
    pairs: dict[int, int] = {}
    used: set[int] = set()
    for _, i, k in sorted(scored):
        if i not in used and k not in pairs:
            pairs[k] = i
            used.add(i)
    return pairs


def _matcher(old: str, new: str) -> SequenceMatcher[str]:
    if max(len(old), len(new)) <= _LONG:
        return SequenceMatcher(None, old, new, autojunk=False)
    return SequenceMatcher(None, old.split()[:_LONG], new.split()[:_LONG], autojunk=False)
