"""A text in all its forms: whole words, whatever their case and Unicode form, and nothing inside another word."""

from __future__ import annotations

import json
import unicodedata

import pytest
from gitmem.errors import UsageError
from gitmem.okf.text_pattern import TextPattern


@pytest.mark.parametrize(
    ("text", "data", "blanked"),
    [
        ("Zebulon", "ZEBULON and zebulon's", "(erased) and (erased)'s"),
        ("anna", "Hannah, Anna and ANNA_B", "Hannah, (erased) and (erased)_B"),
        ("Andre", "André and Andre\u0301 stay, andre goes", "André and Andre\u0301 stay, (erased) goes"),
        ("blue harbour", "Blue\n> Harbour, blue-harbour, BLUE_HARBOUR", "(erased), (erased), (erased)"),
        ("blue harbour", "blue%20harbour blue+harbour blueharbour", "(erased) (erased) blueharbour"),
        ("Straße 7", "STRASSE 7 und straße  7", "(erased) und (erased)"),
        ("zwölf Äpfel", "ZWÖLF ÄPFEL zwolf-apfel", "(erased) (erased)"),
        ("zwölf Äpfel", unicodedata.normalize("NFD", "a zwölf äpfel b"), "a (erased) b"),
        ("zwölf Äpfel", json.dumps("zwölf Äpfel"), '"(erased)"'),
        ("it's *so*", "it''s \\*so\\* and it's *so*", "(erased) and (erased)"),
        ("the § sign", "The &sect; sign", "(erased)"),
        ("7731", "code 7731, not 77310 or 17731", "code (erased), not 77310 or 17731"),
        ("a long text about harbours", "add: a long text ab…", "add: (erased)…"),
    ],
)
def test_forms(text: str, data: str, blanked: str) -> None:
    pattern = TextPattern([text])
    assert pattern.text(data) == blanked
    assert pattern.is_in(data.encode())
    assert not pattern.is_in(blanked.encode())


def test_what_is_not_found_is_left_as_it_was() -> None:
    data = b"\xff\xfe not UTF-8, Hannah"
    assert TextPattern(["anna"]).data(data) is data
    assert TextPattern(["Hannah"]).data(data) == b"\xff\xfe not UTF-8, (erased)"


def test_names() -> None:
    """Of a file, a directory, a ref; also one that was cut because it is long."""
    pattern = TextPattern(["Blue Harbour 7731"])
    assert (
        pattern.name("use-blue-harbour-7731-at-the-door_2026-06-30.md")
        == "use-erased-at-the-door_2026-06-30.md"
    )
    long = "we-decided-to-take-the-road-to-the-old-blue-harbour.md"
    assert pattern.name(long) == "we-decided-to-take-the-road-to-the-old-erased.md"


def test_its_forms_are_listed() -> None:
    data = b"Anna, ANNA and Anna; Hannah, Annas"
    pattern = TextPattern(["anna"])
    assert pattern.forms(data) == {"Anna": 2, "ANNA": 1}


def test_an_expression() -> None:
    pattern = TextPattern((), r"code \d{4}")
    assert pattern.text("code 7731, Code 7731") == "(erased), Code 7731"
    for bad in ("(", ".*", r"\s"):
        with pytest.raises(UsageError):
            TextPattern((), bad)
