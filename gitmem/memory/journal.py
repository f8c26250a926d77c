"""The journal: every pushed event on disk before `push` returns, until a commit has it.

A directory with one file per writer, `<uuid>.jsonl`, and beside it `<uuid>.lock`, which the writer holds for
its whole life: the operating system drops that lock when the process dies, so a journal that nobody holds
is a dead one's (pids lie across containers). A line is a checksum, a space, JSON and a newline:

    9d1c7a52 {"journal":"0123456789abcdef0123456789abcdef","format":1}
    1f0e2a77 {"seq":1,"kind":"observation","at":"2026-06-30T14:00:00.123Z","session":"s1",
              "fields":{"content":"…"},"context":{}}   (on one line)

The checksum is the CRC-32 of the JSON's bytes in eight hexadecimal digits. A line without its newline was
never acknowledged. The file itself says what is pending; nothing in memory has to agree with it.

A journal is never opened again for writing, a new writer takes a new uuid: a copied git directory or a
restored backup can not give the same number to two events.
"""

from __future__ import annotations

import contextlib
import errno
import fcntl
import io
import json
import math
import os
import re
import threading
import weakref
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from types import MappingProxyType, TracebackType
from typing import ClassVar, Literal, NoReturn
from zlib import crc32

from gitmem.errors import BundleBusy, BundleUnusable, GitMemError, InvalidContent, TooLarge, UsageError
from gitmem.okf.timestamps import canonical, stamp

MAX_EVENT_BYTES = 8 << 20
MAX_DEPTH = 64
FORMAT = 1

Fsync = Literal["always", "interval", "off"]

_NO_CONTEXT: Mapping[str, str] = MappingProxyType({})
_NAME = re.compile(r"([0-9a-f]{32})\.(jsonl|lock)", re.ASCII)
_SEQ = re.compile(rb'[0-9a-f]{8} \{"seq":(\d+),')
_OPEN = os.O_RDWR | os.O_CLOEXEC | os.O_NOFOLLOW
_encoded = json.JSONEncoder(
    ensure_ascii=False, check_circular=False, allow_nan=False, separators=(",", ":")
).encode
_decoded = json.JSONDecoder().decode
# The length of a file belongs to what fdatasync writes; only its times do not.
_fdatasync: Callable[[int], None] = getattr(os, "fdatasync", os.fsync)


@dataclass(frozen=True, slots=True)
class Record:
    """One event as it stands in the journal; `context` is what the host knew beside its fields."""

    seq: int
    kind: str
    at: str
    session: str
    fields: dict[str, object]
    context: dict[str, str]

    def id(self, journal_uuid: str) -> str:
        """The event's identity, which is stored with it in the tree."""
        return f"{journal_uuid}-{self.seq}"


# --- the writer's side -----------------------------------------------------------------------------------


