"""Identity: what makes two entries the same entry. Imports nothing heavy: a search needs no YAML."""

from __future__ import annotations

import hashlib
import re
import unicodedata
from typing import NamedTuple

_HASH = re.compile(r"[0-9a-f]{32}")


class EntryKey(NamedTuple):
    """What makes two entries the same entry: the space it is named in, and its name there."""

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
    """Whether the text has the form of an entry hash."""
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


SHORTEST_NAME = 8
"""Digits of an entry's name that are enough to say which is meant."""


def shown_name(path: str, key: EntryKey) -> str:
    """The name under which a session notes that it was shown an entry, and a commit what it follows from.

    A § entry and an event go by the name of their retraction; any other text by its file.
    """
    return retraction_hash(key) if key.space in ("§", "event") else entry_hash(f"file {path}")
