"""The digest: what is new between two moments."""

from __future__ import annotations

from datetime import timedelta

from gitmem.memory import review
from gitmem.memory.memory import Memory

from tests.memory.conftest import Clock


def _told(bundle: Memory, since: str = "yesterday", until: str = "now") -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    for one in bundle.digest(since, until).news:
        found.setdefault(one.topic, []).append(one.item.title)
    return found


def test_what_is_new(bundle: Memory, clock: Clock) -> None:
    """By topic, with the commit that did it; what was known before, and what came and went, is no news."""
    bundle.remember("Known before")
    bundle.remember("Deploys are on Mondays")
    clock.now += timedelta(days=3)
    with bundle.session("s1") as session:
        session.record_decision("Use Postgres", "We query JSON")
        session.remember("A new fact", reason="said so")
        bundle.replace("Mondays", "Deploys are on Fridays", session="s1")
    bundle.remember("Came and went")
    bundle.forget("Came and went")
    bundle.forget("Known before")
    plan = bundle.plans.create("Move the server", ["copy data"])
    bundle.plans.complete_step(plan.name, 1)
    bundle.plans.complete(plan.name)
    bundle.remember("A lie", session="bad")
    bundle.revert(session="bad")
    assert _told(bundle) == {
        "Learned": ["A new fact"],
        "Changed": ["Deploys are on Fridays"],
        "Decided": ["Use Postgres"],
        "Done": ["Move the server"],
        "Forgotten": ["Known before"],
        "Taken back": ["A lie"],
    }
    found = bundle.digest("yesterday")
    (new,) = found.of("Learned")
    assert new.by is not None
    assert (new.by.session, new.by.first("Reason")) == ("s1", "said so")
    assert (found.record.events, len(found.record.sessions)) == (1, 1)


def test_a_revert_that_was_undone_takes_nothing_back(bundle: Memory) -> None:
    """What is there again was learned."""
    bundle.remember("A fact", session="s1")
    bundle.revert(session="s1")
    assert {"Taken back": ["A fact"]} == _told(bundle)
    bundle.undo()
    assert {"Learned": ["A fact"]} == _told(bundle)


def test_what_was_taken_back_twice_is_told_once(bundle: Memory) -> None:
    """A person let it in again between two reverts."""
    for session in ("s1", "s2"):
        bundle.remember("A fact", session=session)
        for held in bundle.ledger.held():
            review.accept(bundle, review.find(bundle, held.id), by="human:ada")
        bundle.revert(session=session)
    assert {"Taken back": ["A fact"]} == _told(bundle)


def test_what_came_again_after_a_revert_is_not_taken_back(bundle: Memory) -> None:
    """A fact that is there is told once, by what became of it."""
    bundle.remember("A fact", session="s1")
    bundle.revert(session="s1")
    bundle.remember("A fact", by_person=True)
    assert {"Learned": ["A fact"]} == _told(bundle)


def test_a_stretch_in_the_past(bundle: Memory, clock: Clock) -> None:
    """It begins and ends where one says; before the bundle there was nothing."""
    bundle.remember("First")
    clock.now += timedelta(days=7)
    bundle.remember("Second")
    clock.now += timedelta(days=7)
    bundle.remember("Third")
    assert {"Learned": ["First"]} == _told(bundle, "2 years ago", "10 days ago")
    assert {"Learned": ["Second"]} == _told(bundle, "10 days ago", "3 days ago")
    assert {"Learned": ["First", "Second", "Third"]} == _told(bundle, "a year ago")


def test_what_waits_and_what_was_put_back(bundle: Memory) -> None:
    """A text that a revert took back waits when it comes again; a restore is told."""
    bundle.snapshot("good")
    bundle.remember("A lie", session="bad")
    bundle.revert(session="bad")
    assert bundle.remember("A lie").held
    bundle.remember("Something else")
    bundle.restore("good")
    found = bundle.digest("yesterday")
    assert [one.text for one in found.waiting] == ["A lie"]
    assert [one.kind for one in found.restores] == ["restore"]
    assert "Digest" in repr(found)
