"""What the index takes short cuts to is what the long way gives."""

from __future__ import annotations

import re

from gitmem.index import grams
from gitmem.index.documents import appended, documents_of
from gitmem.index.marking import counter
from gitmem.index.query import Term
from gitmem.okf.events import Event, EventsFile
from gitmem.text.words import fold
from hypothesis import given
from hypothesis import strategies as st

PART = "sessions/2026-06/30/s1/w-0001.md"
_SAID = st.sampled_from(
    [
        "plain",
        "two\nlines",
        "## turn",
        "<!-- event w-1 -->",
        "---",
        "\n\nblank",
        "getUserName2",
        "ends with ",
        "é",
    ]
)
_EVENTS = st.lists(st.tuples(st.sampled_from(["turn", "observation", "held"]), _SAID), min_size=1, max_size=4)


def _events(said: list[tuple[str, str]], first: int) -> list[Event]:
    return [
        Event(f"w-{number}", kind, f"2026-06-30T15:00:{number:02d}.000Z", {"content": text})
        for number, (kind, text) in enumerate(said, start=first)
    ]


@given(_EVENTS, _EVENTS, st.sampled_from(["", "\n", "more", "\n## turn\n", "\n<!-- event w-1 -->\n"]))
def test_what_a_part_gained_equals_the_part_read_whole(
    before: list[tuple[str, str]], after: list[tuple[str, str]], odd: str
) -> None:
    """The documents of a part that grew are those it had and those it gained, also when something odd follows."""
    file = EventsFile.new("s1").append(_events(before, 1))
    old = file.render()
    new = file.append(_events(after, 1 + len(before))).render() + odd.encode()
    gained = appended(old, new, PART)
    if not odd:
        assert gained is not None
    if gained is not None:
        assert documents_of(PART, new) == documents_of(PART, old) + gained


@given(
    st.lists(
        st.sampled_from(
            ["plain", "getUserName2", "A1b2C3d4", "x" * 25, "deadbeef00ff", "a_b", "É9éx", "v2ray2x"]
        )
    )
)
def test_identifiers_by_looks_equal_the_pattern(words: list[str]) -> None:
    """Words that look plain hold no identifier, so leaving them out finds the same ones."""
    text = " ".join(words)
    by_pattern = dict.fromkeys(
        name.lower() for name in grams._IDENTIFIER.findall(text) if not grams._HEX.fullmatch(name)
    )
    assert list(by_pattern) == grams._identifiers(text)


@given(
    st.sampled_from(["deploy", "deploys", "café", "ran", "running", "dissertation"]),
    st.lists(
        st.sampled_from(
            [
                "deploy",
                "Deployed",
                "deploying",
                "café",
                "CAFE",
                "run",
                "ran",
                "x_deploy",
                "redeploy",
                "dissertation",
            ]
        )
    ),
)
def test_a_plain_piece_first_counts_the_same(word: str, words: list[str]) -> None:
    """A text without the beginning of a word has none of its forms; the word itself always counts."""
    from gitmem.text.stem import stem

    text, wanted = " ".join(words), stem(fold(word))
    runs = re.findall(r"[^\W_]+", fold(text))
    assert sum(stem(run) == wanted for run in runs) == counter(Term("word", word))(fold(text))
