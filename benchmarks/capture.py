"""What capture costs: a push, a flush against hermes-okf, ten thousand flushes, a dead writer's journal.

    python -m benchmarks.capture [--quick] [--json] [--only SECTION] [--dir DIRECTORY] [--peer PYTHON]

`--peer` names an interpreter that has hermes-okf 0.5.9, which runs in a process of its own:

    python -m venv okf && okf/bin/pip install 'hermes-okf[git]==0.5.9'
    python -m benchmarks.capture --peer okf/bin/python

Without it that section is skipped, and says so. Contenders take turns within one run; see
docs/performance.md for what was seen.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import shutil
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime

from gitmem.config import Config
from gitmem.git.git_directory import open_repository
from gitmem.git.message import Message
from gitmem.memory.capture.buffer import HotMemoryBuffer
from gitmem.memory.capture.session_page import SessionInfo
from gitmem.memory.edits import Edits
from gitmem.memory.gate.admission import redacted as take_out
from gitmem.memory.memory import Memory
from gitmem.memory.upkeep.create import create
from gitmem.okf import layout
from gitmem.okf.concept import Concept
from gitmem.okf.events import Event, EventsFile
from gitmem.world import World

from benchmarks.support import (
    _WORDS,
    Report,
    Row,
    copy_bundle,
    flush,
    git,
    interleaved,
    ratio_row,
    working_directory,
)

Events = list[dict[str, object]]


@dataclass(frozen=True, slots=True)
class Sizes:
    """How large bundles are and how often things are measured."""

    few_files: int = 100
    files: int = 10_000
    pushes: int = 10_000
    rounds: int = 24
    flushes: int = 10_000
    aged_rounds: int = 120
    journal: int = 10_000


FULL = Sizes()
QUICK = Sizes(files=1_000, pushes=1_000, rounds=5, flushes=300, aged_rounds=30)


def clock() -> datetime:
    return datetime.now(UTC)


# Content


def prose(chance: random.Random, words: int) -> str:
    return " ".join(chance.choices(_WORDS, k=words))


def mixed(chance: random.Random, count: int, *, turns: bool, first: int = 0) -> Events:
    """Events of several kinds; without turns a fifth are decisions, each a file of its own, else one in fifty."""
    made: Events = []
    for number in range(first, first + count):
        kind = number % 10
        if kind < 3:
            made.append(
                {
                    "_kind": "tool_call",
                    "tool_name": f"tool_{chance.randrange(12)}",
                    "args": {"command": prose(chance, 4)},
                    "result": prose(chance, 40),
                }
            )
        elif number % 50 == 4 if turns else kind in (4, 9):
            text = prose(chance, 8)
            made.append(
                {"_kind": "decision", "decision": text, "rationale": prose(chance, 20), "tags": ["work"]}
            )
        elif turns and kind > 5:
            made.append({"_kind": "turn", "user": prose(chance, 25), "assistant": prose(chance, 60)})
        else:
            made.append({"_kind": "observation", "content": prose(chance, 30), "category": "Observation"})
    return made


def talk(chance: random.Random, count: int) -> Events:
    """Turns, tool calls and an observation in words that are as rare and as frequent as in a language.

    `prose` has so few words that every text says what some tool said: the worst case of looking where it came from.
    """

    def say(words: int) -> str:
        return " ".join(chance.choices(_TONGUE, _FREQUENCIES, k=words))

    made: Events = []
    for number in range(count):
        if number % 5 < 2:
            made.append({"_kind": "turn", "user": say(25), "assistant": say(60)})
        elif number % 5 < 4:
            called = {"tool_name": "terminal", "args": {"command": say(4)}, "result": say(40)}
            made.append({"_kind": "tool_call", **called})
        else:
            made.append({"_kind": "observation", "content": say(30), "category": "Observation"})
    return made


_SYLLABLES = [
    a + b for a in "bdfgklmnprstvw" for b in ("a", "e", "i", "o", "u", "an", "el", "or", "is", "un")
]
_TONGUE = ["".join(random.Random(rank).choices(_SYLLABLES, k=1 + rank % 4)) for rank in range(5_000)]
_FREQUENCIES = [1 / (10 + rank) for rank in range(5_000)]


def make_bundle(root: str, files: int) -> Memory:
    """A bundle with so many files: sessions with their parts over two years, and decisions."""
    bundle, _ = create(World(os.environ, clock=clock), root, config=Config(machine="benchmark"))
    chance = random.Random(files)

    def work(edits: Edits) -> Message | None:
        count = 0
        number = 0
        while count < files:
            number += 1
            at = f"{2025 + number % 2}-{1 + number % 12:02d}-{1 + number % 28:02d}T10:00:00Z"
            session = f"session-{number:05d}"
            path = layout.session(session, at)
            edits.write_concept(
                path,
                Concept.new(
                    layout.SESSION,
                    "",
                    title=f"Session {session}",
                    session=session,
                    started=at,
                    status="closed",
                ),
            )
            count += 1
            for part in range(1, 4):
                events = [
                    Event(
                        f"{number:032x}-{part * 10 + each}",
                        "turn",
                        at,
                        {"user": prose(chance, 12), "assistant": prose(chance, 30)},
                    )
                    for each in range(2)
                ]
                name = f"{path.removesuffix('.md')}/{number:032x}-{part:04d}.md"
                edits.write_concept(name, EventsFile.new(session).append(events).concept)
                count += 1
            text = prose(chance, 6)
            where = layout.decision(text, at, lambda candidate: candidate in edits, str(number))
            edits.write_concept(where, Concept.new(layout.DECISION, f"{text}\n", title=text, session=session))
            count += 1
        return Message("import", f"{count} files")

    bundle.commit(work, purpose="benchmark", origin=bundle.origin())
    return bundle


@contextmanager
def buffer_of(bundle: Memory, session: str = "benchmark") -> Iterator[HotMemoryBuffer]:
    buffer = HotMemoryBuffer(
        bundle, SessionInfo(session, agent="hermes", machine="benchmark"), max_items=10**9
    )
    try:
        yield buffer
    finally:
        buffer.close()


def push_all(buffer: HotMemoryBuffer, events: Events) -> None:
    for event in events:
        buffer.push(**event)  # type: ignore[arg-type]


def check_clean(bundle: Memory) -> None:
    """A figure counts only if git finds nothing to say about what was made."""
    if git(bundle.root, "status", "--porcelain") or git(bundle.root, "fsck", "--strict"):
        raise RuntimeError(f"{bundle.root} is not clean")


# Section: push


def push_section(where: str, sizes: Sizes, report: Report) -> None:
    """A push of 200 characters, its redactor, and a bare write of the line, at two sizes of bundle."""
    text = (prose(random.Random(1), 60) + " " * 200)[:200]
    rows: list[Row] = []
    medians: dict[int, float] = {}
    for files in (sizes.few_files, sizes.files):
        bundle = make_bundle(os.path.join(where, f"push-{files}"), files)
        with buffer_of(bundle) as buffer:
            pushed, redacted, written = _pushes(buffer, bundle, text, sizes.pushes)
        medians[files] = pushed
        rows += [
            Row(
                f"push at {files:,} files, without the redactor",
                pushed - redacted,
                unit="µs",
                at_most=60,
                note=f"{pushed:.1f} µs, of which the redactor {redacted:.1f}",
            ),
            Row(f"push at {files:,} files / a bare write of its line", pushed / written),
        ]
    rows.append(
        Row(
            f"push at {sizes.files:,} files / at {sizes.few_files:,}",
            medians[sizes.files] / medians[sizes.few_files],
            at_most=1.25,
        )
    )
    report.section("Push of a 200-character event (journal as by default), median", rows)


def _pushes(buffer: HotMemoryBuffer, bundle: Memory, text: str, count: int) -> tuple[float, float, float]:
    """Medians in microseconds: the whole push, the redactor on its fields, a bare write."""
    buffer.push(content=text, category="preference")
    with open(os.path.join(bundle.journal_dir, f"{buffer.writer}.jsonl"), "rb") as file:
        line = file.read().splitlines(keepends=True)[-1]
    bare = os.open(os.path.join(bundle.state.directory, "bare"), os.O_RDWR | os.O_APPEND | os.O_CREAT, 0o644)

    def redact() -> None:
        take_out(text)
        take_out("preference")

    contenders: dict[str, Callable[[], object]] = {
        "push": lambda: buffer.push(content=text, category="preference"),
        "redact": redact,
        "write": lambda: os.write(bare, line),
    }
    taken: dict[str, list[int]] = {name: [] for name in contenders}
    for _ in range(max(1, count // 50)):
        for name, work in contenders.items():
            for _ in range(50):
                begun = time.perf_counter_ns()
                work()
                taken[name].append(time.perf_counter_ns() - begun)
    os.close(bare)
    pushed, redacted, written = (statistics.median(taken[name]) / 1000 for name in contenders)
    return pushed, redacted, written


# Section: flush


class Peer:
    """hermes-okf in its own process, on a copy of the files."""

    def __init__(self, python: str, root: str) -> None:
        script = os.path.join(os.path.dirname(os.path.abspath(__file__)), "peer_okf.py")
        self._process = subprocess.Popen(
            [python, script, root], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )
        if self._answer() != "ready":
            raise RuntimeError("hermes-okf did not start")

    def flush(self, events: Events) -> float:
        assert self._process.stdin is not None
        self._process.stdin.write(json.dumps(events) + "\n")
        self._process.stdin.flush()
        return float(self._answer())

    def _answer(self) -> str:
        assert self._process.stdout is not None
        line = self._process.stdout.readline().strip()
        if not line:
            raise RuntimeError("hermes-okf ended; its message is above")
        return line

    def close(self) -> None:
        assert self._process.stdin is not None
        self._process.stdin.close()
        self._process.wait(60)


def has_peer(python: str) -> bool:
    done = subprocess.run(
        [python, "-c", "import hermes_okf.git_bundle, git"], capture_output=True, check=False
    )
    return done.returncode == 0


def flush_section(where: str, sizes: Sizes, report: Report, python: str) -> None:
    """50 events, durable, with work tree, git index and search index right, against hermes-okf."""
    bundle = make_bundle(os.path.join(where, "flush"), sizes.files)
    bundle.index.current()
    peer: Peer | None = None
    if has_peer(python):
        copy = os.path.join(where, "okf")
        shutil.copytree(bundle.root, copy, ignore=shutil.ignore_patterns(".git", ".gitignore"))
        peer = Peer(python, copy)
    else:
        report.skip(f"{python} has no hermes-okf[git]==0.5.9; name an interpreter that has with --peer")
    stages: dict[str, float] = {}
    with buffer_of(bundle) as buffer:

        def ours(number: int) -> dict[str, float]:
            push_all(buffer, mixed(random.Random(number), 50, turns=False))
            stages.clear()
            begun = time.perf_counter()
            bundle.repository.on_stage = _noting(stages, begun)
            buffer.flush()
            stages["committed"] = time.perf_counter() - begun
            bundle.index.current()
            return {**stages, "all": time.perf_counter() - begun}

        def theirs(number: int) -> float:
            assert peer is not None
            return peer.flush(mixed(random.Random(number), 50, turns=False))

        taken = interleaved({"gitmem": ours, **({"okf": theirs} if peer else {})}, sizes.rounds)
    whole = taken["gitmem/all"]
    rows = []
    if peer:
        rows.append(ratio_row("hermes-okf / gitmem: times faster", taken["okf"], whole, at_least=5))
        peer.close()
    for stage, name in (
        ("acknowledged", "until acknowledged (objects, note and ref on disk)"),
        ("committed", "until work tree and git's index are right"),
        ("all", "until the search index is right"),
    ):
        rows.append(Row(name, 1000 * statistics.median(taken[f"gitmem/{stage}"].values()), unit="ms"))
    report.section(f"Flush of 50 events at {sizes.files:,} files", rows)
    check_clean(bundle)


# Section: path


def path_section(where: str, sizes: Sizes, report: Report) -> None:
    """10 events of a talk through the whole path, against the engine's commit of the same files in a copy."""
    bundle = make_bundle(os.path.join(where, "path"), sizes.files)
    engine = open_repository(copy_bundle(bundle.root, os.path.join(where, "engine")))
    with buffer_of(bundle) as buffer:

        def both(number: int) -> dict[str, float]:
            push_all(buffer, talk(random.Random(number), 10))
            before = bundle.tree()
            begun = time.perf_counter()
            buffer.flush()
            path = time.perf_counter() - begun
            tree = bundle.tree()
            changed = {change.path: tree.read(change.path) or b"" for change in before.changes(tree)}
            return {"path": path, "engine": flush(engine, changed)["all"]}

        taken = interleaved({"gitmem": both}, sizes.rounds)
    report.section(
        f"Flush of 10 events at {sizes.files:,} files",
        [
            ratio_row(
                "the whole path / the engine's commit of the same files",
                taken["gitmem/path"],
                taken["gitmem/engine"],
                at_most=2,
            )
        ],
    )
    check_clean(bundle)


