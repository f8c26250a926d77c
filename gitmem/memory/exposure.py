"""Exposure: what a session had before it when it wrote something. The prompt block, and what was recalled.

The session's page and its parts keep it for good, as hashes. Here it is with its texts, for as long as the process runs,
so that each write can be compared with it: a commit says what it follows from (`Derived-From`), and the gate knows what
follows from something that was taken back.
"""

from __future__ import annotations

import threading
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from gitmem.memory.kinship import Kin, Traits, quotes, shared_traits, traits_of
from gitmem.okf import layout
from gitmem.okf.entries import CONCEPT, EntryKey, retraction_hash, shown_name

if TYPE_CHECKING:
    from gitmem.memory.bundle import Bundle
    from gitmem.memory.edits import Edits
    from gitmem.okf.concept import Concept
    from gitmem.okf.entries import Entry
    from gitmem.okf.files import EntryFile

RECALLED = "recalled"
"""The kind of an event that says which entries a session was shown; its one field lists their names."""
_ENTRIES = "entries"
_MOST_PARENTS = 8
_NO_KNOWLEDGE = ("retractions/", "config/", "tools/", "snapshots/")
_WORDS = frozenset(("title", "description", "tags", "steps"))
_NO_WORDS = frozenset(("concept", "category", "tags", "tool_name"))


@dataclass(frozen=True, slots=True)
class Known:
    """An entry that a session had before it."""

    name: str
    retraction: str
    """The name under which it would be retracted."""
    text: str
    at: str
    traits: Traits = field(repr=False)
    """What is telling in its text; kept with it, because every later write is compared with it."""


_Place = tuple[str, EntryKey]
"""An entry: its file, and which of that file's."""


@dataclass(slots=True)
class _Session:
    blocks: dict[str, None] = field(default_factory=dict)
    shown: dict[_Place, str] = field(default_factory=dict)
    """What was recalled, and the commit at which it was read."""
    known: list[Known] | None = None
    read: dict[tuple[_Place, str], Known | None] = field(default_factory=dict)
    """What was read of it so far, so that one more thing shown is one more thing to read."""


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
            found = self._sessions.setdefault(session, _Session())
            if commit not in found.blocks:
                found.blocks[commit] = None
                found.known = None

    def was_shown(self, session: str, entries: Iterable[tuple[str, EntryKey]]) -> str:
        """These entries were recalled into the session; gives their names, as its record keeps them."""
        listed = list(entries)
        if listed and session:
            tip = self._bundle.tip
            with self._lock:
                found = self._sessions.setdefault(session, _Session())
                if any(one not in found.shown for one in listed):
                    found.shown = {**dict.fromkeys(listed, tip), **found.shown}
                    found.known = None
        return "\n".join(dict.fromkeys(shown_name(path, key) for path, key in listed))

    def goes_on(self, session: str, parent: str) -> None:
        """The session goes on with the conversation of another, and has before it what that one had."""
        with self._lock:
            before = self._sessions.get(parent, _Session())
            found = self._sessions.setdefault(session, _Session())
            found.blocks |= before.blocks
            found.shown |= before.shown
            found.known = None

    # Asking

    def parents(self, session: str, text: str) -> list[tuple[Known, Kin]]:
        """The entries before the session that a text follows from.

        A trait that several of them have is that of the oldest: it brought it.
        """
        found = []
        mine = traits_of(text)
        older: list[Traits] = []
        for known in self.known(session):
            traits = known.traits
            if known.text != text:
                shared = shared_traits(mine, traits)
                owned = tuple(one for one in shared if not traits.has_from(one, older))
                if quotes(mine, traits):
                    found.append((known, Kin(True)))
                elif owned:
                    found.append((known, Kin(False, owned)))
            older.append(traits)
        return found

    def derived(self, session: str, edits: Edits) -> tuple[str, ...]:
        """The names of the entries that the session had before it and that these edits follow from."""
        paths = [path for path in edits.paths() if is_knowledge(path)] if session else []
        if not paths or not self.known(session):
            return ()
        from gitmem.okf.comparison import compare

        before = {path: data for path in paths if (data := edits.tip.read(path)) is not None}
        after = {path: data for path in paths if (data := edits.read(path)) is not None}
        names: dict[str, None] = {}
        for change in compare(before, after):
            if change.new is not None and change.op != "move" and (text := said(change.path, change.new)):
                own = shown_name(change.path, change.new.key)
                names |= {known.name: None for known, _ in self.parents(session, text) if known.name != own}
        return tuple(names)[:_MOST_PARENTS]

    def known(self, session: str) -> list[Known]:
        """The entries that a session had before it, the oldest first."""
        with self._lock:
            found = self._sessions.get(session)
        if found is None:
            found = _Session(blocks=dict.fromkeys(self._blocks_on_record(session)))
            with self._lock:
                found = self._sessions.setdefault(session, found)
        if found.known is None:
            found.known = self._read(found)
        return found.known

    def _blocks_on_record(self, session: str) -> list[str]:
        from gitmem.memory.edits import Edits
        from gitmem.okf.concept import Concept

        path = layout.find_session(Edits(self._bundle.tree()), session)
        data = self._bundle.read(path) if path else None
        return blocks_of(Concept.parse(data, path)) if data is not None and path else []

    def _read(self, session: _Session) -> list[Known]:
        """The entries with their texts, the oldest first."""
        from gitmem.okf.files import open_file

        places = {
            (path, key): commit for commit in session.blocks for path, key in self._block_entries(commit)
        }
        places |= session.shown
        found: dict[str, Known] = {}
        files: dict[tuple[str, str], EntryFile] = {}
        for (path, key), commit in places.items():
            if not path or commit not in self._bundle.repository.store:
                continue  # of a session on another machine, and not here yet
            place = (path, key), commit
            if place not in session.read:
                file = files.get((path, commit))
                if file is None:
                    data = self._bundle.repository.tree(commit).read(path)
                    file = files[path, commit] = open_file(path, data)
                session.read[place] = _known(file, path, key)
            known = session.read[place]
            if known is not None:
                found.setdefault(known.name, known)
        return sorted(found.values(), key=lambda one: (one.at, one.name))

    def _block_entries(self, commit: str) -> list[tuple[str, EntryKey]]:
        if commit not in self._bundle.repository.store:
            return []
        tree = self._bundle.repository.tree(commit)
        return [
            (path, key)
            for path in block_files(self._bundle.config.machine)
            for key in keys_in(path, tree.read(path))
        ]


