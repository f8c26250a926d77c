"""What each heuristic of search earns: switched off one at a time, on every set with known answers.

    python -m benchmarks.ablate [--data DIRECTORY] [--every N] [--unasked] [NAME...]

A row for each heuristic, with what changes without it, in points: R@5, R@10 and exchanges@10 on LoCoMo and LongMemEval
(see `benchmarks/retrieval.py`), and on three months of a life (`benchmarks/life.py`) the questions answered first, among
three, and the number with an outdated text above the answer.

With `--unasked`, what is recalled by itself: on LongMemEval and on a year of sessions (`benchmarks/recall_texts.py`) the
share of unrelated prompts that bring anything, and of questions that bring the right session or the answer.

A heuristic that loses less than a case anywhere when it is off has no place here; a new one brings its row.
"""

from __future__ import annotations

import argparse
import os
import random
import re
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from datetime import UTC, datetime, timedelta
from functools import partial
from typing import Any
from unittest import mock

from gitmem.config import Config
from gitmem.index import candidates, query
from gitmem.index.candidates import find
from gitmem.index.filters import Filters
from gitmem.memory.find import context, date_questions, embedding, question, ranking, search
from gitmem.memory.find.search import Search
from gitmem.memory.memory import Memory
from gitmem.memory.upkeep.create import create
from gitmem.world import World

from benchmarks import life
from benchmarks.recall_texts import (
    HELD_OUT_TOPICS,
    HELD_OUT_UNRELATED,
    TOPICS,
    UNRELATED,
    everyday,
    spoken,
)
from benchmarks.retrieval import DATA, Clock, Recorded, Score, sets, unasked, unrelated
from benchmarks.retrieval import Question as Asked
from benchmarks.support import working_directory

Patch = tuple[object, str, Any]


def _always(value: object) -> Any:
    return lambda *_, **__: value


OFF: dict[str, list[Patch]] = {
    "messages weighed apart": [
        (candidates, "messages_of", lambda text: [(0, len(text))]),
        (question, "split", lambda text: [text]),
    ],
    "session": [(ranking, "_SHARE", 0.0)],
    "dates": [(ranking, "_DATE", 0.0)],
    "types": [(ranking, "_TYPES", {})],
    "favour for knowledge": [(ranking, "_FAVOUR", 1.0)],
    "asked before": [(search, "asked_before", _always({}))],
    "settled": [(ranking, "settled", list)],
    "stop words": [(query, "_says_nothing", _always(False))],
    "lenient reading of questions": [(search, "is_question", _always(False))],
}
"""By name what to put in the place of what."""

UNASKED: dict[str, list[Patch]] = {
    "more is needed for the world": [(context, "_ELSEWHERE", (0.0, 0.0))],
    "who asks in general": [(date_questions, "_ANYBODY", re.compile("(?!)"))],
    "rare words": [(context, "_FEW", -1), (context, "_RARE", -1)],
    "short answers decide": [(context, "_SHORT", 0)],
    "all of a turn decides": [(context, "_SHORT", 1_000_000)],
    # It earns in a memory of a few messages: tests/memory/find/test_context.py, a_young_memory.
    "least size of a memory": [(context, "_SMALL", 0)],
    "worth beside the best": [(context, "_WORTH", 0.0)],
}
"""The same, for what is recalled by itself."""


@contextmanager
def _without(patches: Sequence[Patch]) -> Iterator[None]:
    with ExitStack() as stack:
        for place, name, value in patches:
            stack.enter_context(mock.patch.object(place, name, value))
        yield


def _ask(recorded: Recorded, asked: Asked) -> tuple[list[str], list[Sequence[str]]]:
    """Rank the candidates of a question; the gate of what leaves is not asked, since it is the same for all."""
    part, index = recorded.memory.part(Search), recorded.memory.index.current()
    found = find(index.database, part.asked(asked.text), part.filters(index, Filters()))
    ranked = part.ranking(index, found).entries()[:50]
    sessions = dict.fromkeys(one.place.session for one in ranked)
    return list(sessions), [recorded.said[one.place.key].ids for one in ranked[:10]]


