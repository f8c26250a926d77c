"""Whose sessions a user sees: the rule in Python and the one in SQL are the same."""

from __future__ import annotations

import sqlite3
from itertools import product

import pytest
from gitmem.index.readers import Reader, stored_name
from gitmem.index.records import SessionFacts

_PEOPLE = [("", ""), ("ann", "c1"), ("bob", "c2"), ("", "c1"), ("ann", "")]
_KINDS = ("", "dm", "group", "channel", "Group")


def _session(number: int, platform: str, who: tuple[str, str], kind: str) -> SessionFacts:
    return SessionFacts(f"s{number}", "", platform=platform, user=who[0], chat=who[1], chat_type=kind)


SESSIONS = [
    _session(number, *one) for number, one in enumerate(product(("telegram", "discord"), _PEOPLE, _KINDS))
]


def test_sql_and_python_agree() -> None:
    """For every reader and every session."""
    sql = sqlite3.connect(":memory:")
    sql.execute("CREATE TABLE session (name, platform, user, chat, chat_type)")
    rows = [(one.name, one.platform, one.user, one.chat, one.chat_type) for one in SESSIONS]
    sql.executemany("INSERT INTO session VALUES (?, ?, ?, ?, ?)", rows)
    for (user, chat), kind in product(_PEOPLE, _KINDS):
        reader = Reader("telegram", user, chat, kind)
        query, values = reader.others()
        denied = {name for (name,) in sql.execute(query, values)}
        assert denied == {one.name for one in SESSIONS if not reader.sees(one)}, reader


def _in_group(user: str) -> SessionFacts:
    return SessionFacts("s", "", platform="t", user=user, chat="g", chat_type="group")


@pytest.mark.parametrize(
    ("reader", "session", "sees"),
    [
        (Reader("t", "ann"), SessionFacts("s", ""), True),
        (Reader("t", "ann"), SessionFacts("s", "", platform="t", user="ann"), True),
        (Reader("t", "ann"), SessionFacts("s", "", platform="t", user="bob"), False),
        (Reader("t", "ann"), SessionFacts("s", "", platform="d", user="ann"), False),
        (Reader("t", ""), SessionFacts("s", "", platform="t", user="bob"), False),
        (
            Reader("t", "ann", "g", "group"),
            SessionFacts("s", "", platform="t", user="bob", chat="g", chat_type="group"),
            True,
        ),
        (Reader("t", "ann", "g", "group"), SessionFacts("s", "", platform="t", user="ann"), False),
        (
            Reader("t", "ann"),
            SessionFacts("s", "", platform="t", user="ann", chat="g", chat_type="group"),
            False,
        ),
    ],
)
def test_a_user_sees_their_own(reader: Reader, session: SessionFacts, sees: bool) -> None:
    """Their own and nobody's; a group sees what was said in it, and not what its members said in private."""
    assert sees == reader.sees(session)


@pytest.mark.parametrize(
    "name", ["+49 170 1234567", "491701234567", "ann@example.org", "49170@s.whatsapp.net"]
)
def test_numbers_and_addresses_are_not_stored(name: str) -> None:
    """A short hash is, the same one each time, and another one on another platform."""
    stored = stored_name("whatsapp", name)
    assert stored.startswith("#")
    assert not any(part in stored for part in (name, name[-6:]))
    assert stored == stored_name("whatsapp", name) != stored_name("signal", name)


@pytest.mark.parametrize(
    ("platform", "name"),
    [("telegram", "123456789"), ("discord", "-1001234567890"), ("slack", "U0AB12"), ("x", "42")],
)
def test_other_names_are_stored_as_they_are(platform: str, name: str) -> None:
    """What the host calls a user, where that is nobody's number."""
    assert name == stored_name(platform, name)
