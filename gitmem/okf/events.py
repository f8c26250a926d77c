"""Session parts: the events of one writer in order, as markdown that a person can read.

    ## 2026-06-30T14:00:00.123Z observation
    <!-- event 0123456789abcdef0123456789abcdef-7 turn 3fa2c1d0e4b5 -->

    **text**
    > The user prefers tabs.

Every line of a field's text stands behind `>`, so no content can look like the head of an event. Events are
only ever put at the end, without touching what stands there: git stores such a change as a small delta.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field, replace
from urllib.parse import unquote

from gitmem.errors import InvalidContent
from gitmem.okf import frontmatter, layout
from gitmem.okf.concept import Concept, decode
from gitmem.okf.entries import Entry, EntryKey
from gitmem.okf.pages import LogLine

PART_LIMIT = 16 * 1024

# Only a head with its comment begins an event: a heading that a person wrote between them does not.
_TURN = r"(?: turn ([0-9a-f]{12}))?(?: call ([A-Za-z0-9_-]{1,64}))?"
_HEAD = re.compile(rf"^## ([^\n]*)\n<!-- event ([^ \n]*){_TURN} -->\r?(?:\n|\Z)", re.MULTILINE)
_TURN_OF = re.compile(_TURN)
_NAME = re.compile(r"\*\*(.*)\*\*\r?", re.DOTALL)
_UNSAFE = re.compile("[%*<>\x00-\x1f\x7f-\x9f\u2028\u2029]")
_UNSAFE_WORD = re.compile("[%*<>\\s\x00-\x1f\x7f-\x9f]")


@dataclass(frozen=True, slots=True)
class Event:
    """One thing that happened: its id (journal and sequence number), kind, time and texts by name.

    `session` is what the part's front matter says; it is not written with the event. `turn` is the turn of the
    conversation that it belongs to, and `call` the host's id of a tool call; a value of another form is left out.
    """

    id: str
    kind: str
    at: str
    fields: Mapping[str, str] = field(default_factory=dict)
    session: str = ""
    turn: str = ""
    call: str = ""

    @property
    def key(self) -> EntryKey:
        """Its identity among entries."""
        return EntryKey("event", self.id)

    @property
    def text(self) -> str:
        """All it says: the field's text, or all fields with their names."""
        texts = list(self.fields.items())
        return texts[0][1] if len(texts) == 1 else "\n".join([f"{name}: {value}" for name, value in texts])

    @classmethod
    def of(cls, entry: Entry) -> Event:
        """The event that an entry is."""
        texts = {name: str(text) for name, text in entry.extra.items()}
        return cls(entry.key.id, entry.kind, entry.at, texts, turn=entry.turn, call=entry.call)

    @property
    def entry(self) -> Entry:
        """The event as an entry."""
        extra = dict(self.fields)
        return Entry(
            self.key, self.text, self.at, kind=self.kind, extra=extra, turn=self.turn, call=self.call
        )


@dataclass(frozen=True, slots=True)
class EventsFile:
    """A session part: the concept it is, and the events in its body."""

    concept: Concept
    events: tuple[Event, ...] = ()

    @classmethod
    def new(cls, session: str = "", **meta: object) -> EventsFile:
        """An empty part for that session."""
        return cls(Concept.new(layout.SESSION_EVENTS, "", session=session or None, **meta))

    @classmethod
    def parse(cls, data: bytes, path: str = "") -> EventsFile:
        """The events in those bytes; BrokenConcept when they are not a concept. Other text stays as it is."""
        return cls.of(Concept.from_text(frontmatter.plain_newlines(decode(data, path)), path))

    @classmethod
    def of(cls, concept: Concept) -> EventsFile:
        """The part that the concept is."""
        return cls(concept, tuple(_unique(event for event, _, _ in _scan(concept))))

    @property
    def size(self) -> int:
        """The size of the file in bytes: over `PART_LIMIT` the next events go into a new part."""
        return len(self.render())

    def render(self) -> bytes:
        """The file's bytes."""
        return self.concept.render()

    def append(self, events: Iterable[Event]) -> EventsFile:
        """The file with these events at its end; one whose id is there already is left out."""
        known = {event.id for event in self.events}
        session = _session(self.concept)
        fresh = [
            replace(event, fields=dict(event.fields), session=session)
            for event in _unique(events)
            if event.id not in known
        ]
        if not fresh:
            return self
        body = self.concept.body
        gap = "" if not body or body.endswith("\n") else "\n"
        written = "".join(map(_written, fresh))
        return EventsFile(self.concept.with_body(f"{body}{gap}{written}"), self.events + tuple(fresh))

    def without(self, ids: Collection[str]) -> EventsFile:
        """The file without the events of these ids; all other text stays as it is."""
        unwanted = set(ids)
        kept: list[str] = []
        position = 0
        for event, start, end in _scan(self.concept):
            if event.id in unwanted:
                kept.append(self.concept.body[position:start])
                position = end
        if not kept:
            return self
        kept.append(self.concept.body[position:])
        events = tuple(event for event in self.events if event.id not in unwanted)
        return EventsFile(self.concept.with_body("".join(kept)), events)


