"""An erase that is killed: run as `python -m tests.faults.erase_lab ROOT KILLS [again] [renames]`, because it forks.

Each victim dies at another change of the disk; with `again` so does whoever finishes what it left, with
`renames` the two directories are not exchanged in one step. Afterwards all is as
before or all is erased.
"""

from __future__ import annotations

import os
import shutil
import signal
import sys
from functools import partial
from pathlib import Path

import gitmem.memory.erase.eraser  # noqa: F401
from gitmem.config import Config
from gitmem.files import TEMPORARY
from gitmem.git import git_directory
from gitmem.memory.memory import Memory
from gitmem.memory.opening import open_bundle
from gitmem.memory.upkeep.create import create
from gitmem.world import World

from tests.faults.lab import forked
from tests.faults.trap import Trap
from tests.git.support import fsck_clean, locks_left, run_git
from tests.memory.erase.support import SECRET, told_of
from tests.trees import copied

_NEVER = 1_000_000


def prepared(root: Path) -> None:
    """A small bundle with the text in it."""
    memory, _ = create(World(os.environ), str(root), config=Config(machine="laptop"))
    told_of(memory)
    run_git(root, "branch", "other")
    memory.close()


def erase(root: Path, trap: Trap) -> int:
    memory = open_bundle(World(os.environ), str(root))
    with trap:
        memory.erase(text=SECRET, reason="asked to be forgotten")
    return 7


def recover(root: Path, trap: Trap) -> int:
    with trap:
        open_bundle(World(os.environ), str(root)).close()
    return 7


def moments(root: Path) -> int:
    """How many changes of the disk an erase makes."""
    trap = Trap(_NEVER)
    erase(root, trap)
    return trap.count


def holds_it(root: Path) -> bool:
    """Whether any object of any ref holds the text."""
    told = run_git(root, "log", "-p", "--all", "--format=%B%an")
    names = run_git(root, "for-each-ref")
    return SECRET in told or "blue-harbour" in names


def check(root: Path, before: str) -> str:
    """Either as before or erased; gives which."""
    memory = open_bundle(World(os.environ), str(root))
    is_before = run_git(root, "for-each-ref") == before
    everything = run_git(root, "cat-file", "--batch-all-objects", "--batch")
    assert is_before == (SECRET in everything), "some of it is left"
    assert is_before == holds_it(root)
    texts = [entry.text for entry in memory.curated.entries("memory")]
    assert texts[0] == "The user likes tabs."
    assert len(texts) == 3
    assert locks_left(memory.repository) == []
    memory.remember("It can be written to.")
    assert [name for name in os.listdir(root) if name.startswith(TEMPORARY)] == []
    assert run_git(root, "status", "--porcelain") == ""
    _close(memory)
    return "before" if is_before else "erased"


def _close(memory: Memory) -> None:
    memory.close()
    fsck_clean(memory.repository)


def main(root: Path, kills: int, *, again: bool, exchange: bool) -> None:
    if not exchange:
        git_directory._exchange = lambda *_: False  # as on a file system that cannot do it
    original, copy = root / "original", root / "copy"
    prepared(original)
    copied(original, copy)
    before = run_git(copy, "for-each-ref")
    total = moments(copy)
    assert total > 40, "the trap wraps nothing any more"
    found: dict[str, int] = {"before": 0, "erased": 0}
    step = max(1, total * 1000 // kills) if kills < total else 1000
    for number in range(kills):
        at = 1 + number * step // 1000 % total if kills < total else 1 + number % total
        shutil.rmtree(copy)
        copied(original, copy)
        status = forked(partial(erase, copy, Trap(at, kill=True)))
        assert status in (7, -signal.SIGKILL), (at, status)
        if again:
            for second in range(1, 400, 3):
                if forked(partial(recover, copy, Trap(second, kill=True))) == 7:
                    break
        found[check(copy, before)] += 1
    print(total, "moments;", found)
    assert all(found.values()), found


if __name__ == "__main__":
    how = sys.argv[3:]
    main(Path(sys.argv[1]), int(sys.argv[2]), again="again" in how, exchange="renames" not in how)
