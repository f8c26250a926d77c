"""Hostile repositories: each is refused whole, or its poison is held; nothing of it reaches a prompt."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
from gitmem.config import Config
from gitmem.errors import GitMemError
from gitmem.git.remotes import Remote, Remotes
from gitmem.memory.curated.prompt_block import freeze
from gitmem.memory.memory import Memory
from gitmem.memory.opening import open_bundle
from gitmem.memory.sync.engine import Sync
from gitmem.memory.sync.server import received
from gitmem.memory.upkeep.create import create
from gitmem.world import World

from tests.faults.hostile import KINDS, Hub, Kind
from tests.git.support import fsck_clean, run_git
from tests.memory.conftest import Clock


@pytest.fixture(scope="module")
def ground(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A bundle and the hub it was synced to, copied for every kind."""
    root = tmp_path_factory.mktemp("ground")
    subprocess.run(["git", "init", "-q", "--bare", "-b", "main", str(root / "hub.git")], check=True)
    bundle, _ = create(World(os.environ, clock=Clock()), str(root / "b"), config=Config(machine="b"))
    bundle.curated.add("an honest fact")
    Remotes(bundle.repository).save(Remote("origin", str(root / "hub.git"), consent=True))
    Sync(bundle).run()
    bundle.repository.store.close()
    return root


@pytest.fixture
def place(ground: Path, tmp_path: Path) -> Iterator[tuple[Memory, Hub]]:
    shutil.copytree(ground, tmp_path / "w")
    bundle = open_bundle(
        World(os.environ, clock=Clock()), str(tmp_path / "w" / "b"), "as is", config=Config(machine="b")
    )
    Remotes(bundle.repository).save(Remote("origin", str(tmp_path / "w" / "hub.git"), consent=True))
    yield bundle, Hub(tmp_path / "w" / "hub.git")
    bundle.repository.store.close()


def attempt(place: tuple[Memory, Hub], kind: Kind, transport: str) -> None:
    bundle, hub = place
    tip = bundle.tip
    kind.make(hub)
    evil = Path(hub.path, "refs/heads/main").read_text().strip()
    assert evil != tip
    assert received(hub.path, "", [f"{tip} {evil} refs/heads/main\n"])  # a guarded server takes none of them
    syncing = Sync(bundle, prefer=transport)
    if kind.outcome == "refused":
        with pytest.raises(GitMemError) as refused:
            syncing.run()
        assert "\n" not in str(refused.value)
        assert "\x1b" not in str(refused.value)
        assert bundle.tip == tip
        assert subprocess.run(
            ["git", "-C", bundle.root, "cat-file", "-e", evil], capture_output=True, check=False
        ).returncode
    else:
        done = syncing.run()
        shown = freeze(bundle).text
        assert kind.text not in shown
        assert "an honest fact" in shown
        assert done.held or "[BLOCKED" in shown
    assert not [name for name in os.listdir(bundle.state.directory) if name.startswith("fetch-")]
    assert "an honest fact" in [entry.text for entry in bundle.curated.entries("memory")]
    fsck_clean(bundle.repository)


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.name)
def test_hostile_repository(place: tuple[Memory, Hub], kind: Kind) -> None:
    """With the git program: refused whole or held; the bundle is as it was, and clean."""
    attempt(place, kind, "git")


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.name)
def test_hostile_repository_by_dulwich(place: tuple[Memory, Hub], kind: Kind) -> None:
    """Without the git program: the same."""
    attempt(place, kind, "dulwich")


def test_there_are_sixty_kinds() -> None:
    """The generator makes at least sixty, each with a name of its own."""
    assert len({kind.name for kind in KINDS}) >= 60


def test_escapes_in_author_and_message_are_shown(
    place: tuple[Memory, Hub], capsys: pytest.CaptureFixture[str]
) -> None:
    """A commit with escape sequences in author and message may come in; the terminal never sees them."""
    from gitmem.cli.main import main

    bundle, hub = place
    hub.commit(
        run_git(hub.path, "rev-parse", f"{hub.tip}^{{tree}}"),
        author=b"\x1b]0;owned\x07x <x@x>",
        message=b"evil \x1b[2J\x1b[31m\n",
    )
    Sync(bundle).run()
    assert main(["-C", bundle.root, "log", "-n", "3"]) == 0
    assert "\x1b" not in capsys.readouterr().out


@pytest.mark.parametrize("target", ["blob", "tree"])
def test_a_snapshot_that_names_no_commit(place: tuple[Memory, Hub], target: str) -> None:
    """A tag on something else does not become a snapshot: the fetch is refused."""
    bundle, hub = place
    oid = hub.blob(b"x") if target == "blob" else run_git(hub.path, "rev-parse", f"{hub.tip}^{{tree}}")
    run_git(hub.path, "update-ref", "refs/tags/snapshot/odd", oid)
    with pytest.raises(GitMemError, match="snapshot"):
        Sync(bundle).run()
    assert all(snapshot.name != "odd" for snapshot in bundle.snapshots.all())
