"""Dates as people say them: `friday`, `last week`, `3d`, `28 Oct`, `2026-W45`, `yesterday 18:00`.

    span("last week", now=now)   # from Monday to Sunday of the week before this one

What people say is a stretch of time. A revision means its end (how the memory stood then), `--since` its start,
`--until` its end. A weekday, a month or a day without a year is the last one before now. `now` carries the time zone.
"""

from __future__ import annotations

import re
from datetime import datetime, timedelta
from typing import NamedTuple

UNDERSTOOD = (
    "now, today, yesterday, friday, last night, last week, last month, 3d, 2w, a week ago, 2 hours ago, noon, 18:00, "
    "yesterday 18:00, 28 Oct, October, 2026-10-28, 2026-10-28 18:00, 2026-10, 2026-W45"
)
"""What can be written, for a message to somebody whose words were not understood."""


class Span(NamedTuple):
    """A stretch of time; a moment is one that ends where it starts."""

    start: datetime
    end: datetime


_DAYS = ("monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday")
_MONTHS = (
    "january", "february", "march", "april", "may", "june", "july", "august", "september", "october",
    "november", "december",
)  # fmt: skip
_NUMBERS = ("one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve")
_CLOCKS = {"noon": (12, 0), "midday": (12, 0), "midnight": (0, 0)}
_PARTS = {"morning": (6, 12), "afternoon": (12, 18), "evening": (18, 24), "night": (18, 30)}
"""Hours from and to, counted from the day's beginning: a night ends on the next day."""
_UNITS = {
    "second": "seconds", "minute": "minutes", "hour": "hours", "day": "days", "week": "weeks", "month": "months",
    "year": "years", "sec": "seconds", "min": "minutes", "mo": "months", "h": "hours", "d": "days", "w": "weeks",
    "y": "years",
}  # fmt: skip
_LONG_AGO = 100_000
_MOMENT = timedelta(microseconds=1)


def span(text: str, *, now: datetime) -> Span | None:
    """The stretch of time that a text names; None for one that is no date."""
    words = " ".join(text.lower().replace(",", " ").split())
    for lead in ("since ", "on ", "at ", "in "):
        words = words.removeprefix(lead)
    if not words or len(words) > 64:
        return None
    try:
        return _moment(text.strip(), words, now) or _day_and_time(words, now) or _stretch(words, now)
    except (ValueError, OverflowError):  # 30 February, 25 o'clock, or beyond the calendar
        return None


# Moments


def _moment(given: str, words: str, now: datetime) -> Span | None:
    if words == "now":
        return Span(now, now)
    if (back := _ago(words)) is not None:
        count, unit = back
        moment = _months_before(now, count) if unit == "months" else None
        moment = _months_before(now, 12 * count) if unit == "years" else moment
        if moment is None:
            moment = _elapsed(now, timedelta(**{unit: count}))
        return Span(moment, moment)
    if "t" in words and (exact := _iso(given, now)) is not None:
        return Span(exact, exact)
    if (
        re.fullmatch(r"\d{4}-\d{2}-\d{2} \d{1,2}:.*[+z-].*", words)
        and (exact := _iso(given, now)) is not None
    ):
        return Span(exact, exact)
    return None


def _ago(words: str) -> tuple[int, str] | None:
    """A number and a unit: `3d`, `2w ago`, `a week ago`, `10 minutes ago`."""
    short = re.fullmatch(r"(\d{1,6}) ?(min|mo|h|d|w|y)(?: ago)?", words)
    long = re.fullmatch(
        r"(\d{1,6}|an?|the|[a-z]{3,6}) (second|sec|minute|min|hour|day|week|month|year)s? ago", words
    )
    found = short or long
    if found is None:
        return None
    number = found[1]
    if number.isdigit():
        count = int(number)
    elif number in ("a", "an"):
        count = 1
    elif number in _NUMBERS:
        count = _NUMBERS.index(number) + 1
    else:
        return None
    return min(count, _LONG_AGO), _UNITS[found[2]]


def _elapsed(now: datetime, length: timedelta) -> datetime:
    """So long before now; days by the calendar, shorter ones by the clock that never changes."""
    if length >= timedelta(days=1):
        return now - length
    from datetime import UTC

    return (now.astimezone(UTC) - length).astimezone(now.tzinfo)


