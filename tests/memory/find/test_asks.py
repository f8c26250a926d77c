"""What a query asks for, and where the same question was asked before."""

from __future__ import annotations

import pytest
from gitmem.index.find import Candidate, Candidates
from gitmem.index.query import parse
from gitmem.memory.find.asks import Asks


@pytest.mark.parametrize(
    ("query", "kind"),
    [
        ("which database did we choose", "choice"),
        ("What do we use for invoices?", "choice"),
        ("Für welchen Ofen haben wir uns entschieden?", "choice"),
        ("why did we choose Rust", "reason"),
        ("pourquoi ce fournisseur", "reason"),
        ("what kind of answers does the user prefer?", "preference"),
        ("用户喜欢什么模式", "preference"),
        ("may we use photos of customers", "rule"),
        ("in which language do I write to suppliers?", "rule"),
        ("where does the band rehearse", ""),
    ],
)
def test_a_question_asks_for_something(query: str, kind: str) -> None:
    asks = Asks.of(query)
    assert asks.is_question
    assert asks.kind == kind


@pytest.mark.parametrize("query", ["database migration", "decided", "where clause", "", "rules"])
def test_plain_words_ask_for_nothing(query: str) -> None:
    assert Asks.of(query) == Asks()


def test_a_turn_that_asks_the_same_counts_by_what_else_it_says() -> None:
    query = parse("which printer is in the warehouse")
    asked = "[user] Which printer is in the warehouse?\n[assistant] "
    texts = [
        Candidate(1, asked + "I do not know.", 9, (1, 1)),
        Candidate(2, asked + "The warehouse has a Zebra.", 9, (1, 2)),
        Candidate(3, "The warehouse printer is a Zebra", 6, (1, 1)),
    ]

    repeated = Asks.of(query.text).repeated_in(Candidates(query, texts, 100, (5, 5)))

    assert repeated == {1: (0, 0), 2: (0, 1)}
