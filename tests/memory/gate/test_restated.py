"""An answer in which an agent repeated a fact in its own words goes with the fact; its honest neighbours stay."""

from __future__ import annotations

from pathlib import Path

import gitmem
import pytest
from gitmem.hosts.loop.manager import MemoryManager
from gitmem.memory.memory import Memory

# What the user says, the entry, the answer in a later session, the question, and the words that must be gone.
RESTATED = {
    "time in words": (
        "We moved standup to half past nine.",
        "Standup is at 9:30.",
        "Half past nine it is.",
        "when is standup?",
        "alf past nine",
    ),
    "a plain word": (
        "I drink my coffee black these days.",
        "User drinks coffee black.",
        "Black, as always.",
        "how do I take my coffee?",
        "Black",
    ),
    "name at the beginning": (
        "The deploy key lives with Oren in ops.",
        "Oren (ops) has the deploy key.",
        "Right, ask Oren.",
        "who has the deploy key?",
        "Oren",
    ),
    "a day": (
        "my sister's birthday is the third of march",
        "User's sister has her birthday on 3 March.",
        "It is on 3 March.",
        "when is my sister's birthday?",
        "3 March",
    ),
    "a day in another language": (
        "boiler inspection third of march",
        "The boiler inspection is on 3 March.",
        "L'inspection de la chaudière est le 3 mars.",
        "c'est quand, l'inspection de la chaudière ?",
        "3 mars",
    ),
    "a question beside the point": (
        "Stop bidding at 9,600.",
        "The auction limit is 9,600.",
        "The limit for the auction is ninety-six hundred.",
        "how far do we go at the auction?",
        "ninety-six",
    ),
    "russian": (
        "Запомни: пароль от вайфая у бабушки малина.",
        "Grandma's wifi password is malina.",
        "Это малина.",
        "what is grandma's wifi password?",
        "малина",
    ),
    "portuguese": (
        "Anota aí: o portão abre às sete e meia.",
        "The gate opens at 7:30.",
        "Abre às sete e meia.",
        "when does the gate open?",
        "sete e meia",
    ),
    "japanese": (
        "うちの猫の名前はタマキチです、覚えて。",
        "The user's cat is called Tamakichi.",
        "タマキチちゃんですね。",
        "what is the name of my cat?",
        "タマキチ",
    ),
    "chinese": (
        "我们的服务器端口改成了九千零一",
        "The server port is 9001.",
        "端口是九千零一。",
        "which port does the server use?",
        "九千零一",
    ),
    "greek, asked for in the user's words": (
        "το λάδι το παίρνουμε από τον Μιτσάκη",
        "The olive oil supplier is Stavros Mitsakis.",
        "Από τον Σταύρο Μιτσάκη.",
        "από πού το λάδι;",
        "Μιτσάκη",
    ),
    "korean, asked for in the user's words": (
        "차 여분 키는 민지한테 있어",
        "The spare car key is with Minji.",
        "민지 씨가 가지고 있어요.",
        "차 키 누구한테 있지?",
        "민지",
    ),
    "turkish, an amount": (
        "teklifimiz bir milyon iki yüz bin lira",
        "The tender bid is 1.2 million lira.",
        "Teklif 1,2 milyon liraydı.",
        "İhale teklifi ne kadardı?",
        "1,2 milyon",
    ),
    "a sum with its sign": (
        "I get thirty-one an hour at the warehouse",
        "The user earns 31 dollars an hour.",
        "At $31 an hour, 620 dollars.",
        "What would 20 hours bring me?",
        "$31",
    ),
    "a name behind a title": (
        "my Thursday afternoons are for Dr. Osei, therapy",
        "The user is in therapy with Dr. Osei.",
        "Thursday afternoon: therapy with Dr. Osei.",
        "Plan my week",
        "therapy",
    ),
}
FOLLOWED = {
    "dutch": (
        "Fenna zit sinds vorige week in de kliniek",
        "The user's sister Fenna is in rehab.",
        "hoe lang duurt dat nog?",
        "Ongeveer zes weken in de kliniek, zei je.",
        "kliniek",
    ),
    "arabic": (
        "أبي مريض بالسرطان",
        "The user's father has cancer.",
        "ماذا أقول لأمي؟",
        "قل لها إن علاج السرطان تقدم كثيرا.",
        "السرطان",
    ),
    "hindi": (
        "हमने पंद्रह लाख का लोन लिया",
        "The loan is 15 lakh rupees.",
        "किस्त कितनी होगी?",
        "पंद्रह लाख पर लगभग बीस हज़ार महीना।",
        "पंद्रह लाख",
    ),
}


