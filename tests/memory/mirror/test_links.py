"""Directories of agents that are linked: both ways, three-way, and only those that say that they belong here."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
from gitmem.errors import InvalidContent, UnknownRevision, UsageError
from gitmem.memory.memory import Memory
from gitmem.memory.mirror.links import Links
from gitmem.memory.status import status_of
from gitmem.okf.skills import MAX_FILE

from tests.memory.skills.test_store import STEALS, files, text


@pytest.fixture
def claude(tmp_path: Path) -> Path:
    return tmp_path / "home" / ".claude" / "skills"


def links(bundle: Memory) -> Links:
    return Links(bundle)


def put(top: Path, name: str, words: str) -> Path:
    path = top / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(words)
    return path


def names(top: Path) -> list[str]:
    return sorted(
        path.relative_to(top).as_posix()
        for path in top.rglob("*")
        if path.is_file() and path.name != ".gitmem"
    )


def test_both_ways(bundle: Memory, claude: Path) -> None:
    bundle.skills.create("deploy", text(), category="ops")
    bundle.skills.write_file("deploy", "scripts/run.sh", "#!/bin/sh\nmake\n")
    put(claude, "haiku/SKILL.md", text("haiku", "How to write one"))
    links(bundle).link(str(claude))
    assert ["deploy/SKILL.md", "deploy/scripts/run.sh", "haiku/SKILL.md"] == names(claude)
    assert text() == (claude / "deploy/SKILL.md").read_text()
    assert os.access(claude / "deploy/scripts/run.sh", os.X_OK)
    assert "skills/haiku/SKILL.md" in files(bundle)
    put(claude, "deploy/SKILL.md", text(body="\nRun it by hand.\n"))
    bundle.skills.patch("haiku", "Look at the log.", "Count the syllables.")
    links(bundle).look()
    assert "Run it by hand." in bundle.skills.view("deploy").text
    assert "Count the syllables." in (claude / "haiku/SKILL.md").read_text()
    assert [
        "skills/haiku/SKILL.md",
        "skills/ops/deploy/SKILL.md",
        "skills/ops/deploy/scripts/run.sh",
    ] == files(bundle)


def test_what_is_removed_on_one_side_goes_on_the_other(bundle: Memory, claude: Path) -> None:
    for name in ("a", "b"):
        bundle.skills.create(name, text(name))
    links(bundle).link(str(claude))
    bundle.skills.delete("a")
    (claude / "b/SKILL.md").unlink()
    links(bundle).look()
    assert ([], []) == (names(claude), files(bundle))


def test_a_mass_removal_is_one_commit_and_reported(bundle: Memory, claude: Path) -> None:
    """Whatever emptied the directory: one undo brings all of it back, to both sides; status says so until then."""
    for name in ("a", "b", "c"):
        bundle.skills.create(name, text(name))
    links(bundle).link(str(claude))
    shutil.rmtree(claude / "a")
    links(bundle).look()
    assert "host: skill a removed: SKILL.md" == next(iter(bundle.log())).subject
    shutil.rmtree(claude / "b")
    shutil.rmtree(claude / "c")
    bundle.notices.clear()
    links(bundle).look()
    assert next(iter(bundle.log())).subject.startswith("host: suspicious: skills lost 2 of 2, in /")
    assert ["host-file-emptied"] == [one.kind for one in bundle.notices]
    assert "skills lost 2 of 2" in " ".join(status_of(bundle).problems)
    bundle.undo()
    links(bundle).look()
    assert ["b/SKILL.md", "c/SKILL.md"] == names(claude)
    assert "lost" not in " ".join(status_of(bundle).problems)


def test_what_is_taken_back_leaves_the_directory(bundle: Memory, claude: Path) -> None:
    """With the session that wrote it, by the command alone; and it does not come back from there."""
    links(bundle).link(str(claude))
    origin = bundle.origin(session="s1")
    bundle.skills.create("deploy", text(), origin=origin)
    links(bundle).look()
    assert ["deploy/SKILL.md"] == names(claude)
    bundle.prepare("whole")
    bundle.revert(session="s1")
    bundle.close()
    assert [] == names(claude)
    put(claude, "deploy/SKILL.md", text())
    links(bundle).look()
    assert [] == files(bundle)
    assert [] == names(claude)


def test_both_sides_changed_and_both_stay(bundle: Memory, claude: Path) -> None:
    """The directory's words are the skill; what the memory had is a file beside it, on both sides, and that is said."""
    bundle.skills.create("deploy", text())
    links(bundle).link(str(claude))
    bundle.skills.patch("deploy", "Look at the log.", "Ask the harbour.")
    put(claude, "deploy/SKILL.md", text(body="\nRun it by hand.\n"))
    links(bundle).look()
    [kept] = [name for name in names(claude) if "references" in name]
    assert "Run it by hand." in bundle.skills.view("deploy").text == (claude / "deploy/SKILL.md").read_text()
    assert "Ask the harbour." in (claude / kept).read_text()
    assert f"skills/{kept}" in files(bundle)
    [told] = [str(notice) for notice in bundle.notices if "linked directory" in str(notice)]
    assert kept in told
    before = (names(claude), bundle.tip)
    links(bundle).look()
    assert before == (names(claude), bundle.tip)


