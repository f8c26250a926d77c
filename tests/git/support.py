"""Short hands for the tests of the git room: commit, run plain git, and compare the two."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Callable, Mapping
from pathlib import Path

from gitmem.git.git_directory import new_repository, open_repository
from gitmem.git.message import Message
from gitmem.git.objects import Oid, Person
from gitmem.git.recovery import hand_edits
from gitmem.git.repository import Repository
from gitmem.git.transaction import Draft, Published, publish
from gitmem.git.tree import Edit, Tree
from gitmem.memory.bundle import Bundle
from gitmem.state import TMP

from tests.trees import contents

PROJECT = Path(__file__).resolve().parents[2]


def make_repository(root: str, *, separate_git_dir: str | None = None) -> Repository:
    """An empty repository with its work tree at `root`, ready for the first commit."""
    with new_repository(root, separate_git_dir=separate_git_dir):
        pass
    return open_repository(root)


def plain_environment() -> dict[str, str]:
    """What a process needs to find programs and, where the tests run on a source tree, that tree's gitmem."""
    return {name: os.environ[name] for name in ("HOME", "PATH", "PYTHONPATH") if name in os.environ}


WHO = Person("hermes", "hermes@test", 1_760_000_000)

Git = Callable[..., str]
"""The type of the `git` fixture: `git("status", "--porcelain")` gives what git printed."""

GIT_ENVIRONMENT = {
    "GIT_CONFIG_GLOBAL": os.devnull,
    "GIT_CONFIG_NOSYSTEM": "1",
    "GIT_AUTHOR_NAME": "A Person",
    "GIT_AUTHOR_EMAIL": "person@test",
    "GIT_COMMITTER_NAME": "A Person",
    "GIT_COMMITTER_EMAIL": "person@test",
    "GIT_TERMINAL_PROMPT": "0",
    "LC_ALL": "C.UTF-8",
}


def try_git(
    root: str | Path, *arguments: str, stdin: bytes | None = None
) -> subprocess.CompletedProcess[bytes]:
    """Run plain git in a directory; it may fail."""
    environment = {name: value for name, value in os.environ.items() if not name.startswith("GIT_")}
    return subprocess.run(
        ["git", *arguments],
        cwd=root,
        input=stdin,
        capture_output=True,
        env={**environment, **GIT_ENVIRONMENT},
        check=False,
    )


def run_git(root: str | Path, *arguments: str, stdin: bytes | None = None) -> str:
    """Run plain git in a directory; gives what it printed, without the last newline."""
    done = try_git(root, *arguments, stdin=stdin)
    assert done.returncode == 0, (arguments, done.stdout, done.stderr)
    return done.stdout.decode("utf-8", "surrogateescape").rstrip("\n")


def save(
    repository: Repository,
    edits: Mapping[str, Edit],
    what: str = "a change",
    *,
    takes_in: Mapping[str, bytes | None] | None = None,
    leaves: frozenset[str] = frozenset(),
) -> Published | None:
    """One commit of these files."""

    def plan(_: Tree) -> Draft:
        return Draft(edits, Message("flush", what), WHO, WHO, takes_in=takes_in or {}, leaves=leaves)

    return publish(repository, plan, purpose="test")


def saved(repository: Repository, edits: Mapping[str, Edit], what: str = "a change") -> Published:
    """One commit of these files, which must be made whole."""
    published = save(repository, edits, what)
    assert published is not None
    assert not published.warning
    return published


def append(repository: Repository, path: str, line: bytes) -> Published:
    """Add a line to a file, as a function of what the tip has."""

    def plan(tip: Tree) -> Draft:
        old = tip.read(path) or b""
        return Draft({path: old + line}, Message("flush", "a line"), WHO, WHO)

    published = publish(repository, plan, purpose="append", wait=120)
    assert published is not None
    return published


def tip_of(repository: Repository) -> Oid:
    tip = repository.tip()
    assert tip is not None
    return tip


def work_file(repository: Repository, path: str) -> Path:
    return Path(repository.root, *path.split("/"))


def files_at(repository: Repository, commit: Oid | None = None) -> dict[str, bytes]:
    """Every file of a commit (the tip) by path, read by a repository opened anew."""
    fresh = open_repository(repository.root)
    try:
        tree = fresh.tree(commit or fresh.tip())
        return {path: tree.read(path) or b"" for path, _ in tree.files()}
    finally:
        fresh.store.close()


def files_in_work_tree(repository: Repository) -> dict[str, bytes]:
    """Every file of the work tree by path."""
    root = Path(repository.root)
    return {
        file.relative_to(root).as_posix(): file.read_bytes()
        for file in root.rglob("*")
        if file.is_file() and ".git" not in file.relative_to(root).parts
    }


def locks_left(repository: Repository) -> list[str]:
    """Lock files that block plain git; gitmem's own, which the system drops with its owner, stay."""
    locks = [path for path in contents(repository.git_dir) if path.endswith(".lock")]
    return sorted(lock for lock in locks if not lock.startswith("gitmem/"))


def scratch_left(repository: Repository) -> list[str]:
    """Scratch files of any process; a directory's lock, which says that its process is alive, is not one."""
    top = Path(repository.state.path(TMP))
    found = [path.relative_to(top) for path in (*top.glob("*/*"), *top.glob("*")) if path.name != "lock"]
    return sorted(str(path) for path in found if len(path.parts) > 1 or not (top / path).is_dir())


def index_agrees(repository: Repository) -> None:
    """Plain git finds nothing staged, nothing changed, and would write the tip's tree."""
    root = repository.root
    # Before `git status`, which refreshes the index and would hide a stale stat.
    assert run_git(root, "diff-index", "--cached", "HEAD") == ""
    assert run_git(root, "write-tree") == run_git(root, "rev-parse", "HEAD^{tree}")
    assert run_git(root, "status", "--porcelain") == ""
    assert run_git(root, "diff-files") == ""


def fsck_clean(repository: Repository) -> None:
    """`git fsck --strict` is silent, `git status` is empty, and gitmem finds no hand edits."""
    done = try_git(repository.root, "fsck", "--strict")
    # A blob that a person staged and dropped again dangles; that is not damage.
    told = [line for line in (done.stdout + done.stderr).splitlines() if not line.startswith(b"dangling")]
    assert (done.returncode, told) == (0, [])
    fresh = open_repository(repository.root)
    try:
        assert hand_edits(fresh) == []
        if fresh.tip() is not None:
            assert run_git(repository.root, "status", "--porcelain") == ""
    finally:
        fresh.store.close()


def wrong(bundle: Bundle, *, history: bool = False) -> list[str]:
    """What `gitmem check` finds wrong with a bundle; notes are left out."""
    from gitmem.memory.upkeep.checks import Checks

    return [f"{one.check}: {one.what}" for one in Checks(bundle, history=history).run() if one.serious]
