"""Exposure: what a session had before it when it wrote something: its prompts, what was recalled, what it wrote.

The session's page and its parts keep it for good, as hashes. Here it is with its texts, for as long as the process runs,
so that each write can be compared with it: a commit says what it follows from (`Derived-From`), and the gate knows what
follows from something that was taken back.
"""

from __future__ import annotations

import threading
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from gitmem.okf import layout
from gitmem.okf.concept import Concept
from gitmem.okf.entries import CONCEPT, EntryKey, retraction_hash, shown_name
from gitmem.okf.files import EntryFile, open_file
from gitmem.text.keys import quotes_of, says, shared_keys, telling

if TYPE_CHECKING:
    from gitmem.memory.bundle import Bundle
    from gitmem.memory.edits import Edits, Files
    from gitmem.okf.entries import Entry

RECALLED = "recalled"
"""The kind of an event that says which entries a session was shown; its one field lists their names."""
_MOST_PARENTS = 8
_NO_KNOWLEDGE = ("retractions/", "config/", "tools/", "snapshots/")
_WORDS = frozenset(("title", "description", "tags", "steps"))
_NO_WORDS = frozenset(("concept", "category", "tags", "tool_name"))


_Place = tuple[str, EntryKey]
"""An entry: its file, and which of that file's."""


@dataclass(frozen=True, slots=True)
class SeenEntry:
    """An entry that a session had before it."""

    name: str
    retraction: str
    """The name under which it would be retracted."""
    text: str
    at: str
    place: _Place


@dataclass(slots=True)
class _Session:
    blocks: dict[str, None] = field(default_factory=dict)
    """The commits that its prompts were made from."""
    shown: dict[_Place, str] = field(default_factory=dict)
    """What was recalled or written, and the commit at which it is read."""
    laid: list[_Place] = field(default_factory=list)
    """What the commit brings that is being made."""
    removed: set[_Place] = field(default_factory=set)
    """What the session itself took out: it may write it again, in other words."""
    read: dict[tuple[_Place | None, str], list[SeenEntry]] = field(default_factory=dict)
    """What was read of it so far, by place and commit, or of a whole prompt, so that each is read once."""


