"""The merge of one file: the same from either side, in any order, and nothing lost but what a side removed."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping, Sequence, Set
from itertools import permutations

import pytest
from gitmem.okf.concept import Concept
from gitmem.okf.curated import CuratedFile
from gitmem.okf.entries import Entry, EntryKey, section_key, turns_of
from gitmem.okf.events import Event, EventsFile
from gitmem.okf.files import open_file
from gitmem.okf.frontmatter import dump_value
from gitmem.okf.merge import beside, merge_file
from gitmem.okf.pages import MAX_LOG_LINES, LogLine, log_page, parse_log
from hypothesis import assume, example, given
from hypothesis import strategies as st

from tests.okf.strategies import (
    AT,
    BLOBS,
    BODIES,
    EVENT_LISTS,
    FRONTS,
    KEYS,
    NOTES,
    RETRACTION_FILES,
    SECTION_ENTRIES,
    VERSIONS,
    concept_file,
    curated_file,
    events_file,
    retraction_file,
)

MEMORY, PART, DECISION, RETRACTION, LOG, INDEX, BLOB = VERSIONS
LATER = "2026-07-01T00:00:00.000Z"
LATEST = "2026-07-02T00:00:00.000Z"
GONE = st.frozensets(st.sampled_from(KEYS))
TAGS = st.lists(st.sampled_from("abcd"), max_size=4)

Version = bytes | None
Files = Mapping[str, bytes]


def merged(
    path: str, base: Version, ours: Version, theirs: Version, *, gone: frozenset[EntryKey] = frozenset()
) -> Files:
    """All files after the merge: the one at the path, where it stays, and those beside it."""
    done = merge_file(path, base, ours, theirs, gone.__contains__)
    return {**done.beside, **({path: done.data} if done.data is not None else {})}


def versions(path: str) -> st.SearchStrategy[Version]:
    """What may be at a path: no file, one of its kind, or one that cannot be read."""
    return st.none() | VERSIONS[path] | st.sampled_from([b"", b"---\n", b"\xff", b"---\ntype: Note\n---\nx"])


def sections(data: Version) -> dict[EntryKey, str]:
    """When each § entry came."""
    found = CuratedFile.parse_leniently(data, MEMORY).entries if data is not None else ()
    return {entry.key: entry.at for entry in found}


def events(data: Version) -> dict[EntryKey, tuple[object, ...]]:
    """What each event says."""
    found = EventsFile.parse(data).events if data is not None else ()
    return {event.key: (event.kind, event.at, dict(event.fields)) for event in found}


def note(data: Version) -> str:
    """What a person wrote between the events."""
    part = EventsFile.parse(data) if data is not None else EventsFile.new()
    return part.without([event.id for event in part.events]).concept.body.strip()


def meta(data: Version) -> Mapping[str, object]:
    return Concept.parse(data).meta if data is not None else {}


def contents(path: str, data: Version, gone: frozenset[EntryKey] = frozenset()) -> Set[object]:
    """Each thing that somebody wrote into a file and that was not retracted."""
    if data is None:
        return set()
    kind = open_file(path, data).kind
    if kind == "curated":
        return set(sections(data)) - gone
    if kind == "events":
        return {*events(data), note(data)} - {""} - gone
    if kind == "concept":
        return {Concept.parse(data).body}
    if path == LOG:
        return {EntryKey("event", line.id) if line.id else line for line in parse_log(data)} - gone
    return set() if kind == "generated" else {data}


# --- every kind ------------------------------------------------------------------------------------


@pytest.mark.parametrize("path", VERSIONS)
@given(data=st.data())
def test_the_merge_commutes(path: str, data: st.DataObject) -> None:
    """Both machines make the same files, whichever side they call theirs."""
    base, ours, theirs = (data.draw(versions(path)) for _ in range(3))
    gone = data.draw(GONE)
    assert merged(path, base, ours, theirs, gone=gone) == merged(path, base, theirs, ours, gone=gone)


@pytest.mark.parametrize("path", VERSIONS)
@given(data=st.data())
def test_a_version_with_itself_is_itself(path: str, data: st.DataObject) -> None:
    """Two sides that did the same did it once; only what was retracted goes."""
    base, both = data.draw(versions(path)), data.draw(versions(path))
    gone = data.draw(GONE)
    found = merged(path, base, both, both, gone=gone)
    assert found.keys() <= {path}
    if path != LOG and contents(path, both) == contents(path, both, gone):
        assert both == found.get(path)
    assert contents(path, both, gone) == contents(path, found.get(path))


@pytest.mark.parametrize("path", VERSIONS)
@given(data=st.data())
def test_merging_again_changes_nothing(path: str, data: st.DataObject) -> None:
    """A side that is in the merge already brings nothing more."""
    base, ours, theirs = (data.draw(VERSIONS[path]) for _ in range(3))
    gone = data.draw(GONE)
    once = merged(path, base, ours, theirs, gone=gone).get(path)
    for side in (ours, theirs):
        assert once == merged(path, side, once, side, gone=gone).get(path)
    assert once == merged(path, base, once, once, gone=gone).get(path)


@pytest.mark.parametrize("path", [path for path in VERSIONS if path != RETRACTION])
@given(data=st.data())
def test_nothing_is_lost_but_what_a_side_removed(path: str, data: st.DataObject) -> None:
    """What stood on either side is in the merge or beside it, unless the other side took it out."""
    base, ours, theirs = (data.draw(versions(path)) for _ in range(3))
    gone = data.draw(GONE)
    found = merged(path, base, ours, theirs, gone=gone)
    after = {thing for file in found.values() for thing in contents(path, file)}
    for side, other in ((ours, theirs), (theirs, ours)):
        removed = contents(path, base) - contents(path, other)
        assert set() == contents(path, side, gone) - after - removed


@given(st.sampled_from(list(VERSIONS)), *[st.none() | st.binary(max_size=60)] * 3)
def test_any_bytes_are_merged(path: str, base: Version, ours: Version, theirs: Version) -> None:
    """No file that somebody sends makes a merge fail."""
    assert merged(path, base, ours, theirs) == merged(path, base, theirs, ours)


def in_any_order(path: str, base: Files, tips: Sequence[Files], gone: frozenset[EntryKey]) -> list[Files]:
    """Three tips merged two by two: each two first, and each as the third."""

    def join(one: Files, other: Files) -> Files:
        main = merged(path, base.get(path), one.get(path), other.get(path), gone=gone)
        return {**{name: data for name, data in {**one, **other}.items() if name != path}, **main}

    return [join(join(one, two), three) for one, two, three in permutations(tips)]


def comparable(path: str, base: Version) -> Callable[[Files], object]:
    """What is the same in whatever order three tips come together; an age, where several added the text."""
    if path == MEMORY:
        old = dict.fromkeys(sections(base), "old")
        return lambda files: {key: old.get(key, at) for key, at in sections(files.get(path)).items()}
    if path == PART:
        return lambda files: events(files.get(path))
    return dict


@pytest.mark.parametrize("path", [path for path in VERSIONS if path not in (DECISION, RETRACTION)])
@given(data=st.data())
def test_the_merge_of_three_tips_is_the_same_in_any_order(path: str, data: st.DataObject) -> None:
    """Associative: entries of § files, events, lines of a log, and whole files."""
    base, *tips = (data.draw(st.none() | VERSIONS[path]) for _ in range(4))
    states = [{path: tip} if tip is not None else {} for tip in tips]
    found = in_any_order(path, {path: base} if base is not None else {}, states, data.draw(GONE))
    first, *others = map(comparable(path, base), found)
    for other in others:
        assert first == other


# --- § files ---------------------------------------------------------------------------------------


@given(*[st.none() | VERSIONS[MEMORY]] * 3, GONE)
def test_the_entries_that_stay_exactly(
    base: Version, ours: Version, theirs: Version, gone: frozenset[EntryKey]
) -> None:
    """(O ∩ T) ∪ (O − B) ∪ (T − B) without what was retracted; where both changed the file, with the smaller `at`."""
    was, left, right = map(sections, (base, ours, theirs))
    b, o, t = set(was), set(left), set(right)
    found = merged(MEMORY, base, ours, theirs, gone=gone).get(MEMORY)
    assert ((o & t) | (o - b) | (t - b)) - gone == set(sections(found))
    for key, at in sections(found).items() if base not in (ours, theirs) else ():
        known = [side[key] for side in (left, right) if side.get(key)]
        assert min(known, default="") == at


def test_a_removed_entry_stays_removed() -> None:
    """Removed here and untouched there, or the other way round: it is gone; what is new is not."""
    one, two, three, four = (Entry(section_key(text), text, AT) for text in ("one", "two", "three", "four"))
    base = curated_file({}, [one, two])
    found = merged(MEMORY, base, curated_file({}, [one, three]), curated_file({}, [one, two, four]))
    assert {one.key, three.key, four.key} == set(sections(found[MEMORY]))


def test_a_file_that_a_side_removed() -> None:
    """A § file that is gone on one side has what the other added since; with nothing added it stays gone."""
    one, two = (Entry(section_key(text), text, AT) for text in ("one", "two"))
    base = curated_file({}, [one])
    assert {two.key} == set(sections(merged(MEMORY, base, None, curated_file({}, [one, two]))[MEMORY]))
    assert {} == merged(MEMORY, base, None, curated_file({"title": "other"}, [one]))
    part = events_file({}, [Event("w-1", "k", AT)])
    assert {} == merged(PART, part, None, events_file({"title": "other"}, [Event("w-1", "k", AT)]))


def test_a_file_that_a_host_wrote_gets_its_front_matter() -> None:
    """Without front matter the path says what the file is, on the way through a merge too."""
    path, gone = "hermes/observations/user_profile_2026-06-30.md", frozenset([section_key("one")])
    both = merged(path, None, b"one", b"two")
    left = merged(path, b"two", "one\n§\ntwo".encode(), b"two", gone=gone)
    for found in (both, left):
        assert ("UserProfile", "user_profile_2026-06-30") == (
            meta(found[path])["type"],
            meta(found[path])["title"],
        )


def test_the_entry_that_says_what_it_replaced_keeps_saying_it() -> None:
    """Of two equal texts the older one stays whole."""
    old = Entry(section_key("text"), "text", AT, replaces="0" * 32, extra={"source": "x"})
    new = Entry(section_key("text"), "text", LATER)
    found = merged(MEMORY, None, curated_file({}, [new]), curated_file({}, [old]))
    [entry] = CuratedFile.parse(found[MEMORY]).entries
    assert (AT, "0" * 32, {"source": "x"}) == (entry.at, entry.replaces, entry.extra)


# --- events ----------------------------------------------------------------------------------------


@given(*[st.none() | VERSIONS[PART]] * 3, GONE)
def test_the_events_that_stay_exactly(
    base: Version, ours: Version, theirs: Version, gone: frozenset[EntryKey]
) -> None:
    """The same rule by event id; a text that one side changed is that side's."""
    was, left, right = map(events, (base, ours, theirs))
    b, o, t = set(was), set(left), set(right)
    found = events(merged(PART, base, ours, theirs, gone=gone).get(PART))
    assert ((o & t) | (o - b) | (t - b)) - gone == set(found)
    for key, said in found.items():
        told = [side[key] for side in (left, right) if key in side]
        assert said in ([one for one in told if one != was.get(key)] or told)