def test_a_change_outlives_a_removal_on_the_other_side(bundle: Memory, claude: Path) -> None:
    for name in ("a", "b"):
        bundle.skills.create(name, text(name))
    links(bundle).link(str(claude))
    bundle.skills.patch("a", "Look at the log.", "Ask the harbour.")
    (claude / "a/SKILL.md").unlink()
    bundle.skills.delete("b")
    put(claude, "b/SKILL.md", text("b", body="\nRun it by hand.\n"))
    links(bundle).look()
    assert "Ask the harbour." in (claude / "a/SKILL.md").read_text()
    assert "Run it by hand." in bundle.skills.view("b").text


def test_a_dangerous_file_keeps_the_whole_skill_out(bundle: Memory, claude: Path) -> None:
    put(claude, "deploy/SKILL.md", text())
    put(claude, "deploy/scripts/a.sh", "#!/bin/sh" + STEALS)
    put(claude, "haiku/SKILL.md", text("haiku"))
    links(bundle).link(str(claude))
    assert ["skills/haiku/SKILL.md"] == files(bundle)
    assert 1 == len(bundle.ledger.held())
    links(bundle).look()
    assert 1 == len(bundle.ledger.held())
    put(claude, "deploy/scripts/a.sh", "#!/bin/sh\nmake\n")
    links(bundle).look()
    assert "skills/deploy/scripts/a.sh" in files(bundle)


def test_a_skill_may_have_folders_of_any_name(bundle: Memory, claude: Path) -> None:
    """As public skills have them: one commit, each file in its place on both sides, nothing of it if one is bad."""
    put(claude, "mcp/SKILL.md", text("mcp", "How to write a server"))
    put(claude, "mcp/reference/deep/node.md", "Use node.\n")
    put(claude, "mcp/LICENSE.txt", "MIT\n")
    links(bundle).link(str(claude))
    assert "import: skill mcp changed: LICENSE.txt, SKILL.md, node.md" == next(iter(bundle.log())).subject
    bundle.skills.patch("mcp", "Use node.", "Use Python.", file="reference/deep/node.md")
    bundle.skills.write_file("mcp", "core/run.md", "Run it.\n")
    links(bundle).look()
    assert "Use Python.\n" == (claude / "mcp/reference/deep/node.md").read_text()
    assert [
        "mcp/LICENSE.txt",
        "mcp/SKILL.md",
        "mcp/core/run.md",
        "mcp/reference/deep/node.md",
    ] == names(claude)
    put(claude, "mcp/reference/deep/node.md", STEALS)
    put(claude, "mcp/LICENSE.txt", "BSD\n")
    links(bundle).look()
    assert "MIT\n" == bundle.skills.view("mcp", "LICENSE.txt").text


