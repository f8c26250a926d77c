"""How well recall finds what was said, on real conversations with questions and their evidence.

    python -m benchmarks.retrieval [--data FILE] [--json] [--utterances] [--undated]

LoCoMo (Maharana et al. 2024, CC BY-NC 4.0) is used where it lies and never copied. Each conversation becomes a
bundle through the real capture path: sessions, turns, flushes, commits. Then its questions are asked. Reported
against the evidence: session recall at 5 and 10 (mean share of the evidence's sessions), turn recall at 10.
Floors on the same texts: plain FTS5 with porter stemming and stop words removed, one document a session; and
hermes-okf 0.5.9's SearchIndex where it is installed.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import sqlite3
import sys
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta

from gitmem.config import Config
from gitmem.index.query import parse
from gitmem.memory.find.recall import Recall
from gitmem.memory.find.search import Wanted
from gitmem.memory.upkeep.create import create
from gitmem.text.words import STOP
from gitmem.world import World

from benchmarks.support import Report, Row, working_directory

_HERE = os.path.dirname(os.path.abspath(__file__))
DATA = os.path.join(_HERE, "..", "..", "shared", "data", "locomo-dev.json")
CATEGORIES = {1: "multi-hop", 2: "temporal", 3: "inference", 4: "single-hop", 5: "adversarial"}
_EVIDENCE = re.compile(r"D(\d+):(\d+)")


# --- the data ---------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Talk:
    """One session of a conversation: when it was, and its turns as (dia_id, speaker, text)."""

    number: int
    at: datetime
    turns: list[tuple[str, str, str]]

    @property
    def text(self) -> str:
        return "\n".join(f"{speaker}: {text}" for _, speaker, text in self.turns)


@dataclass(frozen=True)
class Question:
    text: str
    category: int
    turns: frozenset[str]

    @property
    def sessions(self) -> set[int]:
        return {int(turn[1:].partition(":")[0]) for turn in self.turns}


@dataclass(frozen=True)
class Conversation:
    name: str
    talks: list[Talk]
    questions: list[Question]


def conversations(path: str) -> Iterator[Conversation]:
    with open(path, encoding="utf-8") as file:
        data = json.load(file)
    for item in data:
        found = item["conversation"]
        talks = []
        numbers = sorted(int(key[8:]) for key in found if re.fullmatch(r"session_\d+", key))
        for number in numbers:
            said = found[f"session_{number}_date_time"] + " +0000"
            at = datetime.strptime(said, "%I:%M %p on %d %B, %Y %z")
            turns = [(turn["dia_id"], turn["speaker"], turn["text"]) for turn in found[f"session_{number}"]]
            talks.append(Talk(number, at.replace(tzinfo=UTC), turns))
        questions = []
        for one in item["qa"]:
            evidence = {f"D{a}:{b}" for part in one.get("evidence", []) for a, b in _EVIDENCE.findall(part)}
            if evidence:
                questions.append(Question(one["question"], one["category"], frozenset(evidence)))
        yield Conversation(item["sample_id"], talks, questions)


# --- contenders -------------------------------------------------------------------------------------------

Ask = Callable[[str], tuple[list[int], list[set[str]]]]
"""Answers a question with sessions, best first, and turns as sets of dia_ids, best first (or none)."""


def ours(conversation: Conversation, root: str, *, utterances: bool, undated: bool) -> tuple[Ask, Ask]:
    """A bundle of the conversation; asked through recall's ranking, and through search alone."""
    said: dict[str, set[str]] = {}
    clock = _Clock(conversation.talks[0].at)
    bundle = create(World(os.environ, clock=clock), root, config=Config(machine="bench", fsync="off"))[0]
    for talk in conversation.talks:
        clock.now = conversation.talks[-1].at if undated else max(clock.now, talk.at)
        with bundle.session(f"session-{talk.number}") as session:
            for group in _grouped(talk.turns, 1 if utterances else 2):
                fields = {
                    role: f"{speaker}: {text}"
                    for role, (_, speaker, text) in zip(("user", "assistant"), group, strict=False)
                }
                event = session.buffer.push("turn", **fields)
                said[event] = {dia for dia, _, _ in group}
                clock.now += timedelta(seconds=30)
    clock.now += timedelta(days=1)
    bundle.index.current()

    def recall(question: str) -> tuple[list[int], list[set[str]]]:
        index = bundle.index.current()
        ranked = bundle.part(Recall).ranked(index, parse(question, strict=False), Wanted())
        return [int(one.session.removeprefix("session-")) for one in ranked], []

    def search(question: str) -> tuple[list[int], list[set[str]]]:
        hits = bundle.search(question, limit=50).hits
        sessions = dict.fromkeys(int(hit.session.removeprefix("session-")) for hit in hits)
        return list(sessions), [said.get(hit.key.id, set()) for hit in hits[:10]]

    return recall, search


