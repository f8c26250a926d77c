"""Fault experiments on capture: writers that push and flush are killed, starved of disk, copied and doubled.

Run by the tests as `python -m tests.faults.capture_lab NAME ROOT [ARGUMENT…]`, like `lab.py` and for the
same reason.
"""

from __future__ import annotations

import contextlib
import errno
import os
import random
import shutil
import signal
import sys
import time
import traceback
from collections import Counter
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path

import gitmem.memory.gate.ledger
import gitmem.memory.pages
import gitmem.memory.snapshots
import gitmem.memory.upkeep.checks

# Imported here so that not every forked child does it again.
import gitmem.memory.upkeep.create
import gitmem.safety.secrets
from gitmem.config import Config
from gitmem.errors import GitMemError
from gitmem.memory.capture.buffer import HotMemoryBuffer
from gitmem.memory.capture.recovery import pending_count
from gitmem.memory.capture.session_page import SessionInfo
from gitmem.memory.distill.compression import Compressor
from gitmem.memory.memory import Memory
from gitmem.memory.opening import open_bundle
from gitmem.safety.scanner import Scanner
from gitmem.world import World

from tests.faults.lab import Ledger, copied, forked, verified
from tests.faults.trap import Trap
from tests.git.support import fsck_clean, locks_left, wrong

Scanner.shipped().scan("warm", "event")

KINDS: tuple[tuple[str, dict[str, object]], ...] = (
    ("observation", {"content": "The build needs node 20", "category": "Note"}),
    ("decision", {"decision": "Use Postgres", "rationale": "JSON", "tags": ["db"]}),
    ("tool_call", {"tool_name": "terminal", "args": {"command": "ls"}, "result": "ok"}),
    ("turn", {"user": "Hello", "assistant": "Hi"}),
)


def now() -> datetime:
    return datetime.now(UTC)


def start(root: Path) -> None:
    gitmem.memory.upkeep.create.create(
        World(os.environ, clock=now), str(root), config=Config(machine="laptop")
    )


def opened(root: Path, **settings: object) -> Memory:
    config = Config(machine="laptop", auto_snapshot=False, **settings)  # type: ignore[arg-type]
    return open_bundle(World(os.environ, clock=now), str(root), "as is", config=config)


def buffer_of(bundle: Memory, session: str = "s1") -> HotMemoryBuffer:
    return HotMemoryBuffer(bundle, SessionInfo(session, agent="hermes", machine="laptop"), max_items=1000)


def push_all(buffer: HotMemoryBuffer, ledger: Ledger, chance: random.Random | None = None) -> None:
    """One event of each kind, or one of any kind; the ledger has the id of each that was acknowledged."""
    for kind, fields in KINDS if chance is None else [chance.choice(KINDS)]:
        ledger.note(buffer.take(kind, fields))


def in_the_bundle(bundle: Memory) -> Counter[str]:
    """How often each event is there."""
    return Counter(event.id for state in bundle.sessions.all() for event in bundle.sessions.events(state.id))


def check(root: Path, acknowledged: list[str], *, deep: bool = True, may_hold_more: bool = True) -> None:
    """After the next start: every acknowledged event exactly once, nothing waits, everything is sound."""
    bundle = opened(root)
    bundle.finish_pending()
    told = bundle.recover_journals()
    assert not [notice for notice in told if "damaged" in notice.detail], told
    found = in_the_bundle(bundle)
    missing = set(acknowledged) - found.keys()
    assert not missing, ("acknowledged and lost", missing)
    assert not [one for one, times in found.items() if times != 1], "stored twice"
    if not may_hold_more:
        assert set(acknowledged) == found.keys()
    decisions = [bundle.concept(path) for path in bundle.list_concepts("decisions")]
    ids = [str(concept.meta["event"]) for concept in decisions if concept is not None]
    assert len(ids) == len(set(ids)), "a decision twice"
    recorded = {
        event.id
        for state in bundle.sessions.all()
        for event in bundle.sessions.events(state.id)
        if event.kind == "decision"
    }
    assert recorded == set(ids), "a decision without its concept, or the other way round"
    assert pending_count(bundle.journal_dir) == 0
    assert bundle.recover_journals() == []
    assert not os.path.isdir(bundle.journal_dir) or os.listdir(bundle.journal_dir) == []
    assert locks_left(bundle.repository) == []
    if deep:
        assert wrong(bundle) == []
        fsck_clean(bundle.repository)


