"""Output: safe text, JSON, colours, pager."""

from __future__ import annotations

import json
import os
import pty
import subprocess
import sys
from pathlib import Path

import pytest
from gitmem.cli.terminal import count, padded, safe, size, to_json, width
from hypothesis import given
from hypothesis import strategies as st

from tests.cli.conftest import Cli, home_of
from tests.git.support import plain_environment


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("plain", "plain"),
        ("\x1b[31mred\x1b[0m", "␛[31mred␛[0m"),
        ("a\x07b\x00c\x7fd", "a␇b␀c␡d"),
        ("one\ntwo\ttabs\r", "one␊two␉tabs␍"),
        ("\x9b31m", "\\x9b31m"),
        ("\u202egnp.exe", "\\u202egnp.exe"),
        ("a\u200bb\ufeffc\u00add", "a\\u200bb\\ufeffc\\xadd"),
        ("tag\U000e0041", "tag\\U000e0041"),
        ("\udcff\ud800", "\\xff\\ud800"),
        ("line\u2028end", "line\\u2028end"),
        ("a\ufe0fb a\u200db", "a\\ufe0fb a\\u200db"),
        ("❤\ufe0f 👩\u200d💻 نمی\u200cخواهم", "❤\ufe0f 👩\u200d💻 نمی\u200cخواهم"),
        ("❤\ufe0f\ufe0f\ufe0f", "❤\ufe0f\\ufe0f\\ufe0f"),
        ("Grüße, 世界, שלום", "Grüße, 世界, שלום"),
    ],
)
def test_safe_shows_what_could_act_unseen(text: str, shown: str) -> None:
    """Control, escape, bidi and other invisible characters are shown; honest text is left alone."""
    assert shown == safe(text)


def test_safe_keeps_what_it_is_told_to() -> None:
    """Line ends and tabs stay where text has several lines."""
    assert safe("a\n\tb\x1b", keep="\n\t") == "a\n\tb␛"


@given(st.text(st.characters(exclude_categories=())))
def test_safe_leaves_no_control_character(text: str) -> None:
    """Nothing that a terminal acts on comes through, and the result can be encoded."""
    shown = safe(text)
    assert not any(ord(char) < 32 or 0x7F <= ord(char) < 0xA0 for char in shown)
    shown.encode()


@given(st.text(st.characters(codec="utf-8")))
def test_json_says_the_same_and_acts_on_nothing(text: str) -> None:
    """The document reads back as the same value, without a raw control character."""
    document = to_json({"text": text})
    assert {"text": text} == json.loads(document)
    assert not any(
        (ord(char) < 32 and char != "\n") or 0x7F <= ord(char) < 0xA0 or char in "\u202e\u2028\U000e0041"
        for char in document
    )


def test_json_takes_bytes_that_are_no_text() -> None:
    """A path that is not UTF-8 is escaped, not an error."""
    assert to_json("\udcff") == '"\\udcff"'


def test_numbers_as_people_say_them() -> None:
    """Counts with their noun, sizes with their unit."""
    assert [
        count(1, "entry", "entries"),
        count(2, "entry", "entries"),
        count(1000, "file"),
    ] == ["1 entry", "2 entries", "1,000 files"]
    assert [
        size(0),
        size(1023),
        size(1536),
        size(200 << 20),
        size(3 << 30),
    ] == ["0 bytes", "1023 bytes", "1.5 KB", "200 MB", "3.0 GB"]


def _on_a_terminal(cwd: Path, *args: str, **env: str) -> str:
    """What the command writes to a terminal of 24 lines."""
    leader, follower = pty.openpty()
    settings = {
        **plain_environment(),
        "HOME": str(home_of(cwd)),
        "TERM": "xterm",
        "LC_ALL": "C.UTF-8",
        **env,
    }
    import fcntl
    import struct
    import termios

    fcntl.ioctl(follower, termios.TIOCSWINSZ, struct.pack("HHHH", 24, 80, 0, 0))
    process = subprocess.Popen(
        [sys.executable, "-P", "-m", "gitmem", *args],
        cwd=cwd,
        env=settings,
        stdout=follower,
        stderr=subprocess.DEVNULL,
        stdin=subprocess.DEVNULL,
    )
    os.close(follower)
    output = b""
    while True:
        try:
            piece = os.read(leader, 65536)
        except OSError:  # Linux says so when the other end is closed
            break
        if not piece:
            break
        output += piece
    os.close(leader)
    process.wait()
    return output.decode().replace("\r\n", "\n")


def test_colours_on_a_terminal_and_nowhere_else(mem: Cli) -> None:
    """Colours need a terminal, and NO_COLOR or a dumb one takes them away."""
    assert "\x1b[33m" in _on_a_terminal(mem.root, "log")
    assert "\x1b[" not in _on_a_terminal(mem.root, "log", NO_COLOR="1", PAGER="cat")
    assert "\x1b[" not in _on_a_terminal(mem.root, "log", TERM="dumb")
    assert "\x1b[" not in mem("log").out


def test_content_can_not_colour_a_terminal(mem: Cli) -> None:
    """On a terminal too, an escape in content is shown."""
    mem.remember("evil \x1b]0;title\x07 \x1b[2J")
    out = _on_a_terminal(mem.root, "diff")
    assert "␛]0;title␇ ␛[2J" in out
    assert "\x1b]0" not in out
    assert "\x1b[2J" not in out


def test_long_output_goes_through_the_pager(mem: Cli) -> None:
    """$PAGER gets what a history prints."""
    mem.write("notes/long.md", "---\ntype: Note\n---\n" + "line\n" * 100)
    mem("commit")
    assert "PAGED:line" in _on_a_terminal(mem.root, "show", "notes/long.md", PAGER="sed s/^/PAGED:/")


@pytest.mark.parametrize(
    ("text", "columns"), [("", 0), ("plain", 5), ("データ", 6), ("e\u0301", 1), ("Grüße 世界", 10)]
)
def test_width_is_what_a_terminal_shows(text: str, columns: int) -> None:
    """Wide characters take two columns, marks none; so tables stay straight and lines wrap where they do."""
    assert columns == width(text)
    assert 12 == width(padded(text, 12))


@pytest.mark.parametrize("pager", ["", "cat", "no-such-program-here", "'"])
def test_without_a_pager_output_comes_straight(mem: Cli, pager: str) -> None:
    """An empty, broken or missing $PAGER costs no output."""
    mem.write("notes/long.md", "---\ntype: Note\n---\n" + "line\n" * 100)
    mem("commit")
    assert _on_a_terminal(mem.root, "show", "notes/long.md", PAGER=pager).count("line\n") == 100


def test_a_pager_that_is_left_early_is_no_error(mem: Cli) -> None:
    """The reader has seen enough."""
    mem.write("notes/long.md", "---\ntype: Note\n---\n" + ("line " * 50 + "\n") * 5000)
    mem("commit")
    assert _on_a_terminal(mem.root, "show", "notes/long.md", PAGER="head -3").count("\n") == 3


def test_raw_bytes_are_not_for_terminals(mem: Cli) -> None:
    """`show --raw` refuses a terminal: there bytes act."""
    assert _on_a_terminal(mem.root, "show", "memories/MEMORY.md", "--raw") == ""