def _months_before(now: datetime, count: int) -> datetime:
    """The same day so many months earlier, or the last day of that month."""
    months = now.year * 12 + now.month - 1 - count
    if months < 12 * 2:
        raise OverflowError("before the calendar")
    year, month = divmod(months, 12)
    from calendar import monthrange

    return now.replace(year=year, month=month + 1, day=min(now.day, monthrange(year, month + 1)[1]))


def _iso(given: str, now: datetime) -> datetime | None:
    try:
        moment = datetime.fromisoformat(given.strip().upper())
    except ValueError:
        return None
    return moment if moment.tzinfo else moment.replace(tzinfo=now.tzinfo)


# A day, with a time or a part of the day


def _day_and_time(words: str, now: datetime) -> Span | None:
    rest, clock = _split_clock(words)
    if clock is not None:
        if not rest:  # the last time that the clock showed it
            moment = _at(_midnight(now), *clock)
            return _exactly(moment if moment <= now else _at(_midnight(now) - timedelta(days=1), *clock))
        day = _day(rest, now)
        return _exactly(_at(day, *clock)) if day is not None else None
    day = _day(words, now)
    if day is not None:
        return _hours(day, 0, 24)
    name, _, part = words.rpartition(" ")
    if part not in _PARTS:
        return None
    if name == "last":
        name = "yesterday"
    day = _midnight(now) if name == "this" else _day(name, now)
    return _hours(day, *_PARTS[part]) if day is not None else None


def _split_clock(words: str) -> tuple[str, tuple[int, int, int] | None]:
    """Return what stands before a time of day, and the time; `at` between them is left out."""
    rest, _, last = words.rpartition(" ")
    if last in _CLOCKS:
        return rest.removesuffix(" at"), (*_CLOCKS[last], 0)
    found = re.fullmatch(r"(?:(.*?) )?(?:at )?(\d{1,2})(?::(\d{2})(?::(\d{2}))?)? ?(am|pm)?", words)
    if found is None or (found[3] is None and found[5] is None):
        return words, None
    hour = int(found[2])
    if found[5]:
        if not 1 <= hour <= 12:
            raise ValueError("no such hour")
        hour = hour % 12 + (12 if found[5] == "pm" else 0)
    if hour > 23 or int(found[3] or 0) > 59 or int(found[4] or 0) > 59:
        raise ValueError("no such time")
    return found[1] or "", (hour, int(found[3] or 0), int(found[4] or 0))


def _day(words: str, now: datetime) -> datetime | None:
    """The beginning of the day that is named."""
    today = _midnight(now)
    if words == "today":
        return today
    if words == "yesterday":
        return today - timedelta(days=1)
    if words in ("day before yesterday", "the day before yesterday"):
        return today - timedelta(days=2)
    weekday = _named(words.removeprefix("last "), _DAYS)
    if weekday is not None:
        return today - timedelta(days=(today.weekday() - weekday - 1) % 7 + 1)
    if found := re.fullmatch(r"(\d{4})-(\d{1,2})-(\d{1,2})|(\d{4})(\d{2})(\d{2})", words):
        year, month, day = (int(number) for number in found.groups() if number)
        return today.replace(year=year, month=month, day=day)
    if found := re.fullmatch(r"(\d{4})-?w(\d{2})-?([1-7])", words):
        return _of_week(int(found[1]), int(found[2]), int(found[3]), today)
    return _day_of_month(words, today)


def _day_of_month(words: str, today: datetime) -> datetime | None:
    """`28 Oct`, `Oct 28th`, `28. October 2025`, `28.10.2025`; without a year the last one that was."""
    first = re.fullmatch(r"(\d{1,2})(?:st|nd|rd|th|\.)? (?:of )?([a-z]+)\.?(?: (\d{4}))?", words)
    second = re.fullmatch(r"([a-z]+)\.? (\d{1,2})(?:st|nd|rd|th|\.)?(?: (\d{4}))?", words)
    dotted = re.fullmatch(r"(\d{1,2})\. ?(\d{1,2})\.(?: ?(\d{4}))?", words)
    if first:
        day, month, year = int(first[1]), _named(first[2], _MONTHS), first[3]
    elif second:
        day, month, year = int(second[2]), _named(second[1], _MONTHS), second[3]
    elif dotted:
        day, month, year = int(dotted[1]), int(dotted[2]) - 1, dotted[3]
    else:
        return None
    if month is None:
        return None
    if year:
        return today.replace(year=int(year), month=month + 1, day=day)
    for back in range(9):  # 29 February is up to eight years away
        try:
            found = today.replace(year=today.year - back, month=month + 1, day=day)
        except ValueError:
            continue
        if found <= today:
            return found
    return None


