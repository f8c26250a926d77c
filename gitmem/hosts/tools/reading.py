"""Tools that look: search, fetch, recall."""

from __future__ import annotations

import contextlib
import re
from collections.abc import Iterator, Mapping
from itertools import islice
from typing import TYPE_CHECKING, NamedTuple

from gitmem.errors import UnknownRevision, UsageError
from gitmem.hosts.tools.text import flat, in_pieces, is_knowledge, knowledge, line, marked
from gitmem.index.filters import Filters
from gitmem.memory.find.recall import MOST_SESSIONS, About, Line, Recall
from gitmem.memory.find.search import Hit, Search
from gitmem.memory.gate.egress import Egress, Standing, worth
from gitmem.memory.history.log import History, LogFilter
from gitmem.memory.ids import event_meant
from gitmem.okf import layout
from gitmem.okf.entries import CONCEPT, EntryKey
from gitmem.okf.plain import shortened
from gitmem.okf.ranks import KNOWLEDGE, SAID, TOOL
from gitmem.okf.short_ids import ambiguous, short

if TYPE_CHECKING:
    from gitmem.git.tree import Tree
    from gitmem.hosts.tools.calls import ToolArguments
    from gitmem.hosts.tools.text import Lines
    from gitmem.memory.curated.store import Target
    from gitmem.okf.entries import Entry

_SIZES = {"abstract": 200, "overview": 1_500, "full": 11_000}
"""Characters of what is fetched, by level."""
_LEARNED = 3
"""Things that a session learned, in a list of sessions."""
_BEGINNING = 200
"""Characters of the first words of a session that learned nothing."""
_LOOKED_AT = 30
"""Sessions among which the newest with content are."""
_HASH = re.compile(r"[0-9a-f]{6,32}")
_EVENT = re.compile(r"[0-9a-f]{8,32}-\d+")
_STORES: Mapping[str, Target] = {"memory": "memory", "user": "user"}
_THEN = "as it was then; it may not hold now"
_REMOVED = "it was removed and does not hold now"


# --- search ----------------------------------------------------------------------------------------------


def search(call: ToolArguments) -> Lines:
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
    lines = []
    for hit in found.hits:
        held = _REMOVED if removed else _THEN if as_of and hit.rank == KNOWLEDGE else ""
        lines.append(line(_id_of(hit), call.age(hit.at), _words(hit) + (f" ({held})" if held else "")))
    return lines or ["Nothing found."]


def _id_of(hit: Hit) -> str:
    """The id that `fetch` finds a hit by."""
    if hit.key.space in ("§", "event"):
        return short(hit.key.id)
    return hit.session if layout.is_session(hit.path) and hit.session else hit.path


def _words(found: Hit | Line) -> str:
    """A text with its worth, and what replaced it."""
    since = f" (since then replaced by: {flat(found.since)})" if found.since else ""
    return marked(worth(found.rank, found.source, found.unconfirmed), found.text) + since


# --- fetch -----------------------------------------------------------------------------------------------


class _Fetched(NamedTuple):
    """One thing by its id, whole."""

    id: str
    text: str
    at: str = ""
    session: str = ""


def fetch(call: ToolArguments) -> Lines:
    """One thing by its id: a store, an entry of one, a moment of a session, a session, or a file."""
    wanted, as_of = call.text("id"), call.text("as_of")
    index = call.memory.index.current()
    egress = Egress(call.memory, index, about="then" if as_of else "now", reader=call.session.reader)
    found = (
        _store(call, egress, wanted, as_of)
        or _entry(call, egress, wanted, as_of)
        or _file(call, egress, wanted, call.memory.tree(as_of or "HEAD"))
        or _talk(call, egress, wanted)
    )
    if not found:
        raise UnknownRevision(f"Nothing is called {shortened(wanted)!r}: search gives ids.")
    room = _SIZES[call.text("level") or "overview"]
    left = len(found.text) - room
    return [
        line(found.id, call.age(found.at), found.session),
        *([f"({_THEN})"] if as_of else ()),
        in_pieces(found.text[:room]),
        *([f"({left:,} characters more: ask for level=full, or for a part.)"] if left > 0 else ()),
    ]


def _store(call: ToolArguments, egress: Egress, wanted: str, as_of: str) -> _Fetched | None:
    target = _STORES.get(wanted.casefold().removesuffix(".md").removeprefix("memories/"))
    if target is None:
        return None
    entries = _entries(call, egress, target, as_of)
    call.session.showed((layout.MEMORY, one.entry.key) for one in entries)
    lines = [f"{short(one.entry.key.id)}  {one.line}" for one in entries]
    return _Fetched(target.upper(), "\n".join(lines) or "It is empty.")


def _entry(call: ToolArguments, egress: Egress, wanted: str, as_of: str) -> _Fetched | None:
    if not _HASH.fullmatch(wanted):
        return None
    found = {
        one.entry.key: (target, one)
        for target in _STORES.values()
        for one in _entries(call, egress, target, as_of)
        if one.entry.key.id.startswith(wanted)
    }
    if len(found) > 1:
        texts = {key.id: one.line for key, (_, one) in found.items()}
        raise ambiguous(wanted, texts, "entries", texts)
    for key, (target, one) in found.items():
        call.session.showed([(call.memory.curated.path(target), key)])
        return _Fetched(short(key.id), one.line, one.entry.at)
    return None


