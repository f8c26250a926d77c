"""Fault experiments that fork: each victim is a process of its own, killed or broken at a chosen moment.

Run by the tests as `python -m tests.faults.lab NAME ROOT [ARGUMENT…]`: a small process without
threads, because forking a test runner is asking for trouble.
"""

from __future__ import annotations

import contextlib
import errno
import gc
import os
import random
import re
import select
import shutil
import signal
import subprocess
import sys
import time
import traceback
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from pathlib import Path

# Imported here so that not every forked child does it again.
import gitmem.git.packs
import gitmem.git.worktree_status  # noqa: F401
from gitmem.errors import GitMemError
from gitmem.git.git_directory import open_repository
from gitmem.git.objects import render_tag
from gitmem.git.recovery import hand_edits
from gitmem.git.repository import Repository
from gitmem.git.transaction import HandEditsInTheWay, Published, writing
from gitmem.git.tree import Edit
from gitmem.git.worktree import HandEdit

from tests.faults.trap import Trap
from tests.git.support import (
    WHO,
    append,
    files_at,
    files_in_work_tree,
    fsck_clean,
    locks_left,
    make_repository,
    run_git,
    save,
    saved,
    scratch_left,
    tip_of,
    try_git,
    work_file,
)

BEFORE: dict[str, bytes] = {"a.md": b"1\n", "d/b.md": b"1\n", "d/c.md": b"1\n", "skills/s/n/SKILL.md": b"1\n"}
CHANGE: dict[str, Edit] = {
    "a.md": b"2\n",
    "d/b.md": None,
    "n/x/y.md": b"new\n",
    "skills/s/n/scripts/run.sh": b"#!/bin/sh\n",
}
OLD_TIME = 1_600_000_000


def applied(files: Mapping[str, bytes], edits: Mapping[str, Edit]) -> dict[str, bytes]:
    result = dict(files)
    for path, edit in edits.items():
        if edit is None:
            result.pop(path, None)
        else:
            assert isinstance(edit, bytes)
            result[path] = edit
    return result


def forked(work: Callable[[], int | None], *, kill_when: Callable[[], bool] | None = None) -> int:
    """Run something in a process of its own, killed as soon as `kill_when` says so; give its exit status."""
    gc.freeze()  # else the child's collector touches, and so copies, all that it shares with us
    child = os.fork()
    if child == 0:
        status = 1
        try:
            status = work() or 0
        except BaseException:
            traceback.print_exc()
        finally:
            sys.stderr.flush()
            os._exit(status)
    if kill_when is not None:
        while not kill_when():
            time.sleep(0.001)
        os.kill(child, signal.SIGKILL)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


def verified(check: Callable[[], None], told: str) -> None:
    """Run assertions in a process of its own, which has none of our caches."""
    status = forked(check)
    assert status == 0, told


class Ledger:
    """What was acknowledged, written where no fault reaches."""

    def __init__(self, path: Path) -> None:
        self.path = path
        path.write_bytes(b"")
        self._descriptor = os.open(path, os.O_WRONLY | os.O_APPEND)
        self._write = os.write  # before a trap wraps it

    def note(self, what: str) -> None:
        self._write(self._descriptor, what.encode() + b"\n")

    def read(self) -> list[str]:
        return self.path.read_text().split()


# The bundles that faults happen to


JOINED = b"".join(b"%d\n" % number for number in range(14))
BEGINNINGS: dict[str, dict[str, bytes]] = {
    "plain": BEFORE,
    "first": {},  # no commit yet
    "join": {**BEFORE, "join.md": JOINED},  # so many packs that the next commit joins them
    "separate": BEFORE,  # the git directory beside the work tree
}


def copied(root: Path, make: Callable[[Path], None]) -> None:
    """A bundle that took many steps to make: made once, and copied from then on."""
    template = root.parent / "template"
    if not template.exists():
        verified(partial(make, template), "preparing")
    shutil.rmtree(root, ignore_errors=True)
    shutil.copytree(template, root, symlinks=True)
    run_git(root, "update-index", "-q", "--refresh")  # it has the times of the template's files


