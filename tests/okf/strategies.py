"""What the tests of this room draw from: texts and values of every kind that must survive."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from gitmem.okf.concept import Concept
from gitmem.okf.curated import CuratedFile
from gitmem.okf.entries import Entry, EntryKey, section_key
from gitmem.okf.events import Event, EventsFile
from gitmem.okf.pages import LogLine, index_page, log_page
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
        "sessions/2026-06/30/s/w-0001.md",
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


# --- versions of one file, for merges -------------------------------------------------------------
# Drawn from so little that the sides often share a thing, miss it, or rewrite the same one.

_STAMPS = (AT, "2026-06-30T14:00:00.001Z", "2026-07-01T00:00:00.000Z")
_SECTIONS = ("one", "two", "three", "four\nlines §", "e\u0301", "é")
_IDS = ("w-1", "w-01", "w-2", "w-10", "v-1", "w-²", "w-" + "9" * 5000, "loose")
# Equal in Python and not in YAML, so that a change from one to the other must not be missed.
_ODD_VALUES = (None, 1, True, 1.0, 0, "1")
_TAGS = st.lists(st.sampled_from(["a", "b", "c", 1, True]), max_size=4)

_TURNS = st.lists(st.sampled_from(["00000000000a", "00000000000b#call_1", f"{'0' * 32}-7"]), unique=True).map(
    sorted
)

FRONTS = st.fixed_dictionaries(
    {},
    optional={
        "title": st.sampled_from(["one", "two"]),
        "tags": _TAGS | st.just("a"),
        "generated": st.sampled_from(_STAMPS).map(lambda at: {"by": "gitmem", "at": at}) | st.just("once"),
        "odd": st.sampled_from(_ODD_VALUES),
        "turns": _TURNS,
    },
)
SECTION_ENTRIES = st.dictionaries(
    st.sampled_from(_SECTIONS), st.tuples(st.sampled_from(["", *_STAMPS]), _TURNS)
).map(
    lambda found: tuple(
        Entry(section_key(text), text, at, extra={"turns": turns} if turns else {})
        for text, (at, turns) in found.items()
    )
)
EVENT_LISTS = st.dictionaries(
    st.sampled_from(_IDS),
    st.tuples(
        st.sampled_from(["said", "edited by hand"]), st.sampled_from(["", "00000000000a", "00000000000b"])
    ),
).map(
    lambda found: [
        Event(name, "observation", AT, {"text": text}, turn=turn) for name, (text, turn) in found.items()
    ]
)
LOG_LINES = st.lists(
    st.builds(
        LogLine,
        st.sampled_from(_STAMPS),
        st.just("Decision"),
        st.sampled_from(["first", "second"]),
        st.sampled_from(["", *_IDS[:4]]),
    ),
    max_size=5,
)


def curated_file(front: Mapping[str, object], entries: Iterable[Entry]) -> bytes:
    return CuratedFile(Concept({"type": "CuratedMemory", **front}, "")).with_entries(entries).render()


def events_file(front: Mapping[str, object], events: Iterable[Event], note: str = "") -> bytes:
    return EventsFile(Concept({"type": "SessionEvents", **front}, note)).append(events).render()


def concept_file(front: Mapping[str, object], body: str) -> bytes:
    return Concept({"type": "Decision", **front}, body).render()


def retraction_file(state: str, counter: object, by: str = "", turns: Iterable[str] = ()) -> bytes:
    listed = list(turns) or None
    return Concept.new("Retraction", "", state=state, counter=counter, by=by, turns=listed).render()


BODIES = st.sampled_from(["", "old\n", "new\n", "newer\n"])
NOTES = st.sampled_from(["", "", "", "a person's note\n", "another note\n"])
RETRACTION_FILES = st.builds(
    retraction_file,
    st.sampled_from(["released", "held", "reverted", "erased", "unknown"]),
    st.sampled_from([0, 1, 2, 10, "2"]),
    st.sampled_from(["ada", "bob"]),
    _TURNS,
)
BLOBS = st.binary(max_size=3)
# Each kind of file with a path where it is at home, and what may be there.
VERSIONS: dict[str, st.SearchStrategy[bytes]] = {
    "memories/MEMORY.md": st.builds(curated_file, FRONTS, SECTION_ENTRIES)
    | st.lists(st.sampled_from(_SECTIONS), max_size=3).map(lambda texts: "\n§\n".join(texts).encode()),
    "sessions/2026-06/30/s1/w-0001.md": st.builds(events_file, FRONTS, EVENT_LISTS, NOTES),
    "decisions/tabs_2026-06-30.md": st.builds(concept_file, FRONTS, BODIES),
    "retractions/01/0123456789abcdef0123456789abcdef.md": RETRACTION_FILES,
    "log.md": LOG_LINES.map(log_page),
    "decisions/index.md": st.lists(st.sampled_from(["a.md", "b.md"]), max_size=2).map(
        lambda names: index_page("decisions", names, ())
    ),
    "skills/a/b/assets/logo.bin": BLOBS,
}
KEYS = [section_key(text) for text in _SECTIONS] + [EntryKey("event", name) for name in _IDS]
