"""`gitmem check`, `gc` and completion."""

from __future__ import annotations

import os
import shutil
import stat
from datetime import UTC, datetime
from pathlib import Path

import pytest

from tests.cli.conftest import NOTE, Cli, real


def test_check_of_a_whole_bundle(mem: Cli) -> None:
    """Nothing found: exit 0 and a sentence."""
    assert mem("check").out == "Whole. Looked at 1 commit and 7 files; nothing is wrong.\n"
    found = mem("check", "--history", "--json").json
    assert {"ok", "problems", "commit_count", "file_count"} == set(found)
    assert (found["ok"], found["problems"]) == (True, [])


def test_check_exits_with_3(mem: Cli) -> None:
    """A finding is a line, and exit code 3."""
    mem.write("notes/a.md", "no front matter")
    mem.git("add", ".")
    mem.git("commit", "-q", "--no-verify", "-m", "x")
    expected = """\
! notes/a.md: It does not begin with front matter. (OKF rule 1)
  Read it with `git log -p -- notes/a.md`, then correct it: `gitmem edit notes/a.md`.
Looked at 2 commits and 8 files; 1 problem.
"""
    assert expected == mem("check", code=3).out


def test_check_of_an_object_that_was_changed(mem: Cli) -> None:
    """A flipped byte in a pack is found."""
    (pack,) = (mem.root / ".git/objects/pack").glob("*.pack")
    data = bytearray(pack.read_bytes())
    data[len(data) // 2] ^= 0xFF
    os.chmod(pack, stat.S_IRUSR | stat.S_IWUSR)
    pack.write_bytes(data)
    found = mem("check", "--json", code=3).json
    assert "objects" in {row["check"] for row in found["problems"]}


def test_check_of_an_object_that_is_gone(mem: Cli) -> None:
    """Without its objects the bundle is not whole, and that is told, not a traceback."""
    shutil.rmtree(mem.root / ".git/objects/pack")
    assert mem("check", "--json", code=3).json["problems"]


@pytest.mark.parametrize("has_reflog", [True, False])
@pytest.mark.parametrize("content", [None, b"", b"nonsense\n"])
def test_check_puts_a_lost_branch_back(mem: Cli, content: bytes | None, has_reflog: bool) -> None:
    """The command that every other one names opens the memory, also where it has no branch and no reflog."""
    mem("remember", "Something that was never sent.")
    tip = mem.git("rev-parse", "main")
    branch = mem.root / ".git/refs/heads/main"
    branch.unlink()
    if content is not None:
        branch.write_bytes(content)
    if not has_reflog:
        shutil.rmtree(mem.root / ".git/logs")
    assert "gitmem check" in mem.fails("facts")
    assert tip[:12] in mem("check", code=3).out
    assert f"The branch main is at {tip[:12]} again." in mem("check", "--fix").out
    assert tip == mem.git("rev-parse", "main")
    assert "never sent" in mem("facts").out


@pytest.mark.parametrize("content", [None, b"", b"\0" * 21, b"nonsense\n", b"ref: elsewhere\n"])
def test_check_writes_a_lost_head_again(mem: Cli, content: bytes | None) -> None:
    """Git itself does not know the repository then; gitmem reads, and writes nothing until it is repaired."""
    (mem.root / ".git/HEAD").unlink()
    if content is not None:
        (mem.root / ".git/HEAD").write_bytes(content)
    assert "`gitmem check --fix` writes it again" in mem.fails("remember", "Something.")
    mem("facts")
    mem("check", code=3)
    mem("check", "--fix")
    assert "main" == mem.git("branch", "--show-current").strip()
    mem("remember", "Something.")


def test_check_says_what_to_do_and_does_it(mem: Cli) -> None:
    """Problems with their remedies; --fix repairs what can be repaired."""
    (mem.root / ".git/hooks/pre-commit").unlink()
    mem.git("config", "core.autocrlf", "true")
    found = mem("check", code=3).out
    assert "· Git hooks of gitmem are missing, old, or call a gitmem that is gone: pre-commit.\n" in found
    assert "  Run `git config core.autocrlf false`.\n" in found
    fixed = mem("check", "--fix").out
    assert "  The git hooks and the merge driver are in place.\n" in fixed
    assert "  core.autocrlf is false now.\n" in fixed
    assert mem.git("config", "core.autocrlf") == "false\n"
    assert mem("check").out.startswith("Whole. ")


def test_check_as_json(mem: Cli) -> None:
    """Stable keys for each problem."""
    mem.git("checkout", "-q", "--detach")
    found = mem("check", "--json", code=3).json
    assert {"check", "serious", "what", "remedy", "fixable", "fixed"} == set(found["problems"][0])
    assert not found["ok"]


def test_gc_compresses(mem: Cli) -> None:
    """Many packs become one, and `status` knows when."""
    for number in range(5):
        mem.write("notes/n.md", NOTE + str(number))
        mem("commit")
    found = mem("gc", "--json").json
    assert {"ran", "by", "before", "after"} == set(found)
    assert (found["ran"], found["after"]["packs"]) == (True, 1)
    assert mem("status", "--json").json["last_gc"] is not None
    assert mem("gc").out.startswith("Compressed ")
    assert mem.git("fsck", "--strict") == ""


def test_gc_auto_is_quiet_and_waits_until_it_is_due(mem: Cli) -> None:
    """Nothing to do: not a word."""
    assert mem("gc", "--auto").out == ""
    assert mem("gc", "--auto", "--json").json["ran"] is False
    assert mem("status", "--json").json["last_gc"] is None


def test_gc_auto_runs_when_it_is_due(mem: Cli) -> None:
    """Many loose objects: it runs, without a word, in a process of its own."""
    for number in range(256):
        directory = mem.root / f".git/objects/{number:02x}"
        directory.mkdir()
        for other in range(20):
            (directory / f"{other:038x}").write_bytes(b"")
    done = real("gc", "--auto", cwd=mem.root)
    assert done.stdout == ""
    assert (mem.root / ".git/gitmem/cache/gc").exists() or done.returncode == 1


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_completion_scripts(tmp_path: Path, shell: str) -> None:
    """Each shell gets its script from click."""
    done = real(cwd=tmp_path, env={"_GITMEM_COMPLETE": f"{shell}_source"})
    assert "_GITMEM_COMPLETE" in done.stdout


def test_completion_completes(tmp_path: Path) -> None:
    """The script's question is answered with commands and options."""
    env = {"_GITMEM_COMPLETE": "bash_complete", "COMP_WORDS": "gitmem sta", "COMP_CWORD": "1"}
    assert real(cwd=tmp_path, env=env).stdout == "plain,status\n"
    env = {"_GITMEM_COMPLETE": "bash_complete", "COMP_WORDS": "gitmem log --si", "COMP_CWORD": "2"}
    assert real(cwd=tmp_path, env=env).stdout == "plain,--since\n"


def test_gc_keeps_the_word_of_what_was_made_here(gitmem: Cli) -> None:
    """Git's log of `main` says so; git would drop it after 90 days, and own commits would pass for pulled ones."""
    gitmem.now = datetime(2020, 1, 1, tzinfo=UTC)
    gitmem.init()
    gitmem("remember", "Ann likes tea")
    before = gitmem.git("reflog", "main")
    gitmem("gc")
    gitmem.git("gc", "-q")
    assert before == gitmem.git("reflog", "main")
    assert {None} == {entry["pulled_from"] for entry in gitmem("log", "--json").json["commits"]}
