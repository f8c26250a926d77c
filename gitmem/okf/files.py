"""A file of entries: any file of a bundle, opened as what it is and changed entry by entry.

    data = open_file(path, data).without({key}).render()  # None: nothing is left of the file

`okf/entries.py` lists the kinds and their entries. A file without a change renders as the bytes it was opened
from; a § file or a session part that was changed is written in gitmem's own form.
"""

from __future__ import annotations

import hashlib
from collections.abc import Collection, Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field, replace
from typing import ClassVar

from gitmem.errors import InvalidContent
from gitmem.okf import frontmatter, layout
from gitmem.okf.concept import Concept
from gitmem.okf.curated import CuratedFile
from gitmem.okf.entries import BLOB, BODY, CONCEPT, CURATED_TYPES, EVENTS_TYPE, Entry, EntryKey, Kind
from gitmem.okf.events import Event, EventsFile

_WHOLE_FILES = frozenset((CONCEPT, BLOB))
_NOTHING = object()
# A § file or part with CRLF goes by the rules of its own parser; any other is read once.
_CRLF = b"\r\n"


def open_file(path: str, data: bytes | None) -> EntryFile:
    """The file at a path by its place and its type: for any bytes, without an error, and for None, no file.

    What cannot be read is a blob, so that no command over history stops at a broken file.
    """
    if layout.is_generated(path):
        return GeneratedFile(path, data, None)
    if data is None or not path.endswith(".md"):
        return BlobFile(path, data, None)
    with suppress(InvalidContent):
        concept = Concept.parse(data)
        if concept.type in CURATED_TYPES:
            sections = CuratedFile.parse(data, path) if _CRLF in data else CuratedFile.of(concept)
            return SectionsFile(path, data, sections.concept, sections)
        if concept.type == EVENTS_TYPE:
            part = EventsFile.parse(data, path) if _CRLF in data else EventsFile.of(concept)
            return PartFile(path, data, part.concept, part)
        return ConceptFile(path, data, concept)
    if layout.default_type(path) in CURATED_TYPES:  # a host writes its § files without front matter
        with suppress(InvalidContent):
            return SectionsFile(path, data, None, CuratedFile.parse(data, path))
    return BlobFile(path, data, None)


