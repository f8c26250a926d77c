from __future__ import annotations

import pytest
from gitmem.errors import BrokenConcept, InvalidContent, TooLarge
from gitmem.okf import frontmatter
from gitmem.okf.concept import MAX_CONCEPT_BYTES, Concept, same_values
from hypothesis import assume, example, given
from hypothesis import strategies as st

from tests.okf.strategies import MAPPINGS, PLAIN_VALUES, TEXT

SOURCE = (
    "---\n# written by hand\ntype: 'Decision'   # the type\ntitle:   \"A  B\"\n\n# tags below\n"
    "tags: [a,   b]\n"
    "text: |\n  one\n  # two\n\nunknown: {x: 2026-01-01}\n# the end\n---\n\nBody\n"
)

SOURCES = [
    SOURCE,
    SOURCE.replace("\n", "\r\n"),
    "\ufeff" + SOURCE,
    "---\ntype: X\n---",
    "---\ntype: X\n---\nno newline at the end",
    "---\n{type: X, title: y}\n---\nb",
    "---\n? type\n: X\n---\nb",
    "---\ntype: X\n...\n---\nb",
    "---\n  type: X\n  title: y\n---\nb",
    '---\ntype: X\na: "one\n# two"\nb: 1\n---\n',
    "---\ntype: X\na: |+\n  text\n\n\nb: >\n  folded\n---\n",
    "--- \ntype: X\n---\t\n\r\n\x00\x85\u2028",
    "---\n\ufefftype: X\ntitle: y\n---\n",
]


@pytest.mark.parametrize("source", SOURCES)
def test_parse_and_render_is_the_identity(source: str) -> None:
    """Whatever its form, an untouched file is written as it was read."""
    assert Concept.parse(source.encode()).render() == source.encode()


YAML_LINES = st.lists(
    st.sampled_from(
        [
            *(
                "a: 1",
                "# c",
                "",
                "b: |",
                "  x",
                "- y",
                "c: 'q",
                "# r'",
                'd: "s',
                't"',
                "e: [1,",
                "2]",
                "{f: 1}",
            ),
            *(
                "{f: 1}",
                "? g",
                ": h",
                "...",
                "k:",
                "  l: 2",
                "1: m",
                "yes: n",
                "o: é\u2028",
            ),
            "p: \U0001f600 # z",
        ]
    ),
    max_size=6,
)


@given(YAML_LINES, TEXT, st.sampled_from(["\n", "\r\n"]), st.sampled_from(["", "\ufeff"]))
def test_every_parseable_input_survives(lines: list[str], body: str, newline: str, bom: str) -> None:
    """Random front matter, any body: rendered byte for byte, or refused."""
    data = (bom + newline.join(["---", "type: X", *lines, "---", ""]) + body).encode()
    try:
        concept = Concept.parse(data)
    except InvalidContent:
        assume(False)
    assert concept.render() == data


@given(YAML_LINES, st.sampled_from("abcdejz"), PLAIN_VALUES, st.sampled_from(["\n", "\r\n"]))
@example(["a: 'x", "# y'", "b: 1"], "b", 2, "\n")
def test_with_meta_changes_that_key_only(lines: list[str], key: str, value: object, newline: str) -> None:
    """However odd the source, the one key gets its value and all others keep theirs."""
    data = newline.join(["---", "type: X", *lines, "---", "body"]).encode()
    try:
        concept = Concept.parse(data)
    except InvalidContent:
        assume(False)
    changed = Concept.parse(concept.with_meta(**{key: value}).render())
    expected = {**concept.meta, key: value}
    if value is None:
        del expected[key]
    assert dict(changed.meta) == expected
    assert changed.body == "body"


@pytest.mark.parametrize(
    "key", ["a", "1", "yes", "a b", "a: b", "#a", "- a", "é", "'a'", '"a"', "?", "a,", "x" * 600]
)
def test_a_change_leaves_the_lines_of_others(key: str) -> None:
    """However a key is spelled: comments and blank lines are still there, and the value is the new one."""
    line = Concept.new("X", "", **{key: 1}).yaml.removeprefix("type: X\n")
    others = "type: X # one\n\n# about it\n"
    text = f"---\n{others}{line}# the end\nlast: [1,\n 2]\n---\n"
    changed = Concept.parse(text.encode()).with_meta(**{key: 2})
    if not line.startswith("?"):  # a key that is too long for a line of its own
        assert changed.render().decode() == text.replace(line, line.replace(": 1\n", ": 2\n"))
    assert Concept.parse(changed.render()).meta[key] == 2


