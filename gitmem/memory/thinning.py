"""Thinning: which of many moments to keep, as backups do. All of a day, one a day for a month, one a week after."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime, timedelta

_ALL = timedelta(days=1)
_DAILY = timedelta(days=30)

Group = tuple[int, int, int]


def thinned(moments: Iterable[tuple[str, datetime]], now: datetime) -> list[str]:
    """The names to drop. Of a day or a week its last one stays, so that thinning again drops nothing more."""
    newest: dict[Group, str] = {}
    dropped: list[str] = []
    for name, moment in sorted(moments, key=lambda one: (one[1], one[0]), reverse=True):
        if now - moment < _ALL:
            continue
        group = _day(moment) if now - moment < _DAILY else _week(moment)
        if newest.setdefault(group, name) != name:
            dropped.append(name)
    return dropped


def _day(moment: datetime) -> Group:
    return moment.year, moment.month, moment.day


def _week(moment: datetime) -> Group:
    year, week, _ = moment.isocalendar()
    return year, 0, week  # there is no month 0: no day is that group
