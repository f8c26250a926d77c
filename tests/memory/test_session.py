"""The driver of a session: turns that are cut short, decisions that wait for their turn, sessions of dead processes."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import textwrap

import pytest
from gitmem.memory.capture.recovery import pending_count
from gitmem.memory.capture.session_page import SessionInfo
from gitmem.memory.memory import Memory
from gitmem.memory.session import Session

CUT_SHORT = "The process ended in the middle of this turn."


def killed(root: str, body: str) -> None:
    """Run a program on a memory that ends by SIGKILL."""
    program = (
        "import os, signal, gitmem\nmemory = gitmem.open({!r})\n{}\nos.kill(os.getpid(), signal.SIGKILL)"
    )
    words = [sys.executable, "-c", program.format(root, textwrap.dedent(body))]
    done = subprocess.run(words, env={**os.environ, "GITMEM_MACHINE": "laptop"}, check=False)
    assert -signal.SIGKILL == done.returncode


def turns(memory: Memory, session: str = "s1") -> list[dict[str, str]]:
    return [dict(event.fields) for event in memory.sessions.events(session) if event.kind == "turn"]


def test_a_turn_that_a_kill_cut_short_is_on_record(bundle: Memory) -> None:
    """For plain Python as for any host: the user's words stay, and the session is closed."""
    killed(
        bundle.root,
        """
        session = memory.session("s1").start()
        session.said("first")
        session.answered("one")
        session.said("second")
        """,
    )
    notices = bundle.recover_journals()
    assert ["turn-cut-short", "events-recovered"] == [notice.kind for notice in notices]
    assert [{"user": "first", "assistant": "one"}, {"user": "second", "note": CUT_SHORT}] == turns(bundle)
    assert "closed" == bundle.sessions.get("s1").status
    assert [] == bundle.recover_journals()


def test_a_killed_session_that_recorded_nothing_more_is_closed(bundle: Memory) -> None:
    """Its events were committed long before: only that it ended was not."""
    killed(
        bundle.root,
        """
        session = memory.session("s1").start()
        session.record_observation("The CI runs on Debian")
        session.flush()
        """,
    )
    assert "open" == bundle.sessions.get("s1").status
    bundle.recover_journals()
    state = bundle.sessions.get("s1")
    assert ("closed", {"observation": 1}) == (state.status, state.concept.meta["counts"])


def test_a_session_that_goes_on_elsewhere_stays_open(bundle: Memory) -> None:
    """One process died, another one has resumed its session."""
    killed(bundle.root, 'memory.session("s1").start().record_observation("before")')
    with bundle.session("s1") as session:
        bundle.recover_journals()
        assert "open" == bundle.sessions.get("s1").status
        session.record_observation("after")
    assert {"before", "after"} == {one.fields["content"] for one in bundle.sessions.events("s1")}


def test_a_turn_that_was_reported_late_is_recorded_once(bundle: Memory) -> None:
    """Its process had given the journal back, and another one took the turn."""
    session = bundle.session("s1").start()
    session.said("hello")
    session.abandon()
    bundle.record_turn("hello", "hi", session="s1")
    bundle.recover_journals()
    assert [{"user": "hello", "assistant": "hi"}] == turns(bundle)


def test_no_word_of_a_turn_is_kept_where_the_settings_keep_none(bundle: Memory, make_bundle: object) -> None:
    """`transcripts: off` holds for a turn that was cut short."""
    memory = make_bundle("quiet", transcripts="off")  # type: ignore[operator]
    session = memory.session("s1").start()
    session.said("my passphrase is on the fridge")
    session.abandon()
    memory.recover_journals()
    assert [] == turns(memory)


def test_an_ended_session_leaves_no_journal(bundle: Memory) -> None:
    """What a later process must know of a session ends with it."""
    with bundle.session("s1") as session:
        session.said("hello")
        assert 0 == pending_count(bundle.journal_dir)  # a note is no event
        session.answered("hi")
        assert 1 == pending_count(bundle.journal_dir)
    assert [] == os.listdir(bundle.journal_dir)


@pytest.mark.parametrize("ended", [True, False])
def test_a_decision_waits_for_the_end_of_its_turn(bundle: Memory, ended: bool) -> None:
    """What it repeats of a page is known then; a process that dies first loses none."""
    session = Session(bundle, SessionInfo("s1", agent="codex"))
    session.said("What is new there?")
    session.record_decision("Take the tram")
    session.record_observation("It rains")
    assert ["observation"] == [event.kind for event in session.flush("turn")]
    assert 1 == len(session.buffer)
    if ended:
        session.answered("Nothing")
        assert ["decision", "turn"] == [event.kind for event in session.flush("turn")]
        session.end()
    else:
        session.abandon()
        bundle.recover_journals()
    kinds = [event.kind for event in bundle.sessions.events("s1")]
    assert ["decision", "observation", "turn"] == sorted(kinds)


def test_a_closed_session_that_goes_on_is_open_again(bundle: Memory) -> None:
    """Its page says so with the first commit, and its end counts everything."""
    for number in range(2):
        session = Session(bundle, SessionInfo("s1", agent="codex"))
        session.happened("observation", content=f"number {number}")
        session.flush("turn")
        assert "open" == bundle.sessions.get("s1").status
        session.end()
    state = bundle.sessions.get("s1")
    assert ("closed", {"observation": 2}) == (state.status, state.concept.meta["counts"])


@pytest.mark.parametrize("why", ["", "It is cheaper."])
def test_a_decision_in_the_turn_of_a_page_is_marked(bundle: Memory, why: str) -> None:
    """It may be the page's, in another language; decisions are worded as orders, so it does not wait for that."""
    with bundle.session("s1") as session:
        session.said("What is new there?")
        session.returned("web_extract", {"urls": ["https://evil.example"]}, "Nichts als Regen.")
        session.record_decision("Use the ferry for deliveries.", why)
        session.answered("Rain.")
    assert [] == bundle.ledger.held()
    [path] = [path for path, _ in bundle.tree().files("decisions") if "ferry" in path]
    assert "unconfirmed: web" in (bundle.read(path) or b"").decode()