@given(EVENT_LISTS, EVENT_LISTS)
def test_a_part_that_only_grew_keeps_its_bytes(first: list[Event], second: list[Event]) -> None:
    """One side is a beginning of the other: the longer one stays as it is, whatever they came from."""
    both = sorted({event.id: event for event in [*second, *first]}.values(), key=lambda e: (len(e.id), e.id))
    both = [event for event in both if event.id in ("w-1", "w-2", "w-10")]
    longer, shorter = events_file({"title": "x"}, both), events_file({"title": "x"}, both[:-1])
    assume(both[:-1])
    assert {PART: longer} == merged(PART, None, shorter, longer)
    assert {PART: longer} == merged(PART, events_file({"title": "x"}, []), longer, shorter)


def test_events_of_two_sides_are_in_their_writers_order() -> None:
    """By writer and number, not as text: 10 comes after 2."""
    one, two, ten, odd = (Event(name, "k", AT) for name in ("w-1", "w-2", "w-10", "v-1"))
    found = merged(PART, None, events_file({}, [one, ten]), events_file({}, [two, odd]))
    assert ["v-1", "w-1", "w-2", "w-10"] == [key.id for key in events(found[PART])]


def test_an_event_that_a_person_edited_stays_edited() -> None:
    """The other machine only wrote on: the edit, the note and the new event are all there."""
    said, edited, more = (
        Event("w-1", "k", AT, {"t": "a"}),
        Event("w-1", "k", AT, {"t": "z"}),
        Event("w-2", "k", AT),
    )
    ours = events_file({"title": "mine"}, [edited], "a person's note\n")
    found = merged(PART, events_file({}, [said]), ours, events_file({}, [said, more]))
    assert {PART: EventsFile.parse(ours).append([more]).render()} == found


