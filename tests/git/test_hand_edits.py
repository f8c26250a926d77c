"""What a person changed: found whatever way they did it, never written over, never mixed up with our own."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from gitmem.errors import BundleUnusable
from gitmem.git.git_directory import open_repository
from gitmem.git.recovery import hand_edits
from gitmem.git.repository import Repository
from gitmem.git.transaction import HandEditsInTheWay
from gitmem.git.tree import Edit

from tests.git.support import (
    Git,
    files_at,
    files_in_work_tree,
    fsck_clean,
    index_agrees,
    locks_left,
    run_git,
    save,
    saved,
    tip_of,
    work_file,
)

Found = set[tuple[str, bytes | None]]


def found(repository: Repository) -> Found:
    return {(edit.path, edit.data) for edit in hand_edits(repository)}


@pytest.fixture
def filled(repository: Repository) -> Repository:
    saved(repository, {"a.md": b"1\n", "d/b.md": b"1\n", "d/c.md": b"1\n"})
    return repository


def test_nothing_edited(filled: Repository, repository: Repository) -> None:
    """A bundle as we wrote it has no hand edits, nor has it after a touch or a `git status`."""
    assert [] == hand_edits(filled)
    os.utime(work_file(filled, "a.md"), (1, 1))
    assert [] == hand_edits(filled)
    run_git(filled.root, "status")
    assert [] == hand_edits(filled)


def test_empty_repository_with_files(repository: Repository) -> None:
    """Before the first commit every file is an edit."""
    work_file(repository, "a.md").write_bytes(b"x\n")

    assert {("a.md", b"x\n")} == found(repository)


def test_modified_deleted_added(filled: Repository) -> None:
    """A changed, a removed and a new file are found with their bytes."""
    work_file(filled, "a.md").write_bytes(b"2\n")
    work_file(filled, "d/b.md").unlink()
    work_file(filled, "new dir").mkdir()
    work_file(filled, "new dir/ü.md").write_bytes(b"new\n")

    assert {("a.md", b"2\n"), ("d/b.md", None), ("new dir/ü.md", b"new\n")} == found(filled)


def test_staged(filled: Repository, git: Git) -> None:
    """Staged changes are found: a change, a new file, a removal."""
    work_file(filled, "a.md").write_bytes(b"2\n")
    work_file(filled, "new.md").write_bytes(b"new\n")
    git("add", "--all")
    git("rm", "--quiet", "d/b.md")

    assert {("a.md", b"2\n"), ("new.md", b"new\n"), ("d/b.md", None)} == found(filled)


def test_staged_then_changed(filled: Repository, git: Git) -> None:
    """The file is the edit; what only the index holds is none, and the index follows what is committed."""
    work_file(filled, "a.md").write_bytes(b"2\n")
    git("add", "--all")
    work_file(filled, "a.md").write_bytes(b"3\n")
    assert {("a.md", b"3\n")} == found(filled)

    save(filled, {"a.md": b"3\n"}, takes_in={"a.md": b"3\n"})

    assert b"3\n" == files_at(filled)["a.md"]
    assert "" == git("status", "--porcelain")
    fsck_clean(filled)


def test_staged_and_reverted(filled: Repository, git: Git) -> None:
    """A version that only the index holds is no edit: the next write lets the index follow the file."""
    work_file(filled, "a.md").write_bytes(b"2\n")
    git("add", "--all")
    work_file(filled, "a.md").write_bytes(b"1\n")
    assert set() == found(filled)

    saved(filled, {"d/b.md": b"2\n"})

    assert b"1\n" == files_at(filled)["a.md"]
    assert "" == git("status", "--porcelain")
    fsck_clean(filled)


def test_announced_only(filled: Repository, git: Git) -> None:
    """`git add -N` announces a file and stages nothing: it is an unstaged edit, and other commits go on."""
    work_file(filled, "new.md").write_bytes(b"new\n")
    git("add", "-N", "new.md")
    assert {("new.md", b"new\n")} == found(filled)

    saved(filled, {"a.md": b"2\n"})

    assert {("new.md", b"new\n")} == found(filled)
    assert "?? new.md" == git("status", "--porcelain")


@pytest.mark.parametrize(
    ("edits", "leaving"),
    [
        ({"a.md": b"ours\n"}, b"theirs\n"),
        ({"a.md": None}, b"theirs\n"),
        ({"a.md": b"ours\n"}, None),
        ({"new.md": b"ours\n"}, b"theirs\n"),
    ],
)
@pytest.mark.parametrize("staged", [False, True])
def test_edits_in_the_way_stop_a_commit(
    filled: Repository, git: Git, edits: dict[str, Edit], leaving: bytes | None, staged: bool
) -> None:
    """A commit that would write over an edit raises, names it, and changes nothing at all."""
    (path,) = edits
    if leaving is None:
        work_file(filled, path).unlink()
    else:
        work_file(filled, path).write_bytes(leaving)
    if staged:
        git("add", "--all")
    index = Path(filled.index_file.path)
    before = (tip_of(filled), files_in_work_tree(filled), index.read_bytes(), found(filled))

    with pytest.raises(HandEditsInTheWay) as raised:
        save(filled, {**edits, "other.md": b"x\n"})

    assert {path} == {edit.path for edit in raised.value.edits}
    assert leaving == raised.value.edits[0].data
    assert before == (tip_of(filled), files_in_work_tree(filled), index.read_bytes(), found(filled))
    assert [] == locks_left(filled)


def test_other_files_can_be_committed_around_an_edit(filled: Repository, git: Git) -> None:
    """An edit elsewhere is in nobody's way, and survives many commits as an edit."""
    work_file(filled, "d/c.md").write_bytes(b"2\n")
    os.utime(work_file(filled, "d/c.md"), (1, 1))

    for number in range(3):
        saved(filled, {"a.md": b"%d\n" % (number + 5), f"n{number}.md": b"x\n"})

    assert {("d/c.md", b"2\n")} == found(filled)
    assert " M d/c.md" == git("status", "--porcelain")


