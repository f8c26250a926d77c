"""History and undo against plain git, as ratios measured in one run.

    python -m benchmarks.history [--quick] [--json]

A bundle of 10,000 files and 20,000 commits, 1,000 of which change MEMORY.md and belong to sessions. Ours is
measured in process with the index brought up, as a long-lived agent or a second command finds it; git as a
command. The cost of bringing the index up from nothing is printed beside.
"""

from __future__ import annotations

import argparse
import os
import random
import shutil
from datetime import UTC, datetime

from gitmem.config import Config
from gitmem.memory.history.blame import blame_of
from gitmem.memory.history.restore import restore
from gitmem.memory.history.trace import trace
from gitmem.memory.memory import Memory
from gitmem.memory.opening import open_bundle
from gitmem.memory.upkeep.create import create
from gitmem.okf import layout
from gitmem.okf.curated import CuratedFile
from gitmem.world import World

from benchmarks.support import (
    Report,
    Row,
    entry_content,
    entry_path,
    git,
    interleaved,
    ratio_row,
    timed,
    working_directory,
)

MEMORY = layout.MEMORY


def clock() -> datetime:
    return datetime.now(UTC)


def build(root: str, files: int, commits: int, revisions: int) -> Memory:
    """The history is fed to `git fast-import`, in the form gitmem writes it."""
    bundle, _ = create(
        World(os.environ, clock=clock), root, config=Config(machine="bench", memory_char_limit=10**9)
    )
    shutil.rmtree(os.path.join(root, ".git", "hooks"))  # plain git is measured without ours
    chance = random.Random(commits)
    feed = [
        b"commit refs/heads/main\ncommitter b <b@e> 1800000000 +0000\ndata 5\nflush\nfrom refs/heads/main^0\n"
    ]
    for number in range(files):
        text = entry_content(chance)
        feed.append(b"M 100644 inline %s\ndata %d\n%s\n" % (entry_path(number).encode(), len(text), text))
    memory = CuratedFile.parse(bundle.read(MEMORY) or b"", MEMORY)
    every = max(1, commits // revisions)
    for number in range(commits):
        session = b"s%d" % (number // 50)
        message = b"flush: entries\n\nKind: flush\nSession: %s\nAgent: hermes\nMachine: bench\n" % session
        feed.append(
            b"commit refs/heads/main\ncommitter b <b@e> %d +0000\ndata %d\n%s"
            % (1_800_000_001 + number, len(message), message)
        )
        if number % every == 0:
            path = MEMORY
            memory = memory.add(f"fact {number} about service {number % 97}", bundle.now())
            if len(memory.entries) > 40:
                memory = memory.remove(memory.entries[0].key.id)
            text = memory.render()
        else:
            path, text = entry_path(chance.randrange(files)), entry_content(chance)
        feed.append(b"M 100644 inline %s\ndata %d\n%s\n" % (path.encode(), len(text), text))
    git(
        root,
        "-c",
        "core.fsync=none",
        "-c",
        "fastimport.unpackLimit=0",
        "fast-import",
        "--quiet",
        feed=b"".join(feed),
    )
    git(root, "reset", "--quiet", "--hard")
    bundle.repository.store.close()
    return open_bundle(World(os.environ, clock=clock), root, "as is", config=bundle.config)


def reading(report: Report, bundle: Memory, rounds: int, index_seconds: float) -> None:
    root = bundle.root
    session = "s7"
    commits = [entry.commit for entry in bundle.log(path=MEMORY)]
    chosen = [entry.commit for entry in bundle.log() if entry.session == session]
    old, new = chosen[-1].parents[0], chosen[0].oid
    fact = bundle.curated.entries("memory")[0].text

    def session_diff(_: int) -> float:
        return timed(lambda: bundle.diff(session=session).changes)

    taken = interleaved(
        {
            "path": lambda _: timed(lambda: list(bundle.log(path=MEMORY))),
            "git path": lambda _: timed(lambda: git(root, "log", "--raw", "--", MEMORY)),
            "blame": lambda _: timed(lambda: blame_of(bundle, MEMORY)),
            "git blame": lambda _: timed(lambda: git(root, "blame", "--line-porcelain", MEMORY)),
            "diff": session_diff,
            "git diff": lambda _: timed(lambda: git(root, "diff", old, new)),
            "trace": lambda _: timed(lambda: trace(bundle, fact)),
            "revert": lambda _: timed(lambda: bundle.revert(session=session, dry_run=True)),
            "git -S": lambda _: timed(lambda: git(root, "log", "--oneline", "-S", fact)),
        },
        rounds,
        every={"git -S": 2},
    )
    report.section(
        f"Reading ({len(commits)} revisions of MEMORY.md)",
        [
            ratio_row(
                "history of one path / git log --raw -- PATH", taken["path"], taken["git path"], at_most=3
            ),
            ratio_row("blame MEMORY.md / git blame", taken["blame"], taken["git blame"], at_most=3),
            ratio_row(
                "diff --session / git diff of the two trees", taken["diff"], taken["git diff"], at_most=3
            ),
            ratio_row("why of a fact / git log -S", taken["trace"], taken["git -S"], at_most=0.5),
            ratio_row(
                "revert --session --dry-run / git log -S", taken["revert"], taken["git -S"], at_most=0.5
            ),
            Row("bringing the index up from nothing", index_seconds, unit="s"),
        ],
    )


def restoring(report: Report, bundle: Memory, place: str, rounds: int) -> None:
    rows = []
    limits = {1: 0.5, 100: 1.5, 1000: 2.0}
    chance = random.Random(5)
    for number, limit in limits.items():
        ours = os.path.join(place, f"ours-{number}")
        theirs = os.path.join(place, f"git-{number}")
        shutil.copytree(bundle.root, ours, symlinks=True)
        shutil.copytree(bundle.root, theirs, symlinks=True)
        for root in (ours, theirs):
            git(root, "update-index", "-q", "--refresh")
        copy = open_bundle(World(os.environ, clock=clock), ours, "as is", config=bundle.config)
        touched = {entry_path(index): entry_content(chance) for index in range(number)}
        before = copy.tip
        _change(copy, touched)
        after = copy.tip
        git(theirs, "fetch", "--quiet", ours, "main")
        git(theirs, "checkout", "--quiet", "--detach", after)
        states = [before, after]

        def put_back(turn: int, copy: Memory = copy, states: list[str] = states) -> float:
            return timed(lambda: restore(copy, states[turn % 2], origin=copy.origin()))

        def check_out(turn: int, theirs: str = theirs, states: list[str] = states) -> float:
            return timed(lambda: git(theirs, "checkout", "--quiet", "--detach", states[turn % 2]))

        taken = interleaved({"ours": put_back, "git": check_out}, rounds)
        rows.append(
            ratio_row(
                f"restore, {number} files differ / git checkout", taken["ours"], taken["git"], at_most=limit
            )
        )
        copy.repository.store.close()
        shutil.rmtree(ours)
        shutil.rmtree(theirs)
    report.section("Restore (durable, work tree and git index included)", rows)


def _change(bundle: Memory, files: dict[str, bytes]) -> None:
    from gitmem.git.message import Message
    from gitmem.memory.edits import Edits

    def work(edits: Edits) -> Message | None:
        for path, data in files.items():
            edits.write(path, data)
        return Message("flush", "a change")

    bundle.commit(work, purpose="benchmark", origin=bundle.origin())


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="a tenth of the size, few rounds")
    parser.add_argument("--json", action="store_true", help="one JSON document")
    parser.add_argument("--directory", help="where to make the bundles (default: a temporary directory)")
    chosen = parser.parse_args()
    scale = 10 if chosen.quick else 1
    report = Report(as_json=chosen.json)
    with working_directory(chosen.directory) as place:
        bundle = build(os.path.join(place, "bundle"), 10_000 // scale, 20_000 // scale, 1_000 // scale)
        index_seconds = timed(bundle.index.current)
        rounds = 5 if chosen.quick else 11
        reading(report, bundle, rounds, index_seconds)
        restoring(report, bundle, place, rounds)
    report.finish()


if __name__ == "__main__":
    main()