# Longer stretches


def _stretch(words: str, now: datetime) -> Span | None:
    today = _midnight(now)
    which, _, unit = words.partition(" ")
    if which in ("this", "last") and unit in ("week", "month", "year"):
        if unit == "week":
            start = today - timedelta(days=today.weekday() + (7 if which == "last" else 0))
            return _until(start, start + timedelta(days=7))
        months = 12 if unit == "year" else 1
        start = today.replace(day=1, month=1 if unit == "year" else today.month)
        if which == "last":
            start = _months_before(start, months)
        return _months(start, months)
    if found := re.fullmatch(r"(\d{4})-?w(\d{2})", words):
        start = _of_week(int(found[1]), int(found[2]), 1, today)
        return _until(start, start + timedelta(days=7))
    if found := re.fullmatch(r"(\d{4})-(\d{2})", words):
        return _months(today.replace(year=int(found[1]), month=int(found[2]), day=1), 1)
    if re.fullmatch(r"(?:19|20)\d\d", words):
        return _months(today.replace(year=int(words), month=1, day=1), 12)
    name, _, year = words.removeprefix("last ").partition(" ")
    month = _named(name, _MONTHS)
    if month is None or (year and not re.fullmatch(r"\d{4}", year)):
        return None
    if year:
        return _months(today.replace(year=int(year), month=month + 1, day=1), 1)
    start = today.replace(month=month + 1, day=1)
    latest = (
        today.replace(day=1) if not words.startswith("last ") else _months_before(today.replace(day=1), 1)
    )
    return _months(start if start <= latest else start.replace(year=start.year - 1), 1)


# The calendar


def _named(word: str, names: tuple[str, ...]) -> int | None:
    """The place of a name, whole or cut to three letters or more."""
    if len(word) < 3:
        return None
    return next((number for number, name in enumerate(names) if name.startswith(word)), None)


def _midnight(moment: datetime) -> datetime:
    return moment.replace(hour=0, minute=0, second=0, microsecond=0, fold=0)


def _at(day: datetime, hour: int, minute: int, second: int = 0) -> datetime:
    return day.replace(hour=hour, minute=minute, second=second)


def _hours(day: datetime, start: int, end: int) -> Span:
    return _until(day + timedelta(hours=start), day + timedelta(hours=end))


def _months(start: datetime, count: int) -> Span:
    years, month = divmod(start.month - 1 + count, 12)
    return _until(start, start.replace(year=start.year + years, month=month + 1))


def _until(start: datetime, end: datetime) -> Span:
    """From one moment up to just before another."""
    return Span(start, end - _MOMENT)


def _exactly(moment: datetime) -> Span:
    return Span(moment, moment)


def _of_week(year: int, week: int, day: int, today: datetime) -> datetime:
    found = datetime.fromisocalendar(year, week, day)
    return today.replace(year=found.year, month=found.month, day=found.day)


# The other way: a moment as people say it

_DAY = 86400
_RATHER_TWO = ("week", "month")
"""Units that are told from two on: 13 days say more than a week."""
_AGES = {"minute": 60, "hour": 3600, "day": _DAY, "week": 7 * _DAY, "month": 30 * _DAY, "year": 365 * _DAY}


def age(moment: datetime, *, now: datetime) -> str:
    """Return how long ago something was, for people: `3 weeks ago`."""
    seconds = (now - moment).total_seconds()
    if seconds < -60:
        return "in the future"
    if seconds < 60:
        return "just now"
    longest = [
        unit for unit, length in _AGES.items() if seconds >= length * (2 if unit in _RATHER_TWO else 1)
    ]
    unit = longest[-1]
    count = int(seconds // _AGES[unit])
    return f"{count} {unit}{'s' if count != 1 else ''} ago"


def day_name(day: datetime, *, now: datetime) -> str:
    """A day as a heading: `Today, Monday 16 November 2026`."""
    away = (now.date() - day.date()).days
    lead = {0: "Today, ", 1: "Yesterday, "}.get(away, "")
    return f"{lead}{_DAYS[day.weekday()].title()} {day.day} {_MONTHS[day.month - 1].title()} {day.year}"
