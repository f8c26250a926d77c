"""`gitmem hook`, as plain git calls it."""

from __future__ import annotations

import re
import sys
from datetime import datetime, timedelta
from pathlib import Path

import pytest

from tests.cli.conftest import NOTE, Cli, git

STOPPED = "gitmem: The commit was stopped. Repair that and try again, or skip the check: `git commit --no-verify`.\n"


def _message(mem: Cli) -> str:
    return mem.git("log", "-1", "--format=%B").rstrip("\n")


def test_a_good_commit_gets_its_trailers(mem: Cli) -> None:
    """`git commit` works, and gitmem's log knows its kind and machine."""
    (mem.root / ".git/gitmem/config").write_text("machine: desk\n")
    mem.write("notes/a.md", NOTE)
    mem.git("add", ".")
    mem.git("commit", "-q", "-m", "A note")
    assert _message(mem) == "A note\n\nKind: edit\nMachine: desk"
    newest = mem("log", "-n", "1", "--json").json["commits"][0]
    assert (newest["kind"], newest["machine"], newest["author"]["name"]) == ("edit", "desk", "Ann")
    assert mem("check").code == 0


@pytest.mark.parametrize(
    ("path", "content", "told"),
    [
        ("notes/a.md", "no front matter", "notes/a.md: It does not begin with front matter. (OKF rule 1)"),
        ("notes/a.md", "---\ntitle: x\n---\n", "notes/a.md: The front matter has no type, or an empty one."),
        (
            "notes/CON.md",
            NOTE,
            "notes/CON.md: The path 'notes/CON.md' cannot be in a bundle: it names a device",
        ),
        (".gitattributes", "* text\n", ".gitattributes: The path '.gitattributes' cannot be in a bundle"),
        ("big.bin", "x" * (9 << 20), "big.bin: It is too large (9 MB; at most 8 MB)."),
        ("memories/MEMORY.md", "---\ntype: [x\n---\n", "memories/MEMORY.md: "),
    ],
)
def test_pre_commit_stops_what_is_no_bundle(mem: Cli, path: str, content: str, told: str) -> None:
    """It says which file breaks what, and nothing is committed."""
    mem.write(path, content)
    mem.git("add", "-f", ".")
    found = mem.git("commit", "-m", "x", check=False)
    assert told in found
    assert found.endswith(STOPPED)
    assert mem.git("rev-list", "--count", "HEAD") == "1\n"


def test_pre_commit_stops_links_and_collisions(mem: Cli) -> None:
    """Links, and names that are one name elsewhere."""
    (mem.root / "link").symlink_to("/etc/passwd")
    mem.write("Memories/a.md", NOTE)
    mem.git("add", ".")
    found = mem.git("commit", "-m", "x", check=False)
    assert "gitmem: link: It is a symbolic link, and a bundle holds regular files only.\n" in found
    assert "On a disk that ignores case it is the same as " in found


def test_pre_commit_looks_at_what_is_staged(mem: Cli) -> None:
    """Not at the work tree: a bad file that is not staged stops nothing."""
    mem.write("notes/good.md", NOTE)
    mem.git("add", ".")
    mem.write("notes/bad.md", "bad")
    mem.write("notes/good.md", "bad too")
    mem.git("commit", "-q", "-m", "x")


def test_pre_commit_of_some_paths(mem: Cli) -> None:
    """`git commit PATH` works with a temporary index: that is the one to look at."""
    mem.write("notes/good.md", NOTE)
    mem.write("notes/bad.md", "bad")
    mem.git("add", ".")
    mem.git("commit", "-q", "-m", "good", "notes/good.md")
    assert "notes/bad.md: " in mem.git("commit", "-m", "bad", "notes/bad.md", check=False)
    mem.write("notes/good.md", "bad now")
    assert "notes/good.md: " in mem.git("commit", "-am", "all", check=False)


def test_pre_commit_reads_other_forms_of_the_index(mem: Cli) -> None:
    """Version 4, and the whole index that git makes of a split one for a commit."""
    mem.git("update-index", "--index-version", "4")
    mem.write("notes/bad.md", "bad")
    mem.git("add", ".")
    assert "notes/bad.md: " in mem.git("commit", "-m", "x", check=False)
    mem.git("update-index", "--split-index")
    assert "notes/bad.md: " in mem.git("commit", "-m", "x", check=False)


def test_pre_commit_from_a_subdirectory_and_with_a_separate_git_directory(
    gitmem: Cli, tmp_path: Path
) -> None:
    """Wherever git is called, and wherever its directory is."""
    gitmem("init", "mem", "--separate-git-dir", "store.git")
    gitmem.cwd = tmp_path / "mem/notes"
    gitmem.write("a.md", "bad")
    gitmem.git("add", ".")
    assert "notes/a.md: " in gitmem.git("commit", "-m", "x", check=False)
    gitmem.write("a.md", NOTE)
    gitmem.git("commit", "-qam", "x")