def test_what_is_not_followed_is_reported_once(bundle: Memory, claude: Path) -> None:
    """A file that is too large, and a project of too many files; the rest is versioned."""
    put(claude, "big/SKILL.md", text("big"))
    put(claude, "big/data.csv", "a" * (MAX_FILE + 1))
    put(claude, "project/SKILL.md", text("project"))
    for number in range(200):
        put(claude, f"project/{number}.md", "x")
    links(bundle).link(str(claude))
    assert ["skills/big/SKILL.md"] == files(bundle)
    said = " ".join(map(str, bundle.notices))
    assert "big/data.csv in a directory of skills is not versioned: it has 1,048,577 bytes" in said
    assert "project in a directory of skills is not versioned: it has 201 files: at most 200." in said
    bundle.notices.clear()
    links(bundle).look()
    assert [] == bundle.notices
    put(claude, "big/SKILL.md", text("big", body="a" * (MAX_FILE + 1)))
    links(bundle).look()
    assert ["skills/big/SKILL.md"] == files(bundle)  # what grew too large is not removed


def test_a_directory_that_does_not_say_so_is_left_alone(bundle: Memory, claude: Path) -> None:
    """The state of a bundle may come from somebody else."""
    links(bundle).link(str(claude))
    (claude / ".gitmem").unlink()
    bundle.skills.create("deploy", text())
    assert [] == links(bundle).look()
    assert [] == names(claude)
    assert [False] == [one.is_ours for one in links(bundle).all()]


def test_nothing_is_written_through_a_link(bundle: Memory, claude: Path, tmp_path: Path) -> None:
    links(bundle).link(str(claude))
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    (claude / "deploy").symlink_to(elsewhere)
    bundle.skills.create("deploy", text())
    links(bundle).look()
    assert [] == list(elsewhere.iterdir())


def test_nested_directories_keep_their_categories(bundle: Memory, tmp_path: Path) -> None:
    bundle.skills.create("deploy", text(), category="ops")
    links(bundle).link(str(tmp_path / "skills"))
    assert ["ops/deploy/SKILL.md"] == names(tmp_path / "skills")


def test_a_skill_in_a_group_stays_there(bundle: Memory, claude: Path) -> None:
    """Also in a directory of an agent that has no categories."""
    put(claude, "group/deep/SKILL.md", text("deep"))
    links(bundle).link(str(claude))
    bundle.skills.patch("deep", "Look at the log.", "Look twice.")
    links(bundle).look()
    assert ["group/deep/SKILL.md"] == names(claude)
    assert "Look twice." in (claude / "group/deep/SKILL.md").read_text()
    bundle.skills.delete("deep")
    links(bundle).look()
    assert [] == names(claude)


def test_unlink_leaves_the_files(bundle: Memory, claude: Path) -> None:
    bundle.skills.create("deploy", text())
    links(bundle).link(str(claude))
    links(bundle).unlink(str(claude))
    bundle.skills.delete("deploy")
    links(bundle).look()
    assert ["deploy/SKILL.md"] == names(claude)
    assert not (claude / ".gitmem").exists()
    with pytest.raises(UnknownRevision, match="is not linked"):
        links(bundle).unlink(str(claude))


def test_what_cannot_be_linked(bundle: Memory, make_bundle: Callable[..., Memory], claude: Path) -> None:
    with pytest.raises(UsageError, match="inside the bundle"):
        links(bundle).link(os.path.join(bundle.root, "skills"))
    claude.parent.mkdir(parents=True)
    claude.write_text("a file")
    with pytest.raises(InvalidContent, match="not a directory"):
        links(bundle).link(str(claude))
    claude.unlink()
    links(bundle).link(str(claude))
    with pytest.raises(UsageError, match="another bundle"):
        links(make_bundle("other")).link(str(claude))