def prepare(root: Path) -> None:
    """A fresh bundle."""
    copied(root, start)


def is_deep(number: int, every: str) -> bool:
    """Whether all of the bundle is verified after this round; that its events are there always is."""
    return number % int(every) == 0


def killed(work: Callable[[int], None], after: float) -> int:
    """Run something in a process of its own, and kill it a while after it has said that it is ready."""
    waiting, ready = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            work(ready)
        except BaseException:
            traceback.print_exc()
        finally:
            os._exit(1)
    os.close(ready)
    is_ready = os.read(waiting, 1) == b"x"  # nothing, where it died before that
    os.close(waiting)
    assert is_ready
    time.sleep(after)
    os.kill(child, signal.SIGKILL)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


# The experiments


def kill_randomly(root: Path, kills: str, seed: str) -> None:
    """A writer that pushes, flushes, compresses and writes through is killed at random moments."""
    chance = random.Random(int(seed))
    ledger = Ledger(root.parent / "ledger")
    verified(lambda: start(root), "preparing")
    for kill in range(int(kills)):

        def write(ready: int, kill: int = kill) -> None:
            own = random.Random(f"{seed} {kill}")
            bundle = opened(
                root, hot_memory_max=own.choice((3, 8, 50)), fsync=own.choice(("interval", "off"))
            )
            bundle.recover_journals()
            buffer = buffer_of(bundle, f"s{own.randrange(3)}")
            compressor = Compressor(bundle, buffer)
            push_all(buffer, ledger, own)
            os.write(ready, b"x")
            for number in range(100_000):
                act = own.random()
                if act < 0.7:
                    push_all(buffer, ledger, own)
                elif act < 0.85:
                    buffer.flush(own.choice(("turn", "explicit", "buffer-max")))
                elif act < 0.9:
                    compressor.compress([{"role": "user", "content": f"{kill} {number}"}])
                elif act < 0.95:
                    ledger.note(bundle.record_observation("through", session=f"s{own.randrange(3)}"))
                else:
                    buffer.enter(SessionInfo(f"s{own.randrange(3)}", agent="hermes"))

        assert killed(write, chance.random() * 0.15) == -signal.SIGKILL
        deep = kill % 10 == 0 or kill == int(kills) - 1
        verified(lambda deep=deep: check(root, ledger.read(), deep=deep), f"kill {kill} with seed {seed}")  # type: ignore[misc]
    print(len(ledger.read()), "acknowledged")


def kill_each(root: Path, every: str, step: str = "1") -> None:
    """A flush dies at its n-th change of the disk, the journal's own included, for every n, or every third."""
    ledger = Ledger(root.parent / "ledger")
    for number in range(1, 500, int(step)):
        prepare(root)
        ledger.path.write_bytes(b"")

        def flush(number: int = number) -> int:
            buffer = buffer_of(opened(root))
            push_all(buffer, ledger)
            trap = Trap(number, kill=True)
            with trap:
                buffer.flush()
                push_all(buffer, ledger)
                buffer.close()
            return 0 if trap.sprung else 7

        status = forked(flush)
        assert status in (7, -signal.SIGKILL), status
        deep = is_deep(number, every) or status == 7
        verified(lambda deep=deep: check(root, ledger.read(), deep=deep), f"killed at change {number}")  # type: ignore[misc]
        if status == 7:
            print(number - 1, "moments")
            assert number > 40, "the trap wraps nothing any more"
            return
    raise AssertionError("the flush never came to an end")


def kill_recovery(root: Path, every: str, step: str = "1") -> None:
    """The start that recovers a journal dies at every moment; the next one finds each event, once."""
    ledger = Ledger(root.parent / "ledger")
    for number in range(1, 500, int(step)):
        prepare(root)
        ledger.path.write_bytes(b"")

        def leave() -> None:
            bundle = opened(root)
            for session in ("s1", "s2"):
                buffer = buffer_of(bundle, session)
                push_all(buffer, ledger)
                buffer.abandon()

        verified(leave, "preparing")

        def recover(number: int = number) -> int:
            bundle = opened(root)
            trap = Trap(number, kill=True)
            with trap:
                bundle.recover_journals()
            return 0 if trap.sprung else 7

        status = forked(recover)
        deep = is_deep(number, every) or status == 7
        verified(
            lambda deep=deep: check(root, ledger.read(), deep=deep, may_hold_more=False),  # type: ignore[misc]
            f"killed at change {number}",
        )
        if status == 7:
            print(number - 1, "moments")
            assert number > 40
            return


