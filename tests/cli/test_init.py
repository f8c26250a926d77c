"""`gitmem init`."""

from __future__ import annotations

import os
import sys
from pathlib import Path

from tests.cli.conftest import NOTE, Cli


def test_init_makes_a_bundle_that_plain_git_knows(gitmem: Cli, tmp_path: Path) -> None:
    """A new bundle is a clean repository with one commit."""
    expected = (
        "Made a bundle in /tmp/mem.\n"
        "Edit memories/MEMORY.md there and run `gitmem commit`, then `gitmem log`.\n"
    )
    assert expected == gitmem.masked("init", "mem")
    gitmem.cwd = tmp_path / "mem"
    assert gitmem.git("status", "--porcelain") == ""
    assert gitmem.git("fsck", "--strict") == ""
    assert gitmem.git("log", "--format=%s") == "init: a bundle for hermes\n"


def test_init_again_changes_nothing(mem: Cli) -> None:
    """A bundle that is there is left as it is, and that is no failure."""
    before = mem.state()
    assert mem.masked("init") == "There is a bundle in /tmp/mem already; nothing was changed.\n"
    assert before == mem.state()


def test_init_as_json(gitmem: Cli, tmp_path: Path) -> None:
    """The document says where it is and whether it was made."""
    first, second = gitmem("init", "mem", "--json").json, gitmem("init", "mem", "--json").json
    assert {"bundle", "git_dir", "made", "commit"} == set(first)
    assert (first["made"], second["made"]) == (True, False)
    assert str(tmp_path / "mem/.git") == first["git_dir"]


def test_a_separate_git_directory(gitmem: Cli, tmp_path: Path) -> None:
    """The git directory may lie beside the work tree, joined by a relative link."""
    gitmem("init", "mem", "--separate-git-dir", "mem.git")
    assert (tmp_path / "mem/.git").read_text() == "gitdir: ../mem.git\n"
    gitmem.cwd = tmp_path / "mem"
    gitmem.remember("a fact")
    gitmem("commit")
    assert gitmem.git("status", "--porcelain") == ""
    assert len(gitmem("log", "--json").json["commits"]) == 2


def test_files_that_were_there_are_taken_in(gitmem: Cli, tmp_path: Path) -> None:
    """Files of a directory that becomes a bundle are committed where they can be."""
    gitmem.write("mem/notes/a.md", NOTE)
    gitmem.init()
    assert "notes/a.md" in gitmem.git("ls-files")


def test_hooks_call_this_interpreter_without_the_bundle_on_its_path(mem: Cli) -> None:
    """Hooks run the gitmem that made them, with -P."""
    script = (mem.root / ".git/hooks/pre-commit").read_text()
    assert f'#!/bin/sh\nexec {sys.executable} -P -m gitmem hook pre-commit "$@"\n' == script


def test_a_foreign_hook_is_left_alone(gitmem: Cli, tmp_path: Path) -> None:
    """In a repository with a hook of its own, that hook stays, and a line says so."""
    (tmp_path / "mem").mkdir()
    gitmem.cwd = tmp_path / "mem"
    gitmem.git("init", "-q", "-b", "trunk")
    hook = gitmem.write(".git/hooks/pre-commit", "#!/bin/sh\nexit 0\n")
    os.chmod(hook, 0o755)
    found = gitmem.run("init")
    assert (found.code, hook.read_text()) == (0, "#!/bin/sh\nexit 0\n")
    told = "The git hook pre-commit is somebody else's and was left alone. See `gitmem doctor`."
    expected = f"gitmem: warning: {told}\n"
    assert expected == found.err
    assert gitmem.git("branch", "--show-current") == "main\n"


def test_a_foreign_repository_is_refused(gitmem: Cli, tmp_path: Path) -> None:
    """A project's repository does not become a bundle."""
    (tmp_path / "project").mkdir()
    gitmem.cwd = tmp_path / "project"
    gitmem.git("init", "-q", "-b", "main")
    gitmem.git("commit", "-q", "--allow-empty", "-m", "x")
    before = gitmem.state()
    assert "git repository of something else" in gitmem.fails("init")
    assert before == gitmem.state()
    gitmem.git("branch", "-m", "trunk")
    assert "it has no branch main" in gitmem.fails("init")


def test_no_bundle_inside_a_bundle(mem: Cli) -> None:
    """A bundle in a bundle's own directory would be two histories of one tree."""
    assert mem.fails("init", "memories/other").endswith("make the new one elsewhere.")
    assert not (mem.root / "memories/other").exists()


def test_init_stands_back_from_a_page_edited_by_hand(gitmem: Cli) -> None:
    """An index.md that is no index stops what would write over it, with a sentence."""
    gitmem.write("mem/memories/index.md", "* no link\n")
    gitmem.write("mem/memories/other.md", NOTE)
    result = gitmem.run("init", "mem")
    assert result.code == 1
    assert result.err.startswith("gitmem: memories/index.md is not a valid OKF file")
    assert not (gitmem.root / "mem/.git").exists()
    assert (gitmem.root / "mem/memories/index.md").read_text() == "* no link\n"
