"""Every way out of a memory: what an agent, a prompt or a model endpoint gets, each as one text.

A new way out belongs in `EXITS`; `test_every_exit.py` finds those that are not.
"""

from __future__ import annotations

import contextlib
import json
import os
import re
import tempfile
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any
from unittest import mock

import pytest
from gitmem import background
from gitmem.config import EndpointConfig
from gitmem.hosts.hermes.prompt import HostRead, system_prompt
from gitmem.hosts.loop.manager import MemoryManager
from gitmem.hosts.mcp.catalogue import PROMPTS
from gitmem.hosts.mcp.connection import Connection
from gitmem.hosts.mcp.reading import block, prompt
from gitmem.memory.curated.store import TARGETS
from gitmem.memory.endpoint import Endpoint
from gitmem.memory.find import embedding
from gitmem.memory.find.embedding import EndpointEmbedder, Meaning
from gitmem.memory.find.recall import About
from gitmem.memory.memory import Memory

from tests.hosts.conftest import Driver, HermesHome
from tests.hosts.model import Model, call
from tests.hosts.talk import answer, user

SETTINGS = {
    "GITMEM_UNDO_TOOLS": "true",  # every tool there is
    "GITMEM_PAST_TOOLS": "true",  # with all of its arguments
    "GITMEM_ENFORCE_HOST_FILES": "true",  # what the scanner flags leaves the host's files too
    "GITMEM_MEMORY_CHAR_LIMIT": "20000",
    "GITMEM_USER_CHAR_LIMIT": "20000",
}
HONEST = "plumbago"
"""A word of honest texts, which exits go on to show."""


@dataclass
class Agent:
    """A later session in a home: it asks about some things, by every means that it has."""

    home: HermesHome
    questions: Sequence[str]
    """Words of the texts that are looked for."""
    nearly: Sequence[str] = ()
    """Words that are spelled nearly like some of theirs: a helpful answer would give those."""
    moments: Sequence[str] = ()
    """Revisions to ask about."""
    said: Sequence[str] = ()
    """What the user says before a compaction."""
    known: Mapping[str, str] = field(default_factory=lambda: {"platform": "cli"})
    """What the host says of where the agent runs, and of its user."""
    model: Model = field(default_factory=Model)
    _begun: dict[str, Driver] = field(default_factory=dict)

    @property
    def memory(self) -> Memory:
        """The memory as a Python program opens it."""
        return self.home.bundle()

    @property
    def asking_memory(self) -> Memory:
        """A memory with an endpoint for its distiller and its summarizer."""
        memory, endpoint = self.memory, EndpointConfig(base_url=self.model.url, model="scripted")
        memory.config = replace(memory.config, distiller=endpoint, summarizer=endpoint)
        return memory

    def begin(self, session: str = "later", **known: str) -> Driver:
        """A provider as the host starts one; the same again for the same session."""
        if session not in self._begun:
            driver = self._begun[session] = Driver()
            driver.initialize(
                session,
                hermes_home=str(self.home.path),
                agent_context="primary",
                agent_identity="default",
                warning_callback=driver.warned.append,
                **self.known,
                **known,
            )
            assert "" == driver.error
            driver.settle()
        return self._begun[session]

    def use(self, tool: str, **arguments: Any) -> str:
        """What a tool answers, which is never that it has no time."""
        told = self.begin().handle_tool_call(tool, arguments)
        assert "queued" not in json.loads(told).values()
        return told

    def ask(self, tool: str, **arguments: Any) -> str:
        asked = (*self.questions, *self.nearly)
        return "\n".join(self.use(tool, query=question, **arguments) for question in asked)

    def talk(self, session: str) -> list[dict[str, Any]]:
        """A conversation that is long enough to be distilled, with something honest in it."""
        words = [*self.said, f"Remember that the {HONEST} of {session} is lit.", *map(str, range(8))]
        return [message for word in words for message in (user(word), answer("Done."))]

    def close(self) -> None:
        for driver in self._begun.values():
            driver.shutdown()
        self.model.__exit__(None, None, None)


@contextlib.contextmanager
def living(home: HermesHome) -> Iterator[None]:
    """The environment of a home's processes."""
    home.env |= SETTINGS
    with pytest.MonkeyPatch.context() as patch:
        for name in ("HERMES_HOME", "GITMEM_MACHINE", "USER", *SETTINGS):
            patch.setenv(name, home.env[name])
        try:
            yield
        finally:
            background.wait(120)
            home.close()


# --- how an agent asks -----------------------------------------------------------------------------------


def _told(found: Iterable[Any]) -> str:
    """Everything that is in these results, whatever they say of themselves."""
    return "\n".join(one if isinstance(one, str) else str(asdict(one)) for one in found)