def full_disk(root: Path, how: str, every: str, step: str = "1") -> None:
    """The n-th change of the disk during a flush fails with ENOSPC, for every n, or every third."""
    ledger = Ledger(root.parent / "ledger")
    for number in range(1, 500, int(step)):
        prepare(root)
        ledger.path.write_bytes(b"")

        def flush(number: int = number) -> int:
            bundle = opened(root)
            buffer = buffer_of(bundle)
            push_all(buffer, ledger)
            trap = Trap(number, error=errno.ENOSPC, sticky=how == "sticky")
            with trap:
                try:
                    made = buffer.flush()
                    assert made.published is not None
                except GitMemError as error:
                    told = str(error)
                    assert "4 events wait in the journal for the next flush." in told, told
                    assert "space" in told or "was made" in told or "in use" in told, told
                    assert len(buffer) == 4
                    assert [event.kind for event in buffer.waiting()] == [kind for kind, _ in KINDS]
            if number % 2:  # the same process goes on, or it ends and the next one takes it up
                push_all(buffer, ledger)
                done = buffer.flush()
                assert done.published is not None
                assert len(buffer) == 0
                buffer.close()
            else:
                buffer.abandon()
            return 0 if trap.sprung else 7

        status = forked(flush)
        assert status in (0, 7), status
        deep = is_deep(number, every) or status == 7
        verified(
            lambda deep=deep: check(root, ledger.read(), deep=deep, may_hold_more=False),  # type: ignore[misc]
            f"change {number} failed ({how})",
        )
        if status == 7:
            print(number - 1, "moments")
            assert number > 20, "the trap wraps nothing any more"
            return
    raise AssertionError("the flush never came to an end")


def real_full_disk(root: Path) -> None:
    """A small disk fills up under a writer; with room again everything is there.

    `root` lies on a file system of a few megabytes of its own.
    """
    ledger = Ledger(Path(os.environ["LEDGER"]))
    verified(lambda: start(root), "preparing")

    def fill() -> None:
        bundle = opened(root)
        buffer = buffer_of(bundle)
        push_all(buffer, ledger)
        buffer.flush()
        ballast = root.parent / "ballast"
        fill_up(ballast, 4096)
        told: list[str] = []
        with open(ballast, "rb+") as file:  # room for the journal, and not for a commit
            file.truncate(max(0, os.path.getsize(ballast) - 8192))
        for _ in range(3):
            push_all(buffer, ledger)
            try:
                buffer.flush()
            except GitMemError as error:
                told.append(str(error))
        assert len(told) == 3, "the disk was not full"
        assert all("wait in the journal for the next flush" in sentence for sentence in told), told
        waiting = len(buffer)
        assert waiting == 12
        os.unlink(ballast)
        done = buffer.flush()
        assert len(done.events) == waiting
        assert done.published is not None
        # Full again, and now not even the journal has room.
        fill_up(ballast, 512)
        for _ in range(200):
            try:
                ledger.note(buffer.take("observation", {"content": "x" * 3000}))
            except GitMemError as error:
                told.append(str(error))
                break
        assert "NOT stored" in told[-1], told
        os.unlink(ballast)
        push_all(buffer, ledger)
        buffer.close()

    assert forked(fill) == 0
    verified(lambda: check(root, ledger.read(), may_hold_more=False), "a really full disk")


def fill_up(path: Path, piece: int) -> None:
    """Write until the disk is full."""
    with open(path, "wb", 0) as file, contextlib.suppress(OSError):
        while True:
            file.write(bytes(piece))


