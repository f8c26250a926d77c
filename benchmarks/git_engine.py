"""How fast the git engine is, as ratios against the git program, its peers and the disk itself.

    python -m benchmarks.git_engine [--quick] [--json] [--only SECTION] [--dir DIRECTORY]

Contenders take turns within one run, because machines are shared and milliseconds of different
runs cannot be compared. docs/performance.md says what each row means and what was seen.
"""

from __future__ import annotations

import argparse
import os
import random
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

from gitmem.git.git_directory import open_repository
from gitmem.git.recovery import hand_edits
from gitmem.git.repository import Repository

from benchmarks import support
from benchmarks.support import (
    GIT,
    Contender,
    Flushes,
    Report,
    Row,
    add_history,
    copy_bundle,
    entry_path,
    flush,
    git,
    interleaved,
    make_bundle,
    milliseconds,
    ratio_row,
    timed,
)


@dataclass(frozen=True, slots=True)
class Sizes:
    """How large bundles are and how often things are measured."""

    files: int = 10_000
    few_files: int = 1_000
    many_files: int = 100_000
    few_commits: int = 100
    commits: int = 20_000
    tags: int = 5_000
    flushes: int = 5_000
    rounds: int = 40
    slow_every: int = 4
    """Peers that take a tenth of a second a commit join every n-th round only."""


FULL = Sizes()
QUICK = Sizes(
    files=1_000,
    few_files=300,
    many_files=3_000,
    commits=1_000,
    tags=200,
    flushes=200,
    rounds=6,
    slow_every=3,
)


# Section: a flush against its peers

_OKF = "hermes-okf auto_commit"


def flush_section(where: str, sizes: Sizes, report: Report) -> None:
    """A flush of 1, 10 and 50 files against git, the floor, pygit2 and hermes-okf."""
    base = os.path.join(where, "base")
    repository = make_bundle(base, sizes.files)
    peers = _peers(where, base, report)
    targets = {1: (12, 3), 10: (8, 6), 50: (6, 8)}
    for size, (faster_than_git, over_floor) in targets.items():
        flushes = Flushes(sizes.files, size)
        contenders: dict[str, Contender] = {
            "gitmem": _gitmem(repository, flushes),
            "floor": _floor(where, flushes),
            **{name: make(flushes) for name, make in peers.items()},
        }
        taken = interleaved(contenders, sizes.rounds, every={_OKF: sizes.slow_every})
        ours = taken["gitmem/work tree"]
        rows = [
            ratio_row(
                "git add && git commit / gitmem: times faster", taken["git"], ours, at_least=faster_than_git
            ),
            ratio_row("gitmem / floor", ours, taken["floor"], at_most=over_floor),
        ]
        rows += [
            ratio_row(f"{name} / gitmem: times faster", taken[name], ours)
            for name in ("pygit2 trees", _OKF)
            if name in taken
        ]
        rows += _stage_rows(taken, sizes.files)
        report.section(f"Flush of {size} at {sizes.files:,} files", rows)
    if git(base, "status", "--porcelain") or git(base, "fsck", "--strict"):
        raise RuntimeError("the benchmark's own bundle is not clean")


def _stage_rows(taken: Mapping[str, Mapping[int, float]], files: int) -> list[Row]:
    index = {
        number: taken["gitmem/index"][number] - seconds
        for number, seconds in taken["gitmem/work tree"].items()
    }
    upkeep = {
        number: taken["gitmem/all"][number] - seconds for number, seconds in taken["gitmem/index"].items()
    }
    return [
        Row(
            "until acknowledged (objects, note and ref on disk)",
            milliseconds(taken["gitmem/acknowledged"]),
            unit="ms",
        ),
        Row("until the work tree holds the files", milliseconds(taken["gitmem/work tree"]), unit="ms"),
        Row(
            "git's index, afterwards, per 1,000 files",
            milliseconds(index) * 1000 / files,
            unit="ms",
            at_most=1,
            note=f"{milliseconds(index):.1f} ms in all",
        ),
        Row("reflog and joining of packs, afterwards", milliseconds(upkeep), unit="ms"),
    ]


def _gitmem(repository: Repository, flushes: Flushes) -> Contender:
    return lambda number: flush(repository, flushes.edits(number))


