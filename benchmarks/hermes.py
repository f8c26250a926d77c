"""What a memory provider costs the agent of Hermes: each hook on the agent's thread, against the host's budget.

    python -m benchmarks.hermes [--quick] [--json] [--dir DIRECTORY] [--peer PYTHON]

The same scripted session is played to gitmem, to hermes-okf 0.5.9 and to the `holographic` provider that comes
with Hermes, turn by turn in changing order, each with a memory of the same 10,000 texts. It needs hermes-agent
0.19. `--peer` names an interpreter that has hermes-okf:

    python -m venv okf && okf/bin/pip install 'hermes-okf==0.5.9'
    python -m benchmarks.hermes --peer okf/bin/python

A peer that is not there is skipped, and named. See docs/performance.md for what was seen.
"""

from __future__ import annotations

import argparse
import importlib
import itertools
import json
import os
import random
import statistics
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from typing import Any, ClassVar

from gitmem import background
from gitmem.git.message import Message
from gitmem.git.transaction import Draft, publish
from gitmem.hosts.hermes.home import Home, open_home
from gitmem.hosts.hermes.profile import install
from gitmem.hosts.hermes.provider import SHIM_VERSION, GitMemProvider
from gitmem.world import World

from benchmarks.support import WHO, Report, Row, entry_path, milliseconds, working_directory

GITMEM, OKF, HOLOGRAPHIC = "gitmem", "hermes-okf", "holographic"

# Milliseconds that each hook may take of the agent's time.
BUDGET = {
    "initialize": 300.0,
    "initialize, a fresh process": 300.0,
    "system_prompt_block": 5.0,
    "on_turn_start": 5.0,
    "prefetch, warm": 5.0,
    "prefetch, a new question": 50.0,
    "on_memory_write": 5.0,
    "handle_tool_call, search": 10.0,
    "handle_tool_call, a decision": 10.0,
    "handle_tool_call, a fact": 10.0,
    "sync_turn": 5.0,
    "queue_prefetch": 5.0,
    "on_pre_compress, 500 messages": 500.0,
    "shutdown": 2_000.0,
}

Taken = dict[str, dict[int, float]]
Tool = tuple[str, dict[str, object]]

_SYLLABLES = [consonant + vowel for consonant in "bdfgklmnprst" for vowel in "aeiou"]


@dataclass(frozen=True, slots=True)
class Sizes:
    """How much there is in memory, and how often things are measured."""

    files: int = 10_000
    turns: int = 40
    starts: int = 15


# --- contenders ------------------------------------------------------------------------------------------


class Contender:
    """A provider in a home of its own, and how its hooks are called."""

    name = ""
    search: ClassVar[Tool] = ("", {})
    """The tool that looks something up, with what it is given."""
    keeps: ClassVar[dict[str, Tool]] = {}
    """Those that keep something, by what that is."""
    text_argument: ClassVar[str] = "text"
    """Under which name they take it."""
    every = 1
    """A contender that takes seconds for a turn takes part in every so many-th."""

    def __init__(self, home: str, sizes: Sizes) -> None:
        self.home = home
        self.sizes = sizes
        self.taken: Taken = {}
        self.provider: Any = None

    def fill(self, texts: Mapping[str, bytes]) -> None:
        """Put the texts into its memory."""

    def make(self) -> Any:
        """A fresh provider."""

    def settle(self) -> None:
        """Let what it does in the background come to an end, as it can while the model thinks."""

    def begin(self, session: str) -> None:
        self.provider = self.make()
        with self.in_home():
            self.provider.initialize(session, hermes_home=self.home, platform="cli", agent_context="primary")

    def call(self, hook: str, number: int, work: Callable[[], object]) -> object:
        """Time one hook, and give its answer."""
        with self.in_home():
            start = time.perf_counter()
            answer = work()
            self.taken.setdefault(hook, {})[number] = time.perf_counter() - start
        return answer

    @contextmanager
    def in_home(self) -> Iterator[None]:
        os.environ["HERMES_HOME"] = self.home
        yield


