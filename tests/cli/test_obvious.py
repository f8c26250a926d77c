"""The obvious command does the obvious thing: what a new user types, and what the first line of the answer says."""

from __future__ import annotations

import pytest
from gitmem.cli.app import App

from tests.cli.conftest import Cli
from tests.cli.json_runs import HELD
from tests.cli.test_review import at_a_terminal


def test_log_quotes_what_was_learned(mem: Cli) -> None:
    """An id, a title and the words; the one author of all lines is in none of them."""
    mem("remember", "Deploys happen on Mondays", "--session", "monday-1")
    mem("remember", "oops")
    mem("undo")
    out = mem.masked("log")
    assert "  monday-1\n         + Deploys happen on Mondays\n" in out
    assert '  <id>      undo: took back "Added oops"\n' in out
    assert "ada" not in out.replace("init: memory of ada", "")


def test_log_names_the_authors_who_are_not_the_usual_one(mem: Cli) -> None:
    """The usual one is named once."""
    for fact in ("One fact", "Another fact"):
        mem("remember", fact)
    mem.env["CLAUDECODE"] = "1"
    mem("remember", "A third fact")
    out = mem("log").out
    assert out.startswith("By ada on laptop, except where another name is given.\n")
    assert "Added A third fact  (claude on laptop)\n" in out


def test_a_date_before_the_beginning_shows_everything(mem: Cli) -> None:
    """With a note, and exit code 0."""
    mem("remember", "Deploys happen on Mondays")
    done = mem.run("diff", "2020-01-01")
    assert (done.code, "+ Deploys happen on Mondays" in done.out) == (0, True)
    assert "The history begins on 2026-06-30 14:01, after the date you gave. From its beginning:" in done.err
    whole = mem("log").out
    for words in (("log",), ("facts", "--as-of"), ("search", "deploys", "--as-of"), ("blame", "--as-of")):
        done = mem.run(*words, "2020-01-01")
        assert (done.code, "The history begins on" in done.err) == (0, True), words
        assert words != ("log",) or done.out == whole


def test_facts_takes_in_what_was_written_by_hand(mem: Cli) -> None:
    """Two bullets are two entries, and `forget` takes one of them; a file that is gone is only announced."""
    mem("remember", "Ann likes coffee")
    path = mem.root / "memories/MEMORY.md"
    path.write_text(path.read_text() + "- Bob likes tea\n- Carol likes milk\n")
    out = mem("facts").out
    assert all(name in out for name in ("Ann likes coffee", "Bob likes tea", "Carol likes milk"))
    mem("forget", "Bob")
    assert path.read_text().endswith("- Carol likes milk\n")
    assert "Bob" not in path.read_text()
    path.unlink()
    assert "Ann likes coffee" in mem("facts").out


def test_why_names_a_session_by_its_title(mem: Cli) -> None:
    """And the source of an earlier wording beside it."""
    mem("session", "start", "s-4711", "--title", "Invoices of ACME")
    mem("remember", "Invoices go to Bob", "--source", "the boss")
    mem("session", "end")
    mem("replace", "Bob", "Invoices go to Ann")
    out = mem("why", "Invoices go", "--sessions").out
    assert 'in "Invoices of ACME" (s-4711) by' in out
    assert "source: the boss" in out


@pytest.mark.parametrize("option", [[], ["--sessions"]])
def test_why_lists_what_follows_though_nobody_saw_it(mem: Cli, option: list[str]) -> None:
    mem("remember", "The gate code is 4712")
    mem("remember", "4712 opens the bike shed too", "--derived-from", "HEAD")
    lines = mem("why", "gate code", *option).out.splitlines()
    told = lines.index("No other session saw it; this follows from it:")
    assert "4712 opens the bike shed too" in lines[told + 1]


def test_what_was_said_once_is_listed_once(mem: Cli) -> None:
    """Also after a revert of its session and an undo of that; a revert of several commits is told in words."""
    mem("session", "start", "s-4711", "--title", "Invoices of ACME")
    mem("record", "turn", "--user", "Where do invoices go?", "--assistant", "To Bob.")
    mem("remember", "Coffee comes from Bob")
    mem("revert", "--session", "s-4711")
    assert 'took back 2 commits of session s-4711, the newest "Added Coffee' in mem("log").out
    mem("undo")
    assert mem.masked("why", "invoices", "--events").splitlines()[:3] == [
        "The user: Where do invoices go?",
        '  said 2026-06-30 14:03 in "Invoices of ACME" with ada',
        "",
    ]
    assert all(line == line.rstrip() for line in mem("log").out.splitlines())


def test_a_restore_says_which_moment_a_date_became(mem: Cli) -> None:
    """And first what would go."""
    mem.now = mem.now.replace(month=7, day=8)
    mem("remember", "Invoices go to billing")
    assert mem.masked("restore", "friday", "--dry-run").startswith(
        "Back to Friday 3 July, 23:59 (<id>):\nFacts  memories/MEMORY.md\n  - Invoices go to billing\n"
    )


def test_remember_names_what_was_removed_earlier(mem: Cli) -> None:
    """With the date and the reason; the fact is added all the same."""
    mem("remember", "Deploys happen on Mondays")
    mem("forget", "Mondays", "-m", "the calendar changed")
    out = mem("remember", "Deploys happen on Mondays").out
    assert (
        "It was here before: Removed Deploys happen on Mondays (ada on laptop, 2026-06-30 14:03): the calendar changed"
    ) in out
    assert "It was here before" not in mem("remember", "Invoices go to billing").out


