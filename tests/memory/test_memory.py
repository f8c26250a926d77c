"""The memory as a program uses it: its verbs, its life from opening to closing, threads and asyncio."""

from __future__ import annotations

import asyncio
import dataclasses
import os
import re
import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import gitmem
import pytest
from gitmem.errors import BundleBusy, StoreRefusal, UnknownRevision, UsageError
from gitmem.memory import aio
from gitmem.memory.aio import AsyncSession, in_thread
from gitmem.memory.indexing import Indexing
from gitmem.memory.memory import Memory
from gitmem.memory.opening import open_bundle
from gitmem.memory.session import Session
from gitmem.okf.plain import plain

from tests.git.support import run_git


def texts(memory: Memory, target: Any = "memory") -> list[str]:
    return [entry.text for entry in memory.curated.entries(target)]


# --- opening and closing ----------------------------------------------------------------------------------


def test_leaving_commits_what_waits_and_closes_all(make_bundle: Callable[..., Memory]) -> None:
    """Events of a session that nobody ended are in the memory, and no file is held open."""
    memory = make_bundle()
    before = len(os.listdir("/proc/self/fd"))
    with memory:
        session = memory.session("s1").start()
        session.record_observation("seen")
        memory.search("seen")
    for _ in range(10_000):  # threads close some of them in their own time
        if len(os.listdir("/proc/self/fd")) <= before:
            break
        time.sleep(0.01)
    else:
        pytest.fail("files are still held open")
    assert [event.fields["content"] for event in memory.sessions.events("s1")] == ["seen"]
    session.end()
    assert memory.sessions.get("s1").status == "closed"
    assert memory.close() == []


def test_closing_goes_on_after_a_failure(make_bundle: Callable[..., Memory]) -> None:
    """A bundle that is busy keeps the events in the journal; index and object store are closed all the same."""
    memory = make_bundle()
    memory.remember("known")
    session = memory.session("s1").start()
    session.record_observation("waits")
    memory.search("known")
    memory.commit = _busy  # type: ignore[method-assign]
    with pytest.raises(BundleBusy, match="1 event waits in the journal"):
        memory.close()
    assert not memory.repository.store._packs
    again = open_bundle(memory.world, memory.root, config=memory.config)
    assert [event.fields["content"] for event in again.sessions.events("s1")] == ["waits"]
    again.close()


def _busy(*_args: object, **_known: object) -> None:
    raise BundleBusy("The bundle is in use by somebody.")


def test_a_closed_memory_opens_what_it_needs(bundle: Memory) -> None:
    """Reading, searching and writing work again, also in a thread that had a connection before."""
    bundle.remember("one")
    go, closed, found = threading.Event(), threading.Event(), list[int]()

    def ask() -> None:
        found.append(len(bundle.search("one")))
        go.set()
        closed.wait()
        found.append(len(bundle.search("one")))

    thread = threading.Thread(target=ask)
    thread.start()
    go.wait()
    bundle.close()
    closed.set()
    thread.join()
    bundle.remember("two")
    assert (found, len(bundle.search("two"))) == ([1, 1], 1)
    assert bundle.warnings == []


def test_repr_is_short_and_never_fails(bundle: Memory, tmp_path: Path) -> None:
    """Where it is, also of a broken memory."""
    root, tip = str(tmp_path / "mem"), bundle.tip
    Path(root, ".git/refs/heads/main").write_text("nonsense\n")
    assert repr(bundle) == f"<Memory {root}>"
    Path(root, ".git/refs/heads/main").write_text(f"{tip}\n")


# --- verbs ------------------------------------------------------------------------------------------------


def test_every_result_is_frozen_and_says_what_it_is(bundle: Memory) -> None:
    """No result can be changed, and each has a `repr` on few lines without anything of Python's own."""
    bundle.remember("The garden needs water", reason="it is dry")
    with bundle.session("s1") as session:
        session.record_turn("What about the garden?", "It needs water.")
    bundle.snapshot("good")
    bundle.remember("late")
    results: list[Any] = [
        bundle.remember("another"),
        bundle.search("garden"),
        bundle.search("garden").hits[0],
        bundle.recall("garden"),
        bundle.recall("garden").recaps[0],
        bundle.context("garden"),
        next(bundle.log()),
        bundle.show(),
        bundle.diff("good"),
        bundle.diff("good").changes[0],
        bundle.blame("memories/MEMORY.md")[0],
        bundle.trace("garden"),
        bundle.trace("garden").lives[0],
        bundle.restore("good", dry_run=True),
        bundle.revert(text="late", dry_run=True),
        bundle.snapshots.get("good"),
        bundle.read_session("s1"),
    ]
    for result in results:
        field = dataclasses.fields(result)[0].name
        with pytest.raises(dataclasses.FrozenInstanceError):
            setattr(result, field, None)
        assert " object at 0x" not in repr(result)
        assert len(repr(result)) < 1000, repr(result)
    assert re.fullmatch(
        r"<LogEntry [0-9a-f]{8} 2026-06-30T14:00:\S+Z memory: add The garden needs water>",
        repr(next(bundle.log(text="The garden needs water"))),
    )
    assert repr(bundle.diff("good").changes[0]) == "<Change add memories/MEMORY.md: 'late'>"


