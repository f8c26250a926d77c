"""§ files: the curated store, its archive and the user profile.

The body is the texts joined by a line with `§`, as Hermes writes it, and a final newline; the front matter lists when each
text was added and what it replaced. The body decides what is there, the list only adds to it: an edit of the body
alone is enough. A markdown list that a person writes is an entry for each item; `extra["lead"]` has the characters before an
entry in the body, its bullet included, where that is not the line with `§` alone.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import timedelta
from functools import lru_cache
from typing import NamedTuple

from gitmem.errors import BrokenConcept, InvalidContent
from gitmem.okf import frontmatter, layout, timestamps
from gitmem.okf.concept import Concept, decode
from gitmem.okf.entries import CURATED_TYPES, DELIMITER, Entry, EntryKey, entry_hash, is_hash, turns_of
from gitmem.text.similarity import pair_similar

MAX_STORE_BYTES = 256 * 1024
"""Of a § file whose entries go into prompts: a hundred times what fits there."""
_MARK = "§"
# A host that reads in text mode takes a lone \r for a line end, so it counts as one when a text is checked.
_LINE_END = re.compile(r"\r\n|\r|\n")
_NEXT_FACT = re.compile(r"\n(?=\S)")
_BULLET = re.compile(r"(?:[-*+]|\d{1,3}[.)]) +(?=\S)")
_LEAD = re.compile(r"\s*(?:\n[^\S\n]*§[^\S\n]*\n\s*)?(?:(?:[-*+]|\d{1,3}[.)]) +)?")
_LONGEST_LEAD = 40
_OWN_KEYS = ("h", "at", "replaces", "lead")
# A place is a timestamp, with letters behind it where an entry stands behind one whose clock is ahead.
_LONGEST_PLACE = 64
_PLACE = re.compile(
    rf"(?=.{{1,{_LONGEST_PLACE}}}\Z)(?:\d{{4}}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{{3}}Z)[a-z]*", re.ASCII
)
_BEHIND = "n"
# How far the newest entry's time may be ahead of an operation's own and still be taken for the same moment.
_SAME_MOMENT = timedelta(seconds=1)


@dataclass(frozen=True, slots=True)
class CuratedFile:
    """A § file. `entries` stand as in the body; every change gives them in canonical order, by their places.

    `concept` holds the other front matter; its body and list are as on disk, `render` brings them up to date.
    """

    concept: Concept
    entries: tuple[Entry, ...] = ()

    @classmethod
    def new(
        cls,
        type: str = layout.CURATED_MEMORY,  # noqa: A002 - OKF's own word
        title: str = "",
        **meta: object,
    ) -> CuratedFile:
        """An empty § file."""
        return cls(Concept.new(type, "", title=title or None, **meta, entries=[]))

    @classmethod
    def parse(cls, data: bytes, path: str = "") -> CuratedFile:
        """The § file in those bytes, with or without front matter; BrokenConcept if that is broken."""
        return _parsed(data, path)

    @classmethod
    def of(cls, concept: Concept) -> CuratedFile:
        """The § file that the concept is."""
        return cls(concept, tuple(_entries(concept.body, listed_items(concept.meta.get("entries")))))

    @classmethod
    def parse_leniently(cls, data: bytes | None, path: str = "") -> CuratedFile:
        """The § file that can be made of those bytes (of None an empty one): what is broken costs no text.

        Behind an unreadable front matter the body is taken; without its closing line, all that gitmem did not
        write itself. Ages are those of the last commit (`taken_in`). TooLarge is still an error.
        """
        if data is None:
            return cls._default(path)
        with suppress(BrokenConcept):
            return cls.parse(data, path)
        # Bytes that are not UTF-8 stay readable as \xff.
        text = frontmatter.plain_newlines(data.decode("utf-8", "backslashreplace")).removeprefix("\ufeff")
        fallback = cls._default(path)
        try:
            parts = frontmatter.split(text)
        except BrokenConcept:
            return fallback.with_text(_without_marks(text))
        if parts is None:
            return fallback.with_text(text)
        try:
            meta = {**frontmatter.load(parts.yaml), "type": fallback.concept.type}
        except InvalidContent:
            return fallback.with_text(parts.body)
        return cls.of(Concept(meta, parts.body))

    @classmethod
    def _default(cls, path: str) -> CuratedFile:
        title = path.rpartition("/")[2].removesuffix(".md")
        name = layout.default_type(path)
        return cls.new(name if name in CURATED_TYPES else layout.CURATED_MEMORY, title=title)

    @property
    def text(self) -> str:
        """The body: the texts of all entries, joined as the host joins them."""
        return DELIMITER.join(entry.text for entry in self.entries)

    @property
    def usage(self) -> int:
        """The length of the body in characters, as the host counts it against its limit."""
        return len(self.text)

    def render(self) -> bytes:
        """The file's bytes, with list and body in step."""
        return self.as_concept().render()

    def as_concept(self) -> Concept:
        """The file as a concept, with list and body in step."""
        known = self.concept.body
        # The final newline is for a line that a shell adds; hosts strip it.
        begin, end = known[: -len(known.lstrip("\n")) or None], known[len(known.rstrip("\n")) :] or "\n"
        body = f"{begin}{self._body()}{end}" if self.entries else ""
        concept = replace(self.concept, closing="---\n").with_body(body)
        return concept.with_meta(entries=[_listing(entry) for entry in self.entries])

    def _body(self) -> str:
        """The texts as they are written here, each behind its lead."""
        return "".join(
            _lead_of(entry, is_first=not number) + entry.text for number, entry in enumerate(self.entries)
        )

    def _readable(self) -> CuratedFile:
        """The file, where its body is read back as these entries; one that is not gets lines with `§` around it."""
        listed = {entry.key.id: _listing(entry) for entry in self.entries}
        file = self
        for with_below in (False, True):
            if not any("lead" in entry.extra for entry in file.entries):
                break
            found = tuple(_entries(file._body(), listed))
            if found == file.entries:
                return file
            names = {entry.key for entry in found}
            lost = [False, *(entry.key not in names for entry in file.entries), False]
            apart = (
                _led(entry, "" if is_lost else _bullet_of(entry))
                if (is_lost and (above or not below)) or (above and with_below)
                else entry
                for entry, above, is_lost, below in zip(file.entries, lost, lost[1:], lost[2:], strict=False)
            )
            file = replace(file, entries=tuple(apart))
        return replace(self, entries=tuple(_led(entry, "") for entry in self.entries))

    def get(self, hash: str) -> Entry | None:  # noqa: A002 - the design's word
        """The entry with that hash, if it is here."""
        return next((entry for entry in self.entries if entry.key.id == hash), None)

    def next_at(self, at: str) -> str:
        """The time for an entry that is added at `at`, so that it stands behind the ones of the same moment.

        A newest entry that is more than a second ahead has the time of a wrong clock, and is not
        followed.
        """
        stamp = timestamps.canonical(at)
        if not stamp:
            raise InvalidContent(f"{at[:64]!r} is not a timestamp with an offset.")
        last = max((entry.at for entry in self.entries), default="")
        now, newest = timestamps.parse(stamp), timestamps.parse(last)
        if now is None or newest is None or newest - now > _SAME_MOMENT:
            return stamp
        return max(stamp, timestamps.later(last, 1))

    def add(self, text: str, at: str, *, replaces: str = "", **extra: object) -> CuratedFile:
        """The file with one more entry; the same file when the text is in it."""
        entry = _made(text, self.next_at(at), replaces, extra)
        if self.get(entry.key.id):
            return self
        last = max(map(place_of, self.entries), default="")
        return self.with_entries(
            (*self.entries, entry if place_of(entry) > last else _at_place(entry, last + _BEHIND))
        )

    def replace(self, old_hash: str, new_text: str, at: str, **extra: object) -> CuratedFile:
        """The file with the old entry out and the new one in, which says what it replaces."""
        old = self.get(old_hash)
        if old is None:
            raise InvalidContent(f"There is no entry {old_hash[:32]!r} to replace.")
        entry = _made(new_text, self.next_at(at), old_hash, extra)
        if entry.key.id == old_hash:
            return self
        entry = _at_place(_led(entry, str(old.extra.get("lead", ""))), place_of(old))
        kept = [one for one in self.entries if one.key.id != old_hash]
        return self.with_entries(kept if self.get(entry.key.id) else [*kept, entry])

    def remove(self, hash: str) -> CuratedFile:  # noqa: A002 - the design's word
        """The file without that entry; the same file when it is not here."""
        number = next((number for number, entry in enumerate(self.entries) if entry.key.id == hash), -1)
        if number < 0:
            return self
        gone, (below, *more) = self.entries[number], (*self.entries[number + 1 :], None)
        if below is not None and "lead" in below.extra:  # the line of the entry goes, and none beside it
            leads = [_lead_of(one, is_first=False).removesuffix(_bullet_of(one)) for one in (gone, below)]
            below = _led(below, max(leads, key=lambda lead: (_MARK in lead, len(lead))) + _bullet_of(below))
        return self.with_entries(one for one in (*self.entries[:number], below, *more) if one is not None)

    def with_entries(self, entries: Iterable[Entry]) -> CuratedFile:
        """The file with exactly these § entries, in canonical order; of equal ones the older stays, with all their turns.

        The outcome does not depend on the order they are given in, so a merge can hand over a plain union.
        """
        found: dict[str, Entry] = {}
        for entry in sorted(entries, key=_preference):
            known = found.get(entry.key.id)
            found[entry.key.id] = entry if known is None else with_turns(known, turns_of(entry.extra))
        first, *others = sorted(found.values(), key=_canonical) or (None,)
        if first is None:
            return replace(self, entries=())
        return replace(self, entries=(_led(first, _bullet_of(first)), *others))._readable()

    def with_text(self, text: str) -> CuratedFile:
        """The file with another body, as a host or an editor wrote it; known texts keep their ages."""
        listed = {entry.key.id: _listing(entry) for entry in self.entries}
        return replace(self, entries=tuple(_entries(frontmatter.plain_newlines(text), listed)))

    def taken_in(self, old: CuratedFile | None, at: str) -> CuratedFile:
        """The file as found, made ours: entries without an age get one, and what they replaced in `old`.

        Entries that `old` has keep its ages. The rest got here by hand at `at`, in the order of the body; the
        ones that resemble an entry that went are taken for its new text. Lines behind the last entry of `old`, as
        `echo fact >> MEMORY.md` adds them, are entries of their own, and so are the items of a new list.
        """
        before = {entry.key.id: entry for entry in old.entries} if old else {}
        parted = _parted(self.entries, old.entries[-1] if old and old.entries else None)
        found = [
            part
            for entry in parted
            for part in ((entry,) if entry.at or entry.key.id in before else _itemised(entry))
        ]
        known = [_older(entry, before.get(entry.key.id)) for entry in found]
        here = {entry.key.id for entry in known}
        gone = [entry for key, entry in before.items() if key not in here]
        fresh = [number for number, entry in enumerate(known) if not entry.at]
        unpaired = [
            number for number in fresh if known[number].key.id not in before and not known[number].replaces
        ]
        pairs = pair_similar([entry.text for entry in gone], [known[number].text for number in unpaired])
        replaced = {unpaired[new]: gone[was].key.id for new, was in pairs.items()}
        stamp = replace(self, entries=tuple(known)).next_at(at)
        for step, number in enumerate(fresh):
            known[number] = replace(
                known[number],
                at=timestamps.later(stamp, step),
                replaces=replaced.get(number, known[number].replaces),
            )
        if any("lead" in entry.extra for entry in known):
            _stay(known, frozenset(fresh))
        return self.with_entries(known)


