"""Power cuts on real file systems: an image is shut down while a process writes to a bundle on it.

Run by the tests as `python -m tests.faults.power ROOT CUTS|erase SEED KIND`, as root; with the kind `kill` no power goes,
and the writer is killed instead. ext4 and xfs stop at once and write nothing more (an ioctl of both); of btrfs, which has no
such call, the blocks are copied as they are while the writer is stopped. The file system is then mounted again: what was
only in memory is gone. What was acknowledged is in a ledger elsewhere.
"""

from __future__ import annotations

import contextlib
import fcntl
import filecmp
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
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import gitmem

from tests.faults.lab import Ledger, forked, verified
from tests.git.support import files_at, fsck_clean, locks_left, run_git, tip_of, try_git, work_file

_SHUTDOWN = 0x8004587D
_WITHOUT_ITS_JOURNAL = 2


@dataclass(frozen=True)
class FileSystem:
    """How a file system is made and mounted."""

    make: tuple[str, ...]
    megabytes: int
    option: str = ""


KINDS = {
    "ext4": FileSystem(("mkfs.ext4", "-q", "-F"), 96, "auto_da_alloc"),
    "ext4-noauto_da_alloc": FileSystem(("mkfs.ext4", "-q", "-F"), 96, "noauto_da_alloc"),
    "ext4-fast_commit": FileSystem(("mkfs.ext4", "-q", "-F", "-O", "fast_commit"), 96),
    "xfs": FileSystem(("mkfs.xfs", "-q", "-f"), 320),
    "btrfs": FileSystem(("mkfs.btrfs", "-q", "-f"), 256),
}


def available(where: Path, kind: str = "ext4") -> str:
    """Why no file system of this kind can be cut here; empty where one can be."""
    if os.geteuid() != 0:
        return "needs root"
    if not shutil.which(KINDS[kind].make[0]):
        return f"there is no {KINDS[kind].make[0]}"
    where.mkdir(parents=True, exist_ok=True)
    try:
        with Image(where, kind).mounted():
            return ""
    except (OSError, subprocess.CalledProcessError) as error:
        return f"no {kind} image can be mounted ({error})"


class Image:
    """A file system in a file."""

    def __init__(self, where: Path, kind: str) -> None:
        self._kind, self.file, self.root = kind, where / "image", where / "mounted"
        self._mounts = 0
        with open(self.file, "wb") as file:
            file.truncate(KINDS[kind].megabytes << 20)
        subprocess.run([*KINDS[kind].make, str(self.file)], check=True, capture_output=True)
        self.root.mkdir(exist_ok=True)

    @property
    def _taken(self) -> Path:
        return self.file.with_name("taken")

    @contextlib.contextmanager
    def mounted(self) -> Iterator[Path]:
        # A copy: the system may keep a file system that was cut for longer, and would give us that one again.
        before, self.file = self.file, self.file.with_name(f"image-{self._mounts}")
        self._mounts += 1
        _copy(before, self.file)
        before.unlink()
        options = ",".join(filter(None, ("loop", KINDS[self._kind].option)))
        subprocess.run(
            ["mount", "-o", options, str(self.file), str(self.root)], check=True, capture_output=True
        )
        try:
            yield self.root
        finally:
            for _ in range(200):  # what a dead process had open is let go a moment later
                if (
                    subprocess.run(["umount", str(self.root)], capture_output=True, check=False).returncode
                    == 0
                ):
                    break
                time.sleep(0.05)
            else:
                raise OSError(f"{self.root} is in use")
            if self._taken.exists():
                self._taken.replace(self.file)

    def can_be_mounted(self) -> bool:
        """Return whether the kernel takes the file system back: ext4 with fast_commit is sometimes beyond its own repair."""
        try:
            with self.mounted():
                return True
        except subprocess.CalledProcessError:
            return False

    def cut(self, writer: int = 0) -> None:
        """Keep what is on the disk now, and nothing that is written later; `writer` is a process group."""
        if self._kind == "btrfs":
            if writer:
                os.killpg(writer, signal.SIGSTOP)
            while True:  # the same twice: nothing was written while it was copied
                _copy(self.file, self._taken)
                if filecmp.cmp(self.file, self._taken, shallow=False):
                    return
        descriptor = os.open(self.root, os.O_RDONLY)
        try:
            fcntl.ioctl(descriptor, _SHUTDOWN, struct.pack("I", _WITHOUT_ITS_JOURNAL))
        finally:
            os.close(descriptor)