def _floor(where: str, flushes: Flushes) -> Contender:
    """The same bytes into one new file and one ref, each fsynced: no store can do less."""

    def run(number: int) -> float:
        data = b"".join(flushes.edits(number).values())
        file, ref = os.path.join(where, f"floor-{time.monotonic_ns()}"), os.path.join(where, "floor-ref")

        def work() -> None:
            for path, content in ((file, data), (ref + ".lock", b"0" * 40 + b"\n")):
                descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o644)
                os.write(descriptor, content)
                os.fsync(descriptor)
                os.close(descriptor)
            os.replace(ref + ".lock", ref)

        seconds = timed(work)
        os.unlink(file)
        return seconds

    return run


def _peers(where: str, base: str, report: Report) -> dict[str, Callable[[Flushes], Contender]]:
    """Each peer on a copy of its own; those that are not installed are left out with a word."""
    peers: dict[str, Callable[[Flushes], Contender]] = {}
    root = copy_bundle(base, os.path.join(where, "git"))
    peers["git"] = lambda flushes: _git_program(root, flushes)
    try:
        import pygit2
    except ImportError:
        report.skip("pygit2 is not installed here (pip install pygit2)")
    else:
        trees = copy_bundle(base, os.path.join(where, "pygit2"))
        peers["pygit2 trees"] = lambda flushes: _pygit2_trees(pygit2, trees, flushes)
    try:
        from hermes_okf.git_bundle import GitOKFBundle

        okf = GitOKFBundle(copy_bundle(base, os.path.join(where, "hermes-okf")))
    except ImportError:
        report.skip("hermes-okf is not installed here (pip install 'hermes-okf[git]==0.5.9')")
    else:
        peers[_OKF] = lambda flushes: _hermes_okf(okf, flushes)
    return peers


def _put(root: str, edits: Mapping[str, bytes]) -> None:
    for path, data in edits.items():
        full = os.path.join(root, path)
        os.makedirs(os.path.dirname(full), exist_ok=True)
        with open(full, "wb") as file:
            file.write(data)


def _git_program(root: str, flushes: Flushes) -> Contender:
    """`git add <paths> && git commit`; writing the files themselves is not counted, in git's favour."""

    def run(number: int) -> float:
        edits = flushes.edits(number)
        _put(root, edits)

        def work() -> None:
            git(root, "add", "--", *edits)
            git(root, "commit", "--quiet", "-m", "flush: entries")

        return timed(work)

    return run


def _pygit2_trees(pygit2: Any, root: str, flushes: Flushes) -> Contender:
    """Blobs, trees and the commit by libgit2 with fsync, then the files; git's index is left behind."""
    pygit2.settings.enable_fsync_gitdir(True)
    repository = pygit2.Repository(root)
    who = pygit2.Signature("benchmark", "benchmark@example.org")

    def run(number: int) -> float:
        edits = flushes.edits(number)

        def work() -> None:
            parent = repository.head.peel(pygit2.Commit)
            tree = _pygit2_tree(repository, parent.tree, edits)
            repository.create_commit("refs/heads/main", who, who, "flush: entries\n", tree, [parent.id])
            _put(root, edits)

        return timed(work)

    return run


def _pygit2_tree(repository: Any, old: Any, edits: Mapping[str, bytes]) -> Any:
    builder = repository.TreeBuilder(old) if old is not None else repository.TreeBuilder()
    below: dict[str, dict[str, bytes]] = {}
    for path, data in edits.items():
        name, _, rest = path.partition("/")
        if rest:
            below.setdefault(name, {})[rest] = data
        else:
            builder.insert(name, repository.create_blob(data), 0o100644)
    for name, inner in below.items():
        child = old[name] if old is not None and name in old else None
        builder.insert(name, _pygit2_tree(repository, child, inner), 0o040000)
    return builder.write()


def _hermes_okf(bundle: Any, flushes: Flushes) -> Contender:
    """What hermes-okf does after the files are written; its objects are not fsynced, in its favour."""

    def run(number: int) -> float:
        _put(str(bundle.root), flushes.edits(number))
        return timed(lambda: bundle.auto_commit("memory_write", count=flushes.size))

    return run


