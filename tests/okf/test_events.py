from __future__ import annotations

import pytest
from gitmem.errors import BrokenConcept, InvalidContent
from gitmem.okf.events import PART_LIMIT, Event, EventsFile
from hypothesis import example, given
from hypothesis import strategies as st

from tests.okf.strategies import AT, TEXT

UUID = "0123456789abcdef0123456789abcdef"

EVENTS = st.lists(
    st.builds(Event, TEXT, TEXT, TEXT, st.dictionaries(TEXT, TEXT, max_size=3)),
    max_size=4,
    unique_by=lambda event: event.id,
)


def event(number: int, text: str = "text", kind: str = "observation") -> Event:
    return Event(f"{UUID}-{number}", kind, AT, {"text": text}, "s1")


def test_the_file_on_disk() -> None:
    """The exact bytes: readable markdown, every line of content behind a mark."""
    file = EventsFile.new("s1", title="Part 1").append([event(1, "one\n\n## two"), event(2)])
    assert file.render().decode() == (
        "---\ntype: SessionEvents\nsession: s1\ntitle: Part 1\n---\n"
        f"\n## {AT} observation\n<!-- event {UUID}-1 -->\n\n**text**\n> one\n>\n> ## two\n"
        f"\n## {AT} observation\n<!-- event {UUID}-2 -->\n\n**text**\n> text\n"
    )


@given(EVENTS, EVENTS)
@example([Event("a", "k", "t", {"**": "\n", "n\nm": "\r\n", "": ""})], [])
@example([Event("a b", "x y\n## z", "", {"a**": "<!-- event q -->\n## x y\n<!-- event z -->"})], [])
def test_events_survive_the_disk(first: list[Event], second: list[Event]) -> None:
    """Any text in any place of an event is read back, and appending leaves the earlier bytes alone."""
    one = EventsFile.new("s").append(first)
    two = one.append(second)
    assert two.concept.body.startswith(one.concept.body)
    assert two.render().startswith(one.render())
    again = EventsFile.parse(two.render())
    assert again.events == two.events
    ids = {event.id for event in first}
    assert [(e.id, e.kind, e.at, dict(e.fields)) for e in again.events] == [
        (e.id, e.kind, e.at, dict(e.fields)) for e in [*first, *(e for e in second if e.id not in ids)]
    ]


@given(EVENTS, st.sets(st.integers(0, 3)))
def test_without_takes_out_only_those(events: list[Event], numbers: set[int]) -> None:
    """The file without some events is the file that never had them."""
    unwanted = {event.id for number, event in enumerate(events) if number in numbers}
    file = EventsFile.new("s").append(events).without(unwanted)
    kept = [event for event in events if event.id not in unwanted]
    assert file == EventsFile.new("s").append(kept)
    assert EventsFile.parse(file.render()) == file


def test_an_event_enters_once() -> None:
    """An id that is there, or given twice, is not written again."""
    file = EventsFile.new("s1").append([event(1), event(1, "other")])
    assert file.append([event(1)]) is file
    assert [one.fields["text"] for one in file.events] == ["text"]


def test_what_a_person_wrote_between_stays() -> None:
    """Prose, a heading and a lost final newline are no events, and are kept."""
    data = EventsFile.new("s1").append([event(1), event(2)]).render()
    edited = data.replace(
        b"> text\n\n##", b"> text\n\nMy note\n## A heading\n> quoted\n\n##", 1
    ).removesuffix(b"\n")
    file = EventsFile.parse(edited)
    assert [one.fields for one in file.events] == [{"text": "text"}, {"text": "text"}]
    more = file.append([event(3)])
    assert more.render().startswith(edited + b"\n\n## ")
    assert len(EventsFile.parse(more.render()).events) == 3
    left = more.without({f"{UUID}-1", f"{UUID}-2", f"{UUID}-3"}).concept.body
    assert left.strip() == "My note\n## A heading\n> quoted"


def test_crlf_files_are_read() -> None:
    """An editor's CRLF changes no event."""
    file = EventsFile.new("s1").append([event(1, "a\nb"), event(2)])
    assert EventsFile.parse(file.render().replace(b"\n", b"\r\n")).events == file.events


def test_session_comes_from_the_front_matter() -> None:
    """Each event knows the session of its part."""
    file = EventsFile.new("s9").append([event(1)])
    assert file.events[0].session == "s9"
    assert EventsFile.parse(file.render()).events[0].session == "s9"


def test_half_characters_and_broken_files_are_refused() -> None:
    """What cannot be written is not taken, what is no concept is not read."""
    with pytest.raises(InvalidContent):
        EventsFile.new().append([event(1, "\ud800")])
    with pytest.raises(BrokenConcept, match=r"x\.md"):
        EventsFile.parse(b"nothing", "x.md")


def test_size_counts_bytes() -> None:
    """The size that is held against the limit is the file's."""
    file = EventsFile.new("s1").append([event(1, "é" * PART_LIMIT)])
    assert file.size == len(file.render()) > 2 * PART_LIMIT


def test_the_entry_of_an_event() -> None:
    """As an entry it has its id as identity and its texts as text."""
    entry = Event("i", "decision", AT, {"text": "a", "rationale": "b"}).entry
    assert (entry.key, entry.text, entry.at, entry.kind) == (
        ("event", "i"),
        "text: a\nrationale: b",
        AT,
        "decision",
    )
    assert event(1, "only").entry.text == "only"
