"""The one lock: by thread, across processes, free when its owner dies, and it names its owner."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from pathlib import Path

import pytest
from gitmem.errors import BundleBusy
from gitmem.locks import Lock
from gitmem.state import LocalState

BUSY = "The bundle is in use by {owner}: try again when it is done."


@pytest.fixture
def state(tmp_path: Path) -> LocalState:
    """A state directory that is not there yet."""
    return LocalState(str(tmp_path))


def holder(lock: Lock, then: str) -> subprocess.Popen[str]:
    """A process that holds the lock, says so, and waits for a line."""
    code = f"""
import sys
from gitmem.locks import Lock
with Lock({lock.path!r}, "").hold("a long gc"):
    print("held", flush=True)
    sys.stdin.readline()
    {then}
"""
    process = subprocess.Popen(
        [sys.executable, "-c", code], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    assert process.stdout is not None
    assert "held\n" == process.stdout.readline()
    return process


def test_the_thread_that_holds_it_takes_it_again(state: LocalState) -> None:
    """And it is held until the outermost is done."""
    lock = state.lock("bundle", BUSY)
    with lock.hold("outer") as outermost:
        assert outermost
        with lock.hold("inner") as again:
            assert not again
        assert lock.is_held
    assert not lock.is_held


def test_another_thread_waits(state: LocalState) -> None:
    """Of one process and with the same object: it is not the same owner."""
    lock = state.lock("bundle", BUSY)
    seen: list[str] = []
    refused = threading.Event()
    with lock.hold("first"):

        def other() -> None:
            with (
                pytest.raises(BundleBusy, match=rf"process {os.getpid()} \(first\)"),
                lock.hold("second", wait=0),
            ):
                pass
            refused.set()
            with lock.hold("second", wait=120):
                seen.append("second")

        thread = threading.Thread(target=other)
        thread.start()
        assert refused.wait(120)
        seen.append("first")
    thread.join()
    assert ["first", "second"] == seen


def test_another_process_is_named_and_its_death_frees_the_lock(state: LocalState) -> None:
    """Killed while it holds it: nothing is left to clean up."""
    lock = state.lock("bundle", BUSY)
    with lock.hold("make the directory"):
        pass
    process = holder(lock, "pass")
    with pytest.raises(BundleBusy, match=rf"process {process.pid} \(a long gc\)"), lock.hold("mine", wait=0):
        pass
    assert lock.is_held
    process.kill()
    process.communicate()
    with lock.hold("mine", wait=120) as taken:
        assert taken


def test_a_forked_child_takes_its_own(state: LocalState) -> None:
    """What the parent holds is the parent's: the child waits for it, and its end does not release it."""
    lock = state.lock("bundle", BUSY)
    with lock.hold("parent"):
        child = os.fork()
        if child == 0:
            try:
                with lock.hold("child", wait=0):
                    os._exit(1)
            except BundleBusy:
                os._exit(0)
        assert 0 == os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
        assert lock.is_held


@pytest.mark.parametrize("text", ["", "garbage", "process 1 (\x1b[31mroot)", "process 99999999999999 (x)"])
def test_an_owner_that_nobody_wrote_is_not_repeated(state: LocalState, text: str) -> None:
    """The file of a lock may say anything; the message says what a lock writes, or nothing."""
    lock = state.lock("bundle", BUSY)
    with lock.hold("x"):
        Path(lock.path).write_text(text)
        assert "" == lock.owner()


def test_a_removed_bundle_stays_removed(tmp_path: Path) -> None:
    """The directories of the lock are made, what is above them is not."""
    lock = LocalState(str(tmp_path / "gone" / ".git")).lock("bundle", BUSY)
    with pytest.raises(FileNotFoundError), lock.hold("x"):
        pass
    assert [] == list(tmp_path.iterdir())


def test_a_lock_that_is_a_link_is_not_followed(state: LocalState, tmp_path: Path) -> None:
    """A file of the user's is neither locked nor written to."""
    precious = tmp_path / "precious"
    precious.write_text("mine")
    lock = state.lock("bundle", BUSY)
    with lock.hold("x"):
        pass
    os.unlink(lock.path)
    os.symlink(precious, lock.path)
    with pytest.raises(OSError, match="symbolic"), lock.hold("x", wait=0):
        pass
    assert "mine" == precious.read_text()