def copies(root: Path) -> None:
    """A copied bundle, a restored backup and a journal that comes back: each event once in each of them."""
    ledger = Ledger(root.parent / "ledger")
    verified(lambda: start(root), "preparing")
    copy, backup = root.parent / "copy", root.parent / "backup"

    def work() -> None:
        bundle = opened(root)
        buffer = buffer_of(bundle)
        push_all(buffer, ledger)
        buffer.flush()
        push_all(buffer, ledger)
        shutil.copytree(root, copy, symlinks=True)  # with a journal that is held, and has events
        shutil.copytree(root, backup, symlinks=True)
        push_all(buffer, ledger)
        buffer.flush()
        buffer.close()

    verified(work, "working")
    ids = ledger.read()
    verified(lambda: check(root, ids, may_hold_more=False), "the original")
    verified(lambda: check(copy, ids[:8], may_hold_more=False), "the copy")

    # The old journal comes back into the bundle that has its events.
    journals = root / ".git/gitmem/journal"
    shutil.copytree(backup / ".git/gitmem/journal", journals, dirs_exist_ok=True)
    verified(lambda: check(root, ids, may_hold_more=False), "a journal that came back")

    # Two journals with the same events under different names.
    [old] = list((backup / ".git/gitmem/journal").glob("*.jsonl"))
    shutil.copy(old, journals / f"{'0' * 32}.jsonl")
    shutil.copy(old, journals / f"{'1' * 32}.jsonl")
    verified(lambda: check(root, ids, may_hold_more=False), "a journal under other names")

    # The whole bundle is put back to the backup, and goes on from there.
    shutil.rmtree(root)
    shutil.copytree(backup, root, symlinks=True)
    verified(lambda: check(root, ids[:8], may_hold_more=False), "a restored backup")
    again = Ledger(root.parent / "again")

    def go_on() -> None:
        buffer = buffer_of(opened(root))
        push_all(buffer, again)
        buffer.close()

    verified(go_on, "going on")
    verified(lambda: check(root, [*ids[:8], *again.read()], may_hold_more=False), "after the backup")

    # An event that was taken back stays out, also when a backup's journal brings it again.
    def take_back() -> None:
        bundle = opened(root)
        [commit] = [entry.commit for entry in bundle.log() if entry.kind == "recover"]
        bundle.revert(commit.oid)
        left = set(in_the_bundle(bundle))
        shutil.copytree(backup / ".git/gitmem/journal", bundle.journal_dir, dirs_exist_ok=True)
        bundle.recover_journals()
        assert set(in_the_bundle(bundle)) == left
        assert not left & set(ids[4:8])

    verified(take_back, "retracted events")


def same_session(root: Path, processes: str, pushes: str) -> None:
    """Processes with one session id push and flush at once: every event is there, in its writer's parts."""
    ledger = Ledger(root.parent / "ledger")
    verified(lambda: start(root), "preparing")
    children = []
    for process in range(int(processes)):
        child = os.fork()
        if child == 0:
            status = 1
            try:
                own = random.Random(process)
                buffer = buffer_of(opened(root), "shared")
                for _ in range(int(pushes)):
                    push_all(buffer, ledger, own)
                    if own.random() < 0.2:
                        buffer.flush("turn")
                buffer.close()
                status = 0
            except BaseException:
                traceback.print_exc()
            finally:
                os._exit(status)
        children.append(child)
    assert all(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0 for child in children)

    def look() -> None:
        check(root, ledger.read(), may_hold_more=False)
        bundle = opened(root)
        [state] = bundle.sessions.all()
        home = state.path.removesuffix(".md")
        writers = {name.rpartition("-")[0] for name in bundle.tree().names(home) if name.endswith(".md")}
        assert len(writers) == int(processes)
        for name in bundle.tree().names(home):
            part = (bundle.read(f"{home}/{name}") or b"").decode()
            assert part.count("<!-- event ") == part.count(f"<!-- event {name.rpartition('-')[0]}-")

    verified(look, "many writers of one session")
    assert len(ledger.read()) == int(processes) * int(pushes)


EXPERIMENTS: dict[str, Callable[..., None]] = {
    "kill-randomly": kill_randomly,
    "kill-each": kill_each,
    "kill-recovery": kill_recovery,
    "full-disk": full_disk,
    "real-full-disk": real_full_disk,
    "copies": copies,
    "same-session": same_session,
}


if __name__ == "__main__":
    EXPERIMENTS[sys.argv[1]](Path(sys.argv[2]), *sys.argv[3:])
