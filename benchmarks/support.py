"""What benchmarks share: bundles made quickly, contenders timed in turn, ratios with their spread."""

from __future__ import annotations

import contextlib
import hashlib
import os
import random
import shutil
import statistics
import subprocess
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass

from gitmem.git.git_directory import new_repository, open_repository
from gitmem.git.message import Message
from gitmem.git.objects import Person
from gitmem.git.repository import Repository
from gitmem.git.transaction import Draft, publish

WHO = Person("benchmark", "benchmark@example.org", 1_800_000_000)

_TEXT = (
    "agent branch build cache change check client commit config container customer deploy deadline "
    "decision default document engine error example failure feature file flush function handler host "
    "index input install invoice issue job key language library limit list log machine memory merge "
    "message method migration model module note number observation office option order output package "
    "parser password path person plan port prefers process project prompt queue reads record release "
    "remote report request result review rule schema search secret server service session setting "
    "shell skill snapshot source staging step store style system table team test ticket time timeout "
    "token tool topic trace tree update user value version wants weekly window worker writes zone"
)
_WORDS = _TEXT.split()

# Git as a person has it who wants every byte on disk; nothing of the machine's own configuration.
GIT = (
    "git",
    "-c",
    "core.fsync=all",
    "-c",
    "core.fsyncMethod=fsync",
    "-c",
    "gc.auto=0",
    "-c",
    "user.name=benchmark",
    "-c",
    "user.email=benchmark@example.org",
)
_GIT_ENVIRONMENT = {
    **os.environ,
    "GIT_CONFIG_GLOBAL": os.devnull,
    "GIT_CONFIG_SYSTEM": os.devnull,
    "LC_ALL": "C",
}


def git(root: str, *arguments: str, feed: bytes | None = None) -> bytes:
    """Run git in a bundle; its output."""
    done = subprocess.run(
        [*GIT, "-C", root, *arguments], input=feed, capture_output=True, check=False, env=_GIT_ENVIRONMENT
    )
    if done.returncode:
        raise RuntimeError(f"git {' '.join(arguments)[:200]}: {done.stderr.decode(errors='replace')}")
    return done.stdout


# Content


def entry_path(number: int) -> str:
    """Where entry `number` stands: fanned out over 256 directories, as bundles have it."""
    name = hashlib.sha1(b"%d" % number).hexdigest()
    return f"entries/{name[:2]}/{name[2:14]}.md"


def entry_content(chance: random.Random) -> bytes:
    """An entry of about 700 bytes that compresses like prose."""
    title = " ".join(chance.choices(_WORDS, k=5))
    prose = " ".join(chance.choices(_WORDS, k=80))
    return (
        f"---\ntype: Observation\ntitle: {title}\nid: {chance.getrandbits(96):024x}\n"
        f"timestamp: 2026-11-05T10:{chance.randrange(60):02d}:00Z\n---\n\n{prose}.\n"
    ).encode()