def prepare(root: Path, kind: str, git_dirs: str = "") -> None:
    """A bundle for a victim, made by the victim itself."""
    shutil.rmtree(root, ignore_errors=True)
    separate = f"{git_dirs}/bundle.git" if kind == "separate" else None
    if separate:
        shutil.rmtree(separate, ignore_errors=True)
    repository = make_repository(str(root), separate_git_dir=separate)
    if kind != "first":
        saved(repository, BEFORE)
    if kind == "join":
        for line in JOINED.splitlines(keepends=True):
            append(repository, "join.md", line)
    repository.store.close()


def victim(root: Path, ledger: Ledger, trap: Trap, kind: str, git_dirs: str = "") -> int:
    """One commit under a trap; tells the ledger when it is acknowledged. Exit 7: the trap did not spring."""
    if kind == "join":
        copied(root, partial(prepare, kind=kind))
    else:
        prepare(root, kind, git_dirs)
    repository = open_repository(str(root))
    repository.on_stage = lambda stage: ledger.note(stage) if stage == "acknowledged" else None
    try:
        with trap:
            published = save(repository, CHANGE)
        ledger.note("published" if published and not published.warning else "warned")
    except GitMemError as error:
        told = str(error)
        assert told[:1].isupper(), told
        assert told.rstrip().endswith((".", "again", "verify`")), told
        ledger.note("made" if "was made" in told else "refused")
    return 0 if trap.sprung else 7


def after(
    root: Path,
    files: Mapping[str, bytes],
    told: list[str],
    edited: Mapping[str, bytes | None],
) -> None:
    """Nothing acknowledged is lost, nothing is half there, nothing is left for a person to clean up."""
    made = bool({"acknowledged", "published", "warned", "made"} & set(told))
    repository = open_repository(str(root))
    here = files_at(repository) if repository.tip() else {}
    new = applied(files, CHANGE)
    assert here in (dict(files), new), ("neither old nor new", here)
    if made:
        assert here == new, ("an acknowledged commit is lost", told)
    if "refused" in told:
        assert here == dict(files), ("refused, and there all the same", told)
    for path, data in edited.items():
        file = work_file(repository, path)
        if data is None:
            file.unlink(missing_ok=True)
        else:
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_bytes(data)
            os.utime(file, (OLD_TIME, OLD_TIME))
    expected = {(path, data) for path, data in edited.items() if here.get(path) != data}

    def found() -> set[tuple[str, bytes | None]]:
        return {(edit.path, edit.data) for edit in hand_edits(repository)}

    assert expected == found(), ("before recovery", found())
    saved(repository, {"after.md": b"after\n"})
    assert applied(here, {"after.md": b"after\n"}) == files_at(repository)
    assert expected == found(), ("after recovery", found())
    assert locks_left(repository) == []
    assert scratch_left(repository) == []
    assert not list(root.rglob(".gitmem-tmp-*"))
    in_the_way = {path: data for path, data in edited.items() if (path, data) in expected}
    if in_the_way:
        assert applied(applied(here, {"after.md": b"after\n"}), in_the_way) == files_in_work_tree(repository)
        save(repository, in_the_way, takes_in=in_the_way)
    fsck_clean(repository)
    repository.store.close()


# The experiments

# What comes before joining packs is the same as without.
FIRST = {"join": 56}