def _prompt_block(agent: Agent) -> str:
    memory = agent.memory
    with memory.session("block") as session:
        return session.prompt_block() + memory.prompt_block()


def _search(agent: Agent, *ways: dict[str, Any]) -> str:
    memory, asked = agent.memory, (*agent.questions, *agent.nearly)
    return _told(memory.search(question, limit=50, **how) for question in asked for how in ways)


def _recall(agent: Agent) -> str:
    memory = agent.memory
    return _told(memory.recall(question, limit=10) for question in agent.questions)


def _sessions(agent: Agent) -> list[About]:
    return agent.memory.recent_sessions(limit=100)


def _read(agent: Agent) -> str:
    memory = agent.memory
    return _told(memory.read_session(about.session) for about in _sessions(agent))


def _scroll(agent: Agent) -> str:
    memory = agent.memory
    readings = [memory.read_session(about.session) for about in _sessions(agent)]
    return _told(
        memory.read_session(one.about.session, around=one.lines[-1].id) for one in readings if one.lines
    )


def _context(agent: Agent) -> str:
    memory = agent.memory
    return _told(memory.context(question).fenced for question in agent.questions)


def _session_compaction(agent: Agent) -> str:
    with agent.memory.session("compacted by hand") as session:
        return session.compress(agent.talk("a session")).text


def _distiller(agent: Agent) -> str:
    """What the endpoint of the distiller is sent, and what comes of its answer."""
    before = len(agent.model.requests)
    agent.model.script.append(call("memory", action="add", target="memory", content="A model found this"))
    with agent.asking_memory.session("distilled") as session:
        told = session.compress([user(f"Please look at file {number}") for number in range(8)]).text
    assert len(agent.model.requests) > before
    return json.dumps([*agent.model.requests[before:], told])


def _summarizer(agent: Agent) -> str:
    """What the endpoint of the summarizer is sent, and what comes of its answer."""
    before, memory = len(agent.model.requests), agent.asking_memory
    told = _told(memory.recall(question, limit=10) for question in agent.questions)
    return json.dumps(agent.model.requests[before:]) + told


def _embeddings(agent: Agent) -> str:
    """What an embeddings endpoint is sent, all in one request: the model here makes no vectors, so none is kept."""
    before, memory = len(agent.model.requests), agent.memory
    with mock.patch.object(embedding, "_BATCH", 10_000):
        endpoint = Endpoint(agent.model.url, "scripted", timeout=120.0)
        Meaning(memory)._fill(EndpointEmbedder(endpoint, agent.model.url), 3)
    return json.dumps(agent.model.requests[before:])


def _host_files(agent: Agent) -> str:
    agent.begin().compare()
    return "\n".join([*agent.home.entries("MEMORY.md"), *agent.home.entries("USER.md")])


def _host_skills(agent: Agent) -> str:
    agent.begin().compare()
    skills = Path(agent.home.home.skills)
    files = {path.relative_to(skills): path for path in sorted(skills.rglob("*")) if path.is_file()}
    ours = {name: path for name, path in files.items() if not name.parts[0].startswith(".")}
    return "\n".join(f"{name}\n{path.read_text()}" for name, path in ours.items())


def _came_by_sync(agent: Agent) -> str:
    """The system prompt of a host that had read empty files, when a sync brought everything."""
    agent.begin().compare()
    read = HostRead(agent.home.home)
    read._seen = dict.fromkeys(read._seen, b"")
    return system_prompt(agent.memory.config, [], read.missed(agent.memory, None))


def _prefetch(agent: Agent) -> str:
    return "\n".join(agent.begin().prefetch(question) for question in agent.questions)


def _compaction(agent: Agent) -> str:
    return agent.begin("compacted").on_pre_compress(agent.talk("a compaction"))


def _slow_compaction(agent: Agent) -> str:
    """The memory is in use while the host waits: it gets what is known without a commit."""
    driver = agent.begin("compacted slowly")
    with pytest.MonkeyPatch.context() as patch, agent.memory.writing("a long gc"):
        patch.setattr("gitmem.hosts.hermes.agent_run._COMPRESS_WAIT", 0.01)
        told = driver.on_pre_compress(agent.talk("a slow compaction"))
    driver.settle()
    return told


def _log(agent: Agent) -> str:
    paths = ("", "memories", "decisions", "plans", "skills", "snapshots", "tools", "notes")
    return "\n".join(agent.use("gitmem_history", path=path, limit=20) for path in paths)


def _diff(agent: Agent) -> str:
    first = agent.home.log()[0].commit.oid
    spans = [(first, "HEAD"), *((moment, "HEAD") for moment in agent.moments)]
    spans += [(first, moment) for moment in agent.moments]
    told = [
        agent.use("gitmem_diff", a=since, b=until, path=path, limit=20)
        for since, until in spans
        for path in ("", "memories", "decisions", "plans", "skills", "sessions")
    ]
    told += [agent.use("gitmem_diff", session=about.session, limit=20) for about in _sessions(agent)]
    return "\n".join(told)


