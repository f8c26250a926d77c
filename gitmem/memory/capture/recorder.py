"""The recorder: events become edits of the tree. It says what goes where; it commits nothing."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from itertools import count

from gitmem.errors import InvalidContent
from gitmem.memory.capture.session_page import SessionInfo
from gitmem.memory.edits import Edits
from gitmem.memory.exposure import RECALLED
from gitmem.okf import layout, paths
from gitmem.okf.concept import Concept
from gitmem.okf.entries import EntryKey
from gitmem.okf.events import PART_LIMIT, Event, EventsFile, place_of
from gitmem.okf.plain import cut
from gitmem.version import __version__

SKILL_USE = "skill_use"
"""The kind of an event that says how the use of a skill went."""
KINDS = ("observation", "decision", "tool_call", "turn", SKILL_USE)
HELD = "held"
"""The kind of an event whose text waits in quarantine."""
RESULT_LIMIT = 500
# A longer text goes into a file of its own beside the part, whole: parts stay small, nothing is cut.
INLINE_LIMIT = 64 * 1024
_EXCERPT = 2000
_NEEDED = {
    "observation": ("content", "An observation needs content."),
    "decision": ("decision", "A decision needs the decision itself."),
    "tool_call": ("tool_name", "A tool call needs the name of the tool."),
    SKILL_USE: ("skill", "The use of a skill needs the skill's name."),
}
"""The field that an event of a kind cannot do without, and the error where it is missing."""
_MARKS = ("unconfirmed", "source")
"""What admission says of an unconfirmed decision."""


def summary(counts: Counter[str]) -> str:
    """The contents of a flush in words, for the subject of a commit."""
    names = {RECALLED: "recall", HELD: "held event"}
    return ", ".join(
        f"{count} {names.get(kind, kind.replace('_', ' '))}{'' if count == 1 else 's'}"
        for kind in (*KINDS, RECALLED, HELD)
        if (count := counts[kind])
    )


def record(
    edits: Edits,
    events: Sequence[Event],
    *,
    writer: str,
    sessions: Mapping[str, SessionInfo],
    retracted: Callable[[EntryKey], bool],
) -> Counter[str]:
    """Lay events over the tree, each exactly once; gives how many of each kind are new.

    An event that the tree has, or that was retracted, is skipped: a journal may be replayed after
    a crash, from a copied git directory or from a backup.
    """
    done: Counter[str] = Counter()
    by_session: dict[str, list[Event]] = {}
    for event in events:
        by_session.setdefault(event.session, []).append(event)
    for session, batch in by_session.items():
        info = sessions.get(session) or SessionInfo(session, started=batch[0].at)
        home = ensure_session(edits, info, batch[0].at)
        parts = _Parts(edits, home, session, writer)
        fresh = [event for event in batch if not (parts.has(event) or retracted(event.key))]
        done.update(event.kind for event in fresh)
        parts.write([_archived(edits, event, info, parts) for event in fresh])
    return done


# Sessions


def ensure_session(edits: Edits, info: SessionInfo, at: str) -> str:
    """The directory of a session's parts; its concept is made where there is none."""
    path = layout.find_session(edits, info.id)
    if path is None:
        path = layout.session(info.id, info.started or at)
        edits.write_concept(path, session_concept(info, at))
    return path.removesuffix(".md")


def session_concept(info: SessionInfo, at: str) -> Concept:
    names = ("parent", "agent", "machine", "platform", "model", "source", "user", "chat", "chat_type")
    known = {name: value for name in names if (value := getattr(info, name))}
    return Concept.new(
        layout.SESSION,
        "",
        title=info.title or f"Session {info.id}",
        session=info.id,
        status="open",
        started=info.started or at,
        **known,
        generated=_generated(at),
    )


# Parts