def test_a_part_of_an_entry_shows_the_whole_of_it_first(mem: Cli, person: pytest.MonkeyPatch) -> None:
    """Before it goes, at a terminal; where two entries have it, both are named with their ids."""
    mem.run("remember", "Bob is on call, and Alice runs the shop")
    whole = "Bob is on call, and Alice runs the shop"
    assert mem.run("forget", "Bob").out.splitlines()[0].endswith(f": {whole}")
    for fact in ("Deploys happen on Mondays", "Deploys happen on Tuesdays"):
        mem.run("remember", fact)
    person.undo()
    told = mem.fails("forget", "Deploys happen")
    assert "give more of one, or its id (a6e67321 Deploys happen on Mondays; " in told
    assert "Removed" in mem("forget", "a6e67321").out


def test_a_question_about_facts_has_an_answer_also_where_none_fits(mem: Cli) -> None:
    """One sentence for each, and a fact with its writer and its share of the block."""
    mem("remember", "Invoices go to billing")
    assert "Invoices go to billing  (ada, 1 %)" in mem("facts").out
    mem("remember", "Deploys happen on Mondays", "--source", "https://example.org")
    assert mem("facts", "--stale").out == "No fact is older than three months.\n"
    assert mem("facts", "--contradicting").out == "No two facts contradict or repeat each other.\n"
    assert mem("facts", "--contradicting", "--stale").out == "No fact fits.\n"
    assert "Deploys happen on Mondays" in mem("facts", "--unconfirmed").out
    mem("remember", "Deploys happen on Tuesdays")
    assert mem.masked("facts", "--contradicting").splitlines()[0] == "memory: 2 entries"


def test_a_block_that_is_full_holds_five_new_facts_of_a_session(mem: Cli, person: pytest.MonkeyPatch) -> None:
    """Until a person has looked; what a person typed goes before, and everything is still there."""
    mem.run("config", "memory_char_limit", "500")
    mem.run("config", "when_full", "keep")
    for number in range(10):
        mem.run("remember", f"Typed fact number {number} about the shop and its garden")
    for number in range(10):
        mem.run("remember", f"Noisy fact number {number} of the night session", "--session", "night")
    person.undo()
    assert "Noisy" not in mem("facts", "--block").out
    for number in range(4, 10):
        mem("forget", f"Typed fact number {number}")
    assert mem("facts", "--block").out.count("Noisy fact") == 5
    assert mem("facts").out.count("Noisy fact") == 10
    person.setattr(App, "is_person", property(lambda _: True))
    assert mem.run("digest", "--json").code == 0
    person.undo()
    assert mem("facts", "--block").out.count("Noisy fact") > 5


@pytest.mark.parametrize("name", ["memory.jsonl", "memory.md", "copy"])
def test_the_name_of_a_file_says_its_format(mem: Cli, name: str) -> None:
    """For an export and for its import, without a word for it."""
    mem("remember", "Deploys happen on Mondays")
    mem("export", f"../{name}")
    mem.cwd = mem.cwd.parent
    mem.init("other")
    assert mem.run("import", f"../{name}", "--yes").code == 0
    assert "Deploys happen on Mondays" in mem("search", "Mondays").out


def test_agents_md_gets_a_block_of_facts(mem: Cli) -> None:
    """And keeps the rest."""
    page = mem.cwd.parent / "AGENTS.md"
    page.write_text("# Rules\n")
    mem("remember", "Deploys happen on Mondays")
    mem("export", "../AGENTS.md")
    assert page.read_text().startswith("# Rules\n")
    assert "\n- Deploys happen on Mondays\n" in page.read_text()
    assert "There is no format and no file 'nowhere'" in mem.fails("import", "nowhere", code=2)


def test_the_digest_lists_what_people_decided(mem: Cli, person: pytest.MonkeyPatch) -> None:
    """And who, and why."""
    person.undo()
    mem("remember", HELD, code=3)
    (item,) = mem("review", "--list", "--json").json["waiting"]
    person.setattr(App, "is_person", property(lambda _: True))
    assert mem.run("review", item["id"], "--accept", "-m", "it is a joke").code == 0
    person.undo()
    out = mem("digest").out
    assert f"Decided in review\n  Accepted {item['id']} (released by ada, it is a joke, Tue 30 Jun)\n" in out
    assert len(mem("digest", "--json").json["reviewed"]) == 1


def test_the_limit_of_the_block_counts_what_the_prompt_shows(mem: Cli) -> None:
    """Also the words that mark an entry as unconfirmed."""
    mem("config", "memory_char_limit", "500")
    mem("config", "when_full", "keep")
    for number in range(12):
        mem("remember", f"Fact number {number} of a page", "--source", "https://example.org/a/long/address")
    block = mem("facts", "--block").out.rstrip("\n").split("\n", 3)[3]
    assert "(unconfirmed, from https://example.org/a/long/address) Fact number 11 of a page" in block
    assert len(block) <= 500


def test_an_empty_list_says_so_and_a_usage_error_ends_its_sentence(mem: Cli) -> None:
    assert mem("undo", "--list").out == "Nothing to undo.\n"
    assert mem("plan", "list").out == "There is no open plan.\n"
    assert ". See `gitmem" in mem.fails("facts", "--nosuch", code=2)


def test_a_question_before_an_erase_is_no_dry_run(mem: Cli) -> None:
    mem("remember", "The gate code is 4711")
    _, shown = at_a_terminal(mem, "erase", "--text", "4711", keys="n\n")
    assert "Erase it for good?" in shown
    assert "dry run" not in shown
    assert "4711" in mem("facts").out
