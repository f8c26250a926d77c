"""What real clients said, played again: the whole conversation of each, as tests/clients/test_clients.py recorded it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from gitmem.hosts.mcp import wire

from tests.hosts.mcp.client import Process, text_of
from tests.hosts.mcp.conftest import Place

RECORDED = Path(__file__).parent / "recorded"
FACT = "The staging port is 8443"


def test_every_client_is_recorded() -> None:
    assert {"codex", "hermes", "sdk1", "sdk2"} == {path.stem for path in RECORDED.glob("*.jsonl")}


@pytest.mark.parametrize("name", ["codex", "hermes", "sdk1", "sdk2"])
def test_a_recorded_conversation(place: Place, name: str) -> None:
    """Every request is answered, and only what is wrong by an error; what it wrote is there, with its name."""
    messages = [json.loads(line) for line in (RECORDED / f"{name}.jsonl").read_text().splitlines()]
    options = ["--tools-only"] if name == "hermes" else []
    told: dict[str, object] = {}
    agent = ""
    with Process("-C", str(place.root), "mcp", *options, env=place.env) as client:
        for message in messages:
            client.tell(message)
            if "id" not in message:
                continue
            answer, method = client.answer(message["id"]), message["method"]
            if method == "server/discover":
                assert wire.NO_METHOD == answer["error"]["code"]
                continue
            result = answer["result"]
            if method == "initialize":
                assert message["params"]["protocolVersion"] == result["protocolVersion"]
                agent = message["params"]["clientInfo"]["name"]
            if method == "tools/call":
                given = message["params"]["arguments"]
                assert (given.get("query") == 7) == result.get("isError", False)
                told[f"{message['params']['name']} {given.get('query', '')}"] = text_of(result)
        assert [] == [one for one in client.heard if one["method"] != "notifications/progress"]
        assert 0 == client.close()
    assert FACT in str(told["search staging port"])
    assert [FACT] == place.curated()
    assert agent == place.log(kind="memory")[0].first("Agent").partition("/")[0]
