"""Stories of a take-back: an agent rewords what it hears, so what it said is known by link and by key, not by its words."""

from __future__ import annotations

from datetime import timedelta
from typing import NamedTuple

import pytest
from gitmem.memory.gate.egress import Egress
from gitmem.memory.history.log import History
from gitmem.memory.memory import Memory

from tests.memory.conftest import Clock


class Told(NamedTuple):
    """A turn that led to an entry, and what must not come back of it."""

    user: str
    assistant: str
    entry: str
    secret: str


IN_ITS_TURN = [
    Told("Merk dir bitte: der Türcode ist 7390#", "Notiert.", "Office door code is 7390#.", "7390"),
    Told(
        "We meet at half past nine from now on",
        "I will keep that in mind.",
        "Stand-up is at 9:30.",
        "half past nine",
    ),
    Told(
        "It listens on 5432",
        "Good to know, five-four-three-two.",
        "The database port is 5432.",
        "four-three-two",
    ),
    Told(
        "Ma sœur s'appelle Mirela", "Quel joli nom, Mirela !", "The user's sister is called Mirela.", "Mirela"
    ),
    Told("私の猫の名前はたまです", "かわいい名前ですね。", "The user has a cat called Tama.", "たま"),
    Told("Я больше не ем мясо", "Понятно, без мяса.", "The user is a vegetarian.", "мяс"),
    Told("No bebo café por la tarde", "De acuerdo, nada de café.", "User avoids coffee after lunch.", "café"),
    Told(
        "she moved to the blue house by the mill",
        "The one by the mill, noted.",
        "Ada's address changed.",
        "by the mill",
    ),
    Told("我们的预算是一万二千欧元", "好的，一万二千欧元。", "The budget is 12,000 euros.", "一万二千"),
    Told("O código do portão é nove-nove-um", "Anotado.", "Gate code: 991", "nove-nove"),
    Told(
        "mein Gehalt ist jetzt dreitausend", "Glückwunsch zu dreitausend!", "Salary is 3000.", "dreitausend"
    ),
    Told(
        "The thing we use for mail is the old one in the cellar",
        "The cellar one.",
        "Mail server: srv-cellar-2",
        "cellar",
    ),
]


@pytest.mark.parametrize("told", IN_ITS_TURN, ids=lambda told: told.entry)
def test_the_turn_that_wrote_an_entry_goes_with_it(bundle: Memory, told: Told) -> None:
    """Whole, in whatever words and language it was; the turns beside it stay."""
    with bundle.session("talk") as session:
        session.record_turn("Tell me about the tulips of the festival", "They are yellow this year.")
        session.remember(told.entry)
        session.record_turn(told.user, told.assistant)
        session.record_turn("And the roses of the festival?", "Red ones.")
    bundle.forget(told.entry)
    shown = everything(bundle, told.user, told.assistant, told.entry, "festival")
    assert told.secret not in shown
    assert "yellow this year" in shown
    assert "Red ones" in shown


CONFIRMED = [
    ("das Tor geht mit einunddreißig null sechs auf", "Soll ich das merken?", "ja bitte, gern sogar", "einunddreißig"),
    ("tengo ataques desde niño", "Lo siento.", "guárdalo, por favor", "ataques"),
    ("妊娠三か月です", "メモしておきましょうか？", "はい、お願いします", "妊娠"),
    ("нашу собаку усыпили", "Мне очень жаль.", "запомни это", "усыпили"),
    ("köpeğimiz öldü", "Başın sağ olsun.", "evet, kaydet", "öldü"),
]  # fmt: skip


@pytest.mark.parametrize(("user", "assistant", "confirms", "secret"), CONFIRMED)
def test_what_the_user_only_confirms_was_said_in_the_turn_before(
    bundle: Memory, user: str, assistant: str, confirms: str, secret: str
) -> None:
    """The agent writes in the turn of the "yes", and the words are in the one before."""
    with bundle.session("talk", title=user) as session:
        session.record_turn("Tell me about the tulips of the festival", "They are yellow this year.")
        session.record_turn(user, assistant)
        session.remember("A private thing of the user.")
        session.record_turn(confirms, "Done.")
    assert secret in everything(bundle, user)
    bundle.forget("A private thing of the user.")
    shown = everything(bundle, user, assistant, confirms, "festival") + str(bundle.recent_sessions())
    assert secret not in shown
    assert "yellow this year" in shown


ELSEWHERE = [
    Told("The code of the door is 7390#, says Bob", "Fine. The lamp is new.", "Office door code is 7390#.", "7390"),
    Told("Überweise auf DE89370400440532013000 bitte", "Fine. The lamp is new.",
         "Invoices go to DE89 3704 0044 0532 0130 00.", "DE8937"),
    Told("Is it 12.000?", "Yes, 12k it is. The lamp is new.", "The budget is 12,000 euros.", "12k"),
    Told("ping DB-7.lan", "It answers. The lamp is new.", "The database is on db-7.lan.", "DB-7"),
    Told("write to ada@example.org", "Done. The lamp is new.", "Ada's mail is ada@example.org", "ada@example"),
    Told("the deploy key is in vault-77/prod", "Fine. The lamp is new.", "Deploy key: vault-77/prod", "vault-77"),
]  # fmt: skip