def test_forget_and_replace_find_the_one_entry(bundle: Memory) -> None:
    """In whichever store it is; what fits none or several is refused, with those that may be meant."""
    bundle.remember("Deploys happen on Tuesdays")
    bundle.remember("Backups happen on Sundays")
    bundle.remember("The fan is loud", machine=True)
    bundle.remember("Ana drinks tea", target="user")
    bundle.replace("tea", "Ana drinks coffee")
    assert texts(bundle, "user") == ["Ana drinks coffee"]
    assert bundle.forget("fan").message.endswith(": The fan is loud")
    with pytest.raises(StoreRefusal, match="2 entries contain 'happen'") as several:
        bundle.forget("happen")
    assert several.value.near == ("Deploys happen on Tuesdays", "Backups happen on Sundays")
    with pytest.raises(StoreRefusal, match="No entry of the curated store contains 'Deployment'") as none:
        bundle.forget("Deployment")
    assert none.value.near == ("Deploys happen on Tuesdays",)
    with pytest.raises(StoreRefusal, match="No entry of the memory store"):
        bundle.forget("coffee", target="memory", machine=False)
    with pytest.raises(StoreRefusal, match="No entry of the curated store"):
        bundle.forget("coffee", target="memory")
    with pytest.raises(gitmem.Refused):
        bundle.forget(" ")
    bundle.forget("coffee")
    assert (texts(bundle, "user"), len(texts(bundle))) == ([], 2)


def test_verbs_belong_to_the_session_that_is_meant(make_bundle: Callable[..., Memory]) -> None:
    """The one named, the one of the environment, the one that is open on this machine, or none."""
    bundle = make_bundle()
    bundle.remember("nobody's")
    bundle.sessions.start("open", keep_open=True)
    bundle.remember("the open one's")
    env = {**bundle.world.env, "GITMEM_SESSION": "outside"}
    other = open_bundle(bundle.world._replace(env=env), bundle.root, config=bundle.config)
    other.remember("the environment's")
    other.record_observation("seen")
    other.remember("the named one's", session="named")
    other.snapshot("good")
    sessions = {entry.subject: entry.session for entry in bundle.log()}
    assert sessions["memory: add nobody's"] == ""
    assert sessions["memory: add the open one's"] == "open"
    assert sessions["memory: add the environment's"] == "outside"
    assert sessions["flush: 1 observation"] == "outside"
    assert sessions["memory: add the named one's"] == "named"
    assert sessions["snapshot: good"] == "outside"
    other.close()


def test_log_and_diff_take_what_the_command_line_takes(bundle: Memory) -> None:
    """Filters, limit and start; a wrong start is said at once; revisions or a session, not both."""
    bundle.remember("one", session="s1")
    bundle.remember("two", session="s2")
    bundle.snapshot("good")
    assert [entry.subject for entry in bundle.log(kind="memory", limit=1)] == ["memory: add two"]
    assert [entry.session for entry in bundle.log(text="one")] == ["s1"]
    assert [entry.subject for entry in bundle.log(start="HEAD~1", limit=1)] == ["memory: add two"]
    assert list(bundle.log(since="2026-07-01")) == []
    with pytest.raises(UnknownRevision):
        bundle.log(start="nosuch")
    changes = bundle.diff("HEAD~2", "HEAD~1", path="memories")
    assert [(change.op, change.path) for change in changes] == [("add", "memories/MEMORY.md")]
    assert (changes.old, changes.new) == (bundle.resolve("HEAD~2"), bundle.resolve("HEAD~1"))
    assert "+two" in "".join(changes.unified())
    assert bundle.diff(session="s1").session == "s1"
    with pytest.raises(UsageError, match="not both"):
        bundle.diff("HEAD~1", session="s1")
    with pytest.raises(UsageError, match="compare good with"):
        bundle.diff(b="good")
    Path(bundle.root, "memories/MEMORY.md").write_text("---\ntype: CuratedMemory\n---\nby hand\n")
    assert any(change.new and change.new.text == "by hand" for change in bundle.diff())
    bundle.take_in_edits(strict=True)


