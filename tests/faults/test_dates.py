"""Dates that no calendar has, in every place where a bundle has one: no reader fails, and the sync says so."""

from __future__ import annotations

import contextlib
import io
import os
import re
import subprocess
from datetime import UTC, datetime, timedelta
from pathlib import Path

import gitmem
import pytest
from gitmem.cli.main import main
from gitmem.config import Config
from gitmem.git.objects import Person
from gitmem.memory.memory import Memory
from gitmem.memory.upkeep.clone import clone
from gitmem.memory.upkeep.create import create
from gitmem.okf.timestamps import LATEST, of_seconds, parse, stamp
from gitmem.world import World
from hypothesis import given
from hypothesis import strategies as st

from tests.git.support import run_git, try_git

SECONDS = {
    "zero": "0 +0000",
    "negative": "-62167219201 +0000",
    "10000": "253402300800 +0000",
    "10000, far east": "253402300799 -1400",
    "huge": "9" * 30 + " +0000",
    "very huge": "9" * 5000 + " +0000",
    "zone": "1760000000 +9999",
    "half a zone": "1760000000 +1",
    "no zone": "1760000000",
    "words": "yesterday +0000",
}
TEXTS = {
    "10000": "10000-01-01T00:00:00.000Z",
    "9999": "9999-12-31T23:59:59.999Z",
    "9999, far west": "9999-12-31T23:59:59.999-23:59",
    "0": "0000-00-00T00:00:00.000Z",
    "1": "0001-01-01T00:00:00.000+23:59",
    "negative": "-0001-01-01T00:00:00Z",
    "leap": "2026-02-30T25:61:61.000Z",
    "words": "the day before",
    "empty": "",
}
COMMANDS = (
    ("status",),
    ("log",),
    ("log", "--json"),
    ("search", "poison"),
    ("search", "fact", "--json"),
    ("recall", "fact"),
    ("recall", "--json", "poison"),
    ("blame", "memories/MEMORY.md"),
    ("blame", "memories/MEMORY.md", "--json"),
    ("why", "Fact"),
    ("why", "Fact", "--json"),
    ("show",),
    ("show", "--json"),
    ("diff", "HEAD~1"),
    ("check",),
    ("check",),
    ("facts",),
    ("log",),
    ("snapshot", "--list", "--json"),
    ("plan", "list"),
    ("remember", "Another fact of today."),
    ("snapshot", "after"),
)


def world() -> World:
    return World(dict(os.environ), person="ada")


def run(root: str, *command: str) -> subprocess.CompletedProcess[str]:
    """A command, in this process: an error that nobody expected is one of the test."""
    with contextlib.redirect_stdout(io.StringIO()) as out, contextlib.redirect_stderr(io.StringIO()) as err:
        code = main(["-C", root, *command], world())
    return subprocess.CompletedProcess(command, code, out.getvalue(), err.getvalue())


@pytest.fixture
def filled(tmp_path: Path) -> Memory:
    """A bundle with one of everything that has a date, and a hub that it syncs with."""
    bundle, _ = create(world(), str(tmp_path / "a"), config=Config(machine="a"))
    bundle.remember("Fact one, which stays.")
    with bundle.session("s1") as session:
        session.record_observation("An honest fact was observed")
        session.record_decision("Use Postgres", "JSON")
    bundle.snapshot("before")
    bundle.plans.create("A plan", ["one", "two"], origin=bundle.origin())
    hub = str(tmp_path / "hub.git")
    run_git(tmp_path, "init", "-q", "--bare", "-b", "main", hub)
    bundle.close()
    assert run(bundle.root, "remote", "add", "origin", hub, "--yes").returncode == 0
    assert run(bundle.root, "sync").returncode == 0
    return bundle


def push_commit(root: Path, tree: str, date: str) -> None:
    """A commit of nobody's making, with this date, becomes the remote's newest."""
    parent = run_git(root, "rev-parse", "refs/heads/main")
    person = f"a <a@b> {date}"
    raw = f"tree {tree}\nparent {parent}\nauthor {person}\ncommitter {person}\n\nmemory: poison\n\nKind: memory\n"
    oid = run_git(root, "hash-object", "-t", "commit", "-w", "--stdin", "--literally", stdin=raw.encode())
    run_git(root, "update-ref", "refs/heads/main", oid)


def every_reader_works(root: str) -> None:
    for command in COMMANDS:
        done = run(root, *command)
        assert "Traceback" not in done.stderr, (command, done.stderr)
        assert done.returncode in (0, 3), (command, done.stdout, done.stderr)
    with gitmem.open(root) as memory:
        assert memory.context("fact", budget=2000).withheld == 0
        assert "stays" in memory.prompt_block()
        assert memory.recent_sessions()