class Journal:
    """The journal of one writer: any of its threads may push, and one flushes."""

    def __init__(
        self,
        directory: str,
        uuid: str,
        lock: _Lock,
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
        self._torn: int | None = None  # the length to cut the file back to before anything else
        self._unnamed = True  # the file's name is not yet on disk
        self._suspect = False  # an fsync failed: what the kernel calls clean may not be on disk
        self._closed = False
        # Who exchanges or syncs the file takes `_exchange`, and then `_turn`; a push takes `_turn` alone, so
        # that it does not wait for an fsync.
        self._exchange = _Turn()
        self._turn = _Turn()
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
            os.makedirs(directory, exist_ok=True)
            while True:
                uuid = uuid4().hex
                lock = _Lock.take(os.path.join(directory, f"{uuid}.lock"), create=True)
                if lock is not None:  # else somebody who clears stray locks was here first
                    break
            path = os.path.join(directory, f"{uuid}.jsonl")
            descriptor = os.open(path, _OPEN | os.O_APPEND | os.O_CREAT | os.O_EXCL, 0o644)
            try:
                _write_all(descriptor, _header(uuid))
            except OSError:
                os.close(descriptor)
                _remove(path)
                lock.remove()
                raise
        except OSError as error:
            raise BundleUnusable(
                f"No journal can be kept in {directory} ({_reason(error)}): mend that and try again."
            ) from error
        return cls(directory, uuid, lock, descriptor, clock=clock, fsync=fsync, interval_ms=interval_ms)

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
        event = (_plain(kind), moment, _plain(session), _cleaned(fields), _texts(context))
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
                data = _read(self._fd, 0, size)
            except OSError as error:
                raise BundleUnusable(
                    f"The journal {self._path} can not be read ({_reason(error)})."
                ) from error
        return _parse(io.BytesIO(data), self.uuid).records

    def forget(self, upto_seq: int) -> None:
        """Drop the events up to that number, which a commit has; a crash at worst brings them back."""
        with self._exchange:
            try:
                with self._turn:
                    size = self._ready()
                    if upto_seq <= self._forgotten:
                        return
                    empty = len(_header(self.uuid))
                    if self._last <= upto_seq and size > empty:
                        self._torn = empty
                        size = self._ready()
                        self._changed()
                if size > empty:
                    self._rewrite(upto_seq)
                self._forgotten = upto_seq
            except OSError as error:
                raise BundleUnusable(
                    f"The journal {self._path} still holds events that are committed ({_reason(error)}); "
                    "they are dropped at the next flush, and none is stored twice."
                ) from error

    def close(self) -> None:
        """Let go of the journal: what is pending waits for whoever starts next; an empty one is removed."""
        if self._lock.lost:
            return
        with self._exchange, self._turn:
            if self._closed:
                return
            self._closed = True
            self._stop.set()
            self._wake.set()
            try:
                self._mend()
                if os.fstat(self._fd).st_size <= len(_header(self.uuid)):
                    self._lock.remove(self._aside, self._path)
                elif self._fsync != "off":
                    self._harden()
            except OSError as error:
                raise BundleUnusable(
                    f"The journal {self._path} could not be closed properly ({_reason(error)}); "
                    "its events are taken up at the next start."
                ) from error
            finally:
                os.close(self._fd)
                self._lock.release()

    def __enter__(self) -> Journal:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

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
        """The event as it was stored, or None when somebody has removed the file."""
        if self._lock.lost:  # before the lock, which another thread may have held at the fork
            self._refuse()
        turn = self._turn
        with turn.lock:  # not `with turn`: a handler that raises must find no moment that leaves it taken
            if turn.taken:
                raise _busy()
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
        line = _line(
            {
                "seq": record.seq,
                "kind": kind,
                "at": record.at,
                "session": session,
                "fields": fields,
                "context": context,
            }
        )
        if len(line) > MAX_EVENT_BYTES:
            raise _too_large()
        try:
            self._mend()
            before = os.fstat(self._fd)
        except OSError as error:
            raise self._not_stored(error) from error
        if not before.st_nlink:
            return None
        self._last = record.seq  # never given again, not even when the write fails
        try:
            _write_all(self._fd, line)
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
            f"The event was NOT stored: the journal {self._path} can not be written ({_reason(error)}); "
            "mend that and push it again."
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
            _sync_directory(self._directory)
            _sync_directory(os.path.dirname(os.path.abspath(self._directory)))  # we may have made it
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
                    f"The journal {self._path} can not be brought to the disk ({_reason(error)}): "
                    "a power cut would lose what is not flushed."
                )
                return False
            self._suspect = False
            self.trouble = ""
            return True

    def _rewrite(self, forgotten: int) -> None:
        """Put a new file in the place of the old one, without the events up to that number."""
        aside = self._aside
        new = os.open(aside, _OPEN | os.O_APPEND | os.O_CREAT | os.O_TRUNC, 0o644)
        try:
            header = _header(self.uuid)
            with self._turn:
                size = self._ready()
            lines = io.BytesIO(_read(self._fd, len(header), size))
            kept = [line for line in lines if not _is_upto(line, forgotten)]
            _write_all(new, header + b"".join(kept))
            if self._fsync != "off":
                _fdatasync(new)  # before the rename, or a power cut could leave an empty file
            with self._turn:
                since = _read(self._fd, size, self._ready())
                _write_all(new, since)
                if self._fsync == "always" and since:
                    _fdatasync(new)
                os.replace(aside, self._path)
                self._fd, new = new, self._fd
                self._unnamed = True
                if self._fsync == "interval":
                    self._changed()
        finally:
            os.close(new)
            _remove(aside)

    def _revive(self) -> None:
        """Put back the file that somebody removed, and its lock: a crash would lose what is pending."""
        with self._exchange:
            try:
                if os.fstat(self._fd).st_nlink:
                    return
                if not os.path.isdir(self._directory):
                    os.mkdir(self._directory)  # not its parents: a removed bundle stays removed
                lock_path = os.path.join(self._directory, f"{self.uuid}.lock")
                if not os.path.lexists(lock_path):
                    lock = _Lock.take(lock_path, create=True)
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


