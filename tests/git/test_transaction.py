"""A commit: what it holds, what it says, and that plain git reads all of it."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import pytest
from gitmem.errors import BundleUnusable, InvalidContent, TooLarge
from gitmem.git import store
from gitmem.git.git_directory import open_repository
from gitmem.git.message import Message, kind_of, trailers_of
from gitmem.git.objects import EXECUTABLE, FILE, GitObject, Oid, Person, TreeEntry, render_tag
from gitmem.git.repository import Repository
from gitmem.git.transaction import Draft, publish, writing
from gitmem.git.tree import MAX_FILE_BYTES, Edit, Tree

from tests.git.support import (
    WHO,
    Git,
    append,
    files_at,
    files_in_work_tree,
    fsck_clean,
    locks_left,
    make_repository,
    run_git,
    save,
    saved,
    tip_of,
    work_file,
)


def test_new_files_are_committed_and_in_the_work_tree(repository: Repository) -> None:
    """New files, nested ones too, are in the tip and on disk."""
    files = {"a.md": b"a\n", "d/b.md": b"b\n", "d/e/f/c.md": b"c\n"}

    saved(repository, files)

    assert files == files_at(repository)
    assert files == files_in_work_tree(repository)
    fsck_clean(repository)


def test_change_and_remove(repository: Repository) -> None:
    """A changed file has its new bytes, a removed one is gone with the directories it leaves empty."""
    saved(repository, {"a.md": b"1\n", "d/e/b.md": b"1\n", "d/c.md": b"1\n"})

    saved(repository, {"a.md": b"2\n", "d/e/b.md": None})

    assert {"a.md": b"2\n", "d/c.md": b"1\n"} == files_at(repository) == files_in_work_tree(repository)
    assert not work_file(repository, "d/e").exists()
    fsck_clean(repository)


def test_remove_everything(repository: Repository) -> None:
    """The last file can be removed; the tree is git's empty tree."""
    saved(repository, {"d/a.md": b"1\n"})

    saved(repository, {"d/a.md": None})

    assert {} == files_at(repository) == files_in_work_tree(repository)
    assert run_git(repository.root, "ls-tree", "-r", "HEAD") == ""
    fsck_clean(repository)


def test_each_commit_stands_on_the_one_before(repository: Repository, git: Git) -> None:
    """The old tip is the first parent, and what is published says which it was."""
    first = saved(repository, {"a.md": b"1\n"})
    second = saved(repository, {"a.md": b"2\n"})

    assert first.old is None
    assert first.commit.oid == second.old
    assert [second.commit.oid, first.commit.oid] == git("log", "--format=%H").splitlines()
    assert ("a.md",) == second.paths


def test_no_change_makes_no_commit(repository: Repository) -> None:
    """Writing what is there, and removing what is not, commit nothing and touch nothing."""
    saved(repository, {"a.md": b"1\n", "d/b.md": b"1\n"})
    before = (
        tip_of(repository),
        work_file(repository, "a.md").stat(),
        os.stat(repository.index_file.path),
    )

    assert save(repository, {"a.md": b"1\n", "d/b.md": b"1\n", "gone.md": None, "no/such.md": None}) is None
    assert save(repository, {}) is None
    assert publish(repository, lambda tree: None, purpose="nothing") is None

    after = (
        tip_of(repository),
        work_file(repository, "a.md").stat(),
        os.stat(repository.index_file.path),
    )
    assert before == after


def test_tree_is_what_git_would_write(repository: Repository, git: Git) -> None:
    """For names in every awkward order, the tree is the one `git add` and `git write-tree` make."""
    names = [
        "a",
        "a-b/x",
        "a.b",
        "a0",
        "b/c",
        "b/c.d",
        "b.c",
        "b0/é ü.md",
        "Z",
        "z/日本 語.md",
        "sp ace/q'\"t",
    ]
    saved(repository, {name: name.encode() for name in names})
    saved(repository, {"a-b/y": b"y", "b.c": None, "b/b": b"new", "a": b"changed"})

    git("read-tree", "--empty")
    git("add", "--all")

    assert git("rev-parse", "HEAD^{tree}") == git("write-tree")


