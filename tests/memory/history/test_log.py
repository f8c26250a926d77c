"""History by the index and history by reading commits are the same history."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path

import pytest
from gitmem.memory.history.log import History, LogFilter
from gitmem.memory.history.trace import trace
from gitmem.memory.memory import Memory
from gitmem.okf import layout

from tests.memory.conftest import Clock
from tests.memory.sync.test_engine import Machines


@pytest.fixture
def merged(tmp_path: Path, clock: Clock) -> Iterator[Memory]:
    """A memory with a merge, in which two machines changed the same file."""
    machines = Machines(tmp_path, clock, "git")
    a = machines.first()
    b = machines.another("b")
    for bundle, who in ((a, "a"), (b, "b")):
        for number in range(3):
            clock.now += timedelta(seconds=5)
            bundle.curated.add(
                f"fact {number} of {who}", origin=bundle.origin(session=f"{who}{number}", agent=who)
            )
        clock.now += timedelta(seconds=5)
        bundle.curated.remove(f"fact 0 of {who}", origin=bundle.origin(session=f"{who}9", agent=who))
    for bundle in (a, b, a):
        machines.sync(bundle)
    a.curated.add("after the merge", origin=a.origin(session="a0"))
    yield a
    for bundle in machines.all.values():
        bundle.repository.store.close()


def test_by_index_equals_by_walking(merged: Memory, monkeypatch: pytest.MonkeyPatch) -> None:
    """The commits of a path, a session, an agent and a machine are those that a walk finds, each before its parents."""
    wanted = [
        LogFilter(path=(layout.MEMORY,)),
        LogFilter(path=("no/such.md",)),
        LogFilter(session=("a0",)),
        LogFilter(session=("b2",)),
        LogFilter(agent=("b",)),
        LogFilter(machine=("b",)),
    ]

    def found() -> list[Counter[str]]:
        logs = [[entry.commit for entry in merged.part(History).log(one)] for one in wanted]
        for commits in logs:
            places = {commit.oid: place for place, commit in enumerate(commits)}
            assert all(places[c.oid] < places.get(parent, 99) for c in commits for parent in c.parents)
        return [Counter(commit.oid for commit in commits) for commits in logs]

    by_index = found()
    monkeypatch.setattr(History, "_from_index", lambda *_: None)
    assert found() == by_index
    assert [11, 0, 2, 1, 4] == [len(commits) for commits in by_index][:5]


def test_a_trace_names_the_commit_that_brought_a_text(merged: Memory) -> None:
    """Also across a merge, and also where the index cannot be kept on disk."""

    def came() -> list[tuple[str, str]]:
        return [(life.text, life.came.session) for life in trace(merged, "fact 2").lives]

    expected = [("fact 2 of a", "a2"), ("fact 2 of b", "b2")]
    assert expected == sorted(came())
    merged.index.forget()
    Path(merged.index.path).mkdir()
    try:
        assert expected == sorted(came())
    finally:
        merged.index.close()
        Path(merged.index.path).rmdir()


def test_the_files_of_the_tip(merged: Memory) -> None:
    """Git's index lists the files that the tree has, whoever wrote it last."""
    by_tree = [path for path, _ in merged.tree().files()]
    assert by_tree == merged.file_paths()
    Path(merged.repository.index_file.path).unlink()
    assert by_tree == merged.file_paths()
