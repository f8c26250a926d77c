"""Fault experiments on sync and clone: each dies at its n-th change of the disk, and the same again finishes it.

Run by the tests as `python -m tests.faults.sync_lab NAME ROOT STEP`, like `lab.py` and for the same reason; STEP is how
many changes of the disk lie between two deaths.
"""

from __future__ import annotations

import os
import shutil
import signal
import sys
from collections.abc import Callable
from datetime import UTC, datetime
from functools import partial
from pathlib import Path

# Imported here so that not every forked child does it again.
import gitmem.git.transport
import gitmem.memory.curated.archive
import gitmem.memory.sync.merge  # noqa: F401
from gitmem.config import Config
from gitmem.files import TEMPORARY
from gitmem.git.git_settings import Remote, Remotes
from gitmem.memory import review
from gitmem.memory.curated.prompt_block import freeze
from gitmem.memory.memory import Memory
from gitmem.memory.opening import open_bundle
from gitmem.memory.upkeep.clone import clone, is_free
from gitmem.memory.upkeep.create import create
from gitmem.safety.scanner import Scanner
from gitmem.world import World

from tests.faults.lab import forked, verified
from tests.faults.trap import Trap
from tests.git.support import fsck_clean, locks_left, run_git, tip_of, wrong

Scanner.shipped().scan("warm", "event")
WORLD = World(os.environ, clock=lambda: datetime.now(UTC), person="ada")


def make_hub(where: Path) -> None:
    """A remote with a memory and a snapshot, and a bundle that syncs with it."""
    run_git(where, "init", "-q", "--bare", "-b", "main", "hub.git")
    first, _ = create(WORLD, str(where / "first"), config=Config(machine="first"))
    Remotes(first.repository).save(Remote("origin", str(where / "hub.git"), consent=True))
    first.remember("A fact of the first machine.")
    first.snapshot("good")
    first.sync(transport="dulwich")
    first.close()


def each_death(
    step: int, prepare: Callable[[], None], work: Callable[[], object], check: Callable[[], None]
) -> None:
    """Do some work that dies at its n-th change of the disk, for every so manieth n, and look at what it left."""

    def victim(number: int) -> int:
        trap = Trap(number, kill=True)
        with trap:
            work()
        return 0 if trap.sprung else 7

    for number in range(1, 2000, step):
        verified(prepare, "preparing")
        status = forked(partial(victim, number))
        assert status in (7, -signal.SIGKILL), status
        verified(check, f"killed at change {number}")
        if status == 7:
            assert number > 40, "the trap wraps nothing any more"
            print(number, "moments")
            return
    raise AssertionError("the victim never came to an end")


def is_whole(bundle: Memory, hub: Path) -> None:
    """Both sides agree, nothing is locked, and the doctor finds nothing that is serious."""
    assert run_git(hub, "rev-parse", "main") == tip_of(bundle.repository)
    assert run_git(hub, "for-each-ref", "refs/tags") == run_git(bundle.root, "for-each-ref", "refs/tags")
    assert locks_left(bundle.repository) == []
    assert wrong(bundle) == []
    bundle.close()
    fsck_clean(bundle.repository)


def kill_clone(where: Path, step: int) -> None:
    """A clone dies; the same clone again makes the bundle that it would have made."""
    verified(partial(make_hub, where), "making the hub")
    target, hub = where / "copy", where / "hub.git"

    def copied() -> Memory:
        config = Config(machine="copy")
        return clone(WORLD, str(hub), str(target), config=config, prefer="dulwich")

    def check() -> None:
        bundle = copied() if is_free(str(target)) else open_bundle(WORLD, str(target))
        _is_complete(target)
        assert [remote.consent for remote in Remotes(bundle.repository).all()] == [True]
        bundle.remember("A fact of the copy.")
        bundle.sync(transport="dulwich")
        is_whole(bundle, hub)
        run_git(hub, "update-ref", "refs/heads/main", "main~1")

    each_death(step, partial(shutil.rmtree, target, ignore_errors=True), lambda: copied().close(), check)


def _is_complete(root: Path) -> None:
    """Every file of the newest commit is there, and nothing that a dead process left."""
    assert run_git(root, "status", "--porcelain") == ""
    assert [name for name in os.listdir(root) if name.startswith(TEMPORARY)] == []


def kill_init(where: Path, step: int) -> None:
    """An init dies; there is no memory, or a whole one, and the same init again makes it."""
    target = where / "mem"

    def made() -> Memory:
        return create(WORLD, str(target), config=Config(machine="mem"))[0]

    def prepare() -> None:
        shutil.rmtree(target, ignore_errors=True)
        target.mkdir()
        (target / "kept.md").write_text("---\ntype: Note\n---\nIt was there before.\n")

    def check() -> None:
        was_made = (target / ".git").exists()
        bundle = open_bundle(WORLD, str(target)) if was_made else made()
        bundle.remember("A fact.")
        _is_complete(target)
        assert run_git(target, "log", "--format=%s").splitlines()[-1].startswith("init: ")
        assert bundle.read("kept.md") is not None
        assert locks_left(bundle.repository) == []
        bundle.close()
        fsck_clean(bundle.repository)

    each_death(step, prepare, lambda: made().close(), check)


