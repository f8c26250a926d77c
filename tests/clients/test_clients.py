"""Real clients of `gitmem mcp`: the official SDK, 1.x and 2.x, Hermes' own, and the Codex CLI.

`make test-clients` installs them, each in an environment of its own, and says where they are. With RECORD=1 what they
said is kept in tests/hosts/mcp/recorded, which `make test` plays again.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import gitmem
import pytest
from gitmem.hosts.tools.table import offered
from gitmem.locate import enlist
from gitmem.world import World

from tests.clients.responses_model import ResponsesModel, call, say
from tests.git.support import fsck_clean, plain_environment

pytestmark = pytest.mark.clients

PROGRAMS = Path(__file__).parent / "programs"
RECORDED = Path(__file__).parents[1] / "hosts/mcp/recorded"
TOOLS = [row.name for row in offered("mcp", undo=False)]
FACT = "The staging port is 8443"


class Bench:
    """A bundle, and a server on it that keeps every message."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.bundle = root / "mem"
        self.log = root / "messages.jsonl"
        self.env = {**plain_environment(), "GITMEM_MACHINE": "laptop", "HOME": str(root)}
        if "PYTHONPATH" in os.environ:
            self.env["PYTHONPATH"] = os.environ["PYTHONPATH"]
        gitmem.open(self.bundle, create=True, machine="laptop").close()
        enlist(World(self.env), str(self.bundle))  # it is one of the clients' user too

    def server(self, *options: str) -> list[str]:
        started = [
            sys.executable,
            str(PROGRAMS / "tee.py"),
            str(self.log),
            sys.executable,
            "-P",
            "-m",
            "gitmem",
        ]
        return [*started, "-C", str(self.bundle), "mcp", *options]

    def run(self, python: Path, program: str, *options: str) -> Any:
        """What a client has to tell."""
        done = subprocess.run(
            [str(python), str(PROGRAMS / program), *self.server(*options)],
            input=json.dumps(self.env),
            env={key: value for key, value in self.env.items() if key != "PYTHONPATH"},
            cwd=self.root,
            capture_output=True,
            text=True,
            check=False,
        )
        assert 0 == done.returncode, done.stderr
        return json.loads(done.stdout.splitlines()[-1])

    def check(self, name: str, agent: str) -> None:
        """What was written says who wrote it; what was said may be kept."""
        with gitmem.open(self.bundle) as memory:
            assert [FACT] == [entry.text for entry in memory.curated.entries("memory")]
            entry = next(memory.log(kind="memory"))
            assert agent == entry.first("Agent").partition("/")[0]
            assert "told so" == entry.first("Reason")
            fsck_clean(memory.repository)
        if os.environ.get("RECORD"):
            text = self.log.read_text().replace(str(self.root), "<root>")
            messages = [json.loads(line) for line in text.splitlines()]
            lines = [json.dumps(one["message"]) for one in messages if one["from"] == "client"]
            (RECORDED / f"{name}.jsonl").write_text("\n".join(lines) + "\n")


@pytest.fixture
def bench(tmp_path: Path) -> Bench:
    return Bench(tmp_path)


def installed(name: str) -> Path:
    """Where `make test-clients` put something; a skip with the reason where it could not."""
    place = os.environ.get("CLIENTS")
    if not place:
        pytest.fail("Run `make test-clients`: it installs the clients first.")
    found = Path(place) / name
    if not found.exists():
        pytest.skip(f"{name} could not be installed here: see what `make test-clients` printed")
    return found


@pytest.mark.parametrize("sdk", ["sdk1", "sdk2"])
def test_the_official_sdk(bench: Bench, sdk: str) -> None:
    """Handshake, lists, calls and prompts; text and nothing beside it."""
    told = bench.run(installed(f"{sdk}/bin/python"), f"{sdk}.py")
    assert ("2025-11-25", TOOLS) == (told["version"], told["tools"])
    assert "Long-term memory" in told["instructions"]
    assert [False, True] == [told["remember"][0], "Kept." in told["remember"][1]]
    assert [False, True] == [told["search"][0], FACT in told["search"][1]]
    assert [True, "`query` must be a text."] == told["wrong"]
    assert 5 == len(told["prompts"])
    assert FACT in told["why"]
    bench.check(sdk, "mcp")


def test_the_client_of_hermes(bench: Bench) -> None:
    """Our tools under its names, and no other; each answer once."""
    told = bench.run(installed("hermes/bin/python"), "hermes.py", "--tools-only")
    assert sorted(f"mcp__gitmem__{name}" for name in TOOLS) == told["tools"]
    assert "Kept." in told["remember"]["result"]
    assert ["result"] == list(told["search"])
    assert FACT in told["search"]["result"]
    assert {"error": "`query` must be a text."} == told["wrong"]
    bench.check("hermes", "mcp")


def test_codex(bench: Bench) -> None:
    """It offers the tools to its model, calls them, and hands the answers back."""
    codex = installed("codex/node_modules/.bin/codex")
    home, project = bench.root / "codex", bench.root / "project"
    home.mkdir()
    subprocess.run(["git", "init", "-q", project], check=True)
    steps = [call("remember", text=FACT, why="told so"), call("search", query="staging port"), say("8443.")]
    with ResponsesModel(*steps) as model:
        command, *args = bench.server()
        env = {key: bench.env[key] for key in ("GITMEM_MACHINE", "PYTHONPATH") if key in bench.env}
        given = "".join(f"{key} = {json.dumps(value)}\n" for key, value in env.items())
        (home / "config.toml").write_text(
            'model = "fake-model"\nmodel_provider = "fake"\n'
            f'[model_providers.fake]\nname = "fake"\nbase_url = "{model.url}"\nwire_api = "responses"\n'
            "request_max_retries = 0\nstream_max_retries = 0\n"
            f"[mcp_servers.gitmem]\ncommand = {json.dumps(command)}\nargs = {json.dumps(args)}\n"
            # Without it the first request does not wait for a server that is slow to start on a busy machine.
            f"required = true\nstartup_timeout_sec = 120\n[mcp_servers.gitmem.env]\n{given}"
        )
        done = subprocess.run(
            [str(codex), "exec", "Which port is staging on?"],
            cwd=project,
            env={**bench.env, "CODEX_HOME": str(home)},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            check=False,
        )
    assert (0, "8443.") == (done.returncode, done.stdout.strip()), done.stderr
    offered = json.dumps(model.requests[0]["tools"])
    assert [] == [name for name in TOOLS if f'"{name}"' not in offered]
    outputs = [item for item in model.requests[-1]["input"] if item["type"] == "function_call_output"]
    assert "Kept." in json.dumps(outputs[0])
    assert FACT in json.dumps(outputs[1])
    bench.check("codex", "codex-mcp-client")