def test_hooks_do_not_follow_the_environment(mem: Cli, tmp_path: Path) -> None:
    """$GITMEM_BUNDLE may name another bundle: a hook is about the one git is in."""
    root = mem.root
    mem.env["GITMEM_BUNDLE"] = str(tmp_path / "elsewhere")
    mem.write("notes/bad.md", "bad")
    mem.git("add", ".")
    assert root == mem.root
    assert "notes/bad.md: It does not begin" in mem.run("hook", "pre-commit").err


def test_a_merge_by_plain_git(mem: Cli) -> None:
    """A merge of two branches is checked and gets its kind."""
    mem.git("checkout", "-q", "-b", "side")
    mem.write("notes/side.md", NOTE)
    mem.git("add", ".")
    mem.git("commit", "-q", "-m", "side")
    mem.git("checkout", "-q", "main")
    mem.write("notes/main.md", NOTE)
    mem("commit")
    mem.git("merge", "-q", "--no-ff", "-m", "Merge side", "side")
    assert "Kind: merge" in _message(mem)
    assert mem.git("status", "--porcelain") == ""
    assert mem("status", "--json").json["hand_edits"] == []


def test_pre_push_checks_what_would_leave(mem: Cli, tmp_path: Path) -> None:
    """A commit that slipped by `--no-verify` does not leave; a good one does."""
    git(tmp_path, "init", "-q", "--bare", "remote.git")
    mem.git("remote", "add", "origin", "../remote.git")
    mem.git("push", "-q", "origin", "main")
    mem.write("notes/bad.md", "bad")
    mem.git("add", ".")
    mem.git("commit", "-q", "--no-verify", "-m", "bad")
    mem.write("notes/bad.md", NOTE)
    mem.git("commit", "-q", "-am", "repaired, but the bad one is in the history")
    found = mem.git("push", "origin", "main", check=False)
    assert "gitmem: notes/bad.md: It does not begin with front matter. (OKF rule 1) (commit " in found
    assert "gitmem: The push was stopped" in found
    mem.git("reset", "-q", "--hard", "HEAD~2")
    mem.write("notes/good.md", NOTE)
    mem("commit")
    mem.git("push", "-q", "origin", "main")


@pytest.mark.parametrize("branch", ["main", "side"])
def test_a_secret_that_slipped_to_one_remote_leaves_to_no_other(
    mem: Cli, tmp_path: Path, branch: str
) -> None:
    """Sent to one remote with `--no-verify`, it is still a secret of this machine: no push, no sync, no file takes it."""
    for name in ("origin", "other"):
        git(tmp_path, "init", "-q", "--bare", "-b", "main", f"{name}.git")
        mem("remote", "add", name, f"../{name}.git", "--yes")
    mem("sync", "origin")
    mem.git("checkout", "-q", "-B", branch)
    mem.write("notes/key.md", NOTE + "The key is AKIA" + "IOSFODNN7" + "QWERTYU.\n")
    mem.git("add", ".")
    mem.git("commit", "-q", "--no-verify", "-m", "a key")
    mem.git("checkout", "-q", "main")
    mem.git("merge", "-q", branch)
    mem.git("push", "-q", "--no-verify", "origin", "main")
    pushed = mem.git("push", "other", "main", check=False)
    assert "gitmem: notes/key.md: " in pushed
    assert "The push was stopped" in pushed
    told = mem.fails("sync", "other")
    assert "notes/key.md in commit" in told
    assert "nothing was sent" in told
    assert "nothing was sent" in mem.fails("sync", "--to", "../mem.bundle")
    assert git(tmp_path / "other.git", "for-each-ref") == ""
    assert not (tmp_path / "mem.bundle").exists()


def test_pre_push_keeps_private_refs(mem: Cli, tmp_path: Path) -> None:
    """Quarantine is never pushed."""
    git(tmp_path, "init", "-q", "--bare", "remote.git")
    mem.git("update-ref", "refs/gitmem/quarantine", "HEAD")
    found = mem.git("push", "../remote.git", "refs/gitmem/quarantine:refs/heads/q", check=False)
    assert "which is never pushed" in found
    mem.git("push", "-q", "../remote.git", "main")
    mem.git("push", "-q", "../remote.git", ":main", check=False)