def test_a_part_without_events_goes_unless_it_has_a_note() -> None:
    """All its events were retracted: nothing is left to keep a file for, but what a person wrote."""
    said, gone = Event("w-1", "k", AT), frozenset([EntryKey("event", "w-1")])
    for base in (None, events_file({}, [])):
        assert {} == merged(PART, base, base, events_file({}, [said]), gone=gone)
        found = merged(PART, base, base, events_file({}, [said], "a person's note\n"), gone=gone)
        assert "a person's note" == note(found[PART])


@given(FRONTS, FRONTS, FRONTS, EVENT_LISTS, NOTES, NOTES, NOTES)
def test_notes_between_events(
    f: dict[str, object],
    g: dict[str, object],
    h: dict[str, object],
    said: list[Event],
    base: str,
    ours: str,
    theirs: str,
) -> None:
    """A note that one side wrote or removed is as that side has it; of two rewritten ones one is beside."""
    new = Event("new-1", "k", AT)
    found = merged(
        PART, events_file(f, said, base), events_file(g, [*said, new], ours), events_file(h, [new], theirs)
    )
    notes = [note(data) for data in found.values()]
    if base in (ours, theirs) or ours == theirs or "" in (ours, theirs):
        changed = [text for text in (ours, theirs) if text != base] or [base]
        assert [max(changed).strip()] == notes
    else:
        assert {ours.strip(), theirs.strip()} == set(notes)
        assert 2 == len(notes)
        assert 1 == len([data for data in found.values() if events(data)])  # no event is there twice


