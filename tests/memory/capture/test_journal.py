from __future__ import annotations

import errno
import fcntl
import json
import os
import random
import select
import shutil
import signal
import subprocess
import sys
import textwrap
import threading
import time
import weakref
from collections.abc import Iterator, Mapping
from contextlib import closing, contextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from gitmem.errors import BundleBusy, BundleUnusable, GitMemError, InvalidContent, TooLarge, UsageError
from gitmem.memory.capture import journal as module
from gitmem.memory.capture import journal_format
from gitmem.memory.capture.journal import Fsync, Journal
from gitmem.memory.capture.journal_format import MAX_EVENT_BYTES, Record
from gitmem.memory.capture.recovery import AbandonedJournal, abandoned, pending_count
from gitmem.memory.capture.recovery import damaged as damaged_files
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

MOMENT = datetime(2026, 6, 30, 14, 0, 0, 123000, tzinfo=UTC)
AT = "2026-06-30T14:00:00.123Z"
PRELUDE = """
import os, random, signal, sys, time
from datetime import UTC, datetime
from gitmem.errors import GitMemError
from gitmem.memory.capture.recovery import abandoned
from gitmem.memory.capture.journal import Journal
directory = sys.argv[1]
def say(text): os.write(1, f"{text}\\n".encode())
def create(fsync="interval"):
    return Journal.create(directory, clock=lambda: datetime.now(UTC), fsync=fsync, interval_ms=5)
"""


def clock() -> datetime:
    return MOMENT


def new(directory: Path, fsync: Fsync = "off", interval_ms: int = 50) -> Journal:
    return Journal.create(str(directory), clock=clock, fsync=fsync, interval_ms=interval_ms)


def push(journal: Journal, *texts: str) -> list[Record]:
    return [journal.append("observation", {"content": text}, "s1") for text in texts]


def file_of(directory: Path, journal: Journal) -> Path:
    return directory / f"{journal.uuid}.jsonl"


def left(directory: Path) -> list[str]:
    """The names in the directory, by ending."""
    return sorted(path.suffix for path in directory.iterdir())


@contextmanager
def dead(directory: Path) -> Iterator[AbandonedJournal]:
    """The one journal that nobody holds."""
    [found] = abandoned(str(directory))
    try:
        yield found
    finally:
        found.release()


