"""Commits and tags of strangers: gitmem takes none that git refuses, whichever transport brought it."""

from __future__ import annotations

from pathlib import Path

import pytest
from gitmem.errors import RefusedFetch
from gitmem.git.objects import check_strictly

from tests.git.support import run_git, try_git

TREE = b"4b825dc642cb6eb9a060e54bf8d69288fbee4904"
WHO = b"A <a@b> 1800000000 +0000"
COMMIT = b"tree %s\nauthor %s\ncommitter %s\n\nhello\n" % (TREE, WHO, WHO)


def commit(author: bytes) -> bytes:
    return b"tree %s\nauthor %s\ncommitter %s\n\nhello\n" % (TREE, author, WHO)


COMMITS = {
    "good": COMMIT,
    "no-body": COMMIT.partition(b"\n\n")[0] + b"\n",
    "more-headers": COMMIT.replace(b"\n\n", b"\nencoding utf-8\ngpgsig -----BEGIN\n x\n\n", 1),
    "no-name": commit(b" <a@b> 1800000000 +0000"),
    "empty-address": commit(b"A <> 0 +0000"),
    "no-tree": COMMIT.partition(b"\n")[2],
    "short-tree": COMMIT.replace(TREE, TREE[:39]),
    "bad-parent": COMMIT.replace(b"author", b"parent xyz\nauthor", 1),
    "no-author": b"tree %s\ncommitter %s\n\nhello\n" % (TREE, WHO),
    "two-authors": b"tree %s\nauthor %s\nauthor %s\ncommitter %s\n\nx\n" % (TREE, WHO, WHO, WHO),
    "no-committer": b"tree %s\nauthor %s\n\nhello\n" % (TREE, WHO),
    "committer-first": b"tree %s\ncommitter %s\nauthor %s\n\nx\n" % (TREE, WHO, WHO),
    "address-first": commit(b"<a@b> 1800000000 +0000"),
    "no-address": commit(b"A 1800000000 +0000"),
    "no-space": commit(b"A<a@b> 1800000000 +0000"),
    "open-address": commit(b"A <a@b 1800000000 +0000"),
    "bracket-in-name": commit(b"A> <a@b> 1800000000 +0000"),
    "bracket-in-address": commit(b"A <a<b> 1800000000 +0000"),
    "no-space-before-date": commit(b"A <a@b>1800000000 +0000"),
    "no-date": commit(b"A <a@b>"),
    "date-in-words": commit(b"A <a@b> yesterday +0000"),
    "padded-date": commit(b"A <a@b> 01800000000 +0000"),
    "negative-date": commit(b"A <a@b> -5 +0000"),
    "huge-date": commit(b"A <a@b> 99999999999999999999999 +0000"),
    "no-zone": commit(b"A <a@b> 1800000000"),
    "short-zone": commit(b"A <a@b> 1800000000 +00"),
    "zone-in-words": commit(b"A <a@b> 1800000000 UTC"),
    "zero-byte-in-head": COMMIT.replace(b"A <", b"A\0 <", 1),
    "zero-byte-in-body": COMMIT.replace(b"hello", b"hel\0lo"),
    "empty": b"",
    "head-without-end": COMMIT.partition(b"\n\n")[0],
}


def ours(kind: str, raw: bytes) -> bool:
    try:
        check_strictly("0" * 40, kind.encode(), raw)
    except RefusedFetch:
        return False
    return True


@pytest.mark.parametrize("raw", COMMITS.values(), ids=COMMITS)
def test_a_commit_that_git_refuses_is_refused(tmp_path: Path, raw: bytes) -> None:
    """The same verdict as git's own checks, for each way in which a commit can be wrong."""
    run_git(tmp_path, "init", "-q")
    run_git(tmp_path, "mktree", stdin=b"")
    run_git(tmp_path, "hash-object", "-t", "commit", "-w", "--literally", "--stdin", stdin=raw)
    done = try_git(tmp_path, "fsck", "--strict", "--no-dangling")
    assert (done.returncode == 0) == ours("commit", raw), done.stderr


@pytest.mark.parametrize(
    ("old", "new"),
    [
        (b"", b""),
        (b"object ", b"thing "),
        (b"type commit", b"type blob"),
        (b"tag x\n", b""),
        (b"tagger A <a@b>", b"tagger <a@b>"),
        (b"hello", b"\0"),
        (b"+0000", b"z"),
    ],
)
def test_a_tag_that_is_damaged_is_refused(old: bytes, new: bytes) -> None:
    """A tag is on a commit, has a name and, where it has a tagger, a proper one."""
    good = b"object %s\ntype commit\ntag x\ntagger %s\n\nhello\n" % (TREE, WHO)
    assert ours("tag", good.replace(old, new)) == (old == new)
    assert ours("tag", b"object %s\ntype commit\ntag x\n\nhello\n" % TREE)
    assert not ours("blob", good)