def kill_each(root: Path, kind: str, edit: str, git_dirs: str = "") -> None:
    """The victim dies at the n-th change of the disk, for every n."""
    edited: dict[str, bytes | None] = {}
    if edit == "edit":  # a person edits a pending file, a new one and a removed one after the crash
        edited = {"a.md": b"hand\n", "n/x/y.md": b"hand\n", "d/b.md": b"hand\n"}
    if edit == "remove":
        edited = {"a.md": None, "d/b.md": b"hand\n"}
    ledger = Ledger(root.parent / "ledger")
    for number in range(FIRST.get(kind, 1), 500):
        ledger.path.write_bytes(b"")
        status = forked(partial(victim, root, ledger, Trap(number, kill=True), kind, git_dirs))
        assert status in (7, -signal.SIGKILL), status
        told = ledger.read()
        what = f"{kind}: killed at change {number}: {told}"
        verified(partial(after, root, BEGINNINGS[kind], told, edited), what)
        if status == 7:
            print(number - 1, "moments")
            assert number > 20, "the trap wraps nothing any more"
            return
    raise AssertionError("the victim never came to an end")


def die_at(root: Path, edits: Mapping[str, Edit], stage: str) -> None:
    """A commit that dies when it has come so far."""
    repository = open_repository(str(root))

    def at(reached: str) -> None:
        if reached == stage:
            os.kill(os.getpid(), signal.SIGKILL)

    repository.on_stage = at
    save(repository, edits)


def prepare_and_die(root: Path, stage: str) -> None:
    prepare(root, "plain")
    die_at(root, CHANGE, stage)


def kill_recovery(root: Path, edit: str) -> None:
    """A second victim dies at the n-th change of the disk while it recovers from the first one's death."""
    edited: dict[str, bytes | None] = {"a.md": b"hand\n"} if edit == "edit" else {}
    ledger = Ledger(root.parent / "ledger")
    for stage, unlocked in (("acknowledged", False), ("work tree", True)):
        for number in range(1, 500):
            assert forked(partial(prepare_and_die, root, stage)) == -signal.SIGKILL
            if unlocked:
                os.unlink(root / ".git" / "index.lock")  # as git tells people to do

            def recover(n: int = number) -> int:
                trap = Trap(n, kill=True)
                repository = open_repository(str(root))
                with trap, writing(repository, "recover"):
                    pass
                return 0 if trap.sprung else 7

            status = forked(recover)
            assert status in (7, -signal.SIGKILL), status
            verified(
                partial(after, root, BEFORE, ["acknowledged"], edited),
                f"killed at change {number} of a recovery from a death at {stage}",
            )
            if status == 7:
                print(number - 1, "moments")
                assert number > 5
                break
    ledger.path.unlink()


def kill_leaving(root: Path) -> None:
    """A commit that leaves a file alone dies at every moment: the version in the work tree stays."""
    ledger = Ledger(root.parent / "ledger")
    for number in range(1, 500):
        for later in (b"1\n", b"later\n"):  # as the tip has it, or changed

            def change(later: bytes = later) -> None:
                prepare(root, "plain")
                (root / "a.md").write_bytes(later)

            verified(change, "changing")

            def commit(n: int = number) -> int:
                trap = Trap(n, kill=True)
                repository = open_repository(str(root))
                with trap:
                    save(repository, {"a.md": b"committed\n"}, leaves=frozenset({"a.md"}))
                return 0 if trap.sprung else 7

            status = forked(commit)

            def check(later: bytes = later) -> None:
                repository = open_repository(str(root))
                made = files_at(repository)["a.md"] == b"committed\n"
                expected = {("a.md", later)} if made or later != b"1\n" else set()

                def found() -> set[tuple[str, bytes | None]]:
                    return {(edit.path, edit.data) for edit in hand_edits(repository)}

                assert expected == found(), (made, found())
                saved(repository, {"after.md": b"after\n"})
                assert expected == found(), (made, found())
                assert locks_left(repository) == []

            verified(check, f"killed at change {number}, work tree {later!r}")
        if status == 7:
            print(number - 1, "moments")
            assert number > 15
            break
    ledger.path.unlink(missing_ok=True)


