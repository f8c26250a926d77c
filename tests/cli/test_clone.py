"""`gitmem clone`, also straight into a Hermes home."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest
from gitmem.cli.sync import _directory_of

from tests.cli.conftest import Cli


def hub(gitmem: Cli, tmp_path: Path) -> str:
    path = str(tmp_path / "hub.git")
    subprocess.run(["git", "init", "-q", "--bare", "-b", "main", path], check=True)
    gitmem("init", "mem")
    gitmem("-C", "mem", "remember", "a fact from the other machine")
    gitmem("-C", "mem", "remote", "add", "origin", path, "--yes")
    gitmem("-C", "mem", "sync")
    return path


def test_a_clone_is_ready(gitmem: Cli, tmp_path: Path) -> None:
    """Hooks, merge driver, search index and consent are in place; a second clone there is refused."""
    url = hub(gitmem, tmp_path)
    gitmem("clone", url, "copy")
    git_dir = tmp_path / "copy" / ".git"
    assert (git_dir / "hooks" / "pre-commit").exists()
    assert (git_dir / "gitmem" / "index.db").exists()
    assert "merge-driver" in (git_dir / "config").read_text()
    assert "0 commits came, 0 went" in gitmem("-C", "copy", "sync").out
    assert "not empty" in gitmem.fails("clone", url, "copy")


def test_a_clone_into_a_hermes_home(gitmem: Cli, tmp_path: Path) -> None:
    """With --hermes the agent has the memory at once: its files, its provider, and the remote."""
    url = hub(gitmem, tmp_path)
    home = tmp_path / "hermes"
    (home / "memories").mkdir(parents=True)
    (home / "memories" / "MEMORY.md").write_text("a fact of this machine")
    told = gitmem("clone", url, "hermes", "--hermes").out
    assert "memory.provider" in told
    store = (home / "memories" / "MEMORY.md").read_text()
    assert "a fact from the other machine" in store
    assert "a fact of this machine" in store
    assert "provider: gitmem" in (home / "config.yaml").read_text()
    bundle = str(home / "gitmem" / "bundle")
    assert "1 commit" not in gitmem("-C", bundle, "status").err
    assert "went" in gitmem("-C", bundle, "sync").out
    assert "run `gitmem remote confirm laptop`, once" in gitmem.run("-C", "mem", "sync").err
    assert "a fact of this machine" in gitmem("-C", "mem", "facts").out


@pytest.mark.parametrize(
    ("url", "name"),
    [
        ("git@host:me/memory.git", "memory"),
        ("git@host:memory", "memory"),
        ("https://host/me/memory.git/?token=x", "memory"),
        ("ssh://host:22/srv/mem.git/", "mem"),
        ("/srv/mem/.git", "mem"),
    ],
)
def test_a_clone_goes_where_git_would_put_it(url: str, name: str) -> None:
    """The directory is the last part of the address, without `.git`."""
    assert name == _directory_of(url)


def test_a_clone_without_a_directory(mem: Cli, tmp_path: Path) -> None:
    """It makes one in the current directory; an address that names nothing is refused."""
    (tmp_path / "elsewhere").mkdir()
    source, mem.cwd = mem.root, tmp_path / "elsewhere"
    assert f"Created a memory in {mem.cwd}/mem" in mem("clone", str(source)).out
    assert "Name the directory" in mem.fails("clone", "ssh://host/..", code=2)
