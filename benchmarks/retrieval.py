"""How well search and recall find what was said, on real conversations with questions and their evidence.

    python -m benchmarks.retrieval [--data DIRECTORY] [--json] [--dated] [--kinds] [--semantic] [--only NAME]

Two sets, used where they lie and never copied. LoCoMo (Maharana et al. 2024, CC BY-NC 4.0): long chats of two people,
a memory for each. LongMemEval (Wu et al. 2024, MIT): people's talk with an agent, whose answers are long; one memory,
so that the evidence of one question is a distractor for the others. Every session is recorded through the real capture
path. Reported for each contender: R@5 and R@10 (mean share of a question's sessions among the first 5 and 10 distinct
ones) and exchanges@10 (mean share of its evidence among the first ten hits, or in the lines that recall shows).

The floor in the same run are two bare FTS5 tables (porter, stop words out of the question): a row for each session, a row
for each exchange. Then what is recalled unasked: the share of unrelated prompts that bring anything, and the share of
the questions that bring one of the right sessions.
"""

from __future__ import annotations

import argparse
import gzip
import json
import os
import re
import sqlite3
import sys
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from unittest import mock

from gitmem.config import Config
from gitmem.index.vectors import Vectors
from gitmem.memory.find import embedding
from gitmem.memory.find.context import context
from gitmem.memory.find.embedding import Meaning
from gitmem.memory.memory import Memory
from gitmem.memory.upkeep.create import create
from gitmem.text.words import STOP
from gitmem.world import World

from benchmarks.support import Report, Row, working_directory

_HERE = os.path.dirname(os.path.abspath(__file__))
DATA = os.path.join(_HERE, "..", "..", "shared", "data")
LOCOMO, LONGMEMEVAL = "locomo-dev.json", "longmemeval-dev.json.gz"
UNRELATED = "unrelated-prompts-dev.json"
_CATEGORIES = {1: "multi-hop", 2: "temporal", 3: "inference", 4: "single-hop", 5: "adversarial"}
_EVIDENCE = re.compile(r"D(\d+):(\d+)")


# --- the data ---------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Exchange:
    """What one said and the other answered; `ids` are those of its messages."""

    ids: tuple[str, ...]
    user: str
    assistant: str = ""

    @property
    def text(self) -> str:
        return f"{self.user}\n{self.assistant}"


@dataclass(frozen=True, slots=True)
class Talk:
    """One session."""

    id: str
    at: datetime
    exchanges: tuple[Exchange, ...]


@dataclass(frozen=True, slots=True)
class Question:
    """A question, when it is asked, and the sessions and messages that answer it."""

    text: str
    kind: str
    at: datetime | None
    sessions: frozenset[str]
    messages: frozenset[str]


@dataclass(frozen=True, slots=True)
class Talks:
    """Sessions that share one memory, and the questions to it."""

    name: str
    talks: tuple[Talk, ...]
    questions: tuple[Question, ...]


def locomo(path: str) -> Iterator[Talks]:
    """Each conversation of LoCoMo as a memory of its own."""
    with open(path, encoding="utf-8") as file:
        data = json.load(file)
    for item in data:
        found = item["conversation"]
        talks = []
        for number in sorted(int(key[8:]) for key in found if re.fullmatch(r"session_\d+", key)):
            said = found[f"session_{number}_date_time"] + " +0000"
            at = datetime.strptime(said, "%I:%M %p on %d %B, %Y %z").replace(tzinfo=UTC)
            turns = found[f"session_{number}"]
            pairs = (turns[start : start + 2] for start in range(0, len(turns), 2))
            exchanges = tuple(
                Exchange(
                    tuple(one["dia_id"] for one in pair),
                    *(f"{one['speaker']}: {one['text']}" for one in pair),
                )
                for pair in pairs
            )
            talks.append(Talk(f"D{number}", at, exchanges))
        questions = []
        for one in item["qa"]:
            evidence = {f"D{a}:{b}" for part in one.get("evidence", []) for a, b in _EVIDENCE.findall(part)}
            if evidence:
                sessions = frozenset(name.partition(":")[0] for name in evidence)
                kind = _CATEGORIES[one["category"]]
                questions.append(Question(one["question"], kind, None, sessions, frozenset(evidence)))
        yield Talks(item["sample_id"], tuple(talks), tuple(questions))


