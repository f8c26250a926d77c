"""`gitmem log`, `show` and `diff`."""

from __future__ import annotations

import base64
from datetime import UTC, datetime

import pytest

from tests.cli.conftest import NOTE, Cli

URL = '{"url": "https://x.example/greenhouse"}'


@pytest.fixture
def told(mem: Cli) -> Cli:
    """A bundle with a little history: two facts, one of them corrected, and a note."""
    mem.remember("The staging server is at stage.example.org", "Deploys happen on Tuesdays")
    mem("commit", "-m", "what I know")
    path = mem.root / "memories/MEMORY.md"
    path.write_text(path.read_text().replace("on Tuesdays", "on Thursdays now"))
    mem("commit", "-m", "calendar changed")
    mem.write("notes/a.md", "---\ntype: Note\ntitle: A\n---\none\ntwo\nthree\n")
    mem("commit")
    return mem


def test_log(told: Cli) -> None:
    """One line per commit: when, what kind, what, why, who and where."""
    expected = """\
<id> 2026-06-30 14:04  edit: notes/a.md  (ada on laptop)
<id> 2026-06-30 14:03  edit: memories/MEMORY.md: calendar changed  (ada on laptop)
<id> 2026-06-30 14:02  edit: memories/MEMORY.md: what I know  (ada on laptop)
<id> 2026-06-30 14:01  init: memory of ada  (ada on laptop)
"""
    assert expected == told.masked("log", "--commits")


def _subjects(gitmem: Cli, *args: str) -> list[str]:
    return [commit["subject"] for commit in gitmem("log", "--json", *args).json["commits"]]


def test_log_filters(told: Cli) -> None:
    """By number, kind, author, machine, path, date and start."""
    both = ["edit: memories/MEMORY.md", "edit: memories/MEMORY.md"]
    first = ["init: memory of ada"]
    assert _subjects(told, "-n", "1") == ["edit: notes/a.md"]
    assert first == _subjects(told, "--kind", "init")
    assert first == _subjects(told, "--agent", "ada")
    assert "no machine 'desktop' here. Did you mean laptop?" in told.fails("log", "--machine", "desktop")
    assert "Did you mean flush?" in told.fails("log", "--kind", "flus")
    assert "There is no session 'nope'" in told.fails("log", "--session", "nope")
    assert "No file 'nope.md' was ever" in told.fails("log", "--path", "nope.md")
    assert "memories is a directory" in told.fails("blame", "memories")
    assert [*both, *first] == _subjects(told, "--path", "memories")
    assert _subjects(told, "--path", "notes/a.md") == ["edit: notes/a.md"]
    assert _subjects(told, "--since", "2026-06-30 14:04") == ["edit: notes/a.md"]
    assert first == _subjects(told, "--until", "2026-06-30T14:01")
    assert len(_subjects(told, "--since", "2026-06-30")) == 4
    assert len(_subjects(told, "--until", "2026-06-30")) == 4
    assert len(_subjects(told, "--since", "2 days ago")) == 4
    assert _subjects(told, "--until", "2026-06-29") == []
    assert [*both[1:], *first] == _subjects(told, "HEAD~2")


def test_a_filter_of_log_that_is_given_twice_takes_either(told: Cli) -> None:
    """None of its values is left out without a word, whether it names nothing or is the only one that may be."""
    edits = ["edit: notes/a.md", "edit: memories/MEMORY.md", "edit: memories/MEMORY.md"]
    assert [*edits, "init: memory of ada"] == _subjects(told, "--kind", "init", "--kind", "edit")
    assert edits[:1] == _subjects(told, "--path", "notes", "--path", "notes/a.md")
    assert edits == _subjects(told, "--path", "notes", "--path", "memories", "--kind", "edit")
    assert "There is no kind 'edti'" in told.fails("log", "--kind", "init", "--kind", "edti")
    assert "No file 'nope.md' was ever" in told.fails("log", "--path", "notes", "--path", "nope.md")
    assert "give one value, once" in told.fails("log", "--since", "2026-06-30", "--since", "today", code=2)
    assert "give one value, once" in told.fails("diff", "--path", "a", "--path", "b", code=2)


