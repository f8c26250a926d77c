"""A tree object changed in its bytes is the one that is made from its entries."""

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
def test_patched_equals_rendered(
    before: dict[bytes, TreeEntry], changes: dict[bytes, TreeEntry | None]
) -> None:
    """Bytes and entries are the same whether a change is laid over the bytes or all of them are made again."""
    empty = Directory({}, b"")
    old = empty.changed(before)
    kept = {name: entry for name, entry in {**before, **changes}.items() if entry is not None}
    rendered = empty.changed(kept)
    patched = old._patched(changes)

    assert rendered == Directory.parse(rendered.raw)
    if patched is not None:
        assert (rendered.raw, list(rendered.entries.items())) == (patched.raw, list(patched.entries.items()))
    assert rendered == old.changed(changes)
