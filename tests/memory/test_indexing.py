"""The index follows the history: step by step, back and forth, and through every kind of damage."""

from __future__ import annotations

import os
import shutil
import sqlite3
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from gitmem import background
from gitmem.git.objects import Oid
from gitmem.index.schema import VERSION
from gitmem.memory.memory import Memory
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.index.compare import same_as_rebuilt
from tests.memory.find.support_index import (
    bare_bundle,
    concept,
    curated,
    graft,
    new_bundle,
    part,
    point,
    spans_in,
)
from tests.trees import contents


@pytest.fixture
def bundle(tmp_path: Path) -> Iterator[Memory]:
    made = bare_bundle(tmp_path / "b")
    graft(made.repository, {"memories/MEMORY.md": curated("tabs, not spaces")}, Session="s0", Agent="hermes")
    yield made
    made.index.close()
    made.repository.store.close()


def texts(bundle: Memory, path: str, **how: object) -> list[str]:
    return [span.text for span in spans_in(bundle, path, **how)]  # type: ignore[arg-type]


# --- following the history --------------------------------------------------------------------------------


def test_a_reader_sees_the_newest_commit(bundle: Memory) -> None:
    """Every reader converges first."""
    assert texts(bundle, "memories/MEMORY.md") == ["tabs, not spaces"]
    graft(bundle.repository, {"memories/MEMORY.md": curated("tabs, not spaces", "the office is in Bern")})
    assert texts(bundle, "memories/MEMORY.md") == ["tabs, not spaces", "the office is in Bern"]


def test_while_it_is_built_in_the_background_the_index_answers_as_it_is(bundle: Memory) -> None:
    """A reader says so and waits for nobody; afterwards it sees everything."""
    assert texts(bundle, "memories/MEMORY.md") == ["tabs, not spaces"]
    with bundle.state.lock("index-background", "busy").hold("a long build"):
        graft(bundle.repository, {"memories/MEMORY.md": curated("tabs, not spaces", "the office is in Bern")})
        assert texts(bundle, "memories/MEMORY.md") == ["tabs, not spaces"]
        assert "in the background" in bundle.warnings[-1]
    bundle.index.catch_up()
    assert bundle.index.current().tip == bundle.tip
    assert texts(bundle, "memories/MEMORY.md") == ["tabs, not spaces", "the office is in Bern"]