# --- concepts --------------------------------------------------------------------------------------


def marks(front: Mapping[str, object], key: str) -> str | None:
    """A value's text; a key with null is as good as none."""
    return None if front.get(key) is None else dump_value(front[key])


@given(*[FRONTS] * 3, st.sampled_from([DECISION, MEMORY, PART]))
def test_front_matter_key_by_key(
    base: dict[str, object], ours: dict[str, object], theirs: dict[str, object], path: str
) -> None:
    """What one side changed is its; lists are sets, three-way; of two other values one side's, and no third."""
    base, ours, theirs = ({key: side[key] for key in side if key != "turns"} for side in (base, ours, theirs))
    make: Callable[[dict[str, object]], bytes] = {
        DECISION: lambda front: concept_file(front, "body"),
        MEMORY: lambda front: curated_file(front, [Entry(KEYS[0], "one", AT)]),
        PART: lambda front: events_file(front, [Event("w-1", "k", AT)]),
    }[path]
    found = meta(merged(path, *map(make, (base, ours, theirs)))[path])
    assert {"type", "entries"} >= found.keys() - {*ours, *theirs}
    for key in {*base, *ours, *theirs}:
        b, o, t = (marks(side, key) for side in (base, ours, theirs))
        lists = [side.get(key) for side in (base, ours, theirs)]
        if t in (o, b):
            expected = {o}
        elif o == b:
            expected = {t}
        elif isinstance(lists[1], list) and isinstance(lists[2], list):
            was, left, right = (
                set(map(dump_value, one)) if isinstance(one, list) else set() for one in lists
            )
            kept = found[key]
            assert isinstance(kept, list)
            assert (left & right) | (left - was) | (right - was) == set(map(dump_value, kept))
            continue
        else:
            expected = {o, t} - {None}
        assert marks(found, key) in expected