@lru_cache(maxsize=8)
def _parsed(data: bytes, path: str) -> CuratedFile:
    # Buys "`handle_tool_call`, a fact": one commit reads the store before and after itself more than once.
    text = frontmatter.plain_newlines(decode(data, path))
    if not frontmatter.begins(text):
        return CuratedFile._default(path).with_text(text.removeprefix("\ufeff"))
    return CuratedFile.of(Concept.from_text(text, path))


def _parted(entries: Sequence[Entry], last: Entry | None) -> list[Entry]:
    """The entries, with one for each line that was added behind the last one of before.

    A line that is indented belongs to the one above it.
    """
    *others, end = entries or (None,)
    if last is None or end is None:
        return list(entries)
    if end.text.startswith(last.text + "\n"):
        texts = [last.text, *_NEXT_FACT.split(end.text[len(last.text) + 1 :])]
    elif others and others[-1] == last and end.extra.get("lead") == "\n":
        texts = _NEXT_FACT.split(end.text)
    else:
        return list(entries)
    made = [Entry(EntryKey(_MARK, entry_hash(text)), text.strip()) for text in texts if text.strip()]
    return [*(one for one in others if one is not None), replace(made[0], extra=end.extra), *made[1:]]


def _stay(entries: list[Entry], fresh: Collection[int]) -> None:
    """Give the entries of a page of lists places in the order in which a person left them."""
    below = [""]
    for number in range(len(entries) - 1, 0, -1):
        below.append(below[-1] if number in fresh else place_of(entries[number]))
    above: Entry | None = None
    for number, entry in enumerate(entries):
        low, high = place_of(above) if above else "", below.pop()
        is_behind = above is not None and _canonical(entry) < _canonical(above)
        if is_behind or (number in fresh and low < high <= place_of(entry)):
            entries[number] = _at_place(entry, _place_between(low, high))
        above = entries[number]


