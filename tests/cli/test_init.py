"""`gitmem init`."""

from __future__ import annotations

import os
import shutil
import sys
from pathlib import Path

import pytest

from tests.cli.conftest import NOTE, Cli, git


def test_init_makes_a_bundle_that_plain_git_knows(gitmem: Cli, tmp_path: Path) -> None:
    """A new bundle is a clean repository with one commit."""
    expected = (
        "Created a memory in /tmp/mem.\n"
        "Next: `gitmem remember TEXT`, or `gitmem connect claude` (codex, hermes …).\n"
    )
    assert expected == gitmem.masked("init", "mem")
    gitmem.cwd = tmp_path / "mem"
    assert gitmem.git("status", "--porcelain") == ""
    assert gitmem.git("fsck", "--strict") == ""
    assert gitmem.git("log", "--format=%s") == "init: memory of ada\n"


def test_init_again_changes_nothing(mem: Cli) -> None:
    """A bundle that is there is left as it is, and that is no failure."""
    before = mem.state()
    assert mem.masked("init") == "There is a memory in /tmp/mem already; nothing was changed.\n"
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


def test_a_memory_that_is_there_becomes_the_bundles(gitmem: Cli) -> None:
    """A MEMORY.md from elsewhere is taken in as a person's edit; a broken one stays, and is reported."""
    gitmem.write("mem/memories/MEMORY.md", "Deploys happen on Tuesdays\n")
    gitmem.write("mem/memories/USER.md", b"\xff\xfe")
    result = gitmem.run("init", "mem")
    assert 0 == result.code
    assert "memories/USER.md is not a valid OKF file" in result.err
    gitmem.cwd = gitmem.cwd / "mem"
    assert "Deploys happen on Tuesdays" in gitmem.run("facts").out
    assert ["edit", "init"] == [commit["kind"] for commit in gitmem.run("log", "--json").json["commits"]]


@pytest.mark.parametrize("copied", [True, False])
def test_a_bundle_without_its_git_directory_begins_a_new_history(mem: Cli, copied: bool) -> None:
    """Copied without .git, or robbed of it: `init` takes every file in again, and nothing is wrong with it."""
    mem("remember", "Deploys happen on Tuesdays")
    mem("record", "decision", "Use Postgres", "--rationale", "We query JSON")
    if copied:
        shutil.copytree(mem.root, mem.root.parent / "copy", ignore=shutil.ignore_patterns(".git"))
        mem.cwd = mem.root.parent / "copy"
    else:
        shutil.rmtree(mem.root / ".git")
    mem("init")
    assert "Deploys happen on Tuesdays" in mem("facts").out
    assert "Use Postgres" in mem("search", "postgres").out
    assert "" == git(mem.cwd, "status", "--porcelain")
    assert 0 == mem.run("check").code
    assert 0 == mem.run("check").code


def test_a_repository_with_staged_files_becomes_a_bundle(gitmem: Cli) -> None:
    """`git init; git add .; gitmem init`; a version that only the index has is not lost: it is refused."""
    root = gitmem.cwd / "mem"
    gitmem.write("mem/memories/MEMORY.md", "Deploys happen on Tuesdays\n")
    git(root, "init", "-q", "-b", "main")
    git(root, "add", ".")
    gitmem.write("mem/memories/MEMORY.md", "Deploys happen on Fridays\n")
    assert "staged in another version" in gitmem.fails("init", "mem")
    git(root, "add", ".")
    gitmem("init", "mem")
    assert "Fridays" in gitmem("-C", "mem", "facts").out
    assert "" == git(root, "status", "--porcelain")


def test_hooks_call_this_interpreter_without_the_bundle_on_its_path(mem: Cli) -> None:
    """Hooks run the gitmem that made them, with -P."""
    launcher = (mem.root / ".git/hooks/gitmem").read_text()
    assert f"\npython={sys.executable}\n" in launcher
    assert '"$python" -P -c' in launcher


def test_a_foreign_hook_is_left_alone(gitmem: Cli, tmp_path: Path) -> None:
    """In a repository with a hook of its own, that hook stays, and a line says so."""
    (tmp_path / "mem").mkdir()
    gitmem.cwd = tmp_path / "mem"
    gitmem.git("init", "-q", "-b", "trunk")
    hook = gitmem.write(".git/hooks/pre-commit", "#!/bin/sh\nexit 0\n")
    os.chmod(hook, 0o755)
    found = gitmem.run("init", ".")
    assert (found.code, hook.read_text()) == (0, "#!/bin/sh\nexit 0\n")
    told = "The git hook pre-commit is not gitmem's and was left alone. See `gitmem check`."
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
    assert "git repository of something else" in gitmem.fails("init", ".")
    assert before == gitmem.state()
    gitmem.git("branch", "-m", "trunk")
    for command in (("init", "."), ("status",)):
        assert "git repository of something else" in gitmem.fails(*command)