# Section: growth


def growth_section(where: str, sizes: Sizes, report: Report) -> None:
    """The same flush in a large bundle and in a small one, and after a long history."""
    small = make_bundle(os.path.join(where, "small"), sizes.few_files)
    large = make_bundle(os.path.join(where, "large"), sizes.many_files)
    rows = _growth_rows(
        (small, Flushes(sizes.few_files, 10, directories=2)),
        (large, Flushes(sizes.many_files, 10, directories=2)),
        sizes.rounds,
        what=f"{sizes.many_files:,} files / {sizes.few_files:,} files",
        files=sizes.many_files,
    )
    seconds = timed(lambda: hand_edits(large))
    rows.append(Row(f"looking for hand edits at {sizes.many_files:,} files", seconds * 1000, unit="ms"))
    report.section("Flush of 10 in two directories, with more files", rows)
    report.section(f"Peak memory of a process at {sizes.many_files:,} files", _memory_rows(large.root, sizes))

    short = make_bundle(os.path.join(where, "short"), sizes.few_files)
    long = make_bundle(os.path.join(where, "long"), sizes.few_files)
    add_history(short.root, sizes.few_commits, 0)
    add_history(long.root, sizes.commits, sizes.tags)
    flushes = Flushes(sizes.few_files, 10, directories=2)
    rows = _growth_rows(
        (open_repository(short.root), flushes),
        (open_repository(long.root), flushes),
        sizes.rounds,
        what=f"{sizes.commits:,} commits and {sizes.tags:,} tags / {sizes.few_commits:,} commits",
        files=sizes.few_files,
    )
    report.section("Flush of 10 in two directories, with more history", rows)


def _growth_rows(
    small: tuple[Repository, Flushes],
    large: tuple[Repository, Flushes],
    rounds: int,
    *,
    what: str,
    files: int,
) -> list[Row]:
    taken = interleaved({"small": _gitmem(*small), "large": _gitmem(*large)}, rounds)
    index = {
        number: taken["large/index"][number] - seconds for number, seconds in taken["large/work tree"].items()
    }
    return [
        ratio_row(what, taken["large/work tree"], taken["small/work tree"], at_most=2.5),
        Row(
            "git's index in the larger one, per 1,000 files",
            milliseconds(index) * 1000 / files,
            unit="ms",
            at_most=1 if files >= 10_000 else None,
            note=f"{milliseconds(index):.1f} ms in all",
        ),
    ]


_CHILD = """
import sys
from benchmarks.git_engine import child_flush
child_flush(sys.argv[1], int(sys.argv[2]), looks=sys.argv[3] == "True")
"""


def child_flush(root: str, files: int, *, looks: bool) -> None:
    """In a process of its own: one flush, and the most memory that the process ever had."""
    repository = open_repository(root)
    if looks:
        hand_edits(repository)
    flush(repository, Flushes(2_000, 10).edits(files + looks))
    print(_peak_megabytes())


def _peak_megabytes() -> float:
    try:
        with open("/proc/self/status", encoding="ascii") as file:
            # Not getrusage where it can be helped: on Linux that begins with the parent's peak.
            return next(int(line.split()[1]) / 1024 for line in file if line.startswith("VmHWM:"))
    except OSError:
        import resource

        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / (1 << 20)


def _memory_rows(root: str, sizes: Sizes) -> list[Row]:
    rows = []
    for looks, what in ((False, "a flush of 10"), (True, "looking for hand edits, then a flush of 10")):
        arguments = [sys.executable, "-c", _CHILD, root, str(sizes.many_files), str(looks)]
        done = subprocess.run(arguments, capture_output=True, text=True, check=True)
        rows.append(Row(what, float(done.stdout), unit="MB", at_most=150))
    return rows


# Section: cold reads


