"""What recall puts before a turn: nothing for a question it has no answer to, and little where it has one.

    python -m benchmarks.recall_noise [--quick] [--json] [--dir DIRECTORY] [--list]

A year of sessions goes through the memory provider, turn by turn. Then the real hermes-agent 0.19 is asked, each
question in a session of its own, and what counts is the request that its model gets. Topics and questions are in
`benchmarks/recall_texts.py`, a third of them held out. See docs/performance.md for what was seen.
"""

from __future__ import annotations

import argparse
import importlib
import os
import random
import statistics
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from functools import partial
from pathlib import Path
from typing import Any
from unittest import mock

from gitmem import background
from gitmem.hosts.hermes.provider import SHIM_VERSION, GitMemProvider
from gitmem.world import real_world
from tests.hosts.model import Model
from tests.hosts.real import Hermes

from benchmarks.recall_texts import (
    HELD_OUT_TOPICS,
    HELD_OUT_UNRELATED,
    TOPICS,
    UNRELATED,
    Exchange,
    Topic,
    everyday,
    spoken,
)
from benchmarks.support import Report, Row, working_directory

_SEED = 11
_FENCE = "<memory-context>"


@dataclass(frozen=True, slots=True)
class Asked:
    """A question and what the host put before the model with it."""

    question: str
    injected: str
    answered: bool = False


# --- a year of sessions ----------------------------------------------------------------------------------


def live(home: str, topics: Sequence[Topic], sessions: int) -> None:
    """So many sessions in a year, some of which have a topic in them."""
    chance = random.Random(_SEED)
    places = dict(zip(chance.sample(range(sessions), len(topics)), topics, strict=True))
    now = datetime.now(UTC)
    for number in range(sessions):
        began = now - timedelta(days=365 * (sessions - number) / sessions, hours=chance.random())
        exchanges = everyday(chance)
        talk = [next(exchanges) for _ in range(chance.randint(1, 4))]
        topic = places.get(number)
        if topic is not None:
            talk.insert(chance.randint(0, len(talk)), spoken(topic, chance))
        decision = topic.text if topic is not None and topic.kind == "decision" else ""
        _session(home, f"{began:%Y%m%d_%H%M%S}_{chance.getrandbits(24):06x}", began, talk, decision)


def _session(home: str, name: str, began: datetime, talk: Sequence[Exchange], decision: str) -> None:
    with mock.patch("gitmem.hosts.hermes.provider.real_world", partial(_world_at, began)):
        provider = GitMemProvider(shim=SHIM_VERSION)
        provider.initialize(name, hermes_home=home, platform="cli", agent_context="primary")
        messages: list[dict[str, Any]] = []
        for number, (user, assistant) in enumerate(talk):
            provider.on_turn_start(number, user)
            messages += [{"role": "user", "content": user}, {"role": "assistant", "content": assistant}]
            provider.sync_turn(user, assistant, session_id=name, messages=messages)
        if decision:
            provider.handle_tool_call("gitmem_remember", {"kind": "decision", "text": decision})
        provider.shutdown()


def _world_at(moment: datetime) -> Any:
    return real_world()._replace(clock=lambda: moment)


# --- questions to the real host --------------------------------------------------------------------------


def ask(hermes: Hermes, question: str) -> str:
    """What was recalled into the request for a question, as the model gets it."""
    before = len(hermes.model.requests)
    with hermes.agent(f"question-{before}") as agent:
        agent.say(question)
        agent.settle()
    messages = [
        str(message["content"])
        for body in hermes.model.requests[before:]
        if body.get("tools")
        for message in body["messages"]
        if message["role"] == "user"
    ]
    recalled = messages[-1].partition(_FENCE)[2].rpartition("</memory-context>")[0]
    return recalled.partition("\n\n")[2].strip()  # behind the host's own note


def _related(hermes: Hermes, topics: Sequence[Topic]) -> list[Asked]:
    asked = ((topic, ask(hermes, topic.question)) for topic in topics)
    return [Asked(topic.question, injected, topic.answer in injected) for topic, injected in asked]


def _unrelated(hermes: Hermes, questions: Sequence[str]) -> list[Asked]:
    return [Asked(question, ask(hermes, question)) for question in questions]


# --- figures ---------------------------------------------------------------------------------------------


def rows(related: Sequence[Asked], unrelated: Sequence[Asked]) -> list[Row]:
    noise = [len(one.injected) for one in unrelated if one.injected]
    right = [one for one in related if one.answered]
    lengths = [len(one.injected) for one in related if one.injected] or [0]
    return [
        Row(f"{len(unrelated)} unrelated questions: text injected for", _share(len(noise), unrelated), unit="%",
            at_most=5, note=f"{len(noise)} of them"),
        Row(f"{len(related)} related ones: right entry injected for", _share(len(right), related), unit="%",
            at_least=90, note=f"{len(right)} of them"),
        Row("characters injected for a related one, median", statistics.median(lengths), unit="",
            at_most=400, note=f"the most {max(lengths)}"),
    ]  # fmt: skip


def _share(count: int, of: Sequence[Asked]) -> float:
    return 100 * count / max(1, len(of))


def _list(related: Sequence[Asked], unrelated: Sequence[Asked]) -> None:
    for one in related:
        print(f"\n{'ok  ' if one.answered else 'MISS'} {one.question}\n{one.injected}")
    for one in unrelated:
        if one.injected:
            print(f"\nNOISE {one.question}\n{one.injected}")


@contextmanager
def _home(where: str, model: Model) -> Iterator[Hermes]:
    path = Path(where) / "hermes"
    path.mkdir(exist_ok=True)
    hermes = Hermes(path, model, memory={"provider": "gitmem"})
    with mock.patch.dict(
        os.environ, {key: hermes.env[key] for key in ("HERMES_HOME", "HOME", "GITMEM_MACHINE")}
    ):
        hermes.install()
        yield hermes
        background.wait(60)
        hermes.close()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--quick", action="store_true", help="a tenth of it: does it run at all?")
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--dir", help="where the home is made")
    parser.add_argument("--list", action="store_true", help="print what was injected")
    options = parser.parse_args()
    every, sessions = (8, 30) if options.quick else (1, 300)
    parts = {"known": (TOPICS, UNRELATED), "held out": (HELD_OUT_TOPICS, HELD_OUT_UNRELATED)}
    importlib.import_module("run_agent")  # before anything is made: an error here says what is not installed
    report = Report(as_json=options.json)
    with working_directory(options.dir) as where, Model() as model, _home(where, model) as hermes:
        live(str(hermes.path), [topic for topics, _ in parts.values() for topic in topics[::every]], sessions)
        all_related: list[Asked] = []
        all_unrelated: list[Asked] = []
        for name, (topics, questions) in parts.items():
            related, unrelated = _related(hermes, topics[::every]), _unrelated(hermes, questions[::every])
            if options.list and not options.json:
                _list(related, unrelated)
            report.section(f"{sessions} sessions, {name} questions", rows(related, unrelated))
            all_related += related
            all_unrelated += unrelated
    report.section(f"{sessions} sessions, all questions", rows(all_related, all_unrelated))
    report.finish()


if __name__ == "__main__":
    main()