def test_log_as_json(told: Cli) -> None:
    """Stable keys for each commit."""
    commit = told("log", "--json").json["commits"][1]
    assert {
        "commit",
        "parents",
        "kind",
        "subject",
        "at",
        "author",
        "committer",
        "session",
        "agent",
        "machine",
        "reason",
        "pulled_from",
        "trailers",
    } == set(commit)
    assert commit["at"] == "2026-06-30T14:03:00.000Z"
    assert commit["committer"] == {"name": "gitmem", "email": "gitmem@laptop"}
    assert commit["trailers"]["Source"] == ["hand edit"]


def test_log_of_a_wrong_date(told: Cli) -> None:
    """A date that is none is wrong usage."""
    assert "'soon' is not a date" in told.fails("log", "--since", "soon", code=2)


def test_show_of_a_commit(told: Cli) -> None:
    """The whole output: who, when, why, and what it did in entries."""
    expected = """\
edit: memories/MEMORY.md
  <id>  2026-06-30 14:03 by ada on laptop
  reason: calendar changed
  source: hand edit

Facts  memories/MEMORY.md
  ~ Deploys happen on [-Tuesdays-] {+Thursdays now+}
"""
    assert expected == told.masked("show", "HEAD~1")


def test_show_unified(told: Cli) -> None:
    """--unified shows the lines that git would show."""
    out = told("show", "HEAD~1", "--unified").out
    assert "-Deploys happen on Tuesdays\n" in out
    assert "+Deploys happen on Thursdays now\n" in out
    assert "unified" in told("show", "HEAD~1", "--unified", "--json").json


def test_show_tells_the_prose_of_a_message(told: Cli) -> None:
    """A person's own words in a commit of plain git are shown, the trailers apart."""
    told.write("notes/a.md", NOTE)
    told.git("commit", "-qam", "By hand\n\nBecause of\nreasons.")
    out = told("show").out
    assert out.startswith("By hand\n")
    assert "\n  Because of\n  reasons.\n\n" in out


def test_show_of_a_file(told: Cli) -> None:
    """A file by REV:PATH, by PATH, and as of a moment."""
    now = told("show", "memories/MEMORY.md").out
    before = told("show", "HEAD~2:memories/MEMORY.md").out
    assert now.endswith("Deploys happen on Thursdays now\n")
    assert before.endswith("Deploys happen on Tuesdays\n")
    assert before == told("show", "memories/MEMORY.md", "--as-of", "2026-06-30 14:02").out
    assert before == told("show", "2026-06-30 14:02:memories/MEMORY.md").out


def test_show_of_a_directory(told: Cli) -> None:
    """A directory is listed."""
    assert told("show", "memories").out == "MEMORY.md\nUSER.md\nindex.md\n"
    assert told("show", "memories", "--json").json["kind"] == "directory"


def test_show_of_a_file_as_json(told: Cli) -> None:
    """Text and entries, or base64 where it is no text."""
    found = told("show", "memories/MEMORY.md", "--json").json
    assert {"path", "commit", "kind", "size", "text", "base64", "entries", "links", "backlinks"} == set(found)
    assert [found["kind"], found["entries"][0]["space"], len(found["entries"])] == ["curated", "§", 2]
    told.write("picture.bin", b"\xff\x00")
    told("commit")
    found = told("show", "picture.bin", "--json").json
    assert base64.b64decode(found["base64"]) == b"\xff\x00"


def test_show_of_a_binary_file(told: Cli) -> None:
    """Its size is told; its bytes come with --raw."""
    told.write("picture.bin", b"\xff\x00\x1b[2J")
    told("commit")
    assert told("show", "picture.bin").out == "A binary file of 6 bytes; --raw writes it out.\n"