def test_takes_in(filled: Repository) -> None:
    """What a change says it takes in may be written over; another version of it may not."""
    work_file(filled, "a.md").write_bytes(b"theirs\n")
    with pytest.raises(HandEditsInTheWay):
        save(filled, {"a.md": b"merged\n"}, takes_in={"a.md": b"an older version\n"})

    save(filled, {"a.md": b"merged\n"}, takes_in={"a.md": b"theirs\n"})

    assert b"merged\n" == files_at(filled)["a.md"] == work_file(filled, "a.md").read_bytes()
    fsck_clean(filled)


def test_takes_in_a_removal(filled: Repository) -> None:
    """A removed file is taken in as removed, or written again."""
    work_file(filled, "a.md").unlink()
    work_file(filled, "d/b.md").unlink()

    save(filled, {"a.md": None, "d/b.md": b"back\n"}, takes_in={"a.md": None, "d/b.md": None})

    assert {"d/b.md": b"back\n", "d/c.md": b"1\n"} == files_at(filled) == files_in_work_tree(filled)
    fsck_clean(filled)


def test_edit_that_is_what_we_would_write(filled: Repository) -> None:
    """A person who wrote just what the change writes is not in its way."""
    work_file(filled, "a.md").write_bytes(b"2\n")

    saved(filled, {"a.md": b"2\n"})

    fsck_clean(filled)