def longmemeval(path: str) -> Talks:
    """All sessions of LongMemEval's file as one memory."""
    with gzip.open(path) as file:
        data = json.load(file)
    talks = tuple(
        Talk(
            one["id"],
            datetime.fromisoformat(one["at"]),
            tuple(Exchange(tuple(turn["ids"]), turn["user"], turn["assistant"]) for turn in one["turns"]),
        )
        for one in sorted(data["sessions"], key=lambda one: str(one["at"]))
    )
    questions = tuple(
        Question(
            one["question"],
            one["kind"],
            datetime.fromisoformat(one["at"]),
            frozenset(one["sessions"]),
            frozenset(one["turns"]),
        )
        for one in data["questions"]
    )
    return Talks("longmemeval", talks, questions)


def sets(directory: str) -> dict[str, list[Talks]]:
    """The sets that are there, by name."""
    found: dict[str, list[Talks]] = {}
    people, agents = os.path.join(directory, LOCOMO), os.path.join(directory, LONGMEMEVAL)
    if os.path.exists(people):
        found["LoCoMo"] = list(locomo(people))
    if os.path.exists(agents):
        found["LongMemEval"] = [longmemeval(agents)]
    return found


def unrelated(directory: str) -> list[str]:
    """First messages that have nothing to do with any of the sets; none where the file is missing."""
    path = os.path.join(directory, UNRELATED)
    if not os.path.exists(path):
        return []
    with open(path, encoding="utf-8") as file:
        return [one["text"] for one in json.load(file)]


# --- a memory of it ---------------------------------------------------------------------------------------


class Clock:
    def __init__(self, now: datetime) -> None:
        self.now = now

    def __call__(self) -> datetime:
        return self.now


class Recorded:
    """A memory that the sessions of one set went through, and what may be asked of it."""

    def __init__(self, talks: Talks, root: str, *, dated: bool) -> None:
        self.talks = talks
        self.said: dict[str, Exchange] = {}
        self._dated = dated
        self.clock = Clock(talks.talks[0].at if dated else talks.talks[-1].at)
        world = World(os.environ, clock=self.clock)
        self.memory: Memory = create(world, root, config=Config(machine="bench", fsync="off"))[0]
        for talk in talks.talks:
            if dated:
                self.clock.now = max(self.clock.now, talk.at)
            with self.memory.session(talk.id) as session:
                for exchange in talk.exchanges:
                    fields = {"user": exchange.user, "assistant": exchange.assistant}
                    event = session.buffer.push(
                        "turn", **{role: text for role, text in fields.items() if text}
                    )
                    self.said[event] = exchange
                    self.clock.now += timedelta(seconds=30)
        self.clock.now += timedelta(days=1)
        self.memory.index.current()
        self._end = self.clock.now

    def at(self, question: Question) -> None:
        """Set the clock to the moment of a question."""
        self.clock.now = max(self._end, question.at) if self._dated and question.at else self._end

    def search(self, question: str) -> tuple[list[str], list[Sequence[str]]]:
        hits = self.memory.search(question, limit=50).hits
        return _once(hit.session for hit in hits), [self._ids(hit.key.id) for hit in hits[:10]]

    def recall(self, question: str) -> tuple[list[str], list[Sequence[str]]]:
        recaps = self.memory.recall(question, limit=10).recaps
        lines = [line for one in recaps for window in (one.began, *one.windows, one.ended) for line in window]
        return _once(one.about.session for one in recaps), [self._ids(line.id) for line in lines]

    def unasked(self, prompt: str) -> list[str]:
        """The sessions that come unasked, one for each line."""
        return [one.session for one in context(self.memory, prompt).shown]

    def _ids(self, event: str) -> Sequence[str]:
        return self.said[event].ids if event in self.said else ()

    def close(self) -> None:
        self.memory.close()


