"""Git's own index, spliced by us: plain git must agree with it after any mix of our commits and its own."""

from __future__ import annotations

import os
import random
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from gitmem.errors import BundleBusy
from gitmem.git import git_index
from gitmem.git.recovery import hand_edits
from gitmem.git.repository import Repository
from gitmem.git.tree import Edit
from hypothesis import given
from hypothesis import strategies as st

from tests.git.support import (
    Git,
    files_at,
    fsck_clean,
    index_agrees,
    run_git,
    save,
    saved,
    try_git,
    work_file,
)

NAMES = [
    "a.md",
    "a-b.md",
    "a/b.md",
    "a/c d.md",
    "a.b/c.md",
    "b/日本.md",
    "b/é/x.md",
    "b/é.md",
    "c/1/2/3/4.md",
    "c/1/2.md",
    "c/" + "long" * 40 + ".md",
    "z",
]


class Story:
    """A random sequence of our commits and plain git's on one repository, with what must come out."""

    def __init__(self, repository: Repository, seed: int) -> None:
        self.repository = repository
        self.random = random.Random(seed)
        self.expected: dict[str, bytes] = {}
        self.told: list[str] = []

    def git(self, *arguments: str) -> str:
        return run_git(self.repository.root, *arguments)

    def content(self) -> bytes:
        return b"%d\n" % self.random.randrange(10, 100) * self.random.choice([1, 1, 1, 2, 50])

    def flush(self) -> None:
        edits: dict[str, Edit] = {}
        for name in self.random.sample(NAMES, self.random.randint(1, 4)):
            edits[name] = None if name in self.expected and self.random.random() < 0.3 else self.content()
        save(self.repository, edits)
        for name, edit in edits.items():
            if edit is None:
                self.expected.pop(name, None)
            else:
                assert isinstance(edit, bytes)
                self.expected[name] = edit

    def edit_by_hand(self) -> str:
        name = self.random.choice(NAMES)
        file = work_file(self.repository, name)
        file.parent.mkdir(parents=True, exist_ok=True)
        self.expected[name] = self.content()
        file.write_bytes(self.expected[name])
        return name

    def plain_commit(self) -> None:
        for _ in range(self.random.randint(1, 3)):
            self.edit_by_hand()
        self.git("add", "--all")
        self.git("commit", "--quiet", "--allow-empty", "-m", "plain")

    def plain_commit_of_everything(self) -> None:
        """`git commit -a`, which writes its index on another way than `git add`."""
        self.edit_by_hand()
        self.git("add", "--intent-to-add", ".")
        self.git("commit", "--quiet", "--allow-empty", "-a", "-m", "plain -a")

    def plain_remove(self) -> None:
        if self.expected:
            name = self.random.choice(sorted(self.expected))
            del self.expected[name]
            self.git("rm", "--quiet", name)
            self.git("commit", "--quiet", "-m", "plain rm")

    def take_in(self) -> None:
        name = self.edit_by_hand()
        save(self.repository, {name: self.expected[name]}, takes_in={name: self.expected[name]})

    def staged_foreign(self) -> None:
        """What a person staged stays staged while we commit other files, and is theirs to commit."""
        name = "by hand/" + self.random.choice("pqr")
        file = work_file(self.repository, name)
        file.parent.mkdir(exist_ok=True)
        file.write_bytes(self.content())
        self.git("add", name)
        staged = self.git("diff", "--cached", "--raw", "--no-abbrev")
        self.flush()
        assert staged == self.git("diff", "--cached", "--raw", "--no-abbrev")
        self.expected[name] = file.read_bytes()
        self.git("commit", "--quiet", "--allow-empty", "-m", "what was staged")

    def touch(self) -> None:
        for name in self.expected:
            os.utime(work_file(self.repository, name), (time.time() - 5, self.random.randrange(10**9)))

    def status(self) -> None:
        self.git("status")

    def refresh(self) -> None:
        self.git("update-index", "-q", "--refresh")

    def forget_stats(self) -> None:
        self.git("read-tree", "HEAD")

    def version(self) -> None:
        self.git("update-index", "--index-version", self.random.choice("234"))

    def split(self) -> None:
        self.git("update-index", "--split-index")

    def reset(self) -> None:
        self.git("reset", "--quiet", "--hard")

    def lose_index(self) -> None:
        os.unlink(self.repository.index_file.path)
        for left in Path(self.repository.git_dir).glob("sharedindex.*"):
            left.unlink()
        self.flush()

    def gc(self) -> None:
        self.git("gc", "--quiet")

    def run(self, steps: int) -> None:
        moves: list[Callable[[], None]] = [
            *[self.flush] * 6,
            *[self.plain_commit] * 2,
            self.plain_commit_of_everything,
            self.plain_remove,
            self.take_in,
            self.staged_foreign,
            self.touch,
            self.status,
            self.refresh,
            self.forget_stats,
            self.version,
            self.split,
            self.reset,
            self.lose_index,
            self.gc,
        ]
        self.flush()
        for _ in range(steps):
            move = self.random.choice(moves)
            self.told.append(move.__name__)
            move()
            assert self.expected == files_at(self.repository), self.told
            if self.random.random() < 0.5:
                assert hand_edits(self.repository) == [], self.told
            index_agrees(self.repository)
        fsck_clean(self.repository)


