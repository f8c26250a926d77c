from __future__ import annotations

import pytest
from gitmem.errors import InvalidContent
from gitmem.okf import frontmatter
from gitmem.okf.concept import Concept
from gitmem.okf.curated import CuratedFile, check_text
from gitmem.okf.entries import BLOB, BODY, CONCEPT, Entry, EntryKey, section_key
from gitmem.okf.events import Event, EventsFile
from gitmem.okf.files import EntryFile, open_file
from hypothesis import assume, given
from hypothesis import strategies as st

from tests.okf.strategies import AT, DATA, MEMORY, PATHS, PLAIN_VALUES, TEXT

PART = "sessions/2026-06/30/s/w-0001.md"


def is_one_entry(text: str) -> bool:
    try:
        return bool(check_text(text))
    except InvalidContent:
        return False


def sections(texts: list[str]) -> EntryFile:
    file = CuratedFile.new(title="Mine")
    for text in texts:
        file = file.add(text, AT)
    return open_file(MEMORY, file.render())


def part(events: list[Event]) -> EntryFile:
    return open_file(PART, EventsFile.new("s").append(events).render())


def concept(meta: dict[str, object], body: str) -> EntryFile:
    return open_file("tools/x.md", Concept({"type": "Tool", **meta}, body).render())


def value(name: str, of: object) -> Entry:
    return Entry(EntryKey("meta", name), frontmatter.dump_value(of))


# A key without a value is one that is not there, and the list of entries is not for anyone to set.
VALUES = PLAIN_VALUES.filter(lambda drawn: drawn is not None)
NAMES = TEXT.filter(lambda drawn: drawn not in ("type", "entries"))
EVENTS = st.builds(Event, TEXT, TEXT, TEXT, st.dictionaries(TEXT, TEXT, max_size=3))
CONCEPTS = st.builds(concept, st.dictionaries(NAMES, VALUES, max_size=3), TEXT)
PARTS = st.lists(EVENTS, min_size=1, max_size=3, unique_by=lambda event: event.id).map(part)
SECTIONS = st.lists(TEXT.filter(is_one_entry), max_size=3).map(sections)
BLOBS = st.builds(lambda data: open_file("x.bin", data), st.binary(max_size=20))
FILES = st.one_of(SECTIONS, PARTS, CONCEPTS, BLOBS)

VALUE = st.builds(value, NAMES, VALUES)
SECTION = TEXT.filter(is_one_entry).map(lambda text: Entry(section_key(text), text.strip(), AT))
EVENT = EVENTS.map(lambda event: event.entry)
# Each kind of file with an entry that it can take.
TAKING = st.one_of(
    st.tuples(SECTIONS, SECTION),
    st.tuples(PARTS, EVENT),
    st.tuples(st.one_of(SECTIONS, PARTS, CONCEPTS), VALUE),
    st.tuples(CONCEPTS, TEXT.map(lambda text: Entry(BODY, text))).filter(lambda drawn: drawn[1].text != ""),
)


@pytest.mark.parametrize(
    ("path", "data", "kind"),
    [
        (MEMORY, b"---\ntype: CuratedMemory\n---\nx", "curated"),
        ("anywhere.md", b"---\ntype: ArchivedMemory\n---\nx", "curated"),
        ("p.md", b"---\ntype: UserProfile\n---\nx", "curated"),
        (MEMORY, b"bare text of a host", "curated"),
        (MEMORY, b"---\ntype: [\n---\nx", "blob"),
        (MEMORY, b"---\ntype: Note\n---\nx", "concept"),
        ("s.md", b"---\ntype: SessionEvents\n---\n", "events"),
        ("tools/x.md", b"---\ntype: Tool\n---\n", "concept"),
        ("tools/x.md", b"no front matter", "blob"),
        ("tools/x.md", b"\xff", "blob"),
        ("x.py", b"---\ntype: Tool\n---\n", "blob"),
        ("index.md", b"", "generated"),
        ("a/b/log.md", b"---\ntype: X\n---\n", "generated"),
        (MEMORY, None, "blob"),
    ],
)
def test_the_kind_of_a_file(path: str, data: bytes | None, kind: str) -> None:
    """A file's kind, by its place and its type."""
    assert open_file(path, data).kind == kind


def test_the_entries_of_each_kind() -> None:
    """Keys and texts, in the order of the file."""
    assert [(e.key.space, e.text, e.at) for e in sections(["b", "a"]).entries.values()] == [
        ("§", "b", AT),
        ("§", "a", "2026-06-30T14:00:00.001Z"),
    ]
    assert list(part([Event("u-1", "turn", AT, {"text": "hi"})]).entries) == [("event", "u-1")]
    tool = open_file("t.md", b"---\ntype: Tool\ntags: [a, b]\nentries: 3\n---\nBody")
    assert [(key, entry.text) for key, entry in tool.entries.items()] == [
        (("meta", "type"), "Tool"),
        (("meta", "tags"), "- a\n- b"),
        (("meta", "entries"), "3"),
        (("body", ""), "Body"),
    ]
    assert open_file("x.txt", b"text").entries[BLOB].text == "text"
    assert open_file("x.bin", b"\x00\xff").entries[BLOB].kind == "binary"
    assert open_file("log.md", b"x").entries == {}
    assert open_file("x.md", None).entries == {}


