"""Escape sequences in content, authors, messages and paths never reach the output as they are."""

from __future__ import annotations

import pytest

from tests.cli.conftest import NOTE, Cli

EVIL = "\x1b]0;owned\x07\x1b[2J\x9b31m\u202egnp"


@pytest.fixture
def hostile(mem: Cli) -> Cli:
    """A bundle whose newest commit, made by plain git, carries escapes wherever it can."""
    mem.write(f"notes/{EVIL.replace('/', '')}.md", NOTE + f"text {EVIL}\n")
    mem.write("notes/title.md", f'---\ntype: Note\ntitle: "{EVIL.encode("unicode_escape").decode()}"\n---\n')
    mem.remember(f"fact {EVIL}")
    mem.git("add", ".")
    tree = mem.git("write-tree").strip()
    parent = mem.git("rev-parse", "HEAD").strip()
    raw = (
        f"tree {tree}\nparent {parent}\nauthor Ev{EVIL}il <e{EVIL}@x> 1782828000 +0000\n"
        f"committer Ev{EVIL}il <e@x> 1782828000 +0000\n\n"
        f"flush: subject {EVIL}\n\nbody {EVIL}\n\nKind: flu{EVIL}sh\nSession: s{EVIL}1\nReason: {EVIL}\n"
    )
    commit = mem.git("hash-object", "-t", "commit", "-w", "--stdin", "--literally", input=raw).strip()
    mem.git("update-ref", "refs/heads/main", commit)
    return mem


def _clean(text: str) -> bool:
    return not any(
        (ord(char) < 32 and char not in "\n\t") or 0x7F <= ord(char) < 0xA0 or char == "\u202e"
        for char in text
    )


@pytest.mark.parametrize(
    "args",
    [
        ("log",),
        ("show",),
        ("show", "--unified"),
        ("show", "notes"),
        ("show", f"notes/{EVIL}.md"),
        ("show", "memories/MEMORY.md"),
        ("diff", "HEAD~1"),
        ("diff", "HEAD~1", "--stat"),
        ("diff", "HEAD~1", "--unified"),
        ("status",),
    ],
)
@pytest.mark.parametrize("json", [False, True])
def test_reading_shows_escapes(hostile: Cli, args: tuple[str, ...], json: bool) -> None:
    """Every command that prints data, for people and as JSON."""
    result = hostile(*args, *(["--json"] if json else []))
    assert _clean(result.out)
    assert result.out


def test_checks_show_escapes(hostile: Cli) -> None:
    """Findings name the hostile path without acting on the terminal."""
    for args in (("check",), ("check", "--json"), ("check",)):
        result = hostile.run(*args)
        assert _clean(result.out + result.err)
    assert any(
        "control character" in row["what"] for row in hostile("check", "--json", code=3).json["problems"]
    )


def test_hand_edits_show_escapes(mem: Cli) -> None:
    """A file name in the work tree, a name on the command line, an error about both."""
    mem.write(f"{EVIL}.md", NOTE)
    for args in (
        ("status",),
        ("diff",),
        ("commit",),
        ("show", f"{EVIL}x.md"),
        ("-C", EVIL, "log"),
        (EVIL,),
    ):
        result = mem.run(*args)
        assert _clean(result.out + result.err)
        assert result.out + result.err
