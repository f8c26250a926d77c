"""`gitmem config`, and docs/settings.md, which has every setting."""

from __future__ import annotations

import os
import re
from pathlib import Path

import pytest
from gitmem.cli.setup import spelled
from gitmem.config import Setting, settings
from gitmem.settings_edit import keys_of_setting, put

from tests.cli.conftest import Cli

DOCS = Path(__file__).parents[2] / "docs/settings.md"
ROWS = {row.key: row for row in settings()}


def test_set_get_unset(mem: Cli) -> None:
    """A setting is set for this bundle, told with its origin, and taken out again."""
    assert "all\n" == mem("config", "transcripts").out
    assert "transcripts  text  (<git dir>/gitmem/config)\n" == mem("config", "transcripts", "text").out
    assert "text\n" == mem("config", "transcripts").out
    assert "transcripts: text\n" == (mem.root / ".git/gitmem/config").read_text()
    row = mem("config", "transcripts", "--unset", "--json").json
    assert ("transcripts", "all", "default") == (row["key"], row["value"], row["origin"])
    assert "" == (mem.root / ".git/gitmem/config").read_text()


def test_list_is_what_status_tells(mem: Cli) -> None:
    """Every setting, in one shape."""
    mem("config", "hot_memory_max", "7")
    listed = mem("config", "--json").json
    assert listed == mem("config", "--json").json
    assert [row.key for row in settings()] == [row["key"] for row in listed["settings"]]
    assert "hot_memory_max" in mem("config").out


def test_in_the_settings_of_a_user(mem: Cli) -> None:
    """What says whom to talk to is for a person's own file; a variable goes before all."""
    told = mem.fails("config", "distiller.base_url", "https://model.example", code=2)
    assert "Set it with --user." in told
    mem("config", "distiller.base_url", "https://model.example", "--user")
    home = mem.home / ".config/gitmem/config.yaml"
    assert 'distiller.base_url: "https://model.example"\n' == home.read_text()
    mem.env["GITMEM_TRANSCRIPTS"] = "off"
    told = mem("config", "transcripts", "all", "--user").out
    assert "What holds is from environment GITMEM_TRANSCRIPTS" in told
    mem("config", "distiller.base_url", "--unset", "--user")
    assert "transcripts: all\n" == home.read_text()


def test_without_a_bundle(gitmem: Cli) -> None:
    """Settings can be read; to set one takes a bundle, or the home."""
    assert "all\n" == gitmem("config", "transcripts").out
    assert "There is no memory" in gitmem.fails("config", "transcripts", "text")
    gitmem("config", "transcripts", "text", "--user")
    assert "text\n" == gitmem("config", "transcripts").out


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (["transcript", "text"], "the nearest one is `transcripts`"),
        (["nothing"], "is not a setting of gitmem"),
        (["transcripts", "some"], "must be one of all, text, user-only, off, not 'some'"),
        (["hot_memory_max", "0"], "must be a whole number of at least 1"),
    ],
)
def test_what_is_wrong_is_not_written(mem: Cli, arguments: list[str], told: str) -> None:
    """The error says what would be right."""
    assert told in mem.fails("config", *arguments)
    assert not (mem.root / ".git/gitmem/config").exists()


BEFORE = """\
# mine
transcripts: text  # no tools
trust:
  # the web
  web: hold
  mail: mark
hot_memory_max: 7
"""


@pytest.mark.parametrize(
    ("key", "value", "line"),
    [
        ("transcripts", "off", 'transcripts: "off"  # no tools'),
        ("trust.web", "follow", "  web: follow"),
        ("trust.file", "hold", "  file: hold"),
        ("hot_memory_max", 9, "hot_memory_max: 9"),
        ("sync_wait", 0.5, "sync_wait: 0.5"),
        ("auto_sync", False, "auto_sync: false"),
    ],
)
def test_other_lines_stay(key: str, value: object, line: str) -> None:
    """Only the line of the setting is another, or one is added; taking it out again is exact."""
    after = put("yaml", BEFORE, keys_of_setting(BEFORE, key), value)
    changed = set(after.splitlines()) - set(BEFORE.splitlines())
    assert {line} == changed
    left = put("yaml", after, keys_of_setting(after, key), None)
    assert line not in left.splitlines()
    assert set(left.splitlines()) <= set(BEFORE.splitlines())


def test_a_group_that_is_empty_goes_too() -> None:
    """And a text that says nothing of a setting stays to the byte."""
    text = "trust:\n  web: hold\n"
    assert "" == put("yaml", text, keys_of_setting(text, "trust.web"), None)
    assert BEFORE == put("yaml", BEFORE, keys_of_setting(BEFORE, "machine"), None)


