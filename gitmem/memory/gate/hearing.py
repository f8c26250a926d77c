"""Evidence of the sessions of a bundle: what the user said, apart from what a tool returned.

A host's edge and a session tell it what happens while they run. Of a session that this process does not know, its
recorded events say it.
"""

from __future__ import annotations

import os
import threading
from collections import OrderedDict, deque
from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING

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
from gitmem.memory.gate.admission import UNCONFIRMED
from gitmem.okf import layout
from gitmem.okf.curated import CuratedFile
from gitmem.okf.events import Event, EventsFile
from gitmem.safety.heard import CHANNELS, Channel, Heard, Result, declared

if TYPE_CHECKING:
    from gitmem.memory.bundle import Bundle
    from gitmem.memory.edits import Files
    from gitmem.okf.entries import Entry

_SESSIONS = 8
_WAITING = 200
_LONGEST = 60_000
_Told = Callable[[Heard], None]


class Hearing:
    """Evidence of the sessions of one bundle. Any thread may add to it without waiting; the reader does the work."""

    def __init__(self, bundle: Bundle) -> None:
        self._bundle = bundle
        self._lock = threading.RLock()
        self._heard: OrderedDict[str, Heard] = OrderedDict()
        self._told: dict[str, deque[_Told]] = {}
        self._earlier: dict[str, str] = {}
        self._conversations: dict[str, Conversation] = {}
        self._driven: set[str] = set()
        self._unconfirmed: tuple[str, list[Result]] = ("", [])

    # Telling

    def user(self, session: str, text: str) -> None:
        """The user said something."""
        self._tell(session, lambda heard: heard.user(text))

    def event(self, session: str, kind: str, fields: Mapping[str, object]) -> None:
        """An event of a session was recorded."""
        texts = {name: _cut(value) for name, value in fields.items()}
        self._tell(session, lambda heard: _hear(heard, kind, texts))

    def delegated(self, session: str, agent: str, result: str) -> None:
        """Another agent handed something over."""
        self._tell(session, lambda heard: heard.result("agent", agent, result))

    def listen(self, session: str) -> None:
        """Note that this process drives a session, so that what its user says is heard here or nowhere."""
        self._driven.add(session)

    def could_hear(self, session: str) -> bool:
        return session in self._driven

    def declared(self, session: str, source: str, text: str) -> None:
        """The caller names the source of a text itself: what comes from there was heard with it."""
        if channel := declared(source):
            self._tell(session, lambda heard: heard.result(channel, source, text))

    def cut_short(self, session: str, user: str) -> None:
        """A process died in the middle of a turn: what its tools returned is not known."""
        self.user(session, user)
        self._tell(session, lambda heard: heard.result("tool", "a turn that was cut short", "…"))

    def messages(self, session: str, messages: Sequence[Message]) -> None:
        """A conversation as a host hands it over, whole: what is new in it is heard."""
        if known := messages_in(messages):
            self._tell(session, lambda heard: self._take(heard, session, known))

    def follow(self, session: str, earlier: str) -> None:
        """A session goes on with the conversation of another one."""
        with self._lock:
            self._earlier[session] = earlier

    def _tell(self, session: str, told: _Told) -> None:
        with self._lock:
            self._told.setdefault(session, deque(maxlen=_WAITING)).append(told)

    # Asking

    def of(self, session: str) -> Heard:
        """Return what a session heard; of what happened before this process began, its recorded events say it."""
        with self._lock:
            heard = self._heard.get(session)
            if heard is None:
                earlier = self._earlier.pop(session, "")
                heard = self.of(earlier) if earlier else _recorded(self._bundle, session)
                self._heard[session] = heard
                while len(self._heard) > _SESSIONS:
                    self._conversations.pop(self._heard.popitem(last=False)[0], None)
            for told in self._told.pop(session, ()):
                told(heard)
            return heard

    def all(self) -> Heard:
        """Return what the sessions of this process heard, together: for a change of which nobody knows the session."""
        together = Heard()
        with self._lock:
            heard = [self.of(session) for session in {**self._heard, **self._told}]
        together.said = tuple(said for one in heard for said in one.said)
        together.results = tuple(result for one in heard for result in one.results)
        return together

    def unconfirmed(self, files: Files | None) -> list[Result]:
        """The unconfirmed entries of the prompt's files: in a transaction, or in the tip, which is read once."""
        paths = (layout.MEMORY, layout.USER, layout.machine_memory(self._bundle.config.machine))
        if files is not None:
            return _unconfirmed_in(files, paths)
        tree = self._bundle.tree()
        if self._unconfirmed[0] != tree.oid:
            self._unconfirmed = tree.oid, _unconfirmed_in(tree, paths)
        return self._unconfirmed[1]

    def _take(self, heard: Heard, session: str, messages: Sequence[Message]) -> None:
        asked = {identity: (name, given) for one in messages for name, given, identity in calls_of(one)}
        conversation = self._conversations.setdefault(session, Conversation())
        for message in conversation.behind(messages):
            role, text = message.get("role"), said_in(message)
            if role == "user" and not is_host_note(text):
                heard.user(text)
            elif role == "assistant":
                heard.assistant(text)
            elif role == "tool":
                unknown = (name_of(message) or "tool", "")
                heard.tool(*asked.get(str(message.get("tool_call_id", "")), unknown), text)


