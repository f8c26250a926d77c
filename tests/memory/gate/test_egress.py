"""The way out of a memory: what this machine's own notes hide has no words there, with an index and without one."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import gitmem
import pytest
from gitmem.memory.curated.prompt_block import for_agents
from gitmem.memory.gate.egress import GONE, Egress
from gitmem.memory.history.log import History
from gitmem.memory.memory import Memory
from gitmem.okf import layout
from gitmem.okf.curated import CuratedFile
from gitmem.okf.entries import section_key

TEXT = "The lab is opened by Ada at nine."


def told(bundle: Memory) -> list[object]:
    """What a history without an index says of the newest commit's entries."""
    egress = Egress(bundle)
    changes = bundle.part(History).show(bundle.tip).diff
    return [egress.change(change)["new"] for change in changes if change.key == section_key(TEXT)]


@pytest.mark.parametrize("machine", [False, True])
def test_what_holds_here_has_words(bundle: Memory, machine: bool) -> None:
    """An entry of this memory, or of this machine, is said as it is."""
    bundle.config = replace(bundle.config, machine="here")
    bundle.curated.add(TEXT, machine=machine)
    assert [TEXT] == told(bundle)


@pytest.mark.parametrize("retracted", [False, True], ids=["waits", "released by others"])
def test_what_waits_here_has_no_words(bundle: Memory, retracted: bool) -> None:
    """What a shared remote brought and no person has accepted, and what others would bring back, is not believed."""
    bundle.curated.add(TEXT)
    assert Egress(bundle).may_be_believed(TEXT)
    entry = next(iter(bundle.curated.entries("memory")))
    if retracted:
        bundle.ledger.keep_retracted("origin", [entry.key.id])
    else:
        bundle.ledger.note_arrivals("origin", [entry], waits=lambda _: True)
    assert [GONE] == told(bundle)
    assert not Egress(bundle).may_be_believed(TEXT)


def test_what_is_true_on_another_machine_has_no_words(bundle: Memory) -> None:
    """A history says no word of it, though it is in the tree."""
    path = layout.machine_memory("tower")
    file = CuratedFile.parse_leniently(None, path).add(TEXT, "2026-06-30T14:00:00.000Z")
    where = Path(bundle.root, path)
    where.parent.mkdir(parents=True)
    where.write_bytes(file.render())
    bundle.take_in_edits(strict=True)
    assert [GONE] == told(bundle)


def test_no_exit_shows_the_losing_side_of_a_contest(bundle: Memory) -> None:
    """Prompt, fetch and the files of hosts have the newer of two wordings that replace one."""
    bundle.remember("colour is red")
    old = bundle.curated.entries("memory")[0].key.id
    file = CuratedFile.parse(bundle.read(layout.MEMORY) or b"").replace(old, "colour is blue", bundle.now())
    file = file.add("colour is green", bundle.now(), replaces=old)
    Path(bundle.root, layout.MEMORY).write_bytes(file.render())
    bundle.take_in_edits(strict=True)
    with gitmem.MemoryManager(bundle) as manager, manager.session("later") as agent:
        prompt = agent.turn("Hello")
        exits = [prompt.system, agent.tool_call("fetch", {"id": "MEMORY"})]
    exits += [str(for_agents(bundle, "memory"))]
    assert [(True, False)] * 3 == [("green" in one, "blue" in one) for one in exits]
