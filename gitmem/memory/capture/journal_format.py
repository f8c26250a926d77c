"""A journal's file: one line an event, each with its checksum, read line by line whatever happened to it.

A line is a checksum, a space, JSON and a newline; the first one names the journal:

    9d1c7a52 {"journal":"0123456789abcdef0123456789abcdef","format":1}
    1f0e2a77 {"seq":1,"kind":"observation","at":"2026-06-30T14:00:00.123Z","session":"s1",
              "fields":{"content":"…"},"context":{}}   (on one line)

The checksum is the CRC-32 of the JSON's bytes in eight hexadecimal digits. A line without its newline was
never acknowledged.
"""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from zlib import crc32

from gitmem.errors import TooLarge
from gitmem.okf.plain import few

FORMAT = 1
CONTROL = "_"
"""How the kind of a record begins that is no event: what a later process must know of its writer."""
SETTLED = "_settled"
"""The control record that ends others: its `notes` are their numbers."""
MAX_EVENT_BYTES = 8 << 20

# Git and SQLite store UTF-8, which has no half characters, and a NUL ends a text in too many places.
_UNSTORABLE = re.compile("[\0\ud800-\udfff]")

encoded = json.JSONEncoder(
    ensure_ascii=False, check_circular=False, allow_nan=False, separators=(",", ":")
).encode
"""JSON as journals have it."""

_UUID = re.compile(r"[0-9a-f]{32}", re.ASCII)
_SEQ = re.compile(rb'[0-9a-f]{8} \{"seq":(\d+),')
_CONTROL_LINE = re.compile(rb'[0-9a-f]{8} \{"seq":\d+,"kind":"_')
_NAMED_LINES = 5
_decoded = json.JSONDecoder().decode


@dataclass(frozen=True, slots=True)
class Record:
    """One event as it is in the journal; `context` is what the host knew beside its fields."""

    seq: int
    kind: str
    at: str
    session: str
    fields: dict[str, object]
    context: dict[str, str]

    @property
    def is_control(self) -> bool:
        return self.kind.startswith(CONTROL)

    def id(self, journal_uuid: str) -> str:
        """The event's identity, which is stored with it in the tree."""
        return f"{journal_uuid}-{self.seq}"


@dataclass(slots=True)
class Contents:
    """Contents of a file: the uuid of its head, its events in order, and what cannot be read."""

    uuid: str
    records: list[Record] = field(default_factory=list)
    damaged: list[int] = field(default_factory=list)
    """Numbers of the lines that are whole and not what was written."""
    torn: int = 0
    """The number of a last line without its end: its writer died in the middle of a push."""
    newer: bool = False
    """The file is a later gitmem's."""

    def problems(self) -> list[str]:
        """Return what cannot be read, as sentences without their beginning and end."""
        told = []
        if self.damaged:
            named = few([str(number) for number in self.damaged], _NAMED_LINES)
            is_one = len(self.damaged) == 1
            what = f"line {named} is damaged and was" if is_one else f"lines {named} are damaged and were"
            told.append(f"its {what} left out")
        if self.torn:
            told.append(f"its last line ({self.torn}) is incomplete and was left out")
        return told


def header(uuid: str) -> bytes:
    """The first line of a journal."""
    return line({"journal": uuid, "format": FORMAT})


def event_line(record: Record) -> bytes:
    """The line of an event."""
    return line(
        {
            "seq": record.seq,
            "kind": record.kind,
            "at": record.at,
            "session": record.session,
            "fields": record.fields,
            "context": record.context,
        }
    )


def line(value: dict[str, object]) -> bytes:
    body = encoded(value).encode()
    return b"%08x %b\n" % (crc32(body), body)


def is_control(raw: bytes) -> bool:
    """Return whether it is the line of a control record."""
    return _CONTROL_LINE.match(raw) is not None


def unsettled(records: Sequence[Record]) -> list[Record]:
    """The control records that still count."""
    settled: set[object] = set()
    for record in records:
        numbers = record.fields.get("notes") if record.kind == SETTLED else None
        settled |= {one for one in numbers if isinstance(one, int)} if isinstance(numbers, list) else set()
    return [one for one in records if one.is_control and one.kind != SETTLED and one.seq not in settled]


def is_upto(raw: bytes, seq: int, keep: Collection[int] = ()) -> bool:
    """Return whether it is the line of a record up to that number, and none to keep; a line that cannot be read is not."""
    match = _SEQ.match(raw)
    return match is not None and int(match[1]) <= seq and int(match[1]) not in keep and _is_whole(raw)


def parse(lines: Iterable[bytes], uuid: str) -> Contents:
    """Return what the lines of a file hold; `uuid` is what its name says."""
    contents = Contents(uuid)
    records: dict[int, Record] = {}
    for number, raw in enumerate(lines, 1):
        if not raw.endswith(b"\n"):
            if number > 1:
                contents.torn = number
            elif not header(uuid).startswith(raw):  # that would be a writer that died before its first event
                contents.damaged.append(number)
            break
        value = _value(raw)
        if number == 1 and value is not None and "journal" in value:
            name, version = value["journal"], value.get("format")
            if isinstance(version, int) and version > FORMAT:
                contents.newer = True
                break
            if isinstance(name, str) and _UUID.fullmatch(name):
                contents.uuid = name
            continue
        record = None if value is None else _record(value)
        if record is None:
            contents.damaged.append(number)
        else:
            records.setdefault(record.seq, record)
    contents.records = [records[seq] for seq in sorted(records)]
    return contents


def _is_whole(raw: bytes) -> bool:
    return raw[:9] == b"%08x " % crc32(raw[9:-1])


def _value(raw: bytes) -> dict[str, object] | None:
    if not _is_whole(raw):
        return None
    try:
        value = _decoded(raw[9:-1].decode())
    except (ValueError, RecursionError):
        return None
    return value if isinstance(value, dict) else None


def _record(value: dict[str, object]) -> Record | None:
    seq, kind, at = value.get("seq"), value.get("kind"), value.get("at")
    session, fields, context = value.get("session"), value.get("fields"), value.get("context")
    if not (isinstance(seq, int) and isinstance(fields, dict) and isinstance(context, dict)):
        return None
    if not (isinstance(kind, str) and isinstance(at, str) and isinstance(session, str)):
        return None
    return Record(seq, kind, at, session, fields, context)


# Field values on their way in: JSON can hold them and gives them back unchanged


def plain(text: object) -> str:
    """The value as a text that can be stored; a plain one as it is."""
    text = str(text)
    if text.isascii() and "\0" not in text:
        return text
    return _UNSTORABLE.sub(lambda found: "\u2400" if found.group() == "\0" else "\ufffd", text)


def texts(values: Mapping[str, str]) -> dict[str, str]:
    """Names and texts that can be stored."""
    return {plain(key): plain(value) for key, value in values.items()} if values else {}


def cleaned(fields: Mapping[str, object]) -> dict[str, object]:
    """The fields of an event, which are texts, as they can be stored; the numbers in a note of our own stay numbers."""
    return {
        plain(key): value if isinstance(value, int | list) else plain(value)
        for key, value in list(fields.items())  # a copy: another thread may change it
    }


def too_large() -> TooLarge:
    """The message for a caller that pushes more than fits."""
    return TooLarge(
        f"The event was NOT stored: it is larger than {MAX_EVENT_BYTES >> 20} MiB; "
        "keep the text in a file and push where it is, or push it in parts."
    )