class GitMem(Contender):
    name = GITMEM
    search = ("gitmem_search", {"limit": 5})
    keeps: ClassVar[dict[str, Tool]] = {
        "a decision": ("gitmem_remember", {"kind": "decision"}),
        "a fact": ("gitmem_remember", {"kind": "fact"}),
    }

    def fill(self, texts: Mapping[str, bytes]) -> None:
        home = Home(self.home)
        install(home, World.real())
        bundle = open_home(home, World.real())
        publish(
            bundle.repository,
            lambda _: Draft(dict(texts), Message("import", "texts"), WHO, WHO),
            purpose="benchmark",
        )
        bundle.index.current()
        bundle.index.close()
        bundle.repository.store.close()

    def make(self) -> Any:
        return GitMemProvider(shim=SHIM_VERSION)

    def settle(self) -> None:
        provider = self.provider
        for _ in range(3):  # a job may leave another behind it
            provider._run.worker.submit(lambda: None).result(60)
        provider._prefetcher._prefetch.settle(60)


class Okf(Contender):
    name = OKF
    search = ("search_memory", {"top_k": 5})
    every = 8

    def fill(self, texts: Mapping[str, bytes]) -> None:
        for path, data in texts.items():
            place = os.path.join(self.home, "okf_memory", path)
            os.makedirs(os.path.dirname(place), exist_ok=True)
            with open(place, "wb") as file:
                file.write(data)

    def make(self) -> Any:
        return importlib.import_module("hermes_okf.memory_plugin").HermesOKFMemoryProvider()

    def settle(self) -> None:
        for thread in threading.enumerate():
            if thread.name == "okf-prefetch":
                thread.join()


class Holographic(Contender):
    name = HOLOGRAPHIC
    search = ("fact_store", {"action": "search", "limit": 5})
    keeps: ClassVar[dict[str, Tool]] = {"a fact": ("fact_store", {"action": "add"})}
    text_argument = "content"

    def fill(self, texts: Mapping[str, bytes]) -> None:
        store = importlib.import_module("plugins.memory.holographic.store").MemoryStore(
            db_path=os.path.join(self.home, "memory_store.db")
        )
        rebuild, store._rebuild_bank = store._rebuild_bank, lambda _: None
        for data in texts.values():  # its vectors are joined once, and not after each of them
            store.add_fact(body(data))
        rebuild("general")
        store.close()

    def make(self) -> Any:
        return importlib.import_module("plugins.memory.holographic").HolographicMemoryProvider()


# --- the session -----------------------------------------------------------------------------------------


class Words:
    """Made-up prose: few words are frequent and most are rare, as in any language."""

    def __init__(self) -> None:
        self._chance = random.Random(5)
        self._known = sorted({"".join(self._chance.choices(_SYLLABLES, k=3)) for _ in range(30_000)})
        self._chance.shuffle(self._known)
        self._weights = list(itertools.accumulate(1 / (rank + 1) for rank in range(len(self._known))))

    def some(self, count: int) -> list[str]:
        return self._chance.choices(self._known, cum_weights=self._weights, k=count)

    def rarest(self, words: list[str], count: int) -> list[str]:
        return sorted(set(words), key=self._known.index)[-count:]


class Session:
    """A conversation in which the agent is asked, remembers, searches and answers."""

    def __init__(self, words: Words, texts: Mapping[str, bytes], sizes: Sizes) -> None:
        asked = random.Random(7).sample(sorted(texts), sizes.turns)
        self._questions = [
            f"What do we know about {' '.join(words.rarest(body(texts[path]).split(), 3))}?" for path in asked
        ]

    def question(self, number: int) -> str:
        return self._questions[number]

    def play(self, contender: Contender, number: int, messages: list[dict[str, Any]]) -> None:
        """One turn, hook by hook, as the host calls them; between two steps the model thinks."""
        provider, question = contender.provider, self.question(number)
        session = f"session-{contender.name}"
        contender.call("system_prompt_block", number, provider.system_prompt_block)
        contender.call("on_turn_start", number, lambda: provider.on_turn_start(number, question))
        contender.call("prefetch, a new question", number, lambda: provider.prefetch(question))
        fact = f"{number}: {question[22:36]}"  # MEMORY.md of Hermes has room for 2,200 characters
        append_entry(os.path.join(contender.home, "memories"), fact)
        contender.call("on_memory_write", number, lambda: _write(provider, fact, session))
        contender.settle()
        name, given = contender.search
        arguments = {**given, "query": question}
        contender.call("handle_tool_call, search", number, lambda: provider.handle_tool_call(name, arguments))
        contender.settle()
        for what, (keeper, given) in contender.keeps.items():
            text = f"{what} {number}: {question[22:36]}"
            kept = {**given, contender.text_argument: text}
            hook = f"handle_tool_call, {what}"
            answer = contender.call(hook, number, partial(provider.handle_tool_call, keeper, kept))
            assert "error" not in json.loads(str(answer)), answer
            contender.settle()
        messages += _spoken(number, question, name)
        answer = messages[-1]["content"]
        contender.call("sync_turn", number, lambda: _sync(provider, question, answer, session, messages))
        contender.call(
            "queue_prefetch", number, lambda: provider.queue_prefetch(question, session_id=session)
        )
        contender.settle()
        contender.call("prefetch, warm", number, lambda: provider.prefetch(question))