@pytest.mark.parametrize("seed", range(8))
def test_plain_git_agrees_after_any_mix(repository: Repository, seed: int) -> None:
    """status, diff-files, diff-index, write-tree and fsck agree with us at every step of a random story."""
    Story(repository, seed).run(25)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(100, 140))
def test_plain_git_agrees_after_long_mix(repository: Repository, seed: int) -> None:
    """The same, longer and with more seeds."""
    Story(repository, seed).run(80)


@pytest.mark.parametrize("change", [("--index-version", "4"), ("--index-version", "3"), ("--split-index",)])
def test_foreign_index_formats(repository: Repository, git: Git, change: tuple[str, ...]) -> None:
    """An index of another version, or split, is read and ours afterwards; an unstaged edit stays visible."""
    saved(repository, {"a.md": b"1\n", "d/b.md": b"1\n", "d/c.md": b"1\n"})
    git("update-index", *change)
    old = time.time() - 100
    work_file(repository, "d/c.md").write_bytes(b"2\n")
    os.utime(work_file(repository, "d/c.md"), (old, old))

    saved(repository, {"a.md": b"2\n"})

    assert " M d/c.md" == git("status", "--porcelain")
    assert [("d/c.md", b"2\n")] == [(edit.path, edit.data) for edit in hand_edits(repository)]
    assert Path(repository.index_file.path).read_bytes().startswith(b"DIRC\0\0\0\2")


@pytest.mark.parametrize("change", [("--index-version", "4"), ("--split-index",), ("--index-version", "2")])
def test_staged_content_survives_in_foreign_formats(
    repository: Repository, git: Git, change: tuple[str, ...]
) -> None:
    """What is staged in an index of another format is found, and stays staged while we commit other files."""
    saved(repository, {"a.md": b"1\n", "d/c.md": b"1\n"})
    git("update-index", *change)
    work_file(repository, "d/c.md").write_bytes(b"staged\n")
    work_file(repository, "new é.md").write_bytes(b"new\n")
    git("add", "--all")
    work_file(repository, "d/c.md").write_bytes(b"later\n")

    found = {(edit.path, edit.data) for edit in hand_edits(repository)}
    saved(repository, {"a.md": b"2\n"})

    assert {("new é.md", b"new\n"), ("d/c.md", b"later\n")} == found
    assert b"staged\n" == try_git(repository.root, "cat-file", "blob", ":d/c.md").stdout
    assert b"new\n" == try_git(repository.root, "cat-file", "blob", ":new é.md").stdout


