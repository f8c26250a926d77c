"""Short ids: what is shown is understood when it is typed."""

from __future__ import annotations

import pytest
from gitmem.errors import UnknownRevision
from gitmem.okf.entries import entry_hash
from gitmem.okf.short_ids import ambiguous, is_meant, looks_like_id, meant, short

ENTRY = entry_hash("The server runs Debian 12")
WRITER = "5f0c1a2b3c4d5e6f708192a3b4c5d6e7"


@pytest.mark.parametrize("whole", [ENTRY, f"{WRITER}-12", "nightly-20261101", "0123456789ab"])
def test_what_is_shown_is_meant_by_it(whole: str) -> None:
    assert is_meant(short(whole), whole)


def test_an_entry_is_shown_by_eight_digits_and_an_event_keeps_its_number() -> None:
    assert short(ENTRY) == ENTRY[:8]
    assert short(f"{WRITER}-12") == "5f0c1a2b-12"
    assert short("a name that somebody chose") == "a name that somebody chose"


def test_an_event_is_not_the_one_whose_number_begins_alike() -> None:
    assert not is_meant("5f0c1a2b-1", f"{WRITER}-12")
    assert not is_meant("5f0c1a2b-12", f"{WRITER}-1")


def test_upper_case_digits_are_understood() -> None:
    assert is_meant("5F0C1A2B-12", f"{WRITER}-12")


def test_less_than_four_characters_mean_nothing_but_themselves() -> None:
    assert meant("mon", ["monday", "mon"], "sessions") == "mon"
    assert meant("mon", ["monday"], "sessions") == ""
    assert meant("mond", ["monday"], "sessions") == "monday"


def test_the_whole_id_is_meant_though_another_begins_with_it() -> None:
    assert meant("night", ["night", "night-2"], "sessions") == "night"


def test_several_that_begin_alike_are_listed_with_enough_to_tell_them_apart() -> None:
    one, other = "a" * 31 + "b", "a" * 31 + "c"

    with pytest.raises(UnknownRevision, match="2 entries begin with 'aaaa'") as caught:
        meant("aaaa", [one, other], "entries")

    assert caught.value.hint == f"Give more of one: {one}, {other}."
    told = ambiguous("aaaa", [one, other], "entries", {one: "The first"})
    assert told.hint == f"Give more of one: {one} (The first), {other}."


def test_a_word_is_no_id() -> None:
    assert not looks_like_id("Debian")
    assert not looks_like_id("cab")
    assert looks_like_id("68020b3a")
    assert looks_like_id("68020b3a-4")
