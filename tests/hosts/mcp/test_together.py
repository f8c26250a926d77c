"""Several servers on one bundle."""

from __future__ import annotations

import threading
from pathlib import Path

from gitmem import background
from gitmem.git.git_settings import Remote, Remotes

from tests.git.support import run_git
from tests.hosts.mcp.client import Process
from tests.hosts.mcp.conftest import Connect, Place

CLIENTS, WRITES = 4, 200


def test_four_clients_write_at_once(place: Place) -> None:
    """Nothing is lost, nothing is doubled, and nobody hears that a database is locked."""
    env = {**place.env, "GITMEM_MEMORY_CHAR_LIMIT": "100000"}
    answers: dict[str, list[str]] = {}
    failed: list[BaseException] = []

    def live(number: int) -> None:
        name = f"client{number}"
        try:
            with Process("-C", str(place.root), "mcp", env=env) as client:
                client.begin(name)
                told = answers[name] = []
                for write in range(WRITES):
                    text = f"The lamp l{number}n{write} is lit"
                    kind = "fact" if write % 20 == 0 else "decision" if write % 10 == 5 else "observation"
                    told.append(client.use("remember", text=text, kind=kind))
                    if write % 50 == 49:
                        assert text in client.use("search", query=f"l{number}n{write}")
                assert 0 == client.close()
        except BaseException as error:
            failed.append(error)

    threads = [threading.Thread(target=live, args=(number,)) for number in range(CLIENTS)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert [] == failed
    assert [WRITES] * CLIENTS == [len(told) for told in answers.values()]
    place.env["GITMEM_MEMORY_CHAR_LIMIT"] = "100000"
    memory = place.memory
    sessions = {state.get("agent"): state for state in memory.sessions.all()}
    assert {f"client{number}/1.2" for number in range(CLIENTS)} == sessions.keys()
    facts = place.curated()
    for number in range(CLIENTS):
        state = sessions[f"client{number}/1.2"]
        assert "closed" == state.status
        events = [event for event in memory.sessions.events(state.id) if event.kind != "recalled"]
        texts = [event.fields.get("content") or event.fields["decision"] for event in events]
        texts += [text for text in facts if text.startswith(f"The lamp l{number}n")]
        assert sorted(f"The lamp l{number}n{write} is lit" for write in range(WRITES)) == sorted(texts)
    decisions = [path for path in memory.list_concepts() if path.startswith("decisions/")]
    assert CLIENTS * WRITES // 10 == len(decisions)


def test_the_end_of_a_connection_syncs(place: Place, connect: Connect, tmp_path: Path) -> None:
    """With every remote that a person agreed to, in a process that the client does not wait for."""
    run_git(tmp_path, "init", "-q", "--bare", "-b", "main", "hub.git")
    Remotes(place.memory.repository).save(Remote("origin", str(tmp_path / "hub.git"), consent=True))
    client = connect()
    client.use("remember", text="The tram depot is in Bonn", kind="fact")
    client.close()
    background.wait(120)
    assert "tram depot" in run_git(tmp_path / "hub.git", "show", "main:memories/MEMORY.md")