def test_a_large_import_is_indexed_in_the_background(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The import does not wait for it, and the process that it starts brings the index up."""
    memory = new_bundle(tmp_path / "mine")
    monkeypatch.setattr("gitmem.memory.memory._MANY_COMMITS", 1)
    (tmp_path / "vault").mkdir()
    (tmp_path / "vault/harbour.md").write_text("The harbour opens at nine.\n")
    assert memory.bring_in("markdown", str(tmp_path / "vault")).commits == 1
    background.wait(120)
    with sqlite3.connect(memory.index.path) as database:
        [(tip,)] = database.execute("SELECT value FROM meta WHERE key = 'tip'").fetchall()
    assert tip == memory.tip
    memory.close()


def test_a_span_closes_when_its_entry_leaves(bundle: Memory) -> None:
    """What is gone is known with the commits it came and went with."""
    tip = bundle.tip
    graft(bundle.repository, {"memories/MEMORY.md": curated("spaces, not tabs")})
    index = bundle.index.current()
    spans = spans_in(bundle, "memories/MEMORY.md", removed=True)
    assert [(span.text, span.from_seq, span.to_seq) for span in spans] == [
        ("tabs, not spaces", 1, 2),
        ("spaces, not tabs", 2, None),
    ]
    assert texts(bundle, "memories/MEMORY.md", seq=1) == ["tabs, not spaces"]
    row = index.commit(tip)
    assert row is not None
    assert (row.seq, row.session, row.agent) == (1, "s0", "hermes")


def test_a_growing_part_keeps_its_spans(bundle: Memory) -> None:
    """An event that is appended opens one span, and touches no other."""
    path = "sessions/2026-06/30/s1/w-0001.md"
    graft(bundle.repository, {path: part("one")})
    bundle.index.current()
    graft(bundle.repository, {path: part("one", "two")})
    spans = spans_in(bundle, path)
    assert [(span.text, span.from_seq, span.session) for span in spans] == [
        ("[user] one", 2, "s1"),
        ("[user] two", 3, "s1"),
    ]
    assert same_as_rebuilt(bundle) == []


def test_a_reset_takes_the_index_back(bundle: Memory) -> None:
    """A tip that is not built on the index's own is followed from the newest common commit."""
    base = bundle.tip
    graft(bundle.repository, {"notes/a.md": concept("Alpha", "only on the first line")})
    assert texts(bundle, "notes/a.md") == ["Alpha\n\nonly on the first line"]
    graft(bundle.repository, {"notes/b.md": concept("Beta")}, parents=(base,))
    assert texts(bundle, "notes/a.md", removed=True) == []
    assert texts(bundle, "notes/b.md") == ["Beta"]
    assert bundle.index.current().spans_containing("only on the first line") == []
    assert same_as_rebuilt(bundle) == []


def test_a_history_of_its_own_is_followed_too(bundle: Memory) -> None:
    """Also where no commit is common, as after an erasure."""
    bundle.index.current()
    graft(bundle.repository, {"notes/a.md": concept("Alpha")}, parents=())
    assert texts(bundle, "memories/MEMORY.md", removed=True) == []
    assert same_as_rebuilt(bundle) == []


def test_what_a_merge_brings_keeps_its_origin(bundle: Memory) -> None:
    """A span that opens with a merge names the commit, session and machine that wrote it."""
    ours = graft(bundle.repository, {"notes/a.md": concept("Alpha")}, Machine="laptop")
    theirs = graft(
        bundle.repository,
        {"memories/MEMORY.md": curated("tabs, not spaces", "the server moved")},
        parents=(bundle.repository.store.commit(ours).parents[0],),
        move=False,
        Session="far",
        Machine="server",
        Agent="other",
    )
    merge = graft(
        bundle.repository,
        {"memories/MEMORY.md": curated("tabs, not spaces", "the server moved")},
        parents=(ours, theirs),
        kind="merge",
    )
    index = bundle.index.current()
    new = spans_in(bundle, "memories/MEMORY.md")[-1]
    assert (new.text, new.commit, new.machine, new.session, new.agent) == (
        "the server moved",
        theirs,
        "server",
        "far",
        "other",
    )
    assert new.from_seq == 3
    assert index.commits_touching("memories/MEMORY.md")[0].oid == theirs
    assert [row.oid for row in index.commits_touching("")][:2] == [merge, theirs]
    assert [row.oid for row in index.commits_with("Session", "far")] == [theirs]
    assert same_as_rebuilt(bundle) == []


# --- what the history is asked for ------------------------------------------------------------------------


def test_commits_by_path_session_and_trailer(bundle: Memory) -> None:
    """The table of changed paths answers for files, directories and everything."""
    first = bundle.tip
    second = graft(bundle.repository, {"notes/a.md": concept("A")}, Session="s1", Source="web")
    third = graft(bundle.repository, {"notes/sub/b.md": concept("B")}, Session="s1")
    index = bundle.index.current()
    assert [row.oid for row in index.commits_touching("notes")] == [third, second]
    assert [row.oid for row in index.commits_touching("notes/a.md")] == [second]
    assert [row.oid for row in index.commits_touching("not")] == []
    assert [row.oid for row in index.commits_touching("", limit=2)] == [third, second]
    assert [row.oid for row in index.commits_with("Session", "s1")] == [third, second]
    assert [row.oid for row in index.commits_with("Source", "web")] == [second]
    assert [row.oid for row in index.commits_with("Session", "s0")] == [first]
    found = index.commit_at(1)
    assert found is not None
    assert found.oid == first


def test_retractions_are_known(bundle: Memory) -> None:
    """A retraction is looked up by its name, also after a reset."""
    base = bundle.tip
    graft(bundle.repository, {"retractions/aa/" + "a" * 32 + ".md": concept("x", type="Retraction")})
    assert bundle.index.current().is_retracted("a" * 32)
    point(bundle.repository, base)
    assert not bundle.index.current().is_retracted("a" * 32)


# --- the property -----------------------------------------------------------------------------------------

_WORDS = st.sampled_from(["alpha", "beta", "gamma", "深色模式", "getUserName", "[x](/notes/n1.md)"])
_FILES = st.one_of(
    st.tuples(
        st.just("memories/MEMORY.md"), st.lists(_WORDS, max_size=3, unique=True).map(lambda t: curated(*t))
    ),
    st.tuples(
        st.sampled_from(["notes/n1.md", "notes/n2.md", "decisions/n3.md"]),
        st.one_of(st.none(), st.builds(concept, _WORDS, _WORDS)),
    ),
    st.tuples(
        st.sampled_from(["sessions/2026-06/30/s1/w-0001.md", "sessions/2026-06/30/s1/w-0002.md"]),
        st.one_of(st.none(), st.lists(_WORDS, min_size=1, max_size=4).map(lambda t: part(*t))),
    ),
    st.tuples(
        st.just("retractions/bb/" + "b" * 32 + ".md"),
        st.sampled_from([None, concept("r", type="Retraction")]),
    ),
    st.tuples(
        st.just("notes/broken.md"), st.sampled_from([b"no front matter", b"---\ntype: X\n---\nfine now"])
    ),
)
_STEPS = st.lists(
    st.tuples(
        st.sampled_from(["commit", "commit", "commit", "side", "merge", "reset", "read"]),
        st.lists(_FILES, min_size=1, max_size=3).map(dict),
        st.integers(0, 10),
    ),
    min_size=1,
    max_size=14,
)


@settings(max_examples=40, deadline=None, suppress_health_check=list(HealthCheck))
@given(_STEPS)
def test_step_by_step_equals_rebuilt(steps: list[tuple[str, dict[str, bytes | None], int]]) -> None:
    """For random histories with merges and resets: the index brought up is the index rebuilt, at every commit."""
    directory = tempfile.mkdtemp()
    bundle = bare_bundle(Path(directory) / "b")
    repository = bundle.repository
    try:
        made: list[Oid] = [graft(repository, {"config/agent.md": concept("agent", type="AgentConfig")})]
        for number, (what, edits, pick) in enumerate(steps):
            tip = bundle.tip
            other = made[pick % len(made)]
            existing = {
                path: data for path, data in edits.items() if data is not None or path in repository.tree(tip)
            }
            if what == "read":
                bundle.index.current()
            elif what == "reset":
                point(repository, other)
            elif what == "side":
                there = {
                    path: data
                    for path, data in edits.items()
                    if data is not None or path in repository.tree(other)
                }
                made.append(graft(repository, there, parents=(other,), move=False, Session=f"side{number}"))
            else:
                parents = (tip, other) if what == "merge" and other != tip else (tip,)
                made.append(graft(repository, existing, parents=parents, Session=f"s{number}"))
            if what in ("commit", "merge", "reset") and pick % 3:
                assert same_as_rebuilt(bundle) == []
        assert same_as_rebuilt(bundle) == []
        assert bundle.warnings == []
    finally:
        bundle.index.close()
        repository.store.close()
        shutil.rmtree(directory)


# --- damage -----------------------------------------------------------------------------------------------


def test_without_the_file_all_is_as_before(bundle: Memory) -> None:
    """The index can be deleted at any time, also while it is open."""
    before = texts(bundle, "memories/MEMORY.md")
    os.unlink(bundle.index.path)
    assert texts(bundle, "memories/MEMORY.md") == before
    assert bundle.warnings == []


@pytest.mark.parametrize("how", ["garbage", "truncated", "empty", "newer", "other tables"])
def test_a_damaged_database_is_made_anew(bundle: Memory, how: str) -> None:
    """The user is told in one line, and gets the same answer."""
    before = texts(bundle, "memories/MEMORY.md")
    bundle.index.close()
    path = bundle.index.path
    if how == "garbage":
        Path(path).write_bytes(os.urandom(50_000))
    elif how == "truncated":
        with open(path, "r+b") as file:
            file.truncate(os.path.getsize(path) // 2)
    elif how == "empty":
        Path(path).write_bytes(b"")
    else:
        connection = sqlite3.connect(path)
        if how == "newer":
            connection.execute(f"PRAGMA user_version = {VERSION + 7}")
        else:
            connection.execute("DROP TABLE meta")
        connection.commit()
        connection.close()
    assert texts(bundle, "memories/MEMORY.md") == before
    assert len(bundle.warnings) == 1
    assert "is rebuilt" in bundle.warnings[0]
    bundle.notices.clear()
    bundle.index.close()
    assert texts(bundle, "memories/MEMORY.md") == before
    assert bundle.warnings == []


def test_a_locked_database_does_not_stop_a_reader(bundle: Memory, monkeypatch: pytest.MonkeyPatch) -> None:
    """Another process that holds the database for itself: the answer comes from a private index."""
    monkeypatch.setattr("gitmem.index.database._WAIT_MS", 50)
    before = texts(bundle, "memories/MEMORY.md")
    bundle.index.close()
    holder = sqlite3.connect(bundle.index.path)
    holder.execute("PRAGMA locking_mode = EXCLUSIVE")
    holder.execute("BEGIN EXCLUSIVE")
    try:
        assert texts(bundle, "memories/MEMORY.md") == before
        assert any("another process holds it" in warning for warning in bundle.warnings)
    finally:
        holder.close()


def test_readers_do_not_wait_for_a_writer(bundle: Memory) -> None:
    """While one process writes, others read what is there."""
    bundle.index.current()
    writer = sqlite3.connect(bundle.index.path, isolation_level=None)
    writer.execute("BEGIN IMMEDIATE")
    try:
        assert texts(bundle, "memories/MEMORY.md") == ["tabs, not spaces"]
        assert bundle.warnings == []
    finally:
        writer.close()


@pytest.mark.skipif(os.name != "posix" or os.geteuid() == 0, reason="needs a user that permissions bind")
def test_a_read_only_directory(bundle: Memory) -> None:  # pragma: no cover - tests often run as root
    """A current index is read where nothing can be written; one that is behind is made privately."""
    before = texts(bundle, "memories/MEMORY.md")
    bundle.index.close()
    os.chmod(bundle.index.path, 0o444)
    os.chmod(bundle.state.directory, 0o555)
    try:
        assert texts(bundle, "memories/MEMORY.md") == before
        graft(bundle.repository, {"notes/a.md": concept("A")})
        assert texts(bundle, "notes/a.md") == ["A"]
    finally:
        os.chmod(bundle.state.directory, 0o755)


def test_a_full_disk(bundle: Memory, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing can be written: the answer is the same, and says that it was found without the index on disk."""
    import gitmem.memory.indexing as module
    from gitmem.errors import IndexTrouble

    def refuse(*_: object) -> None:
        raise IndexTrouble("unwritable", "the disk is full")

    monkeypatch.setattr(module, "publish", refuse)
    assert texts(bundle, "memories/MEMORY.md") == ["tabs, not spaces"]
    assert bundle.warnings == ["Searched without the index on disk: the disk is full."]
    graft(bundle.repository, {"notes/a.md": concept("A")})
    assert texts(bundle, "notes/a.md") == ["A"]


def test_forget_leaves_no_text_behind(bundle: Memory) -> None:
    """What must be erased is not in the index's files either."""
    graft(bundle.repository, {"notes/a.md": concept("Secretword")})
    bundle.index.current()
    bundle.index.forget()
    assert not any(b"Secretword" in data for data in contents(bundle.state.directory).values())


def test_the_real_capture_path_is_indexed(tmp_path: Path) -> None:
    """Turns, decisions and memory entries that were recorded are spans with their session."""
    made = new_bundle(tmp_path / "b")
    with made.session("s1") as session:
        session.record_turn("Which database?", "We take PostgreSQL.")
        session.record_decision("Use PostgreSQL", "It is known here", ("database",))
    made.curated.add("The user lives in Bern")
    spans = [span for span in made.index.current().spans_containing("") if span.session == "s1"]
    assert ("turn", "[user] Which database?\n[assistant] We take PostgreSQL.") in [
        (s.type, s.text) for s in spans
    ]
    decisions = [span for span in spans if span.type in ("decision", "Decision")]
    assert len(decisions) == 2
    assert len({span.text for span in decisions}) == 1
    assert decisions[0].tags == ("database",)
    assert same_as_rebuilt(made) == []


def test_the_end_of_a_process_closes_no_connection_under_a_worker(bundle: Memory) -> None:
    """A thread may be inside SQLite when the interpreter ends; closing its connection then crashes the process."""
    script = """
import os, sys, threading
from gitmem.index.database import Database
from gitmem.memory.opening import open_bundle
from gitmem.world import World

asked, over = threading.Event(), threading.Event()
close = Database.close
Database.close = lambda self: print("closed", flush=True) if asked.is_set() else close(self)
memory = open_bundle(World(os.environ), sys.argv[1], "read")

def work():
    index = memory.index.current()
    asked.set()
    over.wait()
    index.tip

threading.Thread(target=work, daemon=True).start()
asked.wait()
"""
    done = subprocess.run(
        [sys.executable, "-c", script, str(bundle.root)], capture_output=True, text=True, check=False
    )
    assert (0, "") == (done.returncode, done.stdout), done.stderr