def _blame(agent: Agent) -> str:
    paths = [
        path for path in agent.memory.file_paths() if path.startswith(("memories/", "plans/", "hermes/"))
    ]
    return "\n".join(agent.use("gitmem_history", id=path) for path in paths)


def _fetch(agent: Agent, level: str, *moments: str) -> str:
    """Every file, every entry and every session, by name."""
    memory = agent.memory
    entries = [entry.key.id[:12] for target in TARGETS for entry in memory.curated.entries(target)]
    sessions = [about.session for about in _sessions(agent)]
    asked = [
        "MEMORY",
        "USER",
        *memory.file_paths(),
        *entries,
        *sessions,
        *(f"session:{one}" for one in sessions),
    ]
    return "\n".join(
        agent.use("gitmem_fetch", id=one, level=level, as_of=moment)
        for one in asked
        for moment in (moments or ("",))
    )


def _sessions_recalled(agent: Agent) -> str:
    told = [agent.use("gitmem_recall", limit=20)]
    return "\n".join(told + [agent.use("gitmem_recall", session=one.session) for one in _sessions(agent)])


def _remember(agent: Agent, kind: str) -> str:
    told = agent.use("gitmem_remember", kind=kind, text=f"The {kind} of today is plain", why="asked")
    agent.begin().settle()
    return told


def _undo(agent: Agent) -> str:
    """The newest change is taken back, and that too; the preview shows what goes."""
    told = []
    for _ in range(2):
        asked = {"commit": agent.home.log()[-1].id, "why": "the user asked"}
        told.append(agent.use("gitmem_undo", **asked))
        [token] = re.findall(r"confirm=(\w+)", told[-1])
        told.append(agent.use("gitmem_undo", **asked, confirm=token))
    return "\n".join(told)


def _errors(agent: Agent) -> str:
    """Names that are nearly right, and arguments that are wrong."""
    asked: list[tuple[str, dict[str, Any]]] = [("gitmem_nothing", {}), ("gitmem_search", {})]
    for name in (*agent.questions[:3], *agent.nearly):
        near = f"lamp-{name[:-1]}"
        asked += [
            ("gitmem_diff", {"a": near}),
            ("gitmem_diff", {"a": f"session:{near}"}),
            ("gitmem_diff", {"session": near}),
            ("gitmem_fetch", {"id": near}),
            ("gitmem_fetch", {"id": f"decisions/{near}.md"}),
            ("gitmem_recall", {"session": near}),
            ("gitmem_history", {"id": f"decisions/{near}.md"}),
            ("gitmem_history", {near: "x"}),
            ("gitmem_search", {"query": near, "as_of": near}),
            ("gitmem_remember", {"kind": near, "text": "x"}),
            ("gitmem_snapshot", {"name": f"../{near}"}),
            ("gitmem_undo", {"commit": near, "why": "x"}),
            ("gitmem_undo", {"session": near}),
        ]
    return "\n".join(agent.use(tool, **arguments) for tool, arguments in asked)


# --- agents other than Hermes ----------------------------------------------------------------------------


def _client(agent: Agent) -> Connection:
    return Connection(agent.home.world, agent.home.home.bundle, "client", "1")


def _mcp_tools(agent: Agent) -> str:
    """Every tool that looks, as text."""
    client, asked = _client(agent), (*agent.questions, *agent.nearly)
    told = [client.call(tool, {"query": one})[0] for tool in ("search", "recall") for one in asked]
    told += [client.call(tool, {})[0] for tool in ("history", "diff", "recall")]
    told += [client.call("fetch", {"id": store, "level": "full"})[0] for store in ("MEMORY", "USER")]
    told += [
        client.call("skills", {})[0],
        *(client.call("skills", {"name": one})[0] for one in agent.questions),
    ]
    told += [
        client.call("revise", {"id": one, "why": "x", "remove": True})[0] for one in ("zzz", *agent.nearly)
    ]
    client.close()
    return "\n".join(told)


def _mcp_prompts(agent: Agent) -> str:
    client, claims = _client(agent), (HONEST, *agent.questions, *agent.nearly)
    told = [prompt(client, one["name"], {"claim": claim}) or "" for one in PROMPTS for claim in claims[:4]]
    client.close()
    return "\n".join(told)


def _mcp_instructions(agent: Agent) -> str:
    client = _client(agent)
    told = block(client)
    client.close()
    return told


def _loop_turns(agent: Agent) -> str:
    """What a model gets for a turn: the whole request."""
    with MemoryManager(agent.memory) as manager, manager.session("a loop") as session:
        prompts = [session.turn(question) for question in (*agent.questions[:20], HONEST)]
        told = [json.dumps([one.messages(), one.functions]) for one in prompts]
        return "\n".join([*told, session.compress(agent.talk("a loop")), session.turn("again").system])