def _entries(call: ToolArguments, egress: Egress, target: Target, as_of: str) -> list[Standing]:
    """The entries of a store that may be seen, as a prompt would have them."""
    entries = call.memory.curated.entries(target, revision=as_of or "HEAD", user=call.session.page)
    return [one for one in egress.entries(entries, call.memory.tree()) if one]


def marked_entry(egress: Egress, path: str, entry: Entry) -> str:
    """An entry of a file, with its mark."""
    known = worth(KNOWLEDGE, "", egress.source(path, entry.key))
    return marked(known, egress.text(entry.text))


def _talk(call: ToolArguments, egress: Egress, wanted: str) -> _Fetched | None:
    """A session, or what is around a moment of one."""
    index, span = call.memory.index.current(), None
    with contextlib.suppress(UnknownRevision):
        span = event_meant(index, wanted) if _EVENT.fullmatch(wanted) else None
    session = span.session if span else _session_meant(call, wanted.removeprefix("session:"))
    around = span.key if span else ""
    if index.session(session) is None or not egress.sees_session(session):
        return None
    _refuse_without_sessions(call)
    about, *lines = _lines_of(call, session, around)
    return _Fetched(short(around) or about, "\n".join(lines) or "Nothing of it may be shown.")


def _file(call: ToolArguments, egress: Egress, wanted: str, tree: Tree) -> _Fetched | None:
    path = wanted.removeprefix("./")
    entry = tree.entry(path)
    if entry is None or entry.is_directory or not is_knowledge(path) or path.startswith("memories/"):
        return None
    if not egress.is_readers(path, CONCEPT):
        return None
    call.session.showed([(path, CONCEPT)])
    return _Fetched(egress.name(path), egress.page(path, tree).line)


# --- recall ----------------------------------------------------------------------------------------------


def recall(call: ToolArguments) -> Lines:
    """Sessions that had to do with a question; one of them; or the newest."""
    _refuse_without_sessions(call)
    query, session, around = (call.text(name) for name in ("query", "session", "around"))
    limit, reader, current = min(call.limit(3), MOST_SESSIONS), call.session.reader, call.session.id
    if session:
        return list(_lines_of(call, session, around))
    if around:
        raise UsageError("`around` needs the session that the line is in.")
    if not query:
        newest = call.memory.part(Recall).browse(limit=_LOOKED_AT, current=current, reader=reader)
        rows = ((_about(call, about), *learned) for about in newest if (learned := _content(call, about)))
        return [text for row in islice(rows, limit) for text in row] or ["There is no earlier session."]
    found = call.memory.part(Recall)(query, Filters(reader=reader), limit=limit, current=current)
    call.session.showed(found.entries)
    lines = []
    for one in found.recaps:
        lines += [_about(call, one.about), *([f"  {flat(one.recap)}"] if one.recap else ())]
        matches = (text for window in one.windows for text in window if text.matches)
        lines += [f"  {line(short(text.id), _words(text))}" for text in matches]
    return lines or ["No earlier session had to do with it."]


def _lines_of(call: ToolArguments, session: str, around: str) -> Iterator[str]:
    """A session, or what is around a line of it: first what it is, then line by line."""
    session = _session_meant(call, session)
    if not call.egress().sees_session(session):
        raise UnknownRevision(f"There is no session {shortened(session)!r}.")
    reading = call.memory.read_session(session, around=around)
    call.session.showed(
        (one.path, EntryKey("event", one.id)) for one in reading.lines if _EVENT.fullmatch(one.id)
    )
    yield _about(call, reading.about)
    for one in reading.lines:
        yield f"  {line(short(one.id), call.age(one.at), _words(one))}"
    if reading.left_out:
        yield f"  ({reading.left_out} lines between the first and the last are left out.)"


def _content(call: ToolArguments, about: About) -> list[str]:
    """A few of the things that a session learned, else how it began; nothing for one that only looked."""
    history = call.memory.part(History)
    commits = [entry.commit for entry in history.log(LogFilter(session=(about.session,)))]
    learned = list(knowledge(call.egress(), history.knowledge_of(commits)))
    if not learned:
        said = call.memory.read_session(about.session).lines[:1]
        return [f"  {shortened(_words(one), _BEGINNING)}" for one in said]
    more = [f"and {len(learned) - _LEARNED} more"] if len(learned) > _LEARNED else []
    return [f"  {one}" for one in (*learned[:_LEARNED], *more)]


def _about(call: ToolArguments, about: About) -> str:
    return line(about.session, call.age(about.started), about.agent, flat(about.title))


def _session_meant(call: ToolArguments, typed: str) -> str:
    """The session that is meant; a reader of some sessions learns of no other."""
    try:
        return call.memory.sessions.meant(typed)
    except UnknownRevision:
        if call.session.reader is None:
            raise
        return typed


def _refuse_without_sessions(call: ToolArguments) -> None:
    if not call.memory.config.session_search:
        raise UsageError("The settings keep earlier sessions to the user (session_search).")
