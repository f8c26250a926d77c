"""Which bundle a command is about, with which settings, and what a path means."""

from __future__ import annotations

import shutil
from pathlib import Path

from tests.cli.conftest import Cli


def _bundle_of(gitmem: Cli, *args: str) -> str:
    return str(gitmem(*args, "status", "--json").json["bundle"])


def test_the_order_in_which_a_bundle_is_found(gitmem: Cli, tmp_path: Path) -> None:
    """-C, then $GITMEM_BUNDLE, then a parent directory, then Hermes' home, then the setting."""
    for name in ("chosen", "variable", "parent", "home/.hermes/gitmem/bundle", "setting"):
        gitmem("init", name)
    gitmem.env.update(GITMEM_BUNDLE=str(tmp_path / "variable"), GITMEM_BUNDLE_PATH="setting")
    gitmem.cwd = tmp_path / "parent/memories"
    assert str(tmp_path / "chosen") == _bundle_of(gitmem, "-C", str(tmp_path / "chosen"))
    assert str(tmp_path / "variable") == _bundle_of(gitmem)
    del gitmem.env["GITMEM_BUNDLE"]
    assert str(tmp_path / "parent") == _bundle_of(gitmem)
    gitmem.cwd = tmp_path
    assert str(tmp_path / "home/.hermes/gitmem/bundle") == _bundle_of(gitmem)
    shutil.rmtree(tmp_path / "home/.hermes")
    assert str(tmp_path / "setting") == _bundle_of(gitmem)


def test_hermes_home_is_named_by_its_variable(gitmem: Cli, tmp_path: Path) -> None:
    """$HERMES_HOME says where Hermes lives."""
    gitmem("init", "other/gitmem/bundle", "--separate-git-dir", "other/gitmem/bundle.git")
    gitmem.env["HERMES_HOME"] = str(tmp_path / "other")
    assert str(tmp_path / "other/gitmem/bundle") == _bundle_of(gitmem)


def test_a_relative_choice_counts_from_here(gitmem: Cli, tmp_path: Path) -> None:
    """`-C mem` is below the current directory."""
    gitmem("init", "mem")
    assert str(tmp_path / "mem") == _bundle_of(gitmem, "-C", "mem")


def test_a_foreign_repository_above_is_passed_by(gitmem: Cli, tmp_path: Path) -> None:
    """In a project's own repository, commands are about the bundle of Hermes' home."""
    gitmem("init", "home/.hermes/gitmem/bundle")
    project = tmp_path / "project/src"
    project.mkdir(parents=True)
    gitmem.cwd = tmp_path / "project"
    gitmem.git("init", "-q")
    gitmem.cwd = project
    assert str(tmp_path / "home/.hermes/gitmem/bundle") == _bundle_of(gitmem)


def test_settings_and_where_they_come_from(mem: Cli) -> None:
    """`status --config` shows each value with its origin."""
    hermes = mem.home / ".hermes"
    hermes.mkdir()
    (hermes / "gitmem.yaml").write_text("memory_char_limit: 500\n")
    (hermes / "config.yaml").write_text("memory:\n  user_char_limit: 600\nother: 1\n")
    (mem.root / ".git/gitmem/config").write_text("agent_id: scribe\n")
    mem.env["GITMEM_NUDGE_INTERVAL"] = "3"
    rows = {row["key"]: row for row in mem("config", "--json").json["settings"]}
    told = {key: (rows[key]["value"], rows[key]["origin"]) for key in rows}
    assert told["agent_id"] == ("scribe", "<git dir>/gitmem/config")
    assert told["memory_char_limit"] == (500, "$HERMES_HOME/gitmem.yaml")
    assert told["user_char_limit"] == (600, "$HERMES_HOME/config.yaml (memory)")
    assert told["nudge_interval"] == (3, "environment GITMEM_NUDGE_INTERVAL")
    assert told["machine"] == ("laptop", "host name")
    assert told["auto_snapshot"] == (True, "default")
    assert "nudge_interval          3  (environment GITMEM_NUDGE_INTERVAL)\n" in mem("config").out


def test_settings_are_shown_without_a_bundle(gitmem: Cli) -> None:
    """Settings hold before there is a bundle."""
    assert "hot_memory_max" in gitmem("config").out


def test_a_wrong_setting_is_one_line(mem: Cli) -> None:
    """A setting of the wrong type stops a command before it does anything."""
    mem.env["GITMEM_HOT_MEMORY_MAX"] = "many"
    expected = (
        "`hot_memory_max` in the environment (GITMEM_HOT_MEMORY_MAX) must be a whole number of at least 1, "
        "not 'many'. It is: events in the buffer before it is flushed."
    )
    assert expected == mem.fails("status")


def test_a_configuration_that_is_no_text(mem: Cli) -> None:
    """A configuration file that is not UTF-8 is told, not a traceback."""
    (mem.root / ".git/gitmem/config").write_bytes(b"\xff\xfe")
    expected = "<git dir>/gitmem/config is not UTF-8. Correct the file, or move it away."
    assert expected == mem.fails("log")


def test_paths_count_from_the_root_or_from_here(mem: Cli) -> None:
    """`memories/X` is the bundle's; `./X` and absolute paths are from where one stands."""
    whole = mem("show", "memories/MEMORY.md").out
    mem.cwd = mem.root / "memories"
    assert whole == mem("show", "memories/MEMORY.md").out
    assert whole == mem("show", "./MEMORY.md").out
    assert whole == mem("show", "../memories/MEMORY.md").out
    assert whole == mem("show", str(mem.root / "MEMORY.md")).out


def test_a_warning_is_told_once_at_the_end(gitmem: Cli, tmp_path: Path) -> None:
    """What a bundle warns about goes to standard error, one line each."""
    (tmp_path / "mem").mkdir()
    (tmp_path / "mem/bad.md").write_text("---\ntype: Note\n")
    found = gitmem.run("init", "mem")
    assert found.code == 0
    expected = (
        "gitmem: warning: bad.md is not a valid OKF file: The front matter has no closing line of three dashes. "
        "It is left as it is, uncommitted.\n"
    )
    assert expected == found.err
