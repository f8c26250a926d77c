"""Hermes Agent's data: its memory files with their backups, its sessions in state.db, its skills; and the facts of its
holographic provider."""

from __future__ import annotations

import heapq
import json
import os
import re
from collections.abc import Iterator
from datetime import UTC, datetime
from operator import attrgetter

from gitmem.errors import GitMemError, InvalidContent
from gitmem.index.other_database import OtherDatabase, Row, opened
from gitmem.memory.capture.session_page import SessionInfo
from gitmem.memory.exchange.from_folder import aged
from gitmem.memory.exchange.importing import NOT_UTF8, Importer, NewEntry, NewFile, Piece, event_id, is_utf8
from gitmem.memory.skills.directory import read_skill, skills_below
from gitmem.okf import layout, timestamps
from gitmem.okf.curated import split_texts
from gitmem.okf.events import Event
from gitmem.okf.skills import SKILL_FILE, stored

_SESSION = (
    "id", "source", "user_id", "chat_id", "chat_type", "model", "parent_session_id", "started_at", "ended_at", "title",
)  # fmt: skip
_MESSAGE = ("id", "role", "content", "tool_calls", "tool_name", "timestamp", "active", "compacted")
_COUNTS = ("trust_score", "retrieval_count", "helpful_count")
_FACT = ("fact_id", "content", "category", "tags", "created_at", *_COUNTS)
_STORES = {"MEMORY.md": layout.MEMORY, "USER.md": layout.USER}
_BACKUP = re.compile(r"(MEMORY|USER)\.md\.bak\.(\d+)")
_PART = 2000
"""Messages of one session that become one commit: a longer session becomes several."""


def home_pieces(
    home: str, importer: Importer, *, since: float = 0.0, sessions: bool = False
) -> Iterator[Piece]:
    """All of a Hermes home, oldest first; `sessions` alone, or those that began since a moment."""
    if not os.path.isdir(home):
        raise InvalidContent(f"There is no directory {home}.")
    others = (
        []
        if sessions
        else sorted([*_memories(home, importer), *_skills(home, importer)], key=attrgetter("at"))
    )
    database = os.path.join(home, "state.db")
    if os.path.lexists(database):
        yield from heapq.merge(others, session_pieces(database, importer, since=since), key=attrgetter("at"))
    elif sessions:
        raise InvalidContent(f"There is no state.db in {home}: Hermes keeps its sessions there.")
    else:
        yield from others


# Memory files


def _memories(home: str, importer: Importer) -> Iterator[Piece]:
    """The states of the memory files: what each brought, and what it did not have any more."""
    for name, store in _STORES.items():
        known: dict[str, NewEntry] = {}
        for label, file, at in _states(home, name, importer):
            try:
                texts, is_all = importer.texts_in(file, f"memories/{label}", split_texts)
            except InvalidContent as error:
                importer.leave_out(f"memories/{label}", error)
                continue
            now = {new.text: known.get(new.text, new) for new in aged(texts, store, at)}
            gone = tuple(entry for one, entry in known.items() if one not in now) if is_all else ()
            known = now
            if now or gone:
                is_whole = label == name and bool(now) and is_all
                yield Piece(f"hermes memories/{label}", at, tuple(now.values()), gone, is_whole=is_whole)


def _states(home: str, name: str, importer: Importer) -> Iterator[tuple[str, str, float]]:
    """The backups of a memory file by the time in their names, and what it is now."""
    folder, last = os.path.join(home, "memories"), 0.0
    names = os.listdir(folder) if os.path.isdir(folder) else []
    matches = [match for one in names if (match := _BACKUP.fullmatch(one)) and f"{match[1]}.md" == name]
    for match in sorted(matches, key=lambda match: int(match[2])):
        moment = int(match[2])
        last = float(moment) if moment < 10**11 else moment / 1000
        yield match[0], os.path.join(folder, match[0]), last
    file = os.path.realpath(os.path.join(folder, name))  # it may be a link inside the home
    if not file.startswith(os.path.realpath(home) + os.sep):
        importer.leave_out(f"memories/{name}", f"it is a link out of {home}.")
    elif os.path.lexists(file):
        yield name, file, max(os.stat(file).st_mtime, last)


# Sessions


def session_pieces(path: str, importer: Importer, *, since: float = 0.0) -> Iterator[Piece]:
    """Every session of a state.db with its messages, oldest first; one that is long in several pieces."""
    with opened(path) as database:
        sessions, messages = database.columns("sessions"), database.columns("messages")
        if not ({"id", "started_at"} <= sessions and {"session_id", "role", "content"} <= messages):
            raise InvalidContent(
                f"{path} has no sessions and messages that gitmem knows: is it Hermes' state.db?"
            )
        where, values = ("started_at >= ?", (since,)) if since else ("", ())
        ended = "COALESCE(NULLIF(ended_at, 0), started_at)" if "ended_at" in sessions else "started_at"
        for row in database.rows("sessions", _SESSION, where=where, values=values, order=f"{ended}, id"):
            yield from _session(database, row, importer)


