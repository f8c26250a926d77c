"""Dates as people say them: what each means, and what holds for all."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta

import pytest
from gitmem.dates import UNDERSTOOD, Period, age, day_name, mentions, span
from gitmem.world import SystemZone
from hypothesis import given
from hypothesis import strategies as st

BERLIN = SystemZone()
NOW = datetime(2026, 11, 16, 9, 30, tzinfo=BERLIN)  # a Monday


@pytest.fixture(scope="module", autouse=True)
def _in_berlin() -> Iterator[None]:
    """The system's zone is Berlin, by its rules: not every system has a database of zones."""
    before = os.environ.get("TZ")
    os.environ["TZ"] = "CET-1CEST,M3.5.0,M10.5.0/3"
    time.tzset()
    yield
    os.environ.pop("TZ")
    if before is not None:
        os.environ["TZ"] = before
    time.tzset()


def _said(text: str, now: datetime = NOW) -> str:
    """A stretch as `start .. end`, a moment as one time, to the minute."""
    found = span(text, now=now)
    if found is None:
        return "none"
    if found.start == found.end:
        return f"{found.start:%Y-%m-%d %H:%M}"
    after = found.end + timedelta(microseconds=1)
    return f"{found.start:%Y-%m-%d %H:%M} .. {after:%Y-%m-%d %H:%M}"


@pytest.mark.parametrize(
    ("text", "meant"),
    [
        ("now", "2026-11-16 09:30"),
        ("today", "2026-11-16 00:00 .. 2026-11-17 00:00"),
        ("Yesterday", "2026-11-15 00:00 .. 2026-11-16 00:00"),
        ("friday", "2026-11-13 00:00 .. 2026-11-14 00:00"),
        ("on Friday", "2026-11-13 00:00 .. 2026-11-14 00:00"),
        ("last fri", "2026-11-13 00:00 .. 2026-11-14 00:00"),
        ("monday", "2026-11-09 00:00 .. 2026-11-10 00:00"),
        ("this week", "2026-11-16 00:00 .. 2026-11-23 00:00"),
        ("last week", "2026-11-09 00:00 .. 2026-11-16 00:00"),
        ("last month", "2026-10-01 00:00 .. 2026-11-01 00:00"),
        ("this year", "2026-01-01 00:00 .. 2027-01-01 00:00"),
        ("last year", "2025-01-01 00:00 .. 2026-01-01 00:00"),
        ("a week ago", "2026-11-09 09:30"),
        ("1 week ago", "2026-11-09 09:30"),
        ("two days ago", "2026-11-14 09:30"),
        ("an hour ago", "2026-11-16 08:30"),
        ("a month ago", "2026-10-16 09:30"),
        ("2 years ago", "2024-11-16 09:30"),
        ("3d", "2026-11-13 09:30"),
        ("2w", "2026-11-02 09:30"),
        ("2w ago", "2026-11-02 09:30"),
        ("90min", "2026-11-16 08:00"),
        ("6mo", "2026-05-16 09:30"),
        ("28 Oct", "2026-10-28 00:00 .. 2026-10-29 00:00"),
        ("Oct 28th", "2026-10-28 00:00 .. 2026-10-29 00:00"),
        ("28 October 2025", "2025-10-28 00:00 .. 2025-10-29 00:00"),
        ("October 28, 2025", "2025-10-28 00:00 .. 2025-10-29 00:00"),
        ("24 Dec", "2025-12-24 00:00 .. 2025-12-25 00:00"),
        ("29 Feb", "2024-02-29 00:00 .. 2024-03-01 00:00"),
        ("October", "2026-10-01 00:00 .. 2026-11-01 00:00"),
        ("december", "2025-12-01 00:00 .. 2026-01-01 00:00"),
        ("last november", "2025-11-01 00:00 .. 2025-12-01 00:00"),
        ("Oct 2025", "2025-10-01 00:00 .. 2025-11-01 00:00"),
        ("2026-10", "2026-10-01 00:00 .. 2026-11-01 00:00"),
        ("2025", "2025-01-01 00:00 .. 2026-01-01 00:00"),
        ("2026-10-28", "2026-10-28 00:00 .. 2026-10-29 00:00"),
        ("2026-10-28 18:00", "2026-10-28 18:00"),
        ("2026-10-28 18:00:30", "2026-10-28 18:00"),
        ("2026-10-28T18:00", "2026-10-28 18:00"),
        ("2026-10-28T18:00:00Z", "2026-10-28 18:00"),
        ("2026-10-28 18:00:00+02:00", "2026-10-28 18:00"),
    ],
)
def test_what_people_say(text: str, meant: str) -> None:
    """Days, weeks, months and moments, counted from a Monday morning."""
    assert meant == _said(text)


@pytest.mark.parametrize(
    "text",
    ["", "soon", "2026-02-30", "30 Feb 2026", "25:00", "noon", "6pm", "2026-13", "2026-W45", "18:00", "friday 18:00",
     "ma", "last", "3m", "3x",
     "0.5d", "10/28", "friday friday", "the cat ago", "2026-10-28 24:01", "x" * 400, "999999999999d"],
)  # fmt: skip
def test_what_is_no_date(text: str) -> None:
    """It is not guessed at."""
    assert span(text, now=NOW) is None


def test_an_offset_is_obeyed() -> None:
    """A time with an offset is that moment, wherever it is read."""
    found = span("2026-10-28T18:00:00+05:00", now=NOW)
    assert found is not None
    assert found.end == datetime(2026, 10, 28, 13, 0, tzinfo=UTC)


