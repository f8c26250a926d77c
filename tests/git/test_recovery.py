"""The note of a commit: what it names is checked before anybody acts on it."""

from __future__ import annotations

import hashlib
from pathlib import Path

import pytest
from gitmem.files import DiskGroup
from gitmem.git import recovery
from gitmem.git.git_directory import open_repository
from gitmem.git.recovery import CommitNote, NoteFile
from gitmem.git.repository import Repository
from gitmem.state import LocalState

from tests.git.support import saved

ZERO = "0" * 40


def written(directory: Path, note: CommitNote) -> NoteFile:
    Path(directory, "gitmem").mkdir()
    file = NoteFile(LocalState(str(directory)))
    with DiskGroup() as disk:
        file.write(note, disk)
        disk.flush()
    return file


def test_a_note_is_read_back_until_it_is_settled(tmp_path: Path) -> None:
    """Its commits, its paths, and those that it leaves alone."""
    note = CommitNote(None, ZERO, ("a.md", "d/é.md"), ("a.md",))
    file = written(tmp_path, note)
    assert file.read() == note
    file.settle()
    assert file.read() is None


@pytest.mark.parametrize("path", ["../b.md", ".git/config", "/etc/c", "a/../../b", ".GIT/hooks/x"])
@pytest.mark.parametrize("leaves", [False, True])
def test_a_note_with_an_unsafe_path_does_not_count(tmp_path: Path, path: str, leaves: bool) -> None:
    """A git directory may come from a stranger: such a note is nobody's."""
    paths = ("a.md", path)
    file = written(tmp_path, CommitNote(None, ZERO, () if leaves else paths, paths if leaves else ()))
    assert file.read() is None


@pytest.mark.parametrize("named", ["[1]", '"a.md"', '{"a.md": 1}', "null"])
def test_paths_are_texts(tmp_path: Path, named: str) -> None:
    """Anything else makes the whole note one that does not count."""
    file = written(tmp_path, CommitNote(None, ZERO, ()))
    body = f'{{"old": null, "new": "{ZERO}", "paths": {named}, "leaves": []}}'.encode()
    digest = hashlib.sha256(body).hexdigest().encode()
    Path(tmp_path, "gitmem", "pending").write_bytes(b"pending %b %d\n%b\n" % (digest, len(body), body))
    assert file.read() is None


def test_a_start_after_a_commit_has_nothing_to_do(repository: Repository) -> None:
    """All of it is on disk by then, whatever its size."""
    saved(repository, {f"d/{number}.md": b"1\n" for number in range(200)})
    opened = open_repository(repository.root)
    assert not recovery.is_due(opened)
    assert opened.note.read() is None
