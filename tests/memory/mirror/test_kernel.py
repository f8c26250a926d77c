"""The comparison of three states: both sides agree afterwards, nothing is lost, and a second look is silent."""

from __future__ import annotations

from gitmem.memory.mirror.mirror import agreed, conflicts, incoming, outgoing
from hypothesis import given
from hypothesis import strategies as st

UNITS = st.dictionaries(st.sampled_from("abcde"), st.sampled_from("123"), max_size=5)
Units = dict[str, str]


def applied(target: Units, source: Units, keys: list[str]) -> Units:
    changed = {key: value for key, value in target.items() if key not in keys}
    return changed | {key: source[key] for key in keys if key in source}


def look(base: Units, here: Units, there: Units) -> tuple[Units, Units, Units]:
    keys = incoming(base, here, there)
    here, base = applied(here, there, keys), applied(base, there, keys)
    there = applied(there, here, outgoing(base, here, there))
    return agreed(base, here, there), here, there


@given(UNITS, UNITS, UNITS)
def test_both_sides_agree_and_a_second_look_is_silent(base: Units, here: Units, there: Units) -> None:
    base, here, there = look(base, here, there)
    assert base == here == there
    assert ([], [], []) == tuple(step(base, here, there) for step in (incoming, outgoing, conflicts))


@given(UNITS, UNITS, UNITS)
def test_no_change_is_lost(base: Units, here: Units, there: Units) -> None:
    """A value that one side brought is there afterwards, or it is a conflict, which is reported."""
    _, after, _ = look(base, here, there)
    both = conflicts(base, here, there)
    for side in (here, there):
        for key, value in side.items():
            assert value == after.get(key) or value == base.get(key) or key in both
    assert all(there[key] == after[key] for key in both)


@given(UNITS, UNITS, UNITS)
def test_a_removal_counts_where_the_other_side_left_the_unit_alone(
    base: Units, here: Units, there: Units
) -> None:
    _, after, _ = look(base, here, there)
    for key, value in base.items():
        for one, other in ((here, there), (there, here)):
            if key not in one:
                assert (key in after) == (other.get(key) not in (None, value))


@given(UNITS, UNITS, UNITS, st.sets(st.sampled_from("abcde")))
def test_what_waits_is_left_alone(base: Units, here: Units, there: Units, waiting: set[str]) -> None:
    """A change that is not taken in yet is neither overwritten there nor agreed on."""
    keys = [key for key in incoming(base, here, there) if key not in waiting]
    waits = {key for key in incoming(base, here, there) if key in waiting}
    after, moved = applied(here, there, keys), applied(base, there, keys)
    written = outgoing(moved, after, there)
    assert not waits & set(written)
    final = agreed(moved, after, applied(there, after, written))
    assert all(final.get(key) == base.get(key) for key in waits)
    assert waits == set(incoming(final, after, applied(there, after, written)))