def _once(names: Iterator[str]) -> list[str]:
    return list(dict.fromkeys(names))


# --- the floor --------------------------------------------------------------------------------------------

Ask = Callable[[str], tuple[list[str], list[Sequence[str]]]]
"""Answers a question with sessions, best first, and the messages of each hit, best first."""


def bare_fts(talks: Talks, *, by_exchange: bool) -> Ask:
    """FTS5 as it is: porter, stop words out of the question, a row for each session or each exchange."""
    database = sqlite3.connect(":memory:")
    database.execute("CREATE VIRTUAL TABLE d USING fts5 (text, tokenize = 'porter unicode61')")
    rows: list[tuple[str, Sequence[str]]] = []
    for talk in talks.talks:
        if by_exchange:
            for one in talk.exchanges:
                database.execute("INSERT INTO d (rowid, text) VALUES (?, ?)", (len(rows), one.text))
                rows.append((talk.id, one.ids))
        else:
            text = "\n".join(one.text for one in talk.exchanges)
            database.execute("INSERT INTO d (rowid, text) VALUES (?, ?)", (len(rows), text))
            rows.append((talk.id, ()))

    def ask(question: str) -> tuple[list[str], list[Sequence[str]]]:
        words = re.findall(r"\w+", question.lower())
        words = [word for word in words if word not in STOP] or words
        match = " OR ".join(f'"{word}"' for word in dict.fromkeys(words))
        found = [
            rows[number]
            for (number,) in database.execute("SELECT rowid FROM d WHERE d MATCH ? ORDER BY rank", (match,))
        ]
        return _once(name for name, _ in found), [ids for _, ids in found[:10]]

    return ask


# --- scoring ----------------------------------------------------------------------------------------------


@dataclass(slots=True)
class Score:
    """Sums over questions, by kind; "" is all of them."""

    sums: dict[str, list[float]] = field(default_factory=lambda: defaultdict(lambda: [0.0] * 4))

    def take(self, question: Question, sessions: list[str], hits: list[Sequence[str]]) -> None:
        heard = {one for ids in hits for one in ids}
        wanted = question.sessions
        for kind in ("", question.kind):
            sums = self.sums[kind]
            sums[0] += 1
            sums[1] += len(wanted & set(sessions[:5])) / len(wanted)
            sums[2] += len(wanted & set(sessions[:10])) / len(wanted)
            sums[3] += len(question.messages & heard) / max(1, len(question.messages))

    def means(self, kind: str = "") -> tuple[float, float, float]:
        count, at5, at10, exchanges = self.sums[kind]
        many = max(1.0, count)
        return 100 * at5 / many, 100 * at10 / many, 100 * exchanges / many


def score(recorded: Recorded, ask: Ask, into: Score) -> Score:
    """Put every question of a memory to one contender."""
    for question in recorded.talks.questions:
        recorded.at(question)
        into.take(question, *ask(question.text))
    return into


def unasked(recorded: Recorded, prompts: Sequence[str]) -> tuple[float, float]:
    """The share of unrelated prompts that bring anything, and of questions that bring a right session, in percent."""
    noise = sum(bool(recorded.unasked(prompt)) for prompt in prompts)
    right = 0
    for question in recorded.talks.questions:
        recorded.at(question)
        right += not question.sessions.isdisjoint(recorded.unasked(question.text))
    return 100 * noise / max(1, len(prompts)), 100 * right / max(1, len(recorded.talks.questions))


def _make_vectors(memory: Memory) -> None:
    """Wait until every text has its vector."""
    index = memory.index.current()
    while (
        memory.part(Meaning).near(index, "anything") is not None and Vectors(index.database).count_missing()
    ):
        pass


