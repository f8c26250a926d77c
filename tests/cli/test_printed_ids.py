"""Every id that is printed is accepted where something can be named: commits, sessions, entries, snapshots, events."""

from __future__ import annotations

import pytest

from tests.cli.conftest import Cli
from tests.cli.json_runs import HELD

KINDS = ("commit", "session", "entry", "snapshot", "event", "pending")
COMMANDS = (
    ["show"],
    ["diff"],
    ["blame"],
    ["why"],
    ["restore", "--dry-run"],
    ["revert", "--dry-run"],
    ["erase", "--dry-run"],
    ["review"],
)
NOT = {
    ("commit", "erase"),
    ("snapshot", "erase"),
    ("snapshot", "revert"),
}
"""Nothing to erase or to take back."""


def _ids(mem: Cli) -> dict[str, str]:
    """One id of each kind, as it is printed."""
    mem("session", "start", "work-1", "--title", "Move the server")
    mem("remember", "The staging server runs Debian 12")
    mem("record", "observation", "The build needs Node 20")
    mem("session", "end")
    mem("snapshot", "good")
    mem("remember", "Deploys happen on Tuesdays")
    mem("remember", HELD, code=3)
    (hit,) = mem("search", "Node 20", "--json").json["hits"]
    return {
        "commit": mem("log", "--commits", "--json").json["commits"][0]["commit"][:8],
        "session": "work-1",
        "entry": mem("facts", "--json").json["memory"]["entries"][0]["id"][:8],
        "snapshot": "good",
        "event": hit["id"][:8],
        "pending": mem("review", "--list", "--json").json["waiting"][0]["id"][:8],
    }


@pytest.mark.parametrize("command", COMMANDS, ids=lambda words: words[0])
def test_a_printed_id_is_accepted(mem: Cli, command: list[str]) -> None:
    """By each command, in the short form in which it was shown."""
    for kind, name in _ids(mem).items():
        if (kind, command[0]) not in NOT:
            done = mem.run(*command, name)
            waits = kind == "pending" and command[0] in ("revert", "restore")  # it is not in the memory
            assert done.code == (3 if waits else 0), (kind, done)
            assert done.out or waits


def test_the_id_of_an_entry_takes_back_that_entry_alone(mem: Cli) -> None:
    """Also where its commit brought others: the undo that returned all of them, an import."""
    mem("remember", "Backups run at noon")
    mem("remember", "The staging server runs Debian 12")
    (mem.root / "memories" / "MEMORY.md").unlink()
    mem("commit")
    mem("undo", "--yes")
    first, second = mem("facts", "--json").json["memory"]["entries"]
    mem("revert", first["id"][:8])
    assert [second["text"]] == [one["text"] for one in mem("facts", "--json").json["memory"]["entries"]]
    mem("undo", "--yes")
    assert {first["text"], second["text"]} == {
        one["text"] for one in mem("facts", "--json").json["memory"]["entries"]
    }


def test_an_id_means_what_it_names(mem: Cli) -> None:
    """A session its own changes, an entry the commit that wrote it."""
    ids = _ids(mem)
    assert "Debian 12" in mem("diff", ids["session"]).out
    assert "Tuesdays" not in mem("diff", ids["session"]).out
    assert "- The staging server runs Debian 12" in mem("revert", ids["entry"], "--dry-run").out
    assert "- The staging server runs Debian 12" in mem("revert", ids["session"], "--dry-run").out
    assert "Tuesdays" not in mem("blame", ids["entry"]).out
    assert "Node 20" in mem("show", ids["event"]).out
    assert "Tuesdays" in mem("restore", ids["entry"], "--dry-run").out
