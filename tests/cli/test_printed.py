"""`str` of a result is what the command line prints of it."""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Callable
from pathlib import Path

import gitmem
import gitmem.memory
import pytest
from gitmem import Memory
from gitmem.cli.render import _MODULES
from gitmem.memory.facts import list_facts
from gitmem.memory.printed_ids import meant, shown_file
from gitmem.memory.status import status_of
from gitmem.okf.plain import Printed

from tests.cli.conftest import Cli

ASKED: dict[str, tuple[tuple[str, ...], Callable[[Memory], object]]] = {
    "diff": (("diff", "--session", "monday"), lambda memory: memory.diff(session="monday")),
    "show": (("show", "HEAD"), lambda memory: memory.show()),
    "search": (("search", "postgres"), lambda memory: memory.search("postgres")),
    "recall": (("recall", "which", "database"), lambda memory: memory.recall("which database")),
    "why": (("why", "Thursdays"), lambda memory: memory.trace("Thursdays")),
    "revert": (
        ("revert", "--session", "monday", "--dry-run"),
        lambda memory: memory.revert(session="monday", dry_run=True),
    ),
    "undo": (("undo", "--list", "-n", "1"), lambda memory: memory.undoable(1)[0]),
    "undo of the last change": (("undo", "--dry-run"), lambda memory: memory.undo(dry_run=True)),
    "recall of nothing": (("recall", "zzz"), lambda memory: memory.recall("zzz")),
    "restore": (("restore", "good", "--dry-run"), lambda memory: memory.restore("good", dry_run=True)),
    "erase": (
        ("erase", "--text", "Thursdays", "--dry-run"),
        lambda memory: memory.erase(text="Thursdays", dry_run=True),
    ),
    "snapshot": (("snapshot", "--list"), lambda memory: memory.snapshots.get("good")),
    "log": (("log", "--commits", "-n", "1"), lambda memory: next(iter(memory.log(limit=1)))),
    "blame": (("blame",), lambda memory: memory.blame("memories/MEMORY.md")[0]),
    "search of nothing": (("search", "zzz"), lambda memory: memory.search("zzz")),
    "sessions": (("recall",), lambda memory: memory.recent_sessions()[0]),
    "plan": (("plan", "step", "move", "1"), lambda memory: memory.plans.get("move")),
    "skill": (("skill", "show", "deploy"), lambda memory: memory.skills.view("deploy")),
    "facts": (("facts",), list_facts),
    "status": (("status",), status_of),
    "session": (("show", "monday"), lambda memory: meant(memory, "monday")),
    "file": (("show", "memories/MEMORY.md"), lambda memory: shown_file(memory, "memories/MEMORY.md", "HEAD")),
}
NO_ANSWERS = {"Remote", "Steps"}
"""Results that only the command line has."""


@pytest.fixture
def monday(mem: Cli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Cli:
    monkeypatch.setenv("TZ", "UTC")
    mem("session", "start", "monday", "--title", "About the shop")
    mem("record", "decision", "Use Postgres as the database", "--rationale", "We query JSON")
    mem("session", "end")
    mem("snapshot", "good")
    mem("plan", "create", "move", "Order the boxes")
    skill = tmp_path / "SKILL.md"
    skill.write_text("---\nname: deploy\ndescription: Deploy the shop.\n---\nRun make deploy.\n")
    mem("skill", "create", "deploy", "--file", str(skill))
    mem("remember", "Deploys happen on Thursdays")
    return mem


@pytest.mark.parametrize("name", ASKED)
def test_a_result_prints_itself(monday: Cli, name: str) -> None:
    """As into a pipe: exact dates, no colours."""
    args, ask = ASKED[name]
    printed = monday.run(*args).out
    with gitmem.open(monday.root, clock=lambda: monday.now) as memory:
        lines = str(ask(memory)).splitlines()
    assert lines
    shown = printed.splitlines()
    assert [line for line in lines if line not in shown] == []


def test_every_result_with_a_renderer_prints_itself() -> None:
    """Each type that the command line renders is one whose `str` that is."""
    for module in pkgutil.walk_packages(gitmem.memory.__path__, "gitmem.memory."):
        importlib.import_module(module.name)
    printed = {one.__name__ for one in Printed.__subclasses__()}
    assert {name for names in _MODULES.values() for name in names.split()} == printed | NO_ANSWERS


def test_an_answer_prints_itself(monday: Cli) -> None:
    """The same two lines as of `gitmem remember`."""
    with gitmem.open(monday.root, clock=lambda: monday.now) as memory:
        told = str(memory.remember("The staging host is stage1"))
    assert told.splitlines()[0].endswith(": The staging host is stage1")
    assert told.splitlines()[1].startswith("memory: 2 entries, ")


def test_an_undo_names_what_it_took_back_and_the_way_back(monday: Cli) -> None:
    """As on the command line; a restore says where it goes back to, and a list is readable."""
    with gitmem.open(monday.root, clock=lambda: monday.now) as memory:
        assert "what='" in repr(memory.undoable(1))
        assert str(memory.restore("good", dry_run=True)).startswith("Back to Tuesday 30 June, ")
        told = str(memory.undo())
    assert "Deploys happen on Thursdays" in told.splitlines()[0]
    assert told.endswith("`gitmem redo` takes this back.")
