"""The merge of one file's two versions: a pure function of base, ours and theirs, the same from either side.

No clock, verdict, limit or setting enters here, so that every machine makes the same file whoever
merges, in whatever order. Nothing that was written on either side is lost: where two people rewrote one text,
one keeps the path and the other is kept beside it.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass

from gitmem.errors import InvalidContent
from gitmem.okf import frontmatter, layout, pages
from gitmem.okf.concept import Concept
from gitmem.okf.curated import CuratedFile
from gitmem.okf.entries import EntryKey
from gitmem.okf.events import Event, EventsFile
from gitmem.okf.files import open_file

Retracted = Callable[[EntryKey], bool]

_SEVERITY = ("released", "held", "reverted", "erased")


@dataclass(frozen=True, slots=True)
class Merged:
    """What a path becomes (None: no file), and what is kept beside it, by path."""

    data: bytes | None
    beside: Mapping[str, bytes]


def merge_file(
    path: str, base: bytes | None, ours: bytes | None, theirs: bytes | None, retracted: Retracted
) -> Merged:
    """One file out of two versions and what they came from."""
    if path.rpartition("/")[2] == layout.LOG:
        return Merged(_merge_log(ours, theirs, retracted), {})
    if path.startswith("retractions/") and ours is not None and theirs is not None:
        return Merged(_severest(ours, theirs), {})
    if theirs in (ours, base):
        return Merged(_without(path, ours, retracted), {})
    if ours == base:
        return Merged(_without(path, theirs, retracted), {})
    kinds = {open_file(path, data).kind for data in (ours, theirs) if data is not None}
    if kinds == {"curated"}:
        return Merged(_merge_sections(path, base, ours, theirs, retracted), {})
    if kinds == {"events"}:
        return Merged(_merge_events(path, base, ours, theirs, retracted), {})
    if ours is None or theirs is None:
        return Merged(ours if theirs is None else theirs, {})  # removed here, edited there: the edit stays
    if kinds == {"concept"}:
        return _merge_concepts(path, base, ours, theirs)
    kept, other = sorted((ours, theirs), key=_digest)
    return Merged(kept, {} if kinds == {"generated"} else {beside(path, other): other})


def beside(path: str, data: bytes) -> str:
    """Where the version goes that does not keep the path: `<name>~<hash8>.md`."""
    directory, slash, name = path.rpartition("/")
    stem, dot, ending = name.rpartition(".")
    if not stem:
        stem, dot, ending = name, "", ""
    # `git~1234…` is a short name of .git on Windows: a letter first makes it none.
    return f"{directory}{slash}{stem}~h{_digest(data)[:8]}{dot}{ending}"


# § files and events: sets of entries


def _kept(base: Iterable[EntryKey], ours: Iterable[EntryKey], theirs: Iterable[EntryKey]) -> set[EntryKey]:
    """(O ∩ T) ∪ (O − B) ∪ (T − B)"""
    b, o, t = set(base), set(ours), set(theirs)
    return (o & t) | (o - b) | (t - b)


def _merge_sections(
    path: str, base: bytes | None, ours: bytes | None, theirs: bytes | None, retracted: Retracted
) -> bytes | None:
    files = [_sections(path, data) for data in (base, ours, theirs)]
    keep = _kept(*([entry.key for entry in file.entries] for file in files))
    entries = [
        entry
        for file in files[1:]
        for entry in file.entries
        if entry.key in keep and not retracted(entry.key)
    ]
    if (ours is None or theirs is None) and not entries:
        return None
    fronts = [file.concept.with_body("").with_meta(entries=None) for file in files]
    if ours is None or theirs is None:
        front = fronts[2 if ours is None else 1]
    else:
        front = _merge_meta(fronts[0] if base is not None else None, fronts[1], fronts[2])
    return CuratedFile(front).with_entries(entries).render()


def _sections(path: str, data: bytes | None) -> CuratedFile:
    return CuratedFile.salvage(data, path) if data is not None else CuratedFile.salvage(b"", path)


def _merge_events(
    path: str, base: bytes | None, ours: bytes | None, theirs: bytes | None, retracted: Retracted
) -> bytes | None:
    files = [
        EventsFile.parse(data, path) if data is not None else EventsFile.new()
        for data in (base, ours, theirs)
    ]
    keep = _kept(*([event.key for event in file.events] for file in files))
    found: dict[EntryKey, Event] = {}
    for event in sorted((e for file in files[1:] for e in file.events), key=_event_order):
        if event.key in keep and not retracted(event.key):
            found.setdefault(event.key, event)
    if not found:
        return None
    # One that is a beginning of the other keeps its bytes: parts only grow at their end.
    for data, file in ((ours, files[1]), (theirs, files[2])):
        if data is not None and [event.key for event in file.events] == list(found):
            return data
    sources = [file.concept for data, file in ((ours, files[1]), (theirs, files[2])) if data is not None]
    front = min(sources, key=lambda concept: _digest(concept.with_body("").render()))
    return EventsFile(front.with_body("")).append(found.values()).render()


def _event_order(event: Event) -> tuple[str, int, str, str]:
    writer, _, number = event.id.rpartition("-")
    return writer, int(number) if number.isdigit() else 0, event.at, repr(sorted(event.fields.items()))


# Concepts: front matter key by key, then the body


def _merge_concepts(path: str, base: bytes | None, ours: bytes, theirs: bytes) -> Merged:
    old = _concept(path, base)
    left, right = Concept.parse(ours, path), Concept.parse(theirs, path)
    meta = _merge_meta(old, left, right)
    before = old.body if old is not None else None
    if right.body in (left.body, before):
        return Merged(meta.with_body(left.body).render(), {})
    if left.body == before:
        return Merged(meta.with_body(right.body).render(), {})
    kept, other = sorted((ours, theirs), key=lambda data: _precedence(Concept.parse(data, path), data))
    body = Concept.parse(kept, path).body
    return Merged(meta.with_body(body).render(), {beside(path, other): other})


def _merge_meta(base: Concept | None, ours: Concept, theirs: Concept) -> Concept:
    """The front matter of both: a key that one side changed is its, lists are sets, else the later side's."""
    first, second = sorted((ours, theirs), key=lambda one: _precedence(one, one.with_body("").render()))
    old = base.meta if base is not None else {}
    changes: dict[str, object] = {}
    for key in [*first.meta, *(key for key in second.meta if key not in first.meta)]:
        b, f, s = old.get(key), first.meta.get(key), second.meta.get(key)
        value = _merge_value(b, f, s)
        if value != f or (value is None) != (key not in first.meta):
            changes[key] = value
    return first.with_meta(**changes) if changes else first