def test_scripts_of_skills_are_executable(repository: Repository, git: Git) -> None:
    """Scripts of a skill get mode 755 in tree, index and work tree; everything else 644."""
    saved(repository, {"skills/c/n/scripts/run.sh": b"#!/bin/sh\n", "skills/c/n/SKILL.md": b"x\n"})

    listed = git("ls-tree", "-r", "HEAD").splitlines()

    assert ["100644", "100755"] == [line.split()[0] for line in listed]
    assert os.access(work_file(repository, "skills/c/n/scripts/run.sh"), os.X_OK)
    fsck_clean(repository)


def test_edit_may_name_an_object_of_the_store(repository: Repository) -> None:
    """An edit can be an object that is already there, with its mode: a restore needs no bytes."""
    old = saved(repository, {"a.md": b"1\n", "b.md": b"2\n"}).commit
    saved(repository, {"a.md": b"other\n", "b.md": None})
    entries = dict(repository.tree(old.oid).files())

    saved(repository, {**entries, "run": TreeEntry(EXECUTABLE, entries["a.md"].oid)})

    assert {"a.md": b"1\n", "b.md": b"2\n", "run": b"1\n"} == files_at(repository)
    assert EXECUTABLE == repository.tree(tip_of(repository)).entry("run").mode  # type: ignore[union-attr]
    fsck_clean(repository)


def test_a_change_on_top_of_what_arrives_is_one_move(repository: Repository, git: Git) -> None:
    """The ref moves once, over both; the reflog says of each how it came."""
    base = saved(repository, {"a.md": b"1\n"}).commit
    blob = git("hash-object", "-w", "--stdin", stdin=b"theirs\n")
    tree = git("mktree", stdin=f"100644 blob {blob}\tb.md\n".encode())
    theirs = git("commit-tree", "-p", base.oid, "-m", "flush: theirs", tree)
    tips = []
    repository.on_stage = lambda stage: tips.append(repository.tip()) if stage == "acknowledged" else None

    def plan(_: Tree) -> Draft:
        arrival = Message("sync", "from origin")
        return Draft({"c.md": b"2\n"}, Message("merge", "ours"), WHO, WHO, onto=theirs, arrival=arrival)

    made = publish(repository, plan, purpose="merge")
    assert made
    assert [made.commit.oid] == tips
    assert (theirs,) == made.commit.parents
    assert ["b.md", "c.md"] == git("ls-tree", "--name-only", "HEAD").splitlines()
    assert "" == git("status", "--porcelain")
    assert ["merge: ours", "sync: from origin"] == git("reflog", "main", "--format=%gs").splitlines()[:2]


def test_what_arrives_is_never_logged_as_made_here(repository: Repository, git: Git) -> None:
    """A line that begins with a kind of commit would vouch for whatever the commit says of itself."""
    base = saved(repository, {"a.md": b"1\n"}).commit
    theirs = git("commit-tree", "-p", base.oid, "-m", "edit: theirs", f"{base.oid}^{{tree}}")

    def plan(_: Tree) -> Draft:
        return Draft({}, Message("edit", ""), WHO, WHO, onto=theirs, arrival=Message("edit", "theirs"))

    with pytest.raises(ValueError, match="kind of commit"):
        publish(repository, plan, purpose="merge")
    assert base.oid == repository.tip()


@pytest.mark.parametrize(
    "edits",
    [
        {"a.md/b.md": b"x"},
        {"d": b"x"},
        {"d": None},
        {"n": b"x", "n/m": b"y"},
        {"n/m": b"y", "n": b"x"},
    ],
)
def test_file_and_directory_of_one_name_are_refused(repository: Repository, edits: dict[str, Edit]) -> None:
    """A file never takes a directory's place or the other way round; nothing is changed."""
    saved(repository, {"a.md": b"1\n", "d/b.md": b"1\n"})
    before = tip_of(repository)

    with pytest.raises(InvalidContent, match=r"\w"):
        save(repository, edits)

    assert before == tip_of(repository)
    fsck_clean(repository)