def _unique(events: Iterable[Event]) -> list[Event]:
    found: dict[str, Event] = {}
    for event in events:
        found.setdefault(event.id, event)
    return list(found.values())


def texts_of(entry: Entry) -> tuple[str, ...]:
    """The content of an entry, text by text; the names of an event's fields are the record's own, and said by no one."""
    return tuple(map(str, entry.extra.values())) if entry.key.space == "event" else (entry.text,)


def place_of(event_id: str) -> tuple[str, int]:
    """The journal that an event's id names and the number there; -1 where it names none."""
    journal, _, number = event_id.rpartition("-")
    # At most 18 digits: an id from elsewhere must not cost a giant number.
    is_counted = number.isascii() and number.isdecimal() and len(number) <= 18
    return journal, int(number) if is_counted else -1


def _session(concept: Concept) -> str:
    value = concept.meta.get("session")
    return str(value) if isinstance(value, str | int) else ""


def _written(event: Event) -> str:
    turn, call = (
        f" {name} {value}" if value else "" for name, value in (("turn", event.turn), ("call", event.call))
    )
    place = next((one for one in (turn + call, turn, call) if _TURN_OF.fullmatch(one)), "")
    lines = [
        "",
        f"## {_encoded(_UNSAFE_WORD, event.at)} {_encoded(_UNSAFE, event.kind)}",
        f"<!-- event {_encoded(_UNSAFE_WORD, event.id)}{place} -->",
    ]
    for name, text in event.fields.items():
        lines += ["", f"**{_encoded(_UNSAFE, name)}**"]
        lines += [f"> {line}" if line else ">" for line in text.split("\n")]
    written = "\n".join(lines) + "\n"
    try:
        written.encode()
    except UnicodeEncodeError as error:
        raise InvalidContent("The event cannot be written as UTF-8: it holds half a character.") from error
    return written


def _encoded(unsafe: re.Pattern[str], text: str) -> str:
    """The text on one line, with what means something there as `%2A`; `unquote` gives it back."""
    return unsafe.sub(lambda found: "".join(f"%{byte:02X}" for byte in found.group().encode()), text)


def _scan(concept: Concept) -> list[tuple[Event, int, int]]:
    """Each event in the body, and where it begins (with the blank line before it) and ends."""
    body, session = concept.body, _session(concept)
    heads = list(_HEAD.finditer(body))
    found: list[tuple[Event, int, int]] = []
    for number, head in enumerate(heads):
        limit = heads[number + 1].start() if number + 1 < len(heads) else len(body)
        fields, end = _fields(body, head.end(), limit)
        at, _, kind = head.group(1).removesuffix("\r").partition(" ")
        start = head.start()
        if start and body[start - 1 : start] == "\n" and (start == 1 or body[start - 2] == "\n"):
            start -= 1
        turn, call = (head.group(number) or "" for number in (3, 4))
        event = Event(unquote(head.group(2)), unquote(kind), unquote(at), fields, session, turn, call)
        found.append((event, start, end))
    return found


def _fields(body: str, start: int, limit: int) -> tuple[dict[str, str], int]:
    """The fields that begin at `start`, and where the last of them ends."""
    fields: dict[str, list[str]] = {}
    lines: list[str] | None = None
    end = position = start
    for line in body[start:limit].split("\n"):
        position += len(line) + 1
        if line.startswith("> ") and lines is not None:
            lines.append(line[2:])
        elif not line or line.isspace():
            continue
        elif line == ">" and lines is not None:
            lines.append("")
        elif line.startswith("**") and (heading := _NAME.fullmatch(line)) is not None:
            lines = fields.setdefault(unquote(heading.group(1)), [])
        else:
            break  # something that is not ours: what follows is not a field of this event
        end = position
    return {key: "\n".join(lines) for key, lines in fields.items()}, min(end, limit)


def given_title(page: Concept, session: str) -> str:
    """The title on a session's page; empty for the one that gitmem writes for want of another."""
    return "" if page.title == f"Session {session}" else page.title


def first_words(parts: Iterable[bytes]) -> str:
    """Return the first user message in the parts of a session, on one line; empty where there is none."""
    turns = []
    for part in parts:
        try:
            events = EventsFile.parse(part).events
        except InvalidContent:  # a broken one is `verify`'s business
            continue
        turns += [
            (event.at, said)
            for event in events
            if event.kind == "turn" and (said := event.fields.get("user"))
        ]
    return " ".join(min(turns)[1].split()) if turns else ""


def log_line(event: Event) -> LogLine | None:
    """The line of an event in log.md; turns have none."""
    fields = event.fields
    if event.kind == "observation":
        return LogLine(event.at, fields.get("category") or "Observation", fields.get("content", ""), event.id)
    if event.kind == "tool_call":
        text = f"{fields.get('tool_name', '')}: {fields.get('result', '')}".rstrip(": ")
        return LogLine(event.at, "Tool-Call", text, event.id)
    if event.kind == "decision":
        return LogLine(event.at, "Decision", fields.get("decision", ""), event.id)
    return None