def _copy(source: Path, target: Path) -> None:
    subprocess.run(["cp", "--sparse=always", str(source), str(target)], check=True, capture_output=True)


def open_memory(root: Path) -> gitmem.Memory:
    return gitmem.open(str(root / "mem"), create=True, machine="cut", memory_char_limit=10**6)


def command(root: Path, *words: str) -> None:
    """Run a command of gitmem on the bundle."""
    subprocess.run(
        [sys.executable, "-m", "gitmem", "-C", str(root / "mem"), *words], check=True, capture_output=True
    )


def busy(root: Path, ledger: Ledger, seed: int) -> None:
    """Write for ever by every verb, and note what was acknowledged."""
    chance = random.Random(seed)
    memory = open_memory(root)
    with memory.session(f"s{seed}") as session:
        for number in range(10**6):
            name = f"{seed}-{number}"
            verb = chance.choices(
                (
                    "fact",
                    "decision",
                    "snapshot",
                    "observation",
                    "sync",
                    "erased",
                    "hand",
                    "import",
                    "gc",
                    "undo",
                ),
                (40, 25, 8, 10, 2, 4, 4, 2, 2, 3),
            )[0]
            if verb == "fact":
                memory.remember(f"Fact {name} stays.")
            elif verb == "decision":
                session.record_decision(f"Choose {name}", "because " * chance.randrange(1, 2000))
                session.flush()
            elif verb == "snapshot":
                memory.snapshot(f"snap-{name}")
            elif verb == "observation":
                session.record_observation(f"Seen {name}. " * chance.randrange(1, 400))
                session.flush()
            elif verb == "sync":  # a file system that has caught up with us
                os.sync()
                continue
            elif verb == "erased":  # the facts of the last moments are not on disk yet
                memory.remember(f"Private {name} goes.")
                memory.erase(text=f"Private {name} goes.")
            elif verb == "hand":
                note = root / "mem" / f"notes/hand-{name}.md"
                note.parent.mkdir(exist_ok=True)
                note.write_text(f"---\ntype: Note\ntitle: Hand {name}\n---\nBy hand {name}.\n")
                command(root, "commit", "-m", "by hand")
            elif verb == "import":
                folder = ledger.path.parent / f"vault-{name}"
                folder.mkdir()
                for count in range(5):
                    (folder / f"{name}-{count}.md").write_text(f"# Page {count}\n\nImported {name}.\n")
                command(root, "import", "markdown", str(folder), "--yes")
            elif verb == "gc":
                command(root, "gc")
                continue
            else:
                memory.remember(f"Undone {name} goes.")
                memory.undo()
            ledger.note(f"{verb}:{name}")
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


WRITTEN = {
    "fact": "Fact {} stays.",
    "decision": "Choose {}",
    "observation": "Seen {}. ",
    "hand": "By hand {}.",
    "import": "Imported {}.",
}
GONE = {"erased": "Private {} goes.", "undo": "Undone {} goes."}


def after(root: Path, told: list[str], remote: Path) -> None:
    """Nothing acknowledged is lost, nothing is an edit, and every command works at once."""
    gitmem_run = [sys.executable, "-m", "gitmem", "-C", str(root / "mem")]
    status = subprocess.run([*gitmem_run, "status"], capture_output=True, text=True, check=False)
    assert status.returncode == 0, status
    edited = status.stdout.partition("dited by hand")[2]
    assert all(
        "notes/hand-" in line for line in edited.splitlines()[1:] if " memories/" in line or ".md" in line
    ), status.stdout
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
        elif kind in GONE:
            assert GONE[kind].format(name).encode() not in everything, ("back", line)
        else:
            assert WRITTEN[kind].format(name).encode() in everything, ("lost", line)
    memory.remember(f"After {len(told)} and {tip_of(repository)}.")
    memory.snapshot(f"after-{tip_of(repository)[:12]}")
    memory.sync()
    memory.close()
    edits = run_git(root / "mem", "log", "--grep=^Kind: edit", "--format=", "--name-only").split()
    ours = ("notes/hand-", "notes/index.md", "index.md", "log.md")
    assert [path for path in edits if not path.startswith(ours)] == [], "an edit that nobody made"
    for path, data in files_at(repository).items():
        assert work_file(repository, path).read_bytes() == data, path
    assert locks_left(repository) == []
    fsck_clean(repository)
    assert run_git(remote, "rev-parse", "main") == tip_of(repository)