def test_parts_and_units_of_each_kind() -> None:
    """Parts add the front matter, but for the list of entries; a concept comes and goes as a whole."""
    assert list(sections(["a"]).parts) == [("meta", "type"), ("meta", "title"), section_key("a")]
    assert list(sections(["a"]).units) == [section_key("a")]
    assert list(open_file(MEMORY, b"bare").parts) == [section_key("bare")]
    assert list(part([Event("u-1", "turn", AT)]).parts) == [
        ("meta", "type"),
        ("meta", "session"),
        ("event", "u-1"),
    ]
    tool = concept({"title": "Hammer"}, "Hit.")
    assert tool.parts == tool.entries
    assert [(entry.key, entry.text, entry.kind) for entry in tool.units.values()] == [
        (CONCEPT, "Hammer", "Tool")
    ]
    assert list(open_file("x", b"a").units) == [BLOB]


@given(PATHS, st.none() | DATA)
def test_any_file_opens_and_is_itself(path: str, data: bytes | None) -> None:
    """Whatever the bytes: no error, keys that name their entries, and the same bytes again."""
    file = open_file(path, data)
    assert file.render() == data
    for found in (file.entries, file.parts, file.units):
        assert all(key == entry.key for key, entry in found.items())
    assert file.entries.keys() <= file.parts.keys()
    assert all(file.holds(entry) for entry in (*file.parts.values(), *file.units.values()))
    gone = {EntryKey("§", "x"), EntryKey("event", "no such id"), EntryKey("meta", "no such key")}
    assert file.without(gone - file.parts.keys()) is file


@given(PATHS, DATA)
def test_any_file_changed_can_be_opened(path: str, data: bytes) -> None:
    """A readable file without its first entry lacks that entry and keeps all others, hand-written or not."""
    file = open_file(path, data)
    keys = [key for key in file.parts if key != ("meta", "type")]
    assert file.without({EntryKey("meta", "type")}) is file
    assume(keys)
    changed = file.without({keys[0]}).render()
    left = open_file(path, changed)
    if changed is None:
        assert file.kind in ("blob", "events")
        assert len(file.units) <= 1
    else:
        assert left.parts.keys() - file.parts.keys() <= {EntryKey("meta", "title"), EntryKey("meta", "type")}
        assert file.parts.keys() - left.parts.keys() == {keys[0]}


@given(TAKING)
def test_what_is_put_in_can_be_taken_out(drawn: tuple[EntryFile, Entry]) -> None:
    """`plus` and then `without` gives the file back to the byte; between them the entry is there."""
    file, entry = drawn
    assume(entry.key not in file.parts)
    more = file.plus(entry)
    assert more.holds(entry)
    assert more.parts.keys() == {*file.parts, entry.key}
    assert open_file(file.path, more.render()).parts == more.parts
    assert more.without({entry.key}).render() == file.render()


@given(TAKING)
def test_replacing_changes_only_that(drawn: tuple[EntryFile, Entry]) -> None:
    """The new entry is there, the old one is not, and everything else is as before."""
    file, new = drawn
    same = [entry for key, entry in file.parts.items() if key.space == new.key.space and key.id != "type"]
    assume(same and (new.key not in file.parts or new.key == same[0].key))
    old = same[0]
    other = file.replacing(old, new)
    assert other.holds(new)
    expected = {**file.parts, new.key: new}
    if old.key != new.key:
        del expected[old.key]
    assert other.parts == expected
    assert open_file(file.path, other.render()).parts == expected


def test_a_value_keeps_its_line() -> None:
    """Another value of front matter is written in the place of the old one, the type included."""
    file = open_file("t.md", b"---\ntype: Tool # mine\ntitle: A\nx: 1\n---\nBody")
    title = file.replacing(file.parts[EntryKey("meta", "title")], value("title", "B"))
    assert title.render() == b"---\ntype: Tool # mine\ntitle: B\nx: 1\n---\nBody"
    kind = file.replacing(file.parts[EntryKey("meta", "type")], value("type", "Note"))
    assert kind.render() == b"---\ntype: Note\ntitle: A\nx: 1\n---\nBody"
    body = file.replacing(file.parts[BODY], Entry(BODY, "Text"))
    assert body.render() == b"---\ntype: Tool # mine\ntitle: A\nx: 1\n---\nText"


@given(FILES)
def test_nothing_is_left_without_all_units(file: EntryFile) -> None:
    """Without all that it has a file is gone; a § file stays, with its front matter and no entries."""
    left = file.without(file.units)
    assert left.units == {}
    if file.kind != "curated":
        assert left.render() is None
        return
    assert left.front == file.front
    assert left.render() == CuratedFile.new(title="Mine").render()