def kill_tags(root: Path) -> None:
    """Setting and deleting a tag die at every moment: no lock is left that blocks the same name."""

    def make(template: Path) -> None:
        commit = saved(make_repository(str(template)), BEFORE).commit
        for name in ("v1", "v2"):
            run_git(template, "tag", name, commit.oid)
        run_git(template, "pack-refs", "--all")

    for action in ("set", "delete"):
        for number in range(1, 500):
            copied(root, make)

            def tag(n: int = number, action: str = action) -> int:
                trap = Trap(n, kill=True)
                repository = open_repository(str(root))
                tip = tip_of(repository)
                with trap, writing(repository, "tag"):
                    if action == "set":
                        made = render_tag(tip, "snapshot/x", WHO, "x\n")
                        repository.store.write([made])
                        assert repository.refs.set("refs/tags/snapshot/x", made.oid, expected=None)
                    else:
                        repository.refs.delete({"refs/tags/v1": tip})
                return 0 if trap.sprung else 7

            status = forked(tag)
            assert status in (7, -signal.SIGKILL), status

            def check() -> None:
                repository = open_repository(str(root))
                tip = tip_of(repository)
                saved(repository, {"after.md": b"after\n"})
                assert locks_left(repository) == []
                assert scratch_left(repository) == []
                with writing(repository, "tag"):
                    for name in ("refs/tags/snapshot/x", "refs/tags/v1"):
                        present = repository.refs.read(name)
                        assert repository.refs.set(name, tip, expected=present)
                        repository.refs.delete({name: tip})
                assert {"refs/tags/v2": tip} == repository.refs.under("refs/tags/")
                assert locks_left(repository) == []
                fsck_clean(repository)

            verified(check, f"killed at change {number} of {action}")
            if status == 7:
                print(number - 1, "moments")
                assert number > 8
                break


def broken(root: Path, ledger: Ledger, trap: Trap, kind: str) -> int:
    """A victim that lives on, and holds nothing that it should have let go."""
    descriptors = _descriptors()
    status = victim(root, ledger, trap, kind)
    _no_more_descriptors(descriptors)
    if "refused" in ledger.read() and trap.sprung not in ("unlink", "open") and not trap.sticky:
        assert locks_left(open_repository(str(root))) == [], "a refused commit left a lock"
    return status


def fail_each(root: Path, kind: str, errors: str, sticky: str) -> None:
    """The n-th change of the disk fails, for every n: the commit is there whole or not at all."""
    ledger = Ledger(root.parent / "ledger")
    numbers = [getattr(errno, name) for name in errors.split(",")]
    every = len(numbers) > 1 and sticky.endswith("-all")
    for number in range(FIRST.get(kind, 1), 500):
        for error in numbers if every else [numbers[number % len(numbers)]]:
            ledger.path.write_bytes(b"")
            trap = Trap(number, error=error, sticky=sticky.startswith("sticky"))

            status = forked(partial(broken, root, ledger, trap, kind))
            what = f"{kind}: change {number} failed with {errno.errorcode[error]} ({sticky}): {ledger.read()}"
            assert status in (0, 7), what
            told = ledger.read()
            assert told, what
            verified(partial(after, root, BEGINNINGS[kind], told, {}), what)
        if status == 7:
            print(number - 1, "moments")
            assert number > 20, "the trap wraps nothing any more"
            return
    raise AssertionError("the victim never came to an end")


def _descriptors() -> set[str]:
    """What is open in this process, where the system tells."""
    found = set()
    for name in os.listdir("/proc/self/fd") if os.path.isdir("/proc/self/fd") else []:
        with contextlib.suppress(OSError):  # closed meanwhile
            found.add(os.readlink(f"/proc/self/fd/{name}"))
    return found


def _no_more_descriptors(before: set[str]) -> None:
    """Files of the bundle that stayed open. Packs and the lock of the scratch files do so on purpose."""
    on_purpose = re.compile(r"\.pack|\.idx|/gitmem/tmp/[^/]+/lock$")
    for _ in range(10_000):  # some are closed a little later, by threads
        left = [name for name in _descriptors() - before if not on_purpose.search(name)]
        left = [name for name in left if "/.git" in name or ".md" in name]
        if not left:
            return
        time.sleep(0.01)
    raise AssertionError(left)