def test_show_raw_gives_the_bytes(told: Cli) -> None:
    """--raw gives a file exactly, for a pipe."""
    from tests.cli.conftest import real

    data = "---\ntype: Note\n---\nesc \x1b[31m end"
    told.write("notes/esc.md", data)
    told("commit")
    assert data == real("show", "notes/esc.md", "--raw", cwd=told.root).stdout
    assert "--raw is for files" in told.fails("show", "HEAD", "--raw", code=2)


def test_show_of_what_is_not_there(told: Cli) -> None:
    """Each kind of miss has its own sentence."""
    expected = (
        "There is no file notes/b.md in the memory. `gitmem log --path notes/b.md` shows whether there ever "
        "was one."
    )
    assert expected == told.fails("show", "notes/b.md")
    assert "There is no file notes/a.md at HEAD~1." in told.fails("show", "HEAD~1:notes/a.md")
    told.write("notes/b.md", NOTE)
    assert "It is not committed yet: run `gitmem commit`." in told.fails("show", "notes/b.md")
    assert "Nothing here is called 'nonsense'" in told.fails("show", "nonsense")
    assert "goes back further than the history does" in told.fails("show", "HEAD~9")


def test_diff_of_the_work_tree(told: Cli) -> None:
    """Without revisions: what was edited by hand, in the words that changed."""
    path = told.root / "memories/MEMORY.md"
    path.write_text(path.read_text().replace("Thursdays now", "Fridays"))
    told.remember("A new fact\nof two lines")
    expected = """\
Facts  memories/MEMORY.md
  ~ Deploys happen on [-Thursdays now-] {+Fridays+}
  + A new fact
    of two lines
"""
    assert expected == told("diff").out
    assert "+Deploys happen on Fridays\n" in told("diff", "--unified").out


def test_diff_between_revisions(told: Cli) -> None:
    """With A: from A to now; with A and B or A..B: between them; --path limits it."""
    whole = told("diff", "HEAD~3").out
    assert whole == told("diff", "HEAD~3", "HEAD").out == told("diff", "HEAD~3..HEAD").out
    assert whole == told("diff", "HEAD~3..").out
    expected = """\
Facts  memories/MEMORY.md
  + The staging server is at stage.example.org
  + Deploys happen on Thursdays now
notes/a.md
  + note: A
"""
    assert expected == whole
    assert told("diff", "HEAD", "HEAD~1").out == "notes/a.md\n  - note: A\n"
    assert told("diff", "HEAD~3", "--path", "notes").out == "notes/a.md\n  + note: A\n"
    assert told("diff", "HEAD", "HEAD").out == "No entries differ.\n"


def test_diff_of_a_concept(told: Cli) -> None:
    """Front matter key by key in words, a body of several lines by line, a file that is no concept whole."""
    told.write("notes/a.md", "---\ntype: Note\ntitle: A new title\n---\none\n2\nthree\n")
    expected = """\
notes/a.md
  ~ note: A new title
    ~ title: A {+new title+}
    ~ text: lines changed
       one
      -two
      +2
       three
"""
    assert expected == told("diff").out


def test_diff_stat(told: Cli) -> None:
    """How many entries came, went and changed in each file."""
    expected = "memories/MEMORY.md  +1 ~1\n2 changes in 1 file\n"
    told.remember("more")
    told("commit")
    assert expected == told("diff", "HEAD~3", "HEAD", "--stat", "--path", "memories").out
    assert told("diff", "HEAD~3", "--stat", "--path", "memories", "--json").json["files"] == [
        {"path": "memories/MEMORY.md", "counts": {"added": 1, "removed": 0, "changed": 1, "moved": 0}}
    ]


def test_diff_as_json(told: Cli) -> None:
    """Each change with the entry before and after."""
    found = told("diff", "HEAD~2", "HEAD~1", "--json").json
    assert {"from", "to", "session", "changes"} == set(found)
    (change,) = found["changes"]
    assert {"path", "op", "record", "from_path", "old", "new"} == set(change)
    assert {"space", "id", "kind", "text", "at", "replaces"} == set(change["new"])
    assert change["old"]["id"] == change["new"]["replaces"]
    assert "unified" in told("diff", "HEAD~1", "--unified", "--json").json


