"""The journal: every pushed event in a file before `push` returns, until a commit has it.

A directory with one file per writer, `<uuid>.jsonl` (its lines: `journal_format`), and beside it `<uuid>.lock`,
which the writer holds for its whole life: the operating system drops that lock when the process dies, so a
journal with a free lock is a dead one's (pids lie across containers; see `recovery`). The file itself says
what is pending; nothing in memory has to agree with it.

A journal is never opened again for writing, a new writer takes a new uuid: a copied git directory or a
restored backup cannot give the same number to two events.
"""

from __future__ import annotations

import contextlib
import errno
import io
import os
import threading
import weakref
from collections.abc import Callable, Collection, Mapping
from datetime import datetime
from types import MappingProxyType
from typing import Literal, NoReturn

from gitmem.errors import BundleBusy, BundleUnusable, GitMemError, InvalidContent, UsageError
from gitmem.files import (
    WRITE,
    create,
    durable_directory,
    make_directories,
    make_directory,
    read_part,
    remove_file,
    write_all,
    write_open,
)
from gitmem.locks import ProcessLock
from gitmem.memory.capture import journal_format
from gitmem.memory.capture.journal_format import MAX_EVENT_BYTES, Record, cleaned, plain, texts, too_large
from gitmem.okf.timestamps import canonical, stamp

Fsync = Literal["always", "interval", "off"]

_NO_CONTEXT: Mapping[str, str] = MappingProxyType({})
_TRIES = 100
# The length of a file belongs to what fdatasync writes; only its times do not.
_fdatasync: Callable[[int], None] = getattr(os, "fdatasync", os.fsync)


class ThreadLock:
    """A lock that refuses the thread that has it, where a plain one would wait for itself for ever.

    A signal handler may come in the middle of a push, and push.
    """

    def __init__(self, purpose: str = "push") -> None:
        self.purpose = purpose
        self.lock = threading.RLock()
        self.taken = False

    def __enter__(self) -> None:
        self.lock.acquire()
        if self.taken:
            self.lock.release()
            raise self.busy()
        self.taken = True

    def __exit__(self, *_: object) -> None:
        self.taken = False
        self.lock.release()

    def busy(self) -> BundleBusy:
        return BundleBusy(
            f"This thread is already in the middle of a {self.purpose}: retry when it has finished."
        )