def kill_randomly(root: Path, kills: str, seed: str) -> None:
    """A writer in a loop is killed at random moments; the ledger has what it was told is safe."""
    chance = random.Random(int(seed))
    ledger = Ledger(root.parent / "ledger")

    def start() -> None:
        make_repository(str(root))

    verified(start, "preparing")
    for kill in range(int(kills)):

        def write(kill: int = kill) -> None:
            repository = open_repository(str(root))
            own = random.Random(f"{seed} {kill}")
            for number in range(10_000):
                name = f"{kill}-{number}"
                lines = f"log/{own.randrange(4)}.md"
                edits: dict[str, Edit] = {f"new/{name}.md": name.encode()}
                if number > 2:
                    edits[f"new/{kill}-{number - 2}.md"] = None
                tip = repository.tip()
                old = (repository.tree(tip).read(lines) or b"") if tip else b""
                edits[lines] = old + name.encode() + b"\n"
                if save(repository, edits):
                    ledger.note(name)

        # The writer has come so far; then a moment more, for a kill in the middle of its next commit. Progress and
        # not time: on a busy machine a writer can take a second to begin.
        enough = len(ledger.read()) + chance.randrange(5)
        moment = chance.random() * 0.02

        def wrote_enough(enough: int = enough, moment: float = moment) -> bool:
            if len(ledger.read()) < enough:
                return False
            time.sleep(moment)
            return True

        assert forked(write, kill_when=wrote_enough) == -signal.SIGKILL

        def check(kill: int = kill) -> None:
            repository = open_repository(str(root))
            assert hand_edits(repository) == []
            saved(repository, {"after.md": b"%d\n" % kill})
            files = files_at(repository)
            noted = b"".join(data for path, data in files.items() if path.startswith("log/")).split()
            missing = {name.encode() for name in ledger.read()} - set(noted)
            assert not missing, ("acknowledged and lost", missing)
            assert len(noted) == len(set(noted)), "written twice"
            assert files == files_in_work_tree(repository)
            assert locks_left(repository) == []
            assert scratch_left(repository) == []
            fsck_clean(repository)

        verified(check, f"kill {kill} with seed {seed}")
    print(len(ledger.read()), "acknowledged")
    assert len(ledger.read()) > int(kills) // 2, "the writer hardly ever wrote"


def many_writers(root: Path, processes: str, commits: str) -> None:
    """Processes append to a shared file and to their own at the same time: every line is there, in order."""

    def start() -> None:
        saved(make_repository(str(root)), BEFORE)

    verified(start, "preparing")
    children = []
    for process in range(int(processes)):
        child = os.fork()
        if child == 0:
            status = 1
            try:
                repository = open_repository(str(root))
                for number in range(int(commits)):
                    line = b"%d-%d\n" % (process, number)
                    published = append(repository, "shared.md" if number % 2 else f"own/{process}.md", line)
                    assert not published.warning, published.warning
                status = 0
            except BaseException:
                traceback.print_exc()
            finally:
                os._exit(status)
        children.append(child)
    assert all(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0 for child in children)

    def check() -> None:
        repository = open_repository(str(root))
        files = files_at(repository)
        shared = files["shared.md"].split()
        for process in range(int(processes)):
            mine = [b"%d-%d" % (process, number) for number in range(int(commits))]
            assert mine[::2] == files[f"own/{process}.md"].split()
            assert mine[1::2] == [line for line in shared if line.startswith(b"%d-" % process)]
        fsck_clean(repository)
        assert locks_left(repository) == []

    verified(check, "many writers")


def taken_in(repository: Repository, edits: list[HandEdit]) -> None:
    """Commit hand edits as the bundle does."""
    group = {edit.path: edit.data for edit in edits}
    save(repository, group, "taken in", takes_in=group)


def patiently(repository: Repository, commit: Callable[[], Published]) -> None:
    """A commit as the bundle makes it: a person's edits in its way are taken in first."""
    for _ in range(20):
        try:
            assert not commit().warning
        except HandEditsInTheWay as stop:
            with contextlib.suppress(HandEditsInTheWay):
                taken_in(repository, stop.edits)
        else:
            return
    raise AssertionError("edits without end")


