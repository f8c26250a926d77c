"""Keys: what of a text survives a rewording or a translation, and what is left of one without them."""

from __future__ import annotations

import pytest
from gitmem.text import keys
from gitmem.text.keys import is_common, keys_of, quotes_of, says, tokens_of, without
from hypothesis import given
from hypothesis import strategies as st

from tests.safety.growth import growth


@pytest.mark.parametrize(
    ("one", "other", "shared"),
    [
        ("Office door code is 7390#.", "Merk dir bitte: der Türcode ist 7390#", "7390"),
        ("The database listens on port 5432", "it listens on 5432 since May", "5432"),
        ("The account is DE89 3704 0044 0532 0130 00", "DE89370400440532013000", "de89370400440532013000"),
        ("The budget is 12,000 euros", "Das Budget: 12.000 Euro", "12000"),
        ("The budget is 12k", "a budget of 12 000", "12000"),
        ("The pipe is 2.43 m long", "misst 2,43 m", "2.43"),
        ("Call +49 170 1234567", "Ruf +49 (170) 1234567 an", "491701234567"),
        ("My sister is called Mirela", "I met Mirela's friend", "mirela"),
        ("The host is db-7.lan", "ssh DB-7.lan", "db-7.lan"),
        ("Mail goes to ada@example.org", "an ada@example.org.", "ada@example.org"),
        ("The flag is dark_mode", "set dark_mode", "dark_mode"),
        ("密码是4711", "Пароль 4711", "4711"),
        ("My source is Sørbakken", "Jeg snakket med Sorbakken", "sorbakken"),
        ("She moved to Łódź", "w Lodz jest ciepło, mówi Łódź", "lodz"),
    ],
)
def test_a_key_is_the_same_in_other_words(one: str, other: str, shared: str) -> None:
    """By how it is written, in any language."""
    assert shared in keys_of(one) & keys_of(other)


@pytest.mark.parametrize(
    "text",
    [
        "Please remember this.",
        "The PIN and the GPU",
        "Thanks! That is all.",
        "A Headline With Many Capitals Says Nothing Much",
        "Der Bericht über die Wohnung und das Auto liegt im Schrank",
        "I have 3 of them",
    ],
)
def test_common_words_are_no_keys(text: str) -> None:
    """Nor is what begins a sentence, a headline, nouns of a language that writes all of them large, or a digit."""
    assert frozenset() == keys_of(text)


def test_only_the_sentence_that_has_it_is_left_out() -> None:
    """A gap says that something was there; the speakers stay."""
    text = "[user] The PIN is 4711. The soup is good.\n[assistant] Noted: 4711."
    left = without(text, says(text, {"4711"}))
    assert "[user] […] The soup is good.\n[assistant] […]" == left
    assert "" == without("[user] It is 4711.", says("[user] It is 4711.", {"4711"}))


def test_a_quote_is_found_word_for_word() -> None:
    """Whatever its case and punctuation; a sentence of two words is too short to tell."""
    [quote] = quotes_of("The spare keys are in the orange box. Fine.")
    assert says("So: the spare keys, are in the ORANGE box!", (), {quote})
    assert not says("The spare keys are in the green box", (), {quote})


@given(st.text(max_size=200))
def test_any_text_can_be_looked_through(text: str) -> None:
    """Without its own keys it has none of them."""
    found = keys_of(text)
    left = without(text, says(text, found))
    assert isinstance(left, str)
    assert not any(says(left, {key}) for key in found)


@pytest.mark.parametrize(
    "piece", ["a", "1", "1 ", "a.", "A1-", "a@", "x@y.", "http://", "(1", "1,", "Ab ", "ā", "4 7 "]
)
def test_time_grows_with_the_text_and_no_faster(piece: str) -> None:
    """Twenty times the text, about twenty times the time."""
    long = (piece * 20_000)[:20_000]
    assert growth(keys_of.__wrapped__, long) < 100
    assert growth(lambda part: says(part, {"x"}, {"a b c"}), long) < 100
    assert growth(quotes_of, long) < 100


def test_a_long_text_is_read_by_its_different_words(monkeypatch: pytest.MonkeyPatch) -> None:
    """A note of a megabyte says most of its words again: a search that finds it reads each once."""
    read: list[str] = []

    def name(word: str) -> str:
        read.append(word)
        return word

    monkeypatch.setattr(keys, "_singular", name)
    assert tokens_of("The garden gate opens at noon. " * 30_000) == {
        *["the", "garden", "gate", "opens", "at", "noon"]
    }
    assert len(read) == 6


def test_only_the_clause_that_has_a_key_is_left_out() -> None:
    """Where the other clauses say something of their own; a short aside goes with its sentence, a quote takes all of it."""
    text = "[user] We deploy on Thursdays, and billing uses Postgres. Ask me."
    assert without(text, says(text, {"thursday"})) == "[user] […] and billing uses Postgres. Ask me."
    text = "The office code, by the way, is 7390#. Ask me."
    assert without(text, says(text, {"7390"})) == "[…] Ask me."
    text = "We deploy on Thursdays, and billing uses Postgres. Ask me."
    assert without(text, says(text, (), ["we deploy on thursdays"])) == "[…] Ask me."


@pytest.mark.parametrize(
    ("entry", "said"),
    [
        ("The landlord is Mr. Achterberg.", "Write to Achterberg, he owns the house."),
        ("The lawyer is Ms. Quintanilla.", "Quintanilla has the best reviews."),
        ("The lawyer is Ms. Quintanilla.", "quintanilla called"),
        ("Membership id 90-441-7.", "The membership is 90-441-7, from May."),
        ("The serial number is KX-77-2043.", "KX-77-2043 is on the label"),
        ("The repository is acme/zephyr-core.", "It may be in acme/zephyr-core."),
        ("Deploys happen on Tuesdays.", "Tuesday is the deploy day."),
    ],
)
def test_a_key_is_found_however_a_sentence_has_it(entry: str, said: str) -> None:
    """At its beginning, before a full stop, behind a title, in a chat without capitals."""
    assert says(said, keys_of(entry))


@pytest.mark.parametrize(
    ("key", "text", "common"),
    [
        ("monday", "The layoffs are announced on Monday.", True),
        ("tom", "The user owes Tom 300.", True),
        ("keller", "Der Schlüssel liegt im Keller.", True),
        ("achterberg", "The landlord is Mr. Achterberg.", False),
        ("r17", "The rack is R17.", False),
    ],
)
def test_a_name_that_everybody_uses_is_no_proof(key: str, text: str, common: bool) -> None:
    assert is_common(key, text) is common