@pytest.mark.parametrize(
    "edits",
    [
        {"a.md": None, "a.md/b/c.md": b"x"},
        {"a.md/b/c.md": b"x", "a.md": None},
        {"e.md": None, "e.md/f": None},
    ],
)
def test_a_file_makes_room_for_a_directory_in_one_change(
    repository: Repository, edits: dict[str, Edit], git: Git
) -> None:
    """As a merge brings it, in any order; the other files stay."""
    saved(repository, {"a.md": b"1\n", "e.md": b"2\n", "d/b.md": b"1\n"})

    saved(repository, edits)

    tree = repository.tree(tip_of(repository))
    assert "" == git("status", "--porcelain")
    assert tree.read("d/b.md") == b"1\n"
    assert all(tree.read(path) == edit for path, edit in edits.items())
    fsck_clean(repository)


@pytest.mark.parametrize(
    "path",
    [
        "../out.md",
        "d/../../out.md",
        "/tmp/out.md",
        "",
        ".",
        "d/",
        "d//x.md",
        "./x.md",
        ".git/config",
        "d/.GIT/x",
        "nul\0.md",
        "bad\udcff.md",
    ],
)
def test_path_outside_the_bundle_is_refused(repository: Repository, path: str) -> None:
    """No edit reaches outside the work tree or into git's own directory, whoever asks for it."""
    saved(repository, {"d/b.md": b"1\n"})
    before = tip_of(repository)
    around = sorted(os.listdir(Path(repository.root).parent))

    with pytest.raises(InvalidContent, match=r"\w"):
        save(repository, {path: b"x", "ok.md": b"x"})

    assert before == tip_of(repository)
    assert around == sorted(os.listdir(Path(repository.root).parent))
    assert not work_file(repository, "ok.md").exists()
    fsck_clean(repository)


def test_large_file_is_refused(repository: Repository) -> None:
    """A 50 MB file is refused with a sentence before anything is written."""
    saved(repository, {"a.md": b"1\n"})

    with pytest.raises(TooLarge, match=r"big\.md is too large .* at most 8 MB"):
        save(repository, {"big.md": b"x" * (50 << 20), "ok.md": b"1\n"})
    saved(repository, {"fits.md": b"x" * MAX_FILE_BYTES})

    assert {"a.md", "fits.md"} == files_at(repository).keys()
    fsck_clean(repository)


def test_trailers_are_readable_by_git(repository: Repository, git: Git) -> None:
    """Plain git reads kind, session and repeated trailers; so do we."""
    message = Message(
        "memory",
        "remember the port",
        {"Session": "s-1", "Reason": "the user said so", "Derived-From": ("abc", "def")},
        body="First line.\n\nKind: not a trailer here\n---\nSigned-off-by: nobody",
    )

    publish(repository, lambda _: Draft({"a.md": b"1\n"}, message, WHO, WHO), purpose="test")

    def of(key: str) -> list[str]:
        return git("log", "-1", f"--format=%(trailers:key={key},valueonly)").split("\n")

    assert ["memory"] == [line for line in of("Kind") if line]
    assert ["s-1"] == [line for line in of("Session") if line]
    assert ["abc", "def"] == [line for line in of("Derived-From") if line]
    assert [] == [line for line in of("Signed-off-by") if line]
    assert "memory: remember the port" == git("log", "-1", "--format=%s")
    text = repository.store.commit(tip_of(repository)).message
    assert ("abc", "def") == trailers_of(text)["Derived-From"]
    assert "memory" == kind_of(text)
    fsck_clean(repository)


