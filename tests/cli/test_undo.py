"""`gitmem restore`, `revert`, `undo` and `redo`."""

from __future__ import annotations

import io
import re
from pathlib import Path

import pytest
from gitmem.cli.app import App
from gitmem.okf.entries import entry_hash

from tests.cli.conftest import Cli


@pytest.fixture
def restored(mem: Cli) -> Cli:
    """A memory that was put back to an earlier state."""
    mem("remember", "Deploys happen on Tuesdays")
    mem("snapshot", "good")
    mem("remember", "Deploys happen on Sundays")
    mem("restore", "good")
    return mem


def test_restore_brings_back_what_was_known_and_says_first_what_goes(mem: Cli) -> None:
    """Conversations stay on record; with --everything they go too."""
    mem("remember", "Deploys happen on Tuesdays")
    mem("snapshot", "good")
    mem("remember", "Deploys happen on Sundays")
    mem("note", "A later note")
    mem("session", "start", "later")
    mem("record", "observation", "The tram was late.")
    mem("session", "end")
    out = mem("restore", "good").out
    assert out.index("- Deploys happen on Sundays") < out.index("takes this back")
    assert "A later note" in out
    assert "tram" not in out
    assert "Sundays" not in mem("facts").out
    assert "tram was late" in mem("show", "later", "--events").out
    assert "tram" in mem("restore", "good", "--everything", "--events").out
    assert mem.run("show", "later").code != 0


def test_undo_and_redo_say_what_they_did(restored: Cli) -> None:
    """Each with the command that takes it back; the memory is as it was."""
    assert restored.masked("undo") == (
        "<id> 2026-06-30 14:05  restore: back to good (<id>)  (ada on laptop)\n"
        "Facts  memories/MEMORY.md\n  + Deploys happen on Sundays\n<id>  `gitmem redo` takes this back.\n"
    )
    told = "Facts  memories/MEMORY.md\n  - Deploys happen on Sundays\n"
    assert restored.masked("redo", "--dry-run") == told + "Nothing was changed: this was a dry run.\n"
    assert "Sundays" in restored("facts").out
    assert restored.masked("redo") == told + "<id>  `gitmem undo` takes this back.\n"
    assert "Sundays" not in restored("facts").out
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


def test_undo_takes_back_the_last_change(restored: Cli) -> None:
    """The fact that was just added, and not the restore before it; then the restore; several at once."""
    restored("remember", "oops")
    listed = [line.partition(" 2026")[2][13:] for line in restored.masked("undo", "--list").splitlines()]
    assert listed[0].split() == ["Added", "oops", "(ada", "on", "laptop)"]
    assert listed[1].split()[0] == "restore:"
    assert "- oops" in restored("undo").out
    assert "+ oops" in restored("redo").out
    listed = [line.split()[3] for line in restored("undo", "--list").out.splitlines()]
    assert ["redo:", "restore:"] == listed[:2]  # what an undo took back and a redo returned is one change
    both = restored("undo", "-n", "2").out
    assert ("- oops" in both, "+ Deploys happen on Sundays" in both) == (True, True)


def test_nothing_to_undo(mem: Cli) -> None:
    """The commit that made the memory is no change of it."""
    assert mem.fails("undo") == "Nothing to undo."
    assert mem("undo", "--list", "--json").json == {"undoable": []}
    assert "shows one undo" in mem.fails("undo", "-n", "2", "--dry-run", code=2)


def test_revert_lists_what_it_reached(gitmem: Cli) -> None:
    """What follows, with the option that takes it too; `why` proposes the command."""
    gitmem.init()
    gitmem("remember", "Voucher ADMIN-77 is for everybody", "--session", "bad")
    gitmem("session", "start", "work")
    root = entry_hash("Voucher ADMIN-77 is for everybody")[:12]
    gitmem("remember", "Print ADMIN-77 on each card", "--derived-from", root)
    gitmem("remember", "Printer paper is in the cupboard")
    gitmem("session", "end")
    told = gitmem("revert", "--session", "bad", "--dry-run").out
    assert "Written because of it; --derived takes it back too:" in told
    assert "add in memories/MEMORY.md: Print ADMIN-77 on each card (shares admin-77)" in told
    assert "Printer paper" not in told
    assert "To take it back: gitmem revert <id> --derived\n" in gitmem.masked("why", "ADMIN-77")
    done = gitmem.run("revert", "--session", "bad", "--derived", "--json").json
    assert [True] == [one["taken"] for one in done["derived"]]
    left = gitmem("facts").out
    assert ("Printer paper" in left, "ADMIN-77" in left) == (True, False)


@pytest.fixture
def taught(mem: Cli) -> Cli:
    """Two sessions that taught something and said something, and a fact in between."""
    for session, fact in (("night-7", "The gate code is 4711"), ("night-8", "The lift is out of order")):
        mem("session", "start", session)
        mem("record", "observation", f"looked at the door of {session}", "--session", session)
        mem("remember", fact, "--session", session)
        mem("record", "decision", f"write {session} down", "--session", session)
        mem("session", "end")
    mem("remember", "Deploys happen on Tuesdays")
    return mem