def _place_between(low: str, high: str) -> str:
    """A place behind one and, where there is room, before another."""
    place = (low or timestamps.later(high[:24], -1)) + _BEHIND
    while low < high <= place and len(place) < _LONGEST_PLACE:
        place = place[:-1] + "a" + _BEHIND
    return place


class _Span(NamedTuple):
    """A part of a body: where its bullet begins, and from where to where its text is."""

    begin: int
    start: int
    end: int


def _blocks(body: str) -> Iterator[list[_Span]]:
    """Yield what is between lines with only `§`: the items of its lists, and the texts around them."""
    block: list[_Span] = []
    at = 0
    for line in (*body.split("\n"), _MARK):
        if line.strip() == _MARK:
            if block:
                yield block
            block = []
        elif said := line.strip():
            bullet = _BULLET.match(line if block else said)
            end = at + len(line.rstrip())
            if block and not bullet and (line[0].isspace() or block[-1].begin == block[-1].start):
                block[-1] = block[-1]._replace(end=end)
            else:
                begin = at + len(line) - len(line.lstrip())
                block.append(_Span(begin, begin + (bullet.end() if bullet else 0), end))
        at += len(line) + 1


def split_texts(body: str) -> list[str]:
    """The texts of a § body, stripped, without the blank ones; a line with only `§` separates them."""
    return [body[block[0].begin : block[-1].end] for block in _blocks(body)]