@pytest.mark.parametrize(
    "newline", ["\n", "\r\n", "\r", "\n\n", "\x0b", "\x0c", "\x1c", "\x85", "\u2028", "\u2029"]
)
@pytest.mark.parametrize("where", ["what", "value", "body"])
def test_trailers_can_not_be_forged(repository: Repository, git: Git, newline: str, where: str) -> None:
    """Text from outside with line breaks in it adds no trailer and replaces none."""
    evil = f"x{newline}Kind: init{newline}Session: forged{newline}{newline}Kind: init{newline}Agent: root"
    message = Message(
        "flush",
        evil if where == "what" else "plain",
        {"Session": evil if where == "value" else "real"},
        body=evil if where == "body" else "",
    )

    publish(repository, lambda _: Draft({"a.md": b"1\n"}, message, WHO, WHO), purpose="test")

    raw = git("log", "-1", "--format=%(trailers:only,unfold)").splitlines()
    assert ["Kind: flush"] == [line for line in raw if line.startswith("Kind:")]
    assert 1 == len([line for line in raw if line.startswith("Session:")])
    assert not [line for line in raw if line.startswith("Agent:")]
    assert {"Kind", "Session"} == trailers_of(repository.store.commit(tip_of(repository)).message).keys()
    fsck_clean(repository)


@pytest.mark.parametrize("blank", [" ", "\t\n", "\x01", "\x1b\x07", "\x85", "\u2028"])
def test_a_blank_value_wipes_no_trailer(blank: str) -> None:
    """A source of white space or control characters is left out, and every other trailer is read."""
    for key in ("Session", "Source", "Events"):
        told = Message("flush", "x", {"Session": "s-1", "Agent": "me", key: blank}).render()
        wanted = {"Kind": ("flush",), "Session": ("s-1",), "Agent": ("me",)}
        wanted.pop(key, None)
        assert wanted == trailers_of(told)


@pytest.mark.parametrize("line", ["Source:", "Source:\u00a0x", "source: x", "\x1b[2J", "=====", ": x"])
def test_a_line_that_is_not_a_trailer_hides_no_other(line: str) -> None:
    """Whatever plain git or somebody else left among them, gitmem's own trailers are read; prose is not."""
    assert {"Kind", "Session"} == trailers_of(f"flush: x\n\nKind: flush\n{line}\nSession: s-1\n").keys()
    assert {} == trailers_of(f"A note\n\nRemember: this\n{line}\nand that\n")


def test_names_of_people_can_not_break_the_commit(repository: Repository, git: Git) -> None:
    """Angle brackets, newlines and control characters in a name leave a commit that fsck likes."""
    evil = Person("a <b>\nparent 123\n", "x>y\n<z", 1_760_000_000, -90)
    empty = Person("", "", 0)

    publish(repository, lambda _: Draft({"a.md": b"1\n"}, Message("flush", "x"), evil, empty), purpose="test")

    assert "-0130" == git("log", "-1", "--format=%ai").split()[-1]
    assert "unknown" == git("log", "-1", "--format=%cn")
    assert 1 == len(git("rev-list", "HEAD").splitlines())
    fsck_clean(repository)


def test_plan_is_asked_again_when_plain_git_was_faster(repository: Repository, git: Git) -> None:
    """A `git commit` between reading the tip and moving it is kept: the edit is computed on top of it."""
    saved(repository, {"a.md": b"one\n"})
    seen: list[Oid] = []

    def plan(tip: Tree) -> Draft:
        old = tip.read("a.md") or b""
        seen.append(tip.oid)
        if len(seen) == 1:
            work_file(repository, "a.md").write_bytes(b"one\nby hand\n")
            work_file(repository, "b.md").write_bytes(b"b\n")
            git("add", "--all")
            git("commit", "--quiet", "-m", "by hand")
        return Draft({"a.md": old + b"by gitmem\n"}, Message("flush", "x"), WHO, WHO)

    made = publish(repository, plan, purpose="test")

    assert made is not None
    assert 2 == len(seen)
    assert {"a.md": b"one\nby hand\nby gitmem\n", "b.md": b"b\n"} == files_at(repository)
    assert ["flush: x", "by hand", "flush: a change"] == git("log", "--format=%s").splitlines()
    fsck_clean(repository)


