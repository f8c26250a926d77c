"""Documents: what of a file can be found. A pure function of its path and bytes.

- § file: each entry
- session part: each event, its fields as people would read them
- other concept: title, description and body as one text, with its tags

Generated pages, retractions, snapshots, configuration and events that are held back are not documents.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import fields

from gitmem.errors import InvalidContent
from gitmem.index.records import (
    CONCEPT,
    MACHINE,
    SHARED,
    Document,
    SessionFacts,
)
from gitmem.okf import layout, ranks, timestamps
from gitmem.okf.concept import Concept
from gitmem.okf.curated import CuratedFile
from gitmem.okf.entries import CURATED_TYPES, EVENTS_TYPE, turns_of
from gitmem.okf.events import Event, EventsFile

RECALLED = "recalled"
"""The kind of an event that names entries which were shown; it is a document without a text."""
_HELD = "held"
_NOT_SAID = ("omitted", "unconfirmed", "source")
"""Fields of a turn that say something about it."""
_NOT_FOUND_BY_SEARCH = frozenset(
    (
        layout.SNAPSHOT,
        layout.RETRACTION,
        layout.AGENT_CONFIG,
        layout.SCANNER_RULES,
        layout.ERASURE_RECEIPTS,
    )
)
_MACHINE_FILE = re.compile(r"memories/machines/([^/]+)/")
_DEFAULT_CATEGORY = "observation"


def documents_of(path: str, data: bytes) -> list[Document]:
    """The documents of a file, in its order; none for bytes that are not a readable concept."""
    if not path.endswith(".md") or layout.is_generated(path):
        return []
    expected = layout.default_type(path)
    if expected in _NOT_FOUND_BY_SEARCH:
        return []
    try:
        if expected == EVENTS_TYPE:
            return _of_part(path, EventsFile.parse(data, path))
        if expected in CURATED_TYPES:
            return _of_curated(path, CuratedFile.parse(data, path))
        return _of_any(path, data)
    except InvalidContent:  # `verify` tells it; a search goes on
        return []


def session_of(path: str, data: bytes) -> tuple[SessionFacts | None, tuple[str, ...]]:
    """Return the facts of a session's concept and the commits of its prompts; None for any other file."""
    if layout.default_type(path) != layout.SESSION:
        return None, ()
    try:
        concept = Concept.parse(data, path)
    except InvalidContent:
        return None, ()
    meta = concept.meta
    name = _text(meta.get("session")) or path.rpartition("/")[2].removesuffix(".md")
    known = [column.name for column in fields(SessionFacts) if column.name not in ("name", "path", "title")]
    title = "" if concept.title == f"Session {name}" else concept.title
    listed = meta.get("prompt_blocks")
    blocks = [one for one in listed if isinstance(one, Mapping)] if isinstance(listed, list) else []
    facts = SessionFacts(name, path, title=title, **{key: _text(meta.get(key)) for key in known})
    return facts, tuple(_text(one.get("commit")) for one in blocks)


def is_part(path: str) -> bool:
    """Return whether the path is that of a session part."""
    return layout.default_type(path) == EVENTS_TYPE


def appended(old: bytes, new: bytes, path: str) -> list[Document] | None:
    """The documents that a session part gained at its end; None where more than its end changed.

    Buys "full rebuild / bare loop": a part grows by a few events with every flush, and is read once.
    """
    if not is_part(path) or len(new) <= len(old) or not new.startswith(old):
        return None
    end = old.find(b"\n---\n", 3)
    # What follows must begin an event of its own: a line that continues the last one would change it.
    if end < 0 or not old.endswith(b"\n") or not new.startswith(b"\n## ", len(old)):
        return None
    known = set(_EVENT_ID.findall(old))
    grown = new[len(old) :]
    if not known.isdisjoint(_EVENT_ID.findall(grown)):
        return None
    try:
        return _of_part(path, EventsFile.parse(old[: end + 5] + grown, path))
    except InvalidContent:
        return None


_EVENT_ID = re.compile(rb"^<!-- event ([^ \n]*) (?:[^\n]* )?-->\r?$", re.MULTILINE)


def _of_any(path: str, data: bytes) -> list[Document]:
    concept = Concept.parse(data, path)
    if concept.type in _NOT_FOUND_BY_SEARCH:
        return []
    if concept.type == EVENTS_TYPE:
        return _of_part(path, EventsFile.parse(data, path))
    if concept.type in CURATED_TYPES:
        return _of_curated(path, CuratedFile.parse(data, path))
    return list(_of_concept(path, concept))


# --- § files --------------------------------------------------------------------------------------


def _of_curated(path: str, file: CuratedFile) -> list[Document]:
    meta = file.concept.meta
    tags, deprecated = _tags(meta), _is_deprecated(meta)
    scope, type_ = _scope(path), file.concept.type
    return [
        Document(
            entry.key,
            entry.text,
            type_,
            entry.at,
            _text(entry.extra.get("session")),
            tags,
            deprecated,
            scope,
            replaces=entry.replaces,
            turns=_turns(entry.extra),
        )
        for entry in file.entries
    ]


# --- session parts --------------------------------------------------------------------------------


