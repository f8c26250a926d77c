"""Sessions: what is known of them, how one follows another, and how they end."""

from __future__ import annotations

import pytest
from gitmem.errors import BundleUnusable, UsageError
from gitmem.memory.capture.buffer import HotMemoryBuffer
from gitmem.memory.memory import Memory

from tests.git.support import run_git


def texts(bundle: Memory) -> list[str]:
    return [entry.text for target in ("memory", "user") for entry in bundle.curated.entries(target)]


def talk(*said: str, turns: int = 6) -> list[dict[str, str]]:
    """A conversation of so many turns of the user; what they said stands at the beginning."""
    words = [*said, *(f"Please look at file {number}" for number in range(turns - len(said)))]
    return [
        message
        for word in words
        for message in ({"role": "user", "content": word}, {"role": "assistant", "content": "Done."})
    ]


def test_what_is_told_at_the_start_of_a_known_session_is_kept(bundle: Memory) -> None:
    """Events may come before the start; model, title and platform are not lost then."""
    bundle.record_observation("early", session="s1")
    assert bundle.sessions.get("s1").get("model") == ""
    bundle.sessions.start("s1", model="m1", title="A title", platform="cli", parent="s0", source="test")
    state = bundle.sessions.get("s1")
    told = {key: state.get(key) for key in ("model", "title", "platform", "parent", "source", "status")}
    assert told == {
        "model": "m1",
        "title": "A title",
        "platform": "cli",
        "parent": "s0",
        "source": "test",
        "status": "open",
    }
    bundle.sessions.start("s1", parent="s1", model="m2")
    state = bundle.sessions.get("s1")
    assert (state.get("parent"), state.get("model"), state.get("title")) == ("s0", "m2", "A title")


def test_a_title_holds_no_secret(bundle: Memory) -> None:
    """What a session is about is redacted like everything else."""
    key = "gh" + "p_" + "a1B2c3D4e5" * 4
    bundle.sessions.start("s1", title=f"Rotate {key}")
    assert key not in str(bundle.read(bundle.sessions.get("s1").path))


def test_token_counters_are_noted(bundle: Memory) -> None:
    """What became known of a session is in its concept; the same again is no commit."""
    with bundle.session("s1") as session:
        session.record_observation("work")
        session.annotate(tokens={"input": 1200, "output": 300}, title="What it was about")
        tip = bundle.tip
        session.annotate(tokens={"input": 1200, "output": 300})
        assert bundle.tip == tip
    state = bundle.sessions.get("s1")
    assert state.concept.meta["tokens"] == {"input": 1200, "output": 300}
    assert state.concept.meta["counts"] == {"observation": 1}
    assert (state.get("title"), state.status) == ("What it was about", "closed")


def test_every_prompt_block_is_remembered(bundle: Memory) -> None:
    """Each frozen block of a session is listed once with commit and hash, over compressions and a resume."""
    bundle.curated.add("The first fact.")
    with bundle.session("s1") as session:
        first = session.prompt_block()
        bundle.curated.add("The second fact.")
        assert session.prompt_block() == first
        session.compress([])
        second = session.prompt_block()
        assert "second" in second
    with bundle.session("s1") as again:
        again.prompt_block()
    blocks = bundle.sessions.get("s1").concept.meta["prompt_blocks"]
    assert isinstance(blocks, list)
    hashes = [block["hash"] for block in blocks]
    assert len(set(hashes)) == 2
    assert all(run_git(bundle.root, "cat-file", "-t", block["commit"]) == "commit" for block in blocks)


def test_an_empty_buffer_still_names_its_session(bundle: Memory) -> None:
    """A session whose events are flushed already is ended by its buffer."""
    bundle.sessions.start("s1")
    buffer = HotMemoryBuffer(bundle, "s1")
    assert bundle.sessions.end(buffer=buffer) is not None
    assert bundle.sessions.get("s1").status == "closed"
    buffer.close()
    with pytest.raises(UsageError, match="No session is open"):
        bundle.sessions.end()


def test_the_end_of_a_session_distils_what_no_compression_has_seen(bundle: Memory) -> None:
    """Facts of the last messages are in the closing flush; earlier messages are not looked at twice."""
    with bundle.session("s1") as session:
        first = talk("I prefer tabs over spaces.")
        assert [fact.text for fact in session.compress(first).facts] == ["User prefers tabs over spaces."]
        bundle.curated.remove("tabs", target="user")
        session.record_observation("the last event")
        session.end([*first, *talk("I prefer dark mode.")])
        flush = next(entry for entry in bundle.log() if entry.kind == "flush")
        assert (flush.first("Trigger"), flush.commit.subject) == (
            "session-end",
            "flush: 1 observation, 1 fact kept",
        )
    assert texts(bundle) == ["User prefers dark mode."]
    assert bundle.sessions.get("s1").status == "closed"


def test_a_session_that_ends_with_an_error_is_ended_all_the_same(bundle: Memory) -> None:
    """Leaving by an exception flushes and closes."""

    def fail() -> None:
        with bundle.session("s1") as session:
            session.record_observation("before the error")
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        fail()
    assert bundle.sessions.get("s1").status == "closed"
    assert len(bundle.sessions.events("s1")) == 1


def test_a_session_that_can_not_be_flushed_leaves_its_journal(
    bundle: Memory, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The error of the last flush is told, and the next start has the events."""

    def refuse(*_: object, **__: object) -> None:
        raise BundleUnusable("The disk is full.")

    def work(patch: pytest.MonkeyPatch) -> None:
        with bundle.session("s1") as session:
            session.record_observation("kept")
            patch.setattr(bundle, "commit", refuse)

    with monkeypatch.context() as patch, pytest.raises(BundleUnusable, match="disk is full"):
        work(patch)
    assert bundle.recover_journals() != []
    assert [event.fields["content"] for event in bundle.sessions.events("s1")] == ["kept"]
