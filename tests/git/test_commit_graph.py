"""Ancestry goes by the graph: compared with git and with plain sets on random graphs with random dates."""

from __future__ import annotations

import os
import random
import subprocess
import tempfile
from pathlib import Path

import pytest
from gitmem.git.commit_graph import is_ancestor, merge_bases, only_in, skew, walk
from gitmem.git.git_directory import open_repository
from gitmem.git.objects import EMPTY_TREE, GitObject, Oid, Person, render_commit
from gitmem.git.repository import Repository
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.git.support import make_repository, run_git

Graph = list[tuple[tuple[int, ...], int]]
"""For each commit its parents, by their numbers, and its date."""


@st.composite
def graphs(draw: st.DrawFn) -> Graph:
    """Histories whose clocks are right, a little wrong, or nonsense."""
    size = draw(st.integers(2, 24))
    wrong = draw(st.sampled_from([0, 2, 5, 10**6]))
    step = draw(st.sampled_from([0, 1]))
    found: Graph = []
    for number in range(size):
        count = draw(st.integers(1, min(3, number))) if number else 0
        nearest = max(0, number - draw(st.integers(1, 6)))
        parents = draw(st.sets(st.integers(nearest, number - 1), max_size=count)) if number else set()
        found.append((tuple(sorted(parents)), 10**7 + number * step - draw(st.integers(0, wrong))))
    return found


def built(repository: Repository, graph: Graph) -> list[Oid]:
    """The commits of a graph in a repository."""
    made: list[GitObject] = []
    for number, (parents, date) in enumerate(graph):
        who = Person("a", "a@test", date)
        made.append(
            render_commit(EMPTY_TREE, [made[one].oid for one in parents], who, who, f"flush: {number}\n")
        )
    repository.store.write([GitObject.of(b"tree", b""), *made])
    return [one.oid for one in made]


def below(graph: Graph, number: int) -> set[int]:
    found = {number}
    for one in range(number, -1, -1):
        if one in found:
            found |= set(graph[one][0])
    return found


@settings(max_examples=150)
@given(graphs(), st.data())
def test_what_only_one_side_has(graph: Graph, data: st.DataObject) -> None:
    """It is the difference of two sets, children first; merge bases and ancestors are git's."""
    with tempfile.TemporaryDirectory() as directory:
        repository = make_repository(directory)
        oids = built(repository, graph)
        ours = data.draw(st.integers(0, len(graph) - 1))
        theirs = data.draw(st.integers(0, len(graph) - 1))
        found = only_in(repository, oids[ours], oids[theirs])

        assert {oids[one] for one in below(graph, ours) - below(graph, theirs)} == set(found)
        is_in_order(graph, oids, found)
        assert is_ancestor(repository, oids[ours], oids[theirs]) == (ours in below(graph, theirs))
        common = below(graph, ours) & below(graph, theirs)
        best = {one for one in common if not any(one in below(graph, two) - {two} for two in common)}
        assert sorted(oids[one] for one in best) == merge_bases(repository, oids[ours], oids[theirs])
        walked = [commit.oid for commit in walk(repository, oids[ours])]
        assert {oids[one] for one in below(graph, ours)} == set(walked)
        assert len(walked) == len(set(walked))
        is_in_order(graph, oids, walked)
        repository.store.close()


def is_in_order(graph: Graph, oids: list[Oid], found: list[Oid]) -> None:
    """Each commit comes before those that it stands on."""
    place = {oid: at for at, oid in enumerate(found)}
    for number, (parents, _) in enumerate(graph):
        for parent in parents:
            if oids[number] in place and oids[parent] in place:
                assert place[oids[number]] < place[oids[parent]]


@pytest.mark.parametrize("seed", range(6))
def test_as_git_says(repository: Repository, seed: int) -> None:
    """`git rev-list`, with the generation numbers of a commit graph, gives the same, also where clocks are mad."""
    chance = random.Random(seed)
    graph: Graph = []
    for number in range(120):
        near = range(max(0, number - 8), number)
        parents = tuple(sorted(chance.sample(near, min(len(near), chance.choice((1, 1, 2))))))
        graph.append((parents, 10**8 + (number * 100 if chance.random() < 0.8 else chance.randrange(10**8))))
    oids = built(repository, graph)
    for number, oid in enumerate(oids):
        run_git(repository.root, "update-ref", f"refs/test/{number}", oid)
    run_git(repository.root, "update-ref", "refs/heads/main", oids[-1])
    run_git(repository.root, "-c", "commitGraph.generationVersion=1", "commit-graph", "write", "--reachable")

    for _ in range(40):
        ours, theirs, third = (chance.choice(oids) for _ in range(3))
        listed = run_git(repository.root, "rev-list", "--topo-order", ours, f"^{theirs}", f"^{third}").split()
        assert set(listed) == set(only_in(repository, ours, theirs, third))


def test_the_skew_is_noted(repository: Repository) -> None:
    """It is found by looking at every commit once, and later at the new ones alone; losing the note changes nothing."""
    graph: Graph = [((), 10**8)]
    graph += [((number,), 10**8 + number) for number in range(200)]
    graph += [((200,), 10**8 - 5000), ((201,), 10**8 + 500)]
    oids = built(repository, graph)
    run_git(repository.root, "update-ref", "refs/heads/main", oids[-1])

    assert skew(repository, [oids[-1]]) == 5199
    note = Path(repository.state.directory, "cache/clocks")
    assert note.exists()
    again = open_repository(repository.root)
    assert skew(again, [oids[-1]]) == 5199
    assert len(again.store._commits) < 10
    os.unlink(note)
    assert skew(again, [oids[-1]]) == 5199
    subprocess.run(["git", "-C", repository.root, "fsck"], check=True, capture_output=True)
