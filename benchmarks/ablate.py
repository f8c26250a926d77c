"""What each heuristic of search earns: switched off one at a time, on every set with known answers.

    python -m benchmarks.ablate [--data DIRECTORY] [--every N] [NAME...]

A row for each heuristic, with what changes without it, in points: R@5, R@10 and exchanges@10 on LoCoMo and LongMemEval
(see `benchmarks/retrieval.py`), and on three months of a life (`benchmarks/life.py`) the questions answered first, among
three, and the number with an outdated text above the answer. A heuristic that loses less than a case anywhere when it is off
has no place in the ranking; a new one brings its row.
"""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from functools import partial
from typing import Any
from unittest import mock

from gitmem.index import candidates, query
from gitmem.index.candidates import find
from gitmem.index.filters import Filters
from gitmem.memory.find import question, ranking, search
from gitmem.memory.find.question import Question
from gitmem.memory.find.search import Search
from gitmem.memory.memory import Memory

from benchmarks import life
from benchmarks.retrieval import DATA, Recorded, Score, sets
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
    "neighbours": [(ranking, "_NEIGHBOUR", 0.0)],
    "neighbours of short turns only": [(ranking, "_SHORT", 1_000_000)],
    "session": [(ranking, "_SHARE", 0.0)],
    "dates": [(ranking, "_DATE", 0.0)],
    "types": [(ranking, "_TYPES", {})],
    "favour for knowledge": [(ranking, "_FAVOUR", 1.0)],
    "asked before": [(Question, "repeated_in", _always({}))],
    "settled": [(ranking, "settled", list)],
    "stop words": [(query, "_says_nothing", _always(False))],
    "lenient reading of questions": [(search, "is_question", _always(False))],
}
"""By name what to put in the place of what."""


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


def _share(many: int, count: int) -> float:
    return 100 * count / many


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("names", nargs="*", help="only these heuristics")
    parser.add_argument("--data", default=DATA, help="the directory with the files of both sets")
    parser.add_argument("--every", type=int, default=3, metavar="N", help="every so many questions of LoCoMo")
    options = parser.parse_args()
    with working_directory(None) as scratch:
        recorded = {
            name: [Recorded(talks, os.path.join(scratch, talks.name), dated=True) for talks in memories]
            for name, memories in sets(options.data).items()
        }
        lived = life.make(os.path.join(scratch, "life"))
        print(f"{'':32}" + "".join(f"{name:>24}" for name in [*recorded, "a life"]), flush=True)
        whole = figures(recorded, lived, options.every)
        _print("all of it", whole, "8.1f")
        for name, patches in OFF.items():
            if not options.names or name in options.names:
                with _without(patches):
                    without = figures(recorded, lived, options.every)
                _print(name, [one - other for one, other in zip(without, whole, strict=True)], "+8.1f")
    return 0


def _print(name: str, values: Sequence[float], form: str) -> None:
    print(f"{name:32}" + "".join(format(one, form) for one in values), flush=True)


if __name__ == "__main__":
    sys.exit(main())