def test_tip_moved_at_the_last_moment(repository: Repository, git: Git) -> None:
    """A ref that plumbing moved after the plan was made, without touching the index, is not overwritten."""
    base = saved(repository, {"a.md": b"1\n"}).commit
    moved: list[Oid] = []

    def plan(_: Tree) -> Draft:
        if not moved:
            moved.append(git("commit-tree", "-p", base.oid, "-m", "plumbing", f"{base.oid}^{{tree}}"))
            git("update-ref", "refs/heads/main", moved[0])
        return Draft({"b.md": b"2\n"}, Message("flush", "x"), WHO, WHO)

    made = publish(repository, plan, purpose="test")

    assert made is not None
    assert made.old == moved[0]
    fsck_clean(repository)


def test_reflog_tells_the_story(repository: Repository, git: Git) -> None:
    """`git reflog` shows every commit of ours, and `main@{1}` works."""
    first = saved(repository, {"a.md": b"1\n"}, "first").commit
    saved(repository, {"a.md": b"2\n"}, "second")

    assert ["flush: second", "flush: first"] == git("reflog", "--format=%gs").splitlines()
    assert ["flush: second", "flush: first"] == git("reflog", "main", "--format=%gs").splitlines()
    assert first.oid == git("rev-parse", "main@{1}")


def test_tags(repository: Repository, git: Git) -> None:
    """A ref is set and deleted by compare-and-swap, and plain git sees an annotated tag."""
    commit = saved(repository, {"a.md": b"1\n"}).commit
    tag = render_tag(commit.oid, "snapshot/one", WHO, "the note\n")
    repository.store.write([tag])
    name = "refs/tags/snapshot/one"

    assert repository.refs.set(name, tag.oid, expected=None)
    assert not repository.refs.set(name, commit.oid, expected=None)
    repository.refs.delete({name: commit.oid})

    assert "the note" == git("tag", "-l", "--format=%(contents:subject)", "snapshot/one")
    assert commit.oid == git("rev-parse", "snapshot/one^{commit}")
    assert {name: tag.oid} == repository.refs.under("refs/tags/")
    assert (commit.oid, "snapshot/one") == (repository.store.peel(tag.oid)[0], "snapshot/one")
    git("pack-refs", "--all")
    assert {name: tag.oid} == repository.refs.under("refs/tags/")
    repository.refs.delete({name: tag.oid})
    assert "" == git("tag", "-l")
    assert repository.refs.read(name) is None
    assert [] == locks_left(repository)
    fsck_clean(repository)


def test_delete_keeps_the_other_packed_tags(repository: Repository, git: Git) -> None:
    """Dropping one packed tag keeps the others, with what they peel to."""
    commit = saved(repository, {"a.md": b"1\n"}).commit
    for name in ("one", "one-more", "two"):
        git("tag", "-a", "-m", name, name)
    git("pack-refs", "--all")

    repository.refs.delete({"refs/tags/one": git("rev-parse", "refs/tags/one")})

    assert ["one-more", "two"] == git("tag", "-l").splitlines()
    assert commit.oid == git("rev-parse", "two^{commit}")
    fsck_clean(repository)


@pytest.mark.parametrize(
    "name", ["refs/tags/a b", "refs/tags/a..b", "refs/tags/.x", "refs/tags/x.lock", "", "refs/tags/é\n"]
)
def test_bad_ref_names_are_refused(repository: Repository, name: str) -> None:
    """A name that git would not take is refused with a sentence."""
    commit = saved(repository, {"a.md": b"1\n"}).commit

    with pytest.raises(InvalidContent, match="cannot be a name in git"):
        repository.refs.set(name, commit.oid, expected=None)


