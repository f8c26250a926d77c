"""How fast the sessions of another program are imported, and how much memory that takes.

    python -m benchmarks.exchange [--sessions N] [--messages N]

A state.db with so many sessions of so many messages is made and imported, in a process of its own. The target is
2,000 messages per second, whatever their number, in bounded memory: the peak at twice the sessions is given beside it.
"""

from __future__ import annotations

import argparse
import json
import re
import sqlite3
import subprocess
import sys
import tempfile
import time
from pathlib import Path

_TARGET = 2000
_WORDS = re.findall(
    r"\w+",
    "the build failed because a port was taken so we moved it and then ran all tests again which took a while but "
    "nothing else broke and the notes say where the log is kept for the next time somebody asks",
)
_CHILD = """
import json, resource, sys, time
from gitmem.config import Config
from gitmem.memory.upkeep.create import create
from gitmem.world import World
memory, _ = create(World.real(), sys.argv[2], config=Config(machine="bench"))
begun = time.perf_counter(), time.process_time()
done = memory.bring_in("hermes", sys.argv[1], sessions=True)
took = time.perf_counter() - begun[0], time.process_time() - begun[1]
memory.close()
peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
print(json.dumps({"seconds": took[0], "processor": took[1], "peak_mb": peak / 1024, "held": len(done.held)}))
"""


def made(home: Path, sessions: int, messages: int) -> None:
    """A home whose state.db has so many sessions."""
    home.mkdir(parents=True)
    with sqlite3.connect(home / "state.db") as sql:
        sql.execute(
            "CREATE TABLE sessions (id TEXT PRIMARY KEY, source TEXT, model TEXT, started_at REAL, ended_at REAL)"
        )
        sql.execute(
            "CREATE TABLE messages (id INTEGER PRIMARY KEY, session_id TEXT, role TEXT, content TEXT, timestamp REAL)"
        )
        sql.execute("CREATE INDEX by_session ON messages (session_id)")
        for number in range(sessions):
            name, start = f"s{number:06}", 1_700_000_000.0 + number * 3600
            sql.execute("INSERT INTO sessions VALUES (?, 'cli', 'm', ?, ?)", (name, start, start + messages))
            rows = [
                (name, "user" if one % 2 == 0 else "assistant", _text(number * messages + one), start + one)
                for one in range(messages)
            ]
            sql.executemany(
                "INSERT INTO messages (session_id, role, content, timestamp) VALUES (?, ?, ?, ?)", rows
            )
    sql.close()


def _text(number: int) -> str:
    words = [_WORDS[(number * 7 + step * (number % 5 + 1)) % len(_WORDS)] for step in range(24)]
    return f"{' '.join(words)} ({number})."


def measured(sessions: int, messages: int) -> dict[str, float]:
    with tempfile.TemporaryDirectory() as folder:
        home = Path(folder, "home")
        made(home, sessions, messages)
        done = subprocess.run(
            [sys.executable, "-c", _CHILD, str(home), str(Path(folder, "bundle"))],
            capture_output=True,
            check=True,
        )
        found: dict[str, float] = json.loads(done.stdout)
        return found


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--sessions", type=int, default=100)
    parser.add_argument("--messages", type=int, default=100)
    options = parser.parse_args()
    begun = time.perf_counter()
    for sessions in (options.sessions, options.sessions * 2):
        one = measured(sessions, options.messages)
        total = sessions * options.messages
        print(
            f"{sessions:,} sessions, {total:,} messages: {total / one['seconds']:,.0f} messages/s "
            f"({total / one['processor']:,.0f} by processor time; target {_TARGET:,}), peak {one['peak_mb']:,.0f} MB, "
            f"{one['held']:.0f} held"
        )
    print(f"took {time.perf_counter() - begun:.0f} s")


if __name__ == "__main__":
    main()
