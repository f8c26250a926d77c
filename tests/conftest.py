"""Shared fixtures: a real repository in a temporary directory, and plain git beside it."""

from __future__ import annotations

import atexit
import os
import shutil
import tempfile
from collections.abc import Callable, Iterator
from importlib.util import find_spec
from pathlib import Path

import gitmem
import pytest
from gitmem.git.repository import Repository
from gitmem.memory.find import embedding
from hypothesis import settings

settings.register_profile("gitmem", deadline=None)  # no test depends on a wall-clock limit
settings.load_profile("gitmem")

# Temporary directories are in memory where there is room for them: on a disk the tests wait for fsync most of the
# time. Workers inherit the place; whoever wants to look at what a test left sets it to another.
_MEMORY, _PLACE = "/dev/shm", "PYTEST_DEBUG_TEMPROOT"
if _PLACE not in os.environ and os.path.isdir(_MEMORY) and shutil.disk_usage(_MEMORY).free > 2 * 1024**3:
    os.environ[_PLACE] = tempfile.mkdtemp(prefix="gitmem-tests-", dir=_MEMORY)
    atexit.register(shutil.rmtree, os.environ[_PLACE], ignore_errors=True)

pytest.register_assert_rewrite("tests.git.support", "tests.faults.support")

from tests.git import support  # noqa: E402


@pytest.fixture(scope="session", autouse=True)
def isolated_git(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """No test reads or writes the settings of whoever runs it."""
    with pytest.MonkeyPatch.context() as patch:
        for name in list(os.environ):
            if name.startswith("GIT_"):
                patch.delenv(name)
        for name, value in support.GIT_ENVIRONMENT.items():
            patch.setenv(name, value)
        patch.setenv("HOME", str(tmp_path_factory.mktemp("home")))
        # Processes that a test starts import the gitmem that the test imports: the wheel, which they would miss
        # in the directory of the source tree, or that tree.
        patch.chdir(tmp_path_factory.mktemp("cwd"))
        if Path(gitmem.__file__).parents[1] == support.PROJECT:
            patch.setenv("PYTHONPATH", str(support.PROJECT))
        patch.delenv("XDG_CONFIG_HOME", raising=False)
        yield


@pytest.fixture(scope="session", autouse=True)
def by_words_alone() -> Iterator[None]:
    """Search goes by words, whether or not the extra `[semantic]` is installed: order and scores are the same."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(embedding, "find_spec", lambda _: None)
        yield


@pytest.fixture
def by_meaning_too(monkeypatch: pytest.MonkeyPatch) -> None:
    """Search goes by meaning as well; skipped where the extra is not installed."""
    pytest.importorskip("numpy")
    monkeypatch.setattr(embedding, "find_spec", find_spec)


@pytest.fixture
def disk() -> Iterator[Path]:
    """A directory on a real disk, for kills and crowds that memory would be too quick for."""
    with tempfile.TemporaryDirectory(dir="/var/tmp", ignore_cleanup_errors=True) as directory:
        yield Path(directory)


@pytest.fixture
def repository(tmp_path: Path) -> Iterator[Repository]:
    """An empty repository of gitmem's making."""
    made = support.make_repository(str(tmp_path / "bundle"))
    yield made
    made.store.close()


@pytest.fixture
def git(repository: Repository) -> support.Git:
    """Plain git in the repository's work tree: `git("status")` gives what it printed."""

    def run(*arguments: str, stdin: bytes | None = None) -> str:
        return support.run_git(repository.root, *arguments, stdin=stdin)

    return run


@pytest.fixture
def fsck_clean() -> Callable[[Repository], None]:
    """Asserts that plain git and gitmem find nothing wrong and nothing uncommitted."""
    return support.fsck_clean
