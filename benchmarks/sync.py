"""Sync against plain git, as ratios within one run: fetch + merge + push of the same commits.

    python -m benchmarks.sync [--rounds N] [--commits 1,100,1000]

Our checks are included. Processor time is compared, so that a busy machine gives the same ratios.
Plain git merges with `-X ours`, which loses entries; it is the speed that is compared.
"""

from __future__ import annotations

import argparse
import os
import resource
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from contextlib import ExitStack
from datetime import UTC, datetime
from pathlib import Path

from gitmem.config import Config
from gitmem.git.commit_graph import only_in
from gitmem.git.git_settings import Remote, Remotes
from gitmem.git.repository import Repository
from gitmem.locate import enlist
from gitmem.memory.memory import Memory
from gitmem.memory.opening import open_bundle
from gitmem.memory.sync.inspect import check_incoming
from gitmem.memory.sync.sync import Sync
from gitmem.memory.upkeep.create import create
from gitmem.world import World
from tests.servers.local import HOST, http_backend

LIMITS = {"git": {1: 3, 100: 3, 1000: 4}, "dulwich": {1: 4, 100: 6, 1000: 12}}
GIT = {
    **os.environ,
    "GIT_CONFIG_GLOBAL": os.devnull,
    "GIT_CONFIG_NOSYSTEM": "1",
    "GIT_AUTHOR_NAME": "x",
    "GIT_AUTHOR_EMAIL": "x@x",
    "GIT_COMMITTER_NAME": "x",
    "GIT_COMMITTER_EMAIL": "x@x",
}


def now() -> datetime:
    return datetime.now(UTC)


def git(where: Path, *arguments: str) -> None:
    subprocess.run(["git", "-C", str(where), *arguments], check=True, capture_output=True, env=GIT)


def opened(path: Path, machine: str) -> Memory:
    return open_bundle(
        World(os.environ, clock=now),
        str(path),
        "as is",
        config=Config(machine=machine, memory_char_limit=10**7),
    )


def ground(root: Path, commits: int) -> None:
    """A hub that is `commits` ahead of the machine `b`, which has one commit of its own."""
    (root / "served").mkdir(parents=True)
    hub = root / "served" / "hub.git"
    subprocess.run(["git", "init", "-q", "--bare", "-b", "main", str(hub)], check=True)
    git(hub, "config", "http.receivepack", "true")
    create(World(os.environ, clock=now), str(root / "a"), config=Config(machine="a"))[
        0
    ].repository.store.close()
    a = opened(root / "a", "a")
    for number in range(20):
        a.record_observation(f"earlier work {number}", session="before")
    Remotes(a.repository).save(Remote("origin", str(hub), consent=True))
    Sync(a).run()
    shutil.copytree(root / "a", root / "b")
    b = opened(root / "b", "b")
    b.record_observation("b saw this", session="of-b")
    b.repository.store.close()
    for number in range(commits):
        a.record_observation(
            f"what the agent saw at step {number} on the other machine", session=f"s{number // 50}"
        )
    Sync(a).run()
    a.repository.store.close()


def spent() -> float:
    """Processor seconds of this process and of those it started."""
    both = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(one.ru_utime + one.ru_stime for one in both)


def timed(prepare: Callable[[], Callable[[], object]], rounds: int) -> float:
    """The median of some rounds in processor time, each on fresh copies."""
    taken = []
    for _ in range(rounds):
        work = prepare()
        begun = spent()
        work()
        taken.append(spent() - begun)
    return statistics.median(taken)


def fresh(root: Path) -> Path:
    """Copies of hub and machine to work on; the served path stays the same."""
    for name in ("served/hub.git", "b"):
        shutil.rmtree(root / "now" / name, ignore_errors=True)
        shutil.copytree(root / name, root / "now" / name)
    return root / "now" / "b"


def by_git(root: Path, url: str) -> Callable[[], object]:
    where = fresh(root)
    (where / ".git" / "info" / "attributes").unlink(missing_ok=True)  # git's own merge, not our driver

    def work() -> None:
        git(where, "-c", "core.hooksPath=/dev/null", "fetch", "-q", url, "main")
        git(where, "-c", "core.hooksPath=/dev/null", "merge", "-q", "--no-edit", "-X", "ours", "FETCH_HEAD")
        git(where, "-c", "core.hooksPath=/dev/null", "push", "-q", "--no-verify", url, "HEAD:main")

    return work