# --- what dead writers left ------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class AbandonedJournal:
    """A journal that nobody else holds: ours until `discard` or `release`.

    `problems` are sentences about what could not be read. `uuid` is what its head says: a file may be a copy.
    """

    uuid: str
    records: list[Record]
    problems: list[str]
    _paths: tuple[str, ...] = field(repr=False)
    _lock: _Lock | None = field(repr=False)

    def discard(self) -> None:
        """Remove it: its records are committed. One that could not be read at all stays."""
        if self._lock is None or not self._lock.held:
            return
        try:
            if self._paths:
                self._lock.remove(*self._paths)
        except OSError as error:
            raise BundleUnusable(
                f"The recovered journal {self._paths[-1]} can not be removed ({_reason(error)}): mend that; "
                "until then it is read at every start, and none of its events is stored twice."
            ) from error
        finally:
            self._lock.release()

    def release(self) -> None:
        """Leave it for another time."""
        if self._lock is not None:
            self._lock.release()


def abandoned(directory: str) -> list[AbandonedJournal]:
    """The journals that nobody holds, each now held by us, the one with the oldest event first.

    Files without an event are cleared away; journals that somebody holds and other files are left alone.
    """
    names = _names(directory)
    found: list[AbandonedJournal] = []
    for uuid in sorted(names):
        path = os.path.join(directory, f"{uuid}.jsonl")
        lock_path = os.path.join(directory, f"{uuid}.lock")
        lock: _Lock | None = None
        try:
            lock = _Lock.take(lock_path, create="jsonl" in names[uuid])
            if lock is None:
                continue
            if not os.path.lexists(path):  # a stray lock, or somebody was faster
                lock.remove()
                continue
            journal = _opened(path, os.path.join(directory, f"{uuid}.new"), uuid, lock)
        except OSError as error:
            if lock is not None:
                lock.release()
            if error.errno != errno.ENOENT:
                problem = f"The journal {path} can not be taken up ({_reason(error)}): it waits."
                found.append(AbandonedJournal(uuid, [], [problem], (), None))
            continue
        if journal is not None:
            found.append(journal)
    return sorted(found, key=lambda journal: (journal.records[0].at if journal.records else "", journal.uuid))


def _opened(path: str, aside: str, uuid: str, lock: _Lock) -> AbandonedJournal | None:
    with open(os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW), "rb") as file:
        contents = _parse(file, uuid)
    if contents.newer:
        lock.release()
        sentence = f"The journal {path} was written by a newer gitmem: it waits for that one."
        return AbandonedJournal(contents.uuid, [], [sentence], (), None)
    if not contents.records and not contents.problems:
        lock.remove(aside, path)
        return None
    problems = [f"Journal {contents.uuid}: {problem}" for problem in contents.problems]
    return AbandonedJournal(contents.uuid, contents.records, problems, (aside, path), lock)


def pending_count(directory: str) -> int:
    """How many events wait in all journals, live ones too: their lines, counted without a lock."""
    total = 0
    for uuid, endings in _names(directory).items():
        if "jsonl" not in endings:
            continue
        with contextlib.suppress(OSError), open(os.path.join(directory, f"{uuid}.jsonl"), "rb", 0) as file:
            lines = 0
            while chunk := file.read(1 << 20):
                lines += chunk.count(b"\n")
            total += max(0, lines - 1)
    return total


def _names(directory: str) -> dict[str, set[str]]:
    """The endings of our files by uuid."""
    names: dict[str, set[str]] = {}
    try:
        with os.scandir(directory) as entries:
            for entry in entries:
                match = _NAME.fullmatch(entry.name)
                if match is not None and entry.is_file(follow_symlinks=False):
                    names.setdefault(match.group(1), set()).add(match.group(2))
    except (FileNotFoundError, NotADirectoryError):
        pass
    except OSError as error:
        raise BundleUnusable(
            f"The journals in {directory} can not be looked at ({_reason(error)})."
        ) from error
    return names


# --- lines -----------------------------------------------------------------------------------------------


@dataclass(slots=True)
class _Contents:
    uuid: str
    records: list[Record] = field(default_factory=list)
    problems: list[str] = field(default_factory=list)
    newer: bool = False


def _line(value: dict[str, object]) -> bytes:
    body = _encoded(value).encode()
    return b"%08x %b\n" % (crc32(body), body)


def _header(uuid: str) -> bytes:
    return _line({"journal": uuid, "format": FORMAT})


def _is_upto(line: bytes, seq: int) -> bool:
    """Whether it is the line of an event up to that number; a line that can not be read is not."""
    match = _SEQ.match(line)
    return match is not None and int(match.group(1)) <= seq


