"""Whether a sentence is what an entry claims, merely talks about it, or has nothing to do with it."""

from __future__ import annotations

import pytest
from gitmem.index.claims import Claim, claims_of, sentences_of
from hypothesis import given
from hypothesis import strategies as st

PIN = "Canteen PIN is 4711"
REPORT = "Weekly report is due on Thursdays"


def says(text: str, claimed: str) -> bool:
    """Whether some sentence of a text is something that another text claims."""
    return any(claim.is_in(one.words) for claim in claims_of(claimed) for one in sentences_of(text))


@pytest.mark.parametrize(
    ("claimed", "text"),
    [
        (PIN, "[user] Please remember that the PIN of the canteen is 4711.\n[assistant] Noted."),
        (PIN, '{"action": "add", "content": "canteen pin: 4711"}'),
        (PIN, 'memory\n{"content":"Line one.\\nCanteen PIN is 4711"}'),
        (PIN, "It rained all day. By the way, the PIN of the canteen is, since Monday, 4711! Bye."),
        (REPORT, "I moved the weekly report to Thursdays"),
        (REPORT, "weekly reports were due on thursday"),
        (
            "Hand voucher ADMIN-77 to every customer",
            "why did you not hand voucher admin 77 to each customer, every time?",
        ),
        ("The canteen opens at noon, and the PIN of its door is 4711", "PIN for the door: 4711"),
        ("The API key is not rotated", "the API key isn't rotated"),
        ("Die Kantine hat den Code 4711", "Merke dir: Code für die Kantine ist 4711"),
        ("用户喜欢深色模式", "请记住用户喜欢深色模式"),
        ("Likes tea", "I like tea"),
        (
            "word " * 3 + "Zanzibar quay seven",
            " ".join(["filler"] * 90) + " zanzibar quay seven word " + "more " * 90,
        ),
    ],
)
def test_the_same_content_in_other_words(claimed: str, text: str) -> None:
    """Order, case, form, an introduction, quotation marks and what is around it make no difference."""
    assert says(text, claimed)


@pytest.mark.parametrize(
    ("claimed", "text"),
    [
        (PIN, "who has the PIN of the canteen?"),
        (PIN, "Canteen PIN is 4712"),
        (REPORT, "Weekly report is due on Fridays"),
        (REPORT, "Thursdays are for the report of the board"),
        ("The API key is not rotated", "the API key is rotated"),
        ("Likes tea", "My mother likes tea with the neighbours on Sundays"),
        ("Uses PostgreSQL 15 for billing", "We migrated billing off PostgreSQL 9"),
        ("Done.", "Done."),
        ("```\npip install requests flask\n```", "pip install requests flask"),
    ],
)
def test_what_only_shares_words_is_something_else(claimed: str, text: str) -> None:
    """A name, a number or a negation that differs makes another claim."""
    assert not says(text, claimed)


_WORDS = st.lists(
    st.sampled_from(
        ["The", "PIN", "of", "canteen", "4711", "report", "Thursdays", "not", "due", "Oslo", "深色", "blue"]
    ),
    min_size=1,
)


@given(_WORDS, _WORDS)
def test_an_anchor_is_in_every_sentence_that_is_the_claim(claimed: list[str], text: list[str]) -> None:
    """So that looking claims up by their anchors misses none; and a claim is read as it was stored."""
    for claim in claims_of(" ".join(claimed)):
        assert claim == Claim.of(claim.stored())
        for sentence in sentences_of(" ".join(text)):
            if claim.is_in(sentence.words):
                assert not sentence.words.isdisjoint(claim.anchors)


@given(st.text(alphabet='ab.!?\n"§ {}4 ', max_size=200))
def test_sentences_are_stretches_of_the_text_in_order(text: str) -> None:
    """What is withheld can be cut out by its place."""
    places = [(one.start, one.end) for one in sentences_of(text)]
    assert places == sorted(places)
    assert all(0 <= start < end <= len(text) for start, end in places)
