from __future__ import annotations

from typing import Any

import frontmatter as python_frontmatter
import pytest
import yaml
from gitmem.errors import BrokenConcept, InvalidContent, TooLarge
from gitmem.okf import frontmatter
from gitmem.okf.frontmatter import (
    MAX_YAML_BYTES,
    blocks,
    dump,
    dump_value,
    plain_newlines,
    read,
    split,
)
from hypothesis import example, given

from tests.okf.strategies import MAPPINGS, PLAIN_VALUES, TEXT


def load(text: str, *, first_line: int = 1) -> dict[str, object]:
    """The values alone."""
    return frontmatter.load(text, first_line=first_line)


@pytest.mark.parametrize(
    "text",
    [
        "---\ntype: X\n---\nbody",
        "\ufeff---\r\ntype: X\r\n---\r\nbody\r\n",
        "---  \ntype: X\n---\t\n",
        "---\n---",
        "---\ntype: X\n---",
        "---\na: |\n  ---\n  x\n---\n\n---\nbody",
    ],
)
def test_split_loses_no_character(text: str) -> None:
    """The four parts joined are the text."""
    parts = split(text)
    assert parts is not None
    assert "".join(parts) == text


@given(TEXT, TEXT)
def test_split_of_any_text_is_exact(middle: str, body: str) -> None:
    """Whatever stands inside and behind, nothing is lost."""
    text = f"---\n{middle}\n---\n{body}"
    parts = split(text)
    assert parts is not None
    assert "".join(parts) == text


@pytest.mark.parametrize(
    "text", ["", "body", "\n---\na: 1\n---\n", "----\na: 1\n----\n", "--- a\n---\n", " ---\n"]
)
def test_split_without_front_matter(text: str) -> None:
    """A text that does not begin with the mark has no front matter."""
    assert split(text) is None


def test_split_of_an_open_block() -> None:
    """A block that never ends is an error, and not an empty block."""
    with pytest.raises(BrokenConcept, match="closing"):
        split("---\ntype: X\nbody")


def test_timestamps_stay_text() -> None:
    """Nothing in front matter turns into a date, a time or a number in base 60."""
    loaded = load("a: 2026-06-30T14:00:00Z\nb: 2026-06-30\nc: 12:30\nd: 1:30.5\ne: !!timestamp 2026-01-01\n")
    assert loaded == {
        "a": "2026-06-30T14:00:00Z",
        "b": "2026-06-30",
        "c": "12:30",
        "d": "1:30.5",
        "e": "2026-01-01",
    }


def test_scalars_are_plain_values() -> None:
    """Numbers, truth values and null are read as YAML 1.1 has them."""
    text = "a: 1\nb: -0x1F\nc: 010\nd: 1_000\ne: 1.5\nf: .inf\ng: yes\nh: Off\n"
    text += "i: ~\nj:\nk: 0b11\nl: 0\nm: 1.0e+3\n"
    assert list(load(text).values()) == [
        1,
        -31,
        8,
        1000,
        1.5,
        float("inf"),
        True,
        False,
        None,
        None,
        3,
        0,
        1000.0,
    ]


def test_keys_are_text() -> None:
    """A key is what is written, whatever YAML would make of it."""
    assert load("1: a\nyes: b\nnull: c\n2026-01-01: d\n<<: e\nn: {1: x}\n") == {
        "1": "a",
        "yes": "b",
        "null": "c",
        "2026-01-01": "d",
        "<<": "e",
        "n": {"1": "x"},
    }


def test_tags_are_inert() -> None:
    """A tag constructs nothing."""
    text = "a: !!python/object/apply:os.system ['x']\nb: !foo bar\nc: !!set {x, y}\nd: !!binary aGk=\n"
    assert load(text) == {"a": ["x"], "b": "bar", "c": {"x": None, "y": None}, "d": "aGk="}


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("a: 1\nb: 2\na: 3\n", 3),
        ("a: 1\n\tb: 2\n", 2),
        ("a: {x: 1, x: 2}\n", 1),
        ("a: b: c\n", 1),
        ("ok: 1\n? [a]\n: 1\n", 2),
        ("a: *nothing\n", 1),
        ("a: &x [*x]\n", 1),
        ("a: 1\n... \n--- \nb: 1\n", 3),
        ("a: [1\n", 2),
    ],
)
def test_broken_yaml_names_the_line(text: str, line: int) -> None:
    """Every error says on which line of the file it is."""
    with pytest.raises(BrokenConcept, match=f"line {line + 1}:"):
        load(text, first_line=2)


@pytest.mark.parametrize("text", ["- a\n", "just text\n", "a: \x01\n", "a: \ud800\n", "%YAML 9.9\n"])
def test_what_is_no_mapping_is_broken(text: str) -> None:
    """A list, a text, a control character or half a character is refused."""
    with pytest.raises(BrokenConcept):
        load(text)