def _spoken(number: int, question: str, tool: str) -> list[dict[str, Any]]:
    function = {"name": tool, "arguments": json.dumps({"query": question})}
    asked = {"id": f"c{number}", "type": "function", "function": function}
    return [
        {"role": "user", "content": question},
        {"role": "assistant", "content": "", "tool_calls": [asked]},
        {"role": "tool", "tool_call_id": f"c{number}", "name": tool, "content": "a result " * 200},
        {"role": "assistant", "content": f"Answer {number}: {question} " * 4},
    ]


def _write(provider: Any, fact: str, session: str) -> None:
    """As the host does: the fourth argument only for those that take it."""
    if provider.name == HOLOGRAPHIC:
        provider.on_memory_write("add", "memory", fact)
    else:
        provider.on_memory_write(
            "add", "memory", fact, metadata={"session_id": session, "tool_name": "memory"}
        )


def _sync(provider: Any, question: str, answer: str, session: str, messages: list[dict[str, Any]]) -> None:
    if provider.name == HOLOGRAPHIC:
        provider.sync_turn(question, answer, session_id=session)
    else:
        provider.sync_turn(question, answer, session_id=session, messages=messages)


def append_entry(directory: str, text: str) -> None:
    """What the memory tool of the host does before it tells anybody; not timed."""
    path = os.path.join(directory, "MEMORY.md")
    os.makedirs(directory, exist_ok=True)
    entries: list[str] = []
    if os.path.exists(path):
        with open(path, encoding="utf-8") as file:
            entries = [entry for entry in file.read().split("\n§\n") if entry]
    with open(path + ".tmp", "w", encoding="utf-8") as file:
        file.write("\n§\n".join([*entries, text]))
    os.replace(path + ".tmp", path)


# --- what is measured ------------------------------------------------------------------------------------


def make_texts(words: Words, count: int) -> dict[str, bytes]:
    """What is in memory: notes of some 80 words."""
    head = "---\ntype: Observation\ntitle: {}\ntimestamp: 2026-11-05T10:00:00Z\n---\n\n"
    found = {}
    for number in range(count):
        prose = words.some(80)
        found[entry_path(number)] = f"{head.format(' '.join(prose[:5]))}{' '.join(prose)}.\n".encode()
    return found


def body(data: bytes) -> str:
    return data.decode().partition("---\n\n")[2].strip().strip(".")


def measure(contenders: list[Contender], words: Words, texts: Mapping[str, bytes], sizes: Sizes) -> None:
    """Starts, a session and its end, in turn."""
    chance = random.Random(3)
    for number in range(-1, sizes.starts):
        for contender in _taking_part(chance, contenders, number):
            contender.provider = contender.make()
            known = {"hermes_home": contender.home, "platform": "cli", "agent_context": "primary"}
            begin = contender.provider.initialize
            contender.call("initialize", number, partial(begin, "probe", **known))
            contender.settle()
            contender.call("shutdown", number, contender.provider.shutdown)
    for contender in contenders:  # the first one warms up
        contender.taken = {hook: _without_first(taken) for hook, taken in contender.taken.items()}
        contender.begin(f"session-{contender.name}")
        contender.settle()
    session = Session(words, texts, sizes)
    spoken: dict[str, list[dict[str, Any]]] = {contender.name: [] for contender in contenders}
    for number in range(sizes.turns):
        for contender in _taking_part(chance, contenders, number):
            session.play(contender, number, spoken[contender.name])
    for number in range(3):
        for contender in contenders:
            messages = [
                {"role": "user" if place % 2 else "assistant", "content": _said(words, place)}
                for place in range(500)
            ]
            hook = contender.provider.on_pre_compress
            contender.call("on_pre_compress, 500 messages", number, partial(hook, messages))
            contender.settle()
    for contender in contenders:
        with contender.in_home():
            contender.provider.shutdown()
    background.wait(60)


