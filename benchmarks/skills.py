"""The figures of skills: what the guard finds beside hermes-agent's, its worst time, and how long a thousand take.

    python -m benchmarks.skills [--data FILE] [--shipped DIR] [--only guard|time|list]

The guard is measured on the lines of ../shared/data/scanner-dev.jsonl, which it says if they are not there: recall on the
tier `tool-abuse` (with whole malicious skills, source `atr-mal-skill`), false alarms on the benign tiers. The guard of
hermes-agent (`skills_guard`) judges the same lines as a SKILL.md, where it can be imported. `--shipped` is a directory with
skills that people use, such as ~/.hermes/skills: none may be dangerous.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from pathlib import Path
from typing import Any

from gitmem.config import Config
from gitmem.memory.gate.skill_guard import text_of
from gitmem.memory.memory import Memory
from gitmem.memory.skills.catalog import Catalog
from gitmem.memory.upkeep.create import create
from gitmem.okf.skills import stored
from gitmem.safety.rules import load_shipped
from gitmem.safety.scanner import Scanner
from gitmem.world import World

from benchmarks.redos import shapes

DATA = Path(__file__).resolve().parent.parent.parent / "shared" / "data" / "scanner-dev.jsonl"
ATTACKS = "tool-abuse"
SIZE = 100_000
SKILLS = 1_000
Judge = Callable[[str], str]
_NAMES = {"allow": "safe", "hold": "caution", "block": "dangerous"}


def ours(text: str) -> str:
    return _NAMES[Scanner.shipped().scan(text, "skill", path="skills/x/SKILL.md").verdict]


def theirs() -> Judge | None:
    """hermes-agent's guard, on a file of its own for each text."""
    try:
        from tools import skills_guard
    except ImportError:
        return None
    directory = Path(tempfile.mkdtemp())
    file = directory / "SKILL.md"

    def judge(text: str) -> str:
        file.write_text(text, encoding="utf-8", errors="replace")
        return str(skills_guard._determine_verdict(skills_guard.scan_file(file, file.name)))

    return judge


def guard(data: Path) -> bool:
    """Recall and false alarms, ours beside theirs; whether ours are as good as they should be."""
    if not data.exists():
        print(f"{data} is not there: the guard is not measured.")
        return True
    rows = [row for row in map(json.loads, data.read_text().splitlines()) if _counts(row)]
    judges: dict[str, Judge] = {"gitmem": ours}
    if (peer := theirs()) is not None:
        judges["hermes-agent"] = peer
    found: dict[str, Mapping[str, Counter[str]]] = {
        name: _judged(rows, judge) for name, judge in judges.items()
    }
    for name in sorted(found["gitmem"]):
        print(f"{name:<28}", end="")
        for judge, table in found.items():
            counts = table[name]
            flagged = counts["caution"] + counts["dangerous"]
            share = flagged / counts.total()
            print(
                f"  {judge}: {flagged:>4} of {counts.total():>5} ({share:6.2%}), {counts['dangerous']:>3} dangerous",
                end="",
            )
        print()
    if peer is None:
        return True
    recall = {judge: _flagged(table[ATTACKS]) for judge, table in found.items()}
    alarms = {
        judge: sum(_flagged(table[name]) for name in table if " " not in name and name != ATTACKS)
        for judge, table in found.items()
    }
    print(f"recall: {recall['gitmem'] / max(1, recall['hermes-agent']):.1f} times; false alarms {alarms}")
    return recall["gitmem"] >= 2 * recall["hermes-agent"] and alarms["gitmem"] <= alarms["hermes-agent"]


def _counts(row: Mapping[str, Any]) -> bool:
    return not row["label"] or row["tier"] == ATTACKS


def _judged(rows: list[dict[str, Any]], judge: Judge) -> dict[str, Counter[str]]:
    found: dict[str, Counter[str]] = {}
    for row in rows:
        verdict = judge(row["text"])
        names = [row["tier"]]
        if row["tier"] == ATTACKS:
            names.append(f"{ATTACKS} {row['source']}")
        for name in names:
            found.setdefault(name, Counter())[verdict] += 1
    return found


def _flagged(counts: Counter[str]) -> int:
    return counts["caution"] + counts["dangerous"]


def shipped(directory: str) -> bool:
    """What is said of the skills that people use."""
    scanner, counts, dangerous = Scanner.shipped(), Counter[str](), []
    for top, below, names in os.walk(directory):
        if "SKILL.md" in names:
            below[:] = []
            texts = {name: data.decode("utf-8", "replace") for name, data in _files(top).items()}
            worst = max(
                (scanner.scan(text, "skill", path=f"skills/x/{name}").verdict for name, text in texts.items())
            )
            counts[_NAMES[worst]] += 1
            if worst == "block":
                dangerous.append(os.path.relpath(top, directory))
    print(f"{directory}: {dict(counts)}", *dangerous, sep="\n  ")
    return not dangerous


