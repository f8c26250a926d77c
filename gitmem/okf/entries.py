"""Entries: what history, undo and merge count by. Their identity is defined here and nowhere else.

A file's entries, by its kind:

- curated (§ files): the texts between the § lines; key ("§", hash of the text)
- events (session parts): the events; key ("event", event id)
- concept: each front matter key, then the body; keys ("meta", key) and ("body", "")
- blob (anything that is not a readable markdown concept): the whole file; key ("blob", "")
- generated (index.md, log.md): none; they are rebuilt from the rest

A concept that is added or removed as a whole is one entry, key ("concept", ""), with its title as the text and its
type as the kind. `okf/files.py` reads and changes entries, `okf/comparison.py` compares them.
"""

from __future__ import annotations

import hashlib
import re
import unicodedata
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal, NamedTuple

DELIMITER = "\n§\n"

Kind = Literal["curated", "events", "concept", "generated", "blob"]
Op = Literal["add", "remove", "change", "move"]

CURATED_TYPES = frozenset(("CuratedMemory", "ArchivedMemory", "UserProfile"))
EVENTS_TYPE = "SessionEvents"


@dataclass(frozen=True, slots=True)
class Entry:
    """One entry: its identity and text; when it came and what it replaced, where the file says so.

    `kind` is the event's kind, or the type for a whole concept. `extra` holds the keys that stood beside `h`,
    `at` and `replaces` in a § file's list and that this version does not know, or the fields of an event;
    `source` the bytes of a whole file; `turn` and `call` the turn of a conversation and the tool call that an event belongs
    to. None of them takes part in equality.
    """

    key: EntryKey
    text: str
    at: str = ""
    replaces: str = ""
    kind: str = ""
    extra: Mapping[str, object] = field(default_factory=dict, compare=False, repr=False)
    source: bytes = field(default=b"", compare=False, repr=False)
    turn: str = field(default="", compare=False, repr=False)
    call: str = field(default="", compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class Change:
    """One thing that differs between two trees; `from_path` is where a moved entry stood before."""

    path: str
    op: Op
    old: Entry | None
    new: Entry | None
    from_path: str = ""
    title: str = field(default="", compare=False)
    """What the concept is called of which this is a part."""

    def __repr__(self) -> str:
        texts = " -> ".join(repr(entry.text) for entry in (self.old, self.new) if entry is not None)
        return f"<Change {self.op} {self.path}: {texts}>"

    @property
    def key(self) -> EntryKey:
        """Return the changed entry: the new one, or the removed one."""
        entry = self.new or self.old
        assert entry is not None
        return entry.key


_HASH = re.compile(r"[0-9a-f]{32}")


class EntryKey(NamedTuple):
    """Identity of an entry: the space it is named in, and its name there."""

    space: str
    id: str


# The text of a concept, and a file as one entry: a concept, or anything else.
BODY = EntryKey("body", "")
CONCEPT = EntryKey("concept", "")
BLOB = EntryKey("blob", "")


def entry_hash(text: str) -> str:
    """The identity of a § entry: 32 hex digits that do not depend on Unicode form or outer white space."""
    normal = unicodedata.normalize("NFC", text.strip())
    # Half characters cannot be stored, but asking for their hash must not fail.
    return hashlib.sha256(normal.encode("utf-8", "surrogatepass")).hexdigest()[:32]


def is_hash(text: object) -> bool:
    """Return whether the text has the form of an entry hash."""
    return isinstance(text, str) and _HASH.fullmatch(text) is not None


def section_key(text: str) -> EntryKey:
    """The key of the § entry with that text."""
    return EntryKey("§", entry_hash(text))


def retraction_hash(key: EntryKey, path: str = "", text: str = "") -> str:
    """The name under which an entry is retracted.

    A § entry goes by its own hash and an event by its id, wherever they stand; anything else by
    its path and text, so that another text may stand there later.
    """
    if key.space == "§":
        return key.id
    if key.space == "event":
        return entry_hash(f"event {key.id}")
    return entry_hash(f"{key.space} {key.id} {path} {entry_hash(text)}")


MOST_TURNS = 64
"""Turns that an entry from elsewhere may name."""
_TURN = re.compile(r"(?:[0-9a-f]{12}(?:#[A-Za-z0-9_-]{1,64})?|[0-9a-f]{32}-\d{1,18})")


def is_turn(value: object) -> bool:
    """Return whether a value names a turn of a conversation: its id, with a tool call or without, or that of an event."""
    return isinstance(value, str) and _TURN.fullmatch(value) is not None


def turns_of(extra: Mapping[str, object]) -> tuple[str, ...]:
    """The turns that wrote an entry or a concept, as its list or front matter names them."""
    listed = extra.get("turns")
    return tuple(filter(is_turn, listed)) if isinstance(listed, list) else ()


SHORTEST_NAME = 8
"""Digits of an entry's name that are enough to say which is meant."""


def shown_name(path: str, key: EntryKey) -> str:
    """The name under which a session notes that it was shown an entry, and a commit what it follows from.

    A § entry and an event go by the name of their retraction; any other text by its file.
    """
    return retraction_hash(key) if key.space in ("§", "event") else entry_hash(f"file {path}")
