"""Short ids: how an id is shown to people, and which id is meant by what they type back. Pure.

    68020b3a        a § entry, of 32 digits
    5f0c1a2b-12     the twelfth event of a writer of 32 digits

Every command that takes an id asks here: the whole id, or a beginning of it that only one has.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping

from gitmem.errors import UnknownRevision
from gitmem.okf.plain import shortened

SHORT = 8
_LEAST = 4
"""Characters: a shorter beginning is a slip of the hand."""
_LISTED = 5
_LONG = re.compile(r"([0-9a-f]{32})((?:-\d+)?)")
_TYPED = re.compile(r"([0-9a-f]{4,32})((?:-\d+)?)", re.IGNORECASE)


def short(whole: str) -> str:
    """An id as shown to people; a chosen name is shown unchanged."""
    match = _LONG.fullmatch(whole)
    return f"{match[1][:SHORT]}{match[2]}" if match else whole


def looks_like_id(text: str) -> bool:
    """Return whether a text may be the id of an entry or an event, or the beginning of one."""
    return _TYPED.fullmatch(text.strip()) is not None


def bounds(text: str) -> tuple[str, str, str]:
    """For a lookup in order: the least and the greatest id that begins as typed, and how it has to end."""
    match = _TYPED.fullmatch(text.strip())
    digits, end = (match[1].lower(), match[2]) if match else (text.strip(), "")
    return digits, digits + "\U0010ffff", end


def is_meant(typed: str, whole: str) -> bool:
    """Return whether an id begins as typed; of an event the digits may be cut, its number may not."""
    typed = typed.strip()
    if len(typed) < _LEAST:
        return typed == whole
    match, long = _TYPED.fullmatch(typed), _LONG.fullmatch(whole)
    if match and long:
        return long[1].startswith(match[1].lower()) and match[2] in ("", long[2])
    return whole.startswith(typed)


def meant(typed: str, ids: Collection[str], what: str) -> str:
    """The one id that is meant, empty where none is; the error for several lists them."""
    if typed.strip() in ids:
        return typed.strip()
    found = [one for one in ids if is_meant(typed, one)]
    if len(found) <= 1:
        return found[0] if found else ""
    raise ambiguous(typed, found, what)


def ambiguous(
    typed: str, found: Iterable[str], what: str, told: Mapping[str, str] | None = None
) -> UnknownRevision:
    """The error for a beginning that several ids have: it lists them."""
    listed = list(found)
    names = [f"{_longer(one, listed)} ({shortened(words)})" if (words := (told or {}).get(one)) else
             _longer(one, listed) for one in listed[:_LISTED]]  # fmt: skip
    more = f" and {len(listed) - _LISTED} more" if len(listed) > _LISTED else ""
    return UnknownRevision(
        f"{len(listed)} {what} begin with {typed.strip()!r}.",
        hint=f"Give more of one: {', '.join(names)}{more}.",
    )


def _longer(whole: str, others: Iterable[str]) -> str:
    """The shortest form that tells an id from the others, and no shorter than people see it."""
    match = _LONG.fullmatch(whole)
    if match is None:
        return whole
    for length in range(SHORT, 32):
        typed = f"{match[1][:length]}{match[2]}"
        if sum(is_meant(typed, other) for other in others) == 1:
            return typed
    return whole
