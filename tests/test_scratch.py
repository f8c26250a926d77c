"""Scratch files belong to a process: only those of dead ones are removed."""

from __future__ import annotations

import gc
import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from gitmem.locate import enlist
from gitmem.locks import Scratch, sweep
from gitmem.state import TMP
from gitmem.world import World

from tests.cli.conftest import real
from tests.git.support import plain_environment
from tests.hosts.conftest import HermesHome, bare_home, home

__all__ = ["bare_home", "home"]  # fixtures

HOLDER = """
import sys
from gitmem.locks import Scratch
scratch = Scratch.of(sys.argv[1])
open(scratch.directory + "/half-written", "w").close()
print(scratch.directory, flush=True)
sys.stdin.read()
"""


@contextmanager
def holder(top: Path) -> Iterator[tuple[subprocess.Popen[str], Path]]:
    """Another process with a file in its scratch directory."""
    process = subprocess.Popen(
        [sys.executable, "-c", HOLDER, str(top)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        env=plain_environment(),
    )
    with process:
        assert process.stdout is not None
        yield process, Path(process.stdout.readline().strip())
        process.kill()


@pytest.fixture
def top(tmp_path: Path) -> Path:
    """Where the directories of all processes are."""
    return tmp_path / "gitmem" / "tmp"


def test_a_live_process_keeps_its_files_and_a_dead_one_does_not(top: Path) -> None:
    """Whoever sweeps: also while the other one does nothing at all."""
    with holder(top) as (process, directory):
        sweep(str(top))
        assert {"half-written", "lock"} == set(os.listdir(directory))
        process.send_signal(signal.SIGKILL)
        process.wait()
        sweep(str(top))
        assert [] == os.listdir(top)


def test_a_process_has_one_directory_for_each_place(top: Path) -> None:
    """Shared by all who ask, and gone with the last of them."""
    one, other = Scratch.of(str(top)), Scratch.of(str(top))
    assert one is other
    assert [os.path.basename(one.directory)] == os.listdir(top)
    del one, other
    gc.collect()
    assert [] == os.listdir(top)


def test_what_is_left_in_it_waits_for_the_next_writer(top: Path) -> None:
    """A failed commit's note names a file there, so the end of a process does not remove it."""
    scratch = Scratch.of(str(top))
    Path(scratch.directory, "aside").touch()
    del scratch
    gc.collect()
    [left] = top.iterdir()
    assert {"aside", "lock"} == set(os.listdir(left))
    sweep(str(top))
    assert [] == os.listdir(top)


def test_a_deleted_directory_is_made_again(top: Path) -> None:
    """A person may delete it while nobody is in the middle of something."""
    scratch = Scratch.of(str(top))
    os.unlink(os.path.join(scratch.directory, "lock"))
    os.rmdir(scratch.directory)
    assert not scratch.is_ours
    assert os.path.isdir(Scratch.of(str(top)).directory)


def test_a_removed_bundle_stays_removed(tmp_path: Path) -> None:
    """Only the state directory is made, not what is above it."""
    with pytest.raises(FileNotFoundError):
        Scratch.of(str(tmp_path / "gone" / "gitmem" / "tmp"))
    assert [] == os.listdir(tmp_path)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
def test_a_forked_child_has_its_own(top: Path) -> None:
    """The parent's stays the parent's, and the child's end leaves it alone."""
    scratch = Scratch.of(str(top))
    child = os.fork()
    if not child:
        fine = not scratch.is_ours and Scratch.of(str(top)).directory != scratch.directory
        del scratch
        gc.collect()
        os._exit(0 if fine else 1)
    assert 0 == os.waitpid(child, 0)[1]
    assert scratch.is_ours
    sweep(str(top))
    assert [os.path.basename(scratch.directory)] == os.listdir(top)


# --- with whole processes --------------------------------------------------------------------------------

WRITER = """
import sys
from gitmem.cli.main import main
for number in range(int(sys.argv[2])):
    if code := main(["-C", sys.argv[1], "record", "observation", f"the harbour log, page {number}"]):
        sys.exit(code)
"""


@contextmanager
def writers(root: Path, count: int, *, commits: int = 40) -> Iterator[None]:
    """Processes that commit one observation after the other, none of which may fail."""
    enlist(World(os.environ), str(root))
    started = [
        subprocess.Popen(
            [sys.executable, "-c", WRITER, str(root), str(commits)],
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            text=True,
            env=plain_environment(),
        )
        for _ in range(count)
    ]
    try:
        yield
    finally:
        said = [process.communicate(timeout=120)[1] for process in started]
    assert [("", 0)] * count == [
        (text, process.returncode) for text, process in zip(said, started, strict=True)
    ]


def test_an_index_is_built_beside_writers(tmp_path: Path) -> None:
    """Five times out of five, and a search by the prefix of an id finds what is there."""
    root = tmp_path / "bundle"
    assert 0 == real("init", str(root), cwd=tmp_path).returncode
    with writers(root, 2):
        for _ in range(5):
            done = real("check", "--fix", cwd=root)
            assert (0, "") == (done.returncode, done.stderr)
            commit = json.loads(real("log", "-n", "1", "--json", cwd=root).stdout)["commits"][0]["commit"]
            assert 0 == real("show", commit[:9], cwd=root).returncode
    assert "harbour" in real("search", "harbour", cwd=root).stdout
    assert 0 == real("check", cwd=root).returncode
    assert [] == os.listdir(root / ".git" / "gitmem" / TMP.path())


AGENT = """
import json, sys
from gitmem.hosts.hermes.provider import SHIM_VERSION, GitMemProvider
warned, name = [], sys.argv[2]
provider = GitMemProvider(shim=SHIM_VERSION)
provider.initialize(name, hermes_home=sys.argv[1], platform="cli", agent_context="primary", warning_callback=warned.append)
print("ready", flush=True)
sys.stdin.readline()
messages = []
for number in range(8):
    said = f"the harbour log of {name}, page {number}"
    provider.on_turn_start(number, said)
    messages += [{"role": "user", "content": said}, {"role": "assistant", "content": "noted"}]
    provider.sync_turn(said, "noted", session_id=name, messages=messages)
    found = {"status": "queued"}
    while found.get("status") == "queued":
        provider._run.worker.submit(lambda: None).result(60)
        found = json.loads(provider.handle_tool_call("gitmem_search", {"query": "harbour log"}))
    assert "harbour" in found["result"], found
provider._run.worker.submit(lambda: None).result(60)
provider.shutdown()
provider.system_prompt_block()
print(json.dumps(warned))
"""


def test_two_agents_on_a_fresh_home_work_without_a_word(home: HermesHome) -> None:
    """Both record and search at the same time, and neither is told anything."""
    started = [
        subprocess.Popen(
            [sys.executable, "-c", AGENT, str(home.path), name],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            env={**home.env, **plain_environment()},
        )
        for name in ("one", "two")
    ]
    for process in started:
        assert process.stdin is not None
        assert process.stdout is not None
        assert "ready" == process.stdout.readline().strip()
        process.stdin.write("go\n")
        process.stdin.flush()
    outcomes = [process.communicate(timeout=120) for process in started]
    assert ["[]", "[]"] == [out.strip() for out, _ in outcomes], outcomes
    told = [event.kind for name in ("one", "two") for event in home.bundle().sessions.events(name)]
    assert 16 == told.count("turn"), told