def test_lists_are_merged_three_way() -> None:
    """What a side took out of a list is gone though the other still has it; what either put in is there."""
    ours, theirs = {"tags": ["a", "b", "ours"]}, {"tags": ["theirs", "b", "c", "a"]}
    found = merged(DECISION, *(concept_file(f, "") for f in ({"tags": ["a", "b", "c"]}, ours, theirs)))
    assert {"a", "b", "ours", "theirs"} == set(meta(found[DECISION])["tags"])  # type: ignore[call-overload]


def test_an_untouched_key_keeps_its_lines() -> None:
    """A comment, an empty key and the spelling of a value that nobody changed stay, whoever wins."""
    plain = "---\ntype: Note\n# of ada\nempty:\nflag: yes\n{}---\nbody\n"
    base, ours, theirs = (plain.format(more).encode() for more in ("", "one: 1\n", "two: 2\n"))
    text = merged(DECISION, base, ours, theirs)[DECISION].decode()
    assert text.startswith("---\ntype: Note\n# of ada\nempty:\nflag: yes\n")
    assert {"type": "Note", "empty": None, "flag": True, "one": 1, "two": 2} == meta(text.encode())


@pytest.mark.parametrize(("old", "new"), [(1, True), (0, False), (1, 1.0), ([1], [True])])
def test_a_change_of_type_is_a_change(old: object, new: object) -> None:
    """What Python takes for equal and YAML does not: the side that changed it has its way."""
    base, ours, theirs = (concept_file(f, "") for f in ({"k": old}, {"k": new}, {"k": old, "title": "x"}))
    assert dump_value(new) == marks(meta(merged(DECISION, base, ours, theirs)[DECISION]), "k")


@given(*[BODIES] * 3, *[FRONTS] * 3)
def test_bodies(
    base: str, ours: str, theirs: str, f: dict[str, object], g: dict[str, object], h: dict[str, object]
) -> None:
    """A body that one side rewrote is that side's; of two rewritten ones one is kept beside, to the byte."""
    sides = concept_file(f, base), concept_file(g, ours), concept_file(h, theirs)
    found = merged(DECISION, *sides)
    body = Concept.parse(found[DECISION]).body
    if theirs in (ours, base) or ours == base:
        expected = ours if theirs in (ours, base) else theirs
        assert ([DECISION], expected) == (list(found), body)
    else:
        other = next(data for data in sides[1:] if Concept.parse(data).body != body)
        assert {DECISION: found[DECISION], beside(DECISION, other): other} == found
        assert body in (ours, theirs)


