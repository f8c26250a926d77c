"""Evidence of the sessions of a bundle: what the user said, apart from what tools and other agents returned.

A host's edge and the buffer feed it while a session runs. For a session that this process does not know, its recorded
events are read.
"""

from __future__ import annotations

import threading
from collections import OrderedDict, deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, TypeVar

from gitmem.errors import GitMemError
from gitmem.memory.conversation import (
    Conversation,
    Message,
    as_text,
    calls_of,
    is_host_note,
    messages_in,
    name_of,
    said_in,
)
from gitmem.memory.edits import Edits
from gitmem.memory.gate.marks import PROJECT, UNCONFIRMED, is_unconfirmed, source_in
from gitmem.memory.gate.project import project_here
from gitmem.memory.origin import RELEASED
from gitmem.okf import layout
from gitmem.okf.curated import CuratedFile
from gitmem.okf.events import EventsFile
from gitmem.okf.ranks import is_echo
from gitmem.safety.channels import (
    CHANNELS,
    DECLARED,
    Attribution,
    Channel,
    Said,
    ToolResult,
    attribute,
    source_of,
)
from gitmem.text.keys import is_sure, keys_of

if TYPE_CHECKING:
    from gitmem.memory.bundle import Bundle
    from gitmem.memory.edits import Files
    from gitmem.okf.entries import Entry

_SESSIONS = 8
_PENDING = 200
_RESULT = 60_000
_RESULTS = 600_000
_SAID = 100_000
_SOURCE = 300
_OF_THE_HOST = ("todo", "cronjob")
_Kept = TypeVar("_Kept", ToolResult, Said)


class Evidence:
    """Evidence of one session, the oldest first. Beyond a size the oldest is forgotten.

    One thread adds to it while another reads: both lists are replaced, never changed.
    """

    def __init__(self) -> None:
        self.said: tuple[Said, ...] = ()
        self.results: tuple[ToolResult, ...] = ()
        self.turn = 0
        self._shown = ""
        self._page = ""

    @property
    def hears(self) -> bool:
        """Return whether it has words of the user or results of tools, and not declared sources alone."""
        return bool(self.said) or any(one.turn != DECLARED for one in self.results)

    def attribute(
        self, text: str, beside: Iterable[ToolResult] = (), *, here: str | None = ""
    ) -> Attribution:
        """Say where a text came from; `beside` is what else it may repeat."""
        return attribute(text, self.said, (*self.results, *beside), turn=self.turn, here=here)

    def user(self, text: str) -> None:
        """The user says something: a turn begins. The same words again, before any answer, are the same turn."""
        text = _bounded(text, _SAID)
        if text and not (self.said and self.said[-1].text == text and not self._shown):
            self.turn += 1
            self._keep(text)
            self._shown = ""

    def next_turn(self) -> None:
        self.turn += 1

    def assistant(self, text: str) -> None:
        """The assistant shows something to the user."""
        self._shown = _bounded(text, _SAID) or self._shown

    def tool(self, name: str, arguments: object, result: str) -> None:
        """A tool returned something; what the memory's own tools answer is in the memory already."""
        if is_echo(name) or name in _OF_THE_HOST or name.startswith("kanban_") or not result.strip():
            return
        if name == "clarify":  # the user's answer to a question
            self._keep(_bounded(result, _SAID))
            return
        channel, source = source_of(name, arguments, result)
        if channel == "web" and source.startswith(("http://", "https://")):
            self._page = source
        elif name.startswith("browser_") and self._page:
            source = self._page
        self.result(channel, source, result)

    def result(self, channel: Channel, source: str, text: str, turn: int | None = None) -> None:
        """Something arrived by a channel, in this turn unless another is named; the same again is not kept twice."""
        source = " ".join(source.split())[:_SOURCE]
        if source.startswith(RELEASED):  # a command of this name must not pass for a person
            source = f"{channel}: {source}"
        found = ToolResult(channel, source, _bounded(text, _RESULT), self.turn if turn is None else turn)
        if not any((found.text, found.source) == (one.text, one.source) for one in self.results):
            self.results = _newest((*self.results, found), _RESULTS)

    def event(self, kind: str, texts: Mapping[str, str]) -> None:
        """An event of the session was recorded."""
        if kind == "tool_call":
            self.tool(texts.get("tool_name", ""), texts.get("args", ""), texts.get("result", ""))
        elif kind == "turn":
            self.user(texts.get("user", ""))
            self.assistant(texts.get("assistant", ""))
        elif kind == "observation" and texts.get("category") == "Delegation":
            self.result("agent", texts.get("child_session") or "delegation", texts.get("content", ""))

    def messages(self, messages: Sequence[Message], conversation: Conversation) -> None:
        """Take what is new in a conversation as a host hands it over; notes of the host are not the user's words."""
        asked = {identity: (name, given) for one in messages for name, given, identity in calls_of(one)}
        for message in conversation.behind(messages):
            role, text = message.get("role"), said_in(message)
            if role == "user" and not is_host_note(text):
                self.user(text)
            elif role == "assistant":
                self.assistant(text)
            elif role == "tool":
                unknown = (name_of(message) or "tool", "")
                self.tool(*asked.get(str(message.get("tool_call_id", "")), unknown), text)

    def _keep(self, text: str) -> None:
        self.said = _newest((*self.said, Said(text, self._shown)), 4 * _SAID)