@lru_cache(maxsize=16)
def own_directory(directory: str) -> str | None:
    """Return a working directory that is the user's own; None for another person's repository.

    A repository is one's own if something was committed in it here, by its reflog: a clone that was only pulled is not.
    """
    for place in (directory, *map(str, Path(directory).parents)) if directory else ():
        git_dir = os.path.join(place, ".git")
        if os.path.exists(git_dir):
            try:
                with open(os.path.join(git_dir, "logs", "HEAD"), encoding="utf-8", errors="replace") as log:
                    made = (line.partition("\t")[2].startswith("commit") for line in log)
                    return directory if any(made) else None
            except OSError:  # a linked work tree, or one without a reflog
                return directory if os.path.isfile(git_dir) else None
    return directory


def _hear(heard: Heard, kind: str, fields: Mapping[str, str]) -> None:
    if kind == "tool_call":
        heard.tool(fields.get("tool_name", ""), fields.get("args", ""), fields.get("result", ""))
    elif kind == "turn":
        heard.user(fields.get("user", ""))
        heard.assistant(fields.get("assistant", ""))
    elif kind == "observation" and fields.get("category") == "Delegation":
        heard.result("agent", fields.get("child_session") or "delegation", fields.get("content", ""))


def _cut(value: object) -> str:
    return as_text(value)[:_LONGEST]


def _recorded(bundle: Bundle, session: str) -> Heard:
    heard = Heard()
    for event in _events(bundle, session):
        _hear(heard, event.kind, event.fields)
    return heard


def _events(bundle: Bundle, session: str) -> list[Event]:
    try:
        tree = Edits(bundle.tree())
        path = layout.find_session(tree, session)
        home = path.removesuffix(".md") if path else ""
        names = [f"{home}/{name}" for name in tree.names(home) if name.endswith(".md")] if home else []
        found = [event for name in names for event in EventsFile.parse(tree.read(name) or b"", name).events]
    except GitMemError:  # what cannot be read says nothing
        return []
    # The calls of a turn are recorded before the turn itself.
    return sorted(found, key=lambda event: event.at)


# --- marks in the tree -----------------------------------------------------------------------------------


def is_unconfirmed(entry: Entry) -> bool:
    """Return whether an entry of the curated store came out of a tool or a remote, and nobody confirmed it."""
    return UNCONFIRMED in entry.extra


def marks_of(entry: Entry) -> dict[str, str]:
    """Return what says so in an unconfirmed entry; nothing in any other."""
    names = (UNCONFIRMED, "source") if is_unconfirmed(entry) else ()
    return {name: str(entry.extra[name]) for name in names if name in entry.extra}


def came_from(entry: Entry) -> str:
    """Return where an unconfirmed entry came from, in words."""
    return str(entry.extra.get("source") or entry.extra.get(UNCONFIRMED, ""))


def _unconfirmed_in(files: Files, paths: Sequence[str]) -> list[Result]:
    """The unconfirmed entries of these § files, as what a new entry may repeat."""
    found = []
    for path in paths:
        data = files.read(path)
        if data is not None and UNCONFIRMED.encode() in data:
            entries = CuratedFile.salvage(data, path).entries
            found += [
                Result(_channel(entry), str(entry.extra.get("source", "")), entry.text, recalled=True)
                for entry in entries
                if is_unconfirmed(entry)
            ]
    return found


def _channel(entry: Entry) -> Channel:
    named = entry.extra.get(UNCONFIRMED)
    return next((channel for channel in CHANNELS if channel == named), "tool")