def _grouped(turns: Sequence[tuple[str, str, str]], size: int) -> Iterator[Sequence[tuple[str, str, str]]]:
    """One exchange after the other: what one said, and what the other answered."""
    for start in range(0, len(turns), size):
        yield turns[start : start + size]


class _Clock:
    def __init__(self, now: datetime) -> None:
        self.now = now

    def __call__(self) -> datetime:
        return self.now


def plain_fts(conversation: Conversation, *, by_turn: bool = False) -> Ask:
    """FTS5 with porter stemming, stop words removed from the question; one document a session, or a turn."""
    database = sqlite3.connect(":memory:")
    database.execute(
        "CREATE VIRTUAL TABLE d USING fts5 (name UNINDEXED, text, tokenize = 'porter unicode61')"
    )
    for talk in conversation.talks:
        if by_turn:
            rows = [(dia, f"{speaker}: {text}") for dia, speaker, text in talk.turns]
        else:
            rows = [(str(talk.number), talk.text)]
        database.executemany("INSERT INTO d VALUES (?, ?)", rows)

    def ask(question: str) -> tuple[list[int], list[set[str]]]:
        words = re.findall(r"\w+", question.lower())
        words = [word for word in words if word not in STOP] or words
        match = " OR ".join(f'"{word}"' for word in dict.fromkeys(words))
        found = [
            name for (name,) in database.execute("SELECT name FROM d WHERE d MATCH ? ORDER BY rank", (match,))
        ]
        if not by_turn:
            return [int(name) for name in found], []
        sessions = dict.fromkeys(int(name[1:].partition(":")[0]) for name in found)
        return list(sessions), [{name} for name in found[:10]]

    return ask


def hermes_okf(conversation: Conversation, root: str) -> Ask:
    """hermes-okf's SearchIndex over one concept a session."""
    from hermes_okf.bundle import OKFBundle
    from hermes_okf.search import SearchIndex

    bundle = OKFBundle(root)
    for talk in conversation.talks:
        bundle.write_concept(f"sessions/s{talk.number}", talk.text, type="Session")
    index = SearchIndex(bundle)

    def ask(question: str) -> tuple[list[int], list[set[str]]]:
        found = index.search(question, top_k=10)
        return [int(re.sub(r".*/s", "", name)) for name, _ in found], []

    return ask


# --- scoring ----------------------------------------------------------------------------------------------


@dataclass
class Score:
    """Sums by category; 0 is all of them."""

    at5: dict[int, float] = field(default_factory=lambda: defaultdict(float))
    at10: dict[int, float] = field(default_factory=lambda: defaultdict(float))
    turns: dict[int, float] = field(default_factory=lambda: defaultdict(float))
    count: dict[int, int] = field(default_factory=lambda: defaultdict(int))

    def take(self, question: Question, sessions: list[int], turns: list[set[str]]) -> None:
        wanted = question.sessions
        heard = set().union(*turns[:10]) if turns else set()
        for category in (0, question.category):
            self.count[category] += 1
            self.at5[category] += len(wanted & set(sessions[:5])) / len(wanted)
            self.at10[category] += len(wanted & set(sessions[:10])) / len(wanted)
            self.turns[category] += len(question.turns & heard) / len(question.turns)

    def mean(self, sums: dict[int, float], category: int = 0) -> float:
        return 100 * sums[category] / max(1, self.count[category])


