"""The merge commit: whoever makes it, on whatever machine and at whatever time, it is the same one."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from datetime import timedelta
from pathlib import Path

import pytest
from gitmem.config import Config
from gitmem.memory.history.log import History, LogFilter
from gitmem.memory.history.revert import Undo
from gitmem.memory.memory import Memory
from gitmem.memory.sync.fold import MERGE_EMAIL
from gitmem.memory.sync.outgoing import write_file
from gitmem.memory.sync.sync import Sync
from gitmem.memory.upkeep.clone import clone
from gitmem.memory.upkeep.create import create
from gitmem.okf import layout
from gitmem.okf.concept import Concept
from gitmem.world import World

from tests.git.support import fsck_clean, run_git
from tests.memory.conftest import Clock

NOTE, LOGO = "notes/plan.md", "skills/a/b/assets/logo.svg"


def write(bundle: Memory, path: str, data: bytes) -> None:
    """A person's own edit."""
    target = Path(bundle.repository.worktree.path(path))
    target.parent.mkdir(parents=True, exist_ok=True)
    target.write_bytes(data)
    bundle.take_in_edits(strict=True)


def note(body: str, *tags: str) -> bytes:
    return Concept.new("Note", body, title="Plan", tags=list(tags)).render()


@pytest.fixture
def machines(tmp_path: Path) -> Iterator[Callable[..., list[Memory]]]:
    """Makes machines that have one memory, and nothing else in common: no hub, no clock, no person."""
    made: list[Memory] = []

    def make(*names: str) -> list[Memory]:
        for number, name in enumerate(names):
            clock = Clock()
            clock.now += timedelta(hours=5 * number)
            root, config = str(tmp_path / name), Config(machine=name)
            if not made:
                bundle, _ = create(World(os.environ, clock=clock, person="ada"), root, config=config)
                for text in ("stays", "goes on one", "poison", "reworded by all"):
                    bundle.curated.add(text, origin=bundle.origin(session=text))
                write(bundle, NOTE, note("old\n", "old", "older"))
                write(bundle, LOGO, b"logo")
                with bundle.session("old") as session:
                    session.record_observation("seen together")
            else:
                bundle = clone(World(os.environ, clock=clock, person=name), made[0].root, root, config=config)
            made.append(bundle)
        return made

    yield make
    for bundle in made:
        fsck_clean(bundle.repository)
        bundle.repository.store.close()


def work(bundle: Memory, name: str) -> None:
    """A bit of everything that a merge has to bring together."""
    bundle.curated.add(f"{name} knows")
    bundle.curated.add("all know")
    bundle.curated.replace("reworded", f"reworded by {name}")
    with bundle.session("shared") as session:
        session.record_observation(f"seen on {name}")
        session.record_decision(f"Decided on {name}")
    write(bundle, NOTE, note(f"rewritten on {name}\n", "old", name))
    write(bundle, LOGO, b"logo of " + name.encode())
    [part] = [path for path in bundle.list_concepts("sessions") if "/old/" in path]
    said = bundle.read(part) or b""
    write(bundle, part, said.replace(b"together", b"together, " + name.encode()) + b"\nA note.\n")


def take_each_other(bundles: list[Memory], orders: list[tuple[int, ...]], directory: Path) -> None:
    """Each takes in what the others had before any of them merged, in an order of its own."""
    files = [str(directory / f"{number}-{bundle.tip}.bundle") for number, bundle in enumerate(bundles)]
    for bundle, file in zip(bundles, files, strict=True):
        write_file(bundle, file)
    for bundle, order in zip(bundles, orders, strict=True):
        for number in order:
            Sync(bundle).from_file(files[number])


def test_two_machines_make_the_same_merge_apart(
    machines: Callable[..., list[Memory]], tmp_path: Path
) -> None:
    """Neither has seen the other's merge: the same commit id, with its parents in order of their ids."""
    a, b = machines("a", "b")
    work(a, "a")
    work(b, "b")
    a.curated.remove("goes on one")
    b.part(Undo).revert(
        [entry.commit for entry in b.part(History).log(LogFilter(session=("poison",)))], origin=b.origin()
    )
    tips = sorted((a.tip, b.tip))
    take_each_other([a, b], [(1,), (0,)], tmp_path)
    assert a.tip == b.tip
    merge = a.repository.store.commit(a.tip)
    assert tuple(tips) == merge.parents
    assert f"{tips[0]} {tips[1]}" == run_git(b.root, "log", "-1", "--format=%P")
    assert MERGE_EMAIL == merge.author.email == merge.committer.email
    assert {"stays", "a knows", "b knows", "all know", "reworded by a", "reworded by b"} == {
        entry.text for entry in a.curated.entries("memory")
    }
    assert "add all know" in a.read_log()
    assert "poison" not in a.read_log()
    assert 2 == len([path for path in a.list_concepts("notes") if path != layout.INDEX])


def test_three_machines_make_the_same_tree_in_any_order(
    machines: Callable[..., list[Memory]], tmp_path: Path
) -> None:
    """Three orders, one tree; and from there, apart again and over several bases, one commit."""
    bundles = machines("a", "b", "c")
    for bundle, name in zip(bundles, "abc", strict=True):
        bundle.curated.add(f"{name} knows")
        bundle.curated.replace("reworded", f"reworded by {name}")
        with bundle.session("shared") as session:
            session.record_observation(f"seen on {name}")
        write(bundle, LOGO, b"logo of " + name.encode())
    bundles[1].curated.remove("goes on one")
    take_each_other(bundles, [(1, 2), (2, 0), (0, 1)], tmp_path)
    assert 3 == len({bundle.tip for bundle in bundles})
    assert 1 == len({bundle.tree().oid for bundle in bundles})
    one, other, _ = bundles
    for bundle in (one, other):
        bundle.curated.add(f"{bundle.config.machine} knows more")
    take_each_other([one, other], [(1,), (0,)], tmp_path)
    assert one.tip == other.tip
    assert {f"{name} knows" for name in "abc"} < {entry.text for entry in one.curated.entries("memory")}


def test_whichever_of_two_is_later_the_merge_is_of_that_moment(
    machines: Callable[..., list[Memory]], tmp_path: Path
) -> None:
    """The date is the later parent's, so that no machine's clock enters."""
    a, b = machines("a", "b")
    for bundle in (a, b):
        bundle.curated.add(f"{bundle.config.machine} knows")
    moments = [bundle.repository.store.commit(bundle.tip).committer.time for bundle in (a, b)]
    assert len(set(moments)) == 2
    take_each_other([a, b], [(1,), (0,)], tmp_path)
    assert max(moments) == a.repository.store.commit(a.tip).committer.time