class Flushes:
    """What flushes write: half the files new, half of them there already; a single file: by turns.

    `directories` keeps each flush within so many of them; 0 lets the files fall where they fall.
    """

    def __init__(self, files: int, size: int, *, directories: int = 0) -> None:
        self.size = size
        self._directories = directories
        self._entries: dict[str, list[str]] = {}
        for number in range(files):
            path = entry_path(number)
            self._entries.setdefault(os.path.dirname(path), []).append(path)

    def edits(self, number: int) -> dict[str, bytes]:
        """Paths and content of flush `number`, the same however often one asks."""
        chance = random.Random(f"{self.size} {self._directories} {number}")
        places = sorted(self._entries)
        if self._directories:
            places = chance.sample(places, self._directories)
        known = [path for place in places for path in self._entries[place]]
        existing = min((self.size + number % 2) // 2, len(known))
        paths = chance.sample(known, existing)
        while len(paths) < self.size:
            paths.append(f"{chance.choice(places)}/{chance.getrandbits(48):012x}.md")
        return {path: entry_content(chance) for path in paths}


# Bundles


def make_bundle(root: str, files: int) -> Repository:
    """A bundle with so many entries in one commit."""
    chance = random.Random(files)
    content = {entry_path(number): entry_content(chance) for number in range(files)}
    with new_repository(root):
        pass
    repository = open_repository(root)
    publish(repository, lambda _: Draft(content, Message("init", "start"), WHO, WHO), purpose="benchmark")
    return repository


def flush(repository: Repository, edits: Mapping[str, bytes]) -> dict[str, float]:
    """Commit these files; seconds until each stage was reached, and "all" at the end."""
    stages: dict[str, float] = {}
    start = time.perf_counter()
    repository.on_stage = lambda stage: stages.__setitem__(stage, time.perf_counter() - start)
    publish(repository, lambda _: Draft(edits, Message("flush", "entries"), WHO, WHO), purpose="benchmark")
    stages["all"] = time.perf_counter() - start
    return stages


def copy_bundle(source: str, target: str) -> str:
    """A copy for a contender, with an index that knows the copy's files."""
    shutil.copytree(source, target, symlinks=True)
    git(target, "update-index", "-q", "--refresh")
    return target


def add_history(root: str, commits: int, tags: int) -> None:
    """Commits on top of a bundle, each of which changes one entry, and annotated tags on them."""
    chance = random.Random(commits)
    feed: list[bytes] = []
    for number in range(commits):
        text = entry_content(chance)
        feed.append(
            b"commit refs/heads/main\nmark :%d\ncommitter b <b@example.org> %d +0000\ndata 6\nflush\n%s"
            % (number + 1, 1_800_000_000 + number, b"" if number else b"from refs/heads/main^0\n")
        )
        path = entry_path(chance.randrange(500)).encode()
        feed.append(b"M 100644 inline %s\ndata %d\n%s\n" % (path, len(text), text))
    for number in range(tags):
        mark = 1 + number * commits // tags
        feed.append(
            b"tag snapshot/%05d\nfrom :%d\ntagger b <b@example.org> 1800000000 +0000\ndata 2\nt\n"
            % (number, mark)
        )
    git(root, "-c", "core.fsync=none", "-c", "fastimport.unpackLimit=0", "fast-import", "--quiet",
        feed=b"".join(feed))  # fmt: skip
    git(root, "reset", "--quiet", "--hard")


# Timing


Contender = Callable[[int], float | Mapping[str, float]]
"""Does round `number` and gives the seconds it took, or seconds by stage."""


def interleaved(
    contenders: Mapping[str, Contender],
    rounds: int,
    *,
    warm_up: int = 2,
    every: Mapping[str, int] | None = None,
) -> dict[str, dict[int, float]]:
    """Seconds of each contender by round, taken in turn so that a slow minute hits all of them.

    The order changes from round to round. What earlier contenders left unwritten is put on disk
    before the clock starts, so that nobody pays for somebody else. `every` lets slow contenders
    take part in every n-th round only. A contender that gives stages appears as "name/stage".
    """
    taken: dict[str, dict[int, float]] = {}
    chance = random.Random(rounds)
    names = list(contenders)
    for number in range(-warm_up, rounds):
        chance.shuffle(names)
        for name in names:
            if number % (every or {}).get(name, 1):
                continue
            os.sync()
            result = contenders[name](number)
            if number < 0:
                continue
            for stage, seconds in ({"": result} if isinstance(result, float) else result).items():
                taken.setdefault(f"{name}/{stage}" if stage else name, {})[number] = seconds
    return taken


def timed(work: Callable[[], object]) -> float:
    start = time.perf_counter()
    work()
    return time.perf_counter() - start


@dataclass(frozen=True, slots=True)
class Ratio:
    """How many times the one took of the other: the median over rounds, and the middle half of them."""

    value: float
    low: float
    high: float

    @classmethod
    def of(cls, above: Mapping[int, float], below: Mapping[int, float]) -> Ratio:
        ratios = sorted(above[number] / below[number] for number in above.keys() & below.keys())
        if len(ratios) < 2:
            return cls(ratios[0], ratios[0], ratios[0])
        low, _, high = statistics.quantiles(ratios, n=4, method="inclusive")
        return cls(statistics.median(ratios), low, high)


def milliseconds(samples: Mapping[int, float]) -> float:
    return statistics.median(samples.values()) * 1000


# What is printed


@dataclass(frozen=True, slots=True)
class Row:
    """One figure: a ratio or a plain number, with its target where it has one."""

    what: str
    value: float
    low: float | None = None
    high: float | None = None
    unit: str = "x"
    at_least: float | None = None
    at_most: float | None = None
    note: str = ""

    @property
    def meets(self) -> bool | None:
        if self.at_least is not None:
            return self.value >= self.at_least
        return None if self.at_most is None else self.value <= self.at_most

    def render(self) -> str:
        spread = "" if self.low is None else f"{self.low:.2f}-{self.high:.2f}"
        target = ""
        if self.at_least is not None or self.at_most is not None:
            sign, limit = (">=", self.at_least) if self.at_least is not None else ("<=", self.at_most)
            target = f"{sign} {limit:g} {'yes' if self.meets else 'NO'}"
        line = f"  {self.what:<58}{self.value:>9.2f} {self.unit:<3}{spread:>15}  {target:<14}{self.note}"
        return line.rstrip()


def ratio_row(
    what: str,
    above: Mapping[int, float],
    below: Mapping[int, float],
    *,
    at_least: float | None = None,
    at_most: float | None = None,
    note: str = "",
) -> Row:
    ratio = Ratio.of(above, below)
    note = note or f"{milliseconds(above):.1f} / {milliseconds(below):.1f} ms"
    return Row(what, ratio.value, ratio.low, ratio.high, at_least=at_least, at_most=at_most, note=note)


class Report:
    """Rows under headings, printed as they come or as one JSON document at the end."""

    def __init__(self, *, as_json: bool) -> None:
        self._as_json = as_json
        self._sections: dict[str, list[dict[str, object]]] = {}
        self._skipped: list[str] = []

    def section(self, title: str, rows: Sequence[Row]) -> None:
        self._sections[title] = [{**asdict(row), "meets": row.meets} for row in rows]
        self._say("\n".join(["", title, *(row.render() for row in rows)]))

    def skip(self, what: str) -> None:
        self._skipped.append(what)
        self._say(f"  skipped: {what}")

    def finish(self) -> None:
        rows = [row for rows in self._sections.values() for row in rows]
        judged = [row["meets"] for row in rows if row["meets"] is not None]
        if self._as_json:
            import json

            print(json.dumps({"sections": self._sections, "skipped": self._skipped}, indent=2))
        else:
            print(f"\n{sum(map(bool, judged))} of {len(judged)} targets met.")

    def _say(self, text: str) -> None:
        if not self._as_json:
            print(text, flush=True)


@contextlib.contextmanager
def working_directory(parent: str | None) -> Iterator[str]:
    """A directory for bundles, gone afterwards."""
    import tempfile

    path = tempfile.mkdtemp(prefix="gitmem-benchmark-", dir=parent)
    try:
        yield path
    finally:
        shutil.rmtree(path, ignore_errors=True)
