"""Automatic snapshots: refs of their own, thinned as backups are."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime, timedelta

from gitmem.memory.memory import Memory
from gitmem.memory.snapshots import thinned
from hypothesis import given
from hypothesis import strategies as st

from tests.git.support import run_git
from tests.memory.conftest import Clock

NOW = datetime(2026, 6, 30, 14, 0, tzinfo=UTC)
_moments = st.lists(
    st.datetimes(datetime(2025, 1, 1), datetime(2026, 7, 2)).map(lambda one: one.replace(tzinfo=UTC)),
    unique=True,
    max_size=60,
)


def refs(bundle: Memory, below: str) -> list[str]:
    return run_git(bundle.root, "for-each-ref", "--format=%(refname)", below).split()


def automatic(bundle: Memory) -> str:
    """The name of a new automatic snapshot of a new state."""
    bundle.record_observation(f"It was {bundle.now()}")
    made = bundle.snapshots.automatic()
    assert made is not None
    return made.name


def test_an_automatic_snapshot_is_no_tag(bundle: Memory) -> None:
    """It is listed, found by its name with or without its prefix, and can be gone back to."""
    name = automatic(bundle)
    assert ([], [f"refs/gitmem/{name}"]) == (refs(bundle, "refs/tags"), refs(bundle, "refs/gitmem/auto"))
    then = bundle.tip
    bundle.remember("Later")
    assert [name] == [one.name for one in bundle.snapshots.all()]
    assert [] == bundle.snapshots.all(automatic=False)
    for given_name in (name, f"snapshot/{name}", f"refs/gitmem/{name}"):
        assert then == bundle.resolve(given_name)
    assert then == bundle.snapshots.get(f"snapshot/{name}").commit
    bundle.restore(name)
    assert bundle.repository.tree(then).oid == bundle.tree().oid
    bundle.snapshots.delete(name)
    assert [] == bundle.snapshots.all()


def test_old_ones_are_thinned(make_bundle: Callable[..., Memory], clock: Clock) -> None:
    """Three a day for seven weeks: all of the last day, one a day, and one a week before."""
    bundle = make_bundle()
    clock.now = NOW - timedelta(days=49)
    while clock.now < NOW:
        automatic(bundle)
        clock.now += timedelta(hours=8)
    left = [one.name.removeprefix("auto/") for one in bundle.snapshots.all()]
    ages = [NOW - datetime.strptime(name, "%Y-%m-%dT%H-%M-%S").replace(tzinfo=UTC) for name in left]
    day, month = timedelta(days=1, hours=8), timedelta(days=31)
    recent = [age for age in ages if age < day]
    assert 3 <= len(recent) <= 4
    assert 29 <= len([age for age in ages if day <= age < month]) <= 31
    assert 2 <= len([age for age in ages if age >= month]) <= 4
    assert refs(bundle, "refs/gitmem/auto") == [f"refs/gitmem/auto/{name}" for name in left]
    assert "" == run_git(bundle.root, "fsck", "--strict")


@given(_moments)
def test_thinning_keeps_one_of_each_time_and_is_stable(moments: list[datetime]) -> None:
    """Everything of a day; of each day of a month and of each week before it the last one; and again changes nothing."""
    named = {moment.isoformat(): moment for moment in moments}
    gone = set(thinned(named.items(), NOW))
    left = {name: moment for name, moment in named.items() if name not in gone}
    assert [] == thinned(left.items(), NOW)
    for name, moment in named.items():
        age = NOW - moment
        if age < timedelta(days=1):
            assert name in left
        elif age < timedelta(days=30):
            assert any(moment.date() == one.date() and one >= moment for one in left.values())
        else:
            week = moment.isocalendar()[:2]
            assert any(week == one.isocalendar()[:2] and one >= moment for one in left.values())