def test_diff_of_a_session(mem: Cli) -> None:
    """What one session changed, whatever others did in between."""
    mem("record", "observation", "The build is green", "--session", "s1")
    mem.remember("by hand")
    mem("commit")
    mem("record", "observation", "The build is red", "--session", "s1")
    assert mem("diff", "--session", "s1").out == "Nothing learned; 2 events in 1 session (--events)\n"
    out = mem("diff", "--session", "s1", "--events").out
    assert "The build is green" in out
    assert "The build is red" in out
    assert "by hand" not in out
    assert "No commit belongs to a session 's2'." in mem.fails("diff", "--session", "s2")
    assert len(_subjects(mem, "--session", "s1")) >= 2


@pytest.mark.parametrize(
    "args", [("--session", "s1", "HEAD"), ("--session", "s1", "--unified"), ("--stat", "--unified")]
)
def test_diff_refuses_what_makes_no_sense(mem: Cli, args: tuple[str, ...]) -> None:
    """Options that contradict each other are wrong usage."""
    mem.fails("diff", *args, code=2)


@pytest.mark.parametrize("day", ["2026-06-30", "2026-6-30", "today"])
def test_a_day_is_the_same_in_every_form(told: Cli, day: str) -> None:
    """`--since` takes it from its beginning, `--until` and a revision up to its end."""
    everything = told("log", "--json").json["commits"]
    assert everything == told("log", "--json", "--until", day).json["commits"]
    assert everything == told("log", "--json", "--since", day).json["commits"]
    assert told("show", "--json", day).json["commit"] == everything[0]["commit"]
    assert "Thursdays" in told("search", "thursdays", "--until", day, "--since", day).out


def test_a_moment_is_not_its_day(told: Cli) -> None:
    """One without colons neither."""
    assert told("log", "--json", "--until", "2026-06-30T00:00:00").json["commits"] == []
    assert told("log", "--json", "--since", "2026-06-30T23:59:59").json["commits"] == []


def test_every_printed_id_is_shown(mem: Cli) -> None:
    """Of a session, a fact and a held text, shortened too; a commit and a snapshot are revisions."""
    mem("session", "start", "work-1", "--title", "Move the server")
    mem("remember", "The server runs Debian 12", "--reason", "seen")
    mem("session", "end")
    assert "Move the server" in mem("show", "work-1").out
    assert "work-1" == mem("show", "work-1", "--json").json["session"]
    fact = mem("facts", "--json").json["memory"]["entries"][0]["id"]
    assert "added" in mem("show", fact[:8]).out
    held = mem.run("remember", "Pay to IBAN DE89 3704 0044 0532 0130 00", "--source", "https://x.example").err
    [item] = mem("review", "--json").json["waiting"]
    assert item["id"] in held
    assert "IBAN" in mem("show", item["id"]).out
    assert "Nothing here is called 'nosuch'" in mem.fails("show", "nosuch")


def test_a_span_is_that_time_alone(gitmem: Cli) -> None:
    """Of a diff, a digest and a log: Monday to Sunday, a day; what is before the beginning is from the beginning."""
    gitmem.now = datetime(2026, 6, 17, 9, tzinfo=UTC)  # a Wednesday
    gitmem.init()
    gitmem("remember", "Learned two weeks ago")
    gitmem.now = datetime(2026, 6, 24, 9, tzinfo=UTC)
    gitmem("remember", "Learned last week")
    gitmem.now = datetime(2026, 6, 30, 9, tzinfo=UTC)
    gitmem("remember", "Learned yesterday")
    gitmem.now = datetime(2026, 7, 1, 9, tzinfo=UTC)
    gitmem("remember", "Learned today")

    def learned(*command: str) -> list[str]:
        shown = gitmem.run(*command).out
        return [
            when
            for when in ("two weeks ago", "last week", "yesterday", "today")
            if f"Learned {when}" in shown
        ]

    assert ["last week"] == learned("diff", "last week")
    assert ["last week"] == learned("digest", "last week")
    assert ["yesterday"] == learned("log", "yesterday", "-p")
    assert ["today"] == learned("diff", "yesterday")
    assert ["today"] == learned("diff", "today")
    found = gitmem.run("diff", "2026-06")
    assert (0, True) == (found.code, "From its beginning" in found.err)
    assert "Learned two weeks ago" in found.out
    assert "Learned today" not in found.out