def figures(recorded: dict[str, list[Recorded]], lived: Memory, every: int) -> list[float]:
    """Nine figures: three for each set, and three for the life."""
    found: list[float] = []
    for memories in recorded.values():
        score = Score()
        for memory in memories:
            for asked in memory.talks.questions[:: every if len(memories) > 1 else 1]:
                memory.at(asked)
                score.take(asked, *_ask(memory, asked))
        found += score.means()
    answers = life.ask(lived)
    share = partial(_share, len(answers))
    first, three = (one.place == 1 for one in answers), (0 < one.place <= 3 for one in answers)
    return [*found, share(sum(first)), share(sum(three)), float(sum(bool(one.outdated) for one in answers))]


def a_year(root: str, sessions: int = 300) -> Memory:
    """Sessions about everyday matters, and in some of them a topic that is asked for later."""
    chance, end = random.Random(11), datetime(2026, 6, 1, tzinfo=UTC)
    topics = (*TOPICS, *HELD_OUT_TOPICS)
    places = dict(zip(chance.sample(range(sessions), len(topics)), topics, strict=True))
    clock = Clock(end)
    memory = create(World(os.environ, clock=clock), root, config=Config(machine="bench", fsync="off"))[0]
    for number in range(sessions):
        clock.now = end - timedelta(days=365 * (sessions - number) / sessions)
        exchanges, topic = everyday(chance), places.get(number)
        talk = [next(exchanges) for _ in range(chance.randint(1, 4))]
        if topic is not None:
            talk.insert(chance.randint(0, len(talk)), spoken(topic, chance))
        with memory.session(f"s{number:04}") as session:
            for user, assistant in talk:
                session.record_turn(user, assistant)
            if topic is not None and topic.kind == "decision":
                session.record_decision(topic.text)
    clock.now = end
    return memory


def unasked_figures(agents: Recorded, prompts: Sequence[str], year: Memory) -> list[float]:
    """Four figures: unrelated prompts that bring anything and questions that bring the right thing, of each memory."""

    def recalled(text: str) -> str:
        return context.context(year, text).lines

    others = (*UNRELATED, *HELD_OUT_UNRELATED)
    topics = (*TOPICS, *HELD_OUT_TOPICS)
    noise = sum(bool(recalled(other)) for other in others)
    right = sum(topic.answer in recalled(topic.question) for topic in topics)
    return [*unasked(agents, prompts), _share(len(others), noise), _share(len(topics), right)]


def _share(many: int, count: int) -> float:
    return 100 * count / many


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("names", nargs="*", help="only these heuristics")
    parser.add_argument("--data", default=DATA, help="the directory with the files of both sets")
    parser.add_argument("--every", type=int, default=3, metavar="N", help="every so many questions of LoCoMo")
    parser.add_argument("--unasked", action="store_true", help="what is recalled by itself")
    options = parser.parse_args()
    found = sets(options.data)
    if options.unasked:
        found.pop("LoCoMo", None)
    # What is measured are the words: meaning has its own figures in docs/performance.md.
    with working_directory(None) as scratch, mock.patch.object(embedding, "find_spec", _always(None)):
        recorded = {
            name: [Recorded(talks, os.path.join(scratch, talks.name), dated=True) for talks in memories]
            for name, memories in found.items()
        }
        measure: Callable[[], list[float]]
        if options.unasked:
            (agents,), year = recorded["LongMemEval"], a_year(os.path.join(scratch, "year"))
            columns, rows = ["LongMemEval", "a year"], UNASKED
            measure = partial(unasked_figures, agents, unrelated(options.data), year)
        else:
            lived = life.make(os.path.join(scratch, "life"))
            columns, rows = [*recorded, "a life"], OFF
            measure = partial(figures, recorded, lived, options.every)
        whole = measure()
        width = 8 * len(whole) // len(columns)
        print(f"{'':32}" + "".join(f"{name:>{width}}" for name in columns), flush=True)
        _print("all of it", whole, "8.1f")
        for name, patches in rows.items():
            if not options.names or name in options.names:
                with _without(patches):
                    without = measure()
                _print(name, [one - other for one, other in zip(without, whole, strict=True)], "+8.1f")
    return 0


def _print(name: str, values: Sequence[float], form: str) -> None:
    print(f"{name:32}" + "".join(format(one, form) for one in values), flush=True)


if __name__ == "__main__":
    sys.exit(main())
