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
    return _session_in(tree, names[found]) if found else typed


def _session_in(tree: Tree, path: str) -> str:
    from gitmem.okf.concept import Concept

    return str(Concept.parse(tree.read(path) or b"", path).meta.get("session", ""))


def event_meant(index: Lookup, typed: str, session: str = "") -> Span:
    """The event that is meant, at its last place; in one session where that is named."""
    spans = index.spans_of_id("event", *short_ids.bounds(typed), limit=_MOST)
    if not short_ids.looks_like_id(typed):  # an event from elsewhere may be called anything
        spans = index.spans(space="event", key=typed)
    named = {span.key: span for span in spans if session in ("", span.session)}
    found = short_ids.meant(typed, named, "events")
    if not found:
        where = f"The session {session!r} has no entry" if session else "There is no event"
        raise UnknownRevision(f"{where} {typed!r}.", hint="`gitmem recall` and `gitmem search` print ids.")
    return named[found]


def entry_meant(index: Lookup, typed: str) -> Span:
    """The § entry that is meant, at its last place."""
    spans = index.spans_of_id("§", *short_ids.bounds(typed), limit=_MOST) if typed else []
    named = {span.key: span for span in sorted(spans, key=lambda span: span.from_seq)}
    found = short_ids.meant(typed, named, "entries")
    if not found:
        raise UnknownRevision(f"There is no entry {typed!r}.", hint="`gitmem facts` prints ids.")
    return named[found]


def text_meant(index: Lookup, typed: str) -> str:
    """The text of the entry or event whose id is meant; what was typed where it is no id, or a text has it in it."""
    if not short_ids.looks_like_id(typed) or index.spans_containing(typed.strip()):
        return typed
    bounds = short_ids.bounds(typed)
    spans = [one for space in ("§", "event") for one in index.spans_of_id(space, *bounds, limit=_MOST)]
    texts = {span.key: span.text for span in spans}
    found = short_ids.meant(typed, texts, "entries")
    return texts[found] if found else typed