def test_a_change_of_the_whole_takes_hand_edits_in_first(bundle: Memory) -> None:
    """Snapshot, restore, revert, undo and redo, not only for the command line; a dry run leaves them alone."""
    bundle.remember("one")
    bundle.snapshot("good")
    bundle.remember("two")
    verbs: tuple[Callable[[], object], ...] = (
        lambda: bundle.restore("good"),
        bundle.undo,
        bundle.redo,
        lambda: bundle.revert(text="one"),
        bundle.snapshot,
    )
    for number, verb in enumerate(verbs):
        note = Path(bundle.root, f"notes/{number}.md")
        note.parent.mkdir(exist_ok=True)
        note.write_text(f"---\ntype: Note\n---\nnumber {number}\n")
        bundle.restore("good", dry_run=True)
        assert len(bundle.diff()) == 1
        verb()
        assert len(bundle.diff()) == 0
        assert [entry.kind for entry in bundle.log(path=f"notes/{number}.md")][-1] == "edit"


def test_one_path_and_one_tag_need_no_list(bundle: Memory) -> None:
    """A string is one path, or one tag, wherever several may be given."""
    bundle.remember("one")
    bundle.snapshot("good")
    bundle.remember("two")
    bundle.restore("good", paths="memories")
    assert texts(bundle) == ["one"]
    with bundle.session("s1") as session:
        session.record_decision("Use Postgres", tags="big data")
        session.buffer.push("decision", decision="Use Redis", tags="cache")
    bundle.record_decision("Use Kafka", tags=(tag for tag in ("queue", "log")))

    @gitmem.memorize_decision(bundle, tags="choice")
    def choose() -> str:
        return "Use SQLite"

    choose()
    assert [hit.tags for hit in bundle.search("use", type="Decision", tag="big data")] == [("big data",)]
    tags = {hit.text.partition("\n")[0]: hit.tags for hit in bundle.search("use", type="Decision")}
    assert sorted(tags.values()) == [("big data",), ("cache",), ("choice",), ("queue", "log")]


# --- sessions ---------------------------------------------------------------------------------------------


def test_a_session_remembers_in_its_own_name(bundle: Memory) -> None:
    """The entry's commit names session, model and reason; so blame and revert find it."""
    with bundle.session("monday", model="m1", platform="script") as session:
        answer = session.remember("The staging host is stage1", reason="seen", source="a ticket")
    entry = bundle.show(answer.commit).entry
    assert (entry.session, entry.first("Model"), entry.first("Reason")) == ("monday", "m1", "seen")
    assert bundle.blame("memories/MEMORY.md")[0].introduced.first("Source") == "a ticket"
    bundle.revert(session="monday")
    assert texts(bundle) == []


def test_a_session_without_with(bundle: Memory) -> None:
    """`start` and `end`, each as often as one likes; in between it is open, else it says how to open it."""
    session = bundle.session()
    assert (session.id, repr(session)) == ("", "<Session new: not open>")
    with pytest.raises(UsageError, match="is not open"):
        session.record_observation("too early")
    assert session.start() is session.start()
    assert repr(session) == f"<Session {session.id}: open>"
    session.record_observation("one")
    session.end(title="A title")
    session.end()
    with pytest.raises(UsageError, match="is not open"):
        session.record_observation("too late")
    assert bundle.sessions.get(session.id).get("title") == "A title"
    session.start().record_observation("resumed")
    session.end()
    assert [event.fields["content"] for event in bundle.sessions.events(session.id)] == ["one", "resumed"]
    assert [state.id for state in bundle.sessions.all()] == [session.id]


def test_a_session_that_cannot_end_stays_open(bundle: Memory) -> None:
    """Where the memory is busy, `end` raises and can be called again; nothing is lost."""
    session = bundle.session("s1").start()
    session.record_observation("kept")
    commit = bundle.commit
    bundle.commit = _busy  # type: ignore[method-assign]
    with pytest.raises(BundleBusy):
        session.end()
    bundle.commit = commit  # type: ignore[method-assign]
    session.end()
    assert bundle.sessions.get("s1").status == "closed"
    assert [event.fields["content"] for event in bundle.sessions.events("s1")] == ["kept"]


# --- what a caller gets -----------------------------------------------------------------------------------

