"""What a commit follows from, by whatever name it is given."""

from __future__ import annotations

import re
from collections.abc import Callable

import pytest
from gitmem.errors import UnknownRevision
from gitmem.memory.find.entry_names import entry_names
from gitmem.memory.memory import Memory
from gitmem.okf.entries import entry_hash

from tests.git.support import run_git


@pytest.fixture
def known(bundle: Memory) -> Memory:
    with bundle.session("monday") as session:
        session.remember("The server runs Debian 12")
        session.record_decision("Take Axum", "it is fast")
    return bundle


def test_an_entry_goes_by_its_hash_or_its_beginning(known: Memory) -> None:
    """One that is gone too."""
    name = entry_hash("The server runs Debian 12")
    assert entry_names(known, [name]) == entry_names(known, name[:8]) == (name,)
    known.forget("Debian")
    assert entry_names(known, [name[:12]]) == (name,)


def test_a_file_an_event_a_commit_and_a_session(known: Memory) -> None:
    """Each stands for the entries in it; the same one is named once."""
    name = entry_hash("The server runs Debian 12")
    path = next(path for path in known.list_concepts("decisions") if path.endswith(".md"))
    of_file = entry_names(known, [path])
    assert of_file == (entry_hash(f"file {path}"),)
    assert entry_names(known, ["memories/MEMORY.md"]) == (name,)
    came = next(entry for entry in known.log(kind="memory"))
    assert entry_names(known, [came.id[:10]]) == (name,)
    assert set(entry_names(known, ["monday"])) >= {name, *of_file}
    assert entry_names(known, [name, "memories/MEMORY.md"]) == (name,)
    assert entry_names(known, [of_file[0][:9]]) == of_file


@pytest.mark.parametrize(
    ("given", "told"),
    [
        ("debian 12", r"\(The server runs Debian 12\)\?"),
        ("mondy", r"Did you mean monday\?"),
        ("memories/MEMROY.md", r"Did you mean memories/MEMORY\.md"),
        ("abcdef01", "show the hashes"),
        ("yesterday", "Did you mean monday"),
        ("", "show the hashes"),
    ],
)
def test_what_names_nothing_is_an_error(known: Memory, given: str, told: str) -> None:
    """With what it could have been, and nothing is committed."""
    tip = known.tip
    writes: tuple[Callable[[], object], ...] = (
        lambda: known.remember("It has 4 cores", derived_from=[given]),
        lambda: known.replace("Debian", "Debian 13", derived_from=[given]),
        lambda: known.forget("Debian", derived_from=[given]),
        lambda: known.remember("It has 4 cores", derived_from=[given], session="tuesday"),
    )
    for write in writes:
        with pytest.raises(UnknownRevision, match="Nothing here is called") as refused:
            write()
        assert re.search(told, refused.value.hint)
    assert known.tip == tip


def test_the_commit_has_the_whole_name_and_a_revert_follows_it(known: Memory) -> None:
    """A file given on the command line is what `revert --derived` goes by."""
    name = entry_hash("The server runs Debian 12")
    answer = known.remember("It needs apt", derived_from=name[:8], session="tuesday")
    assert f"Derived-From: {name}" in run_git(known.root, "log", "-1", "--format=%B", answer.commit)
    assert [entry.session for entry in known.revert(session="monday", dry_run=True).derived] == ["tuesday"]
