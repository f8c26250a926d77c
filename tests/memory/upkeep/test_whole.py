"""The proof that a bundle is whole finds each kind of damage."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator
from datetime import datetime
from pathlib import Path

import pytest
from gitmem.config import Config
from gitmem.errors import BundleUnusable
from gitmem.git.git_directory import open_repository
from gitmem.git.message import Message
from gitmem.git.objects import FILE, GitObject, Person, TreeEntry, render_commit
from gitmem.memory.memory import Memory
from gitmem.memory.upkeep.checks import Checks, Problem
from gitmem.memory.upkeep.create import create
from gitmem.world import World

from tests.git.support import run_git

NOTE = b"---\ntype: Note\n---\n"


@pytest.fixture
def bundle(tmp_path: Path, clock: Callable[[], datetime]) -> Iterator[Memory]:
    """A bundle that is not looked at in the end: these tests spoil it."""
    made, _ = create(
        World(os.environ, clock=clock, person="ada"),
        str(tmp_path / "mem"),
        config=Config(machine="laptop"),
        python=sys.executable,
    )
    yield made
    made.repository.store.close()


def _found(bundle: Memory, *, history: bool = False) -> list[Problem]:
    return [problem for problem in Checks(bundle, history=history).run() if problem.serious]


def _checks(bundle: Memory, *, history: bool = False) -> set[str]:
    return {finding.check for finding in _found(bundle, history=history)}


def _commit(bundle: Memory, files: dict[bytes, TreeEntry], message: str, committer: str = "gitmem") -> None:
    """A commit as a stranger could make it: no rule is kept."""
    store = bundle.repository.store
    tree = GitObject.of(b"tree", store.tree_object(bundle.tree().oid).changed(files).raw)
    who = Person(committer, "x@y", 1_782_828_000)
    commit = render_commit(tree.oid, (bundle.tip,), who, who, message)
    store.write([tree, commit])
    assert bundle.repository.refs.set("refs/heads/main", commit.oid, expected=bundle.tip)


def _blob(bundle: Memory, data: bytes, mode: int = FILE) -> TreeEntry:
    blob = GitObject.of(b"blob", data)
    bundle.repository.store.write([blob])
    return TreeEntry(mode, blob.oid)


def test_a_new_bundle_is_whole(bundle: Memory) -> None:
    """Nothing is found, and everything was counted."""
    checks = Checks(bundle, history=True)
    assert [] == [problem for problem in checks.run() if problem.serious]
    assert (1, 7) == (checks.commits, checks.files)


def test_a_bundle_with_content_is_whole(bundle: Memory) -> None:
    """What gitmem itself writes passes."""
    bundle.record_decision("Use git", "it is there", ["storage"])
    bundle.record_observation("The sky is blue")
    assert _found(bundle, history=True) == []


@pytest.mark.parametrize(
    ("name", "data", "mode", "told"),
    [
        (b"a.md", b"no front matter", FILE, "does not begin with front matter"),
        (b"a.md", b"\xff\xfe", FILE, "not UTF-8"),
        (b"link", b"/etc/passwd", 0o120000, "symbolic link"),
        (b"CON", b"x", FILE, "names a device"),
        (b"bad\x1bname.md", NOTE, FILE, "control character"),
        (b"\xff.md", NOTE, FILE, "UTF-8"),
        (b".gitattributes", b"* filter=x", FILE, ".gitattributes"),
        (b"setuid", b"x", 0o104755, "mode 104755"),
    ],
)
def test_a_file_that_must_not_be_there(
    bundle: Memory, name: bytes, data: bytes, mode: int, told: str
) -> None:
    """Content, path and mode of every file are checked."""
    _commit(bundle, {name: _blob(bundle, data, mode)}, "edit: x\n\nKind: edit\n")
    assert any(told in finding.what for finding in _found(bundle) if finding.check == "files")


def test_paths_that_collide(bundle: Memory) -> None:
    """Two names that are one name elsewhere."""
    entry = _blob(bundle, NOTE)
    _commit(bundle, {b"a.md": entry, b"A.md": entry}, "edit: x\n\nKind: edit\n")
    assert any("ignores case" in problem.what for problem in _found(bundle))


def test_the_history_is_checked_on_demand(bundle: Memory) -> None:
    """A bad file that was repaired since is found in the whole history only."""
    _commit(bundle, {b"a.md": _blob(bundle, b"bad")}, "edit: x\n\nKind: edit\n")
    _commit(bundle, {b"a.md": _blob(bundle, NOTE)}, "edit: y\n\nKind: edit\n")
    run_git(bundle.root, "reset", "-q", "--hard")
    assert _found(bundle) == []
    assert _checks(bundle, history=True) == {"files"}


def test_an_object_that_is_gone(bundle: Memory) -> None:
    """A missing blob is told by the check of objects, and stops no other check."""
    _commit(bundle, {b"a.md": TreeEntry(FILE, "1" * 40)}, "edit: x\n\nKind: edit\n")
    found = _found(bundle)
    assert any("1" * 40 in finding.what for finding in found if finding.check == "objects")


def test_refs_and_head(bundle: Memory) -> None:
    """A damaged branch, a lost one, a HEAD that is none."""
    path = Path(bundle.repository.git_dir)
    branch = path / "refs/heads/main"
    good = branch.read_bytes()
    branch.write_bytes(b"nonsense")
    assert {"branch"} == _checks(bundle)
    branch.unlink()
    assert "branch" in _checks(bundle)
    branch.write_bytes(good)
    assert _found(bundle) == []
    (path / "HEAD").write_bytes(b"a/b\n")
    assert "head" in _checks(bundle)
    (path / "HEAD").write_bytes(b"ref: refs/heads/main\n")


def test_a_truncated_pack_is_told_once(bundle: Memory) -> None:
    """Every check that meets it stops; the same sentence is printed once, and the objects in it are one problem."""
    for number in range(3):
        bundle.remember(f"fact {number}")
    bundle.repository.store.close()
    for pack in Path(bundle.repository.git_dir, "objects/pack").glob("*.pack"):
        pack.write_bytes(pack.read_bytes()[:-30])
    problems = _found(bundle)
    assert ["objects", "objects"] == [problem.check for problem in problems]
    assert "checksum does not match" in problems[0].what
    assert "Missing or damaged" in problems[1].what
    assert "gitmem check" not in problems[0].remedy


@pytest.mark.parametrize("ending", [".pack", ".idx"])
def test_the_beginning_of_a_pack_is_not_a_pack(bundle: Memory, ending: str) -> None:
    """The message is for a person, not for a programmer."""
    for pack in Path(bundle.repository.store.pack_directory).glob(f"*{ending}"):
        pack.chmod(0o600)
        os.truncate(pack, 40)
    bundle.repository.store.close()
    with pytest.raises(BundleUnusable, match=rf"\{ending} cannot be read \(it is cut short\)") as refused:
        open_repository(bundle.root).store.read(bundle.tip)
    assert "gitmem check" in refused.value.hint


def test_a_damaged_pack_goes_out_of_the_way_once_its_objects_are_back(bundle: Memory, tmp_path: Path) -> None:
    """The advice brings the objects back; then `check --fix` ends the report, and removes nothing."""
    run_git(bundle.root, "clone", "-q", "--bare", "--no-hardlinks", bundle.root, str(tmp_path / "copy.git"))
    pack = next(Path(bundle.repository.store.pack_directory).glob("*.pack"))
    pack.chmod(0o600)
    pack.write_bytes(damaged := pack.read_bytes()[:-30])
    run_git(bundle.root, "fetch", "-q", "--refetch", str(tmp_path / "copy.git"), "main")
    bundle.repository.store.close()

    (problem,) = _found(bundle)
    assert problem.fix is not None
    assert pack.name in problem.fix()
    assert [] == _found(bundle)
    assert damaged == pack.with_name(f"{pack.name}.damaged").read_bytes()


def test_gits_index(bundle: Memory) -> None:
    """A flipped byte in git's index, and no index at all."""
    index = Path(bundle.repository.index_file.path)
    good = index.read_bytes()
    index.write_bytes(good[:40] + bytes([good[40] ^ 1]) + good[41:])
    assert "index" in _checks(bundle)
    index.write_bytes(b"x")
    assert "index" in _checks(bundle)
    os.unlink(index)
    assert "index" in _checks(bundle)
    index.write_bytes(good)


def test_what_every_bundle_has(bundle: Memory) -> None:
    """Without config/agent.md or the root index a bundle is not whole."""

    def work(edits: object) -> Message:
        edits.remove("config/agent.md")  # type: ignore[attr-defined]
        return Message("edit", "x")

    bundle.commit(work, purpose="test", origin=bundle.origin())
    assert any("config/agent.md is missing" in finding.what for finding in _found(bundle))