CONTROLS = "".join(map(chr, range(32)))
SPACES = "\r\x0b\x0c\x1c\x1d\x1e\x1f"  # the others are held back by the scanner on the way out


def _clean(text: str) -> bool:
    return not any(ord(char) < 32 and char not in "\n\t" for char in text)


def test_no_control_characters_in_what_a_caller_gets(bundle: Memory) -> None:
    """Whatever is in files and commits: search, recall, context and log hand over none."""
    with bundle.session("s1", title=f"title {CONTROLS}") as session:
        session.record_observation(f"garden {SPACES} gate")
        session.record_turn(f"garden {SPACES}", f"gate\r\n{SPACES}")
        session.record_observation(f"garden {CONTROLS} gate \x02marked\x03")
    raw = (
        f"tree {bundle.tree().oid}\nparent {bundle.tip}\nauthor A <a@x> 1782828000 +0000\n"
        f"committer A <a@x> 1782828000 +0000\n\nflush: \x1b[2J subject\n\nKind: flush\nSession: s\x1b1\n"
    )
    made = run_git(
        bundle.root, "hash-object", "-t", "commit", "-w", "--stdin", "--literally", stdin=raw.encode()
    )
    run_git(bundle.root, "update-ref", "refs/heads/main", made.strip())
    entry = next(bundle.log())
    assert (entry.subject, entry.session) == ("flush: ␛[2J subject", "s␛1")
    found = bundle.search("garden gate")
    assert (len(found), found.withheld) == (2, 1)
    for hit in found:
        assert _clean(hit.text + hit.snippet)
        assert {hit.snippet[start:end] for start, end in hit.marks} <= {"garden", "gate"}
        assert hit.marks
    [recap] = bundle.recall("garden gate", current="other").recaps
    lines = [line.text for line in (*recap.began, *recap.ended, *bundle.read_session("s1").lines)]
    assert all(map(_clean, [recap.recap, recap.about.title, *lines]))
    assert "␛" in recap.about.title
    assert _clean(bundle.context("garden gate").lines)


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ("as it is\n\tand äöü ✓", "as it is\n\tand äöü ✓"),
        ("a\r\nb\rc", "a\nb\nc"),
        ("a\x0bb\x0cc\x1fd", "a b c d"),
        ("\x00\x07\x1b[31m", "␀␇␛[31m"),
    ],
)
def test_plain(given: str, expected: str) -> None:
    """White space stays some, all else is shown."""
    assert plain(given) == expected


# --- threads and asyncio ----------------------------------------------------------------------------------


def test_threads_share_a_memory(make_bundle: Callable[..., Memory]) -> None:
    """Eight threads remember, record, search, read and name states at once; nothing is lost, nothing fails."""
    memory = make_bundle(memory_char_limit=100_000)

    def work(number: int) -> None:
        with memory.session(f"s{number}") as session:
            for step in range(4):
                session.record_observation(f"observation {number}-{step}")
                memory.remember(f"fact {number} and {step} of the garden", session=session.id)
                assert memory.search("garden").hits
                assert next(memory.log()).id
                memory.context("garden")
            memory.snapshot(f"state-{number}")
            assert len(memory.diff(session=session.id)) >= 8

    with ThreadPoolExecutor(8) as pool:
        for done in [pool.submit(work, number) for number in range(8)]:
            done.result()
    expected = sorted(f"fact {number} and {step} of the garden" for number in range(8) for step in range(4))
    assert sorted(texts(memory)) == expected
    assert len(memory.snapshots.all(automatic=False)) == 8
    assert all(len(memory.sessions.events(f"s{number}")) == 4 for number in range(8))
    assert memory.warnings == []
    memory.close()


def test_connections_of_all_threads_are_closed(bundle: Memory) -> None:
    """Those of threads that live, and those of threads that ended."""
    bundle.remember("one")
    with ThreadPoolExecutor(3) as pool:
        barrier = threading.Barrier(3)
        list(pool.map(lambda _: (barrier.wait(), bundle.search("one")), range(3)))
        opened = list(bundle.part(Indexing)._open)
        assert len(opened) == 3
        bundle.close()
    for index in opened:
        with pytest.raises(Exception, match="closed database"):
            index.database.sql.execute("SELECT 1")


