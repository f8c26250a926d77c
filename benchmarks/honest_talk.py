"""What the scanner makes of honest talk: turns held when they are recorded, and kept back when they are searched for.

    python -m benchmarks.honest_talk [--data DIRECTORY]

Reads honest-turns-dev.json.gz and longmemeval-dev.json.gz of ../shared/data where they lie, and says so if they are not
there. Names every rule that fires. Exit 1 where a turn is held, or more than 0.2 % are kept back.
"""

from __future__ import annotations

import argparse
import gzip
import json
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from gitmem.safety.scanner import Scanner
from gitmem.safety.verdict import Scope, Verdict

DATA = Path(__file__).resolve().parent.parent.parent / "shared" / "data"
MOST_KEPT_BACK = 0.002


def turns_in(data: Path) -> Iterator[tuple[str, str]]:
    """The turns of both files: what the user said, and what the assistant answered."""

    def read(name: str) -> Any:
        return json.loads(gzip.decompress((data / name).read_bytes()))

    sessions = [
        read("honest-turns-dev.json.gz"),
        *(one["turns"] for one in read("longmemeval-dev.json.gz")["sessions"]),
    ]
    for session in sessions:
        yield from ((turn["user"], turn["assistant"]) for turn in session)


def verdicts(turns: list[tuple[str, str]], scope: Scope) -> tuple[Counter[str], Counter[str]]:
    """How many turns have which verdict, message by message; and how often each rule fired."""
    scanner = Scanner.shipped()
    counts: Counter[str] = Counter()
    fired: Counter[str] = Counter()
    for turn in turns:
        results = [scanner.scan(text, scope) for text in turn]
        counts[str(max(result.verdict for result in results))] += 1
        fired.update(finding.rule for result in results for finding in result.findings)
    return counts, fired


def main() -> int:
    """Print the figures; exit 1 if one is missed."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", type=Path, default=DATA)
    options = parser.parse_args()
    if not (options.data / "honest-turns-dev.json.gz").is_file():
        print(f"skipped: the turns are not in {options.data}; name the directory with --data")
        return 0
    turns = list(turns_in(options.data))
    recorded, fired = verdicts(turns, "event")
    shown, marked = verdicts(turns, "recall")
    held, kept_back = recorded[Verdict.BLOCK], shown[Verdict.BLOCK]
    print(f"{len(turns):,} turns: {held} held when recorded {dict(fired)}")
    print(f"{kept_back} kept back when searched for, {shown[Verdict.HOLD]} shown with a mark {dict(marked)}")
    missed = held > 0 or kept_back > MOST_KEPT_BACK * len(turns)
    print("a figure is missed" if missed else "all figures are reached")
    return int(missed)


if __name__ == "__main__":
    sys.exit(main())