@pytest.fixture
def talked(mem: Cli) -> Cli:
    """A fact about the user, and sessions that spoke of it and of something that is no fact."""
    for number in range(3):
        session = f"2026063{number}_talk"
        mem("session", "start", session)
        mem("record", "turn", "--user", f"How is the greenhouse {number}?", "--assistant", "Warm.")
        mem("record", "tool-call", "web_extract", "--args", URL, "--result", "A warm greenhouse")
        if not number:
            mem("remember", "Is allergic to hazelnuts", "--target", "user", "--session", session)
            mem("record", "turn", "--user", "Are there hazelnuts in it?", "--assistant", "No.")
        mem("session", "end")
    return mem


def test_why_answers_for_what_is_known_before_talk(talked: Cli) -> None:
    told = talked("why", "hazelnuts").out
    assert 1 == told.count("Is allergic to hazelnuts")
    assert told.startswith("Is allergic to hazelnuts  memories/USER.md")
    assert "hermes/observations" not in told
    [line] = [line for line in told.splitlines() if line.startswith("To take it back: ")]
    talked(*line.removeprefix("To take it back: gitmem ").split())
    assert "hazelnuts" not in talked("facts").out


def test_why_shows_talk_with_titles_and_without_a_way_back(talked: Cli) -> None:
    """Only where nothing that is known has the words; several entries have no one command."""
    told = talked("why", "greenhouse").out
    assert "The user: How is the greenhouse 1?\n  said 2026-06-30" in told
    assert 'in "How is the greenhouse 1?"' in told
    assert "A warm greenhouse\n" in told
    for raw in ("{", "[user]", "_talk", "sessions/", "To take it back"):
        assert raw not in told
    talked("remember", "The greenhouse has a heater")
    told = talked("why", "greenhouse").out
    assert told.startswith("The greenhouse has a heater  memories/MEMORY.md")
    assert "The user:" not in told
    assert "To take it back: gitmem revert " in told
    talked("remember", "Tomatoes grow in the greenhouse")
    assert "To take it back" not in talked("why", "greenhouse").out


def test_why_has_entries_of_now_before_removed_ones(mem: Cli) -> None:
    mem("remember", "The old lamp is green")
    mem("forget", "old lamp")
    mem("remember", "A new lamp stands in the hall")
    told = mem("why", "lamp").out
    assert told.index("A new lamp") < told.index("The old lamp")
    assert "removed" in told
    assert 1 == told.count("To take it back: ")
    mem(*told.rpartition("To take it back: gitmem ")[2].split())
    assert "lamp" not in mem("facts").out


def test_why_names_what_is_held(mem: Cli) -> None:
    held = "Pay the lamp to IBAN DE89 3704 0044 0532 0130 00"
    mem("remember", held, "--source", "https://x.example", code=3)
    (item,) = mem("review", "--json").json["waiting"]
    assert f"`gitmem review {item['id']}`" in mem.fails("why", "lamp")
    mem("remember", "The lamp is green")
    assert f"{held}  held: gitmem review {item['id']}\n" in mem("why", "lamp").out


def test_a_large_text_that_was_rewritten_is_not_printed_whole(mem: Cli) -> None:
    """Its sizes are, and the command that prints its lines."""
    for word in ("lamp", "gate"):
        mem.write("notes/a.md", f"---\ntype: Note\ntitle: A\n---\n{word} is here\n" + f"{word}\n" * 60_000)
        told = mem("commit").out
    assert "293 KB became 293 KB; `gitmem diff --unified` has the lines" in told
    assert len(told) < 500
    assert mem("diff", "HEAD~1", "--unified").out.count("+gate") > 59_000
