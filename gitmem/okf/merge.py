"""The merge of one file's two versions: a pure function of base, ours and theirs, the same from either side.

No clock, verdict, limit or setting enters here, so that every machine makes the same file whichever machine
merges, in whatever order. Nothing that was written on either side is lost: where two people rewrote one text,
one keeps the path and the other is kept beside it.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from gitmem.errors import TooLarge
from gitmem.okf import frontmatter, layout, pages, timestamps
from gitmem.okf.concept import Concept
from gitmem.okf.curated import CuratedFile
from gitmem.okf.entries import EntryKey, turns_of
from gitmem.okf.events import Event, EventsFile, place_of
from gitmem.okf.files import open_file

Retracted = Callable[[EntryKey], bool]

_SEVERITY: tuple[object, ...] = ("released", "held", "reverted", "erased")


@dataclass(frozen=True, slots=True)
class Merged:
    """Result of a merge at a path (None: no file), and what is kept beside it, by path."""

    data: bytes | None
    beside: Mapping[str, bytes]


def merge_file(
    path: str, base: bytes | None, ours: bytes | None, theirs: bytes | None, retracted: Retracted
) -> Merged:
    """One file out of two versions and what they came from."""
    if path.rpartition("/")[2] == layout.LOG:
        return Merged(_merge_log(base, ours, theirs, retracted), {})
    if path.startswith("retractions/"):  # a union: no side takes one away
        sides = [side for side in (ours, theirs) if side is not None]
        return Merged(_with_turns(max(sides, key=_severity, default=None), sides), {})
    if theirs in (ours, base):
        return Merged(_without(path, ours, retracted), {})
    if ours == base:
        return Merged(_without(path, theirs, retracted), {})
    ours, theirs = _without(path, ours, retracted), _without(path, theirs, retracted)
    kinds = {open_file(path, data).kind for data in (ours, theirs) if data is not None}
    try:
        if kinds == {"curated"}:
            return Merged(_merge_sections(path, base, ours, theirs), {})
        if kinds == {"events"}:
            return _merge_events(path, base, ours, theirs)
        if kinds == {"concept"} and ours is not None and theirs is not None:
            return _merge_concepts(path, base, ours, theirs)
    except TooLarge:
        pass  # together they are over the limit of one file, so they stay two
    if ours is None or theirs is None:
        return Merged(ours if theirs is None else theirs, {})  # removed here, edited there: the edit stays
    kept, other = sorted((ours, theirs), key=_digest)
    return Merged(kept, {} if kinds == {"generated"} else {beside(path, other): other})


def beside(path: str, data: bytes) -> str:
    """Return the path of the version that does not keep its own: `<name>~<hash8>.md`."""
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


def _merge_sections(path: str, base: bytes | None, ours: bytes | None, theirs: bytes | None) -> bytes | None:
    files = [
        CuratedFile.parse_leniently(data, path) if data is not None else None for data in (base, ours, theirs)
    ]
    sides = [file.entries if file else () for file in files]
    keep = _kept(*([entry.key for entry in side] for side in sides))
    entries = [entry for side in sides[1:] for entry in side if entry.key in keep]
    if (ours is None or theirs is None) and not entries:
        return None
    front = _merge_fronts([file.concept.with_meta(entries=None) if file else None for file in files])
    return CuratedFile(front).with_entries(entries).render()


def _merge_events(path: str, base: bytes | None, ours: bytes | None, theirs: bytes | None) -> Merged:
    parts = (open_file(path, data).content for data in (base, ours, theirs))
    files = [part if isinstance(part, EventsFile) else None for part in parts]
    was, left, right = ({event.key: event for event in file.events} if file else {} for file in files)
    chosen = [_merge_event(was.get(key), left.get(key), right.get(key)) for key in _kept(was, left, right)]
    events = {_event_order(event): event for event in chosen}
    front = _merge_fronts([file.concept if file else None for file in files])
    part, notes = _merge_notes(front, files)
    part = part.without({event.id for event in part.events if _event_order(event) not in events})
    part = part.append(events[order] for order in sorted(events))
    if not part.concept.body.strip():
        return Merged(None, {})
    return Merged(part.render(), {beside(path, data): data for data in notes})


def _merge_notes(front: Concept, files: Sequence[EventsFile | None]) -> tuple[EventsFile, list[bytes]]:
    """The part that events are merged into, with what a person wrote there; and the notes that it has no place for.

    Around a note the events stay where they are. Without one they come in their writer's order.
    """
    sides = [file for file in files[1:] if file]
    changed = [file for file in sides if _note(file) != _note(files[0])] or sides
    kept, *others = sorted(changed, key=lambda file: (not _note(file), _digest(file.render())))
    part = EventsFile.of(front.with_body(kept.concept.body)) if _note(kept) else EventsFile(front)
    return part, [_only_notes(file).render() for file in others if _note(file) not in ("", _note(kept))]


def _only_notes(file: EventsFile) -> EventsFile:
    return file.without({event.id for event in file.events})


def _note(file: EventsFile | None) -> str:
    return _only_notes(file).concept.body.strip() if file else ""


def _merge_event(base: Event | None, ours: Event | None, theirs: Event | None) -> Event:
    """The event of one id: as the side has it that changed it, then by a rule that is the same everywhere.

    Its turn is never changed: what wrote an entry stays known.
    """
    sides = [event for event in (ours, theirs) if event is not None]
    changed = [event for event in sides if base is None or _said(event) != _said(base)]
    first = (
        base if base is not None else min(sides, key=lambda event: (not event.turn, event.turn, event.call))
    )
    return replace(min(changed or sides, key=_said), turn=first.turn, call=first.call)


def _said(event: Event) -> tuple[object, ...]:
    """By writer and number; two events that say the same have the same order, and no others."""
    return *place_of(event.id), event.id, event.at, event.kind, repr(list(event.fields.items()))


def _event_order(event: Event) -> tuple[object, ...]:
    return *_said(event), event.turn, event.call


# Concepts: front matter key by key, then the body


def _merge_concepts(path: str, base: bytes | None, ours: bytes, theirs: bytes) -> Merged:
    old = Concept.parse_leniently(base)
    left, right = Concept.parse(ours), Concept.parse(theirs)
    meta = _merge_meta(old, left, right)
    before = old.body if old is not None else None
    if right.body in (left.body, before):
        return Merged(meta.with_body(left.body).render(), {})
    if left.body == before:
        return Merged(meta.with_body(right.body).render(), {})
    kept, other = _later_first(left, right)
    data = other.render()
    return Merged(meta.with_body(kept.body).render(), {beside(path, data): data})


def _merge_fronts(fronts: Sequence[Concept | None]) -> Concept:
    """The front matter of a file of entries: of both sides, or of the one that still has the file."""
    base, ours, theirs = fronts
    if ours is None or theirs is None:
        only = ours or theirs
        assert only is not None
        return only.with_body("")
    return _merge_meta(base, ours, theirs)


def _merge_meta(base: Concept | None, ours: Concept, theirs: Concept) -> Concept:
    """The front matter of both: a key that one side changed is its, lists are sets, else the later side's."""
    first, second = _later_first(*(side.with_body("").with_meta(turns=None) for side in (ours, theirs)))
    old = base.meta if base is not None else {}
    changes: dict[str, object] = {}
    for key in {**first.meta, **second.meta}:
        b, f, s = (_mark(side, key) for side in (old, first.meta, second.meta))
        if s in (f, b):
            continue
        one, other = first.meta.get(key), second.meta.get(key)
        if f in (b, None):
            changes[key] = other
        elif isinstance(one, list) and isinstance(other, list):
            was = old.get(key)
            changes[key] = _merge_lists(was if isinstance(was, list) else [], one, other)
    # No side takes a turn away: what wrote a text stays known.
    turns = {turn for side in (old, ours.meta, theirs.meta) for turn in turns_of(side)}
    return first.with_meta(**changes, **({"turns": sorted(turns)} if turns else {}))


