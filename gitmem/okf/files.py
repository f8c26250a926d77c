"""A file of entries: any file of a bundle, opened as what it is and changed entry by entry.

    data = open_file(path, data).without({key}).render()  # None: nothing is left of the file

`okf/entries.py` lists the kinds and their entries. A file without a change renders as the bytes it was opened
from; a § file or a session part that was changed is written in gitmem's own form.
"""

from __future__ import annotations

import hashlib
from collections.abc import Collection, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace

from gitmem.errors import InvalidContent
from gitmem.okf import frontmatter, layout
from gitmem.okf.concept import Concept
from gitmem.okf.curated import CuratedFile
from gitmem.okf.entries import BLOB, BODY, CONCEPT, CURATED_TYPES, EVENTS_TYPE, Entry, EntryKey, Kind
from gitmem.okf.events import Event, EventsFile

_WHOLE_FILES = frozenset((CONCEPT, BLOB))
_NOTHING = object()


def open_file(path: str, data: bytes | None) -> EntryFile:
    """The file at a path by its place and its type: for any bytes, without an error, and for None, no file.

    What cannot be read is a blob, so that no command over history stops at a broken file.
    """
    if data is None or not path.endswith(".md") or layout.is_generated(path):
        return EntryFile(path, data)
    with suppress(InvalidContent):
        concept = Concept.parse(data)
        if concept.type in CURATED_TYPES:
            sections = CuratedFile.parse(data, path)
            return EntryFile(path, data, sections.concept, sections)
        if concept.type == EVENTS_TYPE:
            part = EventsFile.parse(data, path)
            return EntryFile(path, data, part.concept, part)
        return EntryFile(path, data, concept)
    if layout.default_type(path) in CURATED_TYPES:  # a host writes its § files without front matter
        with suppress(InvalidContent):
            return EntryFile(path, data, None, CuratedFile.parse(data, path))
    return EntryFile(path, data)


