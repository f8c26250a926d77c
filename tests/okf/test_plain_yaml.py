"""Front matter read line by line is what YAML reads, or it is left to YAML."""

from __future__ import annotations

import subprocess
import sys

import pytest
from gitmem.errors import InvalidContent
from gitmem.okf.frontmatter import dump, load
from gitmem.okf.plain_yaml import plain_keys, read_plain
from gitmem.okf.yaml_reading import build
from hypothesis import example, given
from hypothesis import strategies as st

from tests.okf.strategies import MAPPINGS, TEXT

PLAIN: dict[str, dict[str, object]] = {
    "type: Note\ntitle: A page about Köln and 東京\n": {
        "type": "Note",
        "title": "A page about Köln and 東京",
    },
    "a: x:y#z\nb: /etc/x, [y] {z}\n": {"a": "x:y#z", "b": "/etc/x, [y] {z}"},
    'a: "yes"\nb: " x: y #z "\nc: ""\n': {"a": "yes", "b": " x: y #z ", "c": ""},
    "a: 0\nb: 17\nc: 2026-11-05T10:00:00Z\nd: 2026-11-05\ne: 8e01\n": {
        "a": 0,
        "b": 17,
        "c": "2026-11-05T10:00:00Z",
        "d": "2026-11-05",
        "e": "8e01",
    },
    "yes: on call\nnull: nothing\n": {"yes": "on call", "null": "nothing"},
    'generated:\n  by: gitmem/1.0\n  at: "2026-11-17T00:36:17.467Z"\nlast: x\n': {
        "generated": {"by": "gitmem/1.0", "at": "2026-11-17T00:36:17.467Z"},
        "last": "x",
    },
    "tags:\n- one\n- 2\nempty: []\n": {"tags": ["one", 2], "empty": []},
    "platforms: [linux, mac-os]\nversion: 1.0.12\n": {"platforms": ["linux", "mac-os"], "version": "1.0.12"},
    "a: 1.5\nb: 0.50\n": {"a": 1.5, "b": 0.5},
    "type: Skill  # by gitmem\nb: 1 #\nc: [x]   # y # z\n": {"type": "Skill", "b": 1, "c": ["x"]},
    'entries:\n- {h: "21c7", at: "2026, x", n: 3}\n- {h: b}\n': {
        "entries": [{"h": "21c7", "at": "2026, x", "n": 3}, {"h": "b"}]
    },
}
NOT_PLAIN = [
    "",
    "a: x",
    "a:\n",
    "a:\nb: x\n",
    "a: x\na: y\n",
    "a: {h: 1}\n",
    "a:\n- {h: 1, h: 2}\n",
    "a:\n- {}\n",
    "a:\n- {h: x\n",
    "a:\n- {h: x, }\n",
    "a:\n- b: c\n",
    "a:\n  b: c\n- d\n",
    "a:\n  b: c\n  b: d\n",
    "a:\n    b: c\n",
    "- a\n",
    "  a: b\n",
    "a: true\n",
    "a: Null\n",
    "a: ~\n",
    "a: 1.\n",
    "a: .5\n",
    "a: 01.5\n",
    "a: 1.2.\n",
    "a: [x, no]\n",
    "a: [x, 1]\n",
    "a: [x,y]\n",
    "a: [x, y\n",
    "a: [x y]\n",
    "a: [x: y]\n",
    "a: -1\n",
    "a: 010\n",
    "a: 0b1\n",
    "a: 0x1f\n",
    "a: 12:30\n",
    "a: 1_000\n",
    "a: # x\n",
    "a: x #\ty\n",
    "a: x #é\n",
    "a:\n- x #y\n",
    "a: x: y\n",
    "a: x:\n",
    "a: x \n",
    "a:  x\n",
    "a:\tx\n",
    "a: x\ty\n",
    "a: x\r\n",
    "a: x\u2028y\n",
    "a: x\u0085y\n",
    "a: |\n  x\n",
    "a: 'x'\n",
    'a: "x\\n"\n',
    'a: "x" y\n',
    "a: x\n  y\n",
    "a: &x y\n",
    "a: *x\n",
    "a: !!str x\n",
    "# a\n",
    "\n",
    "---\n",
    "...\n",
    "a: x\n\nb: y\n",
]


@pytest.mark.parametrize("text", PLAIN)
def test_what_gitmem_writes_is_plain(text: str) -> None:
    """And what it says is what YAML reads."""
    assert PLAIN[text] == read_plain(text) == build(text, 1)[0]
    assert list(PLAIN[text]) == list(read_plain(text) or ())


@pytest.mark.parametrize("text", NOT_PLAIN)
def test_the_rest_is_left_to_yaml(text: str) -> None:
    """Values of other kinds, marks, and what is broken."""
    assert read_plain(text) is None


def agrees(text: str) -> None:
    plain = read_plain(text)
    if plain is None:
        return
    try:
        found, keys = build(text, 1)
    except InvalidContent:
        pytest.fail(f"YAML refuses {text!r}")
    assert repr(found) == repr(plain)
    assert keys == plain_keys(text)


_PIECES = st.sampled_from(
    [
        *("a", "b", "yes", "null", "no", "on", "0", "1", "07", "2026-11-05", "T10:00:00Z", "0b1", "0x", "e", ".", "-", "- "),
        *("1.2.3", "1.5", "[a", ", b]"),
        *(": ", ":", " ", "  ", "\n", "\n", "\n- ", "\n  ", "#", " #", '"', "'", "\\", "{", "}", "[", "]", "[]", ", ", ","),
        *("&", "*", "!", "|", ">", "%", "@", "`", "?", "? ", "~", "=", "<<", "\t", "\r", "\u00a0", "\u2028"),
        *("é", "東", "\ufeff"),
    ]
)  # fmt: skip


@given(st.lists(_PIECES, max_size=25).map("".join))
def test_any_lines_are_read_as_yaml_reads_them(text: str) -> None:
    """Whatever is taken for plain has the values, the kinds and the order that YAML gives it."""
    agrees(f"{text}\n")
    agrees(f"k: {text}\n")


@given(TEXT)
@example("0" * 19)
@example("x\u1680y")
@example("x\u00ad")
def test_any_value_is_read_as_yaml_reads_it(text: str) -> None:
    """As words, in quotes, in a list and in a small mapping."""
    for form in (
        f"k: {text}\n",
        f'k: "{text}"\n',
        f"k:\n- {text}\n",
        f"k:\n- {{h: {text}}}\n",
        f"k:\n  h: {text}\n",
    ):
        agrees(form)


@given(MAPPINGS)
def test_what_is_written_is_read_back(mapping: dict[str, object]) -> None:
    """By whichever of the two."""
    text = dump(mapping)
    agrees(text)
    assert repr(build(text, 1)[0]) == repr(load(text))


def test_a_plain_file_needs_no_yaml() -> None:
    """Start-up is a feature: what gitmem wrote is read without PyYAML."""
    code = (
        "import sys; from gitmem.okf.concept import Concept; "
        "assert Concept.parse(b'---\\ntype: Note\\ntags:\\n- a\\n---\\nx').meta['tags'] == ['a']; "
        "print(sorted({'yaml', 'frontmatter', 'pathlib'} & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert "[]" == done.stdout.strip()