def test_commits_go_on_after_pack_refs(repository: Repository, git: Git) -> None:
    """`git pack-refs --all` takes the branch's file away; the next commits find the tip all the same."""
    first = saved(repository, {"a.md": b"1\n"}).commit
    git("pack-refs", "--all", "--prune")
    assert not Path(repository.git_dir, "refs/heads/main").exists()

    second = saved(repository, {"a.md": b"2\n"})
    git("pack-refs", "--all")
    third = saved(repository, {"a.md": b"3\n"})

    assert first.oid == second.old
    assert second.commit.oid == third.old
    fsck_clean(repository)


def test_commits_go_on_after_gc(repository: Repository, git: Git) -> None:
    """After `git gc` a repository that is open reads and writes on, and so does a new one."""
    for number in range(5):
        append(repository, "a.md", b"%d\n" % number)
        append(repository, f"d{number}/b.md", b"x\n")
    git("gc", "--quiet", "--prune=now")

    append(repository, "a.md", b"after\n")
    repository.store.close()
    append(open_repository(repository.root), "a.md", b"again\n")
    git("repack", "-a", "-d", "-q")
    append(repository, "d1/b.md", b"y\n")

    assert b"0\n1\n2\n3\n4\nafter\nagain\n" == files_at(repository)["a.md"]
    fsck_clean(repository)


