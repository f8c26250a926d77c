"""A disk that fails: a commit is there whole or not at all, a sentence says which, the next one works."""

from __future__ import annotations

import resource
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from gitmem.errors import BundleUnusable
from gitmem.git.repository import Repository
from gitmem.git.transaction import writing

from tests.faults.support import experiment
from tests.git.support import append, files_at, fsck_clean, locks_left, save, saved, scratch_left, work_file


@pytest.mark.parametrize(
    ("kind", "errors", "how"),
    [
        ("plain", "ENOSPC,EIO,EACCES", "once"),
        ("plain", "ENOSPC,EIO", "sticky"),
    ],
)
def test_error_at_every_change_of_the_disk(tmp_path: Path, kind: str, errors: str, how: str) -> None:
    """The n-th change of the disk fails, for every n, once or from then on."""
    experiment("fail-each", tmp_path / "bundle", kind, errors, how)


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["plain", "first", "join"])
@pytest.mark.parametrize("how", ["once-all", "sticky-all"])
def test_every_error_at_every_change_of_the_disk(tmp_path: Path, kind: str, how: str) -> None:
    """The same with each error at each place."""
    experiment("fail-each", tmp_path / "bundle", kind, "ENOSPC,EIO,EACCES", how)


_LIMITED = """
import resource, signal, sys
from gitmem.errors import GitMemError
from gitmem.git.git_directory import open_repository
from tests.git.support import save
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
repository = open_repository(sys.argv[1])
resource.setrlimit(resource.RLIMIT_FSIZE, (int(sys.argv[2]), int(sys.argv[2])))
try:
    published = save(repository, {"big.md": bytes(range(256)) * 40, "a.md": b"2\\n"})
    print("made", published.warning)
except GitMemError as error:
    print("refused", error)
"""


@pytest.mark.parametrize("limit", [64, 512, 1024, 4096, 9_000, 20_000])
def test_real_limit_of_the_system(repository: Repository, limit: int) -> None:
    """The kernel refuses to write more than so many bytes: short writes and errors are its own."""
    saved(repository, {"a.md": b"1\n", **{f"d/{number}.md": b"x\n" for number in range(50)}})
    done = subprocess.run(
        [sys.executable, "-c", _LIMITED, repository.root, str(limit)],
        capture_output=True,
        text=True,
        check=True,
    )

    told = done.stdout.partition(" ")[0]
    big = files_at(repository).get("big.md")

    assert big == (bytes(range(256)) * 40 if told == "made" else None), done.stdout
    assert told == "made" or locks_left(repository) == []
    assert told == ("refused" if limit <= 1024 else told)
    saved(repository, {"after.md": b"x\n"})
    assert files_at(repository)["a.md"] == (b"2\n" if big else b"1\n")
    fsck_clean(repository)


def test_failure_within_a_longer_hold(repository: Repository) -> None:
    """A commit whose work tree could not follow is repaired by the next one under the same hold of the lock."""
    saved(repository, {"a.md": b"1\n"})

    def block(stage: str) -> None:
        if stage == "acknowledged":
            work_file(repository, "n").write_bytes(b"in the way\n")

    with writing(repository, "several"):
        repository.on_stage = block
        first = save(repository, {"n/x.md": b"x\n"})
        repository.on_stage = lambda _: None
        work_file(repository, "n").unlink()
        saved(repository, {"a.md": b"2\n"})

    assert first is not None
    assert first.warning
    fsck_clean(repository)


def test_interrupted_by_the_keyboard(repository: Repository) -> None:
    """Ctrl-C at any stage leaves the commit whole or absent, and nothing that looks like an edit."""
    saved(repository, {"a.md": b"1\n"})
    for stage in ("objects", "acknowledged", "work tree", "index"):
        before = repository.tip()

        def interrupt(reached: str, stage: str = stage) -> None:
            if reached == stage:
                raise KeyboardInterrupt

        repository.on_stage = interrupt
        with pytest.raises(KeyboardInterrupt):
            save(repository, {"a.md": stage.encode(), f"{stage}.md": b"x\n"})
        repository.on_stage = lambda _: None

        assert (repository.tip() == before) == (stage == "objects")
        assert locks_left(repository) == (["index.lock"] if stage in ("acknowledged", "work tree") else [])
        append(repository, "log.md", stage.encode())
        assert scratch_left(repository) == []
        fsck_clean(repository)


def test_disk_that_does_not_confirm(repository: Repository, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where the flush of the ref's directory fails, the error says that the commit was made all the same."""
    from gitmem.git import transaction

    saved(repository, {"a.md": b"1\n"})

    def refuse(_: str) -> None:
        raise OSError(5, "Input/output error")

    monkeypatch.setattr(transaction, "durable_directory", refuse)
    with pytest.raises(BundleUnusable, match="was made, but the disk would not confirm it"):
        save(repository, {"a.md": b"2\n"})
    monkeypatch.undo()

    assert files_at(repository) == {"a.md": b"2\n"}
    fsck_clean(repository)


def test_resources_are_what_the_tests_believe() -> None:
    """SIGXFSZ and RLIMIT_FSIZE exist here: the limit test is no empty promise."""
    assert resource.RLIMIT_FSIZE >= 0
    assert signal.SIGXFSZ > 0