def test_same_size_edit_in_the_second_of_the_flush(repository: Repository, git: Git) -> None:
    """A same-size edit in the second of a flush is seen by git at once, and after later flushes."""
    saved(repository, {"other.md": b"x\n"})
    while True:
        time.sleep(1.02 - time.time() % 1)  # just after a second began
        begun = int(time.time())
        content = b"%d\n" % time.time_ns()
        saved(repository, {"a.md": content})
        with work_file(repository, "a.md").open("r+b") as file:  # the same inode, the same size
            file.write(content[::-1][1:])
        if int(time.time()) == begun:
            break
    time.sleep(1.02 - time.time() % 1)

    saved(repository, {"other.md": b"y\n"})
    assert ["a.md"] == [edit.path for edit in hand_edits(repository)]
    time.sleep(1.02 - time.time() % 1)
    saved(repository, {"other.md": b"z\n"})

    assert ["a.md"] == [edit.path for edit in hand_edits(repository)]
    assert "a.md" in git("diff-files", "--name-only")
    assert " M a.md" == git("status", "--porcelain")


def test_edit_between_writing_a_file_and_the_index(repository: Repository, git: Git) -> None:
    """A file that a person changes right after we wrote it does not count as ours."""
    saved(repository, {"a.md": b"1\n"})

    def edit(stage: str) -> None:
        if stage == "work tree":
            work_file(repository, "a.md").write_bytes(b"3\n")
            os.utime(work_file(repository, "a.md"), (1_000_000_000, 1_000_000_000))

    repository.on_stage = edit
    saved(repository, {"a.md": b"2\n"})

    assert [("a.md", b"3\n")] == [(edit.path, edit.data) for edit in hand_edits(repository)]
    assert " M a.md" == git("status", "--porcelain")


def test_same_size_edit_with_its_old_time_is_seen(repository: Repository, git: Git) -> None:
    """An edit that keeps size and modification time is seen by us as it is by git (by ctime)."""
    saved(repository, {"a.md": b"1\n"})
    time.sleep(2.02 - time.time() % 1)
    saved(repository, {"b.md": b"1\n"})
    git("status")
    file = work_file(repository, "a.md")
    before = file.stat()
    with file.open("r+b") as out:
        out.write(b"2\n")
    os.utime(file, ns=(before.st_atime_ns, before.st_mtime_ns))

    assert " M a.md" == git("status", "--porcelain")
    assert ["a.md"] == [edit.path for edit in hand_edits(repository)]


def test_unmerged_entries_are_left_to_git(repository: Repository, git: Git) -> None:
    """Conflict entries in the index (by `git stash pop`, say) stop a commit with a sentence."""
    saved(repository, {"a.md": b"1\n"})
    work_file(repository, "a.md").write_bytes(b"2\n")
    git("stash", "--quiet")
    work_file(repository, "a.md").write_bytes(b"3\n")
    git("commit", "-q", "-a", "-m", "3")
    assert try_git(repository.root, "stash", "pop").returncode == 1
    before = (repository.tip(), Path(repository.index_file.path).read_bytes())

    with pytest.raises(BundleBusy, match="merge"):
        save(repository, {"b.md": b"1\n"})

    assert before == (repository.tip(), Path(repository.index_file.path).read_bytes())
    assert not work_file(repository, "b.md").exists()


def test_damaged_index_is_made_again(repository: Repository) -> None:
    """An index with a flipped byte is not spliced: a new one is made from the tip."""
    saved(repository, {"a.md": b"1\n", "d/b.md": b"1\n"})
    path = Path(repository.index_file.path)
    whole = path.read_bytes()
    for position in range(0, len(whole), 7):
        path.write_bytes(whole[:position] + bytes([whole[position] ^ 0x41]) + whole[position + 1 :])
        assert git_index.load(str(path)) is None, position
    path.write_bytes(whole[:50])

    saved(repository, {"a.md": b"2\n"})

    fsck_clean(repository)


