"""Many clones of one memory that sync at once, against as many plain `git push`es to a ref each.

    python -m benchmarks.fleet [--machines N] [--rounds N] [--quick]

Each round every machine learns something and all sync at the same moment, each in a process of its own, over a local path.
Afterwards one fold must have everything: nothing refused, nothing lost, nothing twice. Merges are counted against the folds
that won, and the time against plain git in the same run. `--quick` takes 8 machines and one round.

A second figure: so many branches of one commit each, folded, against a `git fetch` of them.
"""

from __future__ import annotations

import argparse
import multiprocessing
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from gitmem.config import Config
from gitmem.errors import GitMemError
from gitmem.git.git_settings import Remote, Remotes
from gitmem.git.objects import Oid, Person, render_commit
from gitmem.git.repository import Repository
from gitmem.git.transport import MACHINES
from gitmem.memory.memory import Memory
from gitmem.memory.opening import open_bundle
from gitmem.memory.sync.fold import MERGE_EMAIL, folded
from gitmem.memory.upkeep.clone import clone
from gitmem.memory.upkeep.create import create
from gitmem.okf import layout
from gitmem.okf.curated import CuratedFile
from gitmem.world import World

MOST_TIMES_GIT = 4
MOST_TIMES_FETCH = 5


@dataclass(frozen=True)
class Measured:
    """What one run of a fleet came to."""

    machines: int
    rounds: int
    refused: int
    lost: int
    doubled: int
    merges: int
    on_branches: int
    seconds: float
    plain_seconds: float


def now() -> datetime:
    return datetime.now(UTC)


def git(where: Path | str, *arguments: str) -> str:
    done = subprocess.run(["git", "-C", str(where), *arguments], check=True, capture_output=True, text=True)
    return done.stdout.strip()


def opened(path: Path) -> Memory:
    return open_bundle(World(os.environ, clock=now), str(path), config=Config(machine=path.name))


def learn(path: Path, number: int) -> None:
    with opened(path) as bundle:
        bundle.curated.add(f"{path.name} knows {number}")


def at_once(work: Callable[[Path], str], paths: list[Path]) -> tuple[list[str], float]:
    """The answers of one process for each path, all of which begin at the same moment, and how long all took."""
    context = multiprocessing.get_context("fork")
    barrier, answers = context.Barrier(len(paths) + 1), context.SimpleQueue()

    def one(path: Path) -> None:
        barrier.wait()
        answers.put(work(path))

    processes = [context.Process(target=one, args=(path,)) for path in paths]
    for process in processes:
        process.start()
    barrier.wait()
    begun = time.perf_counter()
    found = [answers.get() for _ in paths]
    for process in processes:
        process.join()
    return found, time.perf_counter() - begun


def sync(path: Path) -> str:
    """The branch that a machine's commits are on, or `refused`."""
    try:
        with opened(path) as bundle:
            return bundle.sync().branch
    except GitMemError as error:
        print(f"{path.name}: {error}", file=sys.stderr)
        return "refused"


def push(path: Path) -> str:
    git(path, "push", "-q", "--no-verify", "origin", f"HEAD:refs/plain/{path.name}")
    return ""


def fleet(where: Path, machines: int, rounds: int) -> Measured:
    """Make the clones, and let all sync at once, round after round."""
    hub = where / "hub.git"
    git(where, "init", "-q", "--bare", "-b", "main", str(hub))
    first, _ = create(World(os.environ, clock=now), str(where / "m0"), config=Config(machine="m0"))
    Remotes(first.repository).save(Remote("origin", str(hub), consent=True))
    first.sync()
    first.close()
    paths = [where / f"m{number}" for number in range(machines)]
    for path in paths[1:]:
        clone(World(os.environ, clock=now), str(hub), str(path), config=Config(machine=path.name)).close()
    refused = on_branches = 0
    seconds = plain = 0.0
    for number in range(rounds):
        for path in paths:
            learn(path, number)
        plain += at_once(push, paths)[1]
        answers, took = at_once(sync, paths)
        seconds += took
        refused += answers.count("refused")
        on_branches += sum(answer not in ("", "refused") for answer in answers)
    with opened(paths[0]) as bundle:
        bundle.sync(fold=True)
        said = [entry.text for entry in bundle.curated.entries("memory")]
    wanted = {f"{path.name} knows {number}" for path in paths for number in range(rounds)}
    authors = git(hub, "log", "--merges", "--format=%ae", "main").splitlines()
    return Measured(
        machines, rounds, refused, len(wanted - set(said)), len(said) - len(set(said)),
        authors.count(MERGE_EMAIL), on_branches, seconds, plain,
    )  # fmt: skip