def _of_part(path: str, file: EventsFile) -> list[Document]:
    if file.concept.type != EVENTS_TYPE:
        return []
    scope = _scope(path)
    found = []
    for event in file.events:
        if event.kind == RECALLED:
            names, turn = tuple(event.fields.get("entries", "").split()), event.turn or event.id
            found.append(Document(event.key, "", RECALLED, session=event.session, turn=turn, turns=names))
            continue
        text = "" if event.kind == _HELD else event_text(event)
        if text:
            called = event.fields.get("tool_name", ""), event.fields.get("args", "")
            rank = ranks.rank_of_event(event.kind, *called)
            found.append(
                Document(
                    event.key,
                    text,
                    event.kind,
                    timestamps.canonical(event.at),
                    event.session,
                    _event_tags(event),
                    scope=scope,
                    rank=rank,
                    source=ranks.source_of(*called) if rank == ranks.TOOL else "",
                    turn=event.turn or event.id,
                )
            )
    return found


def event_text(event: Event) -> str:
    """An event as people would read it: what was said, without the names of fields that say nothing."""
    fields = event.fields
    if event.kind == "observation":
        return fields.get("content", "").strip()
    if event.kind == "decision":
        # The text of the Decision concept too, so that the two are found as one.
        return decision_text(fields.get("decision", ""), fields.get("rationale", ""), _event_tags(event))
    if event.kind == "tool_call":
        parts = (fields.get("tool_name", ""), fields.get("args", ""), fields.get("result", ""))
        return "\n".join(part for part in parts if part.strip())
    said = [(name, text.strip()) for name, text in fields.items() if text.strip()]
    if event.kind == "turn":
        # Not `user:`, which is how an attack would begin to forge a conversation, and is flagged as one.
        return "\n".join(f"[{name}] {text}" for name, text in said if name not in _NOT_SAID)
    return said[0][1] if len(said) == 1 else "\n".join(f"{name}: {text}" for name, text in said)


def decision_text(decision: str, rationale: str, tags: tuple[str, ...]) -> str:
    """A decision as its concept reads."""
    body = decision.strip()
    if rationale.strip():
        body += f"\n\n## Rationale\n\n{rationale.strip()}"
    return _with_tags(body, tags)


def _event_tags(event: Event) -> tuple[str, ...]:
    if event.kind == "decision":
        return _listed(event.fields.get("tags", "").split("\n"))
    category = event.fields.get("category", "").strip() if event.kind == "observation" else ""
    return () if category.lower() == _DEFAULT_CATEGORY else _listed([category])


# --- concepts -------------------------------------------------------------------------------------


def _of_concept(path: str, concept: Concept) -> Iterator[Document]:
    meta = concept.meta
    title, tags, body = concept.title, _tags(meta), concept.body.strip()
    session = _text(meta.get("session"))
    if concept.type == layout.SESSION and title == f"Session {session}":
        title = ""  # what gitmem wrote for want of a title would be found by the word "session"
    parts = [title, _text(meta.get("description")), body]
    # A title that only repeats how the body begins would count its words twice.
    if title and body.startswith(title.rstrip("…")):
        parts[0] = ""
    text = "\n\n".join(part for part in parts if part)
    if not text:
        return
    yield Document(
        CONCEPT,
        _with_tags(text, tags),
        concept.type,
        _moment(meta),
        session,
        tags,
        _is_deprecated(meta),
        _scope(path),
        # What a session is called is a description of a conversation.
        ranks.SAID if concept.type == layout.SESSION else ranks.KNOWLEDGE,
        turns=_turns(meta),
    )


def _turns(extra: Mapping[str, object]) -> tuple[str, ...]:
    """The turns that wrote an entry or a concept, without the calls in them."""
    return tuple(dict.fromkeys(turn.partition("#")[0] for turn in turns_of(extra)))


def _with_tags(text: str, tags: tuple[str, ...]) -> str:
    return f"{text}\n\n{', '.join(tags)}" if tags else text


def _moment(meta: Mapping[str, object]) -> str:
    generated = meta.get("generated")
    for value in (
        generated.get("at") if isinstance(generated, Mapping) else None,
        meta.get("timestamp"),
        meta.get("started"),
    ):
        if at := timestamps.canonical(value):
            return at
    return ""


def _is_deprecated(meta: Mapping[str, object]) -> bool:
    return meta.get("status") == "deprecated"


def _scope(path: str) -> str:
    """Return the scope of a file: everywhere, or one machine."""
    found = _MACHINE_FILE.match(path)
    return f"{MACHINE}:{found.group(1)}" if found else SHARED


def _tags(meta: Mapping[str, object]) -> tuple[str, ...]:
    value = meta.get("tags")
    return _listed(map(_text, value)) if isinstance(value, list) else _listed([_text(value)])


def _listed(tags: Iterable[str]) -> tuple[str, ...]:
    """The tags, each on one line and without the empty ones."""
    return tuple(" ".join(tag.split()) for tag in tags if tag.strip())


def _text(value: object) -> str:
    return str(value) if isinstance(value, str | int | float) and not isinstance(value, bool) else ""