def test_thousands_of_files(repository: Repository, git: Git) -> None:
    """Inserting, changing and deleting at both ends and in the middle of a large index."""
    files: dict[str, Edit] = {
        f"e/{number % 64:02x}/{number:05d}.md": b"%d\n" % number for number in range(1500)
    }
    saved(repository, files)
    index_agrees(repository)

    saved(repository, {"a.md": b"first\n", "zz.md": b"last\n", "e/00/00000.md": None, "e/20/x.md": b"mid\n"})
    index_agrees(repository)
    saved(repository, dict.fromkeys(list(files)[200:900]))
    index_agrees(repository)

    assert 1500 - 1 - 700 + 3 == len(git("ls-files").splitlines())
    fsck_clean(repository)


@pytest.mark.parametrize("lag", [1, 4])
def test_index_put_back_by_a_late_git(repository: Repository, git: Git, lag: int) -> None:
    """An old index that a git command wrote over ours is no person's doing: it is brought along again."""
    saved(repository, {"a.md": b"0\n", "gone.md": b"x\n", "d/b.md": b"x\n"})
    index = Path(repository.index_file.path)
    work_file(repository, "staged.md").write_bytes(b"by hand\n")
    git("add", "staged.md")
    old = index.read_bytes()
    for number in range(lag):
        saved(repository, {"a.md": b"%d\n" % (number + 1), f"n/{number}.md": b"new\n", "gone.md": None})
    index.write_bytes(old)  # what `git commit` does when it read the index before our commits

    assert ["staged.md"] == [edit.path for edit in hand_edits(repository)]
    saved(repository, {"d/b.md": b"y\n"})

    assert ["staged.md"] == [edit.path for edit in hand_edits(repository)]
    assert "A  staged.md" == git("status", "--porcelain")
    git("commit", "--quiet", "-m", "by hand")
    fsck_clean(repository)


def test_an_old_version_in_the_index_alone_follows_the_file(repository: Repository, git: Git) -> None:
    """Staging an old version, or a removal, while the file stays as it is makes no edit and does not last."""
    saved(repository, {"a.md": b"0\n", "b.md": b"0\n"})
    saved(repository, {"a.md": b"1\n", "b.md": b"1\n"})
    git("reset", "--quiet", "HEAD~1", "--", "a.md")
    git("rm", "--quiet", "--cached", "b.md")
    assert [] == hand_edits(repository)

    saved(repository, {"c.md": b"1\n"})

    assert "" == git("status", "--porcelain")


def _records(drawn: dict[str, tuple[int, str, int]]) -> dict[bytes, bytes]:
    """Records of files of 9 bytes, each written in some second."""
    made = {}
    for name, (mode, digit, second) in drawn.items():
        stat = 0, 0, second, 7, 0, 0, 0, 0, 9
        made[name.encode()] = git_index._record(name.encode(), mode, digit * 40, stat)
    return made


_RECORDS = st.dictionaries(
    st.sampled_from(NAMES),
    st.tuples(st.sampled_from([0o100644, 0o100755]), st.sampled_from("12"), st.sampled_from([50, 100, 150])),
).map(_records)


@given(_RECORDS, st.lists(st.tuples(_RECORDS, st.lists(st.sampled_from(NAMES)))))
def test_spliced_equals_built(
    before: dict[bytes, bytes], steps: list[tuple[dict[bytes, bytes], list[str]]]
) -> None:
    """Bytes, places and what is in doubt are the same whether records are spliced in or all are written again."""
    records = dict(before)
    spliced = git_index.GitIndex(git_index.build(records), 100)
    for written, removed in steps:
        changes: dict[bytes, bytes | None] = {**written, **{name.encode(): None for name in removed}}
        records = {name: record for name, record in {**records, **changes}.items() if record is not None}
        spliced = spliced.splice(changes, 100, lambda _name, _oid: True)
        built = git_index.GitIndex(git_index.build(records), spliced.mtime)
        assert (built.raw, built.names, built._starts) == (spliced.raw, spliced.names, spliced._starts)
        assert built._racy == spliced._racy