def test_a_part_stays_with_a_note() -> None:
    """What somebody wrote between the events is not lost with the last of them."""
    event = Event("u-1", "turn", AT)
    data = part([event]).render()
    assert data is not None
    left = open_file(PART, data + b"\nA note.\n").without({event.key})
    assert left.render() == EventsFile.new("s").render() + b"\nA note.\n"


@given(FILES, FILES)
def test_a_whole_file_goes_and_comes(file: EntryFile, other: EntryFile) -> None:
    """A file can be taken out as a whole, and a whole entry put in its place, whatever was there."""
    for key in (CONCEPT, BLOB):
        assert file.without({key}).render() is None
    whole = other.whole
    assert whole is not None
    assert file.get(whole.key) == file.whole
    for place in (open_file(other.path, None), open_file(other.path, file.render())):
        back = place.plus(whole)
        assert back.render() == other.render()
        assert back == other


@given(st.one_of(st.tuples(SECTIONS, SECTION), st.tuples(PARTS, EVENT)))
def test_an_entry_makes_its_file(drawn: tuple[EntryFile, Entry]) -> None:
    """Where there is no file, a § entry or an event makes one of its kind."""
    path, entry = drawn[0].path, drawn[1]
    made = open_file(path, None).plus(entry)
    assert (made.kind, list(made.entries)) == (drawn[0].kind, [entry.key])
    assert open_file(path, made.render()).entries == made.entries


@given(PATHS, st.none() | DATA)
def test_any_file_can_hold_sections(path: str, data: bytes | None) -> None:
    """A § file is made of anything, and until it is changed it is the same bytes; a real one is itself."""
    file = open_file(path, data)
    made = file.holding("§")
    assert made.kind == "curated"
    assert data is None or made.render() == data
    assert (made is file) == (file.kind == "curated")
    more = made.plus(Entry(section_key("new"), "new")).render()
    assert more is not None
    assert CuratedFile.parse(more, path).get(section_key("new").id) is not None


def test_a_broken_section_file_keeps_its_texts() -> None:
    """An entry leaves a § file with unreadable front matter, and every other text is still there."""
    file = open_file(MEMORY, "---\ntype: [\n---\none\n§\ntwo".encode())
    assert file.kind == "blob"
    left = file.holding("§").without({section_key("one")})
    assert list(open_file(MEMORY, left.render()).entries) == [section_key("two")]


@pytest.mark.parametrize(
    ("path", "data", "entry"),
    [
        (MEMORY, b"---\ntype: CuratedMemory\n---\nx", Entry(BODY, "text")),
        (MEMORY, b"bare", value("title", "A")),
        ("x.bin", b"x", value("title", "A")),
        ("x.md", None, Entry(BODY, "text")),
        (PART, b"---\ntype: [\n---\n", Event("u-1", "turn", AT).entry),
        ("index.md", b"x", Entry(BODY, "text")),
    ],
)
def test_what_a_file_cannot_take(path: str, data: bytes | None, entry: Entry) -> None:
    """Front matter goes only where there is some, and a text only into a concept; the error names the file."""
    file = open_file(path, data)
    assert not file.takes(entry.key)
    with pytest.raises(InvalidContent, match=path):
        file.plus(entry)


def test_a_file_holds_what_it_has() -> None:
    """A § entry or event by its key, a value by its text, a concept by its body, a blob by its bytes."""
    event = Event("u-1", "turn", AT, {"text": "hi"})
    assert part([event]).holds(Entry(event.key, "other words"))
    tool = concept({"title": "A"}, "Body")
    assert not tool.holds(value("title", "B"))
    assert tool.holds(concept({"title": "B"}, "Body").units[CONCEPT])
    assert not tool.holds(concept({"title": "A"}, "Other").units[CONCEPT])
    assert not open_file("x", b"a").holds(open_file("x", b"b").units[BLOB])
    assert not open_file("tools/x.md", None).holds(tool.units[CONCEPT])


def test_the_text_that_a_file_says() -> None:
    """A concept's text is its body; any other file's is all of it, as far as it can be read."""
    assert concept({}, "Body").body == "Body"
    assert open_file("x", b"a\xff").body == "a\ufffd"
    assert open_file(MEMORY, b"bare").body == "bare"
    assert open_file("x", None).body == ""


@given(PATHS, DATA)
def test_a_kind_is_a_promise(path: str, data: bytes) -> None:
    """A file of a kind is readable by that kind's own parser, which finds the same in it."""
    file = open_file(path, data)
    if file.kind == "curated":
        assert CuratedFile.parse(data, path) == file.content
    elif file.kind == "events":
        assert EventsFile.parse(data, path) == file.content
    elif file.kind == "concept":
        assert Concept.parse(data, path) == file.concept
    else:
        assert file.concept is None
