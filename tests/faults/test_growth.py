"""What anybody can make large costs in proportion, or is refused: texts, conflict markers, ladders of merges, snapshots."""

from __future__ import annotations

import os
import time
import tracemalloc
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from gitmem.config import Config
from gitmem.errors import InvalidContent, RefusedFetch
from gitmem.git import commit_graph
from gitmem.git.commit_graph import merge_bases
from gitmem.git.message import Message
from gitmem.git.objects import Oid, render_commit, render_tag
from gitmem.git.refs import SNAPSHOTS
from gitmem.git.repository import Repository
from gitmem.git.transport import throw_away
from gitmem.index.marking import matches
from gitmem.index.query import parse
from gitmem.memory.exchange.from_folder import _WIKILINK
from gitmem.memory.find.search import on_one_line, snippet
from gitmem.memory.sync import inspect, merge
from gitmem.memory.upkeep.checks import _has_markers
from gitmem.memory.upkeep.create import create
from gitmem.okf.layout import MEMORY
from gitmem.world import World

from tests.git.support import WHO, run_git, saved, tip_of
from tests.memory.conftest import Clock
from tests.safety.growth import growth

_TIMES = 20
_SLACK = 5
"""A quadratic cost grows twenty times as much as the text."""


@pytest.mark.parametrize(
    ("function", "text"),
    [
        (lambda text: snippet(text, matches(parse("garden").terms, text)), "garden gate " * 20_000),
        (on_one_line, "# a" + " #" * 100_000 + "b"),
        (lambda text: _has_markers(text.encode()), "<<<<<<< a\n" + "=======\n" * 20_000),
        (lambda text: _has_markers(text.encode()), "<<<<<<< a\n|||||||\n=======\n" * 10_000),
        (_WIKILINK.findall, "[[a" * 3_000),
        (_WIKILINK.findall, "[[a#" * 3_000),
    ],
    ids=["snippet", "heading", "markers", "markers with a base", "links", "links with a heading"],
)
def test_a_text_costs_in_proportion(function: Callable[[str], object], text: str) -> None:
    """Twenty times the text, about twenty times the time."""
    assert growth(function, text, _TIMES) < _TIMES * _SLACK


def test_markers_that_do_not_end_are_text() -> None:
    """What looks like a conflict and is none is not taken for one."""
    assert _has_markers(b"x\n<<<<<<< a\nours\n||||||| b\nbase\n=======\ntheirs\n>>>>>>> c\n")
    assert not _has_markers(b"<<<<<<< a\nours\n=======\n")
    assert not _has_markers(b">>>>>>> a\n=======\n<<<<<<< b\n")


def test_a_search_costs_in_proportion(tmp_path: Path) -> None:
    """A long note that says one thing again and again is not compared with itself, sentence by sentence."""
    world = World(os.environ, str(tmp_path), str(tmp_path), Clock())
    bundle, _ = create(world, str(tmp_path / "b"), config=Config(machine="b"))

    def cost(sentences: int) -> float:
        text = "The garden gate opens at noon. " * sentences
        Path(bundle.root, "notes").mkdir(exist_ok=True)
        Path(bundle.root, "notes/long.md").write_text(f"---\ntype: Note\n---\n{text}\n")
        bundle.take_in_edits(strict=True)
        bundle.curated.add(f"The garden gate opens at {sentences}.")
        bundle.curated.replace(
            f"The garden gate opens at {sentences}.", f"The garden gate opens after {sentences}."
        )
        bundle.search("garden gate")
        best = []
        for _ in range(3):
            begin = time.process_time()
            assert bundle.search("garden gate").hits
            best.append(time.process_time() - begin)
        return min(best)

    few = cost(200)
    assert cost(3_000) < few * 15 * _SLACK


def _counted(patch: pytest.MonkeyPatch, where: Any, name: str) -> list[object]:
    """The calls of a function from here on."""
    calls: list[object] = []
    real = getattr(where, name)

    def counted(*given: object) -> object:
        calls.append(given)
        return real(*given)

    patch.setattr(where, name, counted)
    return calls


def _ladder(repository: Repository, levels: int, width: int) -> list[Oid]:
    """Commits that each stand on all of the level below."""
    saved(repository, {MEMORY: b"---\ntype: Memory\n---\n"})
    tree = repository.store.commit(tip_of(repository)).tree
    level = [tip_of(repository)]
    for depth in range(levels):
        made = [
            render_commit(tree, level, WHO, WHO, Message("flush", f"{depth}.{number}").render())
            for number in range(width)
        ]
        repository.store.write(made)
        level = [one.oid for one in made]
    return level