class SessionEvidence:
    """Evidence of the sessions of one bundle. Any thread adds to it without waiting; the reader does the work."""

    def __init__(self, bundle: Bundle) -> None:
        self._bundle = bundle
        self._lock = threading.RLock()
        self._known: OrderedDict[str, Evidence] = OrderedDict()
        self._pending: dict[str, deque[Callable[[Evidence], None]]] = {}
        self._earlier: dict[str, str] = {}
        self._conversations: dict[str, Conversation] = {}
        self._driven: set[str] = set()
        self._unconfirmed: tuple[str, list[ToolResult]] = ("", [])

    def user(self, session: str, text: str) -> None:
        """The user said something."""
        self._add(session, lambda evidence: evidence.user(text))

    def event(self, session: str, kind: str, fields: Mapping[str, object]) -> None:
        """An event of a session was recorded."""
        texts = {name: as_text(value)[:_RESULT] for name, value in fields.items()}
        self._add(session, lambda evidence: evidence.event(kind, texts))

    def result(self, session: str, channel: Channel, source: str, text: str) -> None:
        """Something arrived by a channel: from another agent, or from a source that the caller names."""
        self._add(session, lambda evidence: evidence.result(channel, source, text))

    def declared(self, session: str, channel: Channel, source: str, text: str) -> None:
        """A caller named the source of a text: what repeats it is from there, and nothing else of the session."""
        self._add(session, lambda evidence: evidence.result(channel, source, text, DECLARED))

    def call(self, session: str) -> None:
        """A client that knows no turns made another call: what an earlier one declared belongs to that call."""
        self._add(session, Evidence.next_turn)

    def cut_short(self, session: str, user: str) -> None:
        """A process died in the middle of a turn: what its tools returned is not known."""
        self.user(session, user)
        self.result(session, "tool", "a turn that was cut short", "…")

    def messages(self, session: str, messages: Sequence[Message]) -> None:
        """A conversation as a host hands it over, whole."""
        if found := messages_in(messages):
            conversation = self._conversations.setdefault(session, Conversation())
            self._add(session, lambda evidence: evidence.messages(found, conversation))

    def follow(self, session: str, earlier: str) -> None:
        """A session goes on with the conversation of another one."""
        self._earlier[session] = earlier

    def listen(self, session: str) -> None:
        """Note that this process drives a session, so that what its user says is heard here or nowhere."""
        self._driven.add(session)

    def could_hear(self, session: str) -> bool:
        return session in self._driven

    def _add(self, session: str, take: Callable[[Evidence], None]) -> None:
        with self._lock:
            self._pending.setdefault(session, deque(maxlen=_PENDING)).append(take)

    def of(self, session: str) -> Evidence:
        """Return the evidence of a session; what happened before this process began is read from its events."""
        with self._lock:
            found = self._known.get(session)
            if found is None:
                earlier = self._earlier.pop(session, "")
                found = self.of(earlier) if earlier else _recorded(self._bundle, session)
                self._known[session] = found
                while len(self._known) > _SESSIONS:
                    self._conversations.pop(self._known.popitem(last=False)[0], None)
            for take in self._pending.pop(session, ()):
                take(found)
            return found

    def all(self) -> Evidence:
        """Return the evidence of all sessions of this process together: for a change without a session."""
        together = Evidence()
        with self._lock:
            every = [self.of(session) for session in {**self._known, **self._pending}]
        together.said = tuple(said for one in every for said in one.said)
        together.results = tuple(result for one in every for result in one.results)
        return together

    def unconfirmed(self, files: Files | None) -> list[ToolResult]:
        """The marked entries of the prompt's files, which a new entry may repeat: in a transaction, or in the tip.

        One of the project that is worked on is a file of it, to whatever reads it again.
        """
        if files is not None:
            return self._marked_in(files)
        tree = self._bundle.tree()
        if self._unconfirmed[0] != tree.oid:
            self._unconfirmed = tree.oid, self._marked_in(tree)
        return self._unconfirmed[1]

    def is_known(self, text: str, files: Files | None) -> bool:
        """Say whether confirmed entries of the prompt's files have the ids and numbers of a text, which words them anew."""
        known = [one.text for one in self._entries(files or self._bundle.tree()) if not is_unconfirmed(one)]
        keys = frozenset().union(*map(keys_of, known))
        return bool(keys) and all(key in keys for key in keys_of(text) if is_sure(key))

    def _entries(self, files: Files, *marks: str) -> Iterator[Entry]:
        """Yield the entries that are in the prompt on this machine, of files that have one of the marks."""
        for path in (layout.MEMORY, layout.USER, layout.machine_memory(self._bundle.config.machine)):
            data = files.read(path) or b""
            if not marks or any(mark.encode() in data for mark in marks):
                yield from CuratedFile.parse_leniently(data, path).entries

    def _marked_in(self, files: Files) -> list[ToolResult]:
        found: list[ToolResult] = []
        for entry in self._entries(files, UNCONFIRMED, PROJECT):
            if is_unconfirmed(entry):
                found.append(ToolResult(_channel(entry), source_in(entry), entry.text, recalled=True))
            elif project := entry.extra.get(PROJECT):
                elsewhere = project != project_here(self._bundle)
                found.append(ToolResult("file", f"{PROJECT} {project}", entry.text, recalled=elsewhere))
        return found