class _Parts:
    """The part files of one writer in one session; as a rule only the last one is read and written.

    Other machines, and people with plain git, may have put anything in here. So no number that is found leads on its
    own: parts are counted from 1, and an event is here only where a part holds its id with its time.
    """

    def __init__(self, edits: Edits, home: str, session: str, writer: str) -> None:
        self._edits = edits
        self._home = home
        self._session = session
        self._writer = paths.safe_name(writer)
        self._taken = {f"{home}/{name}" for name in (*edits.names(home), *edits.directories(home))}
        self._number = 0
        while self._path(self._number + 1) in self._taken:
            self._number += 1
        self._file = self._read(self._path(self._number)) if self._number else None
        if self._number and self._file is None:
            self._number = self._free_number()
        self._size = self._file.size if self._file else 0

    def _path(self, number: int) -> str:
        return f"{self._home}/{self._writer}-{number:04d}.md"

    def _free_number(self) -> int:
        return next(number for number in count(self._number + 1) if self._path(number) not in self._taken)

    def _read(self, path: str) -> EventsFile | None:
        """The part of that path; None for something that is not one, and that nothing can be added to."""
        try:
            data = self._edits.read(path)
            return EventsFile.parse(data, path) if data is not None else None
        except InvalidContent:
            return None

    @cached_property
    def _known(self) -> dict[str, tuple[str, str]]:
        """The time and the path of every event in this writer's parts."""
        found: dict[str, tuple[str, str]] = {}
        for path in sorted(self._taken):
            if path.startswith(f"{self._home}/{self._writer}-") and path.endswith(".md"):
                part = self._read(path)
                found.update((event.id, (event.at, path)) for event in (part.events if part else ()))
        return found

    @cached_property
    def _last(self) -> int:
        """The highest number in the last part that has events; a writer's events come in order."""
        for number in range(self._number, 0, -1):
            part = self._file if number == self._number else self._read(self._path(number))
            if part is not None and part.events:
                return max(_sequence(event.id) for event in part.events)
        return 0

    def has(self, event: Event) -> bool:
        """Return whether the event is here already.

        Buys "after 10,000 flushes against at the start": behind the last number nothing is looked for.
        """
        if _sequence(event.id) > self._last or event.id not in self._known:
            return False
        at, path = self._known[event.id]
        if at != event.at:  # the journal did not write that one, and the number is the journal's
            self._drop(event.id, path)
        return at == event.at

    def _drop(self, event_id: str, path: str) -> None:
        if (part := self._read(path)) is not None:
            part = part.without({event_id})
            self._edits.write_concept(path, part.concept)
            if path == self._path(self._number):
                self._file = part

    def beside(self, event: Event, name: str) -> str:
        """Return where a text goes that is too long for a part."""
        return f"{self._home}/{self._writer}-{_sequence(event.id):06d}.{paths.slug(name)}.txt"

    def write(self, events: Iterable[Event]) -> None:
        batch: list[Event] = []
        for event in events:
            # About as many bytes as it takes in a part, where each line stands behind `> `.
            length = sum(len(text.encode()) + 2 * text.count("\n") for text in event.fields.values()) + 150
            if self._size + length > PART_LIMIT and (batch or self._size > 400):
                self._write(batch)
                batch = []
                self._number, self._file, self._size = self._free_number(), None, 0
            batch.append(event)
            self._size += length
        self._write(batch)

    def _write(self, batch: list[Event]) -> None:
        if not batch:
            return
        self._number = self._number or 1
        file = self._file or EventsFile.new(self._session)
        self._file = file.append(batch)
        path = self._path(self._number)
        self._edits.write_concept(path, self._file.concept)
        self._size = max(self._size, len(self._edits.read(path) or b""))


def _sequence(event_id: str) -> int:
    return max(0, place_of(event_id)[1])


# Events


