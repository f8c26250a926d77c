"""Entries: what history, undo and merge count by. Their identity is defined here and nowhere else.

A file's entries, by its kind:

- curated (§ files): the texts between the § lines; key ("§", hash of the text)
- events (session parts): the events; key ("event", event id)
- concept: each front matter key, then the body; keys ("meta", key) and ("body", "")
- blob (anything that is no readable markdown concept): the whole file; key ("blob", "")
- generated (index.md, log.md): none; they are made again from the rest

A concept that comes or goes as a whole is told as one entry, key ("concept", ""), with its title as the text
and its type as the kind; see `compare`.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from difflib import SequenceMatcher
from typing import Literal

from gitmem.errors import InvalidContent
from gitmem.okf import frontmatter, layout
from gitmem.okf.concept import Concept
from gitmem.okf.identity import EntryKey, entry_hash, is_hash, section_key

__all__ = [
    "CURATED_TYPES",
    "DELIMITER",
    "EVENTS_TYPE",
    "MAX_WORD_PAIRS",
    "Change",
    "Entry",
    "EntryKey",
    "Kind",
    "Mark",
    "Op",
    "body_of",
    "compare",
    "entries_of",
    "entry_hash",
    "is_hash",
    "kind_of",
    "parts_of",
    "section_key",
    "whole_of",
    "words",
]

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
    `source` the bytes of a whole file. Neither takes part in equality.
    """

    key: EntryKey
    text: str
    at: str = ""
    replaces: str = ""
    kind: str = ""
    extra: Mapping[str, object] = field(default_factory=dict, compare=False, repr=False)
    source: bytes = field(default=b"", compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class Change:
    """One thing that differs between two trees; `from_path` is where a moved entry stood before."""

    path: str
    op: Op
    old: Entry | None
    new: Entry | None
    from_path: str = ""


def kind_of(path: str, data: bytes | None) -> Kind:
    """The kind of a file by its path and type; by its path alone when `data` is None.

    What it answers can be relied on: "concept" parses as a Concept, "curated" as a CuratedFile, "events" as
    an EventsFile. What can not be read is a "blob", so that no command over history stops at a broken file.
    """
    return _read(path, data)[0]


def _read(path: str, data: bytes | None) -> tuple[Kind, Concept | None]:
    if layout.is_generated(path):
        return "generated", None
    if not path.endswith(".md"):
        return "blob", None
    if data is None:
        return _kind_of_type(layout.default_type(path)), None
    try:
        concept = Concept.parse(data)
    except InvalidContent:
        if _is_bare_curated(path, data):
            return "curated", None
        return "blob", None
    return _kind_of_type(concept.type), concept


def _kind_of_type(name: str) -> Kind:
    if name in CURATED_TYPES:
        return "curated"
    return "events" if name == EVENTS_TYPE else "concept"


def _is_bare_curated(path: str, data: bytes) -> bool:
    """Whether this is a § file as a host writes it: in its place, readable, without front matter."""
    if layout.default_type(path) not in CURATED_TYPES:
        return False
    from gitmem.okf.curated import CuratedFile

    try:
        CuratedFile.parse(data, path)
    except InvalidContent:
        return False
    return True


def entries_of(path: str, data: bytes) -> dict[EntryKey, Entry]:
    """The entries of a file in the order they stand there; for any bytes, without an error."""
    return _entries(path, data, *_read(path, data))


def parts_of(path: str, data: bytes) -> dict[EntryKey, Entry]:
    """All that can differ inside a file: its entries, and the other front matter of § files and parts."""
    side = _Side.of(path, data)
    return side.parts if side is not None else {}


def whole_of(path: str, data: bytes) -> Entry:
    """A concept or a blob as one entry."""
    side = _Side.of(path, data)
    assert side is not None
    return side.whole(path) if side.kind == "concept" else _blob(data)


def body_of(path: str, data: bytes) -> str:
    """What a concept says, apart from its front matter; the whole text of anything else."""
    kind, concept = _read(path, data)
    return concept.body if kind == "concept" and concept is not None else data.decode("utf-8", "replace")


def holds(path: str, data: bytes, entry: Entry) -> bool:
    """Whether a file still is, or still has, that entry."""
    if entry.key.space == "concept":
        return body_of(path, data) == body_of(path, entry.source)
    if entry.key.space == "blob":
        return data == entry.source
    found = parts_of(path, data).get(entry.key)
    return found is not None and (entry.key.space in ("§", "event") or found.text == entry.text)


def _entries(path: str, data: bytes, kind: Kind, concept: Concept | None) -> dict[EntryKey, Entry]:
    if kind == "generated":
        return {}
    if kind == "curated":
        from gitmem.okf.curated import CuratedFile

        # The usual file is read once; one with CRLF, or a bare one, by the rules of its own parser.
        once = concept if b"\r\n" not in data else None
        curated = CuratedFile.of(once) if once else CuratedFile.parse(data, path)
        return {entry.key: entry for entry in curated.entries}
    if kind == "events":
        from gitmem.okf.events import EventsFile

        once = concept if b"\r\n" not in data else None
        part = EventsFile.of(once) if once else EventsFile.parse(data, path)
        return {event.key: event.entry for event in part.events}
    if kind == "concept" and concept is not None:
        found = _meta_entries(concept, skip=())
        if concept.body:
            found[_BODY] = Entry(_BODY, concept.body)
        return found
    return {_BLOB: _blob(data)}


_BODY = EntryKey("body", "")
_BLOB = EntryKey("blob", "")
_WHOLE = EntryKey("concept", "")


def _meta_entries(concept: Concept, skip: Iterable[str]) -> dict[EntryKey, Entry]:
    keys = [EntryKey("meta", name) for name in concept.meta if name not in skip]
    return {key: Entry(key, frontmatter.dump_value(concept.meta[key.id])) for key in keys}


def _blob(data: bytes) -> Entry:
    try:
        text = data.decode()
    except UnicodeDecodeError:
        text = "\0"
    if "\0" in text:
        name = hashlib.sha256(data).hexdigest()[:16]
        return Entry(_BLOB, f"binary, {len(data)} bytes, {name}", kind="binary", source=data)
    return Entry(_BLOB, text, source=data)


# --- comparing ------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Side:
    """One file on one side of a comparison."""

    path: str
    data: bytes
    kind: Kind
    concept: Concept | None

    @classmethod
    def of(cls, path: str, data: bytes | None) -> _Side | None:
        return None if data is None else cls(path, data, *_read(path, data))

    @property
    def entries(self) -> dict[EntryKey, Entry]:
        return _entries(self.path, self.data, self.kind, self.concept)

    def differing(self, other: _Side) -> dict[EntryKey, Entry]:
        """The parts but for front matter that the other side has with the same value: most of it, mostly."""
        if self.concept is None or other.concept is None or self.kind == "blob":
            return self.parts
        theirs = other.concept.meta
        same = [
            key for key, value in self.concept.meta.items() if key in theirs and _same(theirs[key], value)
        ]
        skip = [*same, "entries"] if self.kind in ("curated", "events") else same
        found = _meta_entries(self.concept, skip=skip)
        if self.kind == "concept":
            return {**found, _BODY: Entry(_BODY, self.concept.body)} if self.concept.body else found
        return {**found, **self.entries}

    @property
    def parts(self) -> dict[EntryKey, Entry]:
        """All that can differ inside a file: the entries, and the other front matter of § files and parts."""
        if self.kind in ("curated", "events") and self.concept is not None:
            return {**_meta_entries(self.concept, skip=("entries",)), **self.entries}
        return self.entries

    def whole(self, path: str) -> Entry:
        """The concept as one entry."""
        assert self.concept is not None
        title = self.concept.title or path.rpartition("/")[2].removesuffix(".md")
        return Entry(_WHOLE, title, kind=self.concept.type, source=self.data)


def compare(old: Mapping[str, bytes], new: Mapping[str, bytes]) -> list[Change]:
    """What changed between two sides of the touched files, by path and then in file order.

    - A § entry whose `replaces` names one that left the same file is one "change".
    - A § entry or event that left one file and stands in another is one "move", told at the new path.
    - A concept file that came or went is one "add" or "remove" of the entry ("concept", ""); with equal bytes
      at another path it is a "move".
    - In a concept that stays, each front matter key and the body is told by itself; so is the front matter of
      § files and events, without the list of entries. `at` alone is no change.
    """
    told: list[_Told] = []
    for path in sorted(old.keys() | new.keys()):
        before, after = old.get(path), new.get(path)
        if before == after:
            continue
        one = _Side.of(path, before)
        for change in _compare_file(path, one, _with_other_body(one, after) or _Side.of(path, after)):
            told.append((change, _moving(change, before, after)))
    return _with_moves(told)


def _with_other_body(side: _Side | None, data: bytes | None) -> _Side | None:
    """The same concept with another body, where its front matter is the same to the byte.

    Most changes of a concept are of this kind, and reading YAML is what a comparison costs.
    """
    if side is None or data is None or side.kind != "concept" or side.concept is None:
        return None
    end = side.data.find(b"\n---\n")
    if end < 0 or b"\r" in data or not data.startswith(side.data[: end + 5]):
        return None
    try:
        concept = side.concept.with_body(data[end + 5 :].decode())
        if concept.render() != data:
            return None
    except (UnicodeDecodeError, InvalidContent):
        return None
    return _Side(side.path, data, "concept", concept)


# A change, and what would make it one half of a move; None when it can not move.
_Told = tuple[Change, EntryKey | bytes | None]


def _moving(change: Change, before: bytes | None, after: bytes | None) -> EntryKey | bytes | None:
    if change.op not in ("add", "remove"):
        return None
    key = _key(change)
    if key == _WHOLE:
        return after if change.op == "add" else before
    return key if key.space in ("§", "event") else None


def _key(change: Change) -> EntryKey:
    entry = change.new or change.old
    assert entry is not None
    return entry.key


def _compare_file(path: str, old: _Side | None, new: _Side | None) -> list[Change]:
    if old is not None and new is not None and old.kind == new.kind:
        return _compare_parts(path, old, new)
    return _all_of(path, old, "remove") + _all_of(path, new, "add")


def _all_of(path: str, side: _Side | None, op: Literal["add", "remove"]) -> list[Change]:
    if side is None:
        return []
    found = [side.whole(path)] if side.kind == "concept" else list(side.entries.values())
    return [
        Change(path, op, entry if op == "remove" else None, entry if op == "add" else None) for entry in found
    ]


def _compare_parts(path: str, old: _Side, new: _Side) -> list[Change]:
    before, after = old.differing(new), new.differing(old)
    removed = {key: entry for key, entry in before.items() if key not in after}
    changes: list[Change] = []
    for key, entry in after.items():
        was = before.get(key)
        if was is not None:
            # The text of a § entry is its identity, so another Unicode form of it is no change.
            if key.space != "§" and _content(was) != _content(entry):
                changes.append(Change(path, "change", was, entry))
            continue
        replaced = removed.pop(EntryKey("§", entry.replaces), None) if key.space == "§" else None
        op: Op = "add" if replaced is None else "change"
        changes.append(Change(path, op, replaced, entry))
    return [Change(path, "remove", entry, None) for entry in removed.values()] + changes


def _same(one: object, other: object) -> bool:
    """Equal, and of one type: `1` and `true` are equal in Python and not in YAML."""
    return type(one) is type(other) and one == other and repr(one) == repr(other)


def _content(entry: Entry) -> tuple[str, str]:
    return entry.text, entry.kind


def _with_moves(told: list[_Told]) -> list[Change]:
    """The changes with each matching "remove" and "add" of two files told as one "move"."""
    gone: dict[EntryKey | bytes, list[int]] = {}
    for number, (change, mark) in enumerate(told):
        if change.op == "remove" and mark is not None:
            gone.setdefault(mark, []).append(number)
    result: list[Change | None] = [change for change, _ in told]
    for number, (change, mark) in enumerate(told):
        if change.op != "add" or mark is None:
            continue
        # One file never both loses and gains the same key, so the two halves are of two files.
        if gone.get(mark):
            source = gone[mark].pop(0)
            left = told[source][0]
            result[source] = None
            result[number] = Change(change.path, "move", left.old, change.new, left.path)
    return [change for change in result if change is not None]


# --- showing --------------------------------------------------------------------------------------

Mark = Literal[" ", "-", "+"]

_WORD = re.compile(r"\s*\S+|\s+\Z")
# The product of the word counts that are compared word by word; beyond it the matcher could take seconds.
MAX_WORD_PAIRS = 160_000


def words(old: str, new: str) -> list[tuple[Mark, str]]:
    """The difference word by word: what stays (" "), goes ("-") and comes ("+").

    The pieces of a side, joined, are its text. Texts that differ in too many words are told as one replaced
    by the other.
    """
    before, after = _WORD.findall(old), _WORD.findall(new)
    start = _common(before, after)
    end = _common(before[start:][::-1], after[start:][::-1])
    left, right = before[start : len(before) - end], after[start : len(after) - end]
    told: list[tuple[Mark, str]] = [(" ", "".join(before[:start]))]
    if len(left) * len(right) > MAX_WORD_PAIRS:
        told += [("-", "".join(left)), ("+", "".join(right))]
    else:
        for op, i, k, m, n in SequenceMatcher(None, left, right, autojunk=False).get_opcodes():
            if op == "equal":
                told.append((" ", "".join(left[i:k])))
            else:
                told += [("-", "".join(left[i:k])), ("+", "".join(right[m:n]))]
    told.append((" ", "".join(before[len(before) - end :])))
    return _joined(piece for piece in told if piece[1])


def _common(one: list[str], other: list[str]) -> int:
    count = 0
    for count, (a, b) in enumerate(zip(one, other, strict=False), start=1):
        if a != b:
            return count - 1
    return count


def _joined(pieces: Iterable[tuple[Mark, str]]) -> list[tuple[Mark, str]]:
    joined: list[tuple[Mark, str]] = []
    for mark, text in pieces:
        if joined and joined[-1][0] == mark:
            joined[-1] = (mark, joined[-1][1] + text)
        else:
            joined.append((mark, text))
    return joined