def _merge_value(base: object, first: object, second: object) -> object:
    if second in (first, base):
        return first
    if first == base:
        return second
    if isinstance(first, list) and isinstance(second, list):
        return _merge_lists(base if isinstance(base, list) else [], first, second)
    return first if first is not None else second


def _merge_lists(base: list[object], first: list[object], second: list[object]) -> list[object]:
    """Both sides' items as sets, in the order of the first and then the second."""
    marks = [{frontmatter.dump_value(item): item for item in side} for side in (base, first, second)]
    b, f, s = (set(side) for side in marks)
    keep = (f & s) | (f - b) | (s - b)
    items = {**marks[2], **marks[1]}
    return [items[mark] for mark in [*marks[1], *(m for m in marks[2] if m not in marks[1])] if mark in keep]


def _precedence(concept: Concept, data: bytes) -> tuple[str, str]:
    """The later `generated.at` comes first, then the smaller hash."""
    generated = concept.meta.get("generated")
    at = str(generated.get("at", "")) if isinstance(generated, Mapping) else ""
    return "".join(chr(0x10FFFF - ord(char)) for char in at) or chr(0x10FFFF), _digest(data)


def _concept(path: str, data: bytes | None) -> Concept | None:
    try:
        return Concept.parse(data, path) if data is not None else None
    except InvalidContent:
        return None


# Generated and special files


def _merge_log(ours: bytes | None, theirs: bytes | None, retracted: Retracted) -> bytes | None:
    if ours is None or theirs is None:
        return ours if theirs is None else theirs
    lines = pages.merge_log(pages.parse_log(ours), pages.parse_log(theirs))
    return pages.log_page(line for line in lines if not retracted(EntryKey("event", line.id)))


def _severest(ours: bytes, theirs: bytes) -> bytes:
    """Of two retractions the one with the highest counter, then the most severe state."""

    def rank(data: bytes) -> tuple[int, int, str]:
        concept = _concept("", data)
        counter = concept.meta.get("counter") if concept else 0
        state = str(concept.meta.get("state", "")) if concept else ""
        severity = _SEVERITY.index(state) if state in _SEVERITY else len(_SEVERITY)
        return (counter if isinstance(counter, int) else 0), severity, _digest(data)

    return max((ours, theirs), key=rank)


def _without(path: str, data: bytes | None, retracted: Retracted) -> bytes | None:
    """A file that only one side changed, without what was retracted on the other."""
    file = open_file(path, data)
    # A concept is retracted by its path and text, which a merge goes without.
    out = {key for key in file.units if key.space in ("§", "event") and retracted(key)}
    return file.without(out).render()


def _digest(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()