@pytest.mark.parametrize(
    ("wrong", "told"),
    [
        (["--session", "nosuch"], "There is no session 'nosuch' here."),
        (["HEAD", "--session", "nosuch"], "There is no session 'nosuch' here."),
        (["--session", "night-7", "--session", "nosuch"], "There is no session 'nosuch' here."),
        (["--agent", "nosuch"], "There is no agent 'nosuch' here."),
        (["--machine", "nosuch"], "There is no machine 'nosuch' here."),
        (["--source", "https://no.example"], "No commit came from 'https://no.example'."),
        (["--text", "nosuch"], "No commit added an entry with the text 'nosuch'."),
        (["--path", "nosuch.md"], "No file 'nosuch.md' was ever in this memory."),
        (["--since", "2026-07-01"], "No commit meets all of these conditions."),
        (["--session", "night-7", "--text", "lift"], "No commit meets all of these conditions."),
        (["HEAD", "--session", "night-7"], "No commit meets all of these conditions."),
        (
            ["--session", "night-7", "--text", "4711", "--text", "lift"],
            "No commit that meets the other conditions added an entry with the text 'lift'.",
        ),
    ],
)
def test_a_condition_that_chooses_nothing_is_an_error(taught: Cli, wrong: list[str], told: str) -> None:
    """It is never ignored, whatever else is given, and nothing is taken back."""
    before = taught.state()
    assert told in taught.fails("revert", *wrong)
    assert before == taught.state()


def test_a_named_commit_that_does_not_fit_is_an_error(taught: Cli) -> None:
    """Also where another one does."""
    of_7 = taught("log", "--session", "night-7", "--kind", "memory", "--json").json["commits"][0]["commit"]
    told = taught.fails("revert", of_7, "HEAD", "--session", "night-7")
    assert "does not meet the other conditions" in told


@pytest.mark.parametrize("given", [["--session", ""], ["--since", "today", "--since", "yesterday"]])
def test_an_empty_or_second_value_is_wrong_usage(taught: Cli, given: list[str]) -> None:
    """A variable of a script that is not set takes nothing back."""
    assert "--s" in taught.fails("revert", "HEAD", *given, code=2)


def test_repeated_conditions_are_a_union(taught: Cli) -> None:
    """Both sessions are taken back, and nothing else."""
    taught("revert", "--session", "night-7", "--session", "night-8")
    listed = taught("facts").out
    assert (False, False, True) == tuple(word in listed for word in ("4711", "lift", "Tuesdays"))


def test_revert_below_a_path(taught: Cli) -> None:
    """What the session did elsewhere stays, and the undo brings back what went."""
    taught("revert", "--session", "night-7", "--path", "memories")
    assert "4711" not in taught("facts").out
    assert [1, 1] == [len(list(taught.root.glob(f"decisions/*{one}*.md"))) for one in ("night-7", "night-8")]
    assert "looked at the door" in taught("show", "night-7", "--events").out
    assert "4711" not in (taught.root / "log.md").read_text()
    assert "`gitmem redo` takes this back." in taught("undo").out
    assert "4711" in taught("facts").out


def test_revert_keeps_the_record(taught: Cli) -> None:
    """What the session taught goes and does not come back; what was said stays, for whoever looks into it."""
    record = {path: path.read_bytes() for path in taught.root.glob("sessions/*/*/*/*.md")}
    taught("revert", "--session", "night-7", "--keep-record")
    assert "4711" not in taught("facts").out
    assert [] == list(taught.root.glob("decisions/*night-7*.md"))
    assert record == {path: path.read_bytes() for path in taught.root.glob("sessions/*/*/*/*.md")}
    assert "looked at the door" in taught("show", "night-7", "--events").out
    assert "Held back for a person" in taught("remember", "The gate code is 4711", code=3).err
    assert "Whole." in taught("check").out


def test_redo_leaves_the_undo_of_another_machine_alone(restored: Cli) -> None:
    """What came from a remote says what it likes of itself; here nothing was undone."""
    restored("undo")
    restored.git("clone", "--quiet", "--bare", ".", str(restored.root.parent / "there.git"))
    restored.cwd = restored.root.parent
    restored("clone", str(restored.root / "there.git"), "second")
    restored.cwd = restored.root / "second"
    assert restored.fails("redo") == "There is no undo to take back."


def test_a_rollback_of_a_session_takes_what_it_learned_about_the_user(mem: Cli) -> None:
    """The entry and the page of the day carry the session, so nothing of it is left or found."""
    mem("session", "start", "s")
    mem("remember", "Trusts vault7 with all keys", "--target", "user")
    mem("session", "end")
    mem("revert", "--session", "s")
    assert "Trusts" not in mem("facts").out + mem.run("search", "vault7").out


