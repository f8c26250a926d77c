"""Bad input: each gets one clear sentence and exit code 1, nothing is changed, and reading goes on."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from gitmem.cli.main import COMMANDS
from gitmem.git import refs

from tests.cli.conftest import NOTE, Cli


def _stops(mem: Cli, *args: str) -> str:
    """A command fails, and refs, index and work tree are as before."""
    before, refs = mem.state(), mem.git("for-each-ref", check=False)
    told = mem.fails(*args)
    assert before == mem.state()
    assert refs == mem.git("for-each-ref", check=False)
    return told


def _reads(mem: Cli) -> None:
    """Looking goes on where writing does not."""
    for args in (("log",), ("show",), ("show", "memories/MEMORY.md"), ("status",), ("diff", "HEAD")):
        mem(*args)


@pytest.mark.parametrize("path", ["../x", "../../etc/passwd", "/etc/passwd", "HEAD:../x", "memories/../../x"])
def test_a_path_outside_the_bundle(mem: Cli, path: str) -> None:
    """Nothing outside is read."""
    assert _stops(mem, "show", path).endswith(" is outside the memory /tmp/mem.")
    assert "outside the memory" in _stops(mem, "log", "--path", path.removeprefix("HEAD:"))
    assert "outside the memory" in _stops(mem, "diff", "--path", path.removeprefix("HEAD:"))


def test_a_directory_that_is_not_there(gitmem: Cli) -> None:
    """-C nowhere."""
    expected = (
        "There is no directory /tmp/nowhere. "
        "Create one with `gitmem init`, or name one with -C or $GITMEM_BUNDLE."
    )
    assert expected == gitmem.fails("-C", "nowhere", "log")


def test_no_bundle_anywhere(gitmem: Cli) -> None:
    """A directory without a bundle, and none above it."""
    expected = (
        "There is no memory in /tmp or above it. "
        "Create one with `gitmem init`, or name one with -C or $GITMEM_BUNDLE."
    )
    for args in (("log",), ("status",), ("commit",), ("check",), ("check",), ("gc",)):
        assert expected == gitmem.fails(*args)


def test_a_file_that_is_not_utf8(mem: Cli) -> None:
    """`commit` fails with its name, and changes nothing where there is nothing else to commit."""
    mem.write("notes/latin.md", NOTE.encode() + b"caf\xe9\n")
    expected = (
        "notes/latin.md is not a valid OKF file: It is not UTF-8 (byte 22). "
        "It was edited by hand: repair or remove it, then run this again."
    )
    assert expected == _stops(mem, "commit")
    _reads(mem)


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("---\ntype: [unclosed\n---\n", "notes/a.md is not a valid OKF file:"),
        ("---\ntype: Note\n", "closing line of three dashes"),
    ],
)
def test_broken_front_matter(mem: Cli, text: str, reason: str) -> None:
    """Broken YAML and missing types stop `commit`, with the file's name."""
    mem.write("notes/a.md", text)
    told = _stops(mem, "commit")
    assert "notes/a.md" in told
    assert reason in told


def test_plain_markdown_becomes_a_note(mem: Cli) -> None:
    """A file that is dropped into the memory gets front matter; its text stays, and no command stops at it."""
    mem.write("todo.md", "# Todo\n\nbuy milk\n")
    mem.write("notes/untyped.md", "---\ntitle: Plans\n---\nSail to Corfu.\n")
    assert mem("review", "--list").out.strip() == "Nothing waits."
    mem("export", "--format", "markdown", "../out.md")
    assert "buy milk" in (mem.root / "../out.md").read_text()
    assert (mem.root / "todo.md").read_text() == "---\ntype: Note\ntitle: todo\n---\n# Todo\n\nbuy milk\n"
    assert (mem.root / "notes/untyped.md").read_text().startswith("---\ntype: Note\ntitle: Plans\n---\nSail")
    assert mem.git("status", "--porcelain") == ""