def check_text(text: str) -> str:
    """The text as an entry stores it, stripped; InvalidContent when it cannot be one entry."""
    stored = text.strip()
    if not stored:
        raise InvalidContent("An entry cannot be empty.")
    if any(line.strip() == _MARK for line in _LINE_END.split(stored)):
        raise InvalidContent(
            "An entry cannot hold a line with only §: it separates entries.",
            hint="Leave the line out, or add the parts as entries of their own.",
        )
    try:
        stored.encode()
    except UnicodeEncodeError as error:
        raise InvalidContent("The text cannot be written as UTF-8: it holds half a character.") from error
    return stored


def _made(text: str, at: str, replaces: str, extra: Mapping[str, object]) -> Entry:
    stored = check_text(text)
    kept = {key: value for key, value in extra.items() if key not in _OWN_KEYS and value is not None}
    return Entry(EntryKey(_MARK, entry_hash(stored)), stored, at, replaces, extra=kept)


def _entries(body: str, listed: Mapping[str, Mapping[str, object]]) -> Iterator[Entry]:
    """The entries of a body with what the list says of them; of equal ones the first.

    A block of which the list knows a part, and not the whole, is a page of lists.
    """
    seen: set[str] = set()
    position = 0
    for block in _blocks(body):
        whole = _Span(block[0].begin, block[0].begin, block[-1].end)
        parts, names = [whole], [entry_hash(body[whole.start : whole.end])]
        if names[0] not in listed and (len(block) > 1 or block[0] != whole):
            inner = [entry_hash(body[part.start : part.end]) for part in block]
            if not listed.keys().isdisjoint(inner):
                parts, names = block, inner
        for part, name in zip(parts, names, strict=True):
            if name not in seen:
                seen.add(name)
                entry = entry_of(name, body[part.start : part.end], listed.get(name, {}))
                yield _led(entry, body[position : part.start])
            position = part.end


def _itemised(entry: Entry) -> list[Entry]:
    """The items of an entry that has a list in it, and the texts around them; else the entry."""
    (parts,) = _blocks(entry.text)
    items = sum(1 for part in parts if part.begin < part.start)
    if not items or (items == 1 and len(parts) > 1):
        return [entry]
    made, position, lead = [], 0, str(entry.extra.get("lead", ""))
    for part in parts:
        text = entry.text[part.start : part.end]
        made.append(
            _led(Entry(EntryKey(_MARK, entry_hash(text)), text), lead + entry.text[position : part.start])
        )
        position, lead = part.end, ""
    return made


