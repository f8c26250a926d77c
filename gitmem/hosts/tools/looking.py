"""Tools that look: search, fetch, recall."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

from gitmem.errors import UnknownRevision, UsageError
from gitmem.index.filters import Filters
from gitmem.memory.find.recall import MOST_SESSIONS, About, Line, Recall
from gitmem.memory.find.search import Hit, Search
from gitmem.memory.gate.egress import Egress, worth
from gitmem.memory.ids import event_meant
from gitmem.okf import layout
from gitmem.okf.entries import CONCEPT, EntryKey
from gitmem.okf.plain import shortened
from gitmem.okf.ranks import KNOWLEDGE, SAID, TOOL
from gitmem.okf.short_ids import ambiguous, short

if TYPE_CHECKING:
    from gitmem.git.tree import Tree
    from gitmem.hosts.tools.calls import Call, Value
    from gitmem.memory.curated.store import Target
    from gitmem.okf.entries import Entry

SHORT = 12
"""Characters of a commit that stand for it."""
_ABSTRACT, _OVERVIEW, _FULL = 200, 1_500, 11_000
_SIZES = {"abstract": _ABSTRACT, "overview": _OVERVIEW, "full": _FULL}
_HASH = re.compile(r"[0-9a-f]{6,32}")
_EVENT = re.compile(r"[0-9a-f]{8,32}-\d+")
_STORES: Mapping[str, Target] = {"memory": "memory", "user": "user"}
_NO_PAGES = ("memories/", "hermes/", "tools/", "snapshots/")
"""Directories whose files are read entry by entry, if at all."""
_THEN = "as it was then; it may not hold now"
_REMOVED = "it was removed and does not hold now"


# --- search ----------------------------------------------------------------------------------------------


def search(call: Call) -> Value:
    """Entries that answer, each with the id that `fetch` takes."""
    config, as_of, removed = call.memory.config, call.text("as_of"), bool(call.given.get("removed"))
    wanted = Filters(
        type=tuple(filter(None, (call.text("type"),))),
        as_of=as_of,
        removed=removed,
        ranks=(KNOWLEDGE, SAID, TOOL) if config.session_search else (KNOWLEDGE,),
        reader=call.session.reader,
    )
    found = call.memory.part(Search)(call.text("query"), wanted, limit=call.limit(8))
    call.session.showed((hit.path, hit.key) for hit in found.hits)
    return {
        "hits": [_hit(hit, as_of=bool(as_of), removed=removed) for hit in found.hits],
    }


def _hit(hit: Hit, *, as_of: bool, removed: bool) -> Value:
    held = _REMOVED if removed else _THEN if as_of and hit.rank == KNOWLEDGE else ""
    return {
        "id": id_of(hit.path, hit.key),
        **_ranked(hit),
        "path": hit.path,
        "type": hit.type,
        "at": hit.at,
        "session": hit.session or None,
        "machine": hit.machine or None,
        **({"holds": held} if held else {}),
    }


def id_of(path: str, key: EntryKey) -> str:
    """Return what an entry is called in an answer, and `fetch` finds it by."""
    return short(key.id) if key.space in ("§", "event") else path


def _ranked(found: Hit | Line) -> Value:
    """A text with what it is worth, and by what it was replaced."""
    known = {"text": found.text, **worth(found.rank, found.source, found.unconfirmed)}
    return {**known, "since_then": f"replaced by: {found.since}"} if found.since else known


# --- fetch -----------------------------------------------------------------------------------------------


def fetch(call: Call) -> Value:
    """One thing by its id: a store, an entry of one, a moment of a session, a session, or a file."""
    wanted, as_of = call.text("id"), call.text("as_of")
    index = call.memory.index.current()
    egress = Egress(call.memory, index, about="then" if as_of else "now", reader=call.session.reader)
    tree = call.memory.tree(as_of or "HEAD")
    found = (
        _store(call, egress, wanted, as_of)
        or _entry(call, egress, wanted, as_of)
        or _moment(call, egress, wanted)
        or _file(call, egress, wanted, tree)
        or _session(call, egress, wanted)
    )
    if not found:
        raise UnknownRevision(f"Nothing is called {shortened(wanted)!r}: search gives ids.")
    room = _SIZES[call.text("level") or "overview"]
    text = found["text"]
    cut = len(text) > room
    # In pieces: no single text of an answer is that long.
    pieces = [text[start : min(start + 1_400, room)] for start in range(0, min(len(text), room), 1_400)]
    held = {"holds": _THEN} if as_of else {}
    return {**found, **held, "text": pieces, **({"left_out": len(text) - room} if cut else {})}


def _store(call: Call, egress: Egress, wanted: str, as_of: str) -> Value | None:
    target = _STORES.get(wanted.casefold().removesuffix(".md").removeprefix("memories/"))
    if target is None:
        return None
    entries = _entries(call, egress, target, as_of)
    call.session.showed((layout.MEMORY, entry.key) for entry in entries)
    lines = [f"{short(entry.key.id)}  {_marked(egress, entry)}" for entry in entries]
    return {"id": target.upper(), "text": "\n".join(lines) or "It is empty."}


def _entry(call: Call, egress: Egress, wanted: str, as_of: str) -> Value | None:
    if not _HASH.fullmatch(wanted):
        return None
    found = {
        entry.key: (target, entry)
        for target in _STORES.values()
        for entry in _entries(call, egress, target, as_of)
        if entry.key.id.startswith(wanted)
    }
    if len(found) > 1:
        texts = {entry.key.id: _marked(egress, entry) for _, entry in found.values()}
        raise ambiguous(wanted, texts, "entries", texts)
    for target, entry in found.values():
        call.session.showed([(call.memory.curated.path(target), entry.key)])
        return {
            "id": short(entry.key.id),
            "path": call.memory.curated.path(target),
            "at": entry.at,
            "text": _marked(egress, entry),
        }
    return None


def _entries(call: Call, egress: Egress, target: Target, as_of: str) -> list[Entry]:
    """The entries of a store that may be seen, as a prompt would have them."""
    from gitmem.safety.verdict import Verdict

    entries = call.memory.curated.entries(target, revision=as_of or "HEAD")
    allowed = egress.curated(entries, call.memory.tree())
    return [entry for entry, result in allowed if result.verdict is Verdict.ALLOW]


def _marked(egress: Egress, entry: Entry) -> str:
    from gitmem.memory.gate.hearing import came_from, is_unconfirmed

    text = egress.clean(entry.text)
    return f"(unconfirmed, from {egress.name(came_from(entry))}) {text}" if is_unconfirmed(entry) else text


def _moment(call: Call, egress: Egress, wanted: str) -> Value | None:
    if not _EVENT.fullmatch(wanted):
        return None
    try:
        span = event_meant(call.memory.index.current(), wanted)
    except UnknownRevision:
        return None
    return _read(call, span.session, span.key) if egress.sees_session(span.session) else None


def _session(call: Call, egress: Egress, wanted: str) -> Value | None:
    name = _session_meant(call, wanted.removeprefix("session:"))
    if call.memory.index.current().session(name) is None or not egress.sees_session(name):
        return None
    return _read(call, name, "")


def _read(call: Call, session: str, around: str) -> Value:
    _refuse_without_sessions(call)
    reading = call.memory.read_session(session, around=around)
    note_lines(call, reading.lines)
    lines = [f"{short(line.id)}  {line.at[:16]}  {_in_words(line)}" for line in reading.lines]
    if reading.left_out:
        lines.append(f"({reading.left_out} lines between the first and the last are left out.)")
    return {
        "id": short(around) or reading.about.session,
        "session": reading.about.session,
        "at": reading.about.started,
        "text": "\n".join(lines) or "Nothing of it may be shown.",
    }


def _file(call: Call, egress: Egress, wanted: str, tree: Tree) -> Value | None:
    path = wanted.removeprefix("./")
    entry = tree.entry(path)
    if entry is None or entry.is_directory or not is_knowledge(path) or path.startswith(_NO_PAGES):
        return None
    call.session.showed([(path, CONCEPT)])
    source = egress.came_from(path, CONCEPT)
    mark = f"(unconfirmed, from {source}) " if source else ""
    return {"id": egress.name(path), "text": mark + egress.page(path, tree)}


def is_knowledge(path: str) -> bool:
    """Return whether a file says something: not a page that gitmem makes, nor a record of a conversation."""
    return (
        not layout.is_generated(path)
        and not layout.is_session(path)
        and not path.startswith(("retractions/", "config/", "."))
    )


# --- recall ----------------------------------------------------------------------------------------------


def recall(call: Call) -> Value:
    """Sessions that had to do with a question; one of them; or the newest."""
    return _recall(call, call.text("query"), call.text("session"), call.text("around"), call.limit(3))


def session_search(call: Call) -> Value:
    """The same, under the names that Hermes' own tool has."""
    return _recall(
        call, call.text("query"), call.text("session_id"), call.text("around_message_id"), call.limit(3)
    )


