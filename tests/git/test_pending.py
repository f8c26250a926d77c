"""The note of a commit: what it names is checked before anybody acts on it, and not before."""

from __future__ import annotations

from pathlib import Path

import pytest
from gitmem.git import recovery
from gitmem.git.pending import Pending, PendingFile, SafePaths
from gitmem.git.repository import Repository
from gitmem.git.setup import open_repository
from gitmem.state import PENDING, PENDING_TOO, LocalState

from tests.git.support import saved

ZERO = "0" * 40


def notes(directory: Path) -> PendingFile:
    return PendingFile(LocalState(str(directory)), PENDING, PENDING_TOO)


def test_a_note_leaves_out_what_is_not_safe(tmp_path: Path) -> None:
    """A git directory may come from a stranger: what would lead outside is not there for who looks."""
    notes(tmp_path).rewrite(
        Pending(None, ZERO, ("a.md", "../b.md", ".git/config"), leaves=("/etc/c", "d.md"))
    )
    note = notes(tmp_path).read()
    assert note is not None
    assert ("a.md",) == note.paths
    assert ("d.md",) == note.leaves
    assert "../b.md" not in note.paths
    assert 1 == len(note.paths)


def test_a_note_that_was_read_can_be_written_again(tmp_path: Path) -> None:
    """As recovery does: what is safe in it is carried on."""
    notes(tmp_path).rewrite(Pending(None, ZERO, ("a.md", "../b.md")))
    note = notes(tmp_path).read()
    assert note is not None
    notes(tmp_path).rewrite(note)
    again = notes(tmp_path).read()
    assert again is not None
    assert ["a.md"] == [*again.paths]


@pytest.mark.parametrize("named", [[1], "a.md", {"a.md": 1}, None])
def test_paths_are_texts(named: object) -> None:
    """Anything else makes the whole note one that does not count."""
    with pytest.raises(TypeError):
        SafePaths(named)  # type: ignore[arg-type]


def test_a_start_after_a_large_commit_checks_no_path(repository: Repository) -> None:
    """All of it is on disk by then, and nothing is left to do with the paths."""
    saved(repository, {f"d/{number}.md": b"1\n" for number in range(1100)})
    opened = open_repository(repository.root)
    assert not recovery.is_due(opened)
    note = opened.pending.last()
    assert note is not None
    assert "_checked" not in vars(note.paths)
    assert 1100 == len(note.paths)