def _session(database: OtherDatabase, row: Row, importer: Importer) -> Iterator[Piece]:
    name = _text(row["id"])
    if not name:
        importer.leave_out("A session without an id", "nothing else tells it apart.")
        return
    started = _seconds(row["started_at"])
    info = SessionInfo(
        name,
        started=timestamps.stamp_of(started),
        parent=_text(row["parent_session_id"]),
        agent="hermes",
        platform=_text(row["source"]),
        model=_text(row["model"]),
        source="hermes",
        title=_text(row["title"]),
        user=_text(row["user_id"]),
        chat=_text(row["chat_id"]),
        chat_type=_text(row["chat_type"]),
    )
    ended = _seconds(row["ended_at"])
    known = database.columns("messages")
    order = "id" if "id" in known else "rowid"
    events: list[Event] = []
    said = ""
    number = 0
    for message in database.rows(
        "messages", _MESSAGE, where="session_id = ?", values=(row["id"],), order=order
    ):
        if message["active"] == 0 and not message["compacted"]:  # a person undid it
            continue
        number = int(message["id"]) if isinstance(message["id"], int) else number + 1
        at = timestamps.stamp_of(_seconds(message["timestamp"]) or started)
        role, content = message["role"], _content(message["content"])
        if not is_utf8(content):
            importer.leave_out(f"Message {number} of session {name}", NOT_UTF8)
            continue
        if role == "user":
            if said:
                events.append(_turn(name, number, at, said, ""))
            said = content
        elif role == "assistant" and content:
            events.append(_turn(name, number, at, said, content))
            said = ""
        elif role == "tool" and content:
            tool = _text(message["tool_name"]) or "tool"
            fields = {"tool_name": tool, "result": content}
            events.append(Event(event_id(f"hermes session {name}", number), "tool_call", at, fields, name))
        if len(events) >= _PART:
            yield Piece(f"hermes session {name}", ended or started, events=tuple(events), session=info)
            events = []
    if said:
        events.append(_turn(name, number + 1, timestamps.stamp_of(started), said, ""))
    if events:
        ending = timestamps.stamp_of(ended) if ended else ""
        yield Piece(
            f"hermes session {name}", ended or started, events=tuple(events), session=info, ended=ending
        )


def _turn(session: str, number: int, at: str, user: str, assistant: str) -> Event:
    fields = {"user": user, "assistant": assistant}
    said = {name: text for name, text in fields.items() if text}
    return Event(event_id(f"hermes session {session}", number), "turn", at, said, session)


def _content(value: object) -> str:
    """The text of a message: Hermes keeps parts of a multimodal one as JSON."""
    if not isinstance(value, str):
        return ""
    if value.startswith("[{"):
        try:
            parts = json.loads(value)
        except ValueError:
            return value
        texts = [part.get("text", "") for part in parts if isinstance(part, dict)]
        return "\n".join(text for text in texts if isinstance(text, str) and text) or value
    return value


# Skills


def _skills(home: str, importer: Importer) -> Iterator[Piece]:
    top = os.path.join(home, "skills")
    for _, directory in skills_below(top):
        inside = f"skills/{os.path.relpath(directory, top).replace(os.sep, '/')}"
        try:
            kept = [
                NewFile(f"{inside}/{name}", stored(name, data))
                for name, data in read_skill(directory).items()
            ]
        except (GitMemError, OSError) as error:
            importer.leave_out(inside, error)
            continue
        at = os.stat(os.path.join(directory, SKILL_FILE)).st_mtime
        yield Piece(f"hermes {inside}", at, files=tuple(kept))


# The holographic provider


def fact_pieces(path: str, importer: Importer) -> Iterator[Piece]:
    """The facts of a memory_store.db: what is about the user to its store, all with their trust and counts."""
    if os.path.isdir(path):
        path = os.path.join(path, "memory_store.db")
    with opened(path) as database:
        if "content" not in database.columns("facts"):
            raise InvalidContent(
                f"{path} has no facts: is it the memory_store.db of the holographic provider?"
            )
        entries = []
        for row in database.rows("facts", _FACT, order="fact_id"):
            text = str(row["content"] or "").strip()
            if not text:
                importer.problem("A fact without a text was left out.")
                continue
            category = _text(row["category"]) or "general"
            extra: list[tuple[str, object]] = [("category", category)]
            if tags := [tag.strip() for tag in _text(row["tags"]).split(",") if tag.strip()]:
                extra.append(("tags", tags))
            for name in _COUNTS:
                if isinstance(row[name], int | float):
                    extra.append((name, row[name]))
            store = layout.USER if category.startswith("user") else layout.MEMORY
            entries.append(
                NewEntry(
                    text,
                    store,
                    _sql_time(row["created_at"]),
                    extra=tuple(extra),
                    name=f"Fact {row['fact_id']}",
                )
            )
        if entries:
            yield Piece("holographic facts", os.stat(path).st_mtime, tuple(entries), is_whole=True)


def _sql_time(value: object) -> str:
    try:
        return timestamps.stamp(datetime.fromisoformat(str(value)).replace(tzinfo=UTC))
    except ValueError:
        return ""


def _text(value: object) -> str:
    return "" if value is None else str(value).encode("utf-8", "replace").decode()


def _seconds(value: object) -> float:
    return float(value) if isinstance(value, int | float) else 0.0