def test_many_commits_leave_few_packs(repository: Repository) -> None:
    """Small packs are joined as they pile up, and another open repository reads on meanwhile."""
    append(repository, "a.md", b"start\n")
    reader = open_repository(repository.root)
    versions = []
    for number in range(60):
        versions.append(append(repository, f"d{number % 3}/a.md", b"%d\n" % number).commit.oid)
        for oid in versions[:: max(1, len(versions) // 5)]:
            assert dict(reader.tree(oid).files())

    packs = [name for name in os.listdir(repository.store.pack_directory) if name.endswith(".pack")]

    reader.store.close()
    assert 1 <= len(packs) < 20
    assert b"".join(b"%d\n" % number for number in range(0, 60, 3)) == files_at(repository)["d0/a.md"]
    fsck_clean(repository)


def test_two_file_systems_are_refused(tmp_path: Path, disk: Path) -> None:
    """Before anything is made, and when somebody moved the git directory there later."""
    if os.stat(tmp_path).st_dev == os.stat(disk).st_dev:
        pytest.skip("only one file system here")
    with pytest.raises(BundleUnusable, match="two file systems"):
        make_repository(str(tmp_path / "bundle"), separate_git_dir=str(disk / "bundle.git"))
    assert not (tmp_path / "bundle").exists()
    make_repository(str(tmp_path / "bundle"), separate_git_dir=str(tmp_path / "bundle.git"))
    shutil.move(tmp_path / "bundle.git", disk / "bundle.git")
    (tmp_path / "bundle/.git").write_text(f"gitdir: {disk}/bundle.git\n")
    with pytest.raises(BundleUnusable, match="two file systems"):
        open_repository(str(tmp_path / "bundle"))


@pytest.mark.parametrize("relative", [True, False])
def test_separate_git_directory(tmp_path: Path, relative: bool) -> None:
    """A `.git` file that points elsewhere works, and a relative one survives a move of both."""
    root, git_dir = tmp_path / "home" / "bundle", tmp_path / "home" / "bundle.git"
    repository = make_repository(str(root), separate_git_dir=str(git_dir))
    assert "gitdir: ../bundle.git\n" == (root / ".git").read_text()
    if not relative:
        (root / ".git").write_text(f"gitdir: {git_dir}\n")
    saved(repository, {"d/a.md": b"1\n"})
    fsck_clean(repository)
    repository.store.close()
    if relative:
        (tmp_path / "home").rename(tmp_path / "moved")
        root = tmp_path / "moved" / "bundle"

    again = open_repository(str(root))
    saved(again, {"d/a.md": b"2\n"})

    assert {"d/a.md": b"2\n"} == files_at(again)
    assert {"d/a.md": b"2\n", ".git": (root / ".git").read_bytes()} == {
        file.relative_to(root).as_posix(): file.read_bytes() for file in root.rglob("*") if file.is_file()
    }
    fsck_clean(again)


def test_git_directory_inside_the_work_tree_under_another_name(tmp_path: Path) -> None:
    """A separate git directory below the work tree is not taken for a person's files."""
    root = tmp_path / "bundle"
    repository = make_repository(str(root), separate_git_dir=str(root / "store.git"))
    with (Path(repository.git_dir) / "info" / "exclude").open("a") as file:
        file.write("/store.git/\n")

    saved(repository, {"a.md": b"1\n"})

    fsck_clean(repository)


def test_missing_empty_directories_are_made_again(repository: Repository, git: Git) -> None:
    """A backup that dropped empty directories opens, and takes commits."""
    saved(repository, {"a.md": b"1\n"})
    git("pack-refs", "--all")
    repository.store.close()
    for directory, below, files in os.walk(repository.git_dir, topdown=False):
        if not below and not files:
            os.rmdir(directory)
    shutil.rmtree(Path(repository.git_dir, "refs"), ignore_errors=True)
    shutil.rmtree(Path(repository.git_dir, "gitmem"))

    again = open_repository(repository.root)
    fsck_clean(again)
    saved(again, {"a.md": b"2\n"})

    assert {"a.md": b"2\n"} == files_at(again)
    fsck_clean(again)


def test_empty_repository_takes_its_objects_directory_back(repository: Repository) -> None:
    """A bundle without a commit, whose empty directories a backup dropped, opens and takes a commit."""
    for name in ("objects", "refs", "gitmem", "hooks"):
        shutil.rmtree(Path(repository.git_dir, name))

    again = open_repository(repository.root)

    saved(again, {"a.md": b"1\n"})
    fsck_clean(again)


def test_lock_is_taken_again_by_its_thread(repository: Repository) -> None:
    """Several commits can be made under one hold of the bundle lock."""
    with writing(repository, "several"):
        saved(repository, {"a.md": b"1\n"})
        with writing(repository, "inner"):
            saved(repository, {"a.md": b"2\n"})
        saved(repository, {"a.md": b"3\n"})

    fsck_clean(repository)


def test_object_of_the_wrong_kind(repository: Repository) -> None:
    """Asking for a blob as a tree is a GitMemError with a sentence."""
    saved(repository, {"a.md": b"1\n"})
    blob = GitObject.of(b"blob", b"1\n")

    with pytest.raises(BundleUnusable, match="is a blob, not a tree"):
        repository.store.tree(blob.oid)
    assert repository.tree(tip_of(repository)).entry("a.md") == TreeEntry(FILE, blob.oid)


def test_a_long_run_keeps_a_bounded_number_of_entries(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A large directory is another tree after each commit: the store counts what is in them, and not trees alone."""
    monkeypatch.setattr(store, "_CACHED_ENTRIES", 300)
    repository = make_repository(str(tmp_path / "b"))
    saved(repository, {f"d/{number}.md": b"1\n" for number in range(100)})
    for number in range(10):
        saved(repository, {f"d/{number}.md": b"2\n"})

    kept = [len(tree.entries) for tree in repository.store._trees.values()]
    assert sum(kept) == repository.store._entries <= 300
    assert 100 in kept
    fsck_clean(repository)


def test_the_index_of_a_commit_is_known_to_the_next(repository: Repository, git: Git) -> None:
    """Nobody compares the whole index after each commit: only once somebody else wrote it."""
    for number in range(3):
        tip = saved(repository, {"a.md": b"%d\n" % number}).commit.oid
        assert repository.index_file.is_ours(tip)
    git("update-index", "--force-write-index")
    assert not repository.index_file.is_ours(tip)
    tip = saved(repository, {"a.md": b"more\n"}).commit.oid
    assert repository.index_file.is_ours(tip)
