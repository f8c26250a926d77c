"""Comparing trees: what the raw comparison gives is what git gives, and a hostile tree gets no further."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest
from gitmem.errors import BundleUnusable, RefusedFetch
from gitmem.git import tree, untrusted_trees
from gitmem.git.objects import DIRECTORY, EMPTY_TREE, EXECUTABLE, FILE, Directory, GitObject, Oid, TreeEntry
from gitmem.git.repository import Repository
from gitmem.git.tree import Tree, TreeChange, TreeDiff
from gitmem.git.untrusted_trees import UntrustedTrees
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.git.support import Git, make_repository, run_git

# Names that sort otherwise as files than as directories, so that the order is put to the test too.
_NAMES = st.sampled_from(["a", "a.b", "a-b", "b", "é.md", "z"])
_TREES = st.dictionaries(
    st.lists(_NAMES, min_size=1, max_size=3).map("/".join),
    st.tuples(st.sampled_from([FILE, EXECUTABLE]), st.sampled_from([b"1\n", b"2\n", b"3\n"])),
    max_size=8,
)

Files = Mapping[str, tuple[int, bytes]]


def tree_of(repository: Repository, files: Files) -> Oid:
    """A tree of these files; where one is in the way of another, the shorter path stays."""
    made: list[GitObject] = []

    def laid(level: dict[str, object]) -> Oid:
        entries: dict[bytes, TreeEntry | None] = {}
        for name, what in level.items():
            if isinstance(what, dict):
                entries[name.encode()] = TreeEntry(DIRECTORY, laid(what))
            else:
                assert isinstance(what, tuple)
                blob = GitObject.of(b"blob", what[1])
                made.append(blob)
                entries[name.encode()] = TreeEntry(what[0], blob.oid)
        made.append(GitObject.of(b"tree", Directory({}, b"").changed(entries).raw))
        return made[-1].oid

    root: dict[str, object] = {}
    for path in sorted(files, key=len):
        level, blocked = root, False
        *above, name = path.split("/")
        for part in above:
            below = level.setdefault(part, {})
            blocked = blocked or not isinstance(below, dict)
            level = below if isinstance(below, dict) else {}
        if not blocked and name not in level:
            level[name] = files[path]
    oid = laid(root)
    repository.store.write(made)
    return oid


def by_git(root: str, old: Oid, new: Oid) -> set[TreeChange]:
    """The changes as `git diff-tree` lists them."""
    run_git(
        root, "hash-object", "-t", "tree", "-w", "--stdin", stdin=b""
    )  # git wants the empty tree to be there
    words = run_git(root, "diff-tree", "-r", "-z", "--raw", "--no-renames", old, new).split("\0")
    found = set()
    for about, path in zip(words[::2], words[1::2], strict=False):
        old_mode, new_mode, old_oid, new_oid, _ = about[1:].split(" ")
        was = TreeEntry(int(old_mode, 8), old_oid) if int(old_mode) else None
        now = TreeEntry(int(new_mode, 8), new_oid) if int(new_mode) else None
        # A file that became a directory, or the other way round, git lists as two changes too.
        found.add(TreeChange(path, was, now))
    return found


def plainly(repository: Repository, old: Oid, new: Oid) -> set[TreeChange]:
    """The changes by the plain way: every file of both trees, one by one."""
    left, right = (dict(Tree(repository.store, oid).files()) for oid in (old, new))
    return {
        TreeChange(path, left.get(path), right.get(path))
        for path in left.keys() | right.keys()
        if left.get(path) != right.get(path)
    }


@pytest.fixture(scope="module")
def shared() -> Iterator[Repository]:
    """One repository for all examples: trees do not get in each other's way."""
    with tempfile.TemporaryDirectory() as directory:
        made = make_repository(str(Path(directory) / "b"))
        yield made
        made.store.close()


@settings(max_examples=150, deadline=None, suppress_health_check=list(HealthCheck))
@given(row=st.lists(_TREES, min_size=2, max_size=5), small=st.booleans())
def test_raw_comparison_equals_the_plain_way(shared: Repository, row: list[Files], small: bool) -> None:
    """For rows of random trees: what differs as raw entries differs file by file, also when the cache is full."""
    oids = [tree_of(shared, files) for files in row]
    with pytest.MonkeyPatch.context() as patch:
        if small:
            patch.setattr(tree, "_CACHED", 2)
        kept, wary = TreeDiff(shared.store), UntrustedTrees(shared.store)
        for old, new in zip([EMPTY_TREE, *oids], [*oids, EMPTY_TREE], strict=True):
            found = list(kept.changes(old, new))
            assert plainly(shared, old, new) == set(found)
            assert len(found) == len(set(found))
            assert list(Tree(shared.store, old).changes(Tree(shared.store, new))) == found
            if all(change.new is None or change.new.mode == FILE for change in found):
                entered = [change for change in found if change.new is not None]
                assert [change for change in wary.changes(old, new) if change.new is not None] == entered


def test_equals_git(shared: Repository) -> None:
    """A file that became a directory, one that became a program, an added and a removed one: as git lists them."""
    old = tree_of(
        shared, {"a": (FILE, b"1"), "b/c.md": (FILE, b"1"), "run": (FILE, b"1"), "same/x": (FILE, b"1")}
    )
    new = tree_of(
        shared, {"a/b": (FILE, b"1"), "b": (FILE, b"1"), "run": (EXECUTABLE, b"1"), "same/x": (FILE, b"1")}
    )
    for left, right in ((old, new), (new, old), (EMPTY_TREE, new), (new, EMPTY_TREE)):
        assert by_git(shared.root, left, right) == set(TreeDiff(shared.store).changes(left, right))


