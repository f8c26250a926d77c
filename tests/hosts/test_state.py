"""The state directory in real use: every file in it has its row in the table, and what may be deleted may be deleted."""

from __future__ import annotations

import gc
import re
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path

import pytest
from gitmem.hosts.hermes.profile import uninstall
from gitmem.hosts.mcp.connection import Connection
from gitmem.memory.find.context import context
from gitmem.memory.memory import Memory
from gitmem.memory.opening import open_bundle
from gitmem.memory.review import release
from gitmem.state import TABLE, Name

from tests.cli.conftest import Cli, real
from tests.hosts.conftest import Driver, HermesHome
from tests.hosts.talk import turn
from tests.trees import contents

Begin = Callable[..., Driver]

RULES = """---
type: ScannerRules
---

```toml
[[rule]]
id = "bluebird"
category = "house rules"
severity = "hold"
reason = "names the project that stays out of the memory"
pattern = '''bluebird {w3}launches'''
match = ["bluebird launches"]
no_match = ["a blue bird"]
```
"""
RELEASED = "bluebird launches on Monday"
KILLED = """
import os, signal, sys
from gitmem.git.transport import throw_away
from gitmem.memory.capture.buffer import HotMemoryBuffer
from gitmem.memory.opening import open_bundle
from gitmem.world import World

memory = open_bundle(World.real(), sys.argv[1])
HotMemoryBuffer(memory, memory.sessions.info("night")).take("observation", {"content": sys.argv[2]})
with throw_away(memory.repository, []):
    os.kill(os.getpid(), signal.SIGKILL)
"""
# Written for a moment only: a kill in just that moment leaves them.
PASSING = {
    "erased",
    "journal/<id>.new",
    "index.new.db",
    "index.new.db-<part>",
}


def row_of(path: str) -> Name:
    """The one row that a path below the state directory belongs to."""
    found = []
    for name in TABLE:
        pattern = re.sub(r"<\w+>", "[^/]+", re.escape(name.pattern))
        if re.fullmatch(pattern + (".*" if name.pattern.endswith("/") else ""), path):
            found.append(name)
    assert 1 == len(found), (path, found)
    return found[0]


def rows(directory: str) -> set[str]:
    """The rows for which there is a file."""
    directories = [path for path in Path(directory).iterdir() if path.name == "tmp"]
    found = {row_of(path).pattern for path in contents(directory)}
    return found | {"tmp/" for _ in directories}


def delete_all_that_may_be(directory: str) -> set[str]:
    """Delete every file that may be deleted; gives their rows."""
    gone = {
        pattern for pattern in rows(directory) if next(n for n in TABLE if n.pattern == pattern).deletable
    }
    gc.collect()  # directories of scratch files that nobody uses any more go now, and not under our hands
    for path in sorted(Path(directory).rglob("*")):
        relative = path.relative_to(directory).as_posix()
        if path.is_dir():
            if relative == "tmp":
                shutil.rmtree(path)
        elif path.exists() and row_of(relative).deletable:
            path.unlink()
    assert not gone & rows(directory)
    return gone


def die_with_an_event(root: Path, text: str) -> None:
    """A process that pushes an event, begins to fetch and is killed."""
    done = subprocess.run([sys.executable, "-c", KILLED, str(root), text], check=False, timeout=120)
    assert -signal.SIGKILL == done.returncode


def ask(bundle: Memory) -> None:
    """What a recall before a turn asks."""
    assert context(bundle, "which database do we use for JSON?", session="tomorrow")
    bundle.index.close()


class Plain:
    """A bundle on the command line, with everything that leaves something in its state directory."""

    def __init__(self, cli: Cli, tmp_path: Path) -> None:
        self.cli = cli
        self._hub = tmp_path / "hub.git"
        self._other = tmp_path / "other"
        subprocess.run(["git", "init", "-q", "--bare", "-b", "main", str(self._hub)], check=True)
        cli.now = datetime.now(UTC)  # as the clock of the processes that `record` starts
        self.root = cli.init()
        self.state = str(self.root / ".git" / "gitmem")

    def opened(self) -> Memory:
        return open_bundle(self.cli.world(), str(self.root))

    def record(self, *arguments: str) -> str:
        """What `gitmem record` says beside its answer: a process of its own, whose journal ends with it."""
        done = real("record", *arguments, cwd=self.root)
        assert 0 == done.returncode, done.stderr
        return done.stderr

    def _skill(self) -> str:
        path = self.root.parent / "SKILL.md"
        path.write_text("---\nname: deploy\ndescription: How to deploy\n---\n\nRun `make`.\n")
        return str(path)

    def story(self) -> set[str]:
        """Everything that people do; gives the rows that were seen."""
        cli = self.cli
        (Path(self.state) / "config").write_text("undo_tools: false\n")
        cli.write("config/scanner.md", RULES)
        cli("commit")
        cli.run("scan", "--accept-rules")
        [held] = cli.run("remember", RELEASED, "--json").json["held"]
        seen = rows(self.state)
        release(self.opened_as_it_is(), held, by="ada")
        cli("session", "start", "work-1")
        self.record("decision", "use Postgres", "--rationale", "the database must query JSON")
        cli("remember", "The staging host is stage1")
        cli("snapshot", "good")
        assert "Postgres" in cli("search", "postgres").out
        cli("skill", "create", "deploy", "--file", self._skill())
        cli("skill", "list")
        cli("connect", str(self.root.parent / "agent"))
        cli("session", "end")
        cli("gc")
        cli("check")
        self._sync()
        client = Connection(cli.world(), str(self.root), "codex", "1")
        client.call("search", {"query": "postgres"})
        client.close()
        cli("session", "start", "work-2")
        bundle = self.opened()
        ask(bundle)
        bundle.index.current()
        seen |= rows(self.state)
        bundle.index.close()
        return seen | self._crashes()

    def _sync(self) -> None:
        """What another machine committed comes, and then both sides agree."""
        self.cli("remote", "add", "origin", str(self._hub), "--shared", "--yes")
        self.cli("sync")
        self.cli("clone", str(self._hub), str(self._other))
        self.cli.run("-C", str(self._other), "remember", "from the other machine")
        self.cli("-C", str(self._other), "sync")
        assert "1 commit came" in self.cli("sync").out
        self.cli("sync")

    def _crashes(self) -> set[str]:
        """A journal that is damaged, one that waits, and fetches that were cut off."""
        die_with_an_event(self.root, "what is damaged")
        [journal] = (Path(self.state) / "journal").glob("*.jsonl")
        journal.write_bytes(journal.read_bytes().replace(b"damaged", b"Damaged"))
        assert "is damaged" in self.record("observation", "after the crash")
        die_with_an_event(self.root, "said in the night")
        return rows(self.state)

    def opened_as_it_is(self) -> Memory:
        return open_bundle(self.cli.world(), str(self.root), "as is")