def test_a_ladder_of_merges_is_folded_once(repository: Repository, monkeypatch: pytest.MonkeyPatch) -> None:
    """Ten levels of four commits, each on all of the level below: every set of bases is merged once."""
    merges = _counted(monkeypatch, merge, "merge_trees")
    one, other, *_ = _ladder(repository, 10, 4)
    with repository.store.staging() as staged:
        merge.Bases(repository, staged).tree(merge_bases(repository, one, other))
    assert len(merges) <= 40


def test_many_bases_are_compared_in_one_walk(repository: Repository, monkeypatch: pytest.MonkeyPatch) -> None:
    """Which of many common ancestors are the best costs about one look at each commit."""
    one, other, *_ = _ladder(repository, 3, 60)
    looks = _counted(monkeypatch, repository.store, "commit")
    assert len(commit_graph.merge_bases(repository, one, other)) == 60
    assert len(looks) < 20 * 181


def test_many_snapshots_are_looked_at_in_one_walk_and_set_in_one_step(
    repository: Repository, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A thousand tags cost one walk over the history and one write."""
    tips = [saved(repository, {"a.md": b"%d\n" % number}).commit.oid for number in range(20)]
    tags = {f"t{number}": tips[number % 20] for number in range(1_000)}
    real = repository.store.commit
    with monkeypatch.context() as patch:
        looks = _counted(patch, repository.store, "commit")
        inspect.check_snapshots(repository, tips[-1], tags)
    assert len(looks) < 2_000
    with monkeypatch.context() as patch:
        flushed = _counted(patch, os, "fsync")
        made = repository.refs.set_new({SNAPSHOTS + name: oid for name, oid in tags.items()})
    assert len(made) == 1_000
    assert len(flushed) < 20
    assert len(run_git(repository.root, "tag", "--list").splitlines()) == 1_000
    repository.refs.delete({SNAPSHOTS + "t7": tags["t7"]})
    assert len(repository.refs.under(SNAPSHOTS)) == 999
    with pytest.raises(InvalidContent):
        repository.refs.set_new({SNAPSHOTS + "t8/below": tips[0]})
    foreign = render_commit(real(tips[0]).tree, [], WHO, WHO, "other\n")
    repository.store.write([foreign])
    with pytest.raises(RefusedFetch, match="'evil' names a commit"):
        inspect.check_snapshots(repository, tips[-1], {**tags, "evil": foreign.oid})


def test_looking_at_a_fetch_has_an_end(repository: Repository) -> None:
    """When the processor time is used up, nothing is taken, and the sentence says so."""
    saved(repository, {"notes/a.md": b"---\ntype: Note\n---\nfine\n"})
    tip = tip_of(repository)
    assert inspect.check_incoming(repository, tip, [tip], None).commits
    with pytest.raises(RefusedFetch, match="seconds of processor time"):
        inspect.check_incoming(repository, tip, [tip], None, patience=-1)


def test_a_huge_commit_or_tag_is_refused_before_it_is_read(repository: Repository) -> None:
    """A message of 64 MB is a pack of 64 KB: its size is known before its text is in memory."""
    saved(repository, {"a.md": b"1\n"})
    tip = repository.store.commit(tip_of(repository))
    text = "a" * (64 << 20)
    commit = render_commit(tip.tree, [tip.oid], WHO, WHO, text)
    tag = render_tag(tip.oid, "snapshot/x", WHO, text)
    with throw_away(repository, []) as made, made.opened() as room:
        room.store.write([commit, tag])
        tracemalloc.start()
        try:
            with pytest.raises(RefusedFetch, match="a commit of 64 MB"):
                commit_graph.only_in(room, commit.oid, tip.oid)
            with pytest.raises(RefusedFetch, match="a tag of 64 MB"):
                inspect.check_snapshots(room, tip.oid, {"x": tag.oid})
            assert tracemalloc.get_traced_memory()[1] < 8 << 20
        finally:
            tracemalloc.stop()


def test_commits_that_were_read_are_kept_up_to_a_size(repository: Repository) -> None:
    """A walk over many long messages does not fill the memory."""
    saved(repository, {"a.md": b"1\n"})
    tree, parent = repository.store.commit(tip_of(repository)).tree, tip_of(repository)
    made = []
    for number in range(40):
        made.append(render_commit(tree, [parent], WHO, WHO, f"{number}\n" + "a" * 1_000_000))
        parent = made[-1].oid
    repository.store.write(made)
    tracemalloc.start()
    try:
        assert sum(1 for _ in commit_graph.walk(repository, parent)) == 41
        assert tracemalloc.get_traced_memory()[0] < 24 << 20
    finally:
        tracemalloc.stop()
