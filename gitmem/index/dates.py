"""Dates that a query mentions, so that what was said around them counts for more."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta

_MONTHS = (
    "january", "february", "march", "april", "may", "june", "july", "august", "september", "october",
    "november", "december",
)  # fmt: skip
_NAMES = "|".join(f"{name}|{name[:3]}" for name in _MONTHS) + "|sept"
_NTH = r"(\d{1,2})(?:st|nd|rd|th)?"
_WRITTEN = re.compile(
    rf"(?:\b{_NTH} (?:of )?)?\b({_NAMES})\b\.?(?: {_NTH}\b(?!:))?(?:,? (?:of |in )?((?:19|20)\d\d)\b)?"
)
_ISO = re.compile(r"\b((?:19|20)\d\d)-(\d{2})(?:-(\d{2}))?\b")
_YEAR = re.compile(r"\b(?:in|of|during|since|year|summer|winter|spring|autumn|fall) ((?:19|20)\d\d)\b")
_AGO = re.compile(r"\b(a|an|one|two|three|four|five|six|seven|\d{1,3}) (day|week|month|year)s? ago\b")
_LAST = re.compile(r"\b(today|yesterday|(?:last|this|past) (?:week|month|year))\b")
_NUMBERS = {"a": 1, "an": 1, "one": 1, "two": 2, "three": 3, "four": 4, "five": 5, "six": 6, "seven": 7}
_DAYS = {"day": 1, "week": 7, "month": 30, "year": 365}
# A word that is a month only beside something that makes it one.
_AMBIGUOUS = re.compile(
    r"\b(?:in|of|by|since|during|early|late|mid|last|this|until|before|after|around) (?:may|mar|march)\b"
)


@dataclass(frozen=True, slots=True)
class Mention:
    """A stretch of time, and for how many days behind it something is still told about it."""

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


def mentions(text: str, *, now: datetime) -> list[Mention]:
    """The dates in a text; words like `last week` count from `now`, and days are those of its time zone."""
    folded = " ".join(text.lower().split())[:2000]
    return [mention for mention in _found(folded, now) if mention.start <= mention.end][:8]


def _found(text: str, now: datetime) -> Iterator[Mention]:
    years: set[int] = set()
    for match in _WRITTEN.finditer(text):
        before, name, after, year = match.groups()
        month = next(number for number, known in enumerate(_MONTHS, 1) if known.startswith(name[:3]))
        day = int(before or after or 0)
        if name in ("may", "march", "mar") and not (day or year or _AMBIGUOUS.search(text)):
            continue
        if year:
            years.add(int(year))
        for each in [int(year)] if year else [now.year, now.year - 1, now.year - 2, now.year - 3]:
            yield from _calendar(now, each, month, day)
    for year, month, day in _ISO.findall(text):
        yield from _calendar(now, int(year), int(month), int(day or 0))
    for year in _YEAR.findall(text):
        if int(year) not in years:
            yield from _calendar(now, int(year), 0, 0)
    for number, unit in _AGO.findall(text):
        count = _NUMBERS.get(number) or int(number)
        middle = now - timedelta(days=min(count * _DAYS[unit], 100_000))
        slack = timedelta(days=max(1, _DAYS[unit] // 2))
        yield Mention(middle - slack, middle + slack, echo=_DAYS[unit])
    for words in _LAST.findall(text):
        yield _relative(words, now)


def _calendar(now: datetime, year: int, month: int, day: int) -> Iterator[Mention]:
    try:
        start = datetime(year, month or 1, day or 1, tzinfo=now.tzinfo)
        if day:
            yield Mention(start, start + timedelta(days=1))
        elif month:
            following = (start + timedelta(days=32)).replace(day=1)
            yield Mention(start, following, echo=7)
        else:
            yield Mention(start, start.replace(year=year + 1), echo=0, weight=0.5)
    except ValueError:  # 30 February, or a year beyond the calendar
        return


def _relative(words: str, now: datetime) -> Mention:
    day = now.replace(hour=0, minute=0, second=0, microsecond=0)
    if words == "today":
        return Mention(day, now, echo=0)
    if words == "yesterday":
        return Mention(day - timedelta(days=1), day, echo=0)
    which, _, unit = words.partition(" ")
    length = timedelta(days=_DAYS[unit])
    if which == "last":
        # People say it of the week before this one, and of the last seven days.
        return Mention(now - 2 * length, now - length / 7, echo=0)
    return Mention(now - length, now, echo=0)
