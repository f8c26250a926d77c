"""Where a story is played: homes of the real Hermes in a temporary directory, and a model that reads from a script."""

from __future__ import annotations

import importlib
import json
import os
import re
import subprocess
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

from gitmem import background
from tests.git.support import GIT_ENVIRONMENT
from tests.hosts.model import Model, call, say
from tests.hosts.real import Agent, Hermes

from benchmarks.stories.judge import Unit, fingerprint, holding, units
from benchmarks.stories.language import (
    DESKTOP,
    LAPTOP,
    Ask,
    Compact,
    From,
    Kept,
    Person,
    Run,
    Step,
    Story,
    Sync,
    Talk,
    Turn,
)
from benchmarks.stories.outcome import Leak, Outcome

_TOOLSETS = ["memory", "skills", "file", "terminal", "web", "mail", "agents"]
_SEEN = ("HERMES_HOME", "HOME", "GITMEM_MACHINE", "GITMEM_AUTO_SYNC", "USER", *GIT_ENVIRONMENT)
_SETTINGS = {"memory": {"nudge_interval": 0}, "skills": {"creation_nudge_interval": 0}}
"""The host's review of its own sessions would read from the same script."""
_FAILED = re.compile(r'\{"(success": false|error": "[^"])|Error')
_LONG_ENOUGH = 7
"""Turns that the host's compaction wants before it takes some away."""


def play(story: Story, root: str | None = None) -> Outcome:
    """What was seen of a story, played from its beginning in homes that are gone afterwards."""
    place = root or ("/dev/shm" if os.path.isdir("/dev/shm") else None)
    with ExitStack() as end:
        directory = end.enter_context(tempfile.TemporaryDirectory(prefix="gitmem-story-", dir=place))
        end.enter_context(_environment())
        model = end.enter_context(Model())
        stage = end.enter_context(Stage(story, Path(directory), model))
        return stage.play()


@contextmanager
def _environment() -> Iterator[None]:
    before = {name: os.environ.get(name) for name in _SEEN}
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                os.environ.pop(name, None)
            else:
                os.environ[name] = value


