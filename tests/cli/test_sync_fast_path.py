"""A sync that finds nothing new is answered at a glance, and only then."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from gitmem.cli.sync_fast_path import answered
from gitmem.git import sync_mark

from tests.cli.conftest import Cli

Ask = Callable[..., bool]


@pytest.fixture
def ask(gitmem: Cli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Ask:
    """A bundle `mem` that was synced with a hub and marked; asks whether a sync is answered at a glance."""
    monkeypatch.setattr(sync_mark, "_YOUNG", 0)  # nobody writes in the very moment of the mark here
    subprocess.run(["git", "init", "-q", "--bare", "-b", "main", str(tmp_path / "hub.git")], check=True)
    gitmem("init", "mem")
    gitmem("-C", "mem", "memory", "add", "one fact")
    gitmem("-C", "mem", "remote", "add", "origin", str(tmp_path / "hub.git"), "--yes")
    gitmem("-C", "mem", "sync")
    gitmem("-C", "mem", "sync")

    def asked(*words: str) -> bool:
        return answered(["-C", str(tmp_path / "mem"), "sync", *words], os.environ)

    assert asked()
    return asked


def test_the_answer_is_that_of_the_command(ask: Ask, gitmem: Cli, capsys: pytest.CaptureFixture[str]) -> None:
    """The same sentence, with and without the remote's name."""
    told = gitmem("-C", "mem", "sync").out
    capsys.readouterr()
    assert ask("origin")
    assert told == capsys.readouterr().out


def _last_success(gitmem: Cli) -> str:
    found: str = gitmem("-C", "mem", "sync", "status", "--json").json["remotes"][0]["last_success"]
    return found