@dataclass(frozen=True, slots=True)
class EntryFile:
    """A file and its entries.

    `data` are its bytes: None for no file, and for one that was changed and is written by `render`. `concept` is its front
    matter, where it has one, and `content` the § file or the session part that it is.
    """

    path: str
    data: bytes | None = field(repr=False)
    concept: Concept | None = field(default=None, repr=False)
    content: CuratedFile | EventsFile | None = field(default=None, repr=False)

    def render(self) -> bytes | None:
        """The file's bytes; None when nothing is left of it: a part goes with its last event, unless it has a note."""
        content = self.content or self.concept
        if self.data is not None or content is None:
            return self.data
        is_empty = isinstance(content, EventsFile) and not content.concept.body.strip()
        return None if is_empty else content.render()

    # What it says

    @property
    def kind(self) -> Kind:
        """Return the kind of the file, which says what its entries are."""
        if self.content is not None:
            return "curated" if isinstance(self.content, CuratedFile) else "events"
        if self.concept is not None:
            return "concept"
        return "generated" if layout.is_generated(self.path) else "blob"

    @property
    def space(self) -> str:
        """The key space of its entries, apart from front matter."""
        return _SPACES.get(self.kind, "")

    @property
    def front(self) -> Mapping[str, object]:
        """Its front matter, but for the list that only repeats its entries."""
        meta = self.concept.meta if self.concept is not None else {}
        return {name: value for name, value in meta.items() if self.content is None or name != "entries"}

    @property
    def texts(self) -> dict[EntryKey, Entry]:
        """All but the front matter, in the order of the file."""
        if isinstance(self.content, CuratedFile):
            return {entry.key: entry for entry in self.content.entries}
        if self.content is not None:
            return {event.key: event.entry for event in self.content.events}
        if self.concept is not None:
            return {BODY: Entry(BODY, self.concept.body)} if self.concept.body else {}
        return {BLOB: _blob(self.data)} if self.data is not None and self.kind == "blob" else {}

    @property
    def entries(self) -> dict[EntryKey, Entry]:
        """Its entries, in their order in the file."""
        return self.parts if self.kind == "concept" else self.texts

    @property
    def parts(self) -> dict[EntryKey, Entry]:
        """All that can differ inside it: its entries, and the other front matter of § files and parts."""
        return {**_meta_entries(self.front), **self.texts}

    @property
    def units(self) -> dict[EntryKey, Entry]:
        """Return the units that are added, removed and retracted: § entries, events, or the whole file."""
        whole = self.whole if self.kind == "concept" else None
        return {CONCEPT: whole} if whole is not None else self.texts

    @property
    def whole(self) -> Entry | None:
        """The file as one entry; None for no file."""
        data = self.render()
        if data is None or self.concept is None or self.content is not None:
            return _blob(data) if data is not None else None
        title = self.concept.title or self.path.rpartition("/")[2].removesuffix(".md")
        return Entry(CONCEPT, title, kind=self.concept.type, source=data)

    @property
    def body(self) -> str:
        """Return the body of a concept without its front matter; the whole text of any other file."""
        if self.concept is not None and self.content is None:
            return self.concept.body
        return (self.render() or b"").decode("utf-8", "replace")

    def get(self, key: EntryKey) -> Entry | None:
        """Return the entry under a key; for the key of a whole file, the whole file."""
        if key in _WHOLE_FILES:
            return self.whole
        return (self.parts if key.space == "meta" else self.texts).get(key)

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
        return {**_meta_entries(other_values), **self.texts}

    def takes(self, key: EntryKey) -> bool:
        """Return whether such an entry can be put into this file as it is."""
        is_front = key.space == "meta" and self.concept is not None
        return key.space == self.space or key in _WHOLE_FILES or is_front

    # The same file, changed

    def without(self, keys: Collection[EntryKey]) -> EntryFile:
        """The file without these entries; the same file when it has none of them. A type is never taken out."""
        if not _WHOLE_FILES.isdisjoint(keys):
            return EntryFile(self.path, None)
        file = self._with_front({key.id: None for key in keys if key.space == "meta" and key.id != "type"})
        own = {key for key in keys if key.space == self.space}.intersection(file.texts)
        return file.with_texts([text for key, text in file.texts.items() if key not in own]) if own else file

    def plus(self, entry: Entry) -> EntryFile:
        """The file with one more entry, or with another value for its front matter, its body or all of it."""
        if entry.key in _WHOLE_FILES:
            return open_file(self.path, entry.source)
        file = self.holding(entry.key.space)
        if not file.takes(entry.key):
            raise InvalidContent(f"{self.path} is a {self.kind} file: it cannot take {entry.key}.")
        if entry.key.space == "meta":
            return file._with_front({entry.key.id: frontmatter.load_value(entry.text)})
        return file.with_texts([*file.texts.values(), entry])

    def replacing(self, old: Entry, new: Entry) -> EntryFile:
        """The file with one entry in the place of another."""
        # A value keeps its line of the front matter.
        is_value = old.key == new.key and old.key.space in ("meta", "body")
        return (self if is_value else self.without({old.key})).plus(new)

    def holding(self, space: str) -> EntryFile:
        """The file as one of § entries or events, where there is none yet; of a broken § file, what can be read."""
        if space == "§" and self.space != "§":
            sections = CuratedFile.parse_leniently(self.data, self.path)
            return EntryFile(self.path, self.data, sections.concept, sections)
        if space == "event" and self.space != "event" and self.data is None:
            part = EventsFile.new()
            return EntryFile(self.path, None, part.concept, part)
        return self

    def with_texts(self, texts: Sequence[Entry]) -> EntryFile:
        """The file with these entries beside its front matter. Events stay as they are written, and new ones follow."""
        if isinstance(self.content, CuratedFile):
            sections = self.content.with_entries(texts)
            return EntryFile(self.path, None, sections.concept, sections)
        if self.content is not None:
            wanted = {entry.key.id for entry in texts}
            kept = self.content.without({one.id for one in self.content.events if one.id not in wanted})
            part = kept.append(map(Event.of, texts))
            return self if part is self.content else EntryFile(self.path, None, part.concept, part)
        assert self.concept is not None
        body = texts[-1].text if texts else ""
        return EntryFile(self.path, None, self.concept.with_body(body))

    def _with_front(self, values: Mapping[str, object]) -> EntryFile:
        """The file with these values in its front matter; None takes a key out."""
        concept = self.concept.with_meta(**values) if self.concept is not None and values else self.concept
        if concept is None or concept is self.concept:
            return self
        content = self.content
        if content is not None:
            content = (
                EventsFile.of(concept)
                if isinstance(content, EventsFile)
                else replace(content, concept=concept)
            )
        return EntryFile(self.path, None, concept, content)


_SPACES: dict[Kind, str] = {"curated": "§", "events": "event", "concept": "body"}


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