class Stage:
    """One story while it is played."""

    def __init__(self, story: Story, root: Path, model: Model) -> None:
        self._story = story
        self._root = root
        self._model = model
        self._homes: dict[str, Hermes] = {}
        self._open: dict[str, tuple[Agent, str]] = {}
        self._known: dict[str, frozenset[str]] = {}
        """By session that was open when the planted things had to go: the messages it had been sent."""
        self._sent: dict[str, set[str]] = {}
        self._counts = False
        self._asked = 0
        self._leaks: list[Leak] = []
        self._moments: dict[str, str] = {}

    def __enter__(self) -> Stage:
        for name, text in self._story.pages.items():
            if name.startswith("work:"):
                path = self._work / name.removeprefix("work:")
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_text(text)
        _far_side(self._story.pages)
        return self

    def __exit__(self, *_: object) -> None:
        for agent, at in self._open.values():
            self._enter(at)
            agent.close()
        background.wait(30)
        for home in self._homes.values():
            home.close()

    @property
    def _work(self) -> Path:
        path = self._root / "work"
        path.mkdir(exist_ok=True)
        return path

    # The acts

    def play(self) -> Outcome:
        self._counts = bool(self._story.private_to)
        self._moments["begin"] = self._home(LAPTOP).bundle().tip or ""
        for act in self._story.acts:
            if isinstance(act, Talk):
                self._talk(act)
            elif isinstance(act, Ask):
                self._ask(act)
            elif isinstance(act, Compact):
                self._compact(act)
            elif isinstance(act, Run):
                if act.arguments[0] == "revert":
                    self._from_here()
                self._home(act.at).gitmem(*act.arguments)
            elif isinstance(act, Sync):
                self._sync()
            else:
                assert isinstance(act, From)
                self._from_here()
        lost = self._lost()
        return Outcome(self._story.name, self._story.kind, tuple(dict.fromkeys(self._leaks)), tuple(lost))

    def _from_here(self) -> None:
        self._counts = True
        self._known = {session: frozenset(sent) for session, sent in self._sent.items()}
        self._moments["before"] = self._home(LAPTOP).bundle().tip or ""

    def _talk(self, act: Talk) -> None:
        agent = self._agent(act.session, act.at, act.person)
        self._enter(act.at)
        for turn in act.turns:
            self._turn(act.session, agent, turn, act.person)
        if not act.stays:
            self._end(act.session)

    def _turn(self, session: str, agent: Agent, turn: Turn, person: Person | None) -> None:
        begin = len(self._model.requests)
        agent.say(turn.user, *(self._filled(step) for step in turn.steps))
        agent.settle()
        self._look(session, begin, person)
        for message in self._requests(begin)[-1]["messages"]:
            if message["role"] == "tool" and _FAILED.match(message["content"]):
                raise RuntimeError(f"{self._story.kind}, {self._story.name}: {message['content'][:300]}")

    def _ask(self, act: Ask) -> None:
        self._asked += 1
        session = f"ask-{self._asked}"
        looking = [call("gitmem_search", query=text) for text in (act.question, *self._story.planted)]
        looking += [call("gitmem_recall", query=text) for text in (act.question, self._story.planted[0])]
        looking += [
            call("gitmem_history", limit=20),
            call("gitmem_history", id="memories/MEMORY.md"),
            call("gitmem_diff", a=self._moments["begin"], limit=20),
            call("skills_list"),
        ]
        if before := self._moments.get("before"):
            looking.append(call("gitmem_search", query=self._story.planted[0], as_of=before))
        first = Turn(act.question, (*looking, say("That is what I found.")))
        more = Turn(f"What else is there about this: {act.question}", (say("Nothing more."),))
        self._talk(Talk(session, (first, more), act.at, act.person))

    def _compact(self, act: Compact) -> None:
        agent, at = self._open[act.session]
        self._enter(at)
        for number in range(_LONG_ENOUGH):
            self._turn(
                act.session, agent, Turn(f"Part {number}, go on.", (say(f"Part {number}. " * 60),)), None
            )
        begin = len(self._model.requests)
        agent.messages, _ = agent.agent._compress_context(
            agent.messages, "", approx_tokens=150_000, force=True
        )
        agent.settle()
        self._look(act.session, begin, None)

    def _sync(self) -> None:
        self._home(LAPTOP)
        if not (remote := self._root / "remote.git").exists():
            subprocess.run(["git", "init", "-q", "--bare", str(remote)], check=True)
            self._home(LAPTOP).gitmem("remote", "add", "origin", str(remote), "--yes")
        for at in (LAPTOP, DESKTOP, LAPTOP):
            self._home(at).gitmem("sync", code=(0, 3))  # something may wait for a person

    # Honest things

    def _lost(self) -> list[str]:
        """The honest things that a new session neither has in its prompt nor finds."""
        lost = []
        for kept in self._story.honest:
            begin = len(self._model.requests)
            steps = (*_looking_for(kept), say("Good morning."))
            self._talk(Talk(f"honest-{begin}", (Turn("Good morning.", steps),)))
            places = ("prompt",) if kept.place == "prompt" else ("gitmem_search", "skill_view")
            seen = [unit for request in self._requests(begin) for unit in units(request)]
            if not any(unit.place in places for unit in holding(kept.text, seen)):
                lost.append(kept.text)
        return lost

    # Inside

    def _look(self, session: str, begin: int, person: Person | None) -> None:
        """Search what the model was just asked; remember what this session has been sent."""
        sent = self._sent.setdefault(session, set())
        known = self._known.get(session, frozenset())
        for request in self._requests(begin):
            if self._counts and not (person is not None and person.name == self._story.private_to):
                seen = list(units(request, known))
                for phrase in self._story.planted:
                    for unit in holding(phrase, seen):
                        if not self._is_fine(unit):
                            self._leaks.append(Leak(phrase, unit.place, unit.text))
            sent.update(map(fingerprint, request["messages"]))

    def _is_fine(self, unit: Unit) -> bool:
        where = self._story.marked
        return unit.is_marked and (where == "anywhere" or (where == "asked for" and unit.is_answer))

    def _requests(self, begin: int) -> list[dict[str, Any]]:
        """What the model was asked since; the host also asks its server what it can do."""
        return [request for request in self._model.requests[begin:] if "messages" in request]

    def _agent(self, session: str, at: str, person: Person | None) -> Agent:
        if session not in self._open:
            home = self._home(at)
            self._enter(at)
            more: dict[str, Any] = {}
            if person is not None:
                more = {
                    "platform": "telegram",
                    "user_id": f"id-{person.name}",
                    "user_name": person.name,
                    "chat_id": person.chat,
                    "chat_type": person.chat_type,
                }
            self._open[session] = Agent(home, session, enabled_toolsets=_TOOLSETS, **more), at
            self._open[session][0].settle()
        return self._open[session][0]

    def _end(self, session: str) -> None:
        agent, at = self._open.pop(session)
        self._enter(at)
        agent.close()

    def _home(self, at: str) -> Hermes:
        if at not in self._homes:
            path = self._root / at / "hermes"
            path.mkdir(parents=True)
            home = Hermes(path, self._model, **_SETTINGS)
            home.env |= {**GIT_ENVIRONMENT, "GITMEM_MACHINE": at, "GITMEM_AUTO_SYNC": "false"}
            (path / "gitmem.yaml").write_text("past_tools: true\n")  # the model may look at earlier states
            self._homes[at] = home
            self._enter(at)
            if at == LAPTOP:
                home.install()
            else:
                home.gitmem("clone", str(self._root / "remote.git"), "--hermes")
        return self._homes[at]

    def _enter(self, at: str) -> None:
        """The host reads its home from the environment of the process."""
        os.environ.update({name: self._homes[at].env[name] for name in _SEEN})

    def _filled(self, step: Step) -> Step:
        text = json.dumps(step)
        return dict(json.loads(text.replace("{work}", str(self._work))))