@dataclass(frozen=True, slots=True)
class EntryFile:
    """A file and its entries: its bytes (None for no file) and, if it has front matter, the concept that it is."""

    path: str
    data: bytes | None = field(repr=False)
    concept: Concept | None = field(repr=False)

    kind: ClassVar[Kind]
    space: ClassVar[str] = ""
    """The key space of its entries, apart from front matter."""

    def render(self) -> bytes | None:
        """The file's bytes; None when nothing is left of it."""
        return self.data

    # What it says

    @property
    def front(self) -> Mapping[str, object]:
        """Its front matter, but for the list that only repeats its entries."""
        meta = self.concept.meta if self.concept is not None else {}
        return {name: value for name, value in meta.items() if name != "entries"}

    @property
    def entries(self) -> dict[EntryKey, Entry]:
        """Its entries, in their order in the file."""
        return self._texts

    @property
    def parts(self) -> dict[EntryKey, Entry]:
        """All that can differ inside it: its entries, and the other front matter of § files and parts."""
        return {**_meta_entries(self.front), **self._texts}

    @property
    def units(self) -> dict[EntryKey, Entry]:
        """Return the units that are added, removed and retracted: § entries, events, or the whole file."""
        return self._texts

    @property
    def whole(self) -> Entry | None:
        """The file as one entry; None for no file."""
        data = self.render()
        return _blob(data) if data is not None else None

    @property
    def body(self) -> str:
        """Return the body of a concept without its front matter; the whole text of any other file."""
        return (self.render() or b"").decode("utf-8", "replace")

    def get(self, key: EntryKey) -> Entry | None:
        """Return the entry under a key; for the key of a whole file, the whole file."""
        if key in _WHOLE_FILES:
            return self.whole
        return (self.parts if key.space == "meta" else self._texts).get(key)

    def holds(self, entry: Entry) -> bool:
        """Return whether it still is, or still has, that entry."""
        found = self.get(entry.key)
        if found is None or entry.key.space in ("§", "event"):
            return found is not None
        if entry.key == CONCEPT:
            return self.body == open_file(self.path, entry.source).body
        return (found.text, found.source) == (entry.text, entry.source)

    def differing(self, other: EntryFile) -> dict[EntryKey, Entry]:
        """The parts, without front matter that has the same value in the other file."""
        theirs = other.front
        own = self.front.items()
        other_values = {name: value for name, value in own if not _same(value, theirs.get(name, _NOTHING))}
        return {**_meta_entries(other_values), **self._texts}

    def takes(self, key: EntryKey) -> bool:
        """Return whether such an entry can be put into this file as it is."""
        is_front = key.space == "meta" and self.concept is not None
        return key.space == self.space or key in _WHOLE_FILES or is_front

    # The same file, changed

    def without(self, keys: Collection[EntryKey]) -> EntryFile:
        """The file without these entries; the same file when it has none of them. A type is never taken out."""
        if not _WHOLE_FILES.isdisjoint(keys):
            return BlobFile(self.path, None, None)
        file = self._with_front({key.id: None for key in keys if key.space == "meta" and key.id != "type"})
        own = {key for key in keys if key.space == self.space}
        return file._without(own) if own else file

    def plus(self, entry: Entry) -> EntryFile:
        """The file with one more entry, or with another value for its front matter, its body or all of it."""
        if entry.key in _WHOLE_FILES:
            return open_file(self.path, entry.source)
        file = self.holding(entry.key.space)
        if not file.takes(entry.key):
            raise InvalidContent(f"{self.path} is a {self.kind} file: it cannot take {entry.key}.")
        if entry.key.space == "meta":
            return file._with_front({entry.key.id: frontmatter.load_value(entry.text)})
        return file._plus(entry)

    def replacing(self, old: Entry, new: Entry) -> EntryFile:
        """The file with one entry in the place of another."""
        # A value keeps its line of the front matter.
        is_value = old.key == new.key and old.key.space in ("meta", "body")
        return (self if is_value else self.without({old.key})).plus(new)

    def holding(self, space: str) -> EntryFile:
        """The file as one of § entries or events, where there is none yet; of a broken § file, what can be read."""
        if space == "§" and self.space != "§":
            sections = CuratedFile.parse_leniently(self.data, self.path)
            return SectionsFile(self.path, self.data, sections.concept, sections)
        if space == "event" and self.space != "event" and self.data is None:
            part = EventsFile.new()
            return PartFile(self.path, None, part.concept, part)
        return self

    def _with_front(self, values: Mapping[str, object]) -> EntryFile:
        """The file with these values in its front matter; None takes a key out."""
        concept = self.concept.with_meta(**values) if self.concept is not None and values else self.concept
        return self if concept is None or concept is self.concept else self._of(concept)

    # What differs by kind; a blob has neither front matter nor anything in it

    @property
    def _texts(self) -> dict[EntryKey, Entry]:
        """All but the front matter."""
        raise NotImplementedError

    def _of(self, concept: Concept) -> EntryFile:
        raise NotImplementedError

    def _without(self, keys: Collection[EntryKey]) -> EntryFile:
        raise NotImplementedError

    def _plus(self, entry: Entry) -> EntryFile:
        raise NotImplementedError


class BlobFile(EntryFile):
    """A file that is one entry, or no file."""

    __slots__ = ()
    kind: ClassVar[Kind] = "blob"

    @property
    def _texts(self) -> dict[EntryKey, Entry]:
        return {BLOB: _blob(self.data)} if self.data is not None else {}


class GeneratedFile(EntryFile):
    """A page that is rebuilt from the rest, and has no entries."""

    __slots__ = ()
    kind: ClassVar[Kind] = "generated"

    @property
    def _texts(self) -> dict[EntryKey, Entry]:
        return {}


