"""A session syncs before its prompt is made, for a moment; one sync of a memory at a time."""

from __future__ import annotations

import os
import subprocess
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from gitmem import background
from gitmem.config import Config
from gitmem.errors import BundleBusy
from gitmem.git.git_settings import Remote, Remotes
from gitmem.memory.memory import Memory
from gitmem.memory.sync.remote_state import remote_states, sync_lock
from gitmem.memory.sync.sync import Sync
from gitmem.memory.upkeep.clone import clone

from tests.hosts.conftest import Driver, HermesHome
from tests.hosts.model import Model, say
from tests.hosts.real import Hermes, Make, make, model
from tests.hosts.talk import turn
from tests.servers.local import HOST, silent_server

Begin = Callable[..., Driver]

__all__ = ["make", "model"]  # fixtures


class Other:
    """Another machine with the same memory."""

    def __init__(self, home: HermesHome, place: Path) -> None:
        hub = place / "hub.git"
        subprocess.run(["git", "init", "-q", "--bare", "-b", "main", str(hub)], check=True)
        bundle = home.bundle()
        Remotes(bundle.repository).save(Remote("origin", str(hub), consent=True))
        bundle.ledger.confirm_machine("desktop", "ada")
        Sync(bundle).run()
        self.memory: Memory = clone(
            home.world, str(hub), str(place / "other"), config=Config(machine="desktop")
        )

    def learns(self, text: str) -> None:
        Sync(self.memory).run()
        self.memory.curated.add(text)
        Sync(self.memory).run()

    def forgets(self, text: str) -> None:
        Sync(self.memory).run()
        self.memory.curated.remove(text)
        Sync(self.memory).run()


@pytest.fixture
def patient(home: HermesHome) -> HermesHome:
    """A home whose sessions wait for their sync as long as it takes: nothing here depends on how fast a machine is."""
    (home.path / "gitmem.yaml").write_text("sync_wait: 120\n")
    return home


def test_what_another_machine_learned_is_in_the_prompt(
    patient: HermesHome, begin: Begin, tmp_path: Path
) -> None:
    """The host has read its files already: the provider's block says what came, and by number what went."""
    patient.write("Deploys happen on Tuesdays", "The harbour closes at nine")
    begin("s0").shutdown()
    background.wait(120)
    other = Other(patient, tmp_path)
    other.learns("Deploys need two approvals")
    other.forgets("harbour")
    provider = begin("s1")
    block = provider.system_prompt_block()
    assert "- MEMORY.md: Deploys need two approvals" in block
    assert "- MEMORY.md: no longer true: entry 2, counted from the top" in block
    assert "harbour" not in block
    assert ["Deploys happen on Tuesdays", "Deploys need two approvals"] == patient.entries()
    assert block == provider.system_prompt_block()


def test_without_a_wait_it_comes_later(patient: HermesHome, begin: Begin, tmp_path: Path) -> None:
    """The sync goes on in the background, and the next session has it."""
    begin("s0").shutdown()
    other = Other(patient, tmp_path)
    other.learns("Deploys need two approvals")
    (patient.path / "gitmem.yaml").write_text("sync_wait: 0\n")
    assert "approvals" not in begin("s1", settled=False).system_prompt_block()
    background.wait(120)
    assert ["Deploys need two approvals"] == patient.entries()