def test_the_moment_of_the_answer_is_noted(
    ask: Ask, gitmem: Cli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """`sync status` knows when it was, whatever times the files have, and also after a sync that failed."""
    [mark] = (tmp_path / "mem/.git/gitmem/sync").glob("*.mark")
    before, length = _last_success(gitmem), mark.stat().st_size
    monkeypatch.setattr(time, "time", lambda: 2_000_000_000.25)
    os.utime(mark, (4_000_000_000, 4_000_000_000))
    assert before == _last_success(gitmem)
    assert ask()
    assert length == mark.stat().st_size
    assert "2033-05-18T03:33:20.250Z" == _last_success(gitmem)
    (tmp_path / "hub.git").rename(tmp_path / "away.git")
    assert 1 == gitmem.run("-C", "mem", "sync").code
    assert not mark.exists()
    assert "2033-05-18T03:33:20.250Z" == _last_success(gitmem)


def test_a_mark_of_another_version_or_damaged_is_none(ask: Ask, gitmem: Cli, tmp_path: Path) -> None:
    """The command itself runs, and what is known of the last success is what its own record says."""
    directory = tmp_path / "mem/.git/gitmem/sync"
    [mark] = directory.glob("*.mark")
    written = mark.read_bytes()
    noted = json.loads((directory / "origin.json").read_text())["last_success"]
    for data in (written.replace(b"mark 2", b"mark 1"), written[:-1], written[:40], b"", b"\xff" * 80):
        mark.write_bytes(data)
        assert not ask()
        assert noted == _last_success(gitmem)
    mark.write_bytes(written.replace(written.splitlines()[1], b"2026-99-99T99:99:99.999Z"))
    assert noted == _last_success(gitmem)  # a moment that is none is passed over
    assert ask()  # and all else in the mark still holds
    gitmem("-C", "mem", "sync")
    assert ask()


def test_a_mark_that_is_gone_does_not_come_back(tmp_path: Path) -> None:
    """A sync that failed took it away while another one looked."""
    with pytest.raises(FileNotFoundError):
        sync_mark.note_success(str(tmp_path / "origin.mark"))
    (tmp_path / "old.mark").write_bytes(b"gitmem sync mark 1\ndefault\n")
    sync_mark.note_success(str(tmp_path / "old.mark"))
    assert b"gitmem sync mark 1\ndefault\n" == (tmp_path / "old.mark").read_bytes()


def test_other_words_are_left_to_the_command(ask: Ask) -> None:
    """Only a plain sync is answered."""
    for words in ("status", "--dry-run", "other", "origin --json", "../x"):
        assert not ask(*words.split())


def test_whatever_changed_here_is_seen(ask: Ask, gitmem: Cli, tmp_path: Path) -> None:
    """A hand edit, a staged file, a commit, a name, a commit that was cut short: the command itself runs."""
    mem = tmp_path / "mem"
    ours = mem / ".git" / "gitmem"
    store = mem / "memories" / "MEMORY.md"

    def same_size() -> None:
        text = store.read_text().replace("one fact", "two fact")
        with store.open("r+") as file:
            file.write(text)

    def journal() -> None:
        (ours / "pending").unlink()
        (ours / "journal").mkdir()
        (ours / "journal" / "x").touch()

    changes: list[Callable[[], object]] = [
        same_size,
        lambda: store.write_text(store.read_text() + "§\nby hand\n"),
        lambda: (mem / "memories" / "new.md").write_text("x"),
        store.unlink,
        lambda: subprocess.run(["git", "-C", str(mem), "rm", "-q", "--cached", "log.md"], check=True),
        lambda: (mem / ".git" / "refs" / "tags" / "snapshot").mkdir(parents=True, exist_ok=True),
        lambda: (mem / ".git" / "refs" / "tags" / "snapshot" / "x").write_text("0" * 40),
        lambda: (mem / ".git" / "MERGE_HEAD").write_text("0" * 40),
        lambda: (ours / "pending").write_bytes(b"pending x"),
        journal,
    ]
    seen = sync_mark.state(str(mem), str(mem / ".git"))
    for number, change in enumerate(changes):
        change()
        now = sync_mark.state(str(mem), str(mem / ".git"))
        assert (number == 5) == (seen == now != ""), number  # a directory alone is nothing
        assert not ask()
        seen = now


def test_whatever_changed_there_is_seen(ask: Ask, gitmem: Cli, tmp_path: Path) -> None:
    """Another machine's commit comes by the command itself; so does the complaint about a remote that is gone."""
    gitmem("clone", str(tmp_path / "hub.git"), "other")
    gitmem("-C", "other", "memory", "add", "from the other machine")
    gitmem("-C", "other", "sync")
    assert not ask()
    assert "1 commit came" in gitmem("-C", "mem", "sync").out
    gitmem("-C", "mem", "sync")
    assert ask()
    (tmp_path / "hub.git").rename(tmp_path / "away.git")
    assert not ask()
    assert 1 == gitmem.run("-C", "mem", "sync").code
    (tmp_path / "away.git").rename(tmp_path / "hub.git")
    assert not ask()  # after a failure the command itself has to succeed first


def test_what_is_young_is_not_marked(gitmem: Cli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A file that may change again in the same moment makes no mark; an address with a login neither."""
    monkeypatch.setattr(sync_mark, "_YOUNG", 10**18)
    subprocess.run(["git", "init", "-q", "--bare", "-b", "main", str(tmp_path / "hub.git")], check=True)
    gitmem("init", "mem")
    gitmem("-C", "mem", "remote", "add", "origin", str(tmp_path / "hub.git"), "--yes")
    gitmem("-C", "mem", "sync")
    gitmem("-C", "mem", "sync")
    assert not list((tmp_path / "mem" / ".git" / "gitmem" / "sync").glob("*.mark"))


def test_nothing_heavy_is_imported(ask: Ask, tmp_path: Path) -> None:
    """A sync without news imports neither click nor dulwich, SQLite, YAML or the scanner."""
    code = (
        "import sys; sys.argv[1:] = ['-C', sys.argv[1], 'sync']; from gitmem.__main__ import main; code = main(); "
        "print(code, *sorted({'click', 'dulwich', 'sqlite3', 'yaml', 're', 'dataclasses', 'json'} & set(sys.modules)))"
    )
    # -S -E: what site and the environment import is not ours.
    paths = os.pathsep.join(path for path in sys.path if path)
    bare = f"import sys; sys.path[:0] = {paths.split(os.pathsep)!r}; {code}"
    done = subprocess.run(
        [sys.executable, "-S", "-E", "-c", bare, str(tmp_path / "mem")],
        capture_output=True,
        text=True,
        check=True,
    )
    assert ["synced with origin: 0 commits came, 0 went", "0"] == done.stdout.splitlines()