def test_below_a_path(shared: Repository) -> None:
    """Only what is at or below the path is given, whether it is a file, a directory or gone."""
    old = Tree(shared.store, tree_of(shared, {"a": (FILE, b"1"), "d/e/f": (FILE, b"1"), "d/x": (FILE, b"1")}))
    new = Tree(
        shared.store, tree_of(shared, {"a": (FILE, b"2"), "d/e/f": (FILE, b"2"), "d/e/g": (FILE, b"1")})
    )
    assert ["a", "d/e/f", "d/e/g", "d/x"] == [change.path for change in old.changes(new)]
    assert ["d/e/f", "d/e/g"] == [change.path for change in old.changes(new, "d/e")]
    assert ["d/x"] == [change.path for change in old.changes(new, "d/x")]
    assert [] == list(old.changes(new, "nowhere"))


def test_a_damaged_tree_is_not_skipped_over(repository: Repository, git: Git) -> None:
    """Bytes that are not entries stop the comparison: a part of a tree is never taken for all of it."""
    whole = b"100644 a.md\0" + b"\1" * 20
    for raw in (whole + b"junk", b"junk" + whole, whole[:-1]):
        oid = git("hash-object", "-t", "tree", "-w", "--literally", "--stdin", stdin=raw)
        with pytest.raises(BundleUnusable, match="damaged"):
            list(TreeDiff(repository.store).changes(EMPTY_TREE, oid))


# Trees that somebody else made


def refused(repository: Repository, new: Oid, old: Oid = EMPTY_TREE) -> str:
    with pytest.raises(RefusedFetch) as stop:
        list(UntrustedTrees(repository.store).changes(old, new))
    return str(stop.value)


def raw_tree(repository: Repository, *entries: tuple[bytes, bytes, Oid]) -> Oid:
    """A tree with these entries as they are, whatever git thinks of them."""
    tree = GitObject.of(
        b"tree", b"".join(b"%s %s\0%s" % (mode, name, bytes.fromhex(oid)) for mode, name, oid in entries)
    )
    repository.store.write([tree])
    return tree.oid


@pytest.fixture
def blob(repository: Repository) -> Oid:
    made = GitObject.of(b"blob", b"text\n")
    repository.store.write([made])
    return made.oid


@pytest.mark.parametrize(
    ("entries", "reason"),
    [
        ([(b"100644", b"b"), (b"100644", b"a")], "damaged"),
        ([(b"100644", b"a"), (b"100644", b"a")], "damaged"),
        ([(b"0100644", b"a")], "damaged"),
        ([(b"040000", b"a")], "damaged"),
        ([(b"120000", b"a")], "link"),
        ([(b"160000", b"a")], "link"),
        ([(b"100664", b"a")], "special file"),
        ([(b"100755", b"a.sh")], "program"),
        ([(b"100644", b".git")], "must not enter"),
        ([(b"100644", b"..")], "must not enter"),
        ([(b"100644", b"a/b.md")], "must not enter"),
        ([(b"100644", b"\xff.md")], "must not enter"),
        ([(b"100644", b"A.md"), (b"100644", b"a.md")], "one file"),
        ([(b"40000", b"a")], "where a directory belongs"),
    ],
)
def test_hostile_entries_are_refused(
    repository: Repository, blob: Oid, entries: list[tuple[bytes, bytes]], reason: str
) -> None:
    """Each kind of entry that must not enter is refused with its reason, at the root and below it."""
    oid = raw_tree(repository, *((mode, name, blob) for mode, name in entries))
    assert reason in refused(repository, oid)
    assert reason in refused(repository, raw_tree(repository, (b"40000", b"below", oid)))


def test_limits_hold(repository: Repository, blob: Oid, monkeypatch: pytest.MonkeyPatch) -> None:
    """Depth, number of files, places of one tree and size of a directory are bounded."""
    deep = wide = raw_tree(repository, (b"100644", b"a.md", blob))
    for _ in range(40):
        deep = raw_tree(repository, (b"40000", b"d", deep))
    assert "more than 32 components" in refused(repository, deep)
    for _ in range(11):  # 2,048 places of one small tree
        wide = raw_tree(repository, (b"40000", b"l", wide), (b"40000", b"r", wide))
    assert "more than 1,000 places" in refused(repository, wide)
    many = raw_tree(repository, *((b"100644", b"%03d.md" % number, blob) for number in range(100)))
    monkeypatch.setattr(untrusted_trees, "MAX_FILES", 99)
    assert "more than 99 files" in refused(repository, many)
    monkeypatch.setattr(untrusted_trees, "MAX_FILE_BYTES", 1000)
    assert "a directory of 0 MB" in refused(repository, many)


def test_what_was_removed_is_not_looked_into(repository: Repository, blob: Oid) -> None:
    """A removed directory costs nothing, so removing one again and again does not either: its tree is not read."""
    absent = "1" * 40
    old = raw_tree(
        repository, (b"40000", b"gone", absent), (b"100644", b"kept.md", blob), (b"40000", b"turned", absent)
    )
    new = raw_tree(repository, (b"100644", b"kept.md", blob), (b"100644", b"turned", blob))
    trees = UntrustedTrees(repository.store)
    assert [TreeChange("turned", None, TreeEntry(FILE, blob))] == list(trees.changes(old, new))
    assert 1 == trees.files