def test_empty_front_matter_is_an_empty_mapping() -> None:
    """No keys are no error here."""
    assert load("") == load("# only a comment\n") == {}


@pytest.mark.parametrize(
    "text",
    [
        "a: " + "[" * 20_000,
        "a: " + "{a: " * 20_000,
        "a:\n" + "".join(" " * (i + 1) + "-\n" for i in range(600)),
        "\n".join("- " * 500 for _ in range(2)),
        "a: " + ":".join("1" * 60_000),
        "a: 0x" + "f" * 200_000 + "\nb: [",
    ],
)
def test_deep_or_giant_values_cost_nothing(text: str) -> None:
    """A hostile depth or number is told at once, or kept as text; no recursion, no quadratic time."""
    try:
        loaded = load(text)
    except BrokenConcept:
        loaded = {}
    assert all(isinstance(value, str) for value in loaded.values())


def test_depth_limit_is_exact() -> None:
    """Sixty-four levels are read and written, sixty-five are not."""
    value: object = 1
    for _ in range(63):
        value = [value]
    assert load(dump({"a": value})) == {"a": value}
    with pytest.raises(InvalidContent):
        dump({"a": [value]})
    with pytest.raises(BrokenConcept, match="deeper"):
        load("a: " + "[" * 64 + "]" * 64)


def test_size_limit() -> None:
    """Over the limit nothing is parsed."""
    with pytest.raises(TooLarge):
        load("a: " + "x" * MAX_YAML_BYTES)
    with pytest.raises(TooLarge):
        load("a: " + "é" * (MAX_YAML_BYTES // 2))


@pytest.mark.parametrize(
    "text", ["a: &x [1, 2]\n", "a: &x y\n", "b: *x\n", "&k a: 1\n", "a: {b: &x {c: 1}}\n"]
)
def test_anchors_and_aliases_are_refused(text: str) -> None:
    """A few of them can expand to gigabytes, and gitmem writes none."""
    with pytest.raises(BrokenConcept, match="anchors and aliases"):
        load(text)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (
            "type: Note\ntitle: A page about Köln and 東京\n",
            {"type": "Note", "title": "A page about Köln and 東京"},
        ),
        ("a: x:y#z\nb: /etc/x, [y] {z}\n", {"a": "x:y#z", "b": "/etc/x, [y] {z}"}),
        ('a: "yes"\nb: " x: y #z "\nc: ""\n', {"a": "yes", "b": " x: y #z ", "c": ""}),
        (
            "a: 0\nb: 17\nc: 2026-11-05T10:00:00Z\nd: 2026-11-05\n",
            {"a": 0, "b": 17, "c": "2026-11-05T10:00:00Z", "d": "2026-11-05"},
        ),
        ("e: 8e01\nf: 1e5a\ng: 1.0.12\n", {"e": "8e01", "f": "1e5a", "g": "1.0.12"}),
        (
            'generated:\n  by: gitmem/1.0\n  at: "2026-11-17T00:36:17.467Z"\n',
            {"generated": {"by": "gitmem/1.0", "at": "2026-11-17T00:36:17.467Z"}},
        ),
        ("tags:\n- one\n- 2\nempty: []\n", {"tags": ["one", 2], "empty": []}),
        ("platforms: [linux, mac-os]\n", {"platforms": ["linux", "mac-os"]}),
        ("type: Skill  # by gitmem\nb: 1 #\nc: [x]   # y # z\n", {"type": "Skill", "b": 1, "c": ["x"]}),
        (
            'entries:\n- {h: "21c7", at: "2026, x", n: 3}\n- {h: b}\n',
            {"entries": [{"h": "21c7", "at": "2026, x", "n": 3}, {"h": "b"}]},
        ),
    ],
)
def test_the_forms_of_a_bundle(text: str, expected: dict[str, object]) -> None:
    """Dates, versions and ids that begin with a digit are text; the order of the keys is that of the file."""
    found = load(text)
    assert expected == found
    assert list(expected) == list(found)


@given(MAPPINGS)
@example({"": "", "a" * 2000: ["x"], "b" * 2000: {"c": 1}, "c" * 2000: "d"})
@example({"a": [[1, [2]], {"x": [1]}, {}, [], {"y": {"z": 1}}]})
@example({"a": [{"k" * 2000: 1}]})
@example({"a": 1e20, "b": 1.5e-7, "c": -0.0, "d": 10**900})
def test_load_gives_back_what_dump_wrote(mapping: dict[str, object]) -> None:
    """Any plain mapping survives: values, their types, and the order of keys."""
    text = dump(mapping)
    loaded = load(text)
    assert loaded == mapping
    assert list(loaded) == list(mapping)
    assert dump(loaded) == text
    assert "\r" not in text
    assert not any(line.startswith("---") for line in text.split("\n"))


