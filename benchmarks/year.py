"""A year of use: how a bundle grows when nobody tidies it. `python -m benchmarks.year [--sessions 1000] [--days 365]`.

A simulated clock drives the public API: a session has eight turns, half of them with a tool call, two notes, a decision and
two facts; one session in three flushes once more. The store is kept below its limit, so each fact replaces one. Figures are
bytes and processor time, as ratios within one run. `--quick` is what the tests run.
"""

from __future__ import annotations

import argparse
import os
import random
import shutil
import sys
import tempfile
import time
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta

from gitmem.config import Config
from gitmem.git import housekeeping
from gitmem.memory.memory import Memory
from gitmem.memory.upkeep.create import create
from gitmem.world import World

from benchmarks.support import git

GOALS = {
    "git directory / content": 1.5,
    "the same, all sessions against a third of them": 1.1,
    "made smaller by gc": 1.2,
    "commits beyond facts and flushes": 0.0,
    "new packs of a session, the last against an early one": 1.3,
    "processor time of a session, the last against early ones": 1.3,
}
_FACTS = 12
_SYLLABLES = ["ba", "de", "fi", "go", "hu", "ka", "le", "mi", "no", "pu", "ra", "se", "ti", "vo", "wu", "za"]


@dataclass
class Year:
    """A bundle, and the sessions that it has seen."""

    root: str
    days: float
    sessions: int
    chance: random.Random = field(default_factory=lambda: random.Random(11))
    now: datetime = datetime(2025, 1, 1, 8, tzinfo=UTC)
    wanted: int = 0
    """Commits that hold something of their own: facts and flushes."""

    def __post_init__(self) -> None:
        world = World(os.environ, clock=self._tick)
        config = Config(machine="laptop", fsync="off", auto_snapshot=False)
        self.memory: Memory = create(world, self.root, config=config)[0]
        self.begun = len(self.commits)
        self._facts: list[str] = []

    def _tick(self) -> datetime:
        self.now += timedelta(milliseconds=37)
        return self.now

    @property
    def commits(self) -> list[str]:
        return git(self.root, "rev-list", "main").decode().split()

    def live(self, count: int) -> list[float]:
        """So many sessions; gives the processor seconds of each."""
        spent = []
        for _ in range(count):
            self.now += timedelta(days=self.days / self.sessions)
            begun = time.process_time()
            self._session()
            spent.append(time.process_time() - begun)
        return spent

    def _session(self) -> None:
        name = f"{self.now:%Y%m%d-%H%M%S}-{self.chance.randrange(16**6):06x}"
        with self.memory.session(name) as session:
            session.prompt_block()
            for turn in range(8):
                if turn % 2:
                    session.record_tool_call("terminal", {"command": "make"}, self._text(80, 900))
                session.record_turn(self._text(40, 320), self._text(120, 1200))
                if turn in (2, 5):
                    self._remember(session.id)
                if turn == 4 and self.chance.random() < 1 / 3:
                    session.flush("buffer-max")
                    self.wanted += 1
            session.record_observation(self._text(60, 200))
            session.record_observation(self._text(60, 200))
            session.record_decision(self._text(30, 80), self._text(60, 300))
        self.wanted += 1

    def _remember(self, session: str) -> None:
        fact = f"{self._text(60, 130)} {self.chance.randrange(10**9)}"
        if len(self._facts) < _FACTS:
            self.memory.remember(fact, session=session)
        else:
            self.memory.replace(self._facts.pop(0), fact, session=session)
        self._facts.append(fact)
        self.wanted += 1

    def _text(self, least: int, most: int) -> str:
        size = self.chance.randrange(least, most)
        text = " ".join(self._word() for _ in range(size // 5 + 2))
        return text[:size].strip()

    def _word(self) -> str:
        """One of 65,000, the short ones far more often, as in a language."""
        return "".join(self.chance.choices(_SYLLABLES, k=min(4, 1 + int(self.chance.expovariate(0.7)))))

    @property
    def content(self) -> int:
        """Bytes of the work tree."""
        return _size(self.root, skip=".git")

    @property
    def stored(self) -> int:
        """Bytes of the git directory without the search index."""
        return _size(os.path.join(self.root, ".git"), skip="index.db")

    @property
    def packs(self) -> int:
        return _size(os.path.join(self.root, ".git", "objects"))


def _size(top: str, skip: str = "") -> int:
    total = 0
    for directory, below, files in os.walk(top):
        below[:] = [name for name in below if name != skip]
        total += sum(
            os.lstat(os.path.join(directory, name)).st_size
            for name in files
            if not (skip and name.startswith(skip))
        )
    return total


def figures(root: str, sessions: int, days: float) -> dict[str, float]:
    """Live a year, and measure it."""
    year = Year(root, days, sessions)
    third = sessions // 3
    early = year.live(third)
    ratio = year.stored / year.content
    packs = year.packs
    year.live(sessions - 2 * third)
    middle = year.packs
    late = year.live(third)
    last = year.packs - middle
    found = {
        "git directory / content": year.stored / year.content,
        "the same, all sessions against a third of them": (year.stored / year.content) / ratio,
        "commits beyond facts and flushes": float(len(year.commits) - year.begun - year.wanted),
        "new packs of a session, the last against an early one": last / packs,
        "processor time of a session, the last against early ones": sum(late) / sum(early),
    }
    before = year.packs
    housekeeping.clean(year.memory.repository)
    found["made smaller by gc"] = before / year.packs
    year.memory.close()
    return found


def main() -> int:
    """Print each figure beside its goal; the exit code says whether all are met."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0] if __doc__ else "")
    parser.add_argument("--sessions", type=int, default=1000)
    parser.add_argument("--days", type=float, default=365.0)
    parser.add_argument("--quick", action="store_true")
    asked = parser.parse_args()
    root = tempfile.mkdtemp(prefix="gitmem-year-")
    try:
        found = figures(os.path.join(root, "mem"), 90 if asked.quick else asked.sessions, asked.days)
    finally:
        shutil.rmtree(root, ignore_errors=True)
    for name, goal in GOALS.items():
        print(f"{name:60} {found[name]:8.2f}   at most {goal:g}")
    return int(any(found[name] > goal for name, goal in GOALS.items()))


if __name__ == "__main__":
    sys.exit(main())