@pytest.mark.parametrize(
    ("early", "late"),
    [
        (AT, LATER),
        ("", AT),
        (None, AT),
        ("2026-06-30", "2026-06-30T10:00:00Z"),  # one is the beginning of the other
        ("2026-06-30T14:00:00Z", "2026-06-30T14:00:00.500Z"),  # as text, `.` comes before `Z`
        ("2026-06-30T23:00:00+09:00", "2026-06-30T15:00:00Z"),  # 14:00 in UTC
    ],
)
def test_the_later_one_keeps_the_path(early: object, late: str) -> None:
    """By `generated.at` as a moment, for the body and for every value that both changed; not by the hash."""

    def side(at: object, text: str) -> bytes:
        generated = {"by": "gitmem"} if at is None else {"by": "gitmem", "at": at}
        return concept_file({"title": text, "generated": generated}, f"{text}\n")

    for number in range(8):  # whichever of the two has the smaller hash
        first, second = side(early, f"early {number}"), side(late, f"late {number}")
        found = merged(DECISION, concept_file({"title": "old"}, "old\n"), first, second)
        kept = Concept.parse(found[DECISION])
        assert (f"late {number}", f"late {number}\n") == (kept.title, kept.body)
        assert first == found[beside(DECISION, first)]


@pytest.mark.parametrize("front", [{}, {"generated": {"at": AT}}, {"generated": "once"}])
def test_of_the_same_moment_the_smaller_hash_keeps_the_path(front: dict[str, object]) -> None:
    """Where no time decides, the bytes do: for the body those of the file, for a value those of its front matter."""
    for number in range(8):
        sides = [concept_file({**front, "title": f"{name} {number}"}, name) for name in ("one", "other")]
        found = merged(DECISION, None, *sides)
        kept = min(sides, key=lambda data: hashlib.sha256(data).digest())
        assert Concept.parse(kept).body == Concept.parse(found[DECISION]).body
        fronts = [Concept.parse(data).with_body("").render() for data in sides]
        winner = min(fronts, key=lambda data: hashlib.sha256(data).digest())
        assert Concept.parse(winner).title == Concept.parse(found[DECISION]).title


@given(st.permutations([AT, LATER, LATEST]), st.lists(TAGS, min_size=4, max_size=4))
def test_three_rewritten_concepts_come_out_the_same_in_any_order(
    moments: list[str], lists: list[list[str]]
) -> None:
    """Where each of three tips rewrote the same with a time of its own: the latest stays, no body is lost.

    The order of a list and the bytes of what is kept beside depend on who met whom first, as does a value that
    only two of three changed: a time belongs to the whole file.
    """
    was, *tags = lists
    base = concept_file({"tags": was}, "old\n")
    tips = [
        concept_file({"tags": tag, "title": at, "generated": {"at": at}}, f"{at}\n")
        for at, tag in zip(moments, tags, strict=True)
    ]
    removed = {tag for tag in was for side in tags if tag not in side}
    expected = {tag for side in tags for tag in side} - removed
    for found in in_any_order(DECISION, {DECISION: base}, [{DECISION: tip} for tip in tips], frozenset()):
        kept = Concept.parse(found[DECISION])
        assert (LATEST, f"{LATEST}\n") == (kept.title, kept.body)
        assert expected == set(kept.meta["tags"])  # type: ignore[call-overload]
        assert {f"{at}\n" for at in moments} == {Concept.parse(data).body for data in found.values()}


TURN, OTHER = "00000000000a", "00000000000b#call_1"


def test_no_side_takes_a_link_to_a_turn_away() -> None:
    """Of entries, concepts and events: the turns of both sides count, and an event keeps the turn that it came with."""
    one, two = (
        curated_file({}, [Entry(section_key("x"), "x", AT, extra={"turns": turns})])
        for turns in ([TURN], [OTHER])
    )
    [entry] = CuratedFile.parse(merged(MEMORY, None, one, two)[MEMORY]).entries
    assert [TURN, OTHER] == entry.extra["turns"]
    one, two = (concept_file({"turns": turns}, "x") for turns in ([TURN], [OTHER]))
    assert [TURN, OTHER] == meta(merged(DECISION, one, concept_file({}, "y"), two)[DECISION])["turns"]
    one, two = (
        events_file({}, [Event("w-1", "turn", AT, {"user": "x"}, turn=turn)]) for turn in (TURN, "f" * 12)
    )
    grown = events_file(
        {}, [Event("w-1", "turn", AT, {"user": "x"}, turn="f" * 12), Event("w-2", "turn", AT)]
    )
    for sides in ((two, grown), (grown, two)):
        first, _ = EventsFile.parse(merged(PART, one, *sides)[PART]).events
        assert TURN == first.turn


