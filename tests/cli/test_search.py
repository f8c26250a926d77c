"""`search`, `recall`, `index`, and the links that `show` lists, as people and programs use them."""

from __future__ import annotations

import os
import re
import sqlite3
import subprocess
import sys

import pytest

from tests.cli.conftest import NOTE, Cli
from tests.git.support import plain_environment


@pytest.fixture
def memory(gitmem: Cli) -> Cli:
    """A bundle with a fact, a session with an observation and a decision, and two notes that link."""
    gitmem.init()
    gitmem("remember", "The user prefers dark mode in every editor")
    gitmem("session", "start", "s1")
    gitmem("record", "observation", "The database migration failed on a lock timeout")
    gitmem(
        "record", "decision", "Use PostgreSQL for invoices", "--rationale", "Row locks", "--tag", "database"
    )
    gitmem("session", "end")
    gitmem.write(
        "notes/setup.md", NOTE + "See [the decision](/decisions/use-postgresql-for-invoices_2026-06-30.md).\n"
    )
    gitmem.write("notes/more.md", NOTE + "See [setup](setup.md) and [nothing](nothing.md).\n")
    gitmem("commit")
    return gitmem


def test_search_prints_the_best_first(memory: Cli) -> None:
    """The line that matched, and behind it an id, the type, the time, and where it is."""
    out = memory("search", "database").out
    assert out.startswith("Use PostgreSQL for invoices — Row locks\n    decision  2026-06-30 14:")
    assert "  decisions/use-postgresql-for-invoices_2026-06-30.md\n" in out
    assert re.search(
        r"^The database migration failed on a lock timeout\n    [0-9a-f]{8}-1  noticed  2026-06-30 14:\d\d  session s1$",
        out,
        re.MULTILINE,
    )


def test_without_words_the_filters_list_the_newest_first(memory: Cli) -> None:
    """What is known, unless a type, a session or everything is asked for."""

    def texts(*options: str) -> list[str]:
        return [hit["text"].partition("\n")[0] for hit in memory("search", *options, "--json").json["hits"]]

    assert ["Use PostgreSQL for invoices"] == texts("--type", "Decision", "--since", "2026-06-30")
    everything = texts("--since", "2026-06-30")
    assert "The user prefers dark mode in every editor" in everything
    assert "The database migration failed on a lock timeout" not in everything
    assert "The database migration failed on a lock timeout" in texts("--session", "s1")
    assert "The database migration failed on a lock timeout" in texts("--since", "2026-06-30", "--events")
    assert [] == texts("--until", "2020-01-01")
    assert "Nothing found with --until 2020-01-01." in memory("search", "--until", "2020-01-01").out
    memory("forget", "dark mode")
    assert ["The user prefers dark mode in every editor"] == texts("--removed", "--type", "CuratedMemory")
    assert "give a word, or a filter" in memory.fails("search", code=2)


def test_the_ids_that_are_shown_are_accepted(memory: Cli) -> None:
    entry = re.search(r"\b[0-9a-f]{8}\b", memory("search", "dark mode").out)
    event = re.search(r"[0-9a-f]{8}-\d+", memory("recall", "migration").out)
    assert entry
    assert event
    assert "dark mode" in memory("why", entry[0]).out
    assert (
        f"> 14:04  noticed    The database migration failed on a lock timeout  {event[0]}\n"
        in memory("show", event[0]).out
    )
    memory("forget", entry[0])
    assert "dark mode" not in memory("facts").out


def test_the_json_has_what_programs_rely_on(memory: Cli) -> None:
    """Hits with path, session, type, text, at and score, best first."""
    found = memory("search", "database", "--json").json
    assert {"path", "session", "type", "text", "at", "score"} <= set(found["hits"][0])
    scores = [hit["score"] for hit in found["hits"]]
    assert scores == sorted(scores, reverse=True)
    assert "parts" not in found["hits"][0]
    assert "words" in memory("search", "database", "--explain", "--json").json["hits"][0]["parts"]