class ConceptFile(EntryFile):
    """A concept: each front matter key and the body is an entry, and it is added and removed as a whole."""

    __slots__ = ()
    kind: ClassVar[Kind] = "concept"
    space: ClassVar[str] = "body"
    data: bytes
    concept: Concept

    @property
    def front(self) -> Mapping[str, object]:
        return self.concept.meta

    @property
    def entries(self) -> dict[EntryKey, Entry]:
        return self.parts

    @property
    def _texts(self) -> dict[EntryKey, Entry]:
        return {BODY: Entry(BODY, self.body)} if self.body else {}

    @property
    def units(self) -> dict[EntryKey, Entry]:
        return {CONCEPT: self.whole}

    @property
    def whole(self) -> Entry:
        title = self.concept.title or self.path.rpartition("/")[2].removesuffix(".md")
        return Entry(CONCEPT, title, kind=self.concept.type, source=self.data)

    @property
    def body(self) -> str:
        return self.concept.body

    def _of(self, concept: Concept) -> EntryFile:
        return ConceptFile(self.path, concept.render(), concept)

    def _without(self, keys: Collection[EntryKey]) -> EntryFile:
        return self._of(self.concept.with_body("")) if BODY in keys and self.body else self

    def _plus(self, entry: Entry) -> EntryFile:
        return self._of(self.concept.with_body(entry.text))


@dataclass(frozen=True, slots=True)
class SectionsFile(EntryFile):
    """A § file, which stays when it is empty.

    Writing it costs a reading of its YAML, so a changed one has no `data` and is written by `render`.
    """

    file: CuratedFile

    kind: ClassVar[Kind] = "curated"
    space: ClassVar[str] = "§"

    def render(self) -> bytes:
        return self.data if self.data is not None else self.file.render()

    @property
    def _texts(self) -> dict[EntryKey, Entry]:
        return {entry.key: entry for entry in self.file.entries}

    def _of(self, concept: Concept) -> EntryFile:
        return SectionsFile(self.path, None, concept, replace(self.file, concept=concept))

    def _without(self, keys: Collection[EntryKey]) -> EntryFile:
        kept = [entry for entry in self.file.entries if entry.key not in keys]
        return self if len(kept) == len(self.file.entries) else self._with(kept)

    def _plus(self, entry: Entry) -> EntryFile:
        return self._with((*self.file.entries, entry))

    def _with(self, entries: Iterable[Entry]) -> EntryFile:
        return SectionsFile(self.path, None, self.file.concept, self.file.with_entries(entries))


@dataclass(frozen=True, slots=True)
class PartFile(EntryFile):
    """A session part; removed with its last event unless it also holds a hand-written note."""

    file: EventsFile

    kind: ClassVar[Kind] = "events"
    space: ClassVar[str] = "event"

    @property
    def _texts(self) -> dict[EntryKey, Entry]:
        return {event.key: event.entry for event in self.file.events}

    def _of(self, concept: Concept) -> EntryFile:
        return PartFile(self.path, concept.render(), concept, EventsFile.of(concept))

    def _without(self, keys: Collection[EntryKey]) -> EntryFile:
        return self._with(self.file.without({key.id for key in keys}))

    def _plus(self, entry: Entry) -> EntryFile:
        return self._with(self.file.append([Event.of(entry)]))

    def _with(self, part: EventsFile) -> EntryFile:
        if part is self.file:
            return self
        return PartFile(self.path, part.render() if part.concept.body.strip() else None, part.concept, part)


def _meta_entries(front: Mapping[str, object]) -> dict[EntryKey, Entry]:
    entries = (Entry(EntryKey("meta", name), frontmatter.dump_value(value)) for name, value in front.items())
    return {entry.key: entry for entry in entries}


def _blob(data: bytes) -> Entry:
    try:
        text = data.decode()
    except UnicodeDecodeError:
        text = "\0"
    if "\0" in text:
        name = hashlib.sha256(data).hexdigest()[:16]
        return Entry(BLOB, f"binary, {len(data)} bytes, {name}", kind="binary", source=data)
    return Entry(BLOB, text, source=data)


def _same(one: object, other: object) -> bool:
    """Equal, and of one type: `1` and `true` are equal in Python and not in YAML."""
    return type(one) is type(other) and one == other and repr(one) == repr(other)