def test_a_file_that_cannot_be_used_stops_no_other_command(mem: Cli) -> None:
    """An export goes on without it, and names it."""
    mem.remember("a fact")
    mem.write("notes/bad.md", "---\ntype: [\n---\n")
    done = mem.run("export", "--format", "markdown", "../out.md")
    assert (done.code, "a fact" in (mem.root / "../out.md").read_text()) == (0, True)
    assert "notes/bad.md" in done.err


def test_a_broken_curated_store(mem: Cli) -> None:
    """MEMORY.md with broken YAML is not committed, and can still be looked at."""
    mem.remember("a fact")
    mem("commit")
    path = mem.root / "memories/MEMORY.md"
    path.write_text(path.read_text().replace("type: CuratedMemory", "type: [CuratedMemory"))
    assert "memories/MEMORY.md" in _stops(mem, "commit")
    _reads(mem)


def test_a_large_file(mem: Cli) -> None:
    """50 MB are not taken in."""
    path = mem.root / "big.bin"
    with path.open("wb") as file:
        file.truncate(50 << 20)
    expected = (
        "big.bin is too large (50 MB; at most 8 MB). "
        "It was edited by hand: repair or remove it, then run this again."
    )
    told = mem.fails("commit")
    assert expected == told
    assert mem.git("ls-files", "big.bin") == ""
    _reads(mem)


def test_a_detached_head(mem: Cli) -> None:
    """Gitmem commits to main only, and says how to get there."""
    mem.git("checkout", "-q", "--detach")
    mem.remember("a fact")
    expected = "HEAD is detached, and gitmem commits to main only. Run `git checkout main` first."
    assert expected == _stops(mem, "commit")
    _reads(mem)
    assert [expected] == mem("status", "--json").json["problems"]


def test_another_branch(mem: Cli) -> None:
    """The same on a branch of a person's own."""
    mem.git("checkout", "-q", "-b", "mine")
    mem.remember("a fact")
    assert _stops(mem, "commit").startswith("HEAD is on branch mine, and gitmem commits to main only")
    _reads(mem)


_READERS = (
    *(
        ("log",),
        ("show",),
        ("show", "memories/MEMORY.md"),
        ("status",),
        ("diff", "HEAD~1"),
        ("search", "tea"),
    ),
    *(
        ("facts",),
        ("facts", "--block"),
        ("blame", "memories/MEMORY.md"),
        ("why", "tea"),
        ("recall", "tea"),
    ),
    *(
        ("log",),
        ("plan", "list"),
    ),
    *(("snapshot", "--list"), ("review", "--list"), ("scan",)),
)


@pytest.mark.parametrize("args", _READERS, ids=" ".join)
@pytest.mark.parametrize("where", ["at", "on branch side"])
def test_every_reader_says_that_head_is_elsewhere(mem: Cli, args: tuple[str, ...], where: str) -> None:
    """One warning on standard error and in the JSON document; none where main is checked out."""
    mem("remember", "Ann likes tea")
    assert "warning" not in mem(*args, "--json").json
    mem.git("checkout", "-q", *(("HEAD~1",) if where == "at" else ("-b", "side", "HEAD~1")))
    told = mem.run(*args)
    assert f"gitmem: warning: HEAD is {where}" in told.err
    assert "and not on main: a search answers for what is checked out" in told.err
    assert told.err.count("\n") == 1
    assert mem.run(*args, "--json").json["warning"] in told.err


def test_a_writer_says_once_that_head_is_elsewhere(mem: Cli) -> None:
    """The error is enough."""
    mem("remember", "Ann likes tea")
    mem.git("checkout", "-q", "HEAD~1")
    assert "gitmem commits to main only" in _stops(mem, "remember", "Ann likes rum")


def _conflict(mem: Cli) -> None:
    mem.git("checkout", "-q", "-b", "mine")
    mem.write("notes/a.md", NOTE + "mine\n")
    mem.git("add", ".")
    mem.git("commit", "-q", "-m", "mine")
    mem.git("checkout", "-q", "main")
    mem.write("notes/a.md", NOTE + "theirs\n")
    mem("commit")