def test_options_narrow_it(memory: Cli) -> None:
    """Each filter is one option."""

    def paths(*options: str) -> list[str]:
        return [hit["path"] for hit in memory("search", "database", *options, "--json").json["hits"]]

    assert ["decisions/use-postgresql-for-invoices_2026-06-30.md"] == paths("--type", "Decision")
    assert ["decisions/use-postgresql-for-invoices_2026-06-30.md"] == paths("--tag", "database")
    assert 1 == len(paths("--limit", "1"))
    assert [] == paths("--until", "2020-01-01")
    assert [] == paths("--path", "notes")
    assert 2 == len(paths("--since", "2026-06-30"))
    assert 2 == len(paths("--type", "Decision", "--type", "observation"))
    assert 2 == len(paths("--path", "decisions", "--path", "sessions"))
    assert "There is no tag 'nothing'" in memory.fails("search", "database", "--tag", "nothing")
    assert "There is no session 's9'" in memory.fails(
        "search", "database", "--session", "s1", "--session", "s9"
    )


def test_a_filter_that_names_nothing_is_a_mistake(memory: Cli) -> None:
    """It says what could have been meant, where an empty answer would look like an empty memory."""
    for option, name, told in (
        ("--session", "s9", "There is no session 's9' here. Did you mean s1?"),
        ("--type", "Decison", "Did you mean Decision"),
        ("--agent", "somebody", "There is no agent 'somebody' here."),
        ("--path", "note", "No file 'note' was ever in this memory."),
    ):
        assert told in memory.fails("search", "database", option, name)
    assert {"hits": []}.items() <= memory("search", "zebra", "--type", "Plan", "--json").json.items()


def test_as_of_and_removed(memory: Cli) -> None:
    """What stood there then, and what is gone, with the commit that took it."""
    memory("snapshot", "before")
    memory("replace", "dark mode", "The user prefers light mode")
    assert "light" in memory("search", "prefers").out
    assert "dark" in memory("search", "prefers", "--as-of", "before").out
    gone = memory("search", "prefers", "--removed").out
    assert "dark" in gone
    assert "removed by " in gone


def test_nothing_found_says_what_was_searched(memory: Cli) -> None:
    """With the filters that were on; not an error."""
    out = memory("search", "databse", "--type", "Decision").out
    assert "Nothing found for 'databse' with --type Decision.\n" == out
    assert "give a word" in memory("search", "?!").out
    assert "no bug" not in memory("search", 'a"b AND * : (').out


def test_unknown_dates_and_revisions_are_named(memory: Cli) -> None:
    """One sentence, exit code 1."""
    assert "bogus" in memory.fails("search", "x", "--as-of", "bogus")
    assert "soonish" in memory.fails(
        "search", "x", "--since", "soonish", code=memory.run("search", "x", "--since", "soonish").code
    )


def test_escapes_in_a_hit_are_shown(gitmem: Cli) -> None:
    """Text from the memory never steers the terminal."""
    gitmem.init()
    gitmem.write("notes/x.md", NOTE + "garden \x1b[31mred\x1b[0m rose\n")
    gitmem("commit")
    out = gitmem("search", "garden").out
    assert "\x1b" not in out


def test_recall_by_question_newest_and_one(memory: Cli) -> None:
    """Which sessions, the newest ones, and one as it was."""
    found = memory("recall", "why", "postgresql", "--json").json["sessions"]
    assert ["s1"] == [one["session"] for one in found]
    assert {"started", "source", "model", "recap", "windows"} <= set(found[0])
    assert "s1" in memory("recall", "postgresql").out
    assert "s1" in memory("recall").out
    reading = memory("recall", "--session", "s1", "--json").json
    assert 2 == len(reading["lines"])
    assert "lock timeout" in memory("show", reading["lines"][0]["id"]).out
    assert "No earlier session" in memory("recall", "zeppelin").out
    assert "not both" in memory.fails("recall", "x", "--session", "s1", code=2)
    assert "s1" in memory.fails("recall", "--session", "s11")


def test_recall_leaves_out_the_open_session(memory: Cli) -> None:
    """What is going on now is not recalled."""
    memory("session", "start", "s2")
    memory("record", "observation", "More about the database")
    assert ["s1"] == [one["session"] for one in memory("recall", "database", "--json").json["sessions"]]