# --- the rest --------------------------------------------------------------------------------------

STATES = ("released", "held", "reverted", "erased")


@given(st.none() | RETRACTION_FILES, *[RETRACTION_FILES] * 3)
def test_of_retractions_the_highest_counter_then_the_severest(
    base: Version, one: bytes, two: bytes, three: bytes
) -> None:
    """One of the two, whatever they came from; of three the same in any order."""

    def rank(data: bytes) -> tuple[int, int]:
        counter, state = meta(data)["counter"], str(meta(data)["state"])
        return counter if isinstance(counter, int) else 0, STATES.index(state) if state in STATES else 4

    found = merged(RETRACTION, base, one, two)
    assert [RETRACTION] == list(found)
    said, *sides = (Concept.parse(data).with_meta(turns=None) for data in (found[RETRACTION], one, two))
    assert said in sides
    assert {*turns_of(meta(one)), *turns_of(meta(two))} == {*turns_of(meta(found[RETRACTION]))}
    assert max(rank(one), rank(two)) == rank(found[RETRACTION])
    tips = [{RETRACTION: data} for data in (one, two, three)]
    orders = in_any_order(RETRACTION, {RETRACTION: base} if base else {}, tips, frozenset())
    assert [orders[0]] * 6 == orders


def test_a_counter_is_a_number() -> None:
    """Ten is more than nine, and a later release beats an earlier, more severe word."""
    nine, ten = retraction_file("erased", 9), retraction_file("released", 10)
    assert {RETRACTION: ten} == merged(RETRACTION, None, nine, ten)
    held, reverted = retraction_file("held", 2), retraction_file("reverted", 2)
    assert {RETRACTION: reverted} == merged(RETRACTION, held, held, reverted)


def test_a_retraction_that_cannot_be_read_gives_way() -> None:
    """A readable one with a count knows more; alone the broken one stays, and holds."""
    broken = b"---\n"
    good = retraction_file("held", 1)
    assert {RETRACTION: good} == merged(RETRACTION, None, broken, good)
    assert {RETRACTION: broken} == merged(RETRACTION, None, broken, None)


def test_no_side_takes_a_retraction_away() -> None:
    """Retractions are a union: deleted on either side, untouched or changed on the other, it stays."""
    held, reverted = retraction_file("held", 1), retraction_file("reverted", 2)
    assert {RETRACTION: held} == merged(RETRACTION, held, held, None) == merged(RETRACTION, held, None, held)
    assert {RETRACTION: reverted} == merged(RETRACTION, held, reverted, None)
    assert {} == merged(RETRACTION, held, None, None)


@given(*[st.none() | VERSIONS[LOG]] * 3, GONE)
def test_the_lines_that_stay_exactly(
    base: Version, ours: Version, theirs: Version, gone: frozenset[EntryKey]
) -> None:
    """The same rule for the lines of a log: one that a revert took out does not come back."""
    b, o, t = (contents(LOG, data) for data in (base, ours, theirs))
    found = merged(LOG, base, ours, theirs, gone=gone)
    assert ((o & t) | (o - b) | (t - b)) - gone == contents(LOG, found.get(LOG))
    assert (ours is None and theirs is None) == (found == {})


def test_a_full_log_has_the_newest_lines_that_hold() -> None:
    """Fifty lines of both sides; what was retracted makes room for an older one, also where one side has none."""
    lines = [LogLine(f"2026-06-30T14:00:{n:02}.000Z", "Decision", f"n {n}", f"w-{n}") for n in range(60)]
    gone = frozenset(EntryKey("event", f"w-{n}") for n in range(50, 60))
    for path in (LOG, f"notes/{LOG}"):
        data = merged(path, None, log_page(lines[:30]), log_page([*lines[20:30], *lines[25:]]), gone=gone)[
            path
        ]
        assert [f"w-{n}" for n in reversed(range(50))] == [line.id for line in parse_log(data)][
            :MAX_LOG_LINES
        ]
    assert {LOG: log_page([])} == merged(LOG, None, log_page(lines[50:]), None, gone=gone)
    assert {} == merged(LOG, log_page(lines), None, None)


