"""Questions that look back: the day is the user's own, and a task that merely names one is not such a question."""

from __future__ import annotations

from datetime import datetime, timedelta
from zoneinfo import ZoneInfo

import pytest
from gitmem.memory.find.date_questions import TurnQuestion
from gitmem.okf import timestamps

BERLIN = ZoneInfo("Europe/Berlin")
NOW = datetime(2026, 11, 18, 9, 30, tzinfo=BERLIN)  # a Wednesday


def days(text: str, now: datetime = NOW) -> list[tuple[str, str]]:
    """The stretches of a question as local days, from the first up to and without the last."""
    found = TurnQuestion.of(text, now=now)
    assert not found.query
    moments = [(one.start, one.end) for one in found.stretches if not one.newest]
    return [(_day(start, now), _day(end, now)) for start, end in moments]


def _day(at: str, now: datetime) -> str:
    moment = timestamps.parse(at)
    assert moment is not None
    return f"{moment.astimezone(now.tzinfo):%m-%d}"


@pytest.mark.parametrize(
    ("question", "first", "end"),
    [
        ("What did we do yesterday?", "11-17", "11-18"),
        ("and yesterday?", "11-17", "11-18"),
        ("what happened the day before yesterday?", "11-16", "11-17"),
        ("What did we talk about today?", "11-18", "11-19"),
        ("what did we discuss on Friday?", "11-13", "11-14"),
        ("what did we discuss last Wednesday?", "11-11", "11-12"),
        ("What have we been working on this week?", "11-16", "11-18"),
        ("recap of last week, please", "11-09", "11-16"),
        ("what did I ask you two days ago?", "11-15", "11-17"),
        ("what did we decide on 2026-11-03?", "11-03", "11-04"),
        ("Was haben wir gestern gemacht?", "11-17", "11-18"),
        ("Was haben wir letzte Woche besprochen?", "11-09", "11-16"),
        ("was haben wir am Freitag gemacht", "11-13", "11-14"),
        ("qu'avons-nous fait la semaine dernière ?", "11-09", "11-16"),
        ("¿qué hicimos ayer?", "11-17", "11-18"),
    ],
)
def test_a_time_is_found(question: str, first: str, end: str) -> None:
    """By its words in a few languages, as days of the calendar of whoever asks."""
    assert (first, end) == days(question)[0]


@pytest.mark.parametrize(
    "question",
    [
        "what did we do last time?",
        "Where did we leave off?",
        "let's continue where we left off",
        "summarize our last session",
        "what were we working on?",
        "Was war letztes Mal?",
    ],
)
def test_the_last_time_is_the_last_session(question: str) -> None:
    """Whenever that was."""
    found = TurnQuestion.of(question, now=NOW)
    assert [True] == [one.newest for one in found.stretches]
    assert not found.query


@pytest.mark.parametrize(
    "text",
    [
        "Write a note for yesterday",
        "What day was yesterday?",
        "how are you today?",
        "thanks, that was it for today",
        "What is the date today?",
        "did it rain yesterday",
        "yes, do that",
        "what did we do",
        "x " * 400 + "what did we do yesterday",
        "",
    ],
)
def test_a_text_that_only_names_a_day_does_not_look_back(text: str) -> None:
    """It says nothing of us, nothing of what was, or no time at all."""
    assert not TurnQuestion.of(text, now=NOW).stretches


def test_a_subject_is_told_apart_from_the_time() -> None:
    """What was said about it then is wanted, and no list of sessions."""
    found = TurnQuestion.of("what did we decide about billing last Friday?", now=NOW)
    assert ["billing"] == [term.text for term in found.query.terms]
    (friday,) = found.stretches
    assert (True, False) == (friday.has("2026-11-13T12:00:00.000Z"), friday.has("2026-11-14T12:00:00.000Z"))
    (last,) = TurnQuestion.of("when was the last time we painted the fence", now=NOW).stretches
    assert not last.has("2026-11-17T12:00:00.000Z")


@pytest.mark.parametrize("zone", ["Europe/Berlin", "America/Los_Angeles", "Pacific/Auckland", "UTC"])
def test_a_day_is_the_day_of_whoever_asks(zone: str) -> None:
    """Midnight is theirs, and a day on which clocks change has its own length."""
    now = datetime(2026, 3, 30, 1, 15, tzinfo=ZoneInfo(zone))
    (day,) = TurnQuestion.of("what did we do yesterday", now=now).stretches
    midnight = datetime(2026, 3, 29, tzinfo=ZoneInfo(zone))
    assert timestamps.stamp(midnight) == day.start
    assert timestamps.stamp(midnight + timedelta(days=1)) == day.end


@pytest.mark.parametrize(
    "question",
    [
        "what do you know about me?",
        "What do you remember about me",
        "Who am I?",
        "what are my preferences?",
        "What's my name?",
        "what have you learned about me so far?",
        "Was weißt du über mich?",
        "¿Qué sabes de mí?",
    ],
)
def test_a_question_about_the_user(question: str) -> None:
    """It is asked in these words."""
    assert TurnQuestion.of(question, now=NOW).about_user


@pytest.mark.parametrize(
    "text",
    [
        "what are my preferences for editors?",
        "change my name in the file",
        "tell me about penguins",
        "who is Bob?",
    ],
)
def test_a_question_about_something_else(text: str) -> None:
    """It has a subject, or is an order."""
    assert not TurnQuestion.of(text, now=NOW).about_user
