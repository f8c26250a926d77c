"""Versions of a § file read piece by piece are what each of them is when it is read whole."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import pytest
from gitmem.okf.curated import CuratedFile
from gitmem.okf.curated_versions import CuratedVersions
from gitmem.okf.entries import Entry, EntryKey, entry_hash
from gitmem.okf.files import open_file
from hypothesis import given, settings
from hypothesis import strategies as st

MEMORY = "memories/MEMORY.md"
AT = "2026-06-30T14:00:00.000Z"


def told(entries: Mapping[EntryKey, Entry]) -> list[tuple[object, ...]]:
    """The entries with all that they hold, also what does not take part in equality."""
    return [
        (key, one.text, one.at, one.replaces, dict(one.extra), one.source) for key, one in entries.items()
    ]


def same(path: str, versions: list[bytes]) -> None:
    reader = CuratedVersions(path)
    for data in versions:
        assert told(open_file(path, data).entries) == told(reader.entries(data)), data


_TEXTS = st.sampled_from(
    ["one", "two\nlines", "three §", "é", "e\u0301", "- {h: x}", "---", "entries:", "a\u2028b"]
)
_STEPS = st.lists(
    st.one_of(
        st.tuples(st.just("add"), _TEXTS),
        st.tuples(st.just("remove"), _TEXTS),
        st.tuples(st.just("verify"), _TEXTS),
        st.tuples(st.just("replace"), _TEXTS),
    ),
    max_size=8,
)
# What a person, another program or a stranger may put between the lines.
_ODD = st.sampled_from(
    [
        "",
        "§",
        " § ",
        "--- ",
        "---",
        "entries:",
        "entries: []",
        'title: "a',
        'b"',
        "title: |",
        "  entries:",
        "other:",
        f'- {{h: "{entry_hash("one")}", at: "1999-01-01T00:00:00Z"}}',
        f'- {{h: "{entry_hash("one")}", at: "{AT}", verified: "human:eve"}}',
        f'- {{h: "{entry_hash("one")}", at: 2026-06-30 14:00}}',
        f'- {{h: "{entry_hash("one")}", at: "\\u0032026-06-30T14:00:00Z"}}',
        f'- {{h: "{entry_hash("two")}"}}\u2028other: 1',
        "- {h: &a x, at: y}",
        "- {h: *a}",
        "- {h: nothing",
        "- h: block",
        "  at: style",
        "# a comment",
        "type: Note",
        "one",
        "\r",
        "é\x85x",
    ]
)


@settings(max_examples=400, deadline=None)
@given(
    steps=_STEPS,
    odd=st.lists(st.tuples(st.integers(0, 30), _ODD), max_size=4),
    path=st.sampled_from([MEMORY, "notes/a.md", "index.md", "blob.txt"]),
)
def test_by_pieces_equals_whole(steps: list[tuple[str, str]], odd: list[tuple[int, str]], path: str) -> None:
    """For random histories, with odd lines anywhere: the entries are those of a version that is read alone."""
    file = CuratedFile.new(title="Memory")
    versions = [file.render()]
    for what, text in steps:
        known = file.get(entry_hash(text))
        if what == "add":
            file = file.add(text, AT)
        elif what == "remove":
            file = file.remove(entry_hash(text))
        elif known is not None and what == "verify":
            looked = replace(known, extra={"verified": "human:ada"})
            file = file.with_entries([looked, *(one for one in file.entries if one.key != known.key)])
        elif known is not None:
            file = file.replace(known.key.id, text + "!", AT)
        versions.append(file.render())
    for place, line in odd:
        lines = versions[-1].decode().split("\n")
        lines.insert(place % (len(lines) + 1), line)
        versions.append("\n".join(lines).encode())
    same(path, versions + versions[::-1])


def test_a_word_that_came_later_is_seen() -> None:
    """A text that a person vouched for after it came says so, though its version before did not."""
    plain = CuratedFile.new().add("one", AT)
    vouched = plain.with_entries([replace(plain.entries[0], extra={"verified": "human:ada"})])
    reader = CuratedVersions(MEMORY)
    assert [{}, {"verified": "human:ada"}, {}] == [
        dict(one.extra) for file in (plain, vouched, plain) for one in reader.entries(file.render()).values()
    ]


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"---\n",
        b"\xff",
        b"---\ntype: CuratedMemory\nentries:\n- {h: \xff}\n---\none",
        b"---\ntype: CuratedMemory\nentries:\n- {h: x}\n---\none\xff",
        b"---\ntype: CuratedMemory\nentries:\n- {h: x}\n---",
        b"---\ntype: CuratedMemory\nentries:\n- {h: x}\nentries:\n- {h: y}\n---\none",
        b"---\ntype: CuratedMemory\nentries:\n" + b"- {h: x}\n" * 40_000 + b"---\none",
        b"---\ntype: CuratedMemory\nentries:\n- {h: x}\n---\n" + b"one\n" * 400_000,
    ],
)
def test_what_cannot_be_read_by_pieces(data: bytes) -> None:
    """Bytes that are cut short, no UTF-8, twice the same key or too large are what they are when read alone."""
    same(MEMORY, [data, data])