@given(*[BLOBS] * 3)
@example(b"", b"a", b"b")
def test_whole_files(base: bytes, ours: bytes, theirs: bytes) -> None:
    """What cannot be merged inside: the smaller hash keeps the path, the other one is beside."""
    assume(len({base, ours, theirs}) == 3)
    kept, other = sorted((ours, theirs), key=lambda data: hashlib.sha256(data).digest())
    assert {BLOB: kept, beside(BLOB, other): other} == merged(BLOB, base, ours, theirs)
    assert {INDEX: kept} == merged(INDEX, base, ours, theirs)  # it is rebuilt anyway
    assert {BLOB: ours} == merged(BLOB, base, ours, None)  # removed there, edited here: the edit stays
    assert {} == merged(BLOB, base, base, None)


def test_two_kinds_at_one_path_stay_two_files() -> None:
    """A § file and a note of the same name are not mixed."""
    note_file, section_file = concept_file({}, "x\n"), curated_file({}, [Entry(KEYS[0], "one", AT)])
    found = merged("notes/x.md", None, note_file, section_file)
    assert {note_file, section_file} == set(found.values())


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        ("notes/plan.md", "notes/plan~h{}.md"),
        ("plan.tar.gz", "plan.tar~h{}.gz"),
        ("d/.hidden", "d/.hidden~h{}"),
        ("d.x/LICENSE", "d.x/LICENSE~h{}"),
        ("git", "git~h{}"),
    ],
)
def test_the_name_beside(path: str, expected: str) -> None:
    """Before the ending, with a letter behind the tilde: `git~1` is another name of .git on some systems."""
    assert expected.format(hashlib.sha256(b"x").hexdigest()[:8]) == beside(path, b"x")


def test_what_is_too_large_together_stays_two_files() -> None:
    """Two § files, two parts and two concepts over the limit of one file: nothing is lost, nothing fails."""
    half, many = "x" * 700_000, {f"k{n}": "x" * 1000 for n in range(150)}
    keys = {f"m{n}": "x" * 1000 for n in range(150)}
    poison = Entry(KEYS[0], "one", AT)
    pairs = {
        MEMORY: [curated_file({}, [Entry(section_key(n + half), n + half, AT), poison]) for n in "ab"],
        PART: [events_file({}, [Event(f"w-{n}", "k", AT, {"t": half})]) for n in "12"],
        DECISION: [concept_file(many, "same"), concept_file(keys, "same")],
    }
    for path, (one, two) in pairs.items():
        found = merged(path, None, one, two, gone=frozenset([poison.key]))
        assert found == merged(path, None, two, one, gone=frozenset([poison.key]))
        assert 2 == len(found)
        assert path in found
        if path == MEMORY:
            assert all(poison.key not in sections(data) for data in found.values())
        else:
            assert {one, two} == set(found.values())
    over = curated_file({}, []) + b"x" * (1 << 20)
    assert {MEMORY: pairs[MEMORY][0]} == merged(MEMORY, over, pairs[MEMORY][0], None)


@given(SECTION_ENTRIES, GONE)
def test_what_only_one_side_changed_loses_what_the_other_retracted(
    entries: tuple[Entry, ...], gone: frozenset[EntryKey]
) -> None:
    """A file that only one side touched is as that side has it, but for what was retracted."""
    base, ours = curated_file({}, []), curated_file({"title": "x"}, entries)
    left = curated_file({"title": "x"}, [entry for entry in entries if entry.key not in gone])
    assert {MEMORY: left} == merged(MEMORY, base, ours, base, gone=gone)
    assert {MEMORY: left} == merged(MEMORY, ours, ours, ours, gone=gone)
