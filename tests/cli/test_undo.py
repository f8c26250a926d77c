"""`gitmem restore`, `revert`, `undo` and `redo`."""

from __future__ import annotations

import pytest

from tests.cli.conftest import Cli


@pytest.fixture
def restored(mem: Cli) -> Cli:
    """A memory that was put back to an earlier state."""
    mem("memory", "add", "Deploys happen on Tuesdays")
    mem("snapshot", "good")
    mem("memory", "add", "Deploys happen on Sundays")
    mem("restore", "good")
    return mem


def test_undo_and_redo_say_what_they_did(restored: Cli) -> None:
    """Each with the command that takes it back; the memory is as it was."""
    assert restored.masked("undo") == (
        "Facts  memories/MEMORY.md\n  + Deploys happen on Sundays\n<id>  `gitmem redo` takes this back.\n"
    )
    told = "Facts  memories/MEMORY.md\n  - Deploys happen on Sundays\n"
    assert restored.masked("redo", "--dry-run") == told + "Nothing was changed: this was a dry run.\n"
    assert "Sundays" in restored("memory", "list").out
    assert restored.masked("redo") == told + "<id>  `gitmem undo` takes this back.\n"
    assert "Sundays" not in restored("memory", "list").out
    subjects = [row["subject"] for row in restored("log", "-n", "3", "--json").json["commits"]]
    assert [subject.partition(" (")[0] for subject in subjects] == [
        "revert: redo restore: to good",
        "revert: undo restore: to good",
        "restore: to good",
    ]
    assert "Sundays" in restored("undo", "--dry-run").out


def test_redo_as_json(restored: Cli) -> None:
    """The shape of a revert."""
    undone = restored("undo", "--json").json
    done = restored("redo", "--json").json
    assert (done["reverted"], done["dry_run"], done["kept"], done["derived"]) == (
        [undone["commit"]],
        False,
        [],
        [],
    )
    assert [(row["op"], row["old"]["text"]) for row in done["changes"]] == [
        ("remove", "Deploys happen on Sundays")
    ]


def test_nothing_to_redo(restored: Cli) -> None:
    """Before any undo, and after a new decision."""
    assert restored.fails("redo") == "There is no undo to take back."
    restored("undo")
    restored("revert", "--text", "Sundays")
    assert restored.fails("redo") == "There is no undo to take back."


def test_memory_undo_is_redone_too(mem: Cli) -> None:
    """What `memory undo` took out of the store comes again."""
    mem("memory", "add", "Deploys happen on Tuesdays")
    assert mem.masked("memory", "undo").endswith("`gitmem redo` takes this back.\n")
    assert "+ Deploys happen on Tuesdays" in mem("redo").out


def test_revert_lists_what_it_reached(gitmem: Cli) -> None:
    """In three groups, each with the option that takes it too; the trace proposes the command."""
    gitmem.init()
    gitmem("memory", "add", "Voucher ADMIN-77 is for everybody", "--session", "bad")
    gitmem("session", "start", "work")
    gitmem("memory", "add", "Print ADMIN-77 on each card")
    gitmem("memory", "add", "Printer paper is in the cupboard")
    gitmem("session", "end")
    told = gitmem("revert", "--session", "bad", "--dry-run").out
    assert (
        "Derived from it: it quotes it, or shares its names and numbers; --derived takes it back too:" in told
    )
    assert "derived: add in memories/MEMORY.md: Print ADMIN-77 on each card (shares admin-77)" in told
    assert "same turn: add in memories/MEMORY.md: Printer paper is in the cupboard" in told
    assert "To take it back: gitmem revert --session bad --derived" in gitmem("trace", "ADMIN-77").out
    done = gitmem.run("revert", "--session", "bad", "--derived", "--json").json
    assert [True] == [one["taken"] for one in done["reached"]["derived"]]
    assert [False] == [one["taken"] for one in done["reached"]["turn"]]
    left = gitmem("memory", "list").out
    assert ("Printer paper" in left, "ADMIN-77" in left) == (True, False)
