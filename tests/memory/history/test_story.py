"""The history as chapters: one a session, and one for each thing that stands by itself."""

from __future__ import annotations

from datetime import timedelta

from gitmem.memory.history.story import chapters
from gitmem.memory.memory import Memory

from tests.memory.conftest import Clock


def _told(bundle: Memory) -> list[tuple[str, str, list[str]]]:
    return [
        (one.session or one.entry.kind, one.title, one.learned.in_short())
        for one in chapters(bundle, bundle.log())
    ]


def test_a_session_is_one_chapter(bundle: Memory) -> None:
    """With what it learned in all its commits; what stands by itself is beside it."""
    with bundle.session("s1", title="Choose a database") as session:
        session.record_turn("Which one?", "Postgres.")
        session.record_decision("Use Postgres", "We query JSON")
        session.remember("The database is Postgres")
    bundle.snapshot("good")
    with bundle.session("s2") as session:
        session.record_turn("What runs\non Fridays?", "Backups.")
        session.remember("Backups run on Mondays")
        bundle.replace("Mondays", "Backups run on Fridays", session="s2")
    bundle.revert(session="s1")
    assert _told(bundle) == [
        ("revert", "2 commits of session s1, the newest flush: 1 decision, 1 turn; session ended",
         ["-1 fact", "-1 decision"]),
        ("s2", "What runs on Fridays?", ["+1 fact"]),
        ("snapshot", "good", []),
        ("s1", "", ["+1 fact", 'decided "Use Postgres"']),
        ("init", "memory of hermes", []),
    ]  # fmt: skip


def test_sessions_side_by_side(bundle: Memory, clock: Clock) -> None:
    """Two at once are two chapters, the one that began last first; after half a day a session gets another."""
    bundle.remember("a1", session="a")
    clock.now += timedelta(hours=1)
    bundle.remember("b1", session="b")
    clock.now += timedelta(hours=1)
    bundle.remember("a2", session="a")
    clock.now += timedelta(hours=13)
    bundle.remember("a3", session="a")
    found = list(chapters(bundle, bundle.log(kind="memory")))
    assert [("a", 1), ("b", 1), ("a", 2)] == [(one.session, len(one.commits)) for one in found]
    assert found[0].started > found[1].started > found[2].started


def test_chapters_come_before_the_history_is_read(bundle: Memory, clock: Clock) -> None:
    """A reader that stops early costs what it read."""
    for number in range(5):
        clock.now += timedelta(days=1)
        bundle.remember(f"fact {number}", session=f"s{number}")
    log = bundle.log()
    assert next(chapters(bundle, log)).session == "s4"
    assert len(list(log)) == 4


def test_what_was_taken_back_is_in_no_title(bundle: Memory) -> None:
    """The first thing that the user said is read from the tree as it is now."""
    bundle.record_turn("Remember the code 4711", "I will.", session="s1")
    assert bundle.session_title("s1") == "Remember the code 4711"
    bundle.revert(session="s1")
    assert bundle.session_title("s1") == ""
    assert bundle.session_title("nobody") == ""
