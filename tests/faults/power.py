"""Power cuts on a real file system: an ext4 image is shut down while a process writes to a bundle on it.

Run by the tests as `python -m tests.faults.power ROOT CUTS|erase SEED OPTION…`, as root. The file system stops at once and
writes nothing more (`EXT4_IOC_SHUTDOWN`), is taken off and mounted again: what was only in memory is gone, as after a
cut. What was acknowledged is in a ledger elsewhere.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import random
import shutil
import signal
import struct
import subprocess
import sys
import time
import traceback
from collections import Counter
from collections.abc import Iterator
from functools import partial
from pathlib import Path

import gitmem

from tests.faults.lab import Ledger, forked, verified
from tests.git.support import files_at, fsck_clean, locks_left, run_git, tip_of, try_git, work_file

_SHUTDOWN = 0x8004587D
_WITHOUT_ITS_JOURNAL = 2
_MEGABYTES = 96


def available(where: Path) -> str:
    """Why no file system can be cut here; empty where one can be."""
    if os.geteuid() != 0:
        return "needs root"
    where.mkdir(parents=True, exist_ok=True)
    try:
        with Image(where).mounted():
            return ""
    except (OSError, subprocess.CalledProcessError) as error:
        return f"no ext4 image can be mounted ({error})"


class Image:
    """An ext4 file system in a file."""

    def __init__(self, where: Path, option: str = "") -> None:
        self.file, self.root, self._option = where / "ext4", where / "mounted", option
        self._mounts = 0
        with open(self.file, "wb") as file:
            file.truncate(_MEGABYTES << 20)
        subprocess.run(["mkfs.ext4", "-q", "-F", str(self.file)], check=True, capture_output=True)
        self.root.mkdir(exist_ok=True)

    @contextlib.contextmanager
    def mounted(self) -> Iterator[Path]:
        # A copy: the system may keep a file system that was cut for longer, and would give us that one again.
        before, self.file = self.file, self.file.with_name(f"ext4-{self._mounts}")
        self._mounts += 1
        shutil.copyfile(before, self.file)
        before.unlink()
        options = ",".join(filter(None, ("loop", self._option)))
        subprocess.run(
            ["mount", "-o", options, str(self.file), str(self.root)], check=True, capture_output=True
        )
        try:
            yield self.root
        finally:
            for _ in range(100):  # what a dead process had open is let go a moment later
                if (
                    subprocess.run(["umount", str(self.root)], capture_output=True, check=False).returncode
                    == 0
                ):
                    break
                time.sleep(0.05)
            else:
                raise OSError(f"{self.root} is in use")

    def cut(self) -> None:
        """Nothing is written from now on."""
        descriptor = os.open(self.root, os.O_RDONLY)
        try:
            fcntl.ioctl(descriptor, _SHUTDOWN, struct.pack("I", _WITHOUT_ITS_JOURNAL))
        finally:
            os.close(descriptor)


def open_memory(root: Path) -> gitmem.Memory:
    return gitmem.open(str(root / "mem"), create=True, machine="cut", memory_char_limit=10**6)


def busy(root: Path, ledger: Ledger, seed: int) -> None:
    """Writes for ever, and notes what was acknowledged."""
    chance = random.Random(seed)
    memory = open_memory(root)
    with memory.session(f"s{seed}") as session:
        for number in range(10**6):
            name = f"{seed}-{number}"
            what = chance.random()
            if what < 0.4:
                memory.remember(f"Fact {name} stays.")
                ledger.note(f"fact:{name}")
            elif what < 0.7:
                session.record_decision(f"Choose {name}", "because " * chance.randrange(1, 2000))
                session.flush()
                ledger.note(f"decision:{name}")
            elif what < 0.8:
                memory.snapshot(f"snap-{name}")
                ledger.note(f"snapshot:{name}")
            elif what < 0.9:
                session.record_observation(f"Seen {name}. " * chance.randrange(1, 400))
                session.flush()
                ledger.note(f"observation:{name}")
            elif what < 0.92:  # a file system that has caught up with us
                os.sync()
            elif what < 0.96:  # the facts of the last moments are not on disk yet
                memory.remember(f"Private {name} goes.")
                memory.erase(text=f"Private {name} goes.")
                ledger.note(f"erased:{name}")
            time.sleep(chance.choice((0, 0, 0.02)))


def seen(root: Path) -> Counter[str]:
    """What the cut did, before anything is repaired."""
    bundle, git_dir = root / "mem", root / "mem" / ".git"
    tracked = run_git(bundle, "-c", "core.quotePath=off", "ls-tree", "-r", "--name-only", "HEAD").splitlines()
    return Counter(
        {
            "files gone": sum(not (bundle / path).exists() for path in tracked),
            "files empty": sum(
                (bundle / path).is_file() and not (bundle / path).stat().st_size for path in tracked
            ),
            "index damaged": try_git(bundle, "ls-files").returncode != 0,
            "index locked": (git_dir / "index.lock").exists(),
        }
    )


def after(root: Path, told: list[str], remote: Path) -> None:
    """Nothing acknowledged is lost, nothing is an edit, and every command works at once."""
    gitmem_run = [sys.executable, "-m", "gitmem", "-C", str(root / "mem")]
    status = subprocess.run([*gitmem_run, "status"], capture_output=True, text=True, check=False)
    assert status.returncode == 0, status
    assert "dited by hand" not in status.stdout, status.stdout
    memory = open_memory(root)
    repository = memory.repository
    assert {notice.kind for notice in memory.notices} <= {"events-recovered", "journal-damaged"}, (
        memory.warnings
    )
    files = files_at(repository)
    everything = b"\n".join(files.values())
    for line in told:
        kind, _, name = line.partition(":")
        if kind == "snapshot":
            assert repository.refs.read(f"refs/tags/snapshot/snap-{name}"), line
        elif kind == "erased":
            assert f"Private {name} goes.".encode() not in everything, ("back", line)
        else:
            wanted = {"fact": "Fact {} stays.", "decision": "Choose {}", "observation": "Seen {}. "}[kind]
            assert wanted.format(name).encode() in everything, ("lost", line)
    memory.remember(f"After {len(told)} and {tip_of(repository)}.")
    memory.snapshot(f"after-{tip_of(repository)[:12]}")
    memory.sync()
    memory.close()
    kinds = run_git(root / "mem", "log", "--format=%(trailers:key=Kind,valueonly)").split()
    assert "edit" not in kinds, "an edit that nobody made"
    for path, data in files_at(repository).items():
        assert work_file(repository, path).read_bytes() == data, path
    assert locks_left(repository) == []
    fsck_clean(repository)
    assert run_git(remote, "rev-parse", "main") == tip_of(repository)


def prepared(where: Path, image: Image) -> Path:
    """A bundle on the image, and its remote elsewhere."""
    remote = where / "remote.git"
    run_git(where, "init", "-q", "--bare", "-b", "main", str(remote))
    with image.mounted() as root:
        forked(lambda: len(open_memory(root).close()))  # in a process of its own: nothing here holds it open
        here = [sys.executable, "-m", "gitmem", "-C", str(root / "mem")]
        subprocess.run(
            [*here, "remote", "add", "origin", str(remote), "--yes"], check=True, capture_output=True
        )
        os.sync()
    return remote


def cut_after_an_erase(where: Path, option: str) -> None:
    """Facts, then an erase of one, and the power goes as soon as it is done."""
    ledger, image = Ledger(where / "ledger"), Image(where, option)
    remote = prepared(where, image)

    def work(root: Path) -> int:
        memory = open_memory(root)
        for number in range(5):
            memory.remember(f"Fact {number} stays.")
            ledger.note(f"fact:{number}")
        memory.remember("Private 7 goes.")
        memory.erase(text="Private 7 goes.")
        ledger.note("erased:7")
        image.cut()
        return 7

    with image.mounted() as root:
        assert forked(partial(work, root)) == 7
    with image.mounted() as root:
        damage = {what: count for what, count in seen(root).items() if count and what != "index locked"}
        assert damage == {}
        verified(partial(after, root, ledger.read(), remote), "cut after an erase")


def cut_often(where: Path, cuts: int, seed: int, option: str) -> None:
    """Cut after cut, on one bundle that lives on."""
    chance = random.Random(seed)
    ledger, image = Ledger(where / "ledger"), Image(where, option)
    remote = prepared(where, image)
    found: Counter[str] = Counter()
    for number in range(cuts):
        with image.mounted() as root:
            before = len(ledger.read())
            child = os.fork()
            if child == 0:
                try:
                    busy(root, ledger, seed * 1000 + number)
                except BaseException:  # as a rule what the cut does to it
                    (where / "writer.log").write_text(traceback.format_exc())
                finally:
                    os._exit(0)
            while len(ledger.read()) == before:
                assert os.waitpid(child, os.WNOHANG) == (0, 0), (where / "writer.log").read_text()
                time.sleep(0.05)
            time.sleep(chance.random() * chance.choice((0.5, 1, 3)))
            image.cut()
            os.kill(child, signal.SIGKILL)
            os.waitpid(child, 0)
        with image.mounted() as root:
            found += seen(root)
            told = ledger.read()
            verified(partial(after, root, told, remote), f"cut {number}, after {len(told)}: {dict(found)}")
    print(f"{cuts} cuts, {len(ledger.read())} acknowledged: {dict(found)}")


if __name__ == "__main__":
    place, times, beginning, *options = sys.argv[1:]
    if times == "erase":
        cut_after_an_erase(Path(place), ",".join(options))
    else:
        cut_often(Path(place), int(times), int(beginning), ",".join(options))