def _parse(lines: Iterable[bytes], uuid: str) -> _Contents:
    contents = _Contents(uuid)
    records: dict[int, Record] = {}
    for number, line in enumerate(lines, 1):
        if not line.endswith(b"\n"):
            # A torn head is a writer that died before its first event.
            if number > 1 or not _header(uuid).startswith(line):
                contents.problems.append(f"its last line ({number}) is incomplete and was left out.")
            break
        value = _value(line)
        if number == 1 and value is not None and "journal" in value:
            name, version = value["journal"], value.get("format")
            if isinstance(version, int) and version > FORMAT:
                contents.newer = True
                break
            if isinstance(name, str) and _NAME.fullmatch(f"{name}.jsonl"):
                contents.uuid = name
            continue
        record = None if value is None else _record(value)
        if record is None:
            contents.problems.append(f"its line {number} is damaged and was left out.")
        else:
            records.setdefault(record.seq, record)
    contents.records = [records[seq] for seq in sorted(records)]
    return contents


def _value(line: bytes) -> dict[str, object] | None:
    body = line[9:-1]
    if line[:9] != b"%08x " % crc32(body):
        return None
    try:
        value = _decoded(body.decode())
    except (ValueError, RecursionError):
        return None
    return value if isinstance(value, dict) else None


def _record(value: dict[str, object]) -> Record | None:
    seq, kind, at = value.get("seq"), value.get("kind"), value.get("at")
    session, fields, context = value.get("session"), value.get("fields"), value.get("context")
    if (
        isinstance(seq, int)
        and isinstance(kind, str)
        and isinstance(at, str)
        and isinstance(session, str)
        and isinstance(fields, dict)
        and isinstance(context, dict)
    ):
        return Record(seq, kind, at, session, fields, context)
    return None


# --- values ----------------------------------------------------------------------------------------------

# Git and SQLite store UTF-8, which has no half characters, and a NUL ends a text in too many places.
_UNSTORABLE = re.compile("[\0\ud800-\udfff]")
_PLAIN_LENGTH = 1 << 16


def _plain(text: object) -> str:
    if type(text) is str and text.isascii() and "\0" not in text:
        return text
    return _Cleaner().text(text)


def _texts(values: Mapping[str, str]) -> dict[str, str]:
    return {_plain(key): _plain(value) for key, value in values.items()} if values else {}


def _cleaned(fields: Mapping[str, object]) -> dict[str, object]:
    """The fields as JSON can hold them; the usual ones, short and plain texts, at once."""
    cleaned: dict[str, object] = {}
    for key, value in list(fields.items()):
        if not (
            type(key) is str
            and type(value) is str
            and key.isascii()
            and value.isascii()
            and len(value) < _PLAIN_LENGTH
            and "\0" not in value
            and "\0" not in key
        ):
            return _Cleaner().mapping(fields, 0)
        cleaned[key] = value
    return cleaned


class _Cleaner:
    """Turns any value into one that JSON gives back unchanged, however strange, deep or large it is."""

    def __init__(self) -> None:
        self._left = MAX_EVENT_BYTES
        self._path: set[int] = set()

    def value(self, value: object, depth: int) -> object:
        self._spend(2)  # no value takes less in JSON, with its comma
        if value is None or isinstance(value, bool):
            return value
        if isinstance(value, int):
            # Python refuses to write or read very long numbers in decimal.
            return int.__int__(value) if value.bit_length() <= 2048 else hex(value)
        if isinstance(value, float):
            if math.isnan(value):
                return "NaN"
            if math.isinf(value):
                return "Infinity" if value > 0 else "-Infinity"
            return float.__float__(value)
        if isinstance(value, dict | list | tuple | set | frozenset | Mapping):
            if id(value) in self._path:
                return "(circular)"
            if depth >= MAX_DEPTH:
                return "(nested too deeply)"
            self._path.add(id(value))
            try:
                if isinstance(value, Mapping):
                    return self.mapping(value, depth + 1)
                items = [self.value(item, depth + 1) for item in list(value)]
            finally:
                self._path.discard(id(value))
            return sorted(items, key=_encoded) if isinstance(value, set | frozenset) else items
        return self.text(value)

    def mapping(self, values: Mapping[str, object], depth: int) -> dict[str, object]:
        cleaned: dict[str, object] = {}
        for key, value in list(values.items()):  # a copy: another thread may change it
            name = self.text(key)
            count = 1
            while name in cleaned:  # 1 and "1" were two keys
                count += 1
                name = f"{name.removesuffix(f'~{count - 1}')}~{count}"
            cleaned[name] = self.value(value, depth)
        return cleaned

    def text(self, value: object) -> str:
        if isinstance(value, str):
            text = str.__str__(value)
        elif isinstance(value, bytes | bytearray):
            text = value.decode("utf-8", "replace")
        else:
            try:
                text = str.__str__(str(value))
            except Exception:  # noqa: BLE001 - somebody else's __str__ may raise anything
                text = f"({type(value).__name__})"
        self._spend(len(text))
        return _UNSTORABLE.sub(lambda found: "\u2400" if found.group() == "\0" else "\ufffd", text)

    def _spend(self, size: int) -> None:
        self._left -= size
        if self._left < 0:
            raise _too_large()