class Journal:
    """The journal of one writer: any of its threads may push, and one flushes."""

    def __init__(
        self,
        directory: str,
        uuid: str,
        lock: ProcessLock,
        descriptor: int,
        *,
        clock: Callable[[], datetime],
        fsync: Fsync,
        interval_ms: int,
    ) -> None:
        """For `create`, which is how a journal begins."""
        self.uuid = uuid
        self.trouble = ""  # why the last fsync in the background failed; empty when it did not
        self._directory = directory
        self._path = os.path.join(directory, f"{uuid}.jsonl")
        self._lock = lock
        self._fd = descriptor
        self._clock = clock
        self._fsync: Fsync = fsync
        self._seconds = max(1, interval_ms) / 1000
        self._last = 0  # the last number given, also to an event that could not be stored
        self._forgotten = 0
        self._kept: frozenset[int] = frozenset()
        self._torn: int | None = None  # the length to cut the file back to before anything else
        self._unnamed = True  # the file's name is not yet on disk
        self._damaged = False  # a line cannot be read: the file is never simply emptied
        self._suspect = False  # an fsync failed: what the kernel calls clean may not be on disk
        self._closed = False
        # Who exchanges or syncs the file takes `_exchange`, and then `_turn`; a push takes `_turn` alone, so
        # that it does not wait for an fsync.
        self._exchange = ThreadLock()
        self._turn = ThreadLock()
        self._syncer: threading.Thread | None = None
        self._wake = threading.Event()  # set: something is not yet synced
        self._stop = threading.Event()

    @classmethod
    def create(
        cls,
        directory: str,
        *,
        clock: Callable[[], datetime],
        fsync: Fsync = "interval",
        interval_ms: int = 200,
    ) -> Journal:
        """A new, empty journal in that directory, held by this process until it is closed."""
        from uuid import uuid4

        try:
            make_directories(directory)
            for _ in range(_TRIES):
                uuid = uuid4().hex
                lock = ProcessLock.take(os.path.join(directory, f"{uuid}.lock"), create=True)
                if lock is not None:  # else a process that clears stray locks was here first
                    break
            else:
                raise OSError(errno.ENOLCK, os.strerror(errno.ENOLCK))
            try:
                path = os.path.join(directory, f"{uuid}.jsonl")
                flags = WRITE | os.O_APPEND | os.O_CREAT | os.O_EXCL
                descriptor, _ = write_open(path, journal_format.header(uuid), flags=flags)
            except OSError:
                lock.remove()
                raise
        except OSError as error:
            raise BundleUnusable(
                f"No journal can be kept in {directory} ({_reason(error)}): repair that and try again."
            ) from error
        return cls(directory, uuid, lock, descriptor, clock=clock, fsync=fsync, interval_ms=interval_ms)

    @property
    def is_open(self) -> bool:
        """Return whether it can be written to: not closed, and not left behind by a fork."""
        return not self._closed and not self._lock.lost

    def append(
        self,
        kind: str,
        fields: Mapping[str, object],
        session: str,
        context: Mapping[str, str] = _NO_CONTEXT,
        at: str = "",
    ) -> Record:
        """The event as it was stored. Any error means that it was not, and the journal can still be used."""
        moment = canonical(at) if at else ""
        if at and not moment:
            raise InvalidContent(f"{at[:64]!r} is not a timestamp with an offset, like 2026-06-30T14:00:00Z.")
        event = (plain(kind), moment, plain(session), cleaned(fields), texts(context))
        record = self._push(*event)
        if record is None:
            self._revive()
            record = self._push(*event)
        if record is None:
            raise BundleUnusable(
                f"The event was NOT stored: {self._path} is removed again and again; push it again."
            )
        return record

    def records(self) -> list[Record]:
        """The events that are not yet forgotten, in order."""
        with self._exchange:
            try:
                with self._turn:
                    size = self._ready()
                data = read_part(self._fd, 0, size)
            except OSError as error:
                raise BundleUnusable(
                    f"The journal {self._path} cannot be read ({_reason(error)})."
                ) from error
            contents = journal_format.parse(io.BytesIO(data), self.uuid)
            self._damaged = bool(contents.damaged)
        return contents.records

    def forget(self, upto_seq: int, keep: Collection[int] = ()) -> None:
        """Drop the records up to that number but for those to keep: a commit has them, or they are settled.

        A crash at worst brings them back.
        """
        kept = frozenset(keep)
        with self._exchange:
            try:
                with self._turn:
                    size = self._ready()
                    if upto_seq <= self._forgotten and kept == self._kept:
                        return
                    empty = len(journal_format.header(self.uuid))
                    if self._last <= upto_seq and size > empty and not (kept or self._damaged):
                        self._torn = empty
                        size = self._ready()
                        self._changed()
                if size > empty:
                    self._rewrite(upto_seq, kept)
                self._forgotten, self._kept = max(upto_seq, self._forgotten), kept
            except OSError as error:
                raise BundleUnusable(
                    f"The journal {self._path} still holds events that are committed ({_reason(error)}); "
                    "they are dropped at the next flush, and none is stored twice."
                ) from error

    def settle(self) -> None:
        """Make all pushes so far durable before returning, whatever the setting says."""
        if not self._sync():
            raise BundleUnusable(self.trouble)

    def close(self) -> None:
        """Let go of the journal: what is pending waits for the next start; an empty one is removed."""
        if self._lock.lost:
            return
        with self._exchange, self._turn:
            if self._closed:
                return
            self._closed = True
            self._stop.set()
            self._wake.set()
            try:
                try:
                    self._mend()
                    is_empty = os.fstat(self._fd).st_size <= len(journal_format.header(self.uuid))
                    if not is_empty and self._fsync != "off":
                        self._harden()
                finally:
                    os.close(self._fd)
                if is_empty:
                    self._lock.remove(self._aside, self._path)
            except OSError as error:
                raise BundleUnusable(
                    f"The journal {self._path} could not be closed properly ({_reason(error)}); "
                    "its events are taken up at the next start."
                ) from error
            finally:
                self._lock.release()

    def __del__(self) -> None:
        # Dropped without `close`: as after a crash, the events wait for the next start.
        if getattr(self, "_closed", True):
            return
        self._closed = True
        os.close(self._fd)
        if not self._lock.lost:  # in a forked child the events' own locks may be taken for ever
            self._stop.set()
            self._wake.set()
            self._lock.release()

    # --- inside ---

    @property
    def _aside(self) -> str:
        return os.path.join(self._directory, f"{self.uuid}.new")

    def _push(
        self, kind: str, at: str, session: str, fields: dict[str, object], context: dict[str, str]
    ) -> Record | None:
        """The event as it was stored, or None when the file was removed."""
        if self._lock.lost:  # before the lock, which another thread may have held at the fork
            self._refuse()
        turn = self._turn
        with turn.lock:  # not `with turn`: a handler that raises must find no moment that leaves it taken
            if turn.taken:
                raise turn.busy()
            turn.taken = True
            try:
                return self._write(kind, at, session, fields, context)
            finally:
                turn.taken = False

    def _write(
        self, kind: str, at: str, session: str, fields: dict[str, object], context: dict[str, str]
    ) -> Record | None:
        if self._closed:
            self._refuse()
        record = Record(self._last + 1, kind, at or stamp(self._clock()), session, fields, context)
        line = journal_format.event_line(record)
        if len(line) > MAX_EVENT_BYTES:
            raise too_large()
        try:
            self._mend()
            before = os.fstat(self._fd)
        except OSError as error:
            raise self._not_stored(error) from error
        if not before.st_nlink:
            return None
        self._last = record.seq  # never given again, not even when the write fails
        try:
            write_all(self._fd, line)
            if self._fsync == "always":
                self._harden()
        except BaseException as error:
            self._torn = before.st_size
            with contextlib.suppress(OSError):  # then the next one tries again before it writes
                self._mend()
            if isinstance(error, OSError):
                raise self._not_stored(error) from error
            raise
        if self._fsync == "interval" and not self._wake.is_set():
            self._changed()
        return record

    def _refuse(self) -> NoReturn:
        if self._lock.lost:
            raise UsageError(
                "This journal belongs to the process that was forked, so the event was NOT stored: "
                "open the bundle again in the child."
            )
        raise UsageError("This journal is closed, so the event was NOT stored: open the bundle again.")

    def _not_stored(self, error: OSError) -> GitMemError:
        return BundleUnusable(
            f"The event was NOT stored: the journal {self._path} cannot be written ({_reason(error)}); "
            "repair that and push it again."
        )

    def _ready(self) -> int:
        """The file's length in whole lines."""
        if self._closed or self._lock.lost:
            raise UsageError("This journal is closed: open the bundle again.")
        self._mend()
        return os.fstat(self._fd).st_size

    def _mend(self) -> None:
        if self._torn is not None:
            if os.fstat(self._fd).st_size > self._torn:
                os.ftruncate(self._fd, self._torn)
            self._torn = None

    def _changed(self) -> None:
        """See to it that what was just written gets to the disk as the setting says."""
        if self._fsync == "always":
            self._harden()
        elif self._fsync == "interval":
            self._wake.set()
            if self._syncer is None:
                self._syncer = threading.Thread(
                    target=_keep_synced,
                    args=(weakref.ref(self), self._wake, self._stop, self._seconds),
                    name=f"gitmem-journal-{self.uuid[:8]}",
                    daemon=True,
                )
                try:
                    self._syncer.start()
                except RuntimeError:  # no more threads here, or the interpreter is going down
                    self._syncer = None
                    self._wake.clear()
                    with contextlib.suppress(OSError):  # the next push tries again
                        self._harden()

    def _harden(self) -> None:
        _fdatasync(self._fd)
        if self._unnamed:
            durable_directory(self._directory)
            durable_directory(os.path.dirname(os.path.abspath(self._directory)))  # we may have made it
            self._unnamed = False

    def _sync(self) -> bool:
        """Bring the file to the disk, for the thread that does so; False when that did not work."""
        with self._exchange:
            if self._closed or self._lock.lost:
                return True
            try:
                if self._suspect:
                    # The kernel reports a failed write once and then takes the page for clean, so a second
                    # fsync proves nothing: write it all again.
                    self._rewrite(0)
                self._harden()
            except OSError as error:
                self._suspect = True
                self.trouble = (
                    f"The journal {self._path} cannot be brought to the disk ({_reason(error)}): "
                    "a power cut would lose what is not flushed."
                )
                return False
            self._suspect = False
            self.trouble = ""
            return True

    def _rewrite(self, forgotten: int, keep: Collection[int] = ()) -> None:
        """Put a new file in the place of the old one, without the records up to that number."""
        aside = self._aside
        new = create(aside, WRITE | os.O_APPEND | os.O_CREAT | os.O_TRUNC)
        try:
            header = journal_format.header(self.uuid)
            with self._turn:
                size = self._ready()
            lines = io.BytesIO(read_part(self._fd, len(header), size))
            kept = [line for line in lines if not journal_format.is_upto(line, forgotten, keep)]
            write_all(new, header + b"".join(kept))
            if self._fsync != "off":
                _fdatasync(new)  # before the rename, or a power cut could leave an empty file
            with self._turn:
                since = read_part(self._fd, size, self._ready())
                write_all(new, since)
                if self._fsync == "always" and since:
                    _fdatasync(new)
                os.replace(aside, self._path)
                self._fd, new = new, self._fd
                self._unnamed = True
                if self._fsync == "interval":
                    self._changed()
        finally:
            os.close(new)
            remove_file(aside)

    def _revive(self) -> None:
        """Put back a file that was removed, and its lock: a crash would lose what is pending."""
        with self._exchange:
            try:
                if os.fstat(self._fd).st_nlink:
                    return
                if not os.path.isdir(self._directory):
                    make_directory(self._directory)  # not its parents: a removed bundle stays removed
                lock_path = os.path.join(self._directory, f"{self.uuid}.lock")
                if not os.path.lexists(lock_path):
                    lock = ProcessLock.take(lock_path, create=True)
                    if lock is not None:
                        self._lock.release()
                        self._lock = lock
                self._rewrite(0)
            except OSError as error:
                raise self._not_stored(error) from error


def _keep_synced(
    journal: weakref.ref[Journal], wake: threading.Event, stop: threading.Event, seconds: float
) -> None:
    """Sync the journal within `seconds` of any push, while it lives."""
    pause = seconds
    while True:
        wake.wait()
        if stop.wait(pause):
            return
        wake.clear()  # before the sync: a push during it is synced again
        alive = journal()
        if alive is None:
            return
        pause = seconds
        if not alive._sync():
            pause = max(1.0, seconds)
            wake.set()
        del alive


def _reason(error: OSError) -> str:
    return error.strerror or str(error)
