"""A tree object that was changed is the one that is made from its entries."""

from __future__ import annotations

from gitmem.git.objects import DIRECTORY, EXECUTABLE, FILE, Directory, TreeEntry
from hypothesis import given
from hypothesis import strategies as st

# Names of which one begins another: as a directory each sorts as if it ended in a slash.
_NAMES = st.sampled_from([b"a", b"a-b", b"a.md", b"a0", b"b", b"b.md", b"\xc3\xa9", b"z"])
_ENTRIES = st.builds(
    TreeEntry, st.sampled_from([FILE, EXECUTABLE, DIRECTORY]), st.sampled_from(["1" * 40, "2" * 40, "3" * 40])
)


@given(st.dictionaries(_NAMES, _ENTRIES), st.dictionaries(_NAMES, st.one_of(st.none(), _ENTRIES)))
def test_a_change_is_as_if_all_were_made_again(
    before: dict[bytes, TreeEntry], changes: dict[bytes, TreeEntry | None]
) -> None:
    """In git's order, whatever was there before; what is read back is the same."""
    empty = Directory({}, b"")
    kept = {name: entry for name, entry in {**before, **changes}.items() if entry is not None}
    rendered = empty.changed(kept)
    assert rendered == Directory.parse(rendered.raw)
    assert rendered == empty.changed(before).changed(changes)
