"""The query language: what people type becomes terms, and never an error."""

from __future__ import annotations

import sqlite3

import pytest
from gitmem.index.query import MOST_TERMS, parse
from hypothesis import given, settings
from hypothesis import strategies as st


def kinds(text: str, *, strict: bool = True) -> list[tuple[str, str]]:
    return [(term.kind, term.text) for term in parse(text, strict=strict).terms]


def test_words_and_phrases() -> None:
    """Plain words count, quotes make a phrase that must be there."""
    assert [("word", "database"), ("phrase", "dark mode")] == kinds('database "dark mode"')
    assert {"dark mode"} == {term.text for term in parse('database "dark mode"').required}


def test_minus_excludes() -> None:
    """`-word` must not be there; `OR`, `AND` and a star are written as in any text."""
    query = parse('tabs OR spaces -terminal -"old laptop"')
    assert ["tabs", "spaces"] == [term.text for term in query.terms]
    assert ["terminal", "old laptop"] == [term.text for term in query.excluded]
    assert not parse("tabs AND spaces").required
    assert kinds("invo*") == kinds("invo")


def test_words_that_say_nothing_are_left_out_unless_they_are_all() -> None:
    """A question keeps what tells; a question of such words alone keeps them."""
    assert [("word", "database")] == kinds("which was the database")
    assert kinds("which was the")


def test_what_is_written_together_is_looked_for_together() -> None:
    """`gpt-4o` and `v1.2` are found as they stand; `self-portrait` by its words too."""
    assert [("phrase", "gpt 4o")] == kinds("gpt-4o")
    assert [("word", "self"), ("word", "portrait")] == kinds("self-portrait")


def test_scripts_without_spaces_are_looked_for_by_pairs() -> None:
    """A Chinese query finds its words wherever they stand."""
    assert [("run", "深色"), ("run", "色模"), ("run", "模式")] == kinds("深色模式")
    assert ("run", "深色") in kinds("dark 深色")


def test_a_question_in_plain_words_requires_nothing() -> None:
    """Quotation marks and hyphens are only how people write."""
    query = parse('what did she say about "the red car" -wink', strict=False)
    assert not query.required
    assert not query.excluded
    assert ("phrase", "the red car") in [(term.kind, term.text) for term in query.terms]


@pytest.mark.parametrize("text", ["", "   ", "!!!", '"', '""', "*", "-", "--", "\x00", "''"])
def test_nothing_to_look_for_is_no_query(text: str) -> None:
    """Empty and only punctuation: no terms, and no error."""
    assert not parse(text)


def test_ten_kilobytes_are_cut_to_so_many_terms() -> None:
    """A pasted page is a query like any other."""
    assert MOST_TERMS == len(parse(" ".join(f"word{number}" for number in range(2_000))).terms)


_ODD = st.text(
    st.one_of(st.sampled_from("\"*-:()^{}AND OR NOT NEAR+\\'\n\x00深ไ🎉é"), st.characters(codec="utf-8")),
    max_size=60,
)


@settings(max_examples=300, deadline=None)
@given(_ODD, st.booleans())
def test_whatever_is_typed_fts5_takes_it(text: str, strict: bool) -> None:
    """No text is a syntax error to SQLite."""
    database = sqlite3.connect(":memory:")
    database.execute(
        "CREATE VIRTUAL TABLE d USING fts5 (t, tokenize = 'porter unicode61 remove_diacritics 2')"
    )
    query = parse(text, strict=strict)
    for term in (*query.terms, *query.excluded):
        database.execute("SELECT count(*) FROM d WHERE d MATCH ?", (term.match,)).fetchall()
    database.close()
