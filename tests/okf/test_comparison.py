from __future__ import annotations

import random

from gitmem.okf.comparison import compare, words
from gitmem.okf.concept import Concept
from gitmem.okf.curated import CuratedFile
from gitmem.okf.entries import Change, entry_hash
from gitmem.okf.events import Event, EventsFile
from hypothesis import example, given
from hypothesis import strategies as st

from tests.okf.strategies import ARCHIVE, AT, DATA, MEMORY, PATHS, TEXT


def memory(*texts: str, title: str = "") -> bytes:
    file = CuratedFile.new(title=title)
    for text in texts:
        file = file.add(text, AT)
    return file.render()


def told(changes: list[Change]) -> list[tuple[str, str, str, str]]:
    return [
        (one.path, one.op, one.old.text if one.old else "", one.new.text if one.new else "")
        for one in changes
    ]


def test_compare_tells_adds_removes_and_a_replace() -> None:
    """A replace is one change; the rest comes and goes by itself."""
    old = CuratedFile.parse(memory("a", "b", "keep"))
    new = old.replace(entry_hash("a"), "a2", AT).remove(entry_hash("b")).add("c", AT)
    assert told(compare({MEMORY: old.render()}, {MEMORY: new.render()})) == [
        (MEMORY, "remove", "b", ""),
        (MEMORY, "change", "a", "a2"),
        (MEMORY, "add", "", "c"),
    ]


def test_compare_tells_a_replace_once() -> None:
    """Two entries that name one replaced entry: the first is the change, the other is new."""
    old = CuratedFile.parse(memory("a"))
    new = old.replace(entry_hash("a"), "b", AT).add("c", AT, replaces=entry_hash("a"))
    assert [one.op for one in compare({MEMORY: old.render()}, {MEMORY: new.render()})] == ["change", "add"]


def test_compare_of_ages_and_forms_is_empty() -> None:
    """Another time, another Unicode form or another order of the same entries is not a change."""
    one = CuratedFile.new().add("e\u0301", AT).add("b", AT)
    two = CuratedFile.new().add("b", AT).add("é", "2027-01-01T00:00:00Z")
    assert compare({MEMORY: one.render()}, {MEMORY: two.render()}) == []


def test_compare_tells_a_move() -> None:
    """An entry that left one file and came to another moved; so does an event, and an unchanged concept."""
    old = {MEMORY: memory("a", "b"), ARCHIVE: memory("x")}
    new = {MEMORY: memory("b"), ARCHIVE: memory("x", "a")}
    (change,) = compare(old, new)
    assert (change.path, change.op, change.from_path) == (ARCHIVE, "move", MEMORY)
    assert change.old is not None
    assert change.old.text == "a"
    plan = Concept.new("Plan", "steps", title="Ship").render()
    (change,) = compare({"plans/ship.md": plan}, {"plans/archive/ship.md": plan})
    assert (change.path, change.op, change.from_path) == ("plans/archive/ship.md", "move", "plans/ship.md")
    events = [Event("u-1", "turn", AT, {"text": "hi"})]
    one, two = EventsFile.new("a").append(events).render(), EventsFile.new("b").append(events).render()
    assert [one.op for one in compare({"1.md": one}, {"2.md": two})] == ["move"]


def test_compare_tells_a_whole_concept_once() -> None:
    """A new or removed concept is one entry with its title and type; a new § file is its entries."""
    data = Concept.new("Decision", "why", title="Use tabs", tags=["a"]).render()
    (added,) = compare({}, {"decisions/x.md": data})
    assert (added.op, added.new and (added.new.key, added.new.text, added.new.kind)) == (
        "add",
        (("concept", ""), "Use tabs", "Decision"),
    )
    assert told(compare({"decisions/x.md": b"---\ntype: Decision\n---\n"}, {})) == [
        ("decisions/x.md", "remove", "x", "")
    ]
    assert told(compare({}, {MEMORY: memory("a", "b")})) == [
        (MEMORY, "add", "", "a"),
        (MEMORY, "add", "", "b"),
    ]


def test_compare_inside_a_concept() -> None:
    """Each key and the body is told by itself."""
    old = b"---\ntype: Tool\ntitle: A\nold: 1\n---\nbody"
    new = b"---\ntype: Tool\ntitle: B\nnew: 2\n---\nbody 2"
    assert told(compare({"t.md": old}, {"t.md": new})) == [
        ("t.md", "remove", "1", ""),
        ("t.md", "change", "A", "B"),
        ("t.md", "add", "", "2"),
        ("t.md", "change", "body", "body 2"),
    ]


def test_compare_of_other_front_matter_of_a_section_file() -> None:
    """The title of a § file can change too; its list of entries is not told twice."""
    changes = compare({MEMORY: memory("a", title="A")}, {MEMORY: memory("a", "b", title="B")})
    assert told(changes) == [(MEMORY, "change", "A", "B"), (MEMORY, "add", "", "b")]


def test_compare_of_blobs_goes_by_bytes() -> None:
    """A file that is no concept changes as a whole, also when it breaks."""
    assert told(compare({"x": b"a"}, {"x": b"b"})) == [("x", "change", "a", "b")]
    assert [one.op for one in compare({"x": b"\xff"}, {"x": b"\xfe"})] == ["change"]
    broken = compare({MEMORY: memory("a")}, {MEMORY: b"---\ntype: [\n---\na"})
    assert [(one.op, (one.old or one.new).key.space) for one in broken if one.old or one.new] == [  # type: ignore[union-attr]
        ("remove", "§"),
        ("add", "blob"),
    ]


def test_compare_skips_generated_pages() -> None:
    """A new index is not news."""
    assert compare({"index.md": b"a"}, {"index.md": b"b", "log.md": b"c"}) == []


@given(st.dictionaries(PATHS, DATA, max_size=3), st.dictionaries(PATHS, DATA, max_size=3))
def test_compare_takes_any_bytes(old: dict[str, bytes], new: dict[str, bytes]) -> None:
    """Never an error, nothing between equal trees, and the way back tells as many additions as removals."""
    there, back = compare(old, new), compare(new, old)
    assert compare(old, old) == []
    added = sum(one.op == "add" for one in there) + sum(
        one.op == "change" and one.old is None for one in there
    )
    assert added <= sum(one.op in ("remove", "change") for one in back)
    assert [one.path for one in there] == sorted(one.path for one in there)


@given(TEXT, TEXT)
@example("a b c", "a x c")
@example(" ", "")
def test_words_give_both_sides(old: str, new: str) -> None:
    """The pieces that stay and go are the old text, the ones that stay and come the new."""
    pieces = words(old, new)
    assert "".join(text for mark, text in pieces if mark != "+") == old
    assert "".join(text for mark, text in pieces if mark != "-") == new


def test_words_show_the_word() -> None:
    """One word changed is one word told."""
    assert words("User likes tabs a lot", "User likes spaces a lot") == [
        (" ", "User likes"),
        ("-", " tabs"),
        ("+", " spaces"),
        (" ", " a lot"),
    ]


def test_words_are_bounded() -> None:
    """Long and repetitive texts are told as a whole: comparing them word by word could take minutes."""
    chance = random.Random(1)
    for size in (399, 5000):
        old, new = (" ".join(chance.choices("ab", k=size)) for _ in range(2))
        told = words(old, new)
        assert "".join(text for mark, text in told if mark != "+") == old
        assert "".join(text for mark, text in told if mark != "-") == new
    assert len(told) < 10