def _looking_for(kept: Kept) -> tuple[Step, ...]:
    if kept.place == "skill":
        return (call("skill_view", name=kept.skill),)
    if kept.place == "decision":
        return (call("gitmem_search", query=kept.text, type="Decision", limit=20),)
    return ()


def _far_side(pages: Mapping[str, str]) -> None:
    """What is outside of the host is a story's own: the web, mail, another agent, and what a command prints."""
    registry = importlib.import_module("tools.registry").registry
    importlib.import_module("tools.web_tools")
    importlib.import_module("tools.terminal_tool")

    def web(given: Mapping[str, Any], **_: Any) -> str:
        found = [{"url": url, "title": "", "content": pages[url], "error": None} for url in given["urls"]]
        return json.dumps({"results": found})

    def terminal(given: Mapping[str, Any], **_: Any) -> str:
        return json.dumps({"output": pages[f"run:{given['command']}"], "exit_code": 0, "error": None})

    def mail(given: Mapping[str, Any], **_: Any) -> str:
        return pages[f"mail:{given['message_id']}"]

    def agent(given: Mapping[str, Any], **_: Any) -> str:
        return json.dumps({"agent": given["agent"], "answer": pages[f"agent:{given['agent']}"]})

    text = {"type": "string"}
    for name, toolset, handler, fields in (
        ("web_extract", "web", web, {"urls": {"type": "array", "items": text}}),
        ("terminal", "terminal", terminal, {"command": text}),
        ("mail_read", "mail", mail, {"message_id": text}),
        ("ask_agent", "agents", agent, {"agent": text, "question": text}),
    ):
        about = {"type": "object", "properties": fields}
        schema = {"name": name, "description": f"{name}, scripted", "parameters": about}
        registry.register(name=name, toolset=toolset, schema=schema, handler=handler, check_fn=lambda: True)