@given(PLAIN_VALUES, PLAIN_VALUES)
@example(1, True)
@example(0.0, -0.0)
@example({"a": 1, "b": 2}, {"b": 2, "a": 1})
@example([], {})
@example(["1"], [1])
def test_values_are_the_same_where_their_texts_are(one: object, other: object) -> None:
    """Values are compared without writing them, with the outcome that writing them has."""
    for left, right in ((one, other), (one, one), ([one, other], (one, other))):
        assert same_values(left, right) == (frontmatter.dump_value(left) == frontmatter.dump_value(right))


def test_with_meta_keeps_other_lines() -> None:
    """A change, an addition and a removal leave every other line as it stood, comments too."""
    changed = Concept.parse(SOURCE.encode()).with_meta(title="New", text=None, added=[1, 2])
    assert changed.render().decode() == SOURCE.replace('title:   "A  B"', "title: New").replace(
        "text: |\n  one\n  # two\n", ""
    ).replace("# the end\n", "# the end\nadded:\n- 1\n- 2\n")


def test_with_meta_keeps_crlf() -> None:
    """New lines of a CRLF file end as its others do."""
    concept = Concept.parse(SOURCE.replace("\n", "\r\n").encode()).with_meta(title="New", more=["a"])
    assert b"\n" not in concept.render().replace(b"\r\n", b"")


def test_with_meta_of_the_same_value_is_no_change() -> None:
    """A value that is there already does not touch its spelling; 1 and true are not the same."""
    concept = Concept.parse(b"---\ntype: X\nn:   0x1\ntags: [a]\n---\n")
    assert concept.with_meta(n=1, tags=("a",), gone=None) is concept
    assert concept.with_meta(n=True).meta["n"] is True


def test_with_body_keeps_the_head() -> None:
    """Another body, the same front matter; a closing line without an end gets one."""
    assert Concept.parse(SOURCE.encode()).with_body("x").render().decode() == SOURCE.replace("\nBody\n", "x")
    assert Concept.parse(b"---\ntype: X\n---").with_body("x").render() == b"---\ntype: X\n---\nx"


@given(MAPPINGS, TEXT)
def test_new_concepts_survive(meta: dict[str, object], body: str) -> None:
    """A concept made of any values is read back with them."""
    concept = Concept({**meta, "type": "X"}, body)
    again = Concept.parse(concept.render())
    assert dict(again.meta) == dict(concept.meta)
    assert again.body == body
    assert again == concept


def test_new_leaves_out_none() -> None:
    """A key without a value is not written."""
    assert (
        Concept.new("Tool", "b", title="T", description=None).render() == b"---\ntype: Tool\ntitle: T\n---\nb"
    )


@pytest.mark.parametrize(
    ("data", "match"),
    [
        (b"no front matter", "does not begin"),
        (b"", "does not begin"),
        (b"---\ntype: X\n", "closing"),
        (b"---\ntitle: X\n---\n", "type"),
        (b"---\ntype: ''\n---\n", "type"),
        (b"---\ntype: '  '\n---\n", "type"),
        (b"---\ntype:\n---\n", "type"),
        (b"---\ntype: [a]\n---\n", "type"),
        (b"---\n---\n", "type"),
        (b"---\ntype: X\nx: [\n---\n", "line 4"),
        (b"---\ntype: \xff\n---\n", "UTF-8"),
    ],
)
def test_broken_files_are_told_with_their_path(data: bytes, match: str) -> None:
    """Each way to be no concept is one error, which names the file."""
    with pytest.raises(BrokenConcept, match=match) as caught:
        Concept.parse(data, "a/b.md")
    assert str(caught.value).startswith("a/b.md: ")


def test_size_limit_holds_both_ways() -> None:
    """Too large a file is neither read nor written."""
    with pytest.raises(TooLarge):
        Concept.parse(b"---\ntype: X\n---\n" + b"x" * MAX_CONCEPT_BYTES)
    with pytest.raises(TooLarge):
        Concept.new("X", "x" * MAX_CONCEPT_BYTES).render()
    with pytest.raises(TooLarge):
        Concept.new("X", "", text="x" * 300_000).render()


def test_half_characters_are_refused() -> None:
    """A lone surrogate cannot be stored."""
    with pytest.raises(InvalidContent):
        Concept.new("X", "\ud800").render()


def test_type_and_title_are_text() -> None:
    """Both are text, whatever the YAML made of them."""
    concept = Concept.parse(b"---\ntype: 5\ntitle: 2026\n---\n")
    assert (concept.type, concept.title) == ("5", "2026")
    assert Concept.new("X").title == ""