def cold_section(where: str, sizes: Sizes, report: Report) -> None:
    """A new Repository object and 50 reads, after many flushes and in a freshly packed copy."""
    used = make_bundle(os.path.join(where, "used"), sizes.few_files)
    three, started = Flushes(sizes.few_files, 3), time.perf_counter()
    for number in range(sizes.flushes):
        flush(used, three.edits(number))
    each = (time.perf_counter() - started) / sizes.flushes
    packed = os.path.join(where, "packed")
    shutil.copytree(used.root, packed)
    git(packed, "gc", "--quiet", "--prune=now")

    def reading(root: str) -> Contender:
        def run(number: int) -> float:
            chance = random.Random(number)
            paths = [entry_path(chance.randrange(sizes.few_files)) for _ in range(50)]

            def work() -> None:
                repository = open_repository(root)
                tree = repository.tree(repository.tip())
                for path in paths:
                    if tree.read(path) is None:
                        raise RuntimeError(f"{path} is missing")
                repository.store.close()

            return timed(work)

        return run

    taken = interleaved({"used": reading(used.root), "packed": reading(packed)}, sizes.rounds)
    packs = sum(name.endswith(".pack") for name in os.listdir(used.store.pack_directory))
    report.section(
        f"Cold open and 50 reads after {sizes.flushes:,} flushes of 3",
        [
            ratio_row(
                "as the flushes left it / freshly packed by git gc", taken["used"], taken["packed"], at_most=3
            ),
            Row("packs that the flushes left", packs, unit=""),
            Row("a flush, all of it, on average", each * 1000, unit="ms"),
        ],
    )


# Section: commands


def command_section(where: str, sizes: Sizes, report: Report) -> None:
    """Start-up as a person feels it: whole processes."""
    program = _program()
    if program is None:
        report.skip("the gitmem command is not there yet: no start-up rows")
        return
    root = os.path.join(where, "commands")
    make_bundle(root, sizes.files)
    add_history(root, sizes.few_commits, 0)
    if subprocess.run([*program, "-C", root, "status"], capture_output=True, check=False).returncode:
        report.skip("gitmem status does not run on a benchmark bundle: no start-up rows")
        return
    commands = {
        "click": [sys.executable, "-c", "import click"],
        "click and dulwich": [sys.executable, "-c", "import click, dulwich.repo"],
        "help": [*program, "--help"],
        "log": [*program, "-C", root, "log", "-n", "20"],
        "status": [*program, "-C", root, "status"],
        "git status": [*GIT, "-C", root, "status"],
    }
    contenders = {name: _process(command) for name, command in commands.items()}
    taken = interleaved(contenders, sizes.rounds)
    heavy = taken["click and dulwich"]
    report.section(
        f"Commands at {sizes.files:,} files",
        [
            ratio_row("gitmem --help / import click", taken["help"], taken["click"], at_most=1.4),
            ratio_row("gitmem log -n 20 / import click, dulwich.repo", taken["log"], heavy, at_most=1.6),
            ratio_row("gitmem status / import click, dulwich.repo", taken["status"], heavy, at_most=3),
            ratio_row("gitmem status / git status", taken["status"], taken["git status"]),
        ],
    )


def _program() -> list[str] | None:
    """The gitmem command beside this interpreter, if it runs."""
    script = os.path.join(os.path.dirname(sys.executable), "gitmem")
    if not os.path.exists(script):
        return None
    return (
        [script]
        if not subprocess.run([script, "--help"], capture_output=True, check=False).returncode
        else None
    )


def _process(command: list[str]) -> Contender:
    return lambda _: timed(
        lambda: subprocess.run(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, check=True)
    )


SECTIONS: dict[str, Callable[[str, Sizes, Report], None]] = {
    "flush": flush_section,
    "growth": growth_section,
    "cold": cold_section,
    "commands": command_section,
}


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--quick", action="store_true", help="small sizes: does it run at all?")
    parser.add_argument("--json", action="store_true", help="one JSON document instead of tables")
    parser.add_argument("--only", choices=sorted(SECTIONS), action="append", help="some sections only")
    parser.add_argument("--rounds", type=int, help="how often each thing is measured")
    parser.add_argument("--dir", help="where bundles are made: a real disk, not memory")
    options = parser.parse_args()
    sizes = QUICK if options.quick else FULL
    sizes = replace(sizes, rounds=options.rounds or sizes.rounds)
    report = Report(as_json=options.json)
    for name in options.only or SECTIONS:
        with support.working_directory(options.dir) as where:
            SECTIONS[name](where, sizes, report)
    report.finish()


if __name__ == "__main__":
    main()
