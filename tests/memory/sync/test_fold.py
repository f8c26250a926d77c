"""The fold: every order and every grouping of the same branches ends at one tree, the same set at one commit."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from gitmem.errors import UnrelatedHistories
from gitmem.git.commit_graph import is_ancestor, maximal
from gitmem.git.objects import Oid, Person, render_commit
from gitmem.git.repository import Repository
from gitmem.memory.sync.fold import folded
from gitmem.okf import layout
from gitmem.okf.concept import Concept
from gitmem.okf.curated import CuratedFile
from gitmem.okf.entries import entry_hash
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.git.support import run_git

NAMES = "abcd"
TEXTS = [f"fact {number}" for number in range(5)]


@dataclass
class World:
    """A bare repository, and branches in it: histories as machines write them, without the machines."""

    repository: Repository
    tips: dict[str, Oid] = field(default_factory=dict)
    moment: int = 1_780_000_000

    @classmethod
    def at(cls, path: Path) -> World:
        run_git(path.parent, "init", "-q", "--bare", "-b", "main", str(path))
        return cls(Repository("", str(path)))

    def commit(self, who: str, files: dict[str, bytes | None], *parents: Oid) -> Oid:
        self.moment += 1
        base = self.repository.tree(parents[0] if parents else None)
        tree, objects = base.apply(files)
        person = Person(who, f"{who}@{who}", self.moment)
        message = f"memory: x\n\nKind: memory\nMachine: {who}\n"
        made = render_commit(tree.oid, parents, person, person, message)
        self.repository.store.write([*objects, made])
        self.tips[who] = made.oid
        return made.oid

    def change(self, who: str, action: str, number: int, other: int) -> None:
        """One thing that a machine does to its memory."""
        tip = self.tips[who]
        at = f"2026-06-30T14:00:{self.moment % 60:02}.000Z"
        tree = self.repository.tree(tip)
        file = CuratedFile.parse(tree.read(layout.MEMORY) or b"")
        text = TEXTS[number]
        known = {entry.text: entry for entry in file.entries}
        files: dict[str, bytes | None] = {}
        if action == "add" and f"{text} of {other}" not in known:
            file = file.add(f"{text} of {other}", at)
        elif action == "remove" and text in known:
            file = file.remove(known[text].key.id)
        elif action == "replace" and text in known and f"{text}, says {other}" not in known:
            file = file.replace(known[text].key.id, f"{text}, says {other}", at)
        elif action == "retract":
            if text in known:
                file = file.remove(known[text].key.id)
            where = layout.retraction(entry_hash(text))
            concept = Concept.new(layout.RETRACTION, "", state="reverted", counter=other + 1, at=at)
            files[where] = concept.render()
        elif action == "note":
            files[f"notes/{number}.md"] = Concept.new("Note", f"{text}, {other}\n", title=text).render()
        elif action == "forget note" and f"notes/{number}.md" in tree:
            files[f"notes/{number}.md"] = None
        self.commit(who, {**files, layout.MEMORY: file.render()}, tip)


def begun(path: Path) -> World:
    """Four machines with one beginning."""
    world = World.at(path)
    file = CuratedFile.parse_leniently(None, layout.MEMORY)
    for text in TEXTS:
        file = file.add(text, "2026-06-30T13:00:00.000Z")
    first = world.commit("first", {layout.MEMORY: file.render()})
    world.tips = dict.fromkeys(NAMES, first)
    return world


ACTIONS = st.tuples(
    st.sampled_from(NAMES),
    st.sampled_from(["add", "remove", "replace", "retract", "note", "forget note"]),
    st.integers(0, len(TEXTS) - 1),
    st.integers(0, 2),
)
SLOW = settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])


def in_groups(world: World, order: Sequence[Oid], cut: int) -> Oid:
    """The first of them one after the other, the rest at once, and then both."""
    tip = order[0]
    for other in order[1:cut]:
        tip = folded(world.repository, [tip, other])
    return folded(world.repository, [tip, *order[cut:]])


@SLOW
@given(st.lists(ACTIONS, min_size=1, max_size=12))
def test_every_order_and_grouping_ends_at_one_tree(
    tmp_path_factory: pytest.TempPathFactory, story: list[tuple[str, str, int, int]]
) -> None:
    """And the same set at the same commit, whichever way it is listed."""
    world = begun(tmp_path_factory.mktemp("fold") / "hub.git")
    for one in story:
        world.change(*one)
    tips = list(world.tips.values())
    store = world.repository.store
    whole = folded(world.repository, tips)
    trees = set()
    for number, order in enumerate(itertools.permutations(tips)):
        assert whole == folded(world.repository, order)
        trees.add(store.commit(in_groups(world, order, number % len(tips) + 1)).tree)
    assert {store.commit(whole).tree} == trees
    assert all(is_ancestor(world.repository, tip, whole) for tip in tips)
    store.close()


@SLOW
@given(st.lists(ACTIONS, min_size=1, max_size=8), st.lists(ACTIONS, min_size=1, max_size=8))
def test_folds_of_some_and_then_of_the_rest(
    tmp_path_factory: pytest.TempPathFactory,
    before: list[tuple[str, str, int, int]],
    after: list[tuple[str, str, int, int]],
) -> None:
    """Two machines fold, all go on, and all are folded: in whatever order, one commit and nothing lost."""
    world = begun(tmp_path_factory.mktemp("fold") / "hub.git")
    for one in before:
        world.change(*one)
    both = folded(world.repository, [world.tips["a"], world.tips["b"]])
    world.tips["a"] = both
    for one in after:
        world.change(*one)
    tips = list(world.tips.values())
    found = {folded(world.repository, order) for order in itertools.permutations(tips)}
    assert 1 == len(found)
    world.repository.store.close()


def test_one_machine_alone_makes_no_merge(tmp_path: Path) -> None:
    """What stands on all the others is what they are folded to; nothing is written."""
    world = begun(tmp_path / "hub.git")
    old = world.tips["a"]
    world.change("a", "add", 0, 0)
    assert world.tips["a"] == folded(world.repository, world.tips.values())
    assert [world.tips["a"]] == maximal(world.repository, [old, world.tips["a"]])
    world.repository.store.close()


def test_many_branches_are_one_commit_that_git_takes(tmp_path: Path) -> None:
    """Each branch is a parent, once, in order; nothing of the steps on the way is left in the store."""
    world = begun(tmp_path / "hub.git")
    base = world.tips["a"]
    for number in range(40):
        world.tips[f"m{number}"] = base
        world.change(f"m{number}", "add", number % 5, number)
    before = world.repository.store.with_prefix()
    tip = folded(world.repository, world.tips.values())
    commit = world.repository.store.commit(tip)
    assert sorted(world.tips[f"m{number}"] for number in range(40)) == list(commit.parents)
    file = CuratedFile.parse(world.repository.tree(tip).read(layout.MEMORY) or b"")
    assert 45 == len(file.entries)
    world.repository.store.close()
    assert 6 >= len(world.repository.store.with_prefix() - before)
    run_git(world.repository.git_dir, "update-ref", "refs/heads/main", tip)
    run_git(world.repository.git_dir, "fsck", "--strict", "--no-dangling")


def test_another_memory_is_not_folded(tmp_path: Path) -> None:
    """Without a commit in common it needs a person's word."""
    world = begun(tmp_path / "hub.git")
    stranger = world.commit(
        "stranger", {layout.MEMORY: CuratedFile.parse_leniently(None, layout.MEMORY).render()}
    )
    world.change("a", "add", 0, 0)
    with pytest.raises(UnrelatedHistories):
        folded(world.repository, [world.tips["a"], stranger])
    assert folded(world.repository, [world.tips["a"], stranger], allow_unrelated=True)
    world.repository.store.close()
