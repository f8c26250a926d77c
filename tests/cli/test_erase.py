"""`gitmem erase` on the command line."""

from __future__ import annotations

import io

import pytest

from tests.cli.conftest import Cli
from tests.memory.erase.support import SECRET, files_with, objects_with


def test_erase_says_what_it_would_do_and_does_it(mem: Cli) -> None:
    """A dry run lists; without a terminal it wants --yes; the end says what it cannot reach."""
    root = mem.root
    mem("remember", f"The code is {SECRET}.")
    mem("remember", "The user likes tabs.")
    looked = mem("erase", "--text", SECRET, "--dry-run").out
    assert "memories/MEMORY.md" in looked
    assert looked.startswith("It would be gone for good: 2 commits rewritten, with no way back.\n")
    assert f"Written as: {SECRET} (2)\n" in looked
    assert "--yes" in mem.fails("erase", "--text", SECRET, code=2)

    done = mem("erase", "--text", SECRET, "--yes", "--reason", "asked for").out
    assert "2 commits rewritten" in done
    assert "cannot reach" in done
    assert objects_with(root, SECRET) == []
    assert files_with(root, SECRET) == []
    mem("check")


def test_erase_takes_the_text_from_standard_input(mem: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    """So that it is in no shell history."""
    root = mem.root
    mem("remember", f"The code is {SECRET}.")
    monkeypatch.setattr("sys.stdin", io.StringIO(f"{SECRET}\n"))
    done = mem("erase", "--text", "-", "--yes", "--json").json

    assert (done["what"], done["rewritten"], len(done["receipts"])) == ("text", 1, 1)
    assert objects_with(root, SECRET) == []


def test_erase_refuses_what_makes_no_sense(mem: Cli) -> None:
    """Nothing, two things, a text that is nowhere, a reason with the text in it."""
    mem("remember", f"The code is {SECRET}.")
    assert "one of" in mem.fails("erase", code=2)
    assert "one of" in mem.fails("erase", "--text", "a b c d", "--path", "x", code=2)
    assert "nothing was changed" in mem.fails("erase", "--text", "never said", "--yes")
    assert "leave it out" in mem.fails("erase", "--text", SECRET, "--reason", f"was {SECRET}", code=2)


def test_erase_takes_hand_edits_along(mem: Cli) -> None:
    """What a person wrote and nobody committed is part of what is looked at."""
    root = mem.root
    mem.write("notes/anna.md", f"---\ntype: Note\n---\nIt is {SECRET}.\n")
    mem("erase", "--text", SECRET, "--yes")

    assert "It is (erased)." in (root / "notes" / "anna.md").read_text()
    assert objects_with(root, SECRET) == []


def test_only_a_person_accepts_an_erase_or_takes_one_back(mem: Cli) -> None:
    """An agent does neither; a script that a person wrote says --yes."""
    for words in (("--accept-erasure",), ("--forget-erasure", "0" * 12)):
        assert "Only a person" in mem.fails("sync", *words, code=2)
    mem.env["CLAUDECODE"] = "1"
    assert "Only a person" in mem.fails("sync", "--accept-erasure", "--yes", code=2)


def test_an_agent_erases_nothing(mem: Cli) -> None:
    """Not with `--yes` either; to look is for everybody."""
    mem("remember", "The old phone number is 555-0199")
    mem.env["CODEX_SANDBOX"] = "seatbelt"
    before = mem.git("rev-parse", "HEAD")
    mem("erase", "--text", "555-0199", "--dry-run")
    told = mem.fails("erase", "--text", "555-0199", "--yes", code=2)
    assert "Only a person at a terminal erases something for good" in told
    assert before == mem.git("rev-parse", "HEAD")