@pytest.mark.parametrize("date", SECONDS.values(), ids=SECONDS)
def test_dates_of_commits(filled: Memory, tmp_path: Path, date: str) -> None:
    """A pulled commit with such a date is taken or refused as a whole; no command fails afterwards."""
    hub = tmp_path / "hub.git"
    memory = run_git(hub, "show", "main:memories/MEMORY.md") + "\n"
    index = {**os.environ, "GIT_INDEX_FILE": str(tmp_path / "index")}
    subprocess.run(["git", "-C", hub, "read-tree", "main"], env=index, check=True)
    blob = run_git(hub, "hash-object", "-w", "--stdin", stdin=memory.replace("stays", "stayed").encode())
    cache = f"100644,{blob},notes/poison.md"
    subprocess.run(["git", "-C", hub, "update-index", "--add", "--cacheinfo", cache], env=index, check=True)
    tree = subprocess.run(["git", "-C", hub, "write-tree"], env=index, check=True, capture_output=True)
    push_commit(hub, tree.stdout.decode().strip(), date)

    run(filled.root, "sync")
    every_reader_works(filled.root)


@pytest.mark.parametrize("at", TEXTS.values(), ids=TEXTS)
def test_dates_in_files(filled: Memory, tmp_path: Path, at: str) -> None:
    """Every date in every file is such a one, here and on a machine that pulls it."""
    other = clone(world(), str(tmp_path / "hub.git"), str(tmp_path / "b"), config=Config(machine="b"))
    other.close()
    root = Path(other.root)
    for file in root.rglob("*.md"):
        text = file.read_text()
        file.write_text(re.sub(r"\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}\.\d{3}Z", at, text))
    run_git(root, "-c", "core.hooksPath=/dev/null", "commit", "-qam", "memory: dates")
    try_git(root, "-c", "core.hooksPath=/dev/null", "push", "-q", "origin", "main")

    every_reader_works(str(root))
    done = run(filled.root, "sync")
    assert "Traceback" not in done.stderr
    every_reader_works(filled.root)


@given(st.text(max_size=40) | st.integers().map(lambda number: f"{number} +0000"))
def test_the_date_of_any_person(tail: str) -> None:
    """Whatever stands behind a name, what is read is a moment that can be shown."""
    found = Person.parse(f"a <a@b> {tail}".encode())
    assert 0 <= found.time <= LATEST
    assert parse(stamp(of_seconds(found.time))) == of_seconds(found.time)


@given(st.floats(allow_nan=False) | st.integers())
def test_any_number_of_seconds(seconds: float) -> None:
    """It is a moment; what no calendar has is the nearest that it has."""
    assert 1970 <= of_seconds(seconds).year <= 9999


def test_a_clock_before_1970(tmp_path: Path) -> None:
    """What is written then has the first date that git takes."""
    now = datetime(1969, 12, 31, 12, tzinfo=UTC)
    world = World(os.environ, str(tmp_path), str(tmp_path), lambda: now, "ada", "laptop", UTC)
    memory, _ = create(world, str(tmp_path / "mem"), config=Config(machine="a"))
    memory.curated.add("Learned too early")
    memory.snapshots.create("early", origin=memory.origin())
    run_git(memory.root, "fsck", "--strict", "--no-dangling")
    assert "1970-01-01" in run_git(memory.root, "log", "-1", "--format=%cI %aI")
    memory.close()


def test_a_clock_that_was_set_back_is_said_once(tmp_path: Path) -> None:
    """By the first write after it; a clock that is only a little behind is nothing."""
    now = datetime(2026, 10, 28, tzinfo=UTC)
    world = World(os.environ, str(tmp_path), str(tmp_path), lambda: now, "ada", "laptop", UTC)
    create(world, str(tmp_path / "mem"), config=Config(machine="a"))[0].close()

    def write(text: str) -> str:
        said = io.StringIO()
        with contextlib.redirect_stderr(said), contextlib.redirect_stdout(io.StringIO()):
            assert main(["-C", str(tmp_path / "mem"), "remember", text], world) == 0
        return said.getvalue()

    now -= timedelta(hours=20)
    assert write("one") == ""
    now -= timedelta(days=100)
    told = write("two")
    assert "The clock says 2026-07-19, and the newest commit is of 2026-10-27: one of them is wrong." in told
    assert write("three") == ""
    run_git(tmp_path / "mem", "fsck", "--strict", "--no-dangling")
