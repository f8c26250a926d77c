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


def test_who_brought_it_back_answers_for_it(bundle: Memory) -> None:
    """An entry that was removed and added again by another session is that session's; who was first is told too."""
    bundle.remember("one fact", session="s1")
    bundle.forget("one fact", session="s1")
    bundle.remember("one fact", session="s2", by_person=True)
    (found,) = blame_of(bundle, layout.MEMORY)
    assert ("s2", "s2", None) == (found.introduced.session, found.changed.session, found.left)
    assert found.first is not None
    assert found.first.session == "s1"


def test_the_present_words_come_first_and_the_earlier_ones_behind(bundle: Memory) -> None:
    """Each wording with the commit that gave it, the last one first."""
    bundle.remember("Deploys are on Mondays", session="s1")
    bundle.replace("Mondays", "Deploys are on Tuesdays", session="s2")
    bundle.replace("Tuesdays", "Deploys are on Fridays", session="s3")
    (found,) = blame_of(bundle, layout.MEMORY)
    assert ("Deploys are on Fridays", "s3", "s1") == (
        found.entry.text, found.changed.session, found.introduced.session,
    )  # fmt: skip
    assert [("Deploys are on Tuesdays", "s2"), ("Deploys are on Mondays", "s1")] == [
        (words.text, words.by.session) for words in found.earlier
    ]
    assert (2, "Deploys are on Tuesdays") == (found.times, found.replaced)
