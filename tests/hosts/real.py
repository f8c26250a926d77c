"""The real Hermes in a temporary home: its agent in this process, its commands in processes of their own."""

from __future__ import annotations

import importlib
import json
import os
import subprocess
import sys
import textwrap
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from gitmem import background

from tests.git.support import fsck_clean
from tests.hosts.conftest import HermesHome
from tests.hosts.model import Model

HERMES = Path(sys.executable).with_name("hermes")
_MISSING = "hermes-agent==0.19.0 is a dev dependency and is not installed: pip install -e '.[dev]'"


class Hermes(HermesHome):
    """A home whose model is a script."""

    def __init__(self, path: Path, model: Model, **settings: Any) -> None:
        super().__init__(path)
        self.model = model
        (path / ".no-bundled-skills").touch()
        config = {
            "model": {
                "default": "scripted",
                "provider": "custom",
                "base_url": model.url,
                "api_key": "none",
                "context_length": 200_000,
            },
            "agent": {"environment_probe": False},  # it starts pip, twice, and each prompt waits for that
            **settings,
        }
        lines = ["# written by hand"]
        for name, section in config.items():
            lines += [f"{name}:", *(f"  {key}: {json.dumps(value)}" for key, value in section.items())]
        (path / "config.yaml").write_text("\n".join(lines) + "\n")
        self.env |= {"HOME": str(path.parent), "HERMES_HOME": str(path), "NO_COLOR": "1", "TERM": "dumb"}
        self.env["PATH"] = f"{HERMES.parent}:{os.environ['PATH']}"

    # In a process of its own

    def run(self, *arguments: str, code: int = 0) -> str:
        """A `hermes` command; gives what it printed."""
        if not HERMES.exists():
            pytest.fail(_MISSING)
        return self._run(str(HERMES), *arguments, code=code)

    def gitmem(self, *arguments: str, code: int | tuple[int, ...] = 0) -> str:
        """A `gitmem` command on the bundle of this home."""
        return self._run(sys.executable, "-P", "-m", "gitmem", *arguments, code=code)

    def _run(self, *command: str, code: int | tuple[int, ...]) -> str:
        done = subprocess.run(
            command,
            env=self.env,
            cwd=self.path.parent,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=120,
            check=False,
            start_new_session=True,  # it would take the terminal of whoever runs the tests
        )
        assert done.returncode in (code if isinstance(code, tuple) else (code,)), done.stdout + done.stderr
        return done.stdout

    def python(self, script: str, *arguments: str) -> subprocess.Popen[str]:
        """A Python program in the environment of Hermes."""
        return subprocess.Popen(
            [sys.executable, "-W", "ignore", "-c", textwrap.dedent(script), *arguments],
            env=self.env,
            cwd=self.path.parent,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            start_new_session=True,
        )

    # In this process

    @contextmanager
    def agent(self, session: str, **more: Any) -> Iterator[Agent]:
        """A real AIAgent with its MemoryManager; leaving it shuts the provider down as Hermes does."""
        agent = Agent(self, session, **more)
        try:
            yield agent
        finally:
            agent.close()

    def check(self) -> None:
        """Plain git finds the bundle whole."""
        fsck_clean(self.bundle().repository)


class Agent:
    """One session of the real agent."""

    def __init__(self, hermes: Hermes, session: str, **more: Any) -> None:
        try:
            run_agent = importlib.import_module("run_agent")
            state = importlib.import_module("hermes_state")
        except ImportError:
            pytest.fail(_MISSING)
        self.hermes = hermes
        self.warned: list[str] = []
        values: dict[str, Any] = {
            "base_url": hermes.model.url,
            "api_key": "none",
            "provider": "custom",
            "model": "scripted",
            "quiet_mode": True,
            "session_id": session,
            "platform": "cli",
            "enabled_toolsets": ["memory"],
            "session_db": state.SessionDB(hermes.path / "state.db"),
            "skip_context_files": True,
            "tool_delay": 0,
            "status_callback": lambda kind, text: self.warned.append(text),
            **more,
        }
        self.agent = run_agent.AIAgent(**values)
        self.agent._vprint = lambda *_, **__: None
        self.messages: list[dict[str, Any]] = []
        self._open = True

    @property
    def manager(self) -> Any:
        return self.agent._memory_manager

    @property
    def provider(self) -> Any:
        return self.manager.get_provider("gitmem")

    @property
    def prompt(self) -> str:
        return str(self.hermes.model.system_prompts()[-1])

    def say(self, text: str, *steps: dict[str, Any]) -> str:
        """A turn: what the user says, and what the model does."""
        self.hermes.model.script.clear()
        self.hermes.model.script.extend(steps)
        found = self.agent.run_conversation(text, conversation_history=self.messages)
        self.messages = found["messages"]
        return str(found["final_response"])

    def settle(self) -> None:
        """The host's worker and ours have nothing to do."""
        assert self.manager.flush_pending(120)
        self.provider._run.worker.submit(lambda: None).result(30)

    def close(self) -> None:
        if self._open:
            self._open = False
            self.manager.flush_pending(120)
            self.agent.shutdown_memory_provider(self.messages)


Make = Callable[..., Hermes]


@pytest.fixture
def model() -> Iterator[Model]:
    with Model() as model:
        yield model


@pytest.fixture
def make(tmp_path: Path, model: Model, monkeypatch: pytest.MonkeyPatch) -> Iterator[Make]:
    """Makes Hermes homes with gitmem installed; at the end plain git finds each bundle whole."""
    made: list[Hermes] = []

    def hermes(name: str = "hermes", *, installed: bool = True, **settings: Any) -> Hermes:
        path = tmp_path / name
        path.mkdir()
        one = Hermes(path, model, **settings)
        for key in ("HERMES_HOME", "HOME", "GITMEM_MACHINE", "USER"):
            monkeypatch.setenv(key, one.env[key])
        if installed:
            one.install()
        made.append(one)
        return one

    yield hermes
    background.wait(120)
    for one in made:
        if os.path.isdir(one.home.git_dir):
            one.check()
        one.close()


def memory_store() -> Any:
    """The host's own store, as its background review uses it: nobody is told."""
    return importlib.import_module("tools.memory_tool").load_on_disk_store()
