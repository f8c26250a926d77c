"""Evictions: what an agent removes for want of room is archived and found; what the user wants gone is gone."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from gitmem.memory.curated.store import Operation
from gitmem.memory.memory import Memory
from gitmem.okf import layout

OLD = "The heron nests behind the old mill."
SAID = "we saw the heron nest behind the mill"


@pytest.fixture
def full(make_bundle: Callable[..., Memory]) -> Memory:
    """A bounded store that is nearly full, with an entry that a turn wrote."""
    memory = make_bundle(when_full="refuse", memory_char_limit=100)
    with memory.session("talk") as session:
        session.said(SAID)
        session.remember(OLD)
        session.answered("A fine bird.")
    memory.remember("Tea is in the kitchen, beside the coffee, on the shelf.")
    return memory


def make_room(memory: Memory, said: str) -> None:
    with memory.session("later") as session:
        session.said(said)
        operations = [Operation("remove", old_text=OLD), Operation("add", "The boat is called Otter.")]
        memory.curated.batch(operations, origin=session.origin())
        session.answered("Done.")


def found(memory: Memory) -> str:
    return " ".join(hit.text for hit in memory.search("heron mill"))


def test_what_makes_room_is_archived_and_found(full: Memory) -> None:
    """With the turn that wrote it; the prompt has it no more."""
    make_room(full, "our boat is called Otter")
    assert OLD in (full.read(layout.archive("memory")) or b"").decode()
    assert OLD not in full.prompt_block()
    assert OLD in found(full)
    assert SAID in found(full)


@pytest.mark.parametrize(
    "said",
    [
        "forget the bird",
        "vergiss den Vogel",
        "olvídalo",
        "あの鳥は忘れてください",
        "the heron nests elsewhere",
    ],
)
def test_what_the_user_spoke_of_is_removed(full: Memory, said: str) -> None:
    """A full store is no excuse to keep what the user wants gone."""
    make_room(full, said)
    assert full.read(layout.archive("memory")) is None
    assert OLD not in found(full)
    assert SAID not in found(full)


def test_a_person_who_removes_evicts_nothing(full: Memory) -> None:
    full.forget(OLD)
    assert full.read(layout.archive("memory")) is None
    assert SAID not in found(full)


def test_a_store_with_room_evicts_nothing(make_bundle: Callable[..., Memory]) -> None:
    """An agent that tidies a store with room wants the entry gone."""
    memory = make_bundle(when_full="refuse")
    memory.remember(OLD)
    make_room(memory, "our boat is called Otter")
    assert memory.read(layout.archive("memory")) is None