def run(path: str, report: Report, *, utterances: bool, undated: bool) -> None:
    scores: dict[str, Score] = defaultdict(Score)
    by_conversation: list[tuple[str, float, float]] = []
    with working_directory(None) as directory:
        for conversation in conversations(path):
            root = os.path.join(directory, conversation.name)
            recall, search = ours(conversation, root, utterances=utterances, undated=undated)
            contenders = {
                "gitmem": recall,
                "gitmem search": search,
                "FTS5 by session": plain_fts(conversation),
                "FTS5 by turn": plain_fts(conversation, by_turn=True),
            }
            try:
                contenders["hermes-okf"] = hermes_okf(conversation, root + "-okf")
            except ImportError:
                pass
            here: dict[str, Score] = defaultdict(Score)
            for question in conversation.questions:
                for name, ask in contenders.items():
                    answer = ask(question.text)
                    scores[name].take(question, *answer)
                    here[name].take(question, *answer)
            by_conversation.append(
                (
                    conversation.name,
                    here["gitmem"].mean(here["gitmem"].at5),
                    here["FTS5 by session"].mean(here["FTS5 by session"].at5),
                )
            )
    floor, mine = scores["FTS5 by session"], scores["gitmem"]
    rows = []
    for name, score in scores.items():
        rows.append(Row(f"{name}: session recall at 5", score.mean(score.at5), unit="%"))
        rows.append(Row(f"{name}: session recall at 10", score.mean(score.at10), unit="%"))
        if any(score.turns.values()):
            rows.append(Row(f"{name}: turn recall at 10", score.mean(score.turns), unit="%"))
    hits = scores["gitmem search"]
    for what, score in (("recall", mine), ("search", hits)):
        gain = score.mean(score.at5) - floor.mean(floor.at5)
        rows.append(Row(f"gitmem {what} over FTS5 by session, at 5", gain, unit="pts", at_least=2.0))
    report.section(f"LoCoMo, {mine.count[0]} questions", rows)
    report.section(
        "by category (session recall at 5, at 10; turn recall at 10)",
        [
            Row(
                f"{CATEGORIES[category]} ({mine.count[category]})",
                mine.mean(mine.at5, category),
                unit="%",
                note=f"floor {floor.mean(floor.at5, category):.1f}; at 10 {mine.mean(mine.at10, category):.1f}; "
                f"turns {hits.mean(hits.turns, category):.1f}",
            )
            for category in CATEGORIES
        ],
    )
    report.section(
        "by conversation (session recall at 5)",
        [Row(name, value, unit="%", note=f"floor {other:.1f}") for name, value, other in by_conversation],
    )
    if "hermes-okf" not in scores:
        report.skip(
            "hermes-okf is not installed here: `pip install hermes-okf==0.5.9` beside gitmem adds it."
        )


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--data", default=DATA, help="a file in LoCoMo's layout")
    parser.add_argument("--json", action="store_true", help="print one JSON document")
    parser.add_argument(
        "--utterances", action="store_true", help="one event for each utterance, not for each exchange"
    )
    parser.add_argument("--undated", action="store_true", help="all sessions on one day")
    options = parser.parse_args()
    if not os.path.exists(options.data):
        print(f"Skipped: {options.data} is not here. It is LoCoMo's own file; name yours with --data.")
        return 0
    report = Report(as_json=options.json)
    run(options.data, report, utterances=options.utterances, undated=options.undated)
    report.finish()
    return 0


if __name__ == "__main__":
    sys.exit(main())
