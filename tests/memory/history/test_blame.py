"""Blame: what is said of an entry also after it came is part of its story."""

from __future__ import annotations

from dataclasses import replace

from gitmem.git.message import Message
from gitmem.memory.edits import Edits
from gitmem.memory.history.blame import blame_of
from gitmem.memory.memory import Memory
from gitmem.okf import layout
from gitmem.okf.curated import CuratedFile


def test_a_text_that_a_person_vouched_for_later(bundle: Memory) -> None:
    """An entry that was committed first and verified afterwards is shown as verified, by the later commit."""
    bundle.curated.add("one fact", origin=bundle.origin(session="s1"))
    bundle.curated.add("another", origin=bundle.origin(session="s2"))

    def vouch(edits: Edits) -> Message:
        file = CuratedFile.parse(edits.read(layout.MEMORY) or b"")
        looked = replace(file.entries[0], extra={"verified": "human:ada"})
        edits.write(layout.MEMORY, file.with_entries([looked, *file.entries[1:]]).render())
        return Message("memory", "release")

    published = bundle.commit(vouch, purpose="test", origin=bundle.origin(source="released by ada"))
    assert published is not None
    first, second = blame_of(bundle, layout.MEMORY)

    assert ("human:ada", "") == (first.verified, second.verified)
    assert ("s1", published.commit.oid) == (
        first.introduced.session,
        first.vouched and first.vouched.commit.oid,
    )