def test_without_a_remote_nothing_is_started(
    patient: HermesHome, begin: Begin, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nor where the settings say so."""
    monkeypatch.setattr(background, "start", lambda *_, **__: pytest.fail("a process was started"))
    begin("s1").shutdown()
    (patient.path / "gitmem.yaml").write_text("auto_sync: false\n")
    Remotes(patient.bundle().repository).save(Remote("origin", "/nowhere", consent=True))
    begin("s2").shutdown()


@pytest.mark.filterwarnings("ignore")  # the host's own
@pytest.mark.parametrize("platform", ["cli", "telegram"])
def test_the_real_host_asks_its_model_with_it(
    make: Make, model: Model, tmp_path: Path, platform: str
) -> None:
    """The first request of the session has what came; on a command line the host's own block, without what went."""
    hermes: Hermes = make()
    (hermes.path / "gitmem.yaml").write_text("sync_wait: 120\n")
    hermes.write("Deploys happen on Tuesdays", "The harbour closes at nine")
    with hermes.agent("S0") as agent:
        agent.say("hello", say("hi"))
    background.wait(120)
    other = Other(hermes, tmp_path)
    other.learns("Deploys need two approvals")
    other.forgets("harbour")
    model.requests.clear()
    with hermes.agent("S1", platform=platform) as agent:
        agent.say("hello", say("hi"))
    system = next(one["content"] for one in model.requests[0]["messages"] if one["role"] == "system")
    assert "Deploys need two approvals" in system
    assert ("harbour" in system) == (platform != "cli")
    assert ("no longer true: entry 2" in system) == (platform != "cli")


# --- one at a time ---------------------------------------------------------------------------------------


def syncing(root: str) -> list[str]:
    """The processes that sync a bundle or fetch for it, by their command lines."""
    found = []
    for pid in filter(str.isdigit, os.listdir("/proc")):
        try:
            words = Path("/proc", pid, "cmdline").read_bytes().decode().split("\0")
        except OSError:
            continue
        line = " ".join(words)
        if root in line and ("sync" in words or "fetch" in words or "ls-remote" in words):
            found.append(line)
    return found


@pytest.fixture
def hanging(home: HermesHome) -> Iterator[HermesHome]:
    """A home whose remote takes the connection and says nothing."""
    with silent_server() as port:
        Remotes(home.bundle().repository).save(Remote("origin", f"git://{HOST}:{port}/hub.git", consent=True))
        (home.path / "gitmem.yaml").write_text("sync_wait: 0.2\n")
        yield home
        for process in background._started:
            process.terminate()
            process.wait(120)
        for pid in _orphans(home):
            os.kill(pid, 9)


def _orphans(home: HermesHome) -> list[int]:
    return [
        int(pid)
        for pid in filter(str.isdigit, os.listdir("/proc"))
        if home.home.git_dir.encode() in (_cmdline(pid)) and b"fetch" in _cmdline(pid)
    ]


def _cmdline(pid: str) -> bytes:
    try:
        return Path("/proc", pid, "cmdline").read_bytes()
    except OSError:
        return b""


@pytest.mark.skipif(not os.path.isdir("/proc/self"), reason="needs /proc")
def test_a_hanging_remote_piles_up_no_processes(hanging: HermesHome, begin: Begin) -> None:
    """Ten sessions leave one sync, with its one fetch, and everything that was said is committed."""
    for number in range(10):
        provider = begin(f"s{number}")
        turn(provider, [], f"turn {number}", "ok")
        provider.shutdown()
    while sum(process.poll() is None for process in background._started) > 1:
        time.sleep(0.02)  # one has the lock; whoever came second goes away at once
    found = syncing(hanging.home.bundle)
    assert 1 == sum(" sync " in f"{line} " for line in found), found
    assert 1 >= sum(" fetch " in line and "/bin/sh" not in line for line in found), found
    assert 10 == sum(one.kind == "flush" for one in hanging.log())


def test_a_second_sync_waits_or_says_so(home: HermesHome, tmp_path: Path) -> None:
    """That it was refused is not a failure of the remote; and a dead process's sync is over."""
    Other(home, tmp_path)
    bundle = home.bundle()
    with sync_lock(bundle.state).hold("a test", wait=0):
        assert sync_lock(bundle.state).is_held
        with pytest.raises(BundleBusy, match="already running"):
            Sync(bundle).run(wait=0.05)
    assert not sync_lock(bundle.state).is_held
    assert [0] == [one.failures for one in remote_states(bundle)]
    Sync(bundle).run(wait=0)


def test_a_sync_takes_along_what_is_committed_meanwhile(home: HermesHome, tmp_path: Path) -> None:
    """Whoever asked for a sync while it ran was sent away."""
    other = Other(home, tmp_path)
    other.learns("from the other machine")
    bundle = home.bundle()
    stages: list[str] = []

    def progress(stage: str) -> None:
        stages.append(stage)
        if stage.startswith("sending") and len(stages) < 10:
            home.bundle().curated.add(f"while it was sent: {len(stages)}") if "late" not in stages else None
            stages.append("late")

    bundle.curated.add("at first")
    Sync(bundle, progress=progress).run()
    Sync(other.memory).run()
    assert any("while it was sent" in entry.text for entry in other.memory.curated.entries("memory"))
