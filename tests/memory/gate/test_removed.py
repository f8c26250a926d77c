"""An entry that was removed while a session still has it before it: it comes back only by somebody's word."""

from __future__ import annotations

import pytest
from gitmem.memory.memory import Memory
from gitmem.memory.session import Session

ENTRY = "Office door code is 7390#."
REWORDED = "The code of the office door is 7390#."


def entries(memory: Memory) -> list[str]:
    return [entry.text for entry in memory.curated.entries("memory")]


@pytest.fixture
def session(bundle: Memory) -> Session:
    """A session that wrote the entry, which a person then removes."""
    session = bundle.session("talk").start()
    session.said("Please remember: the door code is 7390#")
    session.remember(ENTRY)
    session.answered("Noted.")
    bundle.forget(ENTRY)
    return session


@pytest.mark.parametrize("text", [ENTRY, REWORDED])
def test_the_session_does_not_bring_it_back_by_itself(bundle: Memory, session: Session, text: str) -> None:
    """It is in its conversation still; in other words too."""
    session.said("What is the weather like?")
    assert session.remember(text).held
    session.answered("Mild.")
    assert entries(bundle) == []


@pytest.mark.parametrize(
    "said",
    ["The code 7390# is valid again", "bitte merk dir das", "guárdalo otra vez", "the office door, again"],
)
def test_the_user_may_say_it_again(bundle: Memory, session: Session, said: str) -> None:
    """In whatever words: the turn names it, or asks to keep something."""
    session.said(said)
    assert not session.remember(REWORDED).held
    session.answered("Noted.")
    assert entries(bundle) == [REWORDED]


def test_a_person_may_add_it(bundle: Memory, session: Session) -> None:
    """Nothing waits then, and the session may write of it as well."""
    session.said("What is the weather like?")
    bundle.remember(ENTRY)
    session.answered("Mild.")
    assert entries(bundle) == [ENTRY]
    assert not session.remember("Since Monday 7390# opens the cellar too.").held


def test_what_a_session_took_out_itself_it_may_word_anew(bundle: Memory) -> None:
    """An agent tidies its store: it removes two entries and adds one."""
    with bundle.session("talk") as session:
        session.said("Please remember: the door code is 7390#")
        session.remember(ENTRY)
        session.answered("Noted.")
        session.said("Tidy up your notes")
        bundle.curated.remove(ENTRY, origin=session.origin())
        assert not session.remember(REWORDED).held
        session.answered("Done.")
    assert entries(bundle) == [REWORDED]


def test_what_was_replaced_was_not_removed(bundle: Memory) -> None:
    """A correction by a person, and a session that goes on with the same names."""
    bundle.remember("The database on heron listens on 5432.")
    with bundle.session("talk") as session:
        assert "5432" in session.prompt_block()
        session.said("Where is the database?")
        bundle.replace("The database on heron listens on 5432.", "The database on heron listens on 6543.")
        assert not session.remember("heron is in the cellar.").held
        session.answered("On heron.")