class Exposure:
    """Entries that the sessions of one bundle had before them, as far as this process knows."""

    def __init__(self, bundle: Bundle) -> None:
        self._bundle = bundle
        self._lock = threading.Lock()
        self._sessions: dict[str, _Session] = {}

    # Noting

    def had_block(self, session: str, commit: str) -> None:
        """The session's prompt was made from this state."""
        with self._lock:
            self._sessions.setdefault(session, _Session()).blocks.setdefault(commit)

    def was_shown(self, session: str, entries: Iterable[_Place]) -> str:
        """These entries were recalled into the session; gives their names, as its record keeps them."""
        listed = list(entries)
        if listed and session:
            tip = self._bundle.tip
            with self._lock:
                found = self._sessions.setdefault(session, _Session())
                found.shown = {**dict.fromkeys(listed, tip), **found.shown}
        return "\n".join(dict.fromkeys(shown_name(path, key) for path, key in listed))

    def goes_on(self, session: str, parent: str) -> None:
        """The session goes on with the conversation of another, and has before it what that one had."""
        with self._lock:
            before = self._sessions.get(parent, _Session())
            found = self._sessions.setdefault(session, _Session())
            found.blocks |= before.blocks
            found.shown |= before.shown

    def committed(self, session: str) -> None:
        """The edits that `derived` was asked about last are a commit: the session knows what it wrote."""
        found = self._sessions.get(session)
        if found is not None and found.laid:
            laid, found.laid = found.laid, []
            self.was_shown(session, laid)

    # Asking

    def parents(self, session: str, text: str) -> list[SeenEntry]:
        """The entries before the session that a text follows from: it shares a key with them, or quotes a sentence.

        A key that several of them have is that of the oldest, which brought it.
        """
        found, older = [], set[str]()
        for seen in self._seen(session):
            shared = shared_keys(text, seen.text) - older
            older |= telling(seen.text)
            if seen.text != text and (shared or says(text, (), quotes_of(seen.text))):
                found.append(seen)
        return found

    def derived(self, session: str, edits: Edits) -> tuple[str, ...]:
        """The names of the entries that the session had before it and that these edits follow from."""
        paths = [path for path in edits.paths() if is_knowledge(path)] if session else []
        if not paths:
            return ()
        from gitmem.okf.comparison import compare

        before = {path: data for path in paths if (data := edits.tip.read(path)) is not None}
        after = {path: data for path in paths if (data := edits.read(path)) is not None}
        names: dict[str, None] = {}
        laid: list[_Place] = []
        removed: set[_Place] = set()
        for change in compare(before, after):
            if change.old is not None and change.new is None:
                removed.add((change.path, change.key))
            if change.new is not None and change.op != "move" and (text := said(change.path, change.new)):
                own = shown_name(change.path, change.new.key)
                names |= {seen.name: None for seen in self.parents(session, text) if seen.name != own}
                laid.append((change.path, change.new.key))
        with self._lock:
            found = self._sessions.setdefault(session, _Session())
            found.laid, found.removed = laid, found.removed | removed
        return tuple(names)[:_MOST_PARENTS]

    def taken_back(self, session: str, text: str, files: Files, turn: str = "") -> bool:
        """Say whether a text follows from something that was taken back while its session still had it before it.

        What was said in the turn that goes with a retraction is hidden by that link, and need not wait for a person.
        """
        from gitmem.memory.retraction import holds

        gone = {seen for seen in self._seen(session) if holds(files, seen.retraction, apart_from=turn)}
        return bool(gone) and not gone.isdisjoint(self.parents(session, text))

    def was_removed(self, session: str, text: str) -> bool:
        """Say whether a text repeats a § entry that others removed while its session still had it before it.

        One that was replaced or archived was not removed; and what present knowledge says may be said.
        """
        own = self._sessions.get(session, _Session()).removed
        seen = [one for one in self._seen(session) if one.place[1].space == "§" and one.place not in own]
        archived = (f"memories/archive/{name}" for name in self._bundle.tree().names("memories/archive"))
        paths = {*(one.place[0] for one in seen), *archived} if seen else set()
        files = (open_file(path, self._bundle.read(path)) for path in paths)
        present = [entry for file in files for entry in file.entries.values()]
        known = {*(one.key for one in present), *(EntryKey("§", one.replaces) for one in present)}
        gone = [one for one in seen if one.place[1] not in known]
        now = frozenset().union(*(telling(one.text) for one in present)) if gone else frozenset[str]()
        return any(
            one.text == text or shared_keys(text, one.text) - now or says(text, (), quotes_of(one.text))
            for one in gone
        )

    def _seen(self, session: str) -> list[SeenEntry]:
        """The entries that a session had before it, the oldest first."""
        with self._lock:
            found = self._sessions.get(session)
        if found is None:
            path = layout.find_session(self._bundle.tree(), session)
            data = self._bundle.read(path) if path else None
            known = blocks_of(Concept.parse(data, path)) if data is not None and path else []
            found = _Session(blocks=dict.fromkeys(known))
            with self._lock:
                found = self._sessions.setdefault(session, found)
        asked: list[tuple[_Place | None, str]] = [(None, commit) for commit in found.blocks]
        asked += found.shown.items()
        files: dict[tuple[str, str], EntryFile] = {}
        for place, commit in asked:
            if (place, commit) not in found.read:
                found.read[place, commit] = self._read(place, commit, files)
        entries = {one.name: one for each in reversed(asked) for one in found.read[each]}
        return sorted(entries.values(), key=lambda one: (one.at, one.name))

    def _read(
        self, place: _Place | None, commit: str, files: dict[tuple[str, str], EntryFile]
    ) -> list[SeenEntry]:
        """Return an entry as it was at a commit, or those of a prompt that was made from it; each file is read once."""
        repository = self._bundle.repository
        if commit not in repository.store:  # a commit of a session on another machine may not be here yet
            return []
        paths = [place[0]] if place else block_files(self._bundle.config.machine)
        found: list[SeenEntry] = []
        for path in filter(None, paths):
            if (path, commit) not in files:
                files[path, commit] = open_file(path, repository.tree(commit).read(path))
            file = files[path, commit]
            for key in [place[1]] if place else [key for key in file.entries if key.space == "§"]:
                entry = file.get(key)
                if entry is not None and (text := said(path, entry)):
                    body = file.body if key == CONCEPT else entry.text
                    retraction = retraction_hash(key, path, body)
                    found.append(SeenEntry(shown_name(path, key), retraction, text, entry.at, (path, key)))
        return found


def block_files(machine: str) -> tuple[str, ...]:
    """The files whose entries are in the prompt on a machine."""
    return (layout.MEMORY, layout.USER, *((layout.machine_memory(machine),) if machine else ()))


def blocks_of(session: Concept) -> list[str]:
    """The commits from which the prompts of a session were made, as its page has them."""
    listed = session.meta.get("prompt_blocks")
    if not isinstance(listed, list):
        return []
    return [str(item["commit"]) for item in listed if isinstance(item, Mapping) and "commit" in item]


def is_knowledge(path: str) -> bool:
    """Return whether a file says what is known: not a page that gitmem makes, nor the record of a conversation."""
    return (
        not layout.is_generated(path) and not layout.is_session(path) and not path.startswith(_NO_KNOWLEDGE)
    )


def said(path: str, entry: Entry) -> str:
    """Return what an entry says, without the ids and dates that gitmem keeps beside it."""
    if entry.key.space == "meta":
        return entry.text if entry.key.id in _WORDS else ""
    if entry.key.space == "event":
        return "\n".join(str(text) for name, text in entry.extra.items() if name not in _NO_WORDS)
    if entry.source and path.endswith(".md"):
        concept = Concept.parse_leniently(entry.source)
        if concept is None:
            return entry.source.decode("utf-8", "replace")
        words = (concept.title, str(concept.meta.get("description") or ""), concept.body)
        return "\n\n".join(word for word in words if word)
    return entry.source.decode("utf-8", "replace") if entry.source else entry.text
