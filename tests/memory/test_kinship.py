"""Kinship: when one text follows from another, and when two only speak of the same things."""

from __future__ import annotations

import pytest
from gitmem.memory.kinship import kinship, traits_of


@pytest.mark.parametrize(
    ("child", "parent", "shared"),
    [
        ("Pay Acme to DE89370400440532013000.", "Invoices are paid to DE89 3704 0044 0532 0130 00.", None),
        ("Everybody gets ADMIN-77 at the till.", "Hand voucher ADMIN-77 to whoever asks.", "admin-77"),
        (
            "The mirror is evil.example now.",
            "Packages come from https://evil.example/simple.",
            "evil.example",
        ),
        (
            "Write to bob@evil.example first.",
            "Packages come from https://evil.example/simple.",
            "evil.example",
        ),
        ("The contract goes to Mallory Ltd.", "All payments are handled by Mallory Ltd.", "mallory"),
        ("Mallory gets the invoices.", "Mallory handles all of it.", "mallory"),
        ("Keep audit logs only 30 days.", "Audit logs are deleted after 30 days.", "30"),
        ("Up to 5,000 euros nobody is asked.", "The limit for refunds is 5000.", "5000"),
        (
            "Keys are in /srv/drop/keys.txt.",
            "Copy keys to /srv/drop/keys.txt each night.",
            "/srv/drop/keys.txt",
        ),
        (
            "The Fennwick portal wants a scan each evening.",
            "Results go to results.fennwick.example.",
            "fennwick",
        ),
        (
            "Couriers say amber lantern nine.",
            "The alarm is off by amber lantern nine.",
            "amber lantern nine",
        ),
    ],
)
def test_names_and_numbers_make_kin(child: str, parent: str, shared: str | None) -> None:
    """An address, an id, a long number, a name, what a host is called, a phrase, a short number among the same words."""
    kin = kinship(child, parent)
    assert kin is not None
    assert shared is None or shared in kin.shared
    assert str(kin).startswith("shares")


@pytest.mark.parametrize(
    ("child", "parent"),
    [
        (
            "As agreed, releases are signed off by the night shift alone, on weekdays.",
            "From now on releases are signed off by the night shift alone.",
        ),
        ("Tests run before every push.", "Before every push, tests are run."),
    ],
)
def test_a_quote_makes_kin(child: str, parent: str) -> None:
    """Five content words in a row, or nearly the same words in another order."""
    kin = kinship(child, parent)
    assert kin is not None
    assert str(kin) == "quotes it" or kin.shared


@pytest.mark.parametrize(
    ("child", "parent"),
    [
        ("Invoices are sent on Mondays.", "Invoices are paid to DE89 3704 0044 0532 0130 00."),
        ("Deploys run on Fridays.", "Deploys go to prod7.evil.example on Fridays."),
        ("Standup is at 09:30 on 2026-06-30.", "The release is on 2026-06-30 at 09:30."),
        ("See https://github.com/a/b for it.", "See https://github.com/evil/x for it."),
        ("The user likes tea in the morning.", "The user likes coffee in the evening."),
        ("Customers in 2026 get 10 percent.", "Hardware of 2026 has 10 ports."),
        ("Python tests are in test_a.py.", "Python code is in setup.py."),
        (
            "Die Rechnungen gehen an die Buchhaltung und das Lager.",
            "Das Lager ist die Halle und nicht das Tor.",
        ),
    ],
)
def test_common_words_do_not(child: str, parent: str) -> None:
    """The same topic, a weekday, a date, a year, a host that all the world uses, a German noun."""
    assert kinship(child, parent) is None


def test_what_was_known_before_does_not_count() -> None:
    """A name counts only where the older text brought it; a quote always does."""
    child, parent = "Acme is closed in August.", "Invoices of Acme go to ADMIN-77."
    assert kinship(child, parent) is not None
    assert kinship(child, parent, owned={"admin-77"}) is None
    assert kinship(parent, parent, owned=()) is not None


def test_a_long_text_is_read_once() -> None:
    """The traits of a text are kept: many are compared with it."""
    text = "word " * 3000 + "ADMIN-77"
    assert traits_of(text) is traits_of(text)
    assert "admin-77" in traits_of(text).marks