def _loop_tools(agent: Agent) -> str:
    """Tools of a loop, and an error that says what is there."""
    with MemoryManager(agent.memory) as manager, manager.session("a loop with tools") as session:
        long = "a text that does not fit " * 80
        told = [session.tool_call("remember", {"kind": one, "text": long}) for one in ("fact", "preference")]
        told += [session.tool_call("recall", {"query": one}) for one in agent.questions]
        told += [session.tool_call("skills", {"name": one}) for one in agent.questions]
        told.append(session.tool_call("skill_manage", {"action": "delete", "name": "no-such-skill"}))
        return "\n".join([*told, session.tool_call("recall"), session.tool_call("skills")])


# --- the table -------------------------------------------------------------------------------------------


def _exported(agent: Agent, form: str) -> str:
    with tempfile.TemporaryDirectory() as folder:
        agent.memory.export(form, os.path.join(folder, "out"))
        found = [path for path in Path(folder).rglob("*") if path.is_file()]
        return "\n".join(path.read_text(errors="replace") for path in found)


EXITS: Mapping[str, Callable[[Agent], str]] = {
    # Python programs
    "prompt block": _prompt_block,
    "skill index": lambda agent: agent.memory.skills.index(),
    "search": lambda agent: _search(agent, {}, {"type": "Decision"}, {"scope": "all"}),
    "search as of": lambda agent: _search(agent, *({"as_of": moment} for moment in agent.moments)),
    "search removed": lambda agent: _search(agent, {"removed": True}),
    "recall": _recall,
    "recall browse": lambda agent: _told(_sessions(agent)),
    "recall read": _read,
    "recall scroll": _scroll,
    "context": _context,
    "log page": lambda agent: agent.memory.read_log(),
    "export for AGENTS.md": lambda agent: _exported(agent, "agents-md"),
    "compaction in a session": _session_compaction,
    "distiller endpoint": _distiller,
    "summarizer endpoint": _summarizer,
    "embeddings endpoint": _embeddings,
    # Hermes
    "host files": _host_files,
    "host skills": _host_skills,
    "system prompt": lambda agent: agent.begin().system_prompt_block(),
    "system prompt after a sync": _came_by_sync,
    "prefetch": _prefetch,
    "compaction": _compaction,
    "slow compaction": _slow_compaction,
    "gitmem_search": lambda agent: agent.ask("gitmem_search", limit=20),
    "gitmem_search as of": lambda agent: _told(
        agent.ask("gitmem_search", as_of=moment) for moment in agent.moments
    ),
    "gitmem_recall": lambda agent: agent.ask("gitmem_recall", limit=10),
    "gitmem_search removed": lambda agent: agent.ask("gitmem_search", removed=True),
    "gitmem_recall sessions": _sessions_recalled,
    "gitmem_fetch abstract": lambda agent: _fetch(agent, "abstract"),
    "gitmem_fetch overview": lambda agent: _fetch(agent, "overview", *agent.moments),
    "gitmem_fetch full": lambda agent: _fetch(agent, "full"),
    "gitmem_history": _log,
    "gitmem_history blame": _blame,
    "gitmem_diff": _diff,
    "gitmem_snapshot": lambda agent: agent.use("gitmem_snapshot", name=f"named-{os.urandom(4).hex()}"),
    "gitmem_remember decision": lambda agent: _remember(agent, "decision"),
    "gitmem_remember observation": lambda agent: _remember(agent, "observation"),
    "gitmem_remember fact": lambda agent: _remember(agent, "fact"),
    "gitmem_remember preference": lambda agent: _remember(agent, "preference"),
    "gitmem_undo": _undo,
    "errors of tools": _errors,
    # Other agents
    "mcp tools": _mcp_tools,
    "mcp prompts": _mcp_prompts,
    "mcp instructions": _mcp_instructions,
    "loop turns": _loop_turns,
    "loop tools": _loop_tools,
}
"""What an agent, a prompt or a model endpoint gets, by the name of the way."""


def everything(agent: Agent) -> dict[str, str]:
    """What every exit gives this agent, in one case: a word is found however it is written."""
    try:
        return {name: leave(agent).lower() for name, leave in EXITS.items()}
    finally:
        agent.close()


def leaks(shown: Mapping[str, str], words: Iterable[str], *, but: Iterable[str] = ()) -> dict[str, list[str]]:
    """Which of these words each exit shows, but for some exits."""
    wanted, exempt = [word.lower() for word in words], set(but)
    found = {name: [word for word in wanted if word in text] for name, text in shown.items()}
    return {name: words for name, words in found.items() if words and name not in exempt}
