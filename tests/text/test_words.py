"""Words, stems, sentences: what every part of gitmem takes them for."""

from __future__ import annotations

from gitmem.text.words import STOP, WORD, fold, sentences


def test_words_are_letters_and_digits_of_any_script() -> None:
    """Punctuation and underscores divide them."""
    assert ["db", "host2", "Straße", "東京"] == WORD.findall("db_host2: Straße, 東京!")


def test_folding_drops_case_and_accents() -> None:
    """As the word table of the index does."""
    assert "creme brulee" == fold("Crème BRÛLÉE")


def test_sentences_are_lines_without_headings() -> None:
    """Also where no space follows, in scripts that write none."""
    assert ["One thing.", "Version 1.2 is out!", "今日は。", "晴れ。"] == sentences(
        "# Title\nOne\tthing. Version 1.2 is out! 今日は。晴れ。"
    )


def test_the_stop_list_has_no_content() -> None:
    """A question is more than these."""
    assert {"the", "what", "don"} <= STOP
    assert STOP.isdisjoint({"server", "password", "friday"})