def test_a_memory_on_another_branch_is_renamed(mem: Cli) -> None:
    """Only a branch that holds a memory is proposed as `main`."""
    mem.git("branch", "-m", "old-memory")
    assert "`git branch -m old-memory main`" in mem.fails("status")


def test_init_beside_a_fetched_memory_is_refused(mem: Cli, tmp_path: Path) -> None:
    """A plain clone of a server whose HEAD names another branch is empty; init would begin an unrelated history."""
    hub = tmp_path / "hub.git"
    git(tmp_path, "init", "-q", "--bare", "-b", "master", str(hub))
    mem("remote", "add", "origin", str(hub), "--yes")
    mem("sync")
    git(tmp_path, "clone", "-q", str(hub), "clone")
    mem.cwd = tmp_path / "clone"
    for command in (("init", "."), ("status",)):
        assert "`git checkout -b main origin/main`" in mem.fails(*command)
    mem.git("checkout", "-q", "-b", "main", "origin/main")
    mem("init", ".")
    assert "facts" in mem("status").out


def test_a_remote_that_is_not_there_is_said_in_our_words(mem: Cli, tmp_path: Path) -> None:
    """A path without a repository gets a sentence and a command, and not git's complaint."""
    mem("remote", "add", "origin", str(tmp_path / "no hub.git"), "--yes")
    said = mem.fails("sync")
    assert "There is no directory /tmp/no hub.git. Make it a repository: `git init --bare" in said


def test_no_bundle_inside_a_bundle(mem: Cli) -> None:
    """A bundle in a bundle's own directory would be two histories of one tree."""
    assert mem.fails("init", "memories/other").endswith("create the new one elsewhere.")
    assert not (mem.root / "memories/other").exists()


def test_init_stands_back_from_a_page_edited_by_hand(gitmem: Cli) -> None:
    """An index.md that is no index stops what would write over it, with a sentence."""
    gitmem.write("mem/memories/index.md", "* no link\n")
    gitmem.write("mem/memories/other.md", NOTE)
    result = gitmem.run("init", "mem")
    assert result.code == 1
    assert result.err.startswith("gitmem: memories/index.md was edited by hand and blocks a commit")
    assert not (gitmem.root / "mem/.git").exists()
    assert (gitmem.root / "mem/memories/index.md").read_text() == "* no link\n"


def test_init_for_an_agent(gitmem: Cli) -> None:
    """`--agent` says whose memory it is: in agent.md, and as the author of what agents write."""
    gitmem("init", "mem", "--agent", "codex: one")
    gitmem.cwd = gitmem.cwd / "mem"
    assert "agent_id: 'codex: one'" in (gitmem.cwd / "config/agent.md").read_text().replace('"', "'")
    gitmem("remember", "A fact")
    commit = gitmem("log", "-n", "1", "--json").json["commits"][0]
    assert "codex: one" == commit["author"]["name"]


def test_one_memory_for_a_user(gitmem: Cli) -> None:
    """`init` without a directory makes ~/.gitmem, and every command finds it from anywhere."""
    assert str(gitmem.home / ".gitmem") == gitmem("init", "--json").json["bundle"]
    elsewhere = gitmem.root / "elsewhere"
    elsewhere.mkdir()
    gitmem.cwd = elsewhere
    gitmem("remember", "Deploys happen on Mondays")
    assert "Mondays" in gitmem("facts").out
    gitmem.init("mem")
    assert "Mondays" not in gitmem("facts").out


def test_a_link_is_no_place_for_the_default_memory(gitmem: Cli) -> None:
    """Somebody could have put it there."""
    (gitmem.home / "other").mkdir()
    (gitmem.home / ".gitmem").symlink_to("other")
    assert "not a place of yours alone" in gitmem.fails("init", code=2)
    assert [] == list((gitmem.home / "other").iterdir())


def test_a_project_has_a_memory_of_its_own(gitmem: Cli) -> None:
    """In .memory/ of its repository, which git leaves out; found from below."""
    project = gitmem.root / "project"
    (project / "src").mkdir(parents=True)
    gitmem.cwd = project
    gitmem.git("init", "--quiet")
    gitmem.cwd = project / "src"
    assert str(project / ".memory") == gitmem("init", "--project", "--json").json["bundle"]
    gitmem("init", "--project")
    gitmem("remember", "Tests run with make")
    assert "make" in gitmem("facts").out
    assert "" == gitmem.git("status", "--porcelain")
    assert 1 == (project / ".git/info/exclude").read_text().count("/.memory/")


def test_what_an_agent_types_is_its_own(mem: Cli) -> None:
    """A command that an agent runs is by that agent, where the settings name none."""
    mem.env["CLAUDECODE"] = "1"
    mem("remember", "Deploys happen on Mondays")
    assert "claude" == mem("log", "-n", "1", "--json").json["commits"][0]["agent"]