def test_verbs_are_awaited_in_asyncio(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """All of it, and nothing in the loop's own thread; leaving closes."""
    monkeypatch.setenv("HOME", str(tmp_path))
    threads = set[int]()
    commit = Memory.commit

    def noted(self: Memory, *args: Any, **known: Any) -> Any:
        threads.add(threading.get_ident())
        return commit(self, *args, **known)

    monkeypatch.setattr(Memory, "commit", noted)

    async def agent() -> Memory:
        async with gitmem.open_async(tmp_path / "mem", create=True) as memory:
            await memory.remember("Deploys happen on Tuesdays")
            async with memory.session("monday") as session:
                assert isinstance(session, AsyncSession)
                await session.record_decision("Use Postgres", tags="database")
                await session.remember("stage1")
                assert "stage1" in await session.prompt_block()
                assert repr(session) == "<AsyncSession monday: open>"
            await memory.snapshot("good")
            found, log, blamed = await asyncio.gather(
                memory.search("postgres"), memory.log(session="monday"), memory.blame("memories/MEMORY.md")
            )
            assert (len(found), isinstance(log, list), len(blamed)) == (1, True, 2)
            await memory.revert(session="monday")
            await memory.undo()
            await memory.redo()
            await memory.restore("good")
            await memory.forget("Tuesdays")
            assert repr(memory).startswith("<AsyncMemory ")
            assert memory.warnings == []
            plain_memory = memory.memory
            async with plain_memory.session("tuesday") as other:
                await other.record_turn("hello", "hi")
            return plain_memory

    memory = asyncio.run(agent())
    assert threads
    assert threading.get_ident() not in threads
    assert not memory.repository.store._packs
    assert [(state.id, state.status) for state in memory.sessions.all()] == [("tuesday", "closed")]
    memory.close()


def test_the_stub_of_asyncio_has_every_verb() -> None:
    """A verb that comes to Memory or Session is awaited by itself; the stub, which types it, must name it too."""
    stub = Path(aio.__file__).with_suffix(".pyi").read_text()
    nouns = {"curated", "sessions", "plans", "skills", "snapshots", "ledger", "index"}
    plain = {"session", "session_named", "read_log"}
    own = {name for name in vars(Memory) if not name.startswith("_")} - nouns - plain
    assert own == set(re.findall(r"(\w+) = (?:_Verb\(|_Listed\()?Memory\.", stub)) - {"close"}
    ours = set(re.findall(r"(\w+) = _Verb\(Session\.", stub))
    assert ours <= {name for name in vars(Session) if not name.startswith("_")}
    assert {"end", "remember", "said", "answered", "record_turn", "context", "compress"} <= ours


def test_what_a_memory_offers_is_few_names_with_their_words(bundle: Memory) -> None:
    """Completion in a shell shows the product, and help says what each is."""
    assert len(dir(bundle)) <= 45
    silent = [name for name in dir(bundle) if name != "config" and not getattr(Memory, name).__doc__]
    assert silent == []


def test_a_date_may_be_a_datetime(bundle: Memory) -> None:
    """Wherever a date may be written, with a zone or in that of the machine."""
    bundle.remember("Deploys happen on Tuesdays")
    later, earlier = bundle.world.clock() + timedelta(days=1), bundle.world.clock() - timedelta(days=1)
    for before, after in ((earlier, later), (earlier.replace(tzinfo=None), later.replace(tzinfo=None))):
        assert len(bundle.search("deploys", since=before, until=after)) == 1
        assert len(bundle.search("deploys", since=after)) == 0
        assert list(bundle.log(since=after)) == []
        assert "Tuesdays" in bundle.prompt_block(as_of=after)
        assert bundle.digest(before, after) is not None
    assert bundle.show(later).entry.id == bundle.tip


def test_the_clock_may_be_given(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """So that a program can tell an older story."""
    monkeypatch.setenv("HOME", str(tmp_path))
    then = datetime(2031, 5, 6, 7, 8, tzinfo=UTC)
    with gitmem.open(tmp_path / "mem", create=True, clock=lambda: then) as memory:
        memory.remember("Written later")
        assert next(memory.log()).at.startswith("2031-05-06T07:08")


def test_a_cancelled_verb_is_finished_first(bundle: Memory) -> None:
    """The caller is cancelled when the thread is done: nobody closes a memory under it."""
    begun, done = threading.Event(), list[str]()

    def slow() -> None:
        begun.set()
        time.sleep(0.1)
        bundle.remember("in the middle")
        done.append("done")
        raise UsageError("nobody hears this")

    async def main() -> None:
        task = asyncio.create_task(in_thread(slow))
        await asyncio.to_thread(begun.wait)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        assert done == ["done"]

    asyncio.run(main())
    assert texts(bundle) == ["in the middle"]
