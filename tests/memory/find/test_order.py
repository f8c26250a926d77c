"""The order of an answer: what is known before talk about it, and what holds before what held."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path

import pytest
from gitmem.memory.memory import Memory
from gitmem.text.keys import GAP

from tests.memory.find.support_index import Clock, new_bundle


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def own(tmp_path: Path, clock: Clock) -> Iterator[Memory]:
    made = new_bundle(tmp_path / "b", clock=clock)
    yield made
    made.index.close()
    made.repository.store.close()


def say(memory: Memory, session: str, *turns: tuple[str, str], decided: tuple[str, str] = ("", "")) -> None:
    with memory.session(session) as open_session:
        for user, assistant in turns:
            open_session.record_turn(user, assistant)
        if decided[0]:
            open_session.record_decision(*decided)


def texts(memory: Memory, query: str) -> list[str]:
    return [hit.text.partition("\n")[0] for hit in memory.search(query)]


def test_a_fact_comes_before_the_turn_that_it_was_learned_in(own: Memory) -> None:
    say(own, "s1", ("For later: the VAT export is due on the 10th. The VAT export is a chore.", "Noted."))
    own.remember("The VAT export is due on the 10th")
    assert texts(own, "when is the VAT export due")[0] == "The VAT export is due on the 10th"
    assert texts(own, "VAT export")[0] == "The VAT export is due on the 10th"


def test_a_question_that_was_asked_before_is_no_answer(own: Memory) -> None:
    own.remember("Milo was born on 14 May")
    say(own, "s1", ("When is Milo's birthday?", "I would have to look that up."))
    say(own, "s2", ("Milo plays handball", "How nice."))
    found = texts(own, "when is Milo's birthday?")
    assert found[0] == "Milo was born on 14 May"
    assert found[-1].startswith("[user] When is Milo's birthday?")


def test_a_question_whose_answer_no_longer_holds_comes_last(own: Memory) -> None:
    own.remember("The staging server is lark.example, port 2222")
    say(
        own,
        "s1",
        (
            "how do I reach the staging server?",
            "As far as I know: The staging server is lark.example, port 2222.",
        ),
    )
    own.replace("lark.example", "The staging server is wren.example, port 2200")
    hits = own.search("how do I reach the staging server?").hits
    assert hits[0].text == "The staging server is wren.example, port 2200"
    assert hits[-1].text == f"[user] how do I reach the staging server?\n[assistant] {GAP}"
    assert hits[-1].score <= hits[0].score


def test_the_newer_of_two_decisions_about_one_subject_comes_first(own: Memory, clock: Clock) -> None:
    say(
        own,
        "s1",
        ("How do we send mails, which mail provider?", "."),
        decided=("Send mails with Mailgun", "Cheap"),
    )
    clock.now += timedelta(days=30)
    say(own, "s2", decided=("Send mails with Postmark instead of Mailgun", "Lost mails"))
    decided = [text for text in texts(own, "which mail provider did we choose") if text.startswith("Send")]
    assert decided == ["Send mails with Postmark instead of Mailgun", "Send mails with Mailgun"]


def test_what_the_user_no_longer_likes_is_found_on_no_page_of_the_profile(own: Memory) -> None:
    own.remember("Prefers a light theme", target="user")
    own.remember("Prefers long answers", target="user")
    own.replace("light", "Prefers a dark theme", target="user", machine=False)
    own.forget("long answers", target="user")
    assert texts(own, "which theme does the user prefer") == ["Prefers a dark theme"]
    assert texts(own, "long answers") == []
    assert [hit.text for hit in own.search("long answers", removed=True)] == ["Prefers long answers"]


def test_scores_fall_from_hit_to_hit(own: Memory, clock: Clock) -> None:
    say(
        own,
        "s1",
        ("the deploy day, the deploy day", "Noted: deploys are on Thursdays."),
        decided=("Deploy on Mondays", ""),
    )
    clock.now += timedelta(days=9)
    say(own, "s2", decided=("Deploy on Fridays", ""))
    own.remember("Deploys are on Thursdays")
    scores = [hit.score for hit in own.search("deploy day")]
    assert scores == sorted(scores, reverse=True)


def test_a_word_of_a_short_message_says_more_than_one_in_a_long_answer(own: Memory) -> None:
    """Each message is weighed by its own length: what the user said is short, an agent's answers are not."""
    talk = " ".join(f"Then there is thing number {number}, which costs little." for number in range(60))
    say(own, "s1", ("Tell me about gardens", f"{talk} A trellis costs more. A trellis lasts. {talk}"))
    say(own, "s2", ("I bought a trellis for the roses", f"How nice. {talk} {talk}"))
    assert texts(own, "trellis")[0].startswith("[user] I bought a trellis")


def test_labels_of_speakers_are_not_words(own: Memory) -> None:
    say(own, "s1", ("The ferry leaves at nine", "Noted."))
    own.remember("The user takes the early ferry")
    assert [hit.text for hit in own.search("user")] == ["The user takes the early ferry"]
    assert not own.search("assistant").hits


def test_a_question_requires_nothing_and_plain_words_may(own: Memory) -> None:
    """Quotation marks and minus signs command a search, and are only how people write in a question."""
    own.remember("The ferry to Nantucket is late")
    assert texts(own, 'why is "the old ferry" late -again?') == ["The ferry to Nantucket is late"]
    assert texts(own, '"the old ferry"') == []
    assert texts(own, "ferry -nantucket") == []


def test_of_a_series_the_newest_comes_first(own: Memory, clock: Clock) -> None:
    for free in (80, 74, 61):
        clock.now += timedelta(days=1)
        own.record_observation(f"The staging database has {free} GB free", session=f"night-{free}")
    assert [text.split()[4] for text in texts(own, "staging database")] == ["61", "74", "80"]
