"""Our own reader of packs: it must see what git sees, in packs with deltas too, and report damage."""

from __future__ import annotations

import functools
import random
import shutil
import sys
from pathlib import Path

import pytest
from gitmem.errors import BundleUnusable, MissingObject
from gitmem.git.git_directory import open_repository
from gitmem.git.message import Message
from gitmem.git.objects import Person
from gitmem.git.repository import Repository
from gitmem.git.store import ObjectStore
from gitmem.git.transaction import Draft, publish
from gitmem.git.tree import Tree

from tests.git.support import Git

WHO = Person("a", "a@example.org", 1_800_000_000)


def grow(repository: Repository, commits: int) -> None:
    """Commits that change a line here and there, so that git finds deltas."""
    chance = random.Random(commits)
    lines = {f"d{n}/f.md": [f"line {i} {chance.random()}\n" for i in range(80)] for n in range(3)}
    for _ in range(commits):
        for text in lines.values():
            text[chance.randrange(80)] = f"changed {chance.random()}\n"
        edits = {path: "".join(text).encode() for path, text in lines.items()}
        draft = Draft(edits, Message("flush", "x"), WHO, WHO)
        publish(repository, functools.partial(_always, draft), purpose="test")


def objects_by_git(git: Git) -> dict[str, tuple[bytes, int]]:
    """Id, type and size of all objects, as git tells them."""
    listed = git("cat-file", "--batch-check", "--batch-all-objects").splitlines()
    return {oid: (kind.encode(), int(size)) for oid, kind, size in map(str.split, listed)}


@pytest.mark.parametrize("packed_by_git", [False, True])
def test_every_object_reads_as_git_reads_it(repository: Repository, git: Git, packed_by_git: bool) -> None:
    """All objects of many small packs, or of one with deltas, are found."""
    grow(repository, 40)
    if packed_by_git:
        git("gc", "--quiet", "--prune=now")
        assert "chain length" in git("verify-pack", "-s", *_indexes(repository))
    store = open_repository(repository.root).store

    found = {oid: store.read(oid) for oid in objects_by_git(git)}

    assert objects_by_git(git) == {oid: (kind, len(content)) for oid, (kind, content) in found.items()}
    measured = open_repository(repository.root).store  # which has built none of them
    assert objects_by_git(git) == {oid: measured.measure(oid) for oid in found}


def test_deltas_by_name_are_followed(repository: Repository, git: Git) -> None:
    """A pack whose deltas name their bases, as some servers send them, is read too."""
    grow(repository, 20)
    expected = objects_by_git(git)
    git("-c", "repack.useDeltaBaseOffset=false", "repack", "-adfq")
    store = open_repository(repository.root).store

    assert expected.keys() == {oid for oid in expected if store.read(oid)}


def test_packs_joined_meanwhile_are_found_again(repository: Repository, git: Git) -> None:
    """A reader that knows the old packs finds everything after git has put them into one."""
    grow(repository, 10)
    store = open_repository(repository.root).store
    oids = objects_by_git(git)
    first = next(iter(oids))
    store.read(first)

    git("repack", "-adq")

    assert all(store.read(oid) for oid in oids)


def test_a_missing_object_is_told(repository: Repository) -> None:
    """What is in no pack and not loose either is missing, and said so."""
    grow(repository, 1)
    with pytest.raises(MissingObject):
        repository.store.read("12" * 20)
    assert "12" * 20 not in repository.store


@pytest.mark.parametrize("suffix", [".idx", ".pack"])
@pytest.mark.parametrize("damage", ["empty", "cut", "magic"])
def test_damaged_packs(repository: Repository, tmp_path: Path, suffix: str, damage: str) -> None:
    """Whatever is not as expected raises one error, which names the pack and the command to run."""
    grow(repository, 3)
    oid = repository.tip() or ""
    directory = tmp_path / "pack"
    shutil.copytree(repository.store.pack_directory, directory)
    for path in directory.glob(f"*{suffix}"):
        data = path.read_bytes()
        path.chmod(0o644)
        path.write_bytes(
            {"empty": b"", "cut": data[: 1100 if suffix == ".idx" else 20], "magic": b"\0" * 8 + data[8:]}[
                damage
            ]
        )
    reader = ObjectStore("", repository.state, objects=str(tmp_path))
    if (suffix, damage) == (".pack", "magic"):  # the object itself is still whole
        assert reader.read(oid) == repository.store.read(oid)
    else:
        with pytest.raises(BundleUnusable):
            reader.read(oid)


def test_dulwich_is_not_imported_to_read(repository: Repository) -> None:
    """Reading a bundle does not pay for the import of dulwich."""
    import subprocess

    grow(repository, 3)
    code = (
        "import sys\nfrom gitmem.git.git_directory import open_repository\n"
        "r = open_repository(sys.argv[1])\nassert r.tree(r.tip()).read('d1/f.md')\n"
        "assert 'dulwich' not in sys.modules"
    )
    subprocess.run([sys.executable, "-c", code, repository.root], check=True)


def _indexes(repository: Repository) -> list[str]:
    directory = Path(repository.store.pack_directory)
    return [str(path) for path in directory.glob("*.idx")]


def _always(draft: Draft, _: Tree) -> Draft:
    return draft