def test_a_day_of_the_other_season_has_its_own_offset() -> None:
    """In summer Berlin is two hours ahead, whatever it is today."""
    found = span("2026-07-01 12:00", now=NOW)
    assert found is not None
    assert found.end == datetime(2026, 7, 1, 10, 0, tzinfo=UTC)


def test_everything_that_is_named_is_understood() -> None:
    """The list that a message shows tells no lie."""
    for example in UNDERSTOOD.split(", "):
        assert span(example, now=NOW) is not None, example


@given(
    st.datetimes(datetime(1990, 1, 1), datetime(2090, 1, 1), timezones=st.just(BERLIN)),
    st.sampled_from(
        [
            *(
                "today",
                "yesterday",
                "friday",
                "last sunday",
                "this week",
                "last week",
                "last month",
                "this month",
            ),
            *("last year", "28 feb", "29 feb", "october", "3d", "5h"),
            *("10 minutes ago", "a month ago", "13 months ago"),
        ]
    ),
)
def test_words_mean_the_past(now: datetime, text: str) -> None:
    """Whenever it is asked: it starts before it ends, and has begun."""
    found = span(text, now=now)
    assert found is not None
    assert found.start <= found.end
    assert found.start.astimezone(UTC) <= now.astimezone(UTC)


@given(
    st.datetimes(datetime(1990, 1, 1), datetime(2090, 1, 1), timezones=st.just(UTC)),
    st.dates(datetime(1990, 1, 1).date(), datetime(2090, 1, 1).date()),
)
def test_a_written_day_is_that_day(now: datetime, day: object) -> None:
    """In each of its forms."""
    spans = {span(f"{day:{form}}", now=now) for form in ("%Y-%m-%d", "%d %b %Y", "%B %d, %Y")}
    (found,) = spans
    assert found is not None
    assert found.start.date() == day == found.end.date()
    assert found.end - found.start < timedelta(days=1) <= found.end - found.start + timedelta(seconds=1)


@given(
    st.datetimes(datetime(2000, 1, 1), datetime(2090, 1, 1), timezones=st.just(UTC)),
    st.timedeltas(timedelta(minutes=1), timedelta(days=5000)),
)
def test_an_age_is_a_date_that_is_understood(now: datetime, length: timedelta) -> None:
    """What is printed can be typed, and is not far from what was meant."""
    found = span(age(now - length, now=now), now=now)
    assert found is not None
    missed = abs((now - length - found.end).total_seconds())
    assert missed <= max(60, 0.52 * length.total_seconds())


@given(st.text(max_size=40))
def test_any_text_is_a_date_or_not(text: str) -> None:
    """Nothing that somebody types makes it fail."""
    assert isinstance(span(text, now=NOW), Period | None)


@pytest.mark.parametrize(
    ("back", "said"),
    [
        (timedelta(seconds=3), "just now"),
        (timedelta(minutes=5), "5 minutes ago"),
        (timedelta(hours=1), "1 hour ago"),
        (timedelta(hours=30), "1 day ago"),
        (timedelta(days=13), "13 days ago"),
        (timedelta(days=15), "2 weeks ago"),
        (timedelta(days=59), "8 weeks ago"),
        (timedelta(days=70), "2 months ago"),
        (timedelta(days=800), "2 years ago"),
        (timedelta(hours=-2), "in the future"),
    ],
)
def test_ages(back: timedelta, said: str) -> None:
    """The largest unit that still says something."""
    assert said == age(NOW - back, now=NOW)


def test_the_name_of_a_day() -> None:
    """As a heading."""
    assert day_name(NOW, now=NOW) == "Today, Monday 16 November 2026"
    assert day_name(NOW - timedelta(days=1), now=NOW) == "Yesterday, Sunday 15 November 2026"
    assert day_name(NOW - timedelta(days=3), now=NOW) == "Friday 13 November 2026"


def test_the_zone_of_the_system_has_its_seasons() -> None:
    """Summer and winter of one zone differ, and an hour that comes twice is told apart."""
    assert datetime(2026, 7, 1, tzinfo=UTC).astimezone(BERLIN).utcoffset() == timedelta(hours=2)
    assert datetime(2026, 12, 1, tzinfo=UTC).astimezone(BERLIN).utcoffset() == timedelta(hours=1)
    for minutes in range(0, 60 * 24 * 400, 217):
        moment = datetime(2026, 1, 1, tzinfo=UTC) + timedelta(minutes=minutes)
        assert moment == moment.astimezone(BERLIN).astimezone(UTC)
    for hour in (0, 1):  # half past two, twice
        twice = datetime(2026, 10, 25, hour, 30, tzinfo=UTC)
        assert twice == twice.astimezone(BERLIN).astimezone(UTC)
        assert f"{twice.astimezone(BERLIN):%H:%M}" == "02:30"


@pytest.mark.parametrize(
    ("text", "meant"),
    [
        ("What did I buy on 28 October 2025?", ["2025-10-28"]),
        ("what happened on march 3rd", ["2026-03-03", "2025-03-03", "2024-03-03", "2023-03-03"]),
        ("We met in May 2023 and in 2024", ["2023-05-01", "2024-01-01"]),
        ("may I march there", []),
        ("since 2026-11-03", ["2026-11-03"]),
        ("what did I say two days ago", ["2026-11-13"]),
        ("the plan of last week", ["2026-11-09"]),
        ("what did she say on Friday?", ["2026-11-13"]),
        ("version 2.10 of 12:30", []),
    ],
)
def test_dates_in_a_text(text: str, meant: list[str]) -> None:
    """Where each begins; without a year any of the last ones may be meant."""
    assert meant == [f"{one.start:%Y-%m-%d}" for one in mentions(text, now=NOW)]