def prepared(where: Path, image: Image) -> Path:
    """A bundle on the image, and its remote elsewhere."""
    with image.mounted() as root:
        remote = begun(where, root)
        os.sync()
    return remote


def begun(where: Path, root: Path) -> Path:
    """A bundle in a directory, and its remote elsewhere."""
    remote = where / "remote.git"
    run_git(where, "init", "-q", "--bare", "-b", "main", str(remote))
    forked(lambda: len(open_memory(root).close()))  # in a process of its own: nothing here holds it open
    command(root, "remote", "add", "origin", str(remote), "--yes")
    return remote


def started(where: Path, root: Path, ledger: Ledger, seed: int) -> int:
    """The process group of a busy writer that has written something."""
    before = len(ledger.read())
    child = os.fork()
    if child == 0:
        os.setsid()
        try:
            busy(root, ledger, seed)
        except BaseException:  # as a rule what the cut does to it
            (where / "writer.log").write_text(traceback.format_exc())
        finally:
            os._exit(0)
    while len(ledger.read()) == before:
        assert os.waitpid(child, os.WNOHANG) == (0, 0), (where / "writer.log").read_text()
        time.sleep(0.05)
    return child


def cut_after_an_erase(where: Path, kind: str) -> None:
    """Facts, then an erase of one, and the power goes as soon as it is done."""
    ledger, image = Ledger(where / "ledger"), Image(where, kind)
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


def cut_often(where: Path, cuts: int, seed: int, kind: str) -> None:
    """Cut after cut, on one bundle that lives on."""
    chance = random.Random(seed)
    ledger, image = Ledger(where / "ledger"), Image(where, kind)
    remote = prepared(where, image)
    found: Counter[str] = Counter()
    for number in range(cuts):
        with image.mounted() as root:
            child = started(where, root, ledger, seed * 1000 + number)
            time.sleep(chance.random() * chance.choice((0.5, 1, 3)))
            image.cut(child)
            os.killpg(child, signal.SIGKILL)
            os.waitpid(child, 0)
        if not image.can_be_mounted():
            print(f"The file system did not survive cut {number}: the kernel does not mount it again.")
            assert number, "no cut was looked at"
            break
        with image.mounted() as root:
            found += seen(root)
            told = ledger.read()
            verified(partial(after, root, told, remote), f"cut {number}, after {len(told)}: {dict(found)}")
    print(f"{cuts} cuts, {len(ledger.read())} acknowledged: {dict(found)}")


def kill_often(where: Path, kills: int, seed: int) -> None:
    """Kill after kill, of every verb, on the disk that there is."""
    chance, ledger, root = random.Random(seed), Ledger(where / "ledger"), where / "disk"
    root.mkdir()
    remote = begun(where, root)
    for number in range(kills):
        child = started(where, root, ledger, seed * 1000 + number)
        time.sleep(chance.random() * chance.choice((0.2, 1, 2)))
        os.killpg(child, signal.SIGKILL)
        os.waitpid(child, 0)
        told = ledger.read()
        verified(partial(after, root, told, remote), f"kill {number}, after {len(told)}")
    print(f"{kills} kills, {len(ledger.read())} acknowledged")


if __name__ == "__main__":
    place, times, beginning, kind = sys.argv[1:]
    if kind == "kill":
        kill_often(Path(place), int(times), int(beginning))
    elif times == "erase":
        cut_after_an_erase(Path(place), kind)
    else:
        cut_often(Path(place), int(times), int(beginning), kind)
