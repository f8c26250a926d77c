"""docs/sync.md: every command in it runs, in the order in which it stands there."""

from __future__ import annotations

import os
import re
import shlex
import subprocess
from pathlib import Path

import pytest

from tests.cli.conftest import Cli
from tests.cli.test_review import at_a_terminal

GUIDE = Path(__file__).parents[2] / "docs" / "sync.md"


def commands() -> list[list[str]]:
    lines = re.findall(r"^    (gitmem .*)$", GUIDE.read_text(encoding="utf-8"), re.MULTILINE)
    return [shlex.split(line, comments=True)[1:] for line in lines]


@pytest.mark.slow
def test_every_command_of_the_guide(gitmem: Cli, tmp_path: Path) -> None:
    """Two machines, a team, a backup, a file, a contest, a guarded server and the doctor."""
    places = {
        "git@host:me/memory.git": tmp_path / "memory.git",
        "https://host/team.git": tmp_path / "team.git",
        "/mnt/disk/memory.git": tmp_path / "backup.git",
        "/srv/memory.git": tmp_path / "memory.git",
    }
    for place in {*places.values()}:
        subprocess.run(["git", "init", "-q", "--bare", "-b", "main", str(place)], check=True)
    first = gitmem.init("first")
    gitmem("remember", "as it was")
    told = []
    for line in commands():
        words = [str(places.get(word, word)) for word in line]
        if words[0] == "clone":
            gitmem.cwd = tmp_path
        if words == ["undo"]:  # the first machine learned something too
            gitmem("-C", str(first), "remember", "learned on the first")
            gitmem("-C", str(first), "sync")
            gitmem("remember", "and this")
            gitmem("sync")
        if words[:2] == ["review", "--list"]:  # both machines reword one entry
            for where, text in ((first, "as one says"), (tmp_path / "mem", "as the other says")):
                gitmem("-C", str(where), "replace", "as it was", text)
            gitmem("-C", str(first), "sync", "origin")
            gitmem("-C", str(tmp_path / "mem"), "sync", "origin")
        if words[:2] == ["remote", "confirm"]:
            assert 0 == at_a_terminal(gitmem, *words)[0]
            continue
        if words[0] == "review" and "--edit" in words:  # a person decides, at a terminal
            found = [one for one in gitmem("review", "--json").json["waiting"] if one["kind"] == "contested"]
            assert 0 == at_a_terminal(gitmem, "review", found[0]["id"], *words[2:])[0]
            continue
        result = gitmem.run(*words, *(["--yes"] if words[:2] == ["remote", "add"] else []))
        assert 0 == result.code, (words, result)
        told.append(result.out)
        if words[0] == "clone":
            gitmem.cwd = tmp_path / words[-1]
    assert any("as one says" in text and "as the other says" in text for text in told)
    assert len(told) > 15


@pytest.mark.parametrize("target", ["nowhere/mem.bundle", "afile/mem.bundle", "adir"])
def test_a_file_that_cannot_be_written_is_named(mem: Cli, target: str) -> None:
    """And not the scratch file beside it."""
    (mem.root.parent / "afile").write_text("")
    (mem.root.parent / "adir").mkdir()
    told = mem.fails("sync", "--to", f"../{target}")
    assert f"(/tmp/{target})" in told
    assert sorted(os.listdir(mem.root.parent)) == ["adir", "afile", "home", "mem"]