def _recall(call: Call, query: str, session: str, around: str, limit: int) -> Value:
    _refuse_without_sessions(call)
    limit, reader, current = min(limit, MOST_SESSIONS), call.session.reader, call.session.id
    if session:
        return _one_session(call, session, around)
    if around:
        raise UsageError("`around` needs the session that the line is in.")
    if not query:
        newest = call.memory.part(Recall).browse(limit=limit, current=current, reader=reader)
        return {"sessions": [_about(about) for about in newest]}
    wanted = Filters(reader=reader)
    found = call.memory.part(Recall)(query, wanted, limit=limit, current=current)
    call.session.showed(found.entries)
    return {
        "sessions": [
            {
                **_about(one.about),
                "recap": one.recap,
                "matches": [
                    {"id": short(line.id), **_ranked(line)}
                    for window in one.windows
                    for line in window
                    if line.matches
                ],
            }
            for one in found.recaps
        ]
    }


def _one_session(call: Call, session: str, around: str) -> Value:
    session = _session_meant(call, session)
    if not call.egress().sees_session(session):
        raise UnknownRevision(f"There is no session {shortened(session)!r}.")
    reading = call.memory.read_session(session, around=around)
    note_lines(call, reading.lines)
    lines = [{"id": short(line.id), "at": line.at, **_ranked(line)} for line in reading.lines]
    return {"sessions": [{**_about(reading.about), "lines": lines, "left_out": reading.left_out}]}


def _session_meant(call: Call, typed: str) -> str:
    """The session that is meant; whoever may not see all sessions hears of no other."""
    try:
        return call.memory.sessions.meant(typed)
    except UnknownRevision:
        if call.session.reader is None:
            raise
        return typed


def note_lines(call: Call, lines: Iterable[Line]) -> None:
    call.session.showed(("", EntryKey("event", line.id)) for line in lines if _EVENT.fullmatch(line.id))


def _about(about: About) -> dict[str, Any]:
    return {
        "session": about.session,
        "title": about.title or None,
        "started": about.started,
        "agent": about.agent or None,
        "machine": about.machine or None,
    }


def _refuse_without_sessions(call: Call) -> None:
    if not call.memory.config.session_search:
        raise UsageError("The settings keep earlier sessions to the user (session_search).")


def _in_words(line: Line) -> str:
    mark = f"(tool output, untrusted: {line.source}) " if line.rank == TOOL else ""
    mark += f"(unconfirmed, from {line.unconfirmed}) " if line.unconfirmed else ""
    since = f" (since then: {line.since})" if line.since else ""
    return f"{mark}{' '.join(line.text.split())}{since}"