def _newest(found: tuple[_Kept, ...], limit: int) -> tuple[_Kept, ...]:
    """The last ones that fit, at least one."""
    used = 0
    for number, one in enumerate(reversed(found)):
        used += len(one.text)
        if used > limit and number:
            return found[-number:]
    return found


def _bounded(text: str, limit: int) -> str:
    """Beginning and end of a text that is too long."""
    return text if len(text) <= limit else f"{text[: limit * 2 // 3]}\n{text[-limit // 3 :]}"


def _recorded(bundle: Bundle, session: str) -> Evidence:
    evidence = Evidence()
    try:
        tree = Edits(bundle.tree())
        path = layout.find_session(tree, session)
        home = path.removesuffix(".md") if path else ""
        names = [f"{home}/{name}" for name in tree.names(home) if name.endswith(".md")] if home else []
        found = [event for name in names for event in EventsFile.parse(tree.read(name) or b"", name).events]
    except GitMemError:  # what cannot be read is no evidence
        return evidence
    # The calls of a turn are recorded before the turn itself.
    for event in sorted(found, key=lambda event: event.at):
        evidence.event(event.kind, event.fields)
    return evidence


def _channel(entry: Entry) -> Channel:
    named = entry.extra.get(UNCONFIRMED)
    return next((channel for channel in CHANNELS if channel == named), "tool")
