"""The entry point: help, versions, exit codes, and errors that are one line."""

from __future__ import annotations

import os
import shlex
import subprocess
import sys
from pathlib import Path

import click
import pytest
from gitmem import __version__
from gitmem.cli import main as entry
from gitmem.cli.main import COMMANDS, cli

from tests.cli.conftest import Cli, real
from tests.git.support import plain_environment


def test_help_names_every_command(gitmem: Cli) -> None:
    """`gitmem help --all` lists the whole table."""
    out = gitmem("help", "--all").out
    assert set(COMMANDS) <= set(out.split())


def test_version(gitmem: Cli) -> None:
    """`--version` prints it."""
    assert f"gitmem {__version__}\n" == gitmem("--version").out


def test_help_imports_click_alone() -> None:
    """Start-up is a feature: nothing heavy is imported for `--help`."""
    code = (
        "import sys; from gitmem.cli.main import main; main(['--help']); "
        "heavy = {'dulwich', 'yaml', "
        "'frontmatter', 'sqlite3', 'subprocess', 'json', 'difflib', "
        "'gitmem.git', 'gitmem.okf', 'gitmem.memory', 'gitmem.config'}; "
        "print('heavy:', sorted(heavy & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.splitlines()[-1] == "heavy: []"


def test_log_does_without_yaml(mem: Cli) -> None:
    """`gitmem log` needs no YAML, no SQLite and nothing of the writing half."""
    code = (
        f"import sys; from gitmem.cli.main import main; main(['-C', {str(mem.root)!r}, 'log', '-n', '20']); "
        "heavy = {'yaml', 'frontmatter', 'sqlite3', 'gitmem.git.transaction', "
        "'gitmem.okf.validate'}; "
        "print('heavy:', sorted(heavy & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.splitlines()[-1] == "heavy: []"


def test_status_imports_nothing_for_what_is_not_there(mem: Cli) -> None:
    """Without facts, sessions, hand edits and remotes it does without the recorder, the rules and the transport."""
    mem.git("rm", "-rq", "memories")
    mem.git("commit", "-qm", "no facts")
    code = (
        f"import sys; from gitmem.cli.main import main; main(['-C', {str(mem.root)!r}, 'status']); "
        "heavy = {'sqlite3', 'tomllib', 'dulwich.repo', 'gitmem.git.transaction', "
        "'gitmem.git.transport', 'gitmem.memory.hand_edits', 'gitmem.safety.rules', "
        "'gitmem.memory.capture.recorder', 'gitmem.memory.capture.buffer'}; "
        "print('heavy:', sorted(heavy & set(sys.modules)))"
    )
    assert _python(mem, code).stdout.splitlines()[-1] == "heavy: []"


def _python(mem: Cli, code: str) -> subprocess.CompletedProcess[str]:
    env = {**os.environ, "HOME": str(mem.home)}
    return subprocess.run([sys.executable, "-c", code], env=env, capture_output=True, text=True, check=True)


def test_status_shows_the_last_session_without_what_records(mem: Cli) -> None:
    """The page of a session is read, and nothing of the journal."""
    mem("session", "start", "s1")
    code = (
        f"import sys; from gitmem.cli.main import main; main(['-C', {str(mem.root)!r}, 'status']); "
        "heavy = {'gitmem.memory.capture.recorder', 'gitmem.memory.capture.buffer', 'gitmem.memory.capture.sessions', "
        "'gitmem.memory.hand_edits'}; "
        "print('heavy:', sorted(heavy & set(sys.modules)))"
    )
    done = _python(mem, code)
    assert "s1, open since" in done.stdout
    assert done.stdout.splitlines()[-1] == "heavy: []"


def test_unknown_command_gets_a_suggestion(gitmem: Cli) -> None:
    """A typo is told with the nearest command, and is wrong usage."""
    expected = "There is no command `stauts`. Did you mean `status`? See `gitmem --help`."
    assert expected == gitmem.fails("stauts", code=2)


def test_wrong_option_is_wrong_usage(gitmem: Cli) -> None:
    """An option that is not there exits with 2 and names the help to read."""
    assert "See `gitmem log --help`." in gitmem.fails("log", "--colour", code=2)


def test_a_group_without_a_command_shows_its_help(gitmem: Cli) -> None:
    """`gitmem memory` alone is a question, not a failure."""
    assert gitmem("session").out.startswith("Usage: gitmem session")


def test_an_unexpected_error_is_one_line(gitmem: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    """A bug is told as one, without a traceback."""

    def broken(*_: object, **__: object) -> None:
        raise RuntimeError("boom\x1b[31m\nsecond line")

    monkeypatch.setattr(cli, "main", broken)
    result = gitmem("log", code=1)
    expected = (
        "gitmem: RuntimeError: boom␛[31m second line. This is a bug in gitmem; "
        "run it again with GITMEM_DEBUG=1 to see where.\n"
    )
    assert expected == result.err


def test_debug_shows_the_traceback(gitmem: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    """With GITMEM_DEBUG the exception comes through."""

    def broken(*_: object, **__: object) -> None:
        raise RuntimeError("boom")

    monkeypatch.setattr(cli, "main", broken)
    gitmem.env["GITMEM_DEBUG"] = "1"
    with pytest.raises(RuntimeError):
        gitmem("log")


def test_debug_is_no_setting(mem: Cli) -> None:
    """GITMEM_DEBUG does not count as an unknown setting."""
    mem.env["GITMEM_DEBUG"] = "1"
    mem("status")


def test_interrupt_exits_with_130(gitmem: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    """Ctrl-C is quiet and has its customary code."""

    def interrupted(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(cli, "main", interrupted)
    assert gitmem("log", code=130).err == "gitmem: interrupted.\n"


def test_an_error_of_the_system_is_one_line(gitmem: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    """An OSError that nobody expected says what the system said, and is no bug."""

    def refused(*_: object, **__: object) -> None:
        raise PermissionError(13, "Permission denied", "/x")

    monkeypatch.setattr(cli, "main", refused)
    expected = "The system refused: Permission denied (/x). Repair that and try again."
    assert expected == gitmem.fails("log")


def test_a_reader_that_leaves_is_no_error(mem: Cli) -> None:
    """`gitmem log | head -1` ends quietly."""
    for number in range(40):
        mem.write("notes/n.md", f"---\ntype: Note\n---\n{number}\n")
        mem("commit")
    command = f"{sys.executable} -P -m gitmem -C {mem.root} log --json | head -1"
    done = subprocess.run(["sh", "-c", command], capture_output=True, text=True, check=False)
    assert (done.stdout, done.stderr) == ("{\n", "")


def test_the_module_is_the_command(tmp_path: Path) -> None:
    """`python -m gitmem` works, with its exit codes."""
    assert real("--version", cwd=tmp_path).stdout == f"gitmem {__version__}\n"
    assert real("nonsense", cwd=tmp_path).returncode == 2
    lost = real("log", cwd=tmp_path)
    assert lost.returncode == 1
    assert lost.stderr.startswith("gitmem: There is no memory in ")


def test_the_table_is_right() -> None:
    """Every row leads to a command of that name."""
    context = click.Context(cli)
    for name in COMMANDS:
        command = cli.get_command(context, name)
        assert command is not None
        assert name == command.name


def test_modules_in_the_work_tree_are_not_imported(mem: Cli) -> None:
    """A bundle that carries a `click.py` cannot run it through gitmem's git hooks."""
    mem.write("click.py", "raise SystemExit('owned')\n")
    mem.write("notes/a.md", "---\ntype: Note\n---\n")
    mem.git("add", ".")
    mem.git("commit", "-m", "a note")
    assert "Kind: edit" in mem.git("log", "-1", "--format=%B")


def test_python_m_gitmem_imports_nothing_from_where_it_is(mem: Cli) -> None:
    """Nor by `python -m gitmem` inside the bundle, without `-P`."""
    for module in ("click", "yaml", "dulwich", "difflib"):
        mem.write(f"{module}.py", "raise SystemExit('owned')\n")
    command = [sys.executable, "-m", "gitmem", "log", "-n", "1"]
    environment = {**plain_environment(), "PYTHONPATH": str(Path(entry.__file__).parents[2])}
    environment["HOME"] = str(mem.home)
    done = subprocess.run(command, cwd=mem.root, env=environment, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")


def test_entry_point_is_main() -> None:
    """The console script of pyproject.toml."""
    assert callable(entry.main)


@pytest.mark.parametrize("closed", ["<&-", ">&-", "2>&-", ">&- 2>&-", "<&- >&- 2>&-"])
@pytest.mark.parametrize("command", ["status", "remember fact", "nope"])
def test_a_closed_stream_stops_nothing(mem: Cli, closed: str, command: str) -> None:
    """A command does its work where nobody can read of it, and ends with its own exit code."""
    line = f"exec {shlex.quote(sys.executable)} -P -m gitmem {command} {closed}"
    env = {**plain_environment(), "HOME": str(mem.home)}
    done = subprocess.run(
        ["sh", "-c", line], cwd=mem.cwd, env=env, capture_output=True, text=True, check=False
    )
    assert (2 if command == "nope" else 0) == done.returncode, done
    assert "bug" not in done.stderr
    assert "Whole." in mem("check").out


def test_a_reader_that_goes_away_ends_a_command_as_git(mem: Cli) -> None:
    """`gitmem log | head -1` ends as a program that SIGPIPE ends, and without a word."""
    pieces = [sys.executable, "-P", "-m", "gitmem", "log"]
    env = {**plain_environment(), "HOME": str(mem.home)}
    process = subprocess.Popen(pieces, cwd=mem.cwd, env=env, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    assert process.stdout is not None
    assert process.stderr is not None
    process.stdout.close()
    with process:
        assert b"" == process.stderr.read()
    assert 141 == process.returncode
