"""Which new text replaced which old one, when a person or another program changed a § file by hand.

Used there and nowhere else: merge, revert and blame go by identity only.
"""

from __future__ import annotations

from difflib import SequenceMatcher

SIMILAR = 0.6
# Beyond this many pairs a file was rewritten, and no pairing would be one that a person means.
MAX_PAIRS = 2_500
# Longer texts are compared by words, because the cost grows with the square.
_LONG = 600


def pair_similar(old: list[str], new: list[str]) -> dict[int, int]:
    """For positions in `new` the one in `old` whose text it most likely replaces; each at most once."""
    if len(old) * len(new) > MAX_PAIRS:
        return {}
    scored = [
        (-score, i, k)
        for i, before in enumerate(old)
        for k, after in enumerate(new)
        if (score := ratio(before, after)) >= SIMILAR
    ]
    pairs: dict[int, int] = {}
    used: set[int] = set()
    for _, i, k in sorted(scored):
        if i not in used and k not in pairs:
            pairs[k] = i
            used.add(i)
    return pairs


def ratio(old: str, new: str) -> float:
    """How alike two texts are, from 0 to 1; 0 for all that is below the threshold."""
    matcher: SequenceMatcher[str]
    if max(len(old), len(new)) <= _LONG:
        matcher = SequenceMatcher(None, old, new, autojunk=False)
    else:
        matcher = SequenceMatcher(None, old.split()[:_LONG], new.split()[:_LONG], autojunk=False)
    if matcher.real_quick_ratio() < SIMILAR or matcher.quick_ratio() < SIMILAR:
        return 0.0
    return matcher.ratio()