@pytest.mark.parametrize("separate", [False, True])
def test_a_linked_work_tree_says_where_the_main_one_is(gitmem: Cli, tmp_path: Path, separate: bool) -> None:
    """`git worktree add` works and warns; a commit there is stopped, with the directory to work in."""
    gitmem("init", "mem", *(("--separate-git-dir", "mem.git") if separate else ()))
    git(tmp_path / "mem", "worktree", "add", "-q", "-b", "side", "../side")
    (tmp_path / "side/n.md").write_text(NOTE)
    git(tmp_path / "side", "add", "n.md")
    told = git(tmp_path / "side", "commit", "-m", "x", check=False)
    assert f"gitmem works in the main one, {tmp_path}/mem." in told
    gitmem.cwd = tmp_path / "side"
    said = gitmem.fails("status")
    assert f"gitmem works in the main one, /tmp/mem{'.git' * separate}. Change to that directory" in said


def test_post_hooks_finish_what_a_crash_left(mem: Cli) -> None:
    """After a plain merge, an unfinished write is finished."""
    mem("hook", "post-merge", "0")


def test_an_unknown_hook_is_wrong_usage(mem: Cli) -> None:
    """The names are listed."""
    assert "it is one of pre-commit, commit-msg" in mem.fails("hook", "pre-lunch", code=2)
    assert "needs the file" in mem.fails("hook", "commit-msg", code=2)


def _launcher_calls(mem: Cli, python: str) -> None:
    launcher = mem.root / ".git/hooks/gitmem"
    script = launcher.read_text()
    launcher.write_text(re.sub(r"(?m)^python=.*$", f"python={python}", script, count=1))


def test_a_python_that_is_gone_stops_no_commit(mem: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without any gitmem the commit and a new branch pass, and git's user reads how to repair the hooks."""
    monkeypatch.setenv("PATH", "/usr/bin:/bin")
    _launcher_calls(mem, "/no/such/python")
    mem.write("notes/a.md", NOTE)
    mem.git("add", ".")
    said = mem.git("commit", "-m", "A note", check=False)
    assert "did not run" in said
    assert "gitmem check --fix" in said
    mem.git("checkout", "-q", "-b", "aside")
    assert "2\n" == mem.git("rev-list", "--count", "aside")


@pytest.mark.parametrize("python", ["/no/such/python", "without gitmem"])
def test_the_gitmem_on_path_takes_over(
    mem: Cli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, python: str
) -> None:
    """A Python that is gone, or that lost its gitmem, is replaced by the `gitmem` that the person has now."""
    programs = tmp_path / "bin"
    programs.mkdir()
    (programs / "gitmem").write_text(f'#!/bin/sh\nexec {sys.executable} -P -m gitmem "$@"\n')
    (programs / "gitmem").chmod(0o755)
    bare = tmp_path / "python"
    bare.write_text(f'#!/bin/sh\nPYTHONPATH= exec {sys.executable} -I -S "$@"\n')
    bare.chmod(0o755)
    monkeypatch.setenv("PATH", f"{programs}:/usr/bin:/bin")
    _launcher_calls(mem, str(bare) if python == "without gitmem" else python)
    mem.write("notes/a.md", "no front matter")
    mem.git("add", ".")
    assert mem.git("commit", "-m", "x", check=False).endswith(STOPPED)


def test_doctor_replaces_hooks_of_an_older_gitmem(mem: Cli) -> None:
    """A hook that calls one Python and nothing else is reported, and put right."""
    hook = mem.root / ".git/hooks/pre-commit"
    hook.write_text(f'#!/bin/sh\nexec {sys.executable} -P -m gitmem hook pre-commit "$@"\n')
    assert "old, or call a gitmem that is gone: pre-commit" in mem.run("check").out
    mem.run("check", "--fix")
    assert 0 == mem.run("check").code
    assert '/gitmem" hook pre-commit' in hook.read_text()


def test_a_fact_that_plain_git_committed_has_its_commits_age(mem: Cli) -> None:
    """It is not the oldest of all for ever: it is dated at once, the next write notes it, and the prompt keeps it."""
    for number in range(3):
        mem("remember", f"An older fact, number {number}")
    mem.now += timedelta(minutes=10)
    path = mem.cwd / "memories/MEMORY.md"
    path.write_text(path.read_text() + "\n§\nWritten with plain git\n")
    mem.now += timedelta(minutes=1)
    mem.git("commit", "-qam", "by hand")
    listed = mem("facts", "--json").json["memory"]["entries"]
    assert "Written with plain git" == listed[-1]["text"]
    committed = mem.git("log", "-1", "--format=%cI").strip()
    assert datetime.fromisoformat(committed) == datetime.fromisoformat(listed[-1]["at"])
    mem.env["GITMEM_MEMORY_CHAR_LIMIT"] = "60"
    assert "Written with plain git" in mem("facts", "--block").out
    del mem.env["GITMEM_MEMORY_CHAR_LIMIT"]
    mem("forget", "number 1")
    assert 'at: ""' not in path.read_text()
    assert listed[-1]["at"] in path.read_text()
