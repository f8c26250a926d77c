"""gitmem in the real hermes-agent 0.19.0, with a scripted model on loopback: what must be in the bundle."""

from __future__ import annotations

import json
import os
import threading

import pytest

from tests.hosts.model import Model, call, calls, say
from tests.hosts.real import Make, make, memory_store, model
from tests.hosts.talk import events

# The host's own warnings are its own affair.
pytestmark = pytest.mark.filterwarnings("ignore")

__all__ = ["make", "model"]  # fixtures

# --- sessions --------------------------------------------------------------------------------------------


def test_memory_tool_add_replace_remove_and_batch(make: Make, model: Model) -> None:
    """Every write of the real tool is a commit of its own with session, reason and tool."""
    hermes = make()
    with hermes.agent("S1") as agent:
        assert "Noted." == agent.say(
            "remember that I like oolong",
            call("memory", action="add", target="user", content="User likes oolong tea"),
            call(
                "memory",
                target="memory",
                operations=[
                    {"action": "add", "content": "Deploys run with make"},
                    {"action": "add", "content": "CI runs on Fridays"},
                ],
            ),
            say("Noted."),
        )
        agent.settle()
        agent.say(
            "green tea, and CI is gone",
            call(
                "memory", action="replace", target="user", old_text="oolong", content="User likes green tea"
            ),
            call("memory", action="remove", target="memory", old_text="Fridays"),
            say("Changed."),
        )
        assert [
            "gitmem_diff",
            "gitmem_fetch",
            "gitmem_history",
            "gitmem_recall",
            "gitmem_remember",
            "gitmem_search",
            "gitmem_snapshot",
        ] == sorted(
            tool["function"]["name"]
            for tool in model.requests[0]["tools"]
            if tool["function"]["name"].startswith("gitmem")
        )
    assert [
        "host: add User likes oolong tea",
        "host: add Deploys run with make",
        "host: add CI runs on Fridays",
        "host: replace User likes oolong tea with User likes green tea",
        "host: remove CI runs on Fridays",
    ] == hermes.subjects("host")
    commits = [entry for entry in hermes.log() if entry.kind == "host"]
    assert {("S1", "memory tool", "cli")} == {
        (entry.session, entry.first("Source"), entry.first("Platform")) for entry in commits
    }
    assert "assistant_tool" == commits[0].first("Reason")
    index = hermes.bundle().index.current()
    assert "remember that I like oolong" == index.said_in(commits[0].first("Turn"))
    assert (["Deploys run with make"], ["User likes green tea"]) == (hermes.curated(), hermes.curated("user"))
    kinds = events(hermes, "S1")
    assert 2 == sum(kind == "turn" for kind, _ in kinds)
    assert 4 == sum(kind == "tool_call" for kind, _ in kinds)
    assert "closed" == hermes.bundle().sessions.get("S1").status


def test_tools_and_recall_in_a_session(make: Make, model: Model) -> None:
    """The model's tools answer, recall is put on the user's message, and is never stored again."""
    hermes = make()
    with hermes.agent("S1") as agent:
        agent.say(
            "we take PostgreSQL for billing because of joins",
            call("gitmem_remember", kind="decision", text="Use PostgreSQL for billing", why="joins"),
            say("Kept."),
        )
    with hermes.agent("S2") as agent:
        agent.say(
            "why did we take PostgreSQL for billing?",
            calls(
                ("gitmem_search", {"query": "PostgreSQL billing"}),
                ("gitmem_history", {"limit": 2}),
            ),
            say("PostgreSQL."),
        )
        answers = [m["content"] for m in model.requests[-1]["messages"] if m["role"] == "tool"]
        assert "Use PostgreSQL for billing" in json.loads(answers[0])["result"]
        assert "+ decision: Use PostgreSQL for billing" in json.loads(answers[1])["result"]
        asked = next(m["content"] for m in model.requests[-1]["messages"] if m["role"] == "user")
        assert "<memory-context>" in asked
        assert "because of joins" in asked
    stored = events(hermes, "S2")
    assert "memory-context" not in json.dumps(stored)
    assert [{"tool_name": "gitmem_search"}, {"tool_name": "gitmem_history"}] == [
        {name: value for name, value in fields.items() if value}
        for kind, fields in stored
        if kind == "tool_call"
    ]


def test_a_compaction_in_place(make: Make, model: Model) -> None:
    """One session, no fork: what was said is committed, the facts are handed to the summariser and kept."""
    hermes = make()
    with hermes.agent("S1") as agent:
        for number in range(7):
            agent.say(
                f"I prefer tabs over spaces. Step {number} please.", say(f"Step {number} is done. " * 40)
            )
        agent.settle()
        before = len(agent.messages)
        agent.messages, _ = agent.agent._compress_context(
            agent.messages, "", approx_tokens=150_000, force=True
        )
        assert len(agent.messages) < before
        assert "S1" == agent.agent.session_id
        agent.say("go on", say("Gladly."))
        agent.settle()
        summary = next(body for body in reversed(model.requests) if not body.get("tools"))
        assert "prefers tabs" in json.dumps(summary)
    bundle = hermes.bundle()
    assert ["S1"] == [state.id for state in bundle.sessions.all()]
    assert "" == bundle.sessions.get("S1").get("parent")
    assert 8 == sum(kind == "turn" for kind, _ in events(hermes, "S1"))
    [compress] = [entry for entry in hermes.log() if entry.kind == "compress"]
    assert ("S1", "pre-compress") == (compress.session, compress.first("Trigger"))
    assert any("tabs" in entry for entry in hermes.entries("USER.md"))