def _led(entry: Entry, lead: str) -> Entry:
    """The entry with this before it in the body; with nothing it stands alone, between lines with `§`."""
    extra = {key: value for key, value in entry.extra.items() if key != "lead"}
    if len(lead) > _LONGEST_LEAD:  # a screen of blank lines is no layout
        lead = lead.rpartition("\n")[2].lstrip()[:_LONGEST_LEAD]
    return replace(entry, extra=extra if lead in ("", DELIMITER) else {**extra, "lead": lead})


def _lead_of(entry: Entry, *, is_first: bool) -> str:
    """The characters before an entry in the body."""
    lead = entry.extra.get("lead")
    if not isinstance(lead, str) or len(lead) > _LONGEST_LEAD or not _LEAD.fullmatch(lead):
        lead = ""
    bullet = lead.rpartition("\n")[2].lstrip()
    return bullet if is_first else lead if "\n" in lead else DELIMITER + bullet


def _bullet_of(entry: Entry) -> str:
    return _lead_of(entry, is_first=True)


def entry_of(name: str, text: str, item: Mapping[str, object]) -> Entry:
    """The entry with that hash and text, and what its item in the front matter's list says of it."""
    replaces = item.get("replaces")
    return Entry(
        EntryKey(_MARK, name),
        text,
        timestamps.canonical(item.get("at")),
        replaces if isinstance(replaces, str) and is_hash(replaces) else "",
        extra={key: value for key, value in item.items() if key not in _OWN_KEYS},
    )


def listed_items(value: object) -> dict[str, Mapping[str, object]]:
    """Return the items of the front matter's list by hash; malformed ones are ignored."""
    found: dict[str, Mapping[str, object]] = {}
    for item in value if isinstance(value, list) else ():
        if isinstance(item, Mapping) and is_hash(item.get("h")):
            found.setdefault(str(item["h"]), item)
    return found


def _listing(entry: Entry) -> dict[str, object]:
    item: dict[str, object] = {"h": entry.key.id, "at": entry.at}
    if entry.replaces:
        item["replaces"] = entry.replaces
    return {**item, **{key: value for key, value in entry.extra.items() if key not in _OWN_KEYS}}


def with_turns(entry: Entry, turns: Iterable[str]) -> Entry:
    """The entry with the turns that wrote it too."""
    known = turns_of(entry.extra)
    every = sorted({*known, *turns})
    return replace(entry, extra={**entry.extra, "turns": every}) if len(every) > len(known) else entry


def place_of(entry: Entry) -> str:
    """Return the sort key of an entry: when it was added, or the place of the entry it replaced."""
    place = entry.extra.get("place")
    return place if isinstance(place, str) and _PLACE.fullmatch(place) else entry.at


def _at_place(entry: Entry, place: str) -> Entry:
    return replace(entry, extra={**entry.extra, "place": place})


def _canonical(entry: Entry) -> tuple[str, str, str]:
    return place_of(entry), entry.at, entry.key.id


def _preference(entry: Entry) -> tuple[bool, str, str, str, str]:
    # A known age before none, the older before the newer; the rest only makes the choice the same everywhere.
    extra = {key: value for key, value in entry.extra.items() if key != "turns"}  # those are of all of them
    return not entry.at, entry.at, entry.replaces, entry.text, frontmatter.dump_value(extra)


def _older(entry: Entry, old: Entry | None) -> Entry:
    """The entry with what the old file knew about it, where its own list is silent."""
    if old is None:
        return entry
    return replace(
        entry,
        at=entry.at or old.at,
        replaces=entry.replaces or old.replaces,
        extra={**_led(old, "").extra, **entry.extra},
    )


_OWN_LINE = re.compile(r"(?:---[ \t]*|type: \w+|entries:(?: \[\])?|- \{h: .*\})\r?")
_HEAD_LINE = re.compile(rf"{_OWN_LINE.pattern}|\w+: .*")


def _without_marks(text: str) -> str:
    """The text behind an unclosed front matter, without the lines at its head that only gitmem writes."""
    lines = text.split("\n")
    end = next((number for number, line in enumerate(lines) if not _HEAD_LINE.fullmatch(line)), len(lines))
    return "\n".join([line for line in lines[:end] if not _OWN_LINE.fullmatch(line)] + lines[end:])