def beside_plain_git(root: Path, commits: str, how: str) -> None:
    """A git process commits in a loop while gitmem does: every acknowledged change is there at the end."""

    def start() -> None:
        saved(
            make_repository(str(root)),
            {**BEFORE, "plain.md": b"start\n", **{f"many/{n}.md": b"%d\n" % n for n in range(50)}},
        )

    verified(start, "preparing")
    ledger = Ledger(root.parent / "ledger")
    stop_read, stop_write = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(stop_write)
        made = 0
        try:
            while not select.select([stop_read], [], [], 0)[0]:
                (root / "plain.md").write_bytes(b"%d\n" % made)
                if how == "add":
                    done = try_git(root, "add", "plain.md")
                    done = try_git(root, "commit", "--quiet", "-m", "plain") if done.returncode == 0 else done
                elif how == "all":
                    done = try_git(root, "commit", "--quiet", "-a", "-m", "plain")
                else:
                    done = try_git(root, "commit", "--quiet", "--only", "plain.md", "-m", "plain")
                made += done.returncode == 0
                if how == "status":
                    try_git(root, "status")
        finally:
            ledger.note(f"plain:{made}")
            os._exit(0)

    def write() -> None:
        repository = open_repository(str(root))
        for number in range(int(commits)):
            patiently(repository, lambda n=number: append(repository, f"own/{n % 3}.md", b"%d\n" % n))  # type: ignore[misc]
            ledger.note(f"{number}")
            patiently(repository, lambda n=number: saved(repository, {f"new/{n}.md": b"%d\n" % n}))  # type: ignore[misc]
            ledger.note(f"new-{number}")

    status = forked(write)
    os.close(stop_write)
    os.waitpid(child, 0)
    assert status == 0

    def check() -> None:
        repository = open_repository(str(root))
        told = ledger.read()
        taken_in(repository, hand_edits(repository))
        files = files_at(repository)
        lines = b"".join(files[f"own/{number}.md"] for number in range(3)).split()
        missing = [name for name in told if name.isdigit() and name.encode() not in lines]
        missing += [name for name in told if name.startswith("new-") and f"new/{name[4:]}.md" not in files]
        assert not missing, ("taken back by a plain git commit", missing)
        fsck_clean(repository)
        edits = run_git(root, "log", "--format=%s", "--grep=^flush: taken in").splitlines()
        print([name for name in told if name.startswith("plain:")], len(edits), "taken in")

    verified(check, f"beside git ({how})")


@contextlib.contextmanager
def _reported(name: str) -> Iterator[None]:
    try:
        yield
    except BaseException:
        traceback.print_exc()
        print(f"{name} failed", file=sys.stderr)
        sys.exit(1)


def forked_away(work: Callable[..., None], root: Path, edits: Mapping[str, Edit], stage: str) -> None:
    """The same from within a test: a victim that dies, in a process that can be forked."""
    script = (
        "import sys; from pathlib import Path; from tests.faults import lab\n"
        f"lab.{work.__name__}(Path(sys.argv[1]), {dict(edits)!r}, {stage!r})"
    )
    done = subprocess.run([sys.executable, "-c", script, str(root)], check=False)
    assert done.returncode == -signal.SIGKILL


EXPERIMENTS: dict[str, Callable[..., None]] = {
    "kill-each": kill_each,
    "kill-recovery": kill_recovery,
    "kill-leaving": kill_leaving,
    "kill-tags": kill_tags,
    "kill-randomly": kill_randomly,
    "fail-each": fail_each,
    "many-writers": many_writers,
    "beside-plain-git": beside_plain_git,
}


if __name__ == "__main__":
    with _reported(sys.argv[1]):
        EXPERIMENTS[sys.argv[1]](Path(sys.argv[2]), *sys.argv[3:])