def test_ignored_files_are_not_reported(filled: Repository, git: Git) -> None:
    """What git ignores, by .gitignore or by info/exclude, is not an edit; what it does not ignore is."""
    saved(filled, {".gitignore": b"*.tmp\n/build/\nsub/*.log\n!keep.tmp\n"})
    with open(os.path.join(filled.git_dir, "info", "exclude"), "a") as file:
        file.write("private/\n")
    names = [
        "x.tmp",
        "keep.tmp",
        "build/x.md",
        "d/build/x.md",
        "sub/x.log",
        "sub/y/x.log",
        "private/x.md",
        "d/x.tmp",
    ]
    for name in names:
        work_file(filled, name).parent.mkdir(parents=True, exist_ok=True)
        work_file(filled, name).write_bytes(b"x\n")

    by_git = {line[3:] for line in git("status", "--porcelain", "--untracked-files=all").splitlines()}

    assert {"keep.tmp", "d/build/x.md", "sub/y/x.log"} == by_git
    assert by_git == {edit.path for edit in hand_edits(filled)}


def test_problems(filled: Repository, tmp_path: Path) -> None:
    """A link, a pipe, a 50 MB file, a repository inside and a name that is not UTF-8 are told with reasons."""
    secret = tmp_path / "secret"
    secret.write_bytes(b"secret\n")
    work_file(filled, "a.md").unlink()
    work_file(filled, "a.md").symlink_to(secret)
    os.mkfifo(work_file(filled, "pipe.md"))
    with work_file(filled, "big.md").open("wb") as file:
        file.truncate(50 << 20)
    run_git(filled.root, "init", "--quiet", "other")
    work_file(filled, "other/x.md").write_bytes(b"x\n")
    with open(os.path.join(os.fsencode(filled.root), b"caf\xe9.md"), "wb") as out:
        out.write(b"x\n")

    told = {edit.path: edit.problem for edit in hand_edits(filled)}

    assert told.keys() == {"a.md", "pipe.md", "big.md", "other", "caf\udce9.md"}
    assert "symbolic link" in told["a.md"]
    assert "not a regular file" in told["pipe.md"]
    assert "50 MB" in told["big.md"]
    assert "repository of its own" in told["other"]
    assert "not UTF-8" in told["caf\udce9.md"]
    assert all(edit.data is None for edit in hand_edits(filled))


@pytest.mark.parametrize("path", ["a.md", "d/b.md"])
def test_problem_in_the_way_stops_a_commit(filled: Repository, tmp_path: Path, path: str) -> None:
    """A commit never writes through or over a link that stands where its file goes."""
    outside = tmp_path / "outside"
    outside.write_bytes(b"outside\n")
    work_file(filled, path).unlink()
    work_file(filled, path).symlink_to(outside)

    with pytest.raises(HandEditsInTheWay):
        save(filled, {path: b"ours\n"})

    assert b"outside\n" == outside.read_bytes()


def test_directory_that_is_a_link_is_refused(filled: Repository, tmp_path: Path) -> None:
    """A directory that became a link leads elsewhere: nothing is written through it."""
    outside = tmp_path / "outside"
    outside.mkdir()
    work_file(filled, "n").symlink_to(outside)
    before = tip_of(filled)

    with pytest.raises(BundleUnusable, match="symbolic link"):
        save(filled, {"n/x.md": b"x\n"})

    assert [] == os.listdir(outside)
    assert before == tip_of(filled)


def test_file_replaced_by_a_directory(filled: Repository) -> None:
    """A directory in a file's place is a removal and new files; each can be taken in."""
    work_file(filled, "a.md").unlink()
    work_file(filled, "a.md").mkdir()
    work_file(filled, "a.md/x.md").write_bytes(b"x\n")
    assert {("a.md", None), ("a.md/x.md", b"x\n")} == found(filled)

    first = save(filled, {"a.md": None}, takes_in={"a.md": None})
    second = save(filled, {"a.md/x.md": b"x\n"}, takes_in={"a.md/x.md": b"x\n"})

    assert first is not None
    assert second is not None
    assert ("", "") == (first.warning, second.warning)
    assert {"a.md/x.md": b"x\n", "d/b.md": b"1\n", "d/c.md": b"1\n"} == files_at(filled)
    fsck_clean(filled)


