"""Dates as people say them: `friday`, `last week`, `3d`, `28 Oct`, `2026-10-28 18:00`; and those in a text.

    span("last week", now=now)   # from Monday to Sunday of the week before this one

What people say is a stretch of time. A revision means its end (how the memory stood then), `--since` its start,
`--until` its end. A weekday, a month or a day without a year is the last one before now. `now` carries the time zone.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from typing import NamedTuple

UNDERSTOOD = (
    "now, today, yesterday, friday, last week, last month, 3d, 2w, a week ago, 2 hours ago, 28 Oct, October, 2026-10, "
    "2026-10-28, 2026-10-28 18:00"
)
"""What can be written, for a message to somebody whose words were not understood."""


class Period(NamedTuple):
    """A stretch of time; a moment is one that ends where it starts."""

    start: datetime
    end: datetime


_DAYS = ("monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday")
_MONTHS = (
    "january", "february", "march", "april", "may", "june", "july", "august", "september", "october",
    "november", "december",
)  # fmt: skip
_COUNTED = "one two three four five six seven eight nine ten"
_NUMBERS = {"a": 1, "an": 1, **{word: count for count, word in enumerate(_COUNTED.split(), 1)}}
_UNITS = {
    "second": "seconds", "minute": "minutes", "hour": "hours", "day": "days", "week": "weeks", "month": "months",
    "year": "years", "min": "minutes", "mo": "months", "h": "hours", "d": "days", "w": "weeks", "y": "years",
}  # fmt: skip
_AGO = re.compile(rf"(\d{{1,6}}|{'|'.join(_NUMBERS)}) ?({'|'.join(_UNITS)})s?(?: ago)?")
_WITH_TIME = re.compile(r"\d{4}-\d{2}-\d{2}[ t]\d.*")
_DAY_OF_MONTH = re.compile(
    r"(?:(\d{1,2})(?:st|nd|rd|th|\.)? (?:of )?([a-z]+)\.?|([a-z]+)\.? (\d{1,2})(?:st|nd|rd|th)?)(?: (\d{4}))?"
)
_LONG_AGO = 100_000
_MOMENT = timedelta(microseconds=1)


def span(text: str, *, now: datetime) -> Period | None:
    """The stretch of time that a text names; None for one that is no date."""
    words = " ".join(text.lower().replace(",", " ").split())
    for lead in ("since ", "on ", "at ", "in "):
        words = words.removeprefix(lead)
    if not words or len(words) > 64:
        return None
    today = now.replace(hour=0, minute=0, second=0, microsecond=0, fold=0)
    try:
        if (moment := _moment(words, now)) is not None:
            return Period(moment, moment)
        if (day := _day(words, today)) is not None:
            return _until(day, day + timedelta(days=1))
        return _week(words, today) or _months(words, today)
    except (ValueError, OverflowError):  # 30 February, 25 o'clock, or beyond the calendar
        return None


def _moment(words: str, now: datetime) -> datetime | None:
    if words == "now":
        return now
    if (back := _ago(words)) is not None:
        count, unit = back
        if unit in ("months", "years"):
            return _months_before(now, count * (12 if unit == "years" else 1))
        length = timedelta(**{unit: count})
        # Days go by the calendar, shorter ones by the clock that never changes.
        by_calendar = unit in ("days", "weeks")
        return now - length if by_calendar else (now.astimezone(UTC) - length).astimezone(now.tzinfo)
    if not _WITH_TIME.fullmatch(words):
        return None
    exact = datetime.fromisoformat(words.upper())
    return exact if exact.tzinfo else exact.replace(tzinfo=now.tzinfo)


def _ago(words: str) -> tuple[int, str] | None:
    """A number and a unit: `3d`, `2w ago`, `a week ago`, `10 minutes ago`."""
    found = _AGO.fullmatch(words)
    return (min(_NUMBERS.get(found[1]) or int(found[1]), _LONG_AGO), _UNITS[found[2]]) if found else None


def _months_before(now: datetime, count: int) -> datetime:
    """The same day so many months earlier, or the last day of that month."""
    months = now.year * 12 + now.month - 1 - count
    if months < 12 * 2:
        raise OverflowError("before the calendar")
    year, month = divmod(months, 12)
    return now.replace(year=year, month=month + 1, day=min(now.day, _days_in(year, month + 1)))


def _days_in(year: int, month: int) -> int:
    return (datetime(year + month // 12, month % 12 + 1, 1, tzinfo=UTC) - timedelta(days=1)).day


def _day(words: str, today: datetime) -> datetime | None:
    """The beginning of the day that is named; a day of a month without a year is the last one that was."""
    named = ("today", "yesterday", "day before yesterday")
    if words.removeprefix("the ") in named:
        return today - timedelta(days=named.index(words.removeprefix("the ")))
    weekday = _named(words.removeprefix("last "), _DAYS)
    if weekday is not None:
        return today - timedelta(days=(today.weekday() - weekday - 1) % 7 + 1)
    if found := re.fullmatch(r"(\d{4})-(\d{1,2})-(\d{1,2})", words):
        return today.replace(year=int(found[1]), month=int(found[2]), day=int(found[3]))
    found = _DAY_OF_MONTH.fullmatch(words)
    month = _named(found[2] or found[3], _MONTHS) if found else None
    if found is None or month is None:
        return None
    day = int(found[1] or found[4])
    if found[5]:
        return today.replace(year=int(found[5]), month=month + 1, day=day)
    for year in range(today.year, today.year - 9, -1):  # 29 February is up to eight years away
        if day <= _days_in(year, month + 1):
            moment = today.replace(year=year, month=month + 1, day=day)
            if moment <= today:
                return moment
    return None


def _week(words: str, today: datetime) -> Period | None:
    if words not in ("this week", "last week"):
        return None
    start = today - timedelta(days=today.weekday() + (7 if words == "last week" else 0))
    return _until(start, start + timedelta(days=7))


def _months(words: str, today: datetime) -> Period | None:
    """A month or a year."""
    this_month, this_year = today.replace(day=1), today.replace(day=1, month=1)
    stretches = {
        "this month": (this_month, 1),
        "last month": (_months_before(this_month, 1), 1),
        "this year": (this_year, 12),
        "last year": (_months_before(this_year, 12), 12),
    }
    if words not in stretches:
        if found := re.fullmatch(r"(\d{4})-(\d{2})|((?:19|20)\d\d)", words):
            year, month, length = int(found[1] or found[3]), int(found[2] or 1), 1 if found[2] else 12
            stretches[words] = today.replace(year=year, month=month, day=1), length
        elif found := re.fullmatch(r"(last )?([a-z]+)(?: (\d{4}))?", words):
            number = _named(found[2], _MONTHS)
            if number is None:
                return None
            start = this_month.replace(month=number + 1)
            latest = stretches["last month"][0] if found[1] else this_month
            year = int(found[3]) if found[3] else start.year - (start > latest)
            stretches[words] = start.replace(year=year), 1
        else:
            return None
    start, length = stretches[words]
    years, month = divmod(start.month - 1 + length, 12)
    return _until(start, start.replace(year=start.year + years, month=month + 1))


def _named(word: str, names: tuple[str, ...]) -> int | None:
    """The place of a name, whole or cut to three letters or more."""
    if len(word) < 3:
        return None
    return next((number for number, name in enumerate(names) if name.startswith(word)), None)


def _until(start: datetime, end: datetime) -> Period:
    """From one moment up to just before another."""
    return Period(start, end - _MOMENT)


# Dates in a text

_MONTH = "|".join(f"{name}|{name[:3]}" for name in _MONTHS if name not in ("march", "may")) + "|sept"
_NTH = r"\d{1,2}(?:st|nd|rd|th)?"
_YEAR = r"(?:19|20)\d\d"
_BEFORE = r"(?:in|of|by|since|during|early|late|mid|last|this|until|before|after|around|on)"
_ANY_MONTH = rf"(?:{_MONTH}|march|mar|may)"
_PHRASE = re.compile(
    rf"\b(?:today|(?:the day before )?yesterday|(?:last |on |this past )?(?:{'|'.join(_DAYS)})"
    rf"|(?:last|this|past) (?:week|month|year)|(?:\d{{1,3}}|{'|'.join(_NUMBERS)}) (?:day|week|month|year)s? ago"
    rf"|(?:{_BEFORE} )?(?:{_YEAR}[- ]\d\d(?:[- ]\d\d)?|{_NTH} (?:of )?{_ANY_MONTH}(?:,? (?:of )?{_YEAR})?"
    rf"|{_ANY_MONTH}\.? (?:{_NTH}(?!:)(?:,? {_YEAR})?|{_YEAR})|(?:{_MONTH}))"
    # March and may are months only beside something that makes them one, and so is a year.
    rf"|{_BEFORE} (?:march|mar|may)|(?:{_BEFORE}|year|summer|winter|spring|autumn|fall) {_YEAR})\b"
)
_LEAD = re.compile(rf"^(?:{_BEFORE}|this past|year|summer|winter|spring|autumn|fall) (?!week|month|year)")
_LENGTHS = {"days": 1, "weeks": 7, "months": 30, "years": 365}


class Mention(NamedTuple):
    """A stretch of time, and for how many days behind it people still talk about it."""

    start: datetime
    end: datetime
    echo: int = 14
    weight: float = 1.0

    def nearness(self, moment: datetime) -> float:
        """1 within the stretch, less the later behind it, 0 elsewhere."""
        if moment < self.start - timedelta(days=1):
            return 0.0
        if moment <= self.end:
            return self.weight
        days = (moment - self.end) / timedelta(days=1)
        return self.weight * max(0.0, 1 - days / self.echo) if self.echo else 0.0


def without_mentions(text: str) -> str:
    """Return a text in small letters without its dates."""
    return _PHRASE.sub(" ", text)


def mentions(text: str, *, now: datetime) -> list[Mention]:
    """Return the dates in a text; words like `last week` count from `now`, and days are those of its time zone."""
    found: list[Mention] = []
    for match in _PHRASE.finditer(" ".join(text.lower().split())[:2000]):
        found += _mentioned(match[0], now)
    return found[:8]


def _mentioned(phrase: str, now: datetime) -> Iterator[Mention]:
    if (back := _ago(phrase)) is not None:
        days = _LENGTHS[back[1]]
        middle = now - timedelta(days=min(back[0] * days, _LONG_AGO))
        slack = timedelta(days=max(1, days // 2))
        yield Mention(middle - slack, middle + slack, echo=days)
    elif phrase.startswith("past "):
        yield Mention(now - timedelta(days=_LENGTHS[f"{phrase[5:]}s"]), now, echo=0)
    else:
        words = _LEAD.sub("", phrase)
        is_iso = re.match(rf"{_YEAR}[- ]", words)
        words = words.replace(" ", "-") if is_iso else words
        is_month = re.search(rf"\b{_ANY_MONTH}\b", words) is not None
        # Without a year any of the last ones may be meant.
        for earlier in range(4 if is_month and not re.search(_YEAR, words) else 1):
            if (found := span(words, now=now - timedelta(days=365.25 * earlier))) is None:
                continue
            days = (found.end - found.start).days
            echo = (14 if days < 1 else 7 if days < 32 else 0) if is_month or is_iso else 0
            yield Mention(found.start, found.end + _MOMENT, echo, 0.5 if days > 300 else 1.0)


# The other way: a moment as people say it

_DAY = 86400
_RATHER_TWO = ("week", "month")
"""Units that are used from two on: 13 days say more than a week."""
_AGES = {"minute": 60, "hour": 3600, "day": _DAY, "week": 7 * _DAY, "month": 30 * _DAY, "year": 365 * _DAY}


def age(moment: datetime, *, now: datetime) -> str:
    """Return how long ago something was, for people: `3 weeks ago`."""
    seconds = (now - moment).total_seconds()
    if seconds < -60:
        return "in the future"
    if seconds < 60:
        return "just now"
    unit = [name for name, length in _AGES.items() if seconds >= length * (1 + (name in _RATHER_TWO))][-1]
    count = int(seconds // _AGES[unit])
    return f"{count} {unit}{'s' if count != 1 else ''} ago"


def day_name(day: datetime, *, now: datetime) -> str:
    """A day as a heading: `Today, Monday 16 November 2026`."""
    away = (now.date() - day.date()).days
    lead = {0: "Today, ", 1: "Yesterday, "}.get(away, "")
    return f"{lead}{_DAYS[day.weekday()].title()} {day.day} {_MONTHS[day.month - 1].title()} {day.year}"