_FRESH = """
import sys, time
from gitmem.hosts.hermes.provider import SHIM_VERSION, GitMemProvider
provider = GitMemProvider(shim=SHIM_VERSION)
start = time.perf_counter()
provider.initialize("fresh", hermes_home=sys.argv[1], platform="cli", agent_context="primary")
print(time.perf_counter() - start)
provider.shutdown()
"""


def measure_fresh(contender: Contender, sizes: Sizes) -> None:
    """The first start in a process: its own imports count. Peers import much of the host, and are left out."""
    taken = contender.taken.setdefault("initialize, a fresh process", {})
    for number in range(sizes.starts):
        command = [sys.executable, "-c", _FRESH, contender.home]
        taken[number] = float(subprocess.run(command, capture_output=True, text=True, check=True).stdout)


def _taking_part(chance: random.Random, contenders: list[Contender], number: int) -> list[Contender]:
    """Who has a turn now, in an order that changes."""
    present = [contender for contender in contenders if number < 0 or number % contender.every == 0]
    return chance.sample(present, len(present))


def _said(words: Words, place: int) -> str:
    prose = " ".join(words.some(60))
    return f"I prefer tabs over spaces in project {place}. {prose}" if place % 50 == 1 else prose


def _without_first(taken: dict[int, float]) -> dict[int, float]:
    return {number: seconds for number, seconds in taken.items() if number >= 0}


def rows(contenders: list[Contender]) -> list[Row]:
    ours, *peers = contenders
    found = []
    for hook, budget in BUDGET.items():
        beside = [f"{peer.name} {_shown(peer, hook)}" for peer in peers]
        found.append(
            Row(
                hook,
                milliseconds(ours.taken[hook]),
                *_middle(ours.taken[hook]),
                unit="ms",
                at_most=budget,
                note=", ".join(beside),
            )
        )
    return found


def _shown(peer: Contender, hook: str) -> str:
    kind = hook.partition(",")[0]
    inherited = getattr(type(peer.provider), kind) is getattr(_base(), kind, None)
    if inherited or hook not in peer.taken:
        return "not measured" if hook == "initialize, a fresh process" else "has none"
    return f"{milliseconds(peer.taken[hook]):.2f}"


def _base() -> type:
    found = importlib.import_module("agent.memory_provider").MemoryProvider
    assert isinstance(found, type)
    return found


def _middle(taken: Mapping[int, float]) -> tuple[float, float]:
    low, _, high = statistics.quantiles(taken.values(), n=4, method="inclusive")
    return low * 1000, high * 1000


def peers(where: str, sizes: Sizes, report: Report, python: str | None) -> list[Contender]:
    found: list[Contender] = []
    if python:
        asked = "import hermes_okf, os; print(os.path.dirname(os.path.dirname(hermes_okf.__file__)))"
        told = subprocess.run(
            [python, "-c", asked], capture_output=True, text=True, check=False
        ).stdout.strip()
        sys.path += [told] if told else []
    try:
        importlib.import_module("hermes_okf.memory_plugin")
        found.append(Okf(os.path.join(where, OKF), sizes))
    except ImportError:
        report.skip("hermes-okf is not installed: --peer names an interpreter that has hermes-okf==0.5.9")
    try:
        importlib.import_module("plugins.memory.holographic")
        found.append(Holographic(os.path.join(where, HOLOGRAPHIC), sizes))
    except ImportError:
        report.skip("holographic is not there: it comes with hermes-agent==0.19.0")
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--quick", action="store_true", help="a small memory: does it run at all?")
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--dir", help="where the homes are made")
    parser.add_argument("--peer", metavar="PYTHON", help="an interpreter that has hermes-okf 0.5.9")
    options = parser.parse_args()
    sizes = Sizes(files=300, turns=5, starts=3) if options.quick else Sizes()
    report = Report(as_json=options.json)
    words = Words()
    texts = make_texts(words, sizes.files)
    with working_directory(options.dir) as where:
        contenders = [GitMem(os.path.join(where, GITMEM), sizes), *peers(where, sizes, report, options.peer)]
        for contender in contenders:
            os.makedirs(contender.home)
            with contender.in_home():
                contender.fill(texts)
        measure(contenders, words, texts, sizes)
        measure_fresh(contenders[0], sizes)
        title = f"Milliseconds of the agent's thread, {sizes.files:,} texts in memory: median and middle half"
        report.section(title, rows(contenders))
    report.finish()


if __name__ == "__main__":
    main()