def kill_sync(where: Path, step: int) -> None:
    """A sync dies, with news on both sides; the next one finishes, and nobody has to remove a lock."""
    verified(partial(make_hub, where), "making the hub")
    kept, mine, hub = where / "kept", where / "mine", where / "hub.git"

    def begin() -> None:
        bundle = clone(WORLD, str(hub), str(mine), config=Config(machine="mine"), prefer="dulwich")
        bundle.remember("A fact of mine.")
        bundle.snapshot("mine")
        bundle.close()
        first = open_bundle(WORLD, str(where / "first"))
        first.remember("Another fact of the first machine.")
        first.snapshot("later")
        first.sync(transport="dulwich")
        first.close()
        shutil.copytree(mine, kept / "mine")
        shutil.copytree(hub, kept / "hub.git")

    verified(begin, "making news")

    def prepare() -> None:
        for one in (mine, hub):
            shutil.rmtree(one, ignore_errors=True)
            shutil.copytree(kept / one.name, one)
        run_git(mine, "update-index", "-q", "--refresh")

    def work() -> None:
        open_bundle(WORLD, str(mine)).sync(transport="dulwich")

    def check() -> None:
        for lock in hub.rglob("*.lock"):  # dulwich's, which go by their age: as if it had died long ago
            os.utime(lock, (1_000_000_000, 1_000_000_000))
        bundle = open_bundle(WORLD, str(mine))
        bundle.sync(transport="dulwich")
        facts = [entry.text for entry in bundle.curated.entries("memory")]
        assert len(facts) == 3, facts
        is_whole(bundle, hub)

    each_death(step, prepare, work, check)


def kill_settlement(where: Path, step: int) -> None:
    """A sync dies that takes most of a store away and brings something: nothing is lost, and nothing confirmed."""
    facts = {f"Fact number {number} of ours." for number in range(8)}
    theirs = "Payments to Acme go to the account NL00 1234."
    kept, mine, hub = where / "kept", where / "mine", where / "hub.git"

    def begin() -> None:
        run_git(where, "init", "-q", "--bare", "-b", "main", "hub.git")
        bundle, _ = create(WORLD, str(mine), config=Config(machine="mine"))
        Remotes(bundle.repository).save(Remote("origin", str(hub), consent=True, shared=True))
        for fact in sorted(facts):
            bundle.remember(fact)
        bundle.sync(transport="dulwich")
        bundle.close()
        other = clone(WORLD, str(hub), str(where / "other"), config=Config(machine="other"), prefer="dulwich")
        for fact in sorted(facts)[:-1]:
            other.curated.remove(fact)
        other.remember(theirs)
        other.sync(transport="dulwich")
        other.close()
        shutil.copytree(mine, kept / "mine")
        shutil.copytree(hub, kept / "hub.git")

    verified(begin, "making news")

    def prepare() -> None:
        for one in (mine, hub):
            shutil.rmtree(one, ignore_errors=True)
            shutil.copytree(kept / one.name, one)
        run_git(mine, "update-index", "-q", "--refresh")

    def work() -> None:
        open_bundle(WORLD, str(mine)).sync(transport="dulwich")

    def check() -> None:
        for lock in hub.rglob("*.lock"):
            os.utime(lock, (1_000_000_000, 1_000_000_000))
        with open_bundle(WORLD, str(mine)) as bundle:
            said = {entry.text for entry in bundle.curated.entries("memory")}
            assert facts <= said, facts - said
            assert theirs not in freeze(bundle).text
        with open_bundle(WORLD, str(mine)) as bundle:
            bundle.sync(transport="dulwich")
            assert {*facts, theirs} == {entry.text for entry in bundle.curated.entries("memory")}
            assert theirs not in freeze(bundle).text
            waiting = [item.kind for item in review.waiting(bundle)]
            assert 7 == waiting.count("taken"), waiting
            assert 1 == waiting.count("hidden"), waiting
            assert not bundle.show().entry.pulled_from, "our own commit counts as somebody else's"

    each_death(step, prepare, work, check)


if __name__ == "__main__":
    name, root, apart = sys.argv[1:]
    experiments = {
        "kill-init": kill_init,
        "kill-clone": kill_clone,
        "kill-sync": kill_sync,
        "kill-settlement": kill_settlement,
    }
    experiments[name](Path(root), int(apart))
