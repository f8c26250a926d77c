"""What a person, or another program, makes of the files of a memory."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import pytest
from gitmem.errors import InvalidContent, StoreRefusal
from gitmem.memory.memory import Memory
from gitmem.memory.status import status_of
from gitmem.memory.upkeep.git_hooks import pre_push
from gitmem.okf.curated import MAX_STORE_BYTES

from tests.git.support import run_git

FACTS = [f"The lamp of room {number} is number {number * 7}" for number in range(13)]
LARGE = f"Ada likes tea\n§\nThe minutes of May: {'blah ' * 400_000}\n"


@pytest.fixture
def filled(bundle: Memory) -> Memory:
    for fact in FACTS:
        bundle.remember(fact)
    return bundle


def memory_file(bundle: Memory) -> Path:
    return Path(bundle.root, "memories", "MEMORY.md")


def truncate(file: Path) -> None:
    file.write_text("")


@pytest.mark.parametrize("lose", [truncate, Path.unlink])
def test_the_loss_of_a_store_is_reported_and_one_undo_takes_it_back(
    filled: Memory, lose: Callable[[Path], None]
) -> None:
    """Another program emptied the file: the next write says so, has it in a commit of its own, and loses nothing."""
    lose(memory_file(filled))
    filled.prepare("write")
    [notice] = [one for one in filled.notices if one.kind == "many-removed"]
    assert "memories/MEMORY.md lost 13 entries" in str(notice)
    filled.undo()
    assert {*FACTS} == {one.text for one in filled.curated.entries("memory")}


def test_the_loss_of_a_store_is_a_commit_of_its_own(filled: Memory) -> None:
    """Whatever else was edited or written; status names it until it is taken back."""
    truncate(memory_file(filled))
    Path(filled.root, "hello.md").write_text("# Hello\n\nA note.\n")
    filled.remember("Learned after the loss")
    [told] = status_of(filled).problems
    lost = re.findall("gitmem revert ([0-9a-f]{8})", told)[0]
    assert ["memories/MEMORY.md"] == [*{change.path for change in filled.show(lost).diff}]
    filled.revert(lost)
    assert {*FACTS, "Learned after the loss"} == {one.text for one in filled.curated.entries("memory")}
    assert "hello.md" in filled.file_paths()
    assert () == status_of(filled).problems


def test_the_removal_of_a_few_entries_is_an_everyday_edit(filled: Memory) -> None:
    """It is committed without a word."""
    file = memory_file(filled)
    file.write_text(file.read_text().replace(f"{FACTS[3]}\n§\n", ""))
    filled.prepare("write")
    assert [] == filled.notices


def test_a_store_that_could_not_be_read_back_is_refused(bundle: Memory) -> None:
    """At the commit, with the largest entry named, so that the memory stays usable; it is not committed by another way."""
    file = memory_file(bundle)
    before = file.read_text()
    file.write_text(LARGE)
    with pytest.raises(
        InvalidContent, match=r"MEMORY.md is too large. It has 1,953 KB.*largest entry.*The minutes of May"
    ):
        bundle.take_in_edits(strict=True)
    run_git(bundle.root, "add", "-A")
    run_git(bundle.root, "commit", "-q", "--no-verify", "-m", "large")
    large = run_git(bundle.root, "rev-parse", "HEAD")
    told = [*pre_push(bundle, [f"refs/heads/main {large} refs/heads/main {'0' * 40}"])]
    assert any("The minutes of May" in one for one in told), told
    run_git(bundle.root, "reset", "-q", "--hard", "HEAD~1")
    assert before == file.read_text()
    bundle.remember("Ada likes tea")


def test_a_store_does_not_grow_beyond_what_can_be_read_back(make_bundle: Callable[..., Memory]) -> None:
    """Also where the settings allow more characters."""
    bundle = make_bundle(memory_char_limit=10_000_000)
    bundle.remember(f"The first half: {'blah ' * 30_000}")
    with pytest.raises(StoreRefusal, match="largest entry"):
        bundle.remember(f"The other half: {'bleh ' * 30_000}")
    assert len(memory_file(bundle).read_bytes()) <= MAX_STORE_BYTES


ODD = (
    "git~1", "GIT~1.md", ".git .md", ".GIT", ".git\u200c", "gitmod~1", ".gitmodules", ".gitattributes", ".mailmap", "a:b.md",
    "a\\b.md", "aux.md", "nul", "x.", "x ", "-x.md", "--.md", ".x.md", "..md", "~x.md", "$x.md", "a*b.md", "CONIN$",
    "x" * 220, "\u00e9" * 90 + ".md", "e\u0301.md", ".git::$INDEX_ALLOCATION", "\u0130\u0131.md", "#.md", "a b.md", "!x.md",
    "[x].md",
)  # fmt: skip


def test_whatever_is_committed_can_be_checked_out(bundle: Memory, tmp_path: Path) -> None:
    """Plain git, as careful as on macOS and Windows, clones every file that an odd name let in."""
    notes = Path(bundle.root, "notes")
    notes.mkdir(exist_ok=True)
    for name in ODD:
        (notes / name).write_text("---\ntype: Note\n---\nodd\n")
    bundle.take_in_edits(strict=False)
    kept = {path for path, _ in bundle.tree().files("notes") if path != "notes/index.md"}
    assert {"notes/-x.md", "notes/a b.md", "notes/[x].md"} <= kept
    careful = ("-c", "core.protectHFS=true", "-c", "core.protectNTFS=true")
    run_git(tmp_path, *careful, "clone", "-q", bundle.root, "copy")
    assert "" == run_git(tmp_path / "copy", "status", "--porcelain")
    for name in ODD:
        if f"notes/{name}" not in kept:
            (notes / name).unlink()


@pytest.mark.parametrize(
    "name",
    ["a\\b.md", "git~1", ".GIT", ".g\u200cit", "con.md", "a:b.md", "x" * 220 + ".md", "trail.", "UP.md"],
)
def test_what_git_clone_cannot_check_out_is_not_committed(bundle: Memory, tmp_path: Path, name: str) -> None:
    """The person is told which file and why; the next write leaves it alone, and what is committed can be cloned."""
    notes = Path(bundle.root, "notes")
    notes.mkdir()
    (notes / "up.md").write_text("# Fine\n")
    bundle.take_in_edits(strict=True)
    (notes / name).write_text("# Not fine\n")
    with pytest.raises(InvalidContent, match="notes/"):
        bundle.take_in_edits(strict=True)
    bundle.remember("Ada likes tea")
    strict = ("-c", "core.protectNTFS=true", "-c", "core.protectHFS=true")
    run_git(tmp_path, *strict, "clone", "--quiet", bundle.root, "clone")
    assert ["up.md"] == [file.name for file in Path(tmp_path, "clone", "notes").iterdir()]
    (notes / name).unlink()