def test_links_and_backlinks(memory: Cli) -> None:
    """Where a file leads and what leads to it; a link to nothing says so."""
    decision = "decisions/use-postgresql-for-invoices_2026-06-30.md"
    assert f"links to     {decision}\n" in memory("show", "notes/setup.md").out
    assert "notes/nothing.md  (nothing there)" in memory("show", "notes/more.md").out
    assert "linked from  notes/setup.md\n" in memory("show", decision).out
    found = memory("show", "notes/setup.md", "--json").json
    assert ([{"path": decision, "exists": True}], ["notes/more.md"]) == (found["links"], found["backlinks"])
    assert "link" not in memory("show", "memories/MEMORY.md").out
    assert "link" not in memory("show", f"{decision}", "--as-of", "HEAD~1").out


def test_the_index_is_rebuilt(memory: Cli) -> None:
    """`check --fix` makes it again from the history, whatever it held."""
    before = memory("search", "database", "--json").json
    database = sqlite3.connect(memory.root / ".git/gitmem/index.db")
    database.execute("UPDATE span SET type = 'Wrong'")
    database.commit()
    database.close()
    assert before != memory("search", "database", "--json").json
    assert "Indexed " in memory("check", "--fix").out
    assert before == memory("search", "database", "--json").json


def test_after_deleting_the_index_all_answers_the_same(memory: Cli) -> None:
    """It holds nothing that cannot be rebuilt."""
    before = memory("search", "database", "--json").json
    for name in os.listdir(memory.root / ".git/gitmem"):
        if name.startswith("index.db"):
            os.unlink(memory.root / ".git/gitmem" / name)
    assert before == memory("search", "database", "--json").json


def test_a_damaged_index_is_told_in_one_line(memory: Cli) -> None:
    """And made anew; the answer comes all the same."""
    memory("search", "database")
    (memory.root / ".git/gitmem/index.db").write_bytes(b"not a database at all" * 100)
    result = memory.run("search", "database")
    assert 0 == result.code
    assert "decisions/" in result.out
    assert 1 == result.err.count("\n")
    assert "is rebuilt" in result.err


def test_a_search_on_a_current_index_imports_neither_dulwich_nor_yaml(memory: Cli) -> None:
    """Start-up is a feature."""
    memory("search", "database")
    code = (
        "import sys; from gitmem.cli.main import main; sys.argv[0] = 'gitmem'; code = main(['search', 'database']);"
        "bad = {'dulwich', 'yaml', 'asyncio'} & set(sys.modules); sys.exit(f'{code} {bad}' if code or bad else 0)"
    )
    env = {**plain_environment(), "HOME": str(memory.home), "GITMEM_MACHINE": "laptop"}
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=memory.root, env=env, capture_output=True, text=True, check=False
    )
    assert (0, "") == (done.returncode, done.stderr)


def test_a_search_after_plain_git_sees_the_new_tree(memory: Cli) -> None:
    """A commit by git, and a checkout of an older file."""
    memory.write("notes/sea.md", NOTE + "Sailing in autumn\n")
    memory.git("add", "-A")
    memory.git("commit", "-qm", "by hand")
    assert "notes/sea.md" in memory("search", "sailing").out
    memory.git("rm", "-q", "notes/sea.md")
    memory.git("commit", "-qm", "gone")
    assert "Nothing found" in memory("search", "sailing").out


def test_a_search_after_a_checkout_sees_what_is_checked_out(memory: Cli) -> None:
    """A person who looks at an older tree searches that one, and is warned; a branch of its own is not in the index."""
    memory("replace", "dark mode", "The user prefers light mode")
    memory.git("checkout", "-q", "HEAD~1")
    result = memory.run("search", "prefers")
    assert "dark" in result.out
    assert "light" not in result.out
    assert "not on main" in result.err
    memory.git("checkout", "-q", "-b", "side")
    memory.write("notes/side.md", NOTE + "Only on this side\n")
    memory.git("add", "-A")
    memory.git("commit", "-qm", "side", "--no-verify")
    assert "light" in memory.run("search", "prefers").out
    memory.git("checkout", "-q", "main")
    assert "light" in memory("search", "prefers").out
    assert "notes/side.md" not in memory("search", "side").out


def test_search_outside_a_bundle_says_how_to_make_one(gitmem: Cli) -> None:
    """As every command does."""
    assert "gitmem init" in gitmem.fails("search", "x")
