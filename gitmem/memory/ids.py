"""Ids that people and agents give back: sessions, events and entries, whole or by a beginning that only one has.

How an id is shown and compared is `gitmem.okf.short_ids`; here is where the ids are looked up. Where several begin so,
the error has their ids and no text: it may reach an agent.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from gitmem.errors import UnknownRevision
from gitmem.okf import layout, short_ids
from gitmem.okf.paths import safe_name

if TYPE_CHECKING:
    from gitmem.git.tree import Tree
    from gitmem.index.lookup import Lookup, Span

_MOST = 50


def session_meant(tree: Tree, typed: str) -> str:
    """The session that is meant; what was typed where none begins so: the lookup then says so."""
    wanted = safe_name(typed)
    names = {layout.session_name(path): path for path in layout.session_pages(tree)}
    found = short_ids.meant(wanted, names, "sessions") if wanted not in names else ""
    if not found:
        return typed
    from gitmem.okf.concept import Concept

    path = names[found]
    return str(Concept.parse(tree.read(path) or b"", path).meta.get("session", ""))


def spans_of(index: Lookup, typed: str, *spaces: str) -> list[Span]:
    """The places of the entries and events whose id begins so, the last one last."""
    bounds = short_ids.bounds(typed)
    found = [span for space in spaces for span in index.spans_of_id(space, *bounds, limit=_MOST)]
    return sorted(found, key=lambda span: span.from_seq)


def event_meant(index: Lookup, typed: str, session: str = "") -> Span:
    """The event that is meant, at its last place; in one session where that is named."""
    is_id = short_ids.looks_like_id(typed)  # an event from elsewhere may be called anything
    spans = spans_of(index, typed, "event") if is_id else index.spans(space="event", key=typed)
    named = {span.key: span for span in spans if session in ("", span.session)}
    found = short_ids.meant(typed, named, "events")
    if not found:
        where = f"The session {session!r} has no entry" if session else "There is no event"
        raise UnknownRevision(f"{where} {typed!r}.", hint="`gitmem recall` and `gitmem search` print ids.")
    return named[found]


def entry_meant(index: Lookup, typed: str) -> Span:
    """The § entry that is meant, at its last place."""
    named = {span.key: span for span in spans_of(index, typed, "§")} if typed else {}
    found = short_ids.meant(typed, named, "entries")
    if not found:
        raise UnknownRevision(f"There is no entry {typed!r}.", hint="`gitmem facts` prints ids.")
    return named[found]


def text_meant(index: Lookup, typed: str) -> str:
    """The text of the entry or event whose id is meant; what was typed where it is no id, or a text has it in it."""
    if not short_ids.looks_like_id(typed) or index.spans_containing(typed.strip()):
        return typed
    texts = {span.key: span.text for span in spans_of(index, typed, "§", "event")}
    found = short_ids.meant(typed, texts, "entries")
    return texts[found] if found else typed
