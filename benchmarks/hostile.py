"""What a hostile commit costs whoever meets it: processor time and memory of `gitmem sync` and `gitmem clone`.

    python -m benchmarks.hostile [--only NAME] [--top 10]

Each kind of tests/faults is one commit on top of an honest hub. It is synced as a fast-forward, with git and with dulwich,
and cloned, each time by a new process on fresh copies. Processor time is that of the process and of all that it started;
memory is the most that any one of them had. An honest commit is measured the same way, in the same run. Exit 1 if one is
over the limit.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from gitmem.git.git_directory import open_repository
from gitmem.git.git_settings import Remote, Remotes
from tests.faults.hostile import Hub, Kind
from tests.faults.hostile_commits import kind as commit_kind
from tests.faults.hostile_ground import KINDS, lay_ground

SECONDS, MEGABYTES = 2.0, 200.0
HONEST = commit_kind("honest", lambda peer: peer.adding("the staging host moved to Oslo"))
ROUTES = ("sync, git", "sync, dulwich", "clone, git", "clone, dulwich")

# A process counts the memory of the one that started it until it runs its own program: this one is small.
_MEASURE = """
import json, os, sys
pid = os.posix_spawn(sys.argv[1], sys.argv[1:], os.environ)
_, status, used = os.wait4(pid, 0)
print(json.dumps([os.waitstatus_to_exitcode(status), used.ru_utime + used.ru_stime, used.ru_maxrss]))
"""


@dataclass(frozen=True)
class Cost:
    """What one command took."""

    kind: str
    route: str
    code: int
    seconds: float
    megabytes: float

    @property
    def is_over(self) -> bool:
        return self.seconds > SECONDS or self.megabytes > MEGABYTES

    def row(self) -> str:
        answer = {0: "done", 3: "held"}.get(self.code, f"exit {self.code}")
        return f"| {self.kind} | {self.route} | {answer} | {self.seconds:.2f} | {self.megabytes:.0f} |"


def environment(home: Path) -> dict[str, str]:
    """A user without settings; an installed command has its bytecode."""
    kept = {name: os.environ[name] for name in ("PATH", "PYTHONPATH") if name in os.environ}
    return {**kept, "HOME": str(home), "GIT_CONFIG_NOSYSTEM": "1", "LC_ALL": "C.UTF-8", "NO_COLOR": "1"}


def measured(kind: str, route: str, command: list[str], home: Path) -> Cost:
    """Run gitmem as people do; a crash of its own is no answer."""
    run = [sys.executable, "-S", "-c", _MEASURE, sys.executable, "-m", "gitmem", *command]
    done = subprocess.run(run, capture_output=True, check=True, env=environment(home))
    code, seconds, kilobytes = json.loads(done.stdout.splitlines()[-1])
    if b"Traceback" in done.stderr or code < 0:
        raise RuntimeError(f"{kind}, {route}: {done.stderr.decode(errors='replace')[-2000:]}")
    return Cost(kind, route, code, seconds, kilobytes / 1024)


def costs(kind: Kind, ground: Path, work: Path) -> Iterator[Cost]:
    """One kind by every route."""
    hub = work / "hub.git"
    shutil.copytree(ground / "hub.git", hub)
    kind.make(Hub(hub))
    main = Path(hub, "refs", "heads", "main")
    hostile = main.read_bytes()
    for route in ROUTES:
        how, _, transport = route.partition(", ")
        here = work / "here"
        if how == "sync":
            shutil.copytree(ground / "b", here, symlinks=True)
            repository = open_repository(str(here))
            Remotes(repository).save(Remote("origin", str(hub), consent=True))
            repository.store.close()
            command = ["-C", str(here), "sync"]
        else:
            command = ["clone", str(hub), str(here)]
        cost = measured(kind.name, route, [*command, "--transport", transport], work)
        if (kind.outcome == "refused") != (cost.code == 1):
            raise RuntimeError(f"{kind.name}, {route}: exit {cost.code}, and it should be {kind.outcome}")
        yield cost
        shutil.rmtree(here, ignore_errors=True)
        main.write_bytes(hostile)  # a sync may have pushed on top of it


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", default="", help="kinds whose name has this in it")
    parser.add_argument("--top", type=int, default=10)
    options = parser.parse_args()
    found: list[Cost] = []
    kinds = [kind for kind in KINDS if options.only in kind.name]
    with tempfile.TemporaryDirectory(prefix="gitmem-hostile-") as directory:
        lay_ground(Path(directory))
        for number, kind in enumerate([HONEST, *kinds, HONEST]):
            work = Path(directory, str(number))
            work.mkdir()
            found += costs(kind, Path(directory), work)
            shutil.rmtree(work)
    report(found, len(kinds), options.top)
    sys.exit(any(cost.is_over for cost in found))


def report(found: list[Cost], kinds: int, top: int) -> None:
    """The honest commit, the worst, and how many are over the limit."""
    honest = [cost for cost in found if cost.kind == HONEST.name]
    others = [cost for cost in found if cost.kind != HONEST.name]
    head = "| kind | by | answer | s | MB |\n|---|---|---|---|---|"
    print(f"An honest commit, at the beginning and at the end:\n\n{head}")
    print("\n".join(cost.row() for cost in honest))
    for name, key in (
        ("processor time", lambda cost: cost.seconds),
        ("memory", lambda cost: cost.megabytes),
    ):
        print(f"\nThe worst {top} by {name}:\n\n{head}")
        print("\n".join(cost.row() for cost in sorted(others, key=key, reverse=True)[:top]))
    slow = sum(cost.seconds > SECONDS for cost in others)
    large = sum(cost.megabytes > MEGABYTES for cost in others)
    print(
        f"\n{kinds} kinds, {len(others)} commands: {slow} above {SECONDS:g} s, {large} above {MEGABYTES:g} MB of memory."
    )


if __name__ == "__main__":
    main()
