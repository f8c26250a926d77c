from __future__ import annotations

from datetime import UTC, datetime, timedelta, timezone

import pytest
from gitmem.okf.timestamps import canonical, later, parse, stamp
from hypothesis import given
from hypothesis import strategies as st

MOMENT = datetime(2026, 6, 30, 14, 0, 0, 123000, tzinfo=UTC)


def test_stamp_is_utc_with_milliseconds() -> None:
    """A moment in any zone is written in UTC, with milliseconds even when they are zero."""
    assert stamp(MOMENT.astimezone(timezone(timedelta(hours=-5)))) == "2026-06-30T14:00:00.123Z"
    assert stamp(MOMENT.replace(microsecond=0)) == "2026-06-30T14:00:00.000Z"


def test_stamp_refuses_a_naive_moment() -> None:
    """A moment without a zone means another time on another machine."""
    with pytest.raises(ValueError, match="time zone"):
        stamp(datetime(2026, 6, 30))


@pytest.mark.parametrize(
    "text",
    [
        "2026-06-30T14:00:00.123Z",
        "2026-06-30T16:00:00.123+02:00",
        "2026-06-30 16:00:00,123+0200",
        "20260630T140000.123000Z",
        "2026-06-30T14:00:00.123+00:00Z",
        "2026-06-30t14:00:00.123z",
        "2026-W27-2T14:00:00.123Z",
    ],
)
def test_parse_takes_every_form_with_an_offset(text: str) -> None:
    """Each spelling of the moment, also the one that hermes-okf writes wrong, is the moment."""
    assert parse(text) == MOMENT
    assert canonical(text) == "2026-06-30T14:00:00.123Z"


@pytest.mark.parametrize(
    "text",
    [
        *("", "2026-06-30", "2026-06-30T14:00:00", "2026-02-30T14:00:00Z", "soon", None, 5, "9" * 100),
        *(
            "٢٠٢٦-06-30T14:00:00Z",
            "0001-01-01T00:00:00+14:00",
            "2026-06-30T14:00:00ZZ",
            "2026-06-30x14:00:00Z",
        ),
    ],
)
def test_parse_refuses_the_rest(text: object) -> None:
    """No offset, no such day, or no timestamp at all: None and no error."""
    assert parse(text) is None
    assert canonical(text) == ""


@given(st.datetimes(timezones=st.just(UTC), min_value=datetime(1970, 1, 2), max_value=datetime(9998, 12, 31)))
def test_stamps_sort_like_their_moments(moment: datetime) -> None:
    """Text order is time order, and a stamp parses to its moment."""
    text = stamp(moment)
    cut = moment.replace(microsecond=moment.microsecond // 1000 * 1000)
    assert parse(text) == cut
    assert canonical(text) == text
    assert stamp(datetime(1970, 1, 1, tzinfo=UTC)) < text


def test_later_counts_milliseconds() -> None:
    """Milliseconds are added across a day's end; what is no timestamp is an error."""
    assert later("2026-06-30T23:59:59.999Z", 1) == "2026-07-01T00:00:00.000Z"
    with pytest.raises(ValueError, match="not a timestamp"):
        later("today", 1)
    assert later("9999-12-31T23:59:59.999Z", 1).startswith("9999-")  # beyond the calendar, and no error