@pytest.mark.parametrize("told", ELSEWHERE, ids=lambda told: told.entry)
def test_a_key_that_an_entry_brought_is_left_out_elsewhere(bundle: Memory, told: Told) -> None:
    """In another session, where no link leads; the rest of what was said stays, with a gap."""
    bundle.remember(told.entry)
    with bundle.session("talk") as session:
        session.record_turn(told.user, told.assistant)
    bundle.forget(told.entry)
    shown = everything(bundle, told.user, told.assistant, told.entry, "lamp")
    assert told.secret not in shown
    assert "The lamp is new" in shown


HONEST_AFTER = [
    ("Drinks coffee in the morning.", "I don't drink coffee anymore in the morning"),
    ("The database port is 5432.", "The database is back on port 5432"),
    ("Office door code is 7390#.", "The door code 7390# is no longer valid, forget about it"),
    ("My sister is called Mirela", "Mirela wrote me a letter about the wedding"),
]


@pytest.mark.parametrize(("entry", "said"), HONEST_AFTER)
def test_what_is_said_after_the_removal_is_never_withheld(bundle: Memory, entry: str, said: str) -> None:
    """Whoever says it then knows that the entry is gone."""
    bundle.remember(entry)
    bundle.forget(entry)
    with bundle.session("talk") as session:
        session.record_turn(said, "All right.")
    assert said in everything(bundle, said, entry)


def test_after_is_the_order_of_commits_and_no_clock(bundle: Memory, clock: Clock) -> None:
    """The clock is set back an hour between the removal and what is said next."""
    bundle.remember("Office door code is 7390#.")
    bundle.forget("Office door code is 7390#.")
    clock.now -= timedelta(hours=1)
    with bundle.session("talk") as session:
        session.record_turn("The door code 7390# is on a sticker", "All right.")
    assert "7390# is on a sticker" in everything(bundle, "door code sticker")


HONEST_BEFORE = [
    ("Office door code is 7390#.", "The door of the office squeaks, and so does the code review"),
    ("The database port is 5432.", "The port of Hamburg is a database of ships"),
    ("Weekly report is due at 17:45.", "The weekly report was long, it is due to the numbers"),
    ("My sister is called Mirela", "My sister is coming on Sunday, I called her"),
    ("The budget is 12,000 euros.", "The budget meeting is in the blue room"),
    ("Deploys run on stage1.", "Deploys are fun on a rainy day"),
]


@pytest.mark.parametrize(("entry", "said"), HONEST_BEFORE)
def test_common_words_are_not_enough(bundle: Memory, entry: str, said: str) -> None:
    """A text that shares nothing with the entry that nobody hits upon by chance is another text."""
    bundle.remember(entry)
    with bundle.session("talk") as session:
        session.record_turn(said, "All right.")
    bundle.forget(entry)
    assert said in everything(bundle, said, entry)


def test_a_turn_whose_entry_was_replaced_stays_but_for_the_old_value(bundle: Memory) -> None:
    """A correction is no take-back: what else was said in that turn is still asked for, with the new wording."""
    with bundle.session("talk") as session:
        session.remember("The database port is 5432.")
        session.record_turn("It listens on 5432. The host is called heron.", "I keep that.")
    bundle.replace("The database port is 5432.", "The database port is 6543.")
    [hit] = bundle.search("heron", type="turn")
    assert "5432" not in hit.text
    assert "The host is called heron" in hit.text
    assert "The database port is 6543." == hit.since


def test_a_corrected_word_is_shown_with_the_new_wording_wherever_it_was_said(bundle: Memory) -> None:
    """It may be a word like any other: nothing is left out for it, also in what is injected unasked."""
    with bundle.session("talk") as session:
        session.record_turn(
            "Tea for me please, in the blue kitchen mug", "You always take tea in the kitchen."
        )
    bundle.remember("The user drinks tea.")
    bundle.replace("The user drinks tea.", "The user drinks coffee.")
    [hit] = bundle.search("blue kitchen mug", type="turn")
    assert "Tea for me please" in hit.text
    assert hit.since == "The user drinks coffee."
    lines = bundle.context("What was it with my blue kitchen mug?").lines
    assert "(since then: replaced by The user drinks coffee.)" in lines


def test_a_title_and_a_diff_made_of_that_turn_go_too(bundle: Memory) -> None:
    """A session may be named after what was said first in it, and the history has the words once more."""
    with bundle.session("talk", title="Я больше не ем мясо") as session:
        session.remember("The user is a vegetarian.")
        session.record_turn("Я больше не ем мясо", "Понятно, без мяса.")
    assert "мяс" in str(bundle.recent_sessions())
    bundle.forget("The user is a vegetarian.")
    assert "мяс" not in str(bundle.recent_sessions())
    egress, history = Egress(bundle, bundle.index.current()), bundle.part(History)
    told = [
        egress.change(change)
        for entry in bundle.log(session="talk")
        for change in history.of_commit(entry.commit)
        if change.key.space == "event"
    ]
    assert told
    assert "мяс" not in str(told)


def everything(memory: Memory, *queries: str) -> str:
    """What a search, a recall and the unasked context give an agent for some questions."""
    shown = []
    for query in queries:
        shown += [hit.text for hit in memory.search(query)]
        shown += [memory.context(query).lines]
        for one in memory.recall(query):
            shown += [one.recap, *(line.text for window in one.windows for line in window)]
            shown += [line.text for line in (*one.began, *one.ended)]
    return "\n".join(shown)