def _too_large() -> TooLarge:
    return TooLarge(
        f"The event was NOT stored: it is larger than {MAX_EVENT_BYTES >> 20} MiB; "
        "keep the text in a file and push where it is, or push it in parts."
    )


# --- locks and files -------------------------------------------------------------------------------------


class _Turn:
    """A lock that refuses the thread that has it, where a plain one would wait for itself for ever.

    A signal handler may come in the middle of a push, and push.
    """

    def __init__(self) -> None:
        self.lock = threading.RLock()
        self.taken = False

    def __enter__(self) -> None:
        self.lock.acquire()
        if self.taken:
            self.lock.release()
            raise _busy()
        self.taken = True

    def __exit__(self, *_: object) -> None:
        self.taken = False
        self.lock.release()


def _busy() -> BundleBusy:
    return BundleBusy("The journal is in the middle of a push on this very thread: try again after it.")


class _Lock:
    """The lock file of one journal, held from `take` to `release` or to the end of the process.

    It is unlinked only by its holder and after the journal's file: while a journal is there, everybody sees
    the same lock.
    """

    _all: ClassVar[weakref.WeakSet[_Lock]] = weakref.WeakSet()

    def __init__(self, path: str, descriptor: int) -> None:
        self._path = path
        self._fd = descriptor
        self.lost = False  # by a fork: it is the parent's
        _Lock._all.add(self)

    @classmethod
    def take(cls, path: str, *, create: bool) -> _Lock | None:
        """The lock, or None where somebody else has it or has just removed it."""
        descriptor = os.open(path, _OPEN | (os.O_CREAT if create else 0), 0o644)
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            if os.fstat(descriptor).st_nlink:
                return cls(path, descriptor)
        except BlockingIOError:
            pass
        except BaseException:
            os.close(descriptor)
            raise
        os.close(descriptor)
        return None

    @property
    def held(self) -> bool:
        return self._fd >= 0

    def remove(self, *files: str) -> None:
        """Remove those files and then the lock's own, and release it."""
        try:
            for path in files:
                _remove(path)
            _remove(self._path)
        finally:
            self.release()

    def release(self) -> None:
        descriptor, self._fd = self._fd, -1
        if descriptor >= 0:
            # A child that was forked behind Python's back has the descriptor too, and would keep the lock.
            with contextlib.suppress(OSError):
                fcntl.flock(descriptor, fcntl.LOCK_UN)
            os.close(descriptor)

    def __del__(self) -> None:
        self.release()

    @classmethod
    def forked(cls) -> None:
        """In a forked child: the locks are the parent's. Closing leaves them locked, unlocking would not."""
        for lock in list(cls._all):
            descriptor, lock._fd, lock.lost = lock._fd, -1, True
            if descriptor >= 0:
                os.close(descriptor)


os.register_at_fork(after_in_child=_Lock.forked)


def _write_all(descriptor: int, data: bytes) -> None:
    done = os.write(descriptor, data)
    while done < len(data):  # a disk that is nearly full takes a part
        done += os.write(descriptor, data[done:])


def _read(descriptor: int, start: int, end: int) -> bytes:
    parts: list[bytes] = []
    while start < end and (part := os.pread(descriptor, min(end - start, 1 << 24), start)):
        parts.append(part)
        start += len(part)
    return b"".join(parts)


def _remove(path: str) -> None:
    with contextlib.suppress(FileNotFoundError):
        os.unlink(path)


def _sync_directory(path: str) -> None:
    descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        os.fsync(descriptor)
    except OSError as error:
        if error.errno not in (errno.EINVAL, errno.ENOTSUP):  # some file systems sync no directories
            raise
    finally:
        os.close(descriptor)


def _reason(error: OSError) -> str:
    return error.strerror or str(error)
