"""JSONL: gitmem's own lines."""

from __future__ import annotations

import base64
import hashlib
import json
import os
from collections.abc import Iterator, Mapping
from typing import Any, TypeVar

from gitmem.errors import InvalidContent
from gitmem.files import open_regular
from gitmem.memory.capture.recorder import HELD, KINDS, as_texts
from gitmem.memory.capture.session_page import SessionInfo
from gitmem.memory.exchange.importing import Importer, NewEntry, NewFile, Piece, event_id
from gitmem.memory.exposure import RECALLED
from gitmem.okf import layout, timestamps
from gitmem.okf.curated import check_text
from gitmem.okf.entries import is_hash
from gitmem.okf.events import Event, place_of

_MANY = 500
"""Lines that become one commit."""
_LONGEST = 16 * 1024 * 1024
_Kind = TypeVar("_Kind")
_KIND_NAMES: dict[type, str] = {str: "a text", dict: "an object"}


def line_pieces(path: str, importer: Importer) -> Iterator[Piece]:
    """Yield what a file holds, in commits of some hundred lines; a line that cannot be read is reported."""
    name = os.path.basename(path)
    source = f"jsonl {name}"
    entries: list[NewEntry] = []
    files: list[NewFile] = []
    events: dict[tuple[str, str], list[Event]] = {}
    for number, item in _lines(path, importer):
        line = f"Line {number} of {name}"
        try:
            match item.get("gitmem"):
                case "entry":
                    entries.append(_entry(item, line))
                case "event":
                    event = _event(item, name)
                    events.setdefault((event.session, place_of(event.id)[0]), []).append(event)
                case "file":
                    files.append(_file(item))
                case _:
                    raise ValueError("it is none that gitmem knows.")
        except (InvalidContent, ValueError) as error:
            importer.leave_out(line, error)
    # First what was taken back there: an event that says it must not bring it here.
    files.sort(key=lambda file: not file.path.startswith("retractions/"))
    if files:
        yield Piece(source, files=tuple(files))
    for (session, _), several in events.items():
        found = sorted(several, key=lambda event: place_of(event.id)[1])
        info = SessionInfo(session, started=found[0].at)
        for start in range(0, len(found), _MANY):
            yield Piece(source, events=tuple(found[start : start + _MANY]), session=info)
    for start in range(0, len(entries), _MANY):
        yield Piece(source, entries=tuple(entries[start : start + _MANY]))


def _lines(path: str, importer: Importer) -> Iterator[tuple[int, Mapping[str, Any]]]:
    """Yield the JSON objects of a file with the numbers of their lines."""
    try:
        with os.fdopen(open_regular(path, follow=True), "rb") as file:
            for number, raw in enumerate(file, 1):
                if not raw.strip():
                    continue
                try:
                    item = json.loads(raw) if len(raw) <= _LONGEST else None
                except (ValueError, RecursionError):
                    item = None
                if isinstance(item, dict):
                    yield number, item
                else:
                    importer.leave_out(
                        f"Line {number} of {os.path.basename(path)}", "it is not a JSON object."
                    )
    except OSError as error:
        raise InvalidContent(f"{path} cannot be read ({error.strerror}).") from error


def _entry(item: Mapping[str, Any], name: str) -> NewEntry:
    path = str(item.get("path", ""))
    if layout.default_type(path) not in (layout.CURATED_MEMORY, layout.ARCHIVED_MEMORY, layout.USER_PROFILE):
        path = layout.USER if item.get("target") == "user" else layout.MEMORY
    replaces = str(item.get("replaces", ""))
    return NewEntry(
        check_text(_given(item, "text", str)),
        path,
        str(item.get("at", "")),
        replaces if is_hash(replaces) else "",
        tuple(_given({"extra": {}, **item}, "extra", dict).items()),
        name,
    )


def _event(item: Mapping[str, Any], name: str) -> Event:
    session, kind = check_text(str(item.get("session") or f"import-{name}")), _given(item, "kind", str)
    if kind not in (*KINDS, RECALLED, HELD):
        raise ValueError(f"there are no events of the kind {kind[:40]!r}.")
    fields = as_texts(kind, _given(item, "fields", dict))
    at = timestamps.parse(item.get("at"))
    if at is None:
        raise ValueError("its time is not one with an offset.")
    name = str(item.get("id", ""))
    if place_of(name)[1] < 0 or not is_hash(place_of(name)[0]):
        # By its moment and what it says: the same in every run, and in order.
        digest = hashlib.sha256(json.dumps([kind, fields], sort_keys=True).encode()).hexdigest()
        name = event_id(f"jsonl {session}", int(at.timestamp() * 1000) * 1000 + int(digest[:8], 16) % 1000)
    return Event(name, kind, timestamps.stamp(at), fields, session)


def _file(item: Mapping[str, Any]) -> NewFile:
    is_text = "base64" not in item
    content = _given(item, "text" if is_text else "base64", str)
    data = content.encode() if is_text else base64.b64decode(content, validate=True)
    return NewFile(_given(item, "path", str), data)


def _given(item: Mapping[str, Any], name: str, kind: type[_Kind]) -> _Kind:
    """A value that the line must have."""
    value = item.get(name)
    if not isinstance(value, kind):
        verb = "are" if name == "fields" else "is"
        raise ValueError(f"its {name} {verb} not {_KIND_NAMES[kind]}.")
    return value