def test_a_form_that_is_not_edited_safely_is_left(mem: Cli) -> None:
    """What was laid out otherwise is a person's to change; the error names the file."""
    mem.write(".git/gitmem/config", "{transcripts: text}\n")
    assert "gitmem/config: The file has a form that is not edited safely" in mem.fails(
        "config", "transcripts", "--unset"
    )
    assert "{transcripts: text}\n" == (mem.root / ".git/gitmem/config").read_text()


def test_bank_accounts_are_redacted_where_the_settings_say_so(
    mem: Cli, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In what is stored and in what is recorded; without the setting they are facts like any other."""
    from threading import Event

    from gitmem.memory.gate import admission

    monkeypatch.setattr(admission, "_IBANS", Event())
    number = "DE89 3704 0044 0532 0130 00"
    mem("remember", f"The rent goes to {number}")
    assert number in mem("facts").out
    mem("config", "redact.iban", "true")
    mem("remember", f"The deposit is at {number}")
    assert "is redacted" in mem.run("record", "observation", f"They asked for {number}").err
    assert "[redacted iban …" in mem("facts").out
    found = mem("log", "--json").out + mem("search", "asked").out
    assert f"at {number}" not in found
    assert f"for {number}" not in found


def test_the_docs_have_every_setting() -> None:
    """docs/settings.md has each once, with its default, its choices and its help; names that share a row are alike."""
    listed = dict[str, str]()
    for names, rest in re.findall(r"^- (`[a-z_.`, ]+`)(.*)$", DOCS.read_text(), re.MULTILINE):
        for name in re.findall(r"[a-z_.]+", names):
            assert name not in listed
            listed[name] = rest
    assert {key: _in_the_docs(row) for key, row in ROWS.items()} == listed


def _in_the_docs(row: Setting) -> str:
    default = spelled(row.default, empty="")
    values = ", ".join(f"**`{one}`**" if one == default else f"`{one}`" for one in row.choices)
    shown = values or (f"`{default}`" if default else "")
    return f" ({shown}): {row.help}" if shown else f": {row.help}"


@pytest.mark.parametrize("kind", ["pipe", "directory", "endless", "huge", "not text"])
@pytest.mark.parametrize(
    "place",
    ["mem/.git/gitmem/config", ".hermes/gitmem.yaml", ".hermes/config.yaml", ".config/gitmem/config.yaml"],
)
def test_what_is_no_file_of_settings(mem: Cli, place: str, kind: str) -> None:
    """A pipe, a directory, a device or a file without end is named at once; nothing waits for it."""
    path = mem.root / place.removeprefix("mem/") if place.startswith("mem/") else mem.home / place
    path.parent.mkdir(parents=True, exist_ok=True)
    _not_settings(path, kind)
    for command in (["status"], ["remember", "x"], ["config"]):
        told = mem.fails(*command)
        assert path.name in told
        assert any(word in told for word in ("file of settings", "UTF-8", "symbolic link"))


@pytest.mark.parametrize("kind", ["pipe", "directory", "not text"])
def test_list_of_memories_that_is_no_file(mem: Cli, kind: str) -> None:
    """No memory is in it, so the one here is not opened by its place."""
    path = mem.home / ".config/gitmem/memories"
    path.unlink()
    _not_settings(path, kind)
    assert "is not in your list" in mem.fails("status")


def _not_settings(path: Path, kind: str) -> None:
    if kind == "pipe":
        os.mkfifo(path)
    elif kind == "directory":
        path.mkdir()
    elif kind == "endless":
        path.symlink_to("/dev/zero")
    elif kind == "huge":
        with path.open("wb") as file:
            file.truncate(1 << 40)
    else:
        path.write_bytes(b"\xff\xfe\x00")


def test_marks_and_line_ends_stay(mem: Cli) -> None:
    """A file that another system wrote is read, and edited as it is."""
    path = mem.root / ".git/gitmem/config"
    path.write_bytes("\ufefftranscripts: text\r\n".encode())
    assert "text\n" == mem("config", "transcripts").out
    mem("config", "hot_memory_max", "7")
    assert "\ufefftranscripts: text\r\nhot_memory_max: 7\r\n".encode() == path.read_bytes()
    mem("config", "transcripts", "--unset")
    assert "\ufeffhot_memory_max: 7\r\n".encode() == path.read_bytes()