def by_gitmem(root: Path, url: str, transport: str) -> Callable[[], object]:
    bundle = opened(fresh(root), "b")
    Remotes(bundle.repository).save(Remote("origin", url, consent=True))
    return lambda: Sync(bundle, prefer=transport).run()


def no_change(root: Path, url: str, rounds: int) -> None:
    """`gitmem sync` as people run it, again and again with nothing new here or there."""
    where = fresh(root)
    bundle = opened(where, "b")
    Remotes(bundle.repository).save(Remote("origin", url, consent=True))
    Sync(bundle).run()
    bundle.repository.store.close()
    # An installed command has its bytecode; without it every run would compile.
    env = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    env["XDG_CONFIG_HOME"] = str(root / "config")
    enlist(World(env), str(where))  # it is a copy

    def run(*command: str) -> Callable[[], object]:
        return lambda: subprocess.run(command, check=True, capture_output=True, env=env)

    git(where, "fetch", "-q", url, "main")
    sync = run(sys.executable, "-m", "gitmem", "-C", str(where), "sync")
    first = timed(
        lambda: sync, 1
    )  # something changed before it: all is looked at, and how it stands is noted
    time.sleep(0.1)
    timed(lambda: sync, 1)
    taken: dict[str, list[float]] = {"start": [], "fetch": [], "sync": []}
    for _ in range(rounds * 4):
        taken["start"].append(timed(lambda: run(sys.executable, "-c", "pass"), 1))
        taken["fetch"].append(timed(lambda: lambda: git(where, "fetch", "-q", url, "main"), 1))
        taken["sync"].append(timed(lambda: sync, 1))
    start, fetch, ours = (statistics.median(taken[name]) for name in ("start", "fetch", "sync"))
    print(
        f"no change: git fetch {fetch * 1e3:.0f} ms + interpreter {start * 1e3:.0f} ms, "
        f"gitmem sync {ours * 1e3:.0f} ms: {ours / (fetch + start):.1f} times (at most 2); "
        f"the first after a change {first / (fetch + start):.1f}"
    )


def checks_alone(root: Path) -> None:
    """The checks over a memory as sessions make it, 50 entries to a commit, as for a clone."""
    create(World(os.environ, clock=now), str(root), config=Config(machine="c"))[0].repository.store.close()
    bundle = opened(root, "c")
    for number in range(40):
        with bundle.session(f"s{number}") as session:
            for step in range(50):
                session.record_observation(f"what the agent saw at step {step} of piece of work {number}")
    bundle.repository.store.close()
    room = Repository("", str(root / ".git"))
    tip = room.refs.read("refs/heads/main") or ""
    commits = only_in(room, tip, None)
    begun = spent()
    done = check_incoming(room, tip, commits, None)
    taken = spent() - begun
    print(
        f"checks alone: {done.entries:,} entries of {done.commits:,} commits in {taken:.2f} s: "
        f"{done.entries / taken:,.0f} entries/s (at least 2,000)"
    )
    room.store.close()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--commits", default="1,100,1000")
    options = parser.parse_args()
    counts = [int(part) for part in options.commits.split(",")]
    with tempfile.TemporaryDirectory(prefix="gitmem-sync-") as directory, ExitStack() as stack:
        print(
            "| over | commits | git ms | by git | limit | by dulwich | limit |\n|---|---|---|---|---|---|---|"
        )
        for count in counts:
            root = Path(directory, str(count))
            ground(root, count)
            (root / "now" / "served").mkdir(parents=True)
            port = stack.enter_context(http_backend(root / "now" / "served"))
            urls = {
                "path": str(root / "now" / "served" / "hub.git"),
                "http": f"http://{HOST}:{port}/hub.git",
            }
            for name, url in urls.items():
                plain = timed(lambda root=root, url=url: by_git(root, url), options.rounds)  # type: ignore[misc]
                row = [name, f"{count:,}", f"{plain * 1e3:.0f}"]
                for transport, limits in LIMITS.items():
                    ours = timed(
                        lambda root=root, url=url, transport=transport: by_gitmem(root, url, transport),  # type: ignore[misc]
                        options.rounds,
                    )
                    row += [f"{ours / plain:.1f}", f"{limits.get(count, 0)}"]
                print("| " + " | ".join(row) + " |", flush=True)
        root = Path(directory, str(counts[0]))
        no_change(root, str(root / "now" / "served" / "hub.git"), options.rounds)
        checks_alone(Path(directory, "checks"))


if __name__ == "__main__":
    main()