def test_directory_replaced_by_a_file(filled: Repository) -> None:
    """A file in a directory's place is removals and a new file; each can be taken in."""
    for name in ("d/b.md", "d/c.md"):
        work_file(filled, name).unlink()
    work_file(filled, "d").rmdir()
    work_file(filled, "d").write_bytes(b"file\n")
    assert {("d", b"file\n"), ("d/b.md", None), ("d/c.md", None)} == found(filled)

    first = save(filled, {"d/b.md": None, "d/c.md": None}, takes_in={"d/b.md": None, "d/c.md": None})
    second = save(filled, {"d": b"file\n"}, takes_in={"d": b"file\n"})

    assert first is not None
    assert second is not None
    assert ("", "") == (first.warning, second.warning)
    assert {"a.md": b"1\n", "d": b"file\n"} == files_at(filled) == files_in_work_tree(filled)
    fsck_clean(filled)


def test_file_in_the_way_of_a_new_directory(filled: Repository) -> None:
    """An untracked file where a directory must go stops the commit before anything is moved."""
    work_file(filled, "n").write_bytes(b"theirs\n")
    before = tip_of(filled)

    with pytest.raises((HandEditsInTheWay, BundleUnusable)):
        save(filled, {"n/x.md": b"x\n"})

    assert before == tip_of(filled)
    assert {("n", b"theirs\n")} == found(filled)
    assert [] == locks_left(filled)


def test_executable_bit_set_by_hand(filled: Repository, git: Git) -> None:
    """A mode is no content: what is executable follows from the path, for git here as for us."""
    saved(filled, {"skills/s/n/scripts/run.sh": b"#!/bin/sh\n"})
    work_file(filled, "a.md").chmod(0o755)
    work_file(filled, "skills/s/n/scripts/run.sh").chmod(0o644)
    git("add", "--all")

    assert git("status", "--porcelain") == ""
    assert found(filled) == set()
    saved(filled, {"a.md": b"2\n", "skills/s/n/scripts/run.sh": b"#!/bin/bash\n"})
    assert not os.access(work_file(filled, "a.md"), os.X_OK)
    assert os.access(work_file(filled, "skills/s/n/scripts/run.sh"), os.X_OK)
    fsck_clean(filled)


def test_edit_while_the_commit_is_under_way(filled: Repository) -> None:
    """A file that a person saves after we looked at it and before we write it keeps their text."""

    def edit(stage: str) -> None:
        if stage == "acknowledged":
            work_file(filled, "a.md").write_bytes(b"theirs\n")
            work_file(filled, "d/b.md").unlink()
            work_file(filled, "new.md").write_bytes(b"theirs too\n")

    filled.on_stage = edit
    saved(filled, {"a.md": b"ours\n", "d/b.md": b"ours\n", "new.md": b"ours\n", "fine.md": b"ours\n"})

    assert {
        ("a.md", b"theirs\n"),
        ("d/b.md", None),
        ("new.md", b"theirs too\n"),
    } == found(filled)
    assert b"ours\n" == work_file(filled, "fine.md").read_bytes()
    assert b"ours\n" == files_at(filled)["a.md"]


def test_reader_sees_no_edits_of_a_busy_writer(filled: Repository) -> None:
    """While another process commits, looking for hand edits finds none."""
    script = (
        "import sys\n"
        "from gitmem.git.git_directory import open_repository\n"
        "from tests.git.support import saved\n"
        "repository = open_repository(sys.argv[1])\n"
        "for number in range(60):\n"
        "    saved(repository, {f'd/{n}.md': b'%d\\n' % number for n in range(number % 5 + 1)})\n"
        "    if number % 7 == 6: saved(repository, {f'd/{n}.md': None for n in range(2)})\n"
    )
    writer = subprocess.Popen([sys.executable, "-c", script, filled.root])
    reader = open_repository(filled.root)
    looks = 0
    try:
        while writer.poll() is None:
            assert [] == hand_edits(reader)
            looks += 1
    finally:
        writer.wait()
        reader.store.close()

    assert 0 == writer.returncode
    assert looks > 3
    index_agrees(filled)
