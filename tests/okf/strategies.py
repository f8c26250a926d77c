"""What the tests of this room draw from: texts and values of every kind that must survive."""

from __future__ import annotations

from hypothesis import strategies as st

# Any text that UTF-8 can hold; control characters, odd line ends and markup are drawn often.
ANY = st.text(st.characters(codec="utf-8"), max_size=60)
ODD = st.lists(
    st.sampled_from(
        [
            *(
                "\n",
                "\r\n",
                "\r",
                "\t",
                " ",
                "§",
                "\n§\n",
                "---",
                "\n---\n",
                "> ",
                "## ",
                "**a**",
                "<!-- event x -->",
            ),
            *(
                "#",
                ": ",
                "- ",
                "'",
                '"',
                "\\",
                "%",
                "%41",
                "&a",
                "*a",
                "\ufeff",
                "\u2028",
                "\x85",
                "\x00",
                "\x1f",
            ),
            *(
                "e\u0301",
                "é",
                "\U0001f600",
                "\u200b",
                "\u202e",
                "word",
                "2026-06-30",
                "yes",
                "1_0",
                "~",
                "null",
            ),
        ]
    ),
    max_size=8,
).map("".join)
TEXT = ANY | ODD
PLAIN_VALUES = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(10**30), 10**30)
    | st.floats(allow_nan=False)
    | TEXT
    | st.sampled_from(
        [
            "2026-06-30T14:00:00Z",
            "2026-06-30",
            "12:30",
            "0x1f",
            "1e5",
            "1.5",
            "y",
            "No",
            "=",
            "<<",
            "!x",
            "NULL",
        ]
    ),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(TEXT, inner, max_size=4),
    max_leaves=12,
)
MAPPINGS = st.dictionaries(TEXT, PLAIN_VALUES, max_size=5)
AT = "2026-06-30T14:00:00.000Z"

# Files of every kind, in their place and out of it, readable and not.
MEMORY = "memories/MEMORY.md"
ARCHIVE = "memories/archive/memory.md"
PATHS = st.sampled_from(
    [
        MEMORY,
        ARCHIVE,
        "index.md",
        "a/log.md",
        "tools/x.md",
        "x.py",
        "sessions/2026-06/s/w-0001.md",
        "README.md",
    ]
)
TYPES = st.sampled_from(["CuratedMemory", "SessionEvents", "UserProfile", "Decision", "[x]", ""])
DATA = st.one_of(
    st.binary(max_size=60),
    TEXT.map(str.encode),
    st.tuples(TYPES, TEXT, TEXT).map(
        lambda drawn: f"---\ntype: {drawn[0]}\nx: {drawn[1]}\n---\n{drawn[2]}".encode()
    ),
)