def _files(top: str) -> dict[str, bytes]:
    """All files of a skill that are text, also where it has more of them than a skill may have."""
    found = {
        path.relative_to(top).as_posix(): path.read_bytes() for path in Path(top).rglob("*") if path.is_file()
    }
    return {name: data for name, data in found.items() if text_of(data) is not None}


def worst_time(limit: float) -> bool:
    """The slowest of many texts of 100 KB that are made to hurt, as pages and as scripts."""
    scanner = Scanner.shipped()
    rules = (*load_shipped("skill_rules")[0], *scanner.rules)
    times: list[tuple[float, str]] = []
    for name, text in (*shapes(rules, SIZE), *_scripts()):
        path = f"skills/x/scripts/{name}" if name.startswith("script.") else "skills/x/SKILL.md"
        times.append((_best(partial(scanner.scan, text, "skill", path=path), limit), name))
    times.sort(reverse=True)
    for taken, name in times[:8]:
        print(f"{taken:7.1f} ms  {name}")
    print(f"worst of {len(times)}: {times[0][0]:.1f} ms, wanted: {limit:.0f} ms")
    return times[0][0] <= limit


def _scripts() -> Iterator[tuple[str, str]]:
    for ending in ("py", "sh", "js"):
        for number, piece in enumerate(
            ("'", '"', '"""', "/*", "#", "\\", "`", "'\"", "$(", "echo '", "run('rm -rf / ", "# x\n'")
        ):
            yield f"script.{number}.{ending}", (piece * (SIZE // len(piece) + 1))[:SIZE]


def _best(work: Callable[[], object], limit: float, runs: int = 8) -> float:
    """Processor time in milliseconds, the best of a few runs: what else the machine does is not the question."""
    best = float("inf")
    for _ in range(runs):
        begun = time.process_time()
        work()
        best = min(best, (time.process_time() - begun) * 1000)
        if best < limit / 2:
            break
    return best


def listing() -> bool:
    """How long it takes to list a thousand skills, and to make the index of a prompt."""
    with tempfile.TemporaryDirectory() as directory:
        memory, _ = create(World(os.environ), os.path.join(directory, "mem"), config=Config(machine="here"))
        with memory:
            _fill(memory)
            first = _best(lambda: Catalog(memory).of_bundle(), 50, runs=1)
            again = _best(lambda: Catalog(memory).of_bundle(), 50)
            memory.skills.index()
            index = _best(lambda: memory.skills.index(budget=100_000), 20)
            fresh = _best(lambda: memory.skills.index(budget=100_001), 20, runs=1)
    print(f"listing {SKILLS} skills: {again:.1f} ms (wanted 50), for the first time {first:.1f} ms")
    print(f"prompt index of {SKILLS}: {index:.2f} ms the same again, {fresh:.1f} ms built again (wanted 20)")
    return again <= 50 and fresh <= 20


def _fill(memory: Memory) -> None:
    from gitmem.git.message import Message
    from gitmem.memory.edits import Edits

    def work(edits: Edits) -> Message:
        for number in range(SKILLS):
            name = f"skill-{number:04}"
            text = (
                f"---\nname: {name}\ndescription: How to do the thing of number {number}\nversion: 1.{number}\n"
                f"platforms: [linux, macos]\n---\n\n# {name}\n\n1. Do it.\n"
            )
            path = f"skills/category-{number % 20}/{name}/SKILL.md"
            edits.write(path, stored(path, text.encode()))
        return Message("skill", "a thousand")

    memory.commit(work, purpose="skill", origin=memory.origin())


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, default=DATA)
    parser.add_argument("--shipped", default="")
    parser.add_argument("--limit", type=float, default=50.0, help="milliseconds for a hostile text")
    parser.add_argument("--only", choices=("guard", "time", "list"))
    given = parser.parse_args()
    checks: dict[str, Callable[[], bool]] = {
        "guard": lambda: guard(given.data),
        "time": lambda: worst_time(given.limit),
        "list": listing,
    }
    wanted = [given.only] if given.only else list(checks)
    good = [checks[name]() for name in wanted]
    if given.shipped:
        good.append(shipped(given.shipped))
    return 0 if all(good) else 1


if __name__ == "__main__":
    sys.exit(main())