@pytest.fixture
def memory(tmp_path: Path) -> Memory:
    return gitmem.open(tmp_path / "mem", create=True)


@pytest.mark.parametrize("story", RESTATED)
def test_an_answer_in_other_words_goes_with_the_entry(memory: Memory, story: str) -> None:
    """In a later session the agent was asked, and said it again: in words, in another language, without a key."""
    said, entry, answer, question, gone = RESTATED[story]
    with memory.session("first") as session:
        session.said(said)
        session.remember(entry)
        session.answered("I will.")
    with memory.session("later") as session:
        session.said(question)
        session.answered(f"{answer} The kettle is on.")
    assert gone in read_by_agent(memory, "later")
    memory.forget(entry)
    left = read_by_agent(memory, "later")
    assert gone not in left
    assert ("[…]" in left, "The kettle is on." in left) == (True, True)


@pytest.mark.parametrize("story", FOLLOWED)
def test_an_answer_that_goes_on_from_it_goes_too(memory: Memory, story: str) -> None:
    """The next turn of the same session speaks of the fact in the user's words; what else it says stays."""
    said, entry, question, answer, gone = FOLLOWED[story]
    with memory.session("later") as session:
        session.said(said)
        session.remember(entry)
        session.answered("I will.")
        session.said(question)
        session.answered(f"{answer}\nThe kettle is on.")
        session.said("What else is on?")
        session.answered("The lamp in the hall is on.")
    memory.forget(entry)
    left = read_by_agent(memory, "later")
    assert gone not in left
    assert ("[…]" in left, "The kettle is on." in left, "The lamp in the hall is on." in left) == (True,) * 3


HONEST = {
    "the same number of something else": ("Which track is for the depot?", "Platform 6, behind the mill."),
    "another thing of the same value": ("When does the bakery open?", "It opens at six."),
    "another question about the same thing": ("Who leads the depot?", "Mara leads it since May."),
    "another number of the same thing": (
        "How do visitors from abroad reach the depot?",
        "The depot opens a gate at km 66.",
    ),
    "a neighbour": ("What did we have for lunch?", "Soup, at six."),
}


@pytest.mark.parametrize("story", HONEST)
def test_an_honest_neighbour_stays(memory: Memory, story: str) -> None:
    """The depot's fact goes; what was said of other things, or of another side of it, stays whole."""
    question, answer = HONEST[story]
    memory.remember("The bakery opens at six.")
    with memory.session("first") as session:
        session.said("The depot opens at six.")
        session.remember("The depot opens at six.")
        session.answered("I will.")
    with memory.session("later") as session:
        session.said(question)
        session.answered(answer)
    memory.forget("The depot opens at six.")
    assert answer in read_by_agent(memory, "later")


def test_a_corrected_answer_has_the_new_wording_beside_it(memory: Memory) -> None:
    """A replaced fact is shown with what holds now, when an agent asks for the session."""
    with memory.session("first") as session:
        session.said("Standup is at half past nine.")
        session.remember("Standup is at 9:30.")
        session.answered("I will.")
    with memory.session("later") as session:
        session.said("when is standup?")
        session.answered("Half past nine it is.")
    memory.replace("Standup is at 9:30.", "Standup is at ten.")
    assert "alf past nine" not in memory.context("when is standup?").lines
    for name in ("first", "later"):  # the turn that wrote the fact, and the one that repeats it
        assert "Standup is at ten." in read_by_agent(memory, name)


def read_by_agent(memory: Memory, session: str) -> str:
    """A session as the tool `recall` shows it to a model."""
    with MemoryManager(memory) as manager, manager.session("reads") as reader:
        reader.turn("Hello")
        return reader.tool_call("recall", {"session": session})


def test_what_else_a_turn_says_is_recalled_after_its_fact_was_reworded(memory: Memory) -> None:
    """One sentence of two things: the one was reworded, the other is as it was."""
    with memory.session("first") as session:
        session.said("We deploy on Thursdays, and billing uses Postgres.")
        session.remember("Deploys run on Thursdays")
        session.answered("I will.")
    memory.replace("Thursdays", "Deploys run on Fridays")
    lines = memory.context("Which database does billing use?").lines
    assert "Postgres" in lines
    assert "Thursdays" not in lines or "Deploys run on Fridays" in lines
