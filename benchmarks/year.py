"""A year of use: how a bundle grows when nobody tidies it. `python -m benchmarks.year [--sessions 1000] [--days 365]`.

A simulated clock drives the public API: a session has eight turns, half of them with a tool call, two notes, a decision and
two facts; one session in three flushes once more. The store is kept below its limit, so each fact replaces one. Figures are
bytes and processor time, as ratios within one run. `--quick` is what the tests run; the goals hold from 300 sessions on.
"""

from __future__ import annotations

import argparse
import os
import random
import resource
import shutil
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta

from gitmem.config import Config
from gitmem.git import housekeeping
from gitmem.git.git_settings import Remote, Remotes
from gitmem.memory.find import embedding
from gitmem.memory.memory import Memory
from gitmem.memory.upkeep.clone import clone
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
ANSWERS = {
    "search index / content": 2.2,
    "why of a fact that is in every prompt / git log -S": 0.5,
    "revert --session --dry-run / git log -S": 0.5,
    "first log of 20 after a clone / git log --oneline": 2.0,
    "first push / a commit, milliseconds": 0.5,
}
"""Goals of what is asked at the end of the year."""
_STAYS = "The harbour master is called Quillfeather"
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
        self.memory.remember(_STAYS)
        self.wanted += 1
        self.first = ""
        """The id of the first session."""

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
        self.first = self.first or name
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


def _seconds(work: Callable[[], object]) -> float:
    """Processor time of something, in this process and in those that it starts."""
    before = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    work()
    after = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(
        new.ru_utime + new.ru_stime - old.ru_utime - old.ru_stime
        for old, new in zip(before, after, strict=True)
    )


def answers(year: Year) -> dict[str, float]:
    """Ask the memory at the end of the year, beside plain git."""
    memory, top = year.memory, os.path.dirname(year.root)
    vars(embedding)["find_spec"] = lambda _: None  # by words alone: vectors are an extra
    memory.search("harbour")
    index = os.path.getsize(os.path.join(year.root, ".git/gitmem/index.db"))
    pickaxe = _seconds(lambda: git(year.root, "log", "-S", "Quillfeather", "--oneline"))
    hub = os.path.join(top, "hub.git")
    git(top, "init", "-q", "--bare", "-b", "main", hub)
    Remotes(memory.repository).save(Remote("origin", hub, consent=True))
    pushing = _seconds(memory.sync)
    world = World({**os.environ, "HOME": top}, top, top)
    copy = clone(world, hub, os.path.join(top, "copy"), config=Config(machine="other"))
    listing = _seconds(lambda: git(year.root, "log", "--oneline", "main"))
    found = {
        "search index / content": index / year.content,
        "why of a fact that is in every prompt / git log -S": _seconds(lambda: memory.trace(_STAYS))
        / pickaxe,
        "revert --session --dry-run / git log -S": _seconds(
            lambda: memory.revert(session=year.first, dry_run=True)
        )
        / pickaxe,
        "first log of 20 after a clone / git log --oneline": _seconds(lambda: list(copy.log(limit=20)))
        / listing,
        "first push / a commit, milliseconds": 1000 * pushing / len(year.commits),
    }
    copy.close()
    return found


def figures(root: str, sessions: int, days: float, *, asking: bool = False) -> dict[str, float]:
    """Live a year, and measure it; with `asking` also what is asked at its end."""
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
    if asking:
        found |= answers(year)
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
        sessions = 90 if asked.quick else asked.sessions
        found = figures(os.path.join(root, "mem"), sessions, asked.days, asking=not asked.quick)
    finally:
        shutil.rmtree(root, ignore_errors=True)
    goals = {name: goal for name, goal in (GOALS | ANSWERS).items() if name in found}
    for name, goal in goals.items():
        print(f"{name:60} {found[name]:8.2f}   at most {goal:g}")
    return int(any(found[name] > goal for name, goal in goals.items()))


if __name__ == "__main__":
    sys.exit(main())