def test_a_merge_under_way(mem: Cli) -> None:
    """With a conflict in the index, nothing is committed."""
    _conflict(mem)
    mem.git("-c", "merge.gitmem.driver=false", "merge", "mine", check=False)  # ours would settle it
    expected = "A merge is under way in this bundle: finish or abort it with git first."
    assert expected == _stops(mem, "commit")
    _reads(mem)


def test_a_rebase_under_way(mem: Cli) -> None:
    """A rebase detaches HEAD and leaves conflicts: refused too."""
    _conflict(mem)
    mem.git("checkout", "-q", "mine")
    mem.git("rebase", "main", check=False)
    assert _stops(mem, "commit")
    _reads(mem)


def test_a_foreign_index_lock(mem: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    """Another git command holds the index."""
    monkeypatch.setattr(refs, "PATIENCE", 0.05)
    mem.remember("a fact")
    lock = mem.write(".git/index.lock", "")
    expected = (
        "Another program holds /tmp/mem/.git/index.lock: wait for it to end, or remove that file if no git "
        "command is running."
    )
    assert expected == _stops(mem, "commit")
    assert lock.exists()
    _reads(mem)
    lock.unlink()
    mem("commit")


def test_a_bundle_that_is_no_repository(mem: Cli) -> None:
    """The files are there, the git directory is gone."""
    shutil.rmtree(mem.root / ".git")
    expected = (
        "/tmp/mem holds the files of a memory, but it is not a git repository. "
        "Restore its git directory from a backup, or begin a new history with `gitmem init .`."
    )
    assert expected == mem.fails("log")
    assert expected == mem.fails("-C", ".", "commit")


def test_a_link_to_a_git_directory_that_is_gone(gitmem: Cli, tmp_path: Path) -> None:
    """The `.git` file names nothing."""
    gitmem("init", "mem", "--separate-git-dir", "mem.git")
    shutil.rmtree(tmp_path / "mem.git")
    gitmem.cwd = tmp_path / "mem"
    assert gitmem.fails("log").startswith("The git directory /tmp/mem.git that /tmp/mem/.git names is gone")


def test_a_newer_format(mem: Cli) -> None:
    """An older gitmem reads a newer bundle and writes nothing to it."""
    agent = mem.root / "config/agent.md"
    agent.write_text(agent.read_text().replace("gitmem_format: 1", "gitmem_format: 2"))
    mem.git("commit", "-qam", "from the future")
    mem.remember("a fact")
    told = _stops(mem, "commit")
    assert told == "This bundle has format 2, newer than this gitmem writes (1): upgrade gitmem."
    _reads(mem)
    assert mem("status", "--json").json["format"] == 2


def test_a_disk_that_refuses_writes(mem: Cli) -> None:
    """A directory of locks that cannot be made stands for a read-only disk (tests may run as root)."""
    shutil.rmtree(mem.root / ".git/gitmem/locks")
    mem.write(".git/gitmem/locks", "in the way")
    mem.remember("a fact")
    told = _stops(mem, "commit")
    assert told.startswith("The bundle cannot be written (")
    assert told.endswith("; nothing was changed, so repair that and try again.")
    _reads(mem)


def test_a_bare_repository(gitmem: Cli, tmp_path: Path) -> None:
    """A bare repository has no work tree to be a bundle."""
    gitmem.git("init", "-q", "--bare", "store.git")
    expected = (
        "/tmp/store.git is a bare repository. "
        "Clone it with `gitmem clone /tmp/store.git DIR` and use the clone."
    )
    assert expected == gitmem.fails("-C", "store.git", "log")
    gitmem.cwd = tmp_path / "store.git"
    assert expected == gitmem.fails("commit")


def test_an_empty_repository(gitmem: Cli, tmp_path: Path) -> None:
    """A repository without commits is no bundle yet."""
    gitmem.git("init", "-q", "empty")
    gitmem.cwd = tmp_path / "empty"
    expected = (
        "/tmp/empty is a repository without commits, not a memory yet. Make it one with `gitmem init .`."
    )
    for args in (("log",), ("status",), ("commit",), ("check",), ("check",)):
        assert expected == gitmem.fails(*args)


def test_a_foreign_repository(gitmem: Cli, tmp_path: Path) -> None:
    """A project's repository is no bundle, and none of its files is committed."""
    (tmp_path / "project").mkdir()
    gitmem.cwd = tmp_path / "project"
    gitmem.git("init", "-q", "-b", "main")
    gitmem.git("commit", "-q", "--allow-empty", "-m", "x")
    gitmem.write("secret.txt", "x")
    before = gitmem.git("log")
    for args in (("commit",), ("log",), ("check",), ("check",)):
        assert gitmem.fails(*args).startswith("/tmp/project is a git repository, but not a memory.")
    assert before == gitmem.git("log")
    assert not (tmp_path / "project/.git/gitmem").exists()


def test_a_repository_without_main(mem: Cli) -> None:
    """The branch was renamed: gitmem says so."""
    mem.git("branch", "-m", "trunk")
    told = mem.fails("log")
    assert "main" in told


def test_a_damaged_ref(mem: Cli) -> None:
    """A branch that holds no commit id is told, and `verify` has a finding."""
    mem.write(".git/refs/heads/main", "nonsense\n")
    assert mem.fails("log") == "The ref refs/heads/main is damaged. Run `gitmem check`."
    assert mem("check", "--json", code=3).json["ok"] is False


@pytest.mark.parametrize("word", ["a\0b", "\ud800"])
def test_no_command_takes_half_a_character_or_a_nul(mem: Cli, word: str) -> None:
    """As an argument of every command: wrong usage, in one sentence."""
    for name in COMMANDS:
        assert "holds a NUL or half of a character." in mem.fails(name, word, code=2)


@pytest.mark.parametrize(
    "args",
    [
        *(
            ("show", "WORD"),
            ("diff", "WORD"),
            ("blame", "WORD"),
            ("why", "WORD"),
            ("search", "WORD"),
            ("recall", "WORD"),
        ),
        *(
            ("log", "-S", "WORD"),
            ("log", "--session", "WORD"),
            ("log", "--path", "WORD"),
            ("restore", "WORD"),
        ),
        *(
            ("revert", "WORD"),
            ("revert", "--text", "WORD"),
            ("snapshot", "create", "WORD"),
            ("snapshot", "--delete", "WORD"),
        ),
        *(("scan", "WORD"), ("sync", "WORD"), ("remote", "add", "WORD", "WORD"), ("clone", "WORD")),
    ],
    ids=" ".join,
)
@pytest.mark.parametrize("word", ["x\udcffy", "9" * 5000, "-"])
def test_words_that_are_no_text_or_very_long(mem: Cli, args: tuple[str, ...], word: str) -> None:
    """Bytes that are not UTF-8, and a name of 5,000 digits: never a bug, and the next command works."""
    done = mem.run(*(arg.replace("WORD", word) for arg in args))
    assert "bug" not in done.err
    mem("remember", "More.")


def test_a_file_that_cannot_be_used_keeps_no_other_from_a_commit(mem: Cli) -> None:
    """The good file is committed and listed; the bad one is named once, stays, and the command fails."""
    mem.write("notes/bad.md", b"\xff\xfe\x00binary")
    mem.write("todo.md", "Buy milk\n")
    done = mem("commit", code=1)
    assert "todo.md" in done.out
    assert done.err.startswith("gitmem: notes/bad.md ")
    assert done.err.count("notes/bad.md") == 1
    assert "todo.md" in mem.git("ls-files")
    assert mem.git("status", "--porcelain", "-uall") == "?? notes/bad.md\n"
    assert "commits" in mem("commit", "--json", code=1).json
