"""Timestamps as the bundle writes them: ISO 8601 text in UTC, always with milliseconds.

One fixed form makes text order and time order the same, so entries can be sorted without parsing.
"""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta

# The offset is not optional: OKF asks for one, and a time without one means another moment on another
# machine. The extra `Z` is the error of hermes-okf, which writes `+00:00Z`.
_FORM = re.compile(
    r"(\d{4}-\d{2}-\d{2}|\d{8}|\d{4}-W\d{2}-\d|\d{4}W\d{3})"
    r"[Tt ](\d{2}(?::?\d{2}(?::?\d{2}(?:[.,]\d{1,9})?)?)?)"
    r" ?(?:([Zz])|([+-]\d{2}(?::?\d{2})?)[Zz]?)",
    re.ASCII,
)
_CANONICAL = re.compile(r"\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}\.\d{3}Z", re.ASCII)


EARLIEST, LATEST = 0, 253_370_764_800
"""Seconds since 1970 between which a date can be shown in any time zone: up to the beginning of the year 9999."""
_FIRST, _LAST = datetime(2, 1, 1, tzinfo=UTC), datetime(9999, 1, 1, tzinfo=UTC)


def of_seconds(seconds: float) -> datetime:
    """The moment so many seconds after 1970 began, or the nearest one that a calendar has."""
    return datetime.fromtimestamp(clamped(seconds), UTC)


def clamped(seconds: float) -> float:
    """A date out of a commit, in seconds, as every reader can take it."""
    return min(max(seconds, EARLIEST), LATEST)


def stamp(moment: datetime) -> str:
    """The moment as `2026-06-30T14:00:00.123Z`; a ValueError for one without a time zone."""
    if moment.tzinfo is None:
        raise ValueError("A moment without a time zone cannot be stamped.")
    return moment.astimezone(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


def stamp_of(seconds: float) -> str:
    """The moment so many seconds after 1970 began, as `stamp` writes it."""
    return stamp(of_seconds(seconds))


def parse(text: object) -> datetime | None:
    """The moment that an ISO 8601 text with an explicit offset names, in UTC; None for anything else."""
    found = _FORM.fullmatch(text) if isinstance(text, str) and len(text) <= 64 else None
    if found is None:
        return None
    day, clock, zulu, offset = found.groups()
    try:
        moment = datetime.fromisoformat(f"{day}T{clock}{'+00:00' if zulu else offset}").astimezone(UTC)
        return min(
            max(moment, _FIRST), _LAST
        )  # else adding to it, or showing it elsewhere, may leave the calendar
    except (ValueError, OverflowError):  # 30 February, 25 o'clock, or beyond the calendar's ends
        return None


def canonical(text: object) -> str:
    """The same moment in the bundle's own form; empty when the text names none."""
    if isinstance(text, str) and _CANONICAL.fullmatch(text):
        try:
            datetime.fromisoformat(text)
        except ValueError:  # 30 February, 25 o'clock
            return ""
        return text
    moment = parse(text)
    return "" if moment is None else stamp(moment)


def later(at: str, millis: int) -> str:
    """The timestamp that many milliseconds after `at`; a ValueError when `at` is not one."""
    moment = parse(at)
    if moment is None:
        raise ValueError(f"{at[:64]!r} is not a timestamp with an offset.")
    try:
        return stamp(moment + timedelta(milliseconds=millis))
    except OverflowError as error:
        raise ValueError(f"{at} and {millis} ms are beyond the calendar.") from error