@contextmanager
def child(script: str, directory: Path) -> Iterator[subprocess.Popen[bytes]]:
    """A Python process that runs the script on that directory; killed at the end, if it still lives."""
    process = subprocess.Popen(
        [sys.executable, "-c", PRELUDE + textwrap.dedent(script), str(directory)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        bufsize=0,  # `kill_after` reads on where `line_from` stopped
    )
    try:
        yield process
    finally:
        process.kill()
        process.communicate()


def line_from(process: subprocess.Popen[bytes]) -> str:
    """The next line that the child says."""
    assert process.stdout is not None
    line = process.stdout.readline()
    if not line:
        assert process.stderr is not None
        raise AssertionError(process.stderr.read().decode())
    return line.decode().rstrip("\n")


def run_child(script: str, directory: Path) -> list[str]:
    """What a child said that ran to its end."""
    with child(script, directory) as process:
        said, complaint = process.communicate(timeout=120)
        assert process.returncode == 0, complaint.decode()
    return said.decode().splitlines()


def kill_after(process: subprocess.Popen[bytes], seconds: float) -> list[str]:
    """Read what the child says for that long, kill it, and give every whole line it got out."""
    assert process.stdout is not None
    said = b""
    deadline = time.monotonic() + seconds
    descriptor = process.stdout.fileno()
    while (wait := deadline - time.monotonic()) > 0:
        if select.select([descriptor], [], [], wait)[0]:
            said += os.read(descriptor, 1 << 16)
    process.send_signal(signal.SIGKILL)
    process.wait()
    while more := os.read(descriptor, 1 << 16):
        said += more
    return said.decode().split("\n")[:-1]


# --- pushing and forgetting ------------------------------------------------------------------------------


def test_append_gives_the_record_and_stores_it(tmp_path: Path) -> None:
    """What append returns is what the journal holds, numbered from 1 and stamped by the clock."""
    with closing(new(tmp_path)) as journal:
        record = journal.append("decision", {"decision": "tabs", "tags": ["a"]}, "s1", {"agent": "hermes"})
        expected = Record(1, "decision", AT, "s1", {"decision": "tabs", "tags": ["a"]}, {"agent": "hermes"})
        assert expected == record
        assert [expected] == journal.records()
        assert f"{journal.uuid}-1" == record.id(journal.uuid)


def test_the_file_is_as_specified(tmp_path: Path) -> None:
    """A line is eight hexadecimal digits of CRC-32, a space and JSON; the first one names the journal."""
    import zlib

    with closing(new(tmp_path)) as journal:
        push(journal, "zwölf § 日本")
        lines = file_of(tmp_path, journal).read_bytes().split(b"\n")
        assert lines.pop() == b""
        for line in lines:
            assert b"%08x " % zlib.crc32(line[9:]) == line[:9]
        assert [
            {"journal": journal.uuid, "format": 1},
            {
                "seq": 1,
                "kind": "observation",
                "at": AT,
                "session": "s1",
                "fields": {"content": "zwölf § 日本"},
                "context": {},
            },
        ] == [json.loads(line[9:]) for line in lines]


def test_append_is_one_write(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """One line, one write: nobody ever reads half an event from a live journal."""
    written: list[bytes] = []
    real = os.write

    def write(descriptor: int, data: bytes) -> int:
        written.append(data)
        return real(descriptor, data)

    with closing(new(tmp_path)) as journal:
        monkeypatch.setattr(os, "write", write)
        push(journal, "a\nb\r\n\u2028c", "d")
        assert [data.count(b"\n") for data in written] == [1, 1]
        assert [record.fields["content"] for record in journal.records()] == ["a\nb\r\n\u2028c", "d"]


def test_the_event_is_in_the_file_before_append_returns(tmp_path: Path) -> None:
    """Another process can read it at once, whatever the fsync policy."""
    for fsync in ("always", "interval", "off"):
        with closing(new(tmp_path / fsync, fsync)) as journal:
            push(journal, "needle")
            assert b"needle" in file_of(tmp_path / fsync, journal).read_bytes()


def test_a_given_time_is_kept_in_canonical_form(tmp_path: Path) -> None:
    """An event that comes with its own time keeps it, in the bundle's form."""
    with closing(new(tmp_path)) as journal:
        record = journal.append("observation", {}, "s1", at="2026-01-02T03:04:05+02:00")
        assert record.at == "2026-01-02T01:04:05.000Z"


def test_a_time_that_is_none_is_refused(tmp_path: Path) -> None:
    """A text that names no moment is an error with an example, and stores nothing."""
    with closing(new(tmp_path)) as journal:
        with pytest.raises(InvalidContent, match=r"yesterday.*like 2026-"):
            journal.append("observation", {}, "s1", at="yesterday")
        assert journal.records() == []


def test_a_clock_that_goes_backwards_does_not_change_the_order(tmp_path: Path) -> None:
    """`at` is what the clock says; the order is that of the pushes."""
    moments = iter([MOMENT, MOMENT - timedelta(days=1), MOMENT - timedelta(days=2)])
    journal = Journal.create(str(tmp_path), clock=lambda: next(moments), fsync="off", interval_ms=1)
    push(journal, "a", "b", "c")
    assert [record.at[:10] for record in journal.records()] == ["2026-06-30", "2026-06-29", "2026-06-28"]
    journal.close()
    with dead(tmp_path) as found:
        assert [record.seq for record in found.records] == [1, 2, 3]


@pytest.mark.parametrize("fsync", ["always", "interval", "off"])
def test_forget_all_keeps_counting(tmp_path: Path, fsync: Fsync) -> None:
    """After everything is forgotten the numbers go on."""
    with closing(new(tmp_path, fsync)) as journal:
        push(journal, "a", "b")
        journal.forget(2)
        assert journal.records() == []
        assert pending_count(str(tmp_path)) == 0
        assert [record.seq for record in push(journal, "c")] == [3]
        assert [record.seq for record in journal.records()] == [3]


@pytest.mark.parametrize("fsync", ["always", "interval", "off"])
def test_forget_some_keeps_the_rest(tmp_path: Path, fsync: Fsync) -> None:
    """Events pushed while a flush was under way stay, and later ones go behind them."""
    with closing(new(tmp_path, fsync)) as journal:
        push(journal, "a", "b", "c", "d")
        journal.forget(2)
        push(journal, "e")
        assert [(r.seq, r.fields["content"]) for r in journal.records()] == [(3, "c"), (4, "d"), (5, "e")]
        assert pending_count(str(tmp_path)) == 3
        journal.forget(3)
        journal.forget(1)
        assert [record.seq for record in journal.records()] == [4, 5]
        assert left(tmp_path) == [".jsonl", ".lock"]


def test_forget_leaves_what_is_to_be_kept(tmp_path: Path) -> None:
    """A record that still counts outlives the events around it, until it counts no more."""
    with closing(new(tmp_path)) as journal:
        push(journal, "a", "b", "c", "d")
        journal.forget(4, keep={2})
        assert [2] == [record.seq for record in journal.records()]
        push(journal, "e")
        journal.forget(5, keep={2})
        assert [2] == [record.seq for record in journal.records()]
        journal.forget(5)
        assert [] == journal.records()


def test_forget_of_nothing_is_fine(tmp_path: Path) -> None:
    """An empty journal, number 0 and numbers far ahead are all harmless."""
    with closing(new(tmp_path)) as journal:
        journal.forget(0)
        journal.forget(99)
        push(journal, "a")
        assert [record.seq for record in journal.records()] == [1]
        journal.forget(0)
        assert [record.seq for record in journal.records()] == [1]


def test_a_damaged_line_is_not_dropped_by_forget(tmp_path: Path) -> None:
    """Forgetting drops what it knows to be committed, and a line it cannot read is not that."""
    journal = new(tmp_path)
    push(journal, "a", "b", "c")
    path = file_of(tmp_path, journal)
    lines = path.read_bytes().split(b"\n")
    lines[2] = b"#" + lines[2][1:]
    path.write_bytes(b"\n".join(lines))
    journal.forget(1)
    assert [record.seq for record in journal.records()] == [3]
    journal.close()
    with dead(tmp_path) as found:
        assert [record.seq for record in found.records] == [3]
        assert len(found.problems) == 1


def test_close_leaves_pending_events_and_clears_an_empty_journal(tmp_path: Path) -> None:
    """Nothing is left of an empty journal; one with events waits, unheld."""
    journal = new(tmp_path)
    push(journal, "a")
    journal.close()
    journal.close()
    assert left(tmp_path) == [".jsonl", ".lock"]
    with dead(tmp_path) as found:
        found.discard()
    assert left(tmp_path) == []
    with closing(new(tmp_path)) as other:
        push(other, "a")
        other.forget(1)
    assert left(tmp_path) == []


def test_a_closed_journal_says_so(tmp_path: Path) -> None:
    """A push after the end is an error that says the event is not stored."""
    journal = new(tmp_path)
    journal.close()
    with pytest.raises(UsageError, match=r"closed.*NOT stored"):
        push(journal, "a")
    with pytest.raises(UsageError, match="closed"):
        journal.records()


def test_a_dropped_journal_is_abandoned(tmp_path: Path) -> None:
    """A journal that nobody closed and nobody has any more waits for the next start, thread or not."""
    journal = new(tmp_path, "interval", 5)
    push(journal, "a")
    time.sleep(0.05)
    del journal
    deadline = time.monotonic() + 120
    while not (found := abandoned(str(tmp_path))) and time.monotonic() < deadline:
        time.sleep(0.01)
    assert [record.fields["content"] for record in found[0].records] == ["a"]
    found[0].discard()


def test_a_journal_where_none_can_be(tmp_path: Path) -> None:
    """A directory that cannot be made is a clear error."""
    (tmp_path / "file").write_text("")
    with pytest.raises(BundleUnusable, match="No journal can be kept"):
        new(tmp_path / "file" / "journal")


# --- fsync -----------------------------------------------------------------------------------------------


@pytest.fixture
def syncs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """Moments at which the data of a file of this test was brought to the disk.

    The syncing thread of another test's journal may still run in this process, and is not counted.
    """
    moments: list[float] = []
    real = module._fdatasync

    def fdatasync(descriptor: int) -> None:
        real(descriptor)
        synced = os.fstat(descriptor)
        if any(os.path.samestat(synced, path.stat()) for path in tmp_path.rglob("*.jsonl")):
            moments.append(time.monotonic())

    monkeypatch.setattr(module, "_fdatasync", fdatasync)
    return moments


def test_always_syncs_each_push_before_it_returns(tmp_path: Path, syncs: list[float]) -> None:
    """As many syncs as pushes, and the name of the file too."""
    with closing(new(tmp_path, "always")) as journal:
        push(journal, "a")
        assert len(syncs) == 1
        assert not journal._unnamed
        push(journal, "b")
        assert len(syncs) == 2


def test_off_never_syncs(tmp_path: Path, syncs: list[float]) -> None:
    """Neither push nor forget nor close waits for the disk."""
    with closing(new(tmp_path, "off")) as journal:
        push(journal, "a", "b", "c")
        journal.forget(1)
    assert syncs == []


class Pauses:
    """Stands for the event that ends the syncing thread, and lets the test say when a pause is over."""

    def __init__(self) -> None:
        self.lengths: list[float] = []
        self.over = threading.Event()
        self.end = False

    def wait(self, seconds: float) -> bool:
        self.lengths.append(seconds)
        self.over.wait()
        self.over.clear()
        return self.end


@contextmanager
def slow_syncer(directory: Path) -> Iterator[tuple[Journal, Pauses]]:
    """A journal whose syncing thread pauses for as long as the test wants."""
    pauses = Pauses()
    with closing(new(directory, "interval", 200)) as journal:
        thread = threading.Thread(
            target=module._keep_synced, args=(weakref.ref(journal), journal._wake, pauses, journal._seconds)
        )
        journal._syncer = thread
        thread.start()
        try:
            yield journal, pauses
        finally:
            pauses.end = True
            journal._wake.set()
            while thread.is_alive():
                pauses.over.set()
                thread.join(0.01)


def test_interval_syncs_the_last_push_after_one_pause(tmp_path: Path, syncs: list[float]) -> None:
    """A push that is followed by none is on disk after the interval, and then the disk has its peace."""
    with slow_syncer(tmp_path) as (journal, pauses):
        for number in (1, 2):
            push(journal, "a")
            until(lambda number=number: len(pauses.lengths) == number)
            assert len(syncs) == number - 1
            pauses.over.set()
            until(lambda number=number: len(syncs) == number)
            assert not journal._wake.is_set()
        assert pauses.lengths == [0.2, 0.2]


def test_interval_syncs_once_for_many_pushes(tmp_path: Path, syncs: list[float]) -> None:
    """All pushes of an interval share a sync, and one thread does it."""
    with slow_syncer(tmp_path) as (journal, pauses):
        push(journal, *["a"] * 100)
        until(lambda: len(pauses.lengths) == 1)
        push(journal, *["a"] * 100)
        pauses.over.set()
        until(lambda: len(syncs) == 1)
        assert pauses.lengths == [0.2]


def test_interval_has_one_thread(tmp_path: Path) -> None:
    """However many pushes there are, one thread sees to the disk."""
    with closing(new(tmp_path, "interval", 5)) as journal:
        push(journal, *["a"] * 50)
        assert sum(thread.name.endswith(journal.uuid[:8]) for thread in threading.enumerate()) == 1


def test_a_failed_sync_of_a_push_stores_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Under `always`, an event that cannot be brought to the disk is taken back, and the next one works."""
    with closing(new(tmp_path, "always")) as journal:
        push(journal, "a")
        with monkeypatch.context() as patch:
            patch.setattr(module, "_fdatasync", failing(errno.EIO))
            with pytest.raises(GitMemError, match="NOT stored"):
                push(journal, "b")
        push(journal, "c")
        assert [(r.seq, r.fields["content"]) for r in journal.records()] == [(1, "a"), (3, "c")]


def test_a_failed_sync_in_the_background_is_told_and_made_good(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The events are written again to a new file, because a second fsync of the old one proves nothing."""
    journal = new(tmp_path, "interval", 5)
    with monkeypatch.context() as patch:
        patch.setattr(module, "_fdatasync", failing(errno.EIO))
        push(journal, "a")
        until(lambda: journal.trouble != "")
        assert "power cut" in journal.trouble
    inode = file_of(tmp_path, journal).stat().st_ino
    push(journal, "b")
    until(lambda: journal.trouble == "")
    assert inode != file_of(tmp_path, journal).stat().st_ino
    assert [record.fields["content"] for record in journal.records()] == ["a", "b"]
    journal.close()


def failing(number: int) -> Any:
    def fail(*_: object) -> None:
        raise OSError(number, os.strerror(number))

    return fail


def until(condition: Any) -> None:
    deadline = time.monotonic() + 120
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.005)


# --- full disks and removed files ------------------------------------------------------------------------


def test_a_full_disk_leaves_no_half_line(tmp_path: Path) -> None:
    """A write that only half fits is taken back; the error says so; with room again the journal goes on."""
    said = run_child(
        """
        import resource
        journal = create("off")
        resource.setrlimit(resource.RLIMIT_FSIZE, (5000, resource.RLIM_INFINITY))
        refused = 0
        for number in range(30):
            try:
                say(journal.append("observation", {"content": "x" * 300}, "s").seq)
            except GitMemError as error:
                refused += 1
                assert "NOT stored" in str(error) and "too large" in str(error), error
        assert refused > 10
        [path] = [f for f in os.listdir(directory) if f.endswith(".jsonl")]
        assert open(os.path.join(directory, path), "rb").read().endswith(b"}\\n")
        journal.append("observation", {}, "s")  # a small one still fits
        resource.setrlimit(resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
        assert journal.append("observation", {"content": "last"}, "s").seq == 32
        """,
        tmp_path,
    )
    with dead(tmp_path) as found:
        assert [*map(int, said), 31, 32] == [record.seq for record in found.records]
        assert found.problems == []


def test_a_half_line_that_could_not_be_taken_back_is_so_later(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """When even the cut fails, no event is written behind the half line until the cut has worked."""
    journal = new(tmp_path)
    push(journal, "a")
    real_write, real_truncate = os.write, os.ftruncate
    calls: list[int] = []

    def write(descriptor: int, data: bytes) -> int:
        calls.append(len(data))
        if len(calls) == 2:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        return real_write(descriptor, data[: len(data) // 2])

    monkeypatch.setattr(os, "write", write)
    monkeypatch.setattr(os, "ftruncate", failing(errno.EIO))
    with pytest.raises(GitMemError, match=r"NOT stored.*No space left"):
        push(journal, "b" * 100)
    monkeypatch.setattr(os, "write", real_write)
    assert b"bbb" in file_of(tmp_path, journal).read_bytes()
    with pytest.raises(GitMemError, match=r"NOT stored.*Input/output"):
        push(journal, "c")
    monkeypatch.setattr(os, "ftruncate", real_truncate)
    push(journal, "d")
    journal.close()
    with dead(tmp_path) as found:
        assert [record.fields["content"] for record in found.records] == ["a", "d"]
        assert found.problems == []


def test_forget_on_a_full_disk_loses_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The events stay, the error says that none will be stored twice, and the next forget works."""
    with closing(new(tmp_path)) as journal:
        push(journal, "a", "b")
        with monkeypatch.context() as patch:
            patch.setattr(os, "replace", failing(errno.ENOSPC))
            with pytest.raises(BundleUnusable, match="none is stored twice"):
                journal.forget(1)
        assert left(tmp_path) == [".jsonl", ".lock"]
        assert [record.seq for record in journal.records()] == [1, 2]
        journal.forget(1)
        push(journal, "c")
        assert [record.seq for record in journal.records()] == [2, 3]


def test_a_removed_file_comes_back_with_the_next_push(tmp_path: Path) -> None:
    """Somebody cleared the directory under a live writer: no acknowledged event goes with it."""
    directory = tmp_path / "journal"
    journal = new(directory)
    push(journal, "a", "b")
    journal.forget(1)
    shutil.rmtree(directory)
    push(journal, "c")
    assert [record.fields["content"] for record in journal.records()] == ["b", "c"]
    assert abandoned(str(directory)) == []
    assert left(directory) == [".jsonl", ".lock"]
    journal.close()
    with dead(directory) as found:
        assert [record.seq for record in found.records] == [2, 3]


def test_a_removed_bundle_stays_removed(tmp_path: Path) -> None:
    """A push does not make the parents of the directory again; it says that nothing was stored."""
    journal = new(tmp_path / "bundle" / "journal")
    push(journal, "a")
    shutil.rmtree(tmp_path / "bundle")
    with pytest.raises(BundleUnusable, match="NOT stored"):
        push(journal, "b")
    assert not (tmp_path / "bundle").exists()


# --- values ----------------------------------------------------------------------------------------------

ANY_TEXT = st.text(st.characters(categories=None) | st.sampled_from("\0\ud800\udfff\n\r\u2028\u0085§"))
MANY = settings(deadline=None, max_examples=150, suppress_health_check=[HealthCheck.function_scoped_fixture])


def stored(directory: Path, fields: Mapping[str, object]) -> dict[str, object]:
    """The fields as a later start reads them, which are also those that append gave."""
    journal = new(directory)
    record = journal.append("observation", fields, "s1")
    assert [record] == journal.records()
    journal.close()
    with dead(directory) as found:
        assert [record] == found.records
        assert found.problems == []
        found.discard()
    return record.fields


@MANY
@given(fields=st.dictionaries(ANY_TEXT, ANY_TEXT, max_size=4), session=ANY_TEXT, kind=ANY_TEXT)
def test_any_text_is_stored_as_something(
    tmp_path: Path, fields: dict[str, object], session: str, kind: str
) -> None:
    """Whatever is said, what append returns is what is read back, is UTF-8 and has no NUL."""
    journal = new(tmp_path)
    record = journal.append(kind, fields, session, {kind: session})
    assert [record] == journal.records()
    journal.forget(1)
    journal.close()
    text = repr(record.session + record.kind) + json.dumps(record.fields, ensure_ascii=False)
    text.encode()
    assert "\0" not in record.session + record.kind
    assert "\\u0000" not in text


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ("a\0b", "a\u2400b"),
        ("a\ud800b\udfff", "a\ufffdb\ufffd"),
        (Path("/tmp/x"), "/tmp/x"),
        ([1, 2], [1, 2]),
    ],
)
def test_values_that_json_does_not_hold(tmp_path: Path, value: object, expected: object) -> None:
    """Each becomes the nearest text; numbers of notes stay numbers."""
    assert {"v": expected} == stored(tmp_path, {"v": value})


def test_five_megabytes_work_and_nine_do_not(tmp_path: Path) -> None:
    """A 5 MB event is stored whole; over the limit it is an error, never a cut."""
    with closing(new(tmp_path)) as journal:
        text = "ä§日 x" * (5_000_000 // 9)
        journal.append("tool_call", {"result": text}, "s1")
        with pytest.raises(TooLarge, match=r"NOT stored.*larger than 8 MiB.*in parts"):
            journal.append("tool_call", {"result": "x" * (MAX_EVENT_BYTES + 1)}, "s1")
        with pytest.raises(TooLarge):
            journal.append("tool_call", {"result": "\x01" * 5_000_000}, "s1")
        push(journal, "after")
        assert [text] == [r.fields["result"] for r in journal.records() if r.kind == "tool_call"]
        journal.forget(1)
        assert [record.fields["content"] for record in journal.records()] == ["after"]


def test_the_callers_values_can_change_later(tmp_path: Path) -> None:
    """A record does not share its fields with the caller."""
    with closing(new(tmp_path)) as journal:
        fields: dict[str, object] = {"text": "b"}
        record = journal.append("decision", fields, "s1")
        fields["text"] = "d"
        assert record.fields == {"text": "b"}


# --- what dead writers left ------------------------------------------------------------------------------


def test_a_held_journal_is_not_abandoned(tmp_path: Path) -> None:
    """Neither this process nor another one takes a journal whose writer lives; once it is dead, they do."""
    with child(
        'journal = create(); say(journal.append("observation", {}, "s").seq); sys.stdin.read()', tmp_path
    ) as p:
        assert line_from(p) == "1"
        assert abandoned(str(tmp_path)) == []
        assert pending_count(str(tmp_path)) == 1
        with closing(new(tmp_path)) as mine:
            push(mine, "a")
            assert abandoned(str(tmp_path)) == []
            assert run_child("say(len(abandoned(directory)))", tmp_path) == ["0"]
            assert pending_count(str(tmp_path)) == 2
            mine.forget(1)
        p.kill()
        p.wait()
        with dead(tmp_path) as found:
            assert [record.seq for record in found.records] == [1]


def test_two_starters_do_not_both_recover(tmp_path: Path) -> None:
    """Of many that look at once, one gets the journal; after a release another can; after a discard none."""
    with closing(new(tmp_path)) as journal:
        push(journal, "a")
    with dead(tmp_path) as found:
        assert abandoned(str(tmp_path)) == []
        assert run_child("say(len(abandoned(directory)))", tmp_path) == ["0"]
        found.release()
        found.discard()  # it is not ours any more
    got: list[AbandonedJournal] = []
    start = threading.Barrier(8)

    def look() -> None:
        start.wait()
        got.extend(abandoned(str(tmp_path)))

    together(*[look] * 8)
    assert len(got) == 1
    got[0].discard()
    got[0].discard()
    assert abandoned(str(tmp_path)) == []
    assert left(tmp_path) == []


def together(*targets: Any) -> None:
    threads = [threading.Thread(target=target) for target in targets]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


def test_starters_never_take_a_living_journal(tmp_path: Path) -> None:
    """Journals that come and go beside starters that clear what is stray: none is taken, none is left."""
    stop = threading.Event()
    taken: list[AbandonedJournal] = []

    def look() -> None:
        while not stop.is_set():
            taken.extend(abandoned(str(tmp_path)))

    def live() -> None:
        try:
            for _ in range(150):
                with closing(new(tmp_path)) as journal:
                    push(journal, "a", "b")
                    journal.forget(1)
                    assert [record.seq for record in journal.records()] == [2]
                    journal.forget(2)
        finally:
            stop.set()

    together(look, look, live)
    assert taken == []
    assert abandoned(str(tmp_path)) == []
    assert left(tmp_path) == []


def test_a_torn_last_line_at_every_byte(tmp_path: Path) -> None:
    """Wherever the last line ends, the others are read, and what was cut is reported."""
    journal = new(tmp_path)
    push(journal, "a", "b")
    whole = len(file_of(tmp_path, journal).read_bytes())
    push(journal, "torn ä§")
    journal.close()
    path = file_of(tmp_path, journal)
    data = path.read_bytes()
    for end in range(whole, len(data)):
        path.write_bytes(data[:end])
        with dead(tmp_path) as found:
            assert [record.seq for record in found.records] == [1, 2]
            expected = [f"Journal {journal.uuid}: its last line (4) is incomplete and was left out."]
            assert (expected if end > whole else []) == found.problems


def test_a_head_alone_is_cleared_away(tmp_path: Path) -> None:
    """A writer that died before its first event leaves nothing that anybody must hear of."""
    journal = new(tmp_path)
    path = file_of(tmp_path, journal)
    head = path.read_bytes()
    journal.close()
    for end in range(len(head) + 1):
        path.write_bytes(head[:end])
        assert abandoned(str(tmp_path)) == []
        assert left(tmp_path) == []


def test_a_file_of_zeros_is_reported(tmp_path: Path) -> None:
    """What some file systems leave after a power cut is not taken for an empty journal."""
    (tmp_path / f"{'a' * 32}.jsonl").write_bytes(bytes(4096))
    with dead(tmp_path) as found:
        assert found.records == []
        assert len(found.problems) == 1


def test_a_flipped_byte_costs_its_line_only(tmp_path: Path) -> None:
    """Any byte of a line in the middle: that event is reported and left out, the rest is read."""
    journal = new(tmp_path)
    push(journal, "a", "b")
    path = file_of(tmp_path, journal)
    start = path.stat().st_size
    push(journal, "c ä")
    end = path.stat().st_size
    push(journal, "d", "e")
    journal.close()
    data = path.read_bytes()
    for position in range(start, end - 1):
        path.write_bytes(data[:position] + bytes([data[position] ^ 0x04]) + data[position + 1 :])
        with dead(tmp_path) as found:
            assert [record.seq for record in found.records] == [1, 2, 4, 5]
            told = (
                f"Journal {journal.uuid}: its line 4 is damaged and was left out; recovery keeps the file as "
            )
            assert [f"{told}{path.with_suffix('.damaged')}."] == found.problems


def test_a_journal_with_damaged_lines_is_kept_aside(tmp_path: Path) -> None:
    """What could not be read is not deleted: the file stays under another name, once for each recovery."""
    for number in (1, 2):
        with closing(new(tmp_path)) as journal:
            push(journal, "a", "precious", "c")
        path = tmp_path / f"{'a' * 32}.jsonl"
        file_of(tmp_path, journal).rename(path)
        (tmp_path / f"{journal.uuid}.lock").unlink()
        damaged = path.read_bytes().replace(b"precious", b"precieux")
        path.write_bytes(damaged)
        [found] = abandoned(str(tmp_path))
        assert [record.seq for record in found.records] == [1, 3]
        found.discard()
        kept = tmp_path / (f"{'a' * 32}.damaged" if number == 1 else f"{'a' * 32}.2.damaged")
        assert kept.read_bytes() == damaged
        assert str(kept) in found.problems[0]
        assert abandoned(str(tmp_path)) == []
        assert pending_count(str(tmp_path)) == 0
    assert [Path(name).name for name in damaged_files(str(tmp_path))] == [
        f"{'a' * 32}.2.damaged",
        f"{'a' * 32}.damaged",
    ]


def test_many_damaged_lines_are_one_sentence(tmp_path: Path) -> None:
    """A few are named by their numbers, the others are counted."""
    with closing(new(tmp_path)) as journal:
        push(journal, *["a"] * 9)
    path = file_of(tmp_path, journal)
    head, *lines = path.read_bytes().splitlines(keepends=True)
    path.write_bytes(head + b"".join(b"#" + line for line in lines))
    with dead(tmp_path) as found:
        [problem] = found.problems
        assert "its lines 2, 3, 4, 5, 6 and 4 more are damaged and were left out" in problem


def test_a_torn_last_line_is_not_kept(tmp_path: Path) -> None:
    """Nobody was told that it is stored, so nothing of it stays."""
    with closing(new(tmp_path)) as journal:
        push(journal, "a", "torn")
    path = file_of(tmp_path, journal)
    path.write_bytes(path.read_bytes()[:-3])
    with dead(tmp_path) as found:
        found.discard()
    assert left(tmp_path) == []


def test_forgetting_everything_keeps_a_damaged_line(tmp_path: Path) -> None:
    """A flush of all that can be read does not empty a file that holds more."""
    journal = new(tmp_path)
    push(journal, "a", "precious", "c")
    path = file_of(tmp_path, journal)
    path.write_bytes(path.read_bytes().replace(b"precious", b"precieux"))
    assert [record.seq for record in journal.records()] == [1, 3]
    journal.forget(3)
    assert journal.records() == []
    assert [record.seq for record in push(journal, "d")] == [4]
    journal.forget(4)
    journal.close()
    with dead(tmp_path) as found:
        found.discard()
    [kept] = tmp_path.iterdir()
    assert b"precieux" in kept.read_bytes()


def test_a_damaged_head_costs_nothing_but_itself(tmp_path: Path) -> None:
    """The name of the file stands in for it."""
    journal = new(tmp_path)
    push(journal, "a")
    journal.close()
    path = file_of(tmp_path, journal)
    path.write_bytes(b"#" + path.read_bytes()[1:])
    with dead(tmp_path) as found:
        assert (journal.uuid, [1]) == (found.uuid, [record.seq for record in found.records])
        assert len(found.problems) == 1


def test_lines_twice_or_out_of_order_are_put_right(tmp_path: Path) -> None:
    """However the lines got there, each event comes once and in order."""
    journal = new(tmp_path)
    push(journal, "a", "b", "c")
    journal.close()
    path = file_of(tmp_path, journal)
    head, *lines = path.read_bytes().splitlines(keepends=True)
    path.write_bytes(head + b"".join([*reversed(lines), *lines]))
    with dead(tmp_path) as found:
        assert [record.seq for record in found.records] == [1, 2, 3]
        assert found.problems == []


def test_a_copy_under_another_name_keeps_its_identity(tmp_path: Path) -> None:
    """The same events have the same ids, so that a copied file stores none of them twice."""
    journal = new(tmp_path)
    push(journal, "a")
    journal.close()
    shutil.copy(file_of(tmp_path, journal), tmp_path / f"{'0' * 32}.jsonl")
    found = abandoned(str(tmp_path))
    assert [f"{journal.uuid}-1"] * 2 == [each.records[0].id(each.uuid) for each in found]
    for each in found:
        each.discard()
    assert left(tmp_path) == []


def test_a_newer_format_is_left_alone(tmp_path: Path) -> None:
    """An older gitmem says that it cannot read it, and does not remove it either."""
    path = tmp_path / f"{'a' * 32}.jsonl"
    path.write_bytes(journal_format.line({"journal": "a" * 32, "format": 2}) + b"anything\n")
    with dead(tmp_path) as found:
        assert found.records == []
        assert "newer gitmem" in found.problems[0]
        found.discard()
    assert path.exists()


def test_foreign_files_are_ignored(tmp_path: Path) -> None:
    """Other names, directories and links are nobody's business here."""
    (tmp_path / "README.jsonl").write_text("x\ny\n")
    (tmp_path / f"{'A' * 32}.jsonl").write_text("x\ny\n")
    (tmp_path / f"{'b' * 32}.jsonl").mkdir()
    (tmp_path / f"{'c' * 32}.jsonl").symlink_to("README.jsonl")
    (tmp_path / f"{'d' * 32}.jsonl.bak").write_text("x\ny\n")
    names = sorted(os.listdir(tmp_path))
    assert abandoned(str(tmp_path)) == []
    assert pending_count(str(tmp_path)) == 0
    assert names == sorted(os.listdir(tmp_path))


def test_no_directory_no_journals(tmp_path: Path) -> None:
    """Before the first push there is nothing to find."""
    assert abandoned(str(tmp_path / "none")) == []
    assert pending_count(str(tmp_path / "none")) == 0


def test_stray_locks_are_cleared(tmp_path: Path) -> None:
    """A crash between the removal of a journal and of its lock leaves no lock for ever."""
    (tmp_path / f"{'a' * 32}.lock").write_text("")
    assert abandoned(str(tmp_path)) == []
    assert left(tmp_path) == []


def test_a_lock_that_is_cleared_while_it_is_taken(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A new writer whose lock file somebody takes for a stray one makes another."""
    real = fcntl.flock
    cleared: list[Path] = []

    def flock(descriptor: int, operation: int) -> None:
        if not cleared:
            cleared.extend(tmp_path.iterdir())
            cleared[0].unlink()
        real(descriptor, operation)

    monkeypatch.setattr(fcntl, "flock", flock)
    with closing(new(tmp_path)) as journal:
        push(journal, "a")
        assert journal.uuid != cleared[0].stem
        assert left(tmp_path) == [".jsonl", ".lock"]
        assert abandoned(str(tmp_path)) == []


def test_the_oldest_comes_first(tmp_path: Path) -> None:
    """Journals are given in the order of their first events."""
    for day in (3, 1, 2):
        with closing(new(tmp_path)) as journal:
            journal.append("observation", {"day": day}, "s1", at=f"2026-01-0{day}T00:00:00Z")
    found = abandoned(str(tmp_path))
    assert [each.records[0].fields["day"] for each in found] == [1, 2, 3]
    for each in found:
        each.release()


def test_a_journal_that_can_not_be_opened_is_reported_and_stays(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Another user's journal: a sentence, no exception, and discard does not touch it."""
    with closing(new(tmp_path)) as journal:
        push(journal, "a")
    with monkeypatch.context() as patch:
        patch.setattr(os, "open", failing(errno.EACCES))
        [found] = abandoned(str(tmp_path))
    assert "cannot be taken up (Permission denied)" in found.problems[0]
    found.discard()
    assert file_of(tmp_path, journal).exists()


def test_ten_thousand_events_are_read(tmp_path: Path) -> None:
    """A long journal comes back whole; how fast is the business of benchmarks/capture.py."""
    with closing(new(tmp_path)) as journal:
        for number in range(10_000):
            journal.append("observation", {"content": f"{number:0200}", "category": "note"}, "s1")
    with dead(tmp_path) as found:
        assert list(range(1, 10_001)) == [record.seq for record in found.records]
    assert pending_count(str(tmp_path)) == 10_000


# --- processes that die, fork and interrupt --------------------------------------------------------------

PUSHER = """
journal = create(sys.argv[2] if len(sys.argv) > 2 else "interval")
say("ready")
number = 0
while True:
    number += 1
    size = random.choice((1, 200, 5000))
    say(journal.append("observation", {"content": f"{number} " + "x" * size}, "s").seq)
"""

FORGETTER = """
journal = create()
say("ready")
last = 0
while True:
    for _ in range(random.randrange(1, 8)):
        last = journal.append("observation", {"content": "x" * 100}, "s").seq
        say(f"push {last}")
    upto = random.randrange(max(1, last - 4), last + 1)
    say(f"forget {upto}")
    journal.forget(upto)
    say(f"forgot {upto}")
"""


def kill_rounds(directory: Path, rounds: int) -> None:
    chance = random.Random(rounds)
    for number in range(rounds):
        place = directory / str(number)
        with child(PUSHER, place) as process:
            assert line_from(process) == "ready"
            said = kill_after(process, chance.uniform(0, 0.03))
        acknowledged = [int(seq) for seq in said]
        assert list(range(1, len(acknowledged) + 1)) == acknowledged
        found = abandoned(str(place))
        records = found[0].records if found else []
        seqs = [record.seq for record in records]
        assert list(range(1, len(seqs) + 1)) == seqs
        assert len(acknowledged) <= len(seqs) <= len(acknowledged) + 1  # one stored and not yet told
        assert all(str(record.fields["content"]).startswith(f"{record.seq} x") for record in records)
        for each in found:
            each.discard()
        assert left(place) == []


def test_killed_while_pushing(tmp_path: Path) -> None:
    """Every push that a killed process acknowledged is there, once and in order."""
    kill_rounds(tmp_path, 20)


@pytest.mark.slow
def test_killed_while_pushing_often(tmp_path: Path) -> None:
    """The same, 200 times."""
    kill_rounds(tmp_path, 200)


def forget_rounds(directory: Path, rounds: int) -> None:
    chance = random.Random(rounds)
    for number in range(rounds):
        place = directory / str(number)
        with child(FORGETTER, place) as process:
            assert line_from(process) == "ready"
            said = [line.split() for line in kill_after(process, chance.uniform(0, 0.04))]
        pushed = {int(seq) for word, seq in said if word == "push"}
        may_be_gone = max((int(seq) for word, seq in said if word == "forget"), default=0)
        gone = max((int(seq) for word, seq in said if word == "forgot"), default=0)
        found = abandoned(str(place))
        seqs = [record.seq for each in found for record in each.records]
        assert sorted(set(seqs)) == seqs
        assert {seq for seq in pushed if seq > may_be_gone} <= set(seqs)
        assert all(seq > gone for seq in seqs)
        assert [problem for each in found for problem in each.problems] == []
        for each in found:
            each.discard()
        assert left(place) == []


def test_killed_while_forgetting(tmp_path: Path) -> None:
    """A kill during forget brings committed events back at worst; none that was not forgotten is lost."""
    forget_rounds(tmp_path, 20)


@pytest.mark.slow
def test_killed_while_forgetting_often(tmp_path: Path) -> None:
    """The same, 200 times."""
    forget_rounds(tmp_path, 200)


def test_threads_push_while_one_flushes(tmp_path: Path) -> None:
    """Numbers are given once, and each event is either drained by the flushing thread or still there."""
    journal = new(tmp_path, "interval", 1)
    pushed: list[list[tuple[int, str]]] = [[] for _ in range(6)]
    drained: list[tuple[int, str]] = []
    running = threading.Event()
    running.set()

    def pusher(number: int) -> None:
        for count in range(400):
            text = f"{number}-{count}"
            pushed[number].append((push(journal, text)[0].seq, text))

    def flusher() -> None:
        while running.is_set():
            records = journal.records()
            drained.extend((record.seq, str(record.fields["content"])) for record in records)
            if records:
                journal.forget(records[-1].seq)

    flush = threading.Thread(target=flusher)
    flush.start()
    together(*[lambda number=number: pusher(number) for number in range(6)])
    running.clear()
    flush.join()
    drained += [(record.seq, str(record.fields["content"])) for record in journal.records()]
    assert sorted(item for items in pushed for item in items) == drained
    assert list(range(1, 2401)) == [seq for seq, _ in drained]
    journal.forget(2400)
    journal.close()
    assert left(tmp_path) == []


def test_a_forked_child_does_not_write_for_its_parent(tmp_path: Path) -> None:
    """It is told to open its own; the parent's journal stays held, and is free when the parent is dead."""
    script = """
    journal = create("off")
    journal.append("observation", {}, "s")
    inner, outer = os.pipe()
    done, tell = os.pipe()
    if os.fork() == 0:
        try:
            journal.append("observation", {}, "s")
            say("stored")
        except GitMemError as error:
            say(f"{type(error).__name__}: {error}")
        journal.close()
        say(len(abandoned(directory)))
        mine = create("off")
        say(mine.append("observation", {}, "s").seq)
        mine.forget(1)
        mine.close()
        os.write(tell, b"x")
        os.close(outer)
        os.read(inner, 1)  # until the parent is dead, and then a while
        time.sleep(1)
        os._exit(0)
    os.read(done, 1)
    say(journal.append("observation", {}, "s").seq)
    sys.stdin.read()
    """
    with child(script, tmp_path) as process:
        assert line_from(process).startswith(
            "UsageError: This journal belongs to the process that was forked"
        )
        assert [line_from(process) for _ in range(3)] == ["0", "1", "2"]
        assert abandoned(str(tmp_path)) == []
        process.kill()
        process.wait()
        with dead(tmp_path) as found:
            assert [record.seq for record in found.records] == [1, 2]


def test_a_signal_handler_that_pushes_does_not_wait_for_itself(tmp_path: Path) -> None:
    """In the middle of a push it is refused and says so; every push that was acknowledged is there."""
    said = run_child(
        """
        from gitmem.errors import BundleBusy
        journal = create("off")
        stored, refused = [], 0
        def handler(*_):
            global refused
            try:
                stored.append(journal.append("observation", {"from": "handler"}, "s").seq)
            except BundleBusy:
                refused += 1
        signal.signal(signal.SIGALRM, handler)
        signal.setitimer(signal.ITIMER_REAL, 0.0003, 0.0003)
        while refused < 3 or len(stored) < 1000:
            stored.append(journal.append("observation", {"from": "main"}, "s").seq)
        signal.setitimer(signal.ITIMER_REAL, 0)
        assert refused > 0
        assert sorted(stored) == [record.seq for record in journal.records()]
        say("fine")
        """,
        tmp_path,
    )
    assert said == ["fine"]


def test_an_interrupted_push_leaves_a_usable_journal(tmp_path: Path) -> None:
    """Exceptions from a handler at any moment of a push: what was acknowledged is there, nothing is torn."""
    said = run_child(
        """
        class Stop(BaseException):
            pass
        def handler(*_):
            raise Stop
        journal = create("off")
        stored = set()
        signal.signal(signal.SIGALRM, handler)
        chance = random.Random(1)
        interrupted = 0
        while interrupted < 500:
            try:
                signal.setitimer(signal.ITIMER_REAL, chance.uniform(0.00001, 0.0003))
                while True:
                    seq = journal.append("observation", {"content": "x" * chance.choice((10, 9000))}, "s").seq
                    stored.add(seq)
            except Stop:
                interrupted += 1
        signal.setitimer(signal.ITIMER_REAL, 0)
        seqs = [record.seq for record in journal.records()]
        assert stored <= set(seqs) and len(set(seqs)) == len(seqs)
        import threading
        def other():
            stored.add(journal.append("observation", {}, "s").seq)
        thread = threading.Thread(target=other, daemon=True)
        thread.start()
        thread.join(120)
        assert not thread.is_alive()
        del seqs
        journal.close()
        [found] = abandoned(directory)
        assert stored <= {record.seq for record in found.records} and not found.problems, found.problems
        say("fine")
        """,
        tmp_path,
    )
    assert said == ["fine"]


def test_a_push_inside_a_push_is_refused(tmp_path: Path) -> None:
    """A clock that pushes, or a destructor that does, gets an error and no deadlock."""
    journal: Journal

    def strange() -> datetime:
        push(journal, "inner")
        return MOMENT

    journal = Journal.create(str(tmp_path), clock=strange, fsync="off", interval_ms=1)
    with pytest.raises(BundleBusy, match="in the middle of a push"):
        push(journal, "outer")
    assert journal.records() == []
    assert [journal.append("observation", {}, "s1", at=AT).seq] == [1]
    journal.forget(1)
    journal.close()
