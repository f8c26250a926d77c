"""Several users of one agent: what one says in private is never in another's answers, whatever way it takes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from gitmem.hosts.tools.calls import run
from gitmem.index.readers import Reader
from gitmem.memory.curated.prompt_block import about_user, freeze
from gitmem.memory.find.context import context
from gitmem.memory.memory import Memory
from gitmem.memory.session import Session
from gitmem.okf import layout

ALICE = Reader("telegram", "alice", "1", "dm")
BOB = Reader("telegram", "bob", "2", "dm")
GROUP = Reader("telegram", "alice", "7", "group")
ADDRESS = "Lives in Rosengasse 4711."
SHARED = "The office opens at nine."


def talk(bundle: Memory, reader: Reader, name: str, *said: str) -> None:
    """A private chat with a flush at its end."""
    with Session(bundle, name, reader=reader) as session:
        messages: list[dict[str, str]] = []
        for one in said:
            session.said(one)
            messages += [{"role": "user", "content": one}, {"role": "assistant", "content": "I see."}]
            session.answered("I see.", user=one, messages=messages)
        session.end(messages)


@pytest.fixture
def shared(make_bundle: Callable[..., Memory]) -> Memory:
    """A memory in which Alice has a page, a decision, a note and a chat of her own."""
    bundle = make_bundle(flush_min_turns=1)
    bundle.remember(SHARED)
    with Session(bundle, "a1", reader=ALICE) as session:
        session.said(f"I live in Rosengasse 4711. {ADDRESS}")
        session.remember(ADDRESS, target="user")
        session.record_decision("Move to Rosengasse 4711", "It is closer to work.")
        session.record_turn("My landlord in Rosengasse 4711 is Zoltan.", "Noted.")
    return bundle


def tools(bundle: Memory, reader: Reader) -> str:
    """All that the tools that look answer about it."""
    found = []
    with Session(bundle, reader=reader) as session:
        for name, given in (
            ("search", {"query": "Rosengasse 4711 Zoltan"}),
            ("recall", {"query": "Rosengasse 4711 Zoltan"}),
            ("recall", {}),
            ("fetch", {"id": "USER"}),
            ("fetch", {"id": layout.user_memory(ALICE.page)}),
            ("history", {}),
            ("history", {"id": layout.user_memory(ALICE.page)}),
            ("diff", {"a": list(bundle.log())[-1].id}),
            *(("fetch", {"id": path}) for path, _ in bundle.tree().files("decisions")),
        ):
            answer = call(bundle, session, name, given)
            found.append(answer.replace(given.get("id", "\n"), ""))  # what was asked for is no answer
    return "\n".join(found)


def call(bundle: Memory, session: Session, name: str, given: dict[str, Any]) -> str:
    return run(name, given, bundle, session).text


def everything(bundle: Memory, reader: Reader) -> dict[str, str]:
    """What reaches a user of the memory by every way."""
    with Session(bundle, reader=reader) as session:
        prompt = session.prompt_block()
    questions = ("Where is Rosengasse 4711?", "what do you know about me?", "what did we do last time?")
    return {
        "prompt": prompt,
        "hermes": "\n".join(about_user(bundle, reader.page)),
        "unasked": "\n".join(context(bundle, one, reader=reader).lines for one in questions),
        "tools": tools(bundle, reader),
    }


@pytest.mark.parametrize("reader", [BOB, GROUP], ids=["another user", "a group"])
def test_nothing_private_reaches_another_user(shared: Memory, reader: Reader) -> None:
    """Neither the page nor the chat nor what was decided in it."""
    found = everything(shared, reader)
    assert dict.fromkeys(found, False) == {way: "4711" in text for way, text in found.items()}
    assert SHARED in found["prompt"]


def test_a_user_has_what_is_his_own(shared: Memory) -> None:
    """By every way."""
    found = everything(shared, ALICE)
    assert dict.fromkeys(found, True) == {way: "4711" in text for way, text in found.items()}
    assert "4711" not in freeze(shared).text


def test_a_page_that_all_share_has_nothing_private(shared: Memory) -> None:
    """Nor the subjects of commits, which agents of every user see quoted."""
    assert "4711" not in shared.read_log()
    subjects = [entry.commit.subject for entry in shared.log() if entry.kind == "memory"]
    assert ["memory: change the page of a user", f"memory: add {SHARED}"] == subjects


def test_a_private_chat_is_distilled_into_the_users_own_page(make_bundle: Callable[..., Memory]) -> None:
    """What one says about oneself, and what one asks to keep, stays in one's own prompt."""
    bundle = make_bundle(flush_min_turns=1)
    talk(bundle, ALICE, "a1", "I prefer tea to coffee.", "Remember that the cellar key is under pot 4711.")
    talk(bundle, BOB, "b1", "I prefer answers in Dutch.")
    pages = {who: "\n".join(about_user(bundle, who.page)) for who in (ALICE, BOB, GROUP)}
    assert ("tea" in pages[ALICE], "4711" in pages[ALICE]) == (True, True)
    assert "Dutch" in pages[BOB]
    assert ("tea" in pages[BOB], "Dutch" in pages[ALICE], pages[GROUP]) == (False, False, "")
    assert ([], []) == (bundle.curated.entries("memory"), bundle.curated.entries("user"))


def test_a_shared_memory_has_one_profile(make_bundle: Callable[..., Memory]) -> None:
    """The setting is for a team that wants one memory."""
    bundle = make_bundle(users="shared")
    with Session(bundle, "a1", reader=ALICE) as session:
        session.remember(ADDRESS, target="user")
    assert [ADDRESS] == [entry.text for entry in bundle.curated.entries("user")]


def test_a_user_revises_what_is_his_own(shared: Memory) -> None:
    """By the id that the tools give; another user cannot."""
    entry = shared.curated.entries("user", user=ALICE.page)[0]
    for reader, works in ((BOB, False), (ALICE, True)):
        with Session(shared, reader=reader) as session:
            session.said("I moved to Lindenallee 12.")
            said = call(
                shared,
                session,
                "revise",
                {"id": entry.key.id[:8], "text": "Lives in Lindenallee 12.", "why": "moved"},
            )
        assert works is ("Kept." in said)
    assert ["Lives in Lindenallee 12."] == [
        one.text for one in shared.curated.entries("user", user=ALICE.page)
    ]