def run(report: Report, directory: str, *, dated: bool, kinds: bool, only: str, semantic: bool) -> None:
    for name, memories in sets(directory).items():
        if only and only.lower() not in name.lower():
            continue
        scores: dict[str, Score] = defaultdict(Score)
        quiet: list[tuple[float, float]] = []
        with working_directory(None) as scratch:
            for talks in memories:
                recorded = Recorded(talks, os.path.join(scratch, talks.name), dated=dated)
                if semantic:
                    _make_vectors(recorded.memory)
                contenders = {
                    "search": recorded.search,
                    "recall": recorded.recall,
                    "FTS5 by session": bare_fts(talks, by_exchange=False),
                    "FTS5 by exchange": bare_fts(talks, by_exchange=True),
                }
                for what, ask in contenders.items():
                    score(recorded, ask, scores[what])
                if prompts := unrelated(directory):
                    quiet.append(unasked(recorded, prompts))
                recorded.close()
        _tell(report, name, scores, quiet, _WANTED[name, semantic], kinds=kinds)


_WANTED = {
    ("LoCoMo", False): (0.0, 0.0, 0.0),
    ("LoCoMo", True): (1.0, 1.0, 0.0),
    ("LongMemEval", False): (3.0, 2.0, 0.0),
    ("LongMemEval", True): (5.0, 4.0, 3.0),
}
"""Points over the better of the two floors, by set and by whether search goes by meaning too."""


def _tell(
    report: Report,
    name: str,
    scores: dict[str, Score],
    quiet: list[tuple[float, float]],
    wanted: tuple[float, float, float],
    *,
    kinds: bool,
) -> None:
    rows = []
    for what, found in scores.items():
        for figure, value in zip(("R@5", "R@10", "exchanges@10"), found.means(), strict=True):
            if value:
                rows.append(Row(f"{what}: {figure}", value, unit="%"))
    floors = [scores[f"FTS5 by {row}"].means() for row in ("session", "exchange")]
    for number, figure in enumerate(("R@5", "R@10", "exchanges@10")):
        gain = scores["search"].means()[number] - max(floor[number] for floor in floors)
        rows.append(Row(f"search over the better FTS5: {figure}", gain, unit="pts", at_least=wanted[number]))
    report.section(f"{name}, {int(scores['search'].sums[''][0])} questions", rows)
    if kinds:
        report.section(
            f"{name} by kind (search: R@5, R@10, exchanges@10)",
            [
                Row(kind, means[0], unit="%", note=f"{means[1]:.1f}  {means[2]:.1f}")
                for kind in sorted(filter(None, scores["search"].sums))
                if (means := scores["search"].means(kind))
            ],
        )
    if quiet:
        noise, right = (sum(one) / len(quiet) for one in zip(*quiet, strict=True))
        report.section(
            f"{name}, unasked",
            [
                Row("unrelated prompts that bring anything", noise, unit="%", at_most=5.0),
                Row(
                    "questions that bring a right session",
                    right,
                    unit="%",
                    at_least=65.0 if name == "LongMemEval" else None,
                ),
            ],
        )


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--data", default=DATA, help="the directory with the files of both sets")
    parser.add_argument("--json", action="store_true", help="print one JSON document")
    parser.add_argument("--dated", action="store_true", help="each session on its own day, not all on one")
    parser.add_argument("--kinds", action="store_true", help="also by kind of question")
    parser.add_argument("--only", default="", metavar="NAME", help="one set")
    parser.add_argument("--semantic", action="store_true", help="by meaning too, with the extra's model")
    options = parser.parse_args()
    report = Report(as_json=options.json)
    if not sets(options.data):
        report.skip(
            f"Neither {LOCOMO} nor {LONGMEMEVAL} is in {options.data}; name their directory with --data."
        )
    chosen = {name: getattr(options, name) for name in ("dated", "kinds", "only", "semantic")}
    with nullcontext() if options.semantic else mock.patch.object(embedding, "find_spec", return_value=None):
        run(report, options.data, **chosen)
    report.finish()
    return 0


if __name__ == "__main__":
    sys.exit(main())