def _archived(edits: Edits, event: Event, info: SessionInfo, parts: _Parts) -> Event:
    """The event in the form it is kept in, with the concepts it brings."""
    fields = dict(event.fields)
    if event.kind == "tool_call":
        fields["result"] = cut(fields.get("result", ""), RESULT_LIMIT)
        description, schema = fields.pop("description", ""), _schema(fields.pop("schema", ""))
        ensure_tool(edits, fields.get("tool_name", ""), event.at, description, schema)
    elif event.kind == "decision":
        fields["concept"] = _write_decision(edits, event, info)
    for name, text in fields.items():
        if len(text) > INLINE_LIMIT:
            path = parts.beside(event, name)
            edits.write(path, text.encode())
            fields[name] = f"{text[:_EXCERPT]}\n[The whole text, {len(text):,} characters: {path}]"
    return replace(event, fields={key: value for key, value in fields.items() if value})


def _write_decision(edits: Edits, event: Event, info: SessionInfo) -> str:
    """The Decision concept; two with the same words on one day both stay."""
    text = event.fields.get("decision", "").strip()

    def taken(path: str) -> bool:
        data = edits.read(path)
        return data is not None and Concept.parse(data, path).meta.get("event") != event.id

    path = layout.decision(text, event.at, taken, event.id)
    rationale = event.fields.get("rationale", "").strip()
    concept = Concept.new(
        layout.DECISION,
        f"{text}\n" + (f"\n## Rationale\n\n{rationale}\n" if rationale else ""),
        title=cut(text.partition("\n")[0], 120),
        tags=list(filter(None, event.fields.get("tags", "").split("\n"))) or None,
        session=event.session or info.id,
        event=event.id,
        turns=[event.turn or event.id],
        generated=_generated(event.at, info.agent),
    )
    marks = {name: event.fields[name] for name in _MARKS if name in event.fields}
    edits.write_concept(path, concept.with_meta(**marks) if marks else concept)
    return path


def ensure_tool(edits: Edits, name: str, at: str, description: str = "", schema: object = None) -> str:
    """The Tool concept of a tool, made on its first use; a description or schema is filled in later."""
    if not name.strip():
        raise InvalidContent("A tool call needs the name of the tool.")
    path = layout.tool(name)
    if path in edits and not description and schema is None:
        return path
    data = edits.read(path)
    if data is None:
        concept = Concept.new(layout.TOOL, title=name, name=name, generated=_generated(at))
    else:
        concept = Concept.parse(data, path)
    if description and concept.meta.get("description") != description:
        concept = concept.with_meta(description=description)
    if schema is not None:
        concept = concept.with_body(
            f"```json\n{json.dumps(schema, indent=2, ensure_ascii=False, default=str)}\n```\n"
        )
    edits.write_concept(path, concept)
    return path


def _schema(text: str) -> object:
    """The schema that a tool call brought along; what is not JSON counts as none."""
    try:
        return json.loads(text) if text else None
    except (ValueError, RecursionError):
        return None


def _generated(at: str, agent: str = "") -> dict[str, str]:
    return {"by": f"{agent}/gitmem-{__version__}" if agent else f"gitmem/{__version__}", "at": at}


def as_json(value: object, name: str) -> str:
    """Return what a program gave as JSON; raises where it has none, as a number of more digits than Python writes."""
    try:
        return json.dumps(value, ensure_ascii=False, default=str)
    except (ValueError, TypeError, RecursionError) as error:
        raise InvalidContent(f"{name[:40]!a} cannot be written down as JSON ({error}).") from error


def as_texts(kind: str, fields: Mapping[str, object]) -> dict[str, str]:
    """The fields of an event as texts, the way they are archived."""
    texts: dict[str, str] = {}
    for name, value in fields.items():
        if value is None:
            continue
        if name == "tags" and isinstance(value, Iterable):
            tags = [value] if isinstance(value, str) else value  # one tag may come without a list around it
            texts[name] = "\n".join(" ".join(str(tag).split()) for tag in tags)
        elif isinstance(value, str):
            texts[name] = value
        else:
            texts[name] = as_json(value, name)
    needed, says = _NEEDED.get(kind, ("", ""))
    if needed and not texts.get(needed, "").strip():
        raise InvalidContent(says)
    return texts