def test_a_compaction_that_rotates_the_session(make: Make, model: Model) -> None:
    """The new id has the old one as its parent; what was said stays where it was said."""
    hermes = make(compression={"in_place": False})
    with hermes.agent("S1") as agent:
        for number in range(7):
            agent.say(f"Step {number} please.", say(f"Step {number} is done. " * 40))
        agent.messages, _ = agent.agent._compress_context(
            agent.messages, "", approx_tokens=150_000, force=True
        )
        new = str(agent.agent.session_id)
        assert "S1" != new
        agent.say("go on", say("Gladly."))
    assert 7 == sum(kind == "turn" for kind, _ in events(hermes, "S1"))
    assert 1 == sum(kind == "turn" for kind, _ in events(hermes, new))
    assert "S1" == hermes.bundle().sessions.get(new).get("parent")


def test_a_background_review_belongs_to_nobody(make: Make) -> None:
    """The host's own review writes USER.md and tells no provider: it is versioned all the same."""
    hermes = make(memory={"nudge_interval": 1})
    with hermes.agent("S1") as agent:
        agent.say(
            "I am Ada",
            say("Hello Ada."),
            call("memory", action="add", target="user", content="User is called Ada"),  # the review asks now
            say("Saved."),
        )
        for thread in threading.enumerate():
            if thread.name == "bg-review":
                thread.join(120)
        agent.settle()
        assert ["User is called Ada"] == hermes.entries("USER.md")
        os.utime(hermes.file("USER.md"), (1, 1))  # nobody told of it for long enough
        agent.say("go on", say("yes"))
        agent.settle()
    [entry] = [one for one in hermes.log() if one.kind == "host"]
    assert ("host: add User is called Ada", "host file", "") == (
        entry.commit.subject,
        entry.first("Source"),
        entry.session,
    )
    assert ["User is called Ada"] == hermes.curated("user")


def test_after_a_restore_the_host_sees_no_drift(make: Make) -> None:
    """Its own replace and remove work on a file that we wrote, and make no backup of it."""
    from gitmem.memory.mirror.links import after_change

    hermes = make()
    store = memory_store()
    for text in ("alpha\nwith a second line", "beta", "gamma § not a line of its own"):
        assert store.add("memory", text)["success"]
    os.utime(hermes.file(), (1, 1))
    with hermes.agent("S1") as agent:
        agent.settle()
        bundle = hermes.bundle()
        bundle.snapshots.create("good", origin=bundle.origin())
        assert memory_store().remove("memory", "beta")["success"]
        os.utime(hermes.file(), (1, 1))
        agent.settle()
        agent.provider._run.worker.submit(agent.provider._run.compare).result(30)
        bundle = hermes.bundle()
        bundle.restore("good", paths=["memories"])
        assert after_change(bundle)
    assert 3 == len(hermes.entries())
    assert memory_store().replace("memory", "beta", "beta two")["success"]
    assert memory_store().remove("memory", "alpha")["success"]
    assert [] == list(hermes.file().parent.glob("*.bak*"))


def test_a_session_without_a_bundle_goes_on(make: Make) -> None:
    """The user reads one line, and the built-in memory works."""
    import shutil

    hermes = make()
    shutil.rmtree(hermes.path / "gitmem")
    with hermes.agent("S1") as agent:
        assert "Noted." == agent.say(
            "remember tea", call("memory", action="add", target="user", content="Likes tea"), say("Noted.")
        )
        assert ["gitmem: This session runs without versioned memory"] == [
            line[:50] for line in agent.warned if "gitmem" in line
        ]
    assert ["Likes tea"] == hermes.entries("USER.md")


def test_undo_of_a_gateway_takes_turns_from_agents(make: Make) -> None:
    """The gateway lets its agent go, and no hook says a word: the next agent of the session sees it in the host's store."""
    hermes = make()
    flowers = ("aster", "begonia", "cyclamen")
    for number in range(3):
        with hermes.agent("S1", platform="telegram") as agent:
            store = agent.agent._session_db
            agent.messages = store.get_messages_as_conversation("S1")
            if not number:
                for flower in flowers:
                    agent.say(f"the {flower} grows in the greenhouse of the castle", say("Noted."))
            else:
                agent.say("the begonia is red", say("Noted."))
        if not number:
            store.rewind_to_message("S1", store.list_recent_user_messages("S1", limit=10)[1]["id"])
    shown = " ".join(hit.text for hit in hermes.bundle().search("greenhouse castle", type="turn"))
    assert ["aster"] == [flower for flower in flowers if flower in shown]
    taken_back = [fields["content"] for kind, fields in events(hermes, "S1") if kind == "observation"]
    assert 2 * ["The user took back the last part."] == taken_back