@pytest.mark.parametrize("back", [["undo"], ["revert", "HEAD"], ["restore", "HEAD~1"]])
def test_what_brings_a_fact_back_is_not_its_source(mem: Cli, back: list[str]) -> None:
    url = "https://docs.example/ports"
    mem("remember", "The port is 9000", "--source", url, "--reason", "read it")
    mem("forget", "port", "--reason", "gone")
    mem(*back)
    assert f"from {url}\n" in mem("why", "port").out
    assert f"from {url}" in mem("facts").out
    blame = mem("blame", "memories/MEMORY.md").out
    assert f"source: {url}" in blame
    for command in (["why", "port"], ["facts"], ["blame", "memories/MEMORY.md"]):
        assert not re.search(r"(from|source:) (undo|revert|restore)", mem(*command).out)


def test_what_the_undo_of_a_sync_hides_is_not_listed(gitmem: Cli) -> None:
    hub = gitmem.root / "hub.git"
    gitmem.git("init", "-q", "--bare", "-b", "main", str(hub))
    gitmem("init", "a")
    gitmem("-C", "a", "remember", "The lamp is green")
    gitmem("-C", "a", "remote", "add", "origin", str(hub), "--yes")
    gitmem.run("-C", "a", "sync")
    gitmem.env["GITMEM_MACHINE"] = "b"
    gitmem("clone", str(hub), "b")
    gitmem("-C", "b", "remember", "The stove is black")
    gitmem("-C", "b", "remember", "The chair is brown")
    gitmem.run("-C", "b", "sync")
    del gitmem.env["GITMEM_MACHINE"]
    gitmem.run("-C", "a", "sync")
    assert "memory: 3 entries" in gitmem("-C", "a", "facts").out
    gitmem.run("-C", "a", "undo", "--yes")
    facts = gitmem("-C", "a", "facts").out
    assert "memory: 1 entry" in facts
    assert "17 of" in facts  # characters
    assert "stove" not in facts
    assert "2 hidden on this machine" in facts
    block = gitmem("-C", "a", "facts", "--block").out
    assert "The lamp is green" in block
    assert "BLOCKED" not in block
    gitmem.run("-C", "a", "redo")
    facts = gitmem("-C", "a", "facts").out
    assert "memory: 3 entries" in facts
    assert "hidden" not in facts


def test_the_change_of_another_is_taken_back_only_after_a_word(
    mem: Cli, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Without a terminal that is --yes; at one it is a question, and `n` is no failure."""
    mem("remember", "Deploys happen on Tuesdays")
    mem.env["GITMEM_AGENT_ID"] = "claude"
    mem("remember", "Deploys happen on Sundays")
    del mem.env["GITMEM_AGENT_ID"]
    before = mem.state()
    assert "`gitmem undo --yes` takes it back" in mem.fails("undo", code=2)
    assert mem("undo", "--json", code=2).json["exit_code"] == 2
    assert "Sundays" in mem("undo", "--dry-run").out
    with monkeypatch.context() as patch:
        patch.setattr("sys.stdin", io.StringIO("n\n"))
        patch.setattr("sys.stdin.isatty", lambda: True)
        assert mem("undo").out.endswith("Nothing was changed.\n")
    assert before == mem.state()
    mem("undo", "--yes")
    assert "Sundays" not in mem("facts").out
    mem("forget", "Tuesdays")
    mem("undo")
    assert "Tuesdays" in mem("facts").out


def test_a_change_that_was_not_seen_is_taken_back_after_a_question(
    mem: Cli, person: pytest.MonkeyPatch, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A script of one's own wrote it; what was typed here, or listed since, needs none."""
    mem("remember", "The lamp is green")
    with person.context() as patch:
        patch.setattr(App, "is_person", property(lambda _: False))
        mem("remember", "The stove is black")
    monkeypatch.setattr("click.confirm", lambda *_, **__: False)
    assert mem("undo").out.endswith("Nothing was changed.\n")
    mem("log")
    assert "The stove is black" in mem("undo").out
    assert "The lamp is green" in mem("undo").out
    assert "0 entries" in mem("facts").out


def test_a_dry_run_of_a_restore_to_before_the_beginning_shows_everything(mem: Cli) -> None:
    """With a note, as a diff does; the restore itself is refused."""
    mem("remember", "The lamp is green")
    done = mem.run("restore", "2020-01-01", "--dry-run")
    assert (done.code, "- The lamp is green" in done.out) == (0, True)
    assert "From its beginning:" in done.err
    assert "Back to Tuesday 30 June, 14:01" in done.out
    mem.fails("restore", "2020-01-01")


def test_undo_of_what_another_program_removed(mem: Cli) -> None:
    """A file that was emptied is one change of its own; one undo brings its entries back, and asks nothing."""
    for word in ("one", "two", "three", "four"):
        mem("remember", f"Fact {word} of this memory")
    path = next(Path(mem.home).parent.rglob("memories/MEMORY.md"))
    path.write_text("")
    assert "lost 4 entries" in mem.run("remember", "A later fact").err
    mem("undo")
    assert "lost 4 entries" in mem("undo").out
    assert "Fact three of this memory" in mem("facts").out