def _mark(meta: Mapping[str, object], key: str) -> str | None:
    """Return the text a value is compared by, since 1 and true are equal in Python; None for null or a missing key."""
    return frontmatter.dump_value(meta[key]) if meta.get(key) is not None else None


def _merge_lists(base: list[object], first: list[object], second: list[object]) -> list[object]:
    """Both sides' items as sets, in the order of the first and then the second."""
    marks = [{frontmatter.dump_value(item): item for item in side} for side in (base, first, second)]
    b, f, s = (set(side) for side in marks)
    keep = (f & s) | (f - b) | (s - b)
    return [item for mark, item in {**marks[1], **marks[2]}.items() if mark in keep]


def _later_first(one: Concept, other: Concept) -> list[Concept]:
    """By the later `generated.at`, then by the smaller hash."""
    by_hash = sorted((one, other), key=lambda side: _digest(side.render()))
    return sorted(by_hash, key=_generated_at, reverse=True)


def _generated_at(concept: Concept) -> str:
    generated = concept.meta.get("generated")
    at = generated.get("at") if isinstance(generated, Mapping) else None
    return timestamps.canonical(at) or str(at or "")


# Generated and special files


def _merge_log(
    base: bytes | None, ours: bytes | None, theirs: bytes | None, retracted: Retracted
) -> bytes | None:
    """The lines of both sides without those that one took out, as a revert does: they carry its texts."""
    if ours is None and theirs is None:
        return None
    sides = [pages.parse_log(data or b"") for data in (base, ours, theirs)]
    keep = _kept(*(map(_line_key, side) for side in sides))
    lines = [line for side in sides[1:] for line in side if _line_key(line) in keep]
    return pages.log_page(line for line in lines if not retracted(_line_key(line)))


def _line_key(line: pages.LogLine) -> EntryKey:
    """A line goes by its id, which for an event is that of the event; without one by all it says."""
    return EntryKey("event", line.id or "\n".join(line))


def _with_turns(chosen: bytes | None, sides: Iterable[bytes]) -> bytes | None:
    """A retraction with the turns that either side names."""
    concept = Concept.parse_leniently(chosen)
    turns = {
        turn
        for side in sides
        if (other := Concept.parse_leniently(side)) is not None
        for turn in turns_of(other.meta)
    }
    if concept is None or turns == set(turns_of(concept.meta)):
        return chosen
    return concept.with_meta(turns=sorted(turns)).render()


def _severity(data: bytes) -> tuple[int, int, str]:
    """Of two retractions the one with the highest counter counts, then the most severe state."""
    concept = Concept.parse_leniently(data)
    counter, state = (concept.meta.get(key) if concept else None for key in ("counter", "state"))
    severity = _SEVERITY.index(state) if state in _SEVERITY else len(_SEVERITY)
    said = concept.with_meta(turns=None).render() if concept else data  # those are of both
    return (counter if isinstance(counter, int) else 0), severity, _digest(said)


def _without(path: str, data: bytes | None, retracted: Retracted) -> bytes | None:
    """A side's file without what was retracted."""
    file = open_file(path, data)
    # A concept is retracted by its path and text, which a merge goes without.
    out = {key for key in file.units if key.space in ("§", "event") and retracted(key)}
    return file.without(out).render()


def _digest(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()
