"""The examples, each as a process, with a model on loopback."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import gitmem
import pytest

from tests.git.support import fsck_clean, plain_environment
from tests.hosts.model import Model, call, say

EXAMPLES = Path(__file__).parents[3] / "examples"
ALL = {path.name for path in EXAMPLES.glob("*.py")}


@pytest.fixture
def model() -> Iterator[Model]:
    with Model() as model:
        yield model


def run(name: str, *words: str, said: str = "", cwd: Path) -> str:
    done = subprocess.run(
        [sys.executable, "-W", "error", str(EXAMPLES / name), *words],
        input=said,
        capture_output=True,
        text=True,
        cwd=cwd,
        env={**plain_environment(), "GITMEM_MACHINE": "laptop"},
        check=False,
    )
    assert (0, "") == (done.returncode, done.stderr)
    return done.stdout


def test_every_example_is_run() -> None:
    """Here, or by tests/cli/test_demo.py, which draws the picture."""
    assert {"agent_loop.py", "agent_loop_mcp.py", "team.py", "picture.py"} == ALL


def test_the_loop(tmp_path: Path, model: Model) -> None:
    """It remembers in one process and knows it in the next; the model gets the tools and the block."""
    path = str(tmp_path / "mem")
    model.script.extend([call("remember", kind="preference", text="Likes tea"), say("Noted.")])
    assert "Noted.\n" == run("agent_loop.py", model.url, "m", path, said="I like tea\n", cwd=tmp_path)
    model.script.append(say("Tea."))
    assert "Tea.\n" == run("agent_loop.py", model.url, "m", path, said="What do I like?\n", cwd=tmp_path)
    assert "Likes tea" in model.system_prompts()[-1]
    with gitmem.open(path) as memory:
        assert ["Likes tea"] == [entry.text for entry in memory.curated.entries("user")]
        entry = next(memory.log(kind="memory"))
        assert ("loop", "m") == (entry.first("Agent"), entry.first("Model"))
        fsck_clean(memory.repository)


def test_the_loop_over_mcp(tmp_path: Path, model: Model) -> None:
    """The same conversation, with a server beside it."""
    path = str(tmp_path / "mem")
    gitmem.open(path, create=True).close()
    server = (sys.executable, "-P", "-m", "gitmem", "-C", path, "mcp")
    model.script.extend([call("remember", kind="preference", text="Likes tea"), say("Noted.")])
    assert "Noted.\n" == run("agent_loop_mcp.py", model.url, "m", *server, said="I like tea\n", cwd=tmp_path)
    model.script.extend([call("search", query="tea"), say("Tea.")])
    told = run("agent_loop_mcp.py", model.url, "m", *server, said="What do I like?\n", cwd=tmp_path)
    assert "Tea.\n" == told
    assert "Likes tea" in json.dumps(model.requests[-1])
    with gitmem.open(path) as memory:
        entry = next(memory.log(kind="memory"))
        assert "agent-loop/1" == entry.first("Agent")
        fsck_clean(memory.repository)


def test_the_team(tmp_path: Path) -> None:
    """The second one is told what the first decided; each commit has its agent."""
    told = run("team.py", str(tmp_path / "mem"), cwd=tmp_path)
    assert "PostgreSQL" in told.partition("</memory-context>")[0]
    assert {"researcher/1", "coder/1"} == {line.split(" · ")[0] for line in told.split("\n") if " · " in line}
    with gitmem.open(tmp_path / "mem") as memory:
        fsck_clean(memory.repository)