@pytest.fixture
def plain(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Plain:
    """A bundle without a host."""
    place = tmp_path / "plain"
    place.mkdir()
    return Plain(Cli(place, capsys), place)


def host_story(home: HermesHome, begin: Begin) -> set[str]:
    """A session of Hermes with a turn, a write of its memory tool and a skill; gives the rows that were seen."""
    provider = begin("s1")
    turn(provider, [], "hello", "hi")
    home.write("Deploys happen on Tuesdays", "The user likes tea")
    provider.on_memory_write("add", "memory", "The user likes tea", {"session_id": "s1"})
    home.write("Ada likes short answers", name="USER.md")
    skill = home.path / "skills/ops/SKILL.md"
    skill.parent.mkdir(parents=True)
    skill.write_text("---\nname: ops\ndescription: how to deploy\n---\n\nRun make.\n")
    provider.settle()
    provider.compare()
    assert {"Deploys happen on Tuesdays", "The user likes tea"} == set(home.curated())
    seen = rows(home.bundle().state.directory)
    provider.shutdown()
    return seen | rows(home.bundle().state.directory)


def test_every_file_has_its_row(plain: Plain, home: HermesHome, begin: Begin) -> None:
    """After all that people and a host do, and after crashes; and every row is of some use."""
    seen = plain.story() | host_story(home, begin)
    assert {name.pattern for name in TABLE} - PASSING == seen


def test_a_bundle_works_on_without_what_may_be_deleted(plain: Plain) -> None:
    """Facts, releases, accepted rules and events that wait are there; the rest is rebuilt."""
    cli = plain.cli
    plain.story()
    facts = cli("facts", "--json").json
    tip = plain.opened_as_it_is().tip
    gone = delete_all_that_may_be(plain.state)
    assert {"index.db", "sync/<remote>.json", "session", "tmp/", "journal/<id>.lock"} <= gone
    assert facts == cli("facts", "--json").json
    assert tip == plain.opened_as_it_is().tip
    assert "Recovered 1 event" in plain.record("observation", "the morning after")
    assert "said in the night" in cli("search", "night").out
    assert "Postgres" in cli("search", "postgres").out
    assert RELEASED in cli("facts", "--block").out
    held = cli.run("remember", "bluebird soon launches", "--json").json
    assert held["held"]
    plain.opened_as_it_is().ledger.remove_held(held["held"][0])
    assert [] == cli("review", "--json").json["waiting"]
    cli("session", "start", "work-3")
    plain.record("observation", "it still works")
    cli("session", "end")
    cli("snapshot", "later")
    cli("skill", "list")
    cli("connect", str(plain.root.parent / "agent"))
    ask(plain.opened())
    cli("gc")
    cli("sync")
    cli("sync")
    assert "Whole." in cli("check").out
    assert 0 == cli.run("check").code
    assert "" == cli.git("status", "--porcelain")
    passing = {"session", "index.db-<part>", "last-seen", *PASSING}
    assert not {row for row in gone - rows(plain.state) - passing if not row.startswith("journal/")}


def test_a_host_works_on_without_what_may_be_deleted(home: HermesHome, begin: Begin) -> None:
    """Entries, skills and the host's files are as they were, and a change still goes both ways."""
    host_story(home, begin)
    state = home.bundle().state.directory
    facts, profile, tip = home.curated(), home.curated("user"), home.bundle().tip
    gone = delete_all_that_may_be(state)
    assert {"host/link", "connections/<name>.base", "last-seen"} <= gone
    provider = begin("s2")
    assert (facts, profile, tip) == (home.curated(), home.curated("user"), home.bundle().tip)
    assert sorted(facts) == sorted(home.entries())
    home.write("Deploys happen on Tuesdays")
    provider.compare()
    assert ["Deploys happen on Tuesdays"] == home.curated()
    home.bundle().curated.add("The bundle says so", origin=home.bundle().origin())
    turn(provider, [], "again", "yes")
    provider.settle()
    provider.compare()
    assert ["Deploys happen on Tuesdays", "The bundle says so"] == home.entries()
    provider.shutdown()
    assert {row for row in gone if row.startswith("host/")} <= rows(state)
    uninstall(home.home, home.world)
    assert "gitmem" not in (home.path / "config.yaml").read_text()