def _known(file: EntryFile, path: str, key: EntryKey) -> Known | None:
    entry = file.get(key)
    text = said(path, entry) if entry is not None else ""
    if entry is None or not text:
        return None
    body = file.body if key == CONCEPT else entry.text
    return Known(shown_name(path, key), retraction_hash(key, path, body), text, entry.at, traits_of(text))


def block_files(machine: str) -> tuple[str, ...]:
    """The files whose entries are in the prompt on a machine."""
    return (layout.MEMORY, layout.USER, *((layout.machine_memory(machine),) if machine else ()))


def keys_in(path: str, data: bytes | None) -> list[EntryKey]:
    """The § entries of a file."""
    from gitmem.okf.files import open_file

    return [key for key in open_file(path, data).entries if key.space == "§"] if data is not None else []


def blocks_of(session: Concept) -> list[str]:
    """The commits from which the prompts of a session were made, as its page has them."""
    listed = session.meta.get("prompt_blocks")
    if not isinstance(listed, list):
        return []
    return [str(item["commit"]) for item in listed if isinstance(item, Mapping) and "commit" in item]


def names_in(fields: Mapping[str, object]) -> list[str]:
    """The names that an event of kind `recalled` lists."""
    return str(fields.get(_ENTRIES, "")).split()


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
        from gitmem.errors import InvalidContent
        from gitmem.okf.concept import Concept

        try:
            concept = Concept.parse(entry.source, path)
        except InvalidContent:
            return entry.source.decode("utf-8", "replace")
        words = (concept.title, str(concept.meta.get("description") or ""), concept.body)
        return "\n\n".join(word for word in words if word)
    return entry.source.decode("utf-8", "replace") if entry.source else entry.text