@given(MAPPINGS)
def test_other_readers_see_the_same_strings(mapping: dict[str, Any]) -> None:
    """A plain yaml.safe_load sees our texts as texts, timestamps too."""
    texts = {key: value for key, value in mapping.items() if isinstance(value, str)}
    assert yaml.safe_load(dump(texts)) == (texts or None)


@given(PLAIN_VALUES)
def test_dump_value_is_the_value(value: object) -> None:
    """The text of one value alone is YAML of that value."""
    assert load(f"a:\n{dump_value(value)}".replace("\n", "\n  ")) == {"a": value}


def test_dump_reads_well() -> None:
    """The written form: plain where that is safe, small mappings in lists on one line."""
    assert dump(
        {
            "type": "CuratedMemory",
            "title": "Über: alles",
            "tags": ["a", "b c"],
            "generated": {"by": "human:ann", "at": "2026-06-30T14:00:00.000Z"},
            "entries": [{"h": "ab", "at": "2026-06-30T14:00:00.000Z"}],
            "none": [],
        }
    ) == (
        'type: CuratedMemory\ntitle: "Über: alles"\ntags:\n- a\n- b c\ngenerated:\n  by: human:ann\n'
        '  at: "2026-06-30T14:00:00.000Z"\nentries:\n- {h: ab, at: "2026-06-30T14:00:00.000Z"}\nnone: []\n'
    )


@pytest.mark.parametrize("value", [object(), b"x", {1: "a"}, {"a": {2: 3}}, [{3: 4}], {1, 2}, 10**1001])
def test_dump_refuses_what_is_not_plain(value: object) -> None:
    """A value that would come back as another one is refused."""
    with pytest.raises(InvalidContent):
        dump({"a": value})


def test_blocks_leave_comments_alone() -> None:
    """A key's block is its own lines; comments and blank lines between keys belong to none."""
    text = "# head\na: 1 # one\n\n# about b\nb:\n- x\n# inside\n- y\n# tail\n"
    found = blocks(text, ["a", "b"])
    assert found is not None
    assert [text[start:end] for start, end in found] == ["a: 1 # one\n", "b:\n- x\n# inside\n- y\n"]


@pytest.mark.parametrize(
    "text", ["{a: 1, b: 2}\n", "  a: 1\n  b: 2\n", "? a\n: 1\nb: 2\n", "a: '\nx: y\n'\nb: 2\n"]
)
def test_blocks_know_when_not_to_cut(text: str) -> None:
    """A flow mapping, an indented one, and one where a quoted line looks like a key have no blocks."""
    assert blocks(text, ["a", "b"]) is None


def test_read_gives_values_and_an_exact_cut() -> None:
    """Any key, timestamps as text, a byte order mark, CRLF; the body with the white space at both its ends."""
    text = "\ufeff---\r\ncontent: 1\r\nhandler: 2026-01-01\r\n1: x\r\n---\r\n\r\n body \r\n\r\n"
    found = read(text)
    assert found is not None
    meta, parts = found
    assert {"content": 1, "handler": "2026-01-01", "1": "x"} == meta
    assert "\r\n body \r\n\r\n" == parts.body
    assert "content: 1\r\nhandler: 2026-01-01\r\n1: x\r\n" == parts.yaml
    assert text == "".join(parts)


@given(MAPPINGS, TEXT)
def test_read_of_any_text_is_split_and_load(mapping: dict[str, object], body: str) -> None:
    """What python-frontmatter hands over is what the rules of this module read."""
    text = f"---\n{dump(mapping)}---\n{body}"
    parts = split(text)
    assert parts is not None
    assert (found := read(text)) is not None
    assert (load(parts.yaml), parts) == found[:2]


def test_read_agrees_with_python_frontmatter() -> None:
    """Of a plain file we read what every user of that package reads."""
    text = "---\ntype: Note\ntags: [a, b]\ncount: 3\n---\nThe body."
    found = read(text)
    assert found is not None
    assert python_frontmatter.parse(text) == (found[0], found[1].body)


def test_read_counts_the_lines_of_the_file() -> None:
    """An error names the line as an editor shows it; a text without front matter is none."""
    with pytest.raises(BrokenConcept, match="line 3: the key 'a' stands there twice"):
        read("---\na: 1\na: 2\n---\n")
    with pytest.raises(BrokenConcept, match="no closing line"):
        read("---\na: 1\n")
    assert read("a: 1\n") is None


def test_plain_newlines_only_where_all_are_crlf() -> None:
    """A file of an editor with CRLF is made plain; a stray CR in content stays."""
    assert plain_newlines("a\r\nb\r\n") == "a\nb\n"
    assert plain_newlines("a\r\nb\n") == "a\r\nb\n"
    assert plain_newlines("a\rb") == "a\rb"