# Section: growth


def growth_section(where: str, sizes: Sizes, report: Report) -> None:
    """The same flush in a bundle that has seen thousands of them, and in a young one."""
    young, old = (make_bundle(os.path.join(where, name), 100) for name in ("young", "old"))
    chance = random.Random(5)
    begun = time.perf_counter()
    for number in range(sizes.flushes // 20):
        with buffer_of(old, f"work-{number:05d}") as buffer:
            for each in range(20):
                push_all(buffer, mixed(chance, 10, turns=True, first=10 * each))
                buffer.flush()
        old.index.current()
    aged = time.perf_counter() - begun
    young.index.current()

    def contender(bundle: Memory, buffer: HotMemoryBuffer) -> Callable[[int], float]:
        def run(number: int) -> float:
            push_all(buffer, mixed(random.Random(number), 10, turns=True, first=10 * number))
            started = time.perf_counter()
            buffer.flush()
            bundle.index.current()
            return time.perf_counter() - started

        return run

    with buffer_of(young, "last") as first, buffer_of(old, "last") as last:
        taken = interleaved(
            {"young": contender(young, first), "old": contender(old, last)}, sizes.aged_rounds, warm_up=5
        )
    size = sum(
        os.path.getsize(os.path.join(base, name))
        for base, _, names in os.walk(old.repository.git_dir)
        for name in names
    )
    report.section(
        f"A flush of 10 events after {sizes.flushes:,} flushes",
        [
            ratio_row(
                f"after {sizes.flushes:,} flushes / at the start", taken["old"], taken["young"], at_most=1.5
            ),
            Row("all of these flushes together", aged, unit="s"),
            Row("git directory, with the index", size / 1e6, unit="MB"),
        ],
    )
    check_clean(old)


# Section: recovery


def recovery_section(where: str, sizes: Sizes, report: Report) -> None:
    """What a dead writer left, committed by the next start."""
    bundle = make_bundle(os.path.join(where, "recovery"), 100)
    samples: list[float] = []
    acknowledged: list[float] = []
    ratios: list[float] = []
    for number in range(3):
        buffer = HotMemoryBuffer(bundle, SessionInfo(f"dead-{number}", agent="hermes"), max_items=10**9)
        for event in mixed(random.Random(number), sizes.journal, turns=True):
            buffer.push(**event)  # type: ignore[arg-type]
        path = os.path.join(bundle.journal_dir, f"{buffer.writer}.jsonl")
        buffer.abandon()
        begun = time.perf_counter()
        with open(path, encoding="utf-8") as file:
            read = [json.loads(line.partition(" ")[2] if line[0] != "{" else line) for line in file]
        bare = time.perf_counter() - begun
        begun = time.perf_counter()
        stages: dict[str, float] = {}
        bundle.repository.on_stage = _noting(stages, begun)
        bundle.recover_journals()
        samples.append(time.perf_counter() - begun)
        acknowledged.append(stages["acknowledged"])
        ratios.append(samples[-1] / bare)
        if len(read) != sizes.journal + 1 or len(bundle.sessions.events(f"dead-{number}")) != sizes.journal:
            raise RuntimeError("recovery lost something")
    report.section(
        f"Recovery of a journal with {sizes.journal:,} events",
        [
            Row("one commit, best of three", min(samples), unit="s", at_most=2),
            Row("until acknowledged; then some 540 files are made", min(acknowledged), unit="s"),
            Row("recovery / reading and parsing the lines", statistics.median(ratios)),
        ],
    )
    check_clean(bundle)


def _noting(stages: dict[str, float], begun: float) -> Callable[[str], None]:
    return lambda stage: stages.__setitem__(stage, time.perf_counter() - begun)


SECTIONS = ("push", "flush", "path", "growth", "recovery")


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the sections and print the figures."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--quick", action="store_true", help="small sizes: does it run at all?")
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--only", choices=SECTIONS, action="append")
    parser.add_argument("--dir", help="where bundles are made: a real disk, not memory")
    parser.add_argument("--peer", default=sys.executable, help="an interpreter with hermes-okf[git]==0.5.9")
    options = parser.parse_args(arguments)
    sizes = QUICK if options.quick else FULL
    report = Report(as_json=options.json)
    wanted = options.only or SECTIONS
    with working_directory(options.dir) as where:
        if "push" in wanted:
            push_section(where, sizes, report)
        if "flush" in wanted:
            flush_section(where, sizes, report, options.peer)
        if "path" in wanted:
            path_section(where, sizes, report)
        if "growth" in wanted:
            growth_section(where, sizes, report)
        if "recovery" in wanted:
            recovery_section(where, sizes, report)
    report.finish()
    return 0


if __name__ == "__main__":
    sys.exit(main())
