"""Housekeeping: a store becomes as small as git makes it, with git and without it, and nothing is lost."""

from __future__ import annotations

import random
import shutil
from pathlib import Path

import pytest
from gitmem.git import housekeeping
from gitmem.git.git_directory import open_repository
from gitmem.git.packs import delta
from gitmem.git.repository import Repository
from hypothesis import given
from hypothesis import strategies as st

from tests.git.support import append, run_git, save
from tests.trees import copied


def _a_life(repository: Repository) -> None:
    """Some parts that grow at their ends, a page that grows at its top, and a file that is rewritten."""
    chance = random.Random(7)
    words = ["".join(chance.choices("abcdefghij", k=6)) for _ in range(500)]
    top: list[str] = []
    for number in range(120):
        line = " ".join(chance.choices(words, k=30))
        append(repository, f"parts/{number % 5}.md", f"{line}\n".encode())
        top.insert(0, f"* {line[:60]}")
        save(repository, {"log.md": "\n".join(top).encode(), f"notes/{number:03}.md": line.encode()})
    save(repository, {"notes/000.md": None, "parts/0.md": b"all anew\n"})


def _size(root: str) -> int:
    packs = Path(root, ".git/objects/pack")
    return sum(path.stat().st_size for path in packs.iterdir())


@pytest.mark.parametrize(("with_git", "at_most"), [(True, 1.2), (False, 1.5)])
def test_a_store_becomes_small(
    repository: Repository,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    with_git: bool,
    at_most: float,
) -> None:
    """Against `git repack -adf` of a copy; joining packs has done nearly all of it before."""
    _a_life(repository)
    run_git(repository.root, "tag", "snapshot/one")
    repository.store.tidy()
    copied(repository.root, tmp_path / "copy")
    run_git(tmp_path / "copy", "repack", "-adfq")
    expected = run_git(repository.root, "rev-list", "--objects", "--all")
    if not with_git:
        monkeypatch.setattr(shutil, "which", lambda _: None)
        assert not housekeeping.due(repository)
    done = housekeeping.clean(repository)
    assert ("git" if with_git else "gitmem") == done.by
    assert _size(repository.root) <= at_most * _size(str(tmp_path / "copy"))
    assert done.after.packs == 1
    assert "refs/tags/snapshot/one" in Path(repository.git_dir, "packed-refs").read_text()
    assert expected == run_git(repository.root, "rev-list", "--objects", "--all")
    assert "" == run_git(repository.root, "fsck", "--strict", "--full")
    fresh = open_repository(repository.root).store
    assert all(fresh.read(line[:40]) for line in expected.split("\n"))
    append(repository, "parts/1.md", b"and it goes on\n")


_LINES = st.lists(
    st.sampled_from([b"one line\n", b"another line\n", b"x\n", b"\r", b"no end", b""]), max_size=30
)


@given(
    _LINES.map(b"".join),
    _LINES.map(b"".join),
    st.binary(max_size=70_000),
    st.sampled_from([b"blob", b"tree"]),
)
def test_a_delta_gives_the_target(old: bytes, new: bytes, same: bytes, kind: bytes) -> None:
    """As dulwich, which reads them too, applies it; a tree that is none is taken by lines."""
    from dulwich.pack import apply_delta

    for base, target in ((old + same, new + same), (old, new), (same + old, same), (b"", new)):
        assert target == b"".join(apply_delta(base, delta(kind, base, target)))


def test_a_delta_of_a_tree_copies_its_entries() -> None:
    """An entry that changed is all that is stored."""
    entries = [b"100644 %03d.md\0" % number + bytes([number]) * 20 for number in range(200)]
    changed = [*entries[:7], b"100644 007.md\0" + b"x" * 20, *entries[8:]]
    assert len(delta(b"tree", b"".join(changed), b"".join(entries))) < 80


def test_joined_packs_have_deltas_along_time(repository: Repository) -> None:
    """Without housekeeping a page that is rewritten costs its changed lines, and everything can be read."""
    chance = random.Random(3)
    lines = [f"* {chance.randrange(10**40)}" for _ in range(60)]
    texts = []
    for number in range(200):
        lines = [f"* {number} {chance.randrange(10**40)}", *lines[:59]]
        texts.append("\n".join(lines).encode())
        save(repository, {"log.md": texts[-1], f"notes/{number:03}.md": b"a note\n"})
        repository.store.tidy()
    assert _size(repository.root) < 0.35 * sum(map(len, texts))
    assert "" == run_git(repository.root, "fsck", "--strict", "--full")
    commits = run_git(repository.root, "rev-list", "--reverse", "HEAD").split()[-200:]
    fresh = open_repository(repository.root)
    assert texts == [fresh.tree(commit).read("log.md") for commit in commits]
    depths = run_git(
        repository.root,
        "verify-pack",
        "-v",
        *map(str, Path(repository.root, ".git/objects/pack").glob("*.idx")),
    )
    chains = [
        int(line.split()[3].rstrip(":")) for line in depths.splitlines() if line.startswith("chain length")
    ]
    assert 10 < max(chains) <= 32


def test_a_version_that_came_back_makes_no_circle(repository: Repository) -> None:
    """Two texts in turns: each replaced the other."""
    texts = [b"first line\n" * 40 + b"%d\n" % number for number in range(2)]
    for number in range(60):
        save(repository, {"a.md": texts[number % 2], "n.md": b"%d\n" % number})
        repository.store.tidy()
    assert "" == run_git(repository.root, "fsck", "--strict", "--full")
    assert texts[1] == open_repository(repository.root).tree(
        run_git(repository.root, "rev-parse", "HEAD").strip()
    ).read("a.md")
