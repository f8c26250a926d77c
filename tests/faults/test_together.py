"""Many at once: other gitmem processes, threads, and plain git."""

from __future__ import annotations

import threading
from pathlib import Path

import pytest
from gitmem.git.git_directory import open_repository
from gitmem.git.repository import Repository

from tests.faults.support import experiment
from tests.git.support import append, files_at, fsck_clean, run_git, saved, try_git, work_file


def test_eight_processes(disk: Path) -> None:
    """Eight processes with 25 commits each: no acknowledged commit is lost, fsck is silent."""
    experiment("many-writers", disk / "bundle", "8", "25")


@pytest.mark.slow
def test_eight_processes_for_longer(disk: Path) -> None:
    """Eight processes with 200 commits each."""
    experiment("many-writers", disk / "bundle", "8", "200")


def test_threads_of_one_repository(repository: Repository) -> None:
    """Four threads that share one repository object lose nothing, and a reader beside them never stumbles."""
    saved(repository, {"shared.md": b""})
    failures: list[BaseException] = []
    done = threading.Event()

    def write(name: int) -> None:
        try:
            for number in range(15):
                append(repository, "shared.md", b"%d-%d\n" % (name, number))
        except BaseException as error:
            failures.append(error)

    def read() -> None:
        try:
            while not done.is_set():
                tree = repository.tree(repository.tip())
                assert dict(tree.files())
                assert tree.read("shared.md") is not None
        except BaseException as error:
            failures.append(error)

    reader = threading.Thread(target=read)
    writers = [threading.Thread(target=write, args=(name,)) for name in range(4)]
    for thread in [*writers, reader]:
        thread.start()
    for thread in writers:
        thread.join()
    done.set()
    reader.join()

    assert failures == []
    lines = files_at(repository)["shared.md"].split()
    assert sorted(lines) == sorted(b"%d-%d" % (name, number) for name in range(4) for number in range(15))
    fsck_clean(repository)


@pytest.mark.parametrize("how", ["add", "all", "only"])
def test_plain_git_commits_in_a_loop(disk: Path, how: str) -> None:
    """While plain git commits in a loop, nothing that gitmem acknowledged is lost."""
    experiment("beside-plain-git", disk / "bundle", "20", how)


@pytest.mark.slow
@pytest.mark.parametrize("how", ["add", "all", "only", "status"])
def test_plain_git_commits_in_a_long_loop(disk: Path, how: str) -> None:
    """The same, thirty times longer."""
    experiment("beside-plain-git", disk / "bundle", "600", how)


@pytest.mark.parametrize("stage", ["objects", "acknowledged", "work tree", "index"])
@pytest.mark.parametrize(
    "command", [("commit", "-a"), ("commit",), ("add", "--all"), ("commit", "--only", "plain.md")]
)
def test_plain_git_in_the_middle_of_a_commit(
    repository: Repository, stage: str, command: tuple[str, ...]
) -> None:
    """At no stage of our commit can a plain git command take it back: it is refused, or comes after."""
    saved(repository, {"a.md": b"1\n", "plain.md": b"1\n", "gone.md": b"1\n"})
    work_file(repository, "plain.md").write_bytes(b"2\n")
    run_git(repository.root, "add", "plain.md")
    message = ("-m", "plain", "--quiet") if command[0] == "commit" else ()
    results: list[int] = []

    def interfere(reached: str) -> None:
        if reached == stage:
            results.append(try_git(repository.root, *command, *message).returncode)

    repository.on_stage = interfere
    saved(repository, {"a.md": b"2\n", "new.md": b"1\n", "gone.md": None})
    repository.on_stage = lambda _: None

    assert results == [0 if stage == "index" else 128]
    for _ in range(2):  # and once more, now that we are done
        try_git(repository.root, *command, *message)
    run_git(repository.root, "commit", "--quiet", "--allow-empty", "-a", "-m", "the rest")
    assert files_at(repository) == {"a.md": b"2\n", "new.md": b"1\n", "plain.md": b"2\n"}
    fsck_clean(repository)


def test_gc_and_pack_refs_beside_commits(repository: Repository) -> None:
    """`git gc` and `git pack-refs` in a loop beside commits: every commit is there, and readable."""
    saved(repository, {"a.md": b""})
    done = threading.Event()

    def tidy() -> None:
        while not done.is_set():
            try_git(repository.root, "pack-refs", "--all")
            try_git(repository.root, "gc", "--quiet")

    thread = threading.Thread(target=tidy)
    thread.start()
    other = open_repository(repository.root)
    try:
        for number in range(40):
            append(repository if number % 2 else other, "a.md", b"%d\n" % number)
    finally:
        done.set()
        thread.join()
        other.store.close()

    assert files_at(repository)["a.md"] == b"".join(b"%d\n" % number for number in range(40))
    fsck_clean(repository)