def many_branches(where: Path, count: int) -> tuple[float, float]:
    """Seconds of a fold of so many branches of one commit each, and of a `git fetch` of them."""
    hub = where / "many.git"
    git(where, "init", "-q", "--bare", "-b", "main", str(hub))
    repository = Repository("", str(hub))
    file = CuratedFile.parse_leniently(None, layout.MEMORY).add("all know", "2026-06-30T14:00:00.000Z")

    def commit(text: str, parents: tuple[Oid, ...], moment: int) -> Oid:
        content = file if not parents else file.add(text, "2026-06-30T14:00:00.000Z")
        tree, objects = repository.tree(parents[0] if parents else None).apply(
            {layout.MEMORY: content.render()}
        )
        who = Person("x", "x@x", 1_780_000_000 + moment)
        made = render_commit(tree.oid, parents, who, who, f"memory: {text}\n\nKind: memory\n")
        repository.store.write([*objects, made])
        return made.oid

    base = commit("all know", (), 0)
    tips = [commit(f"m{number} knows", (base,), number + 1) for number in range(count)]
    lines = [f"create refs/heads/main {base}"]
    lines += [f"create {MACHINES}m{number} {tip}" for number, tip in enumerate(tips)]
    subprocess.run(
        ["git", "-C", str(hub), "update-ref", "--stdin"],
        input="".join(f"{line}\n" for line in lines).encode(),
        check=True,
    )
    git(where, "init", "-q", "--bare", str(where / "fetched.git"))
    begun = time.perf_counter()
    git(where / "fetched.git", "fetch", "-q", str(hub), "+refs/heads/*:refs/heads/*")
    fetched = time.perf_counter() - begun
    repository.store.close()
    begun = time.perf_counter()
    folded(Repository("", str(hub)), [base, *tips])
    return time.perf_counter() - begun, fetched


def main() -> int:
    """Print the figures; 1 where one is not as it should be."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--machines", type=int, default=200)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--branches", type=int, default=1000)
    parser.add_argument("--quick", action="store_true")
    chosen = parser.parse_args()
    if chosen.quick:
        chosen.machines, chosen.rounds, chosen.branches = 8, 1, 50
    where = Path(tempfile.mkdtemp(prefix="gitmem-fleet-"))
    try:
        found = fleet(where, chosen.machines, chosen.rounds)
        fold_seconds, fetch_seconds = many_branches(where, chosen.branches)
    finally:
        shutil.rmtree(where, ignore_errors=True)
    times = found.seconds / found.plain_seconds
    print(
        f"{found.machines} machines, {found.rounds} rounds: {found.refused} refused, {found.lost} lost, "
        f"{found.doubled} doubled, {found.merges} merges, {found.on_branches} syncs ended on a branch; "
        f"{found.seconds:.1f} s against {found.plain_seconds:.1f} s of plain pushes ({times:.1f} times)"
    )
    ratio = fold_seconds / fetch_seconds
    print(f"{chosen.branches} branches folded in {fold_seconds:.2f} s, {ratio:.1f} times a git fetch of them")
    is_whole = not (found.refused or found.lost or found.doubled)
    return 0 if is_whole and times <= MOST_TIMES_GIT and ratio <= MOST_TIMES_FETCH else 1


if __name__ == "__main__":
    sys.exit(main())
