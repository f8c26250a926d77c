"""§ files: the curated store, its archive and the user profile.

The body is the texts joined by a line with `§`, as Hermes writes it, and a final newline; the front matter lists when each
text came and what it replaced. The body decides what is there, the list only adds to it: an edit of the body
alone is enough. A markdown list that a person writes is an entry for each item; the list says which bullet it has, and
the body keeps it.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import timedelta
from functools import lru_cache

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
_OWN_KEYS = ("h", "at", "replaces")
# A place is a timestamp with letters behind it, so that there is always room between two; or the first of all.
_LONGEST_PLACE = 64
_PLACE = re.compile(
    rf"(?=.{{1,{_LONGEST_PLACE}}}\Z)(?:0|\d{{4}}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{{3}}Z)[a-z]*", re.ASCII
)
_FIRST, _BEHIND = "0", "n"
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
            meta = {**frontmatter.load(parts.yaml)[0], "type": fallback.concept.type}
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
        listing = [_listing(entry) for entry in self.entries]
        # The final newline is for a line that a shell adds; hosts strip it.
        concept = replace(self.concept, closing="---\n").with_body(
            self._body() + "\n" if self.entries else ""
        )
        return concept.with_meta(entries=listing)

    def _body(self) -> str:
        """The texts as they are written here: items of a list below each other, anything else between `§`."""
        parts: list[str] = []
        was = ""
        for entry in self.entries:
            bullet = _bullet_of(entry)
            if parts:
                parts.append("\n" if bullet and was else DELIMITER)
            parts.append(bullet + entry.text)
            was = bullet
        return "".join(parts)

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
        entry = _at_place(entry, place_of(old))
        kept = self.remove(old_hash)
        return kept if kept.get(entry.key.id) else kept.with_entries((*kept.entries, entry))

    def placed(self, hash: str, order: Sequence[str]) -> CuratedFile:  # noqa: A002 - the design's word
        """The file with that entry between those that are beside it in `order`, a list of hashes; the rest stays."""
        entry = self.get(hash)
        at = order.index(hash) if hash in order else -1
        if entry is None or at < 0:
            return self
        places = {one.key.id: place_of(one) for one in self.entries}
        before = next((places[name] for name in reversed(order[:at]) if name in places), "")
        after = next((places[name] for name in order[at + 1 :] if name in places), "")
        if before < place_of(entry) and (not after or place_of(entry) < after):
            return self
        place = _between(before, after)
        if not place or len(place) > _LONGEST_PLACE:
            return self
        return self.with_entries(_at_place(one, place) if one is entry else one for one in self.entries)

    def remove(self, hash: str) -> CuratedFile:  # noqa: A002 - the design's word
        """The file without that entry; the same file when it is not here."""
        if self.get(hash) is None:
            return self
        return self.with_entries(entry for entry in self.entries if entry.key.id != hash)

    def with_entries(self, entries: Iterable[Entry]) -> CuratedFile:
        """The file with exactly these § entries, in canonical order; of equal ones the older stays, with all their turns.

        The outcome does not depend on the order they are given in, so a merge can hand over a plain union.
        """
        found: dict[str, Entry] = {}
        for entry in sorted(entries, key=_preference):
            known = found.get(entry.key.id)
            found[entry.key.id] = entry if known is None else with_turns(known, turns_of(entry.extra))
        return replace(self, entries=tuple(sorted(found.values(), key=_canonical)))

    def with_text(self, text: str) -> CuratedFile:
        """The file with another body, as a host or an editor wrote it; known texts keep their ages."""
        listed = {entry.key.id: _listing(entry) for entry in self.entries}
        # One entry alone that holds \r\n looks like the file of an editor; if it is known, it is not.
        known = entry_hash(text) in listed
        body = text if known else frontmatter.plain_newlines(text)
        return replace(self, entries=tuple(_entries(body, listed)))

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
        return self.with_entries(known)


@lru_cache(maxsize=8)
def _parsed(data: bytes, path: str) -> CuratedFile:
    # Buys "`handle_tool_call`, a fact": one commit reads the store before and after itself more than once.
    text = frontmatter.plain_newlines(decode(data, path))
    if not frontmatter.begins(text):
        return CuratedFile._default(path).with_text(text.removeprefix("\ufeff"))
    return CuratedFile.of(Concept.from_text(text, path))


def _parted(entries: Sequence[Entry], last: Entry | None) -> list[Entry]:
    """The entries, where the last one is what was last before with lines added: that one, and a text for each line.

    A line that is indented belongs to the one above it.
    """
    *others, end = entries or (None,)
    if last is None or end is None or not end.text.startswith(last.text + "\n"):
        return list(entries)
    added = _NEXT_FACT.split(end.text[len(last.text) + 1 :])
    texts = (last.text, *(text.strip() for text in added))
    return [
        *(entry for entry in others if entry is not None),
        *(Entry(EntryKey(_MARK, entry_hash(text)), text) for text in texts if text),
    ]


def split_texts(body: str) -> Iterator[str]:
    """The texts of a § body, stripped, without the blank ones; a line with only `§` separates them."""
    lines: list[str] = []
    for line in (*body.split("\n"), _MARK):
        if line.strip() != _MARK:
            lines.append(line)
            continue
        text = "\n".join(lines).strip()
        lines.clear()
        if text:
            yield text


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
    """The entries of a body with what the list says of them; of equal ones the first."""
    seen: set[str] = set()
    for bullet, text in (part for block in split_texts(body) for part in _parts(block, listed)):
        name = entry_hash(text)
        if name in seen:
            continue
        seen.add(name)
        yield _with_bullet(entry_of(name, text, listed.get(name, {})), bullet)


def _parts(block: str, listed: Mapping[str, Mapping[str, object]]) -> list[tuple[str, str]]:
    """A block as bullets and texts: the items of a list that the front matter knows as such, else one text."""
    if entry_hash(block) not in listed:
        items = _items(block, only=False)
        if any("bullet" in listed.get(entry_hash(text), ()) for _, text in items):
            return items
    return [("", block)]


def _items(text: str, *, only: bool = True) -> list[tuple[str, str]]:
    """The bullets and texts of a markdown list, each with its indented lines; empty where it is not a list.

    A line behind the items without a bullet is a text of its own, unless there may be items `only`.
    """
    items: list[tuple[str, str]] = []
    for line in text.split("\n"):
        if found := _BULLET.match(line):
            items.append((found.group(), line[found.end() :]))
        elif items and (not line.strip() or line[0].isspace()):
            bullet, above = items[-1]
            items[-1] = bullet, f"{above}\n{line}"
        elif items and not only:
            items.append(("", line))
        else:
            return []
    return [(bullet, item.strip()) for bullet, item in items]


def _itemised(entry: Entry) -> list[Entry]:
    """The items of an entry that has a list in it, and the texts around them; else the entry."""
    parts: list[tuple[str, str]] = []
    for line in entry.text.split("\n"):
        bullet = found.group() if (found := _BULLET.match(line)) else ""
        goes_on = not bullet and (not line.strip() or line[0].isspace())
        if parts and (goes_on or not (bullet or parts[-1][0])):
            parts[-1] = parts[-1][0], f"{parts[-1][1]}\n{line}"
        else:
            parts.append((bullet, line[len(bullet) :]))
    items = sum(1 for bullet, _ in parts if bullet)
    if not items or (items == 1 and len(parts) > 1):
        return [entry]
    texts = [(bullet, text.strip()) for bullet, text in parts]
    return [_with_bullet(Entry(EntryKey(_MARK, entry_hash(text)), text), bullet) for bullet, text in texts]


def _with_bullet(entry: Entry, bullet: str) -> Entry:
    extra = {key: value for key, value in entry.extra.items() if key != "bullet"}
    return replace(entry, extra={**extra, "bullet": bullet} if bullet else extra)


def _bullet_of(entry: Entry) -> str:
    """The bullet that an entry has in the body; none where the file could not be read back with it."""
    bullet = entry.extra.get("bullet")
    if not isinstance(bullet, str) or _items(bullet + entry.text) != [(bullet, entry.text)]:
        return ""
    return bullet


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


def _between(before: str, after: str) -> str:
    """A place between two, the second of which may be none; empty where there is no room."""
    before = before or _FIRST
    if not after or not after.startswith(before):
        return before + _BEHIND if not after or before < after else ""
    rest = after[len(before) :]
    lead = len(rest) - len(rest.lstrip("a"))
    if not rest[lead:] or not rest[lead].islower():
        return ""
    middle = chr((ord("a") + ord(rest[lead])) // 2)
    return before + rest[:lead] + (middle if middle > "a" else "a" + _BEHIND)


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
        extra={**_with_bullet(old, "").extra, **entry.extra},
    )


_OWN_LINE = re.compile(r"(?:---[ \t]*|type: \w+|entries:(?: \[\])?|- \{h: .*\})\r?")
_HEAD_LINE = re.compile(rf"{_OWN_LINE.pattern}|\w+: .*")


def _without_marks(text: str) -> str:
    """The text behind an unclosed front matter, without the lines at its head that only gitmem writes."""
    lines = text.split("\n")
    end = next((number for number, line in enumerate(lines) if not _HEAD_LINE.fullmatch(line)), len(lines))
    return "\n".join([line for line in lines[:end] if not _OWN_LINE.fullmatch(line)] + lines[end:])
