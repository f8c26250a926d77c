"""Short hands for tests of index and recall: a bundle with a frozen clock, and histories made quickly."""

from __future__ import annotations

import os
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from pathlib import Path

from gitmem.config import Config
from gitmem.git.message import Message
from gitmem.git.objects import Oid, Person, render_commit
from gitmem.git.refs import BRANCH
from gitmem.git.repository import Repository
from gitmem.index.lookup import Span
from gitmem.memory.memory import Memory
from gitmem.memory.upkeep.create import create
from gitmem.okf import layout
from gitmem.okf.concept import Concept
from gitmem.okf.curated import CuratedFile
from gitmem.okf.events import Event, EventsFile
from gitmem.world import World

from tests.git.support import make_repository

START = datetime(2026, 6, 30, 14, 0, tzinfo=UTC)


class Clock:
    """A clock that stands still until it is moved."""

    def __init__(self, now: datetime = START) -> None:
        self.now = now

    def __call__(self) -> datetime:
        return self.now

    def forward(self, **by: float) -> None:
        self.now += timedelta(**by)


def new_bundle(directory: Path, *, machine: str = "laptop", clock: Clock | None = None) -> Memory:
    """A fresh bundle of the real making, with its own clock."""
    return create(World(os.environ, clock=clock or Clock()), str(directory), config=Config(machine=machine))[
        0
    ]


def bare_bundle(directory: Path) -> Memory:
    """A bundle without commits, for histories that `graft` makes."""
    return Memory(make_repository(str(directory)), Config(machine="laptop"), World(clock=Clock()))


def spans_in(bundle: Memory, path: str, *, seq: int | None = None, removed: bool = False) -> list[Span]:
    """What the index has in a file now, or had at `seq`; with `removed` also what has left it."""
    return [
        span
        for span in bundle.index.current().spans_containing("")
        if span.path == path
        and (
            removed
            or (span.to_seq is None if seq is None else span.from_seq <= seq < (span.to_seq or seq + 1))
        )
    ]


def graft(
    repository: Repository,
    edits: Mapping[str, bytes | None],
    *,
    parents: tuple[Oid, ...] | None = None,
    base: Oid | None = None,
    move: bool = True,
    kind: str = "flush",
    time: int = 1_780_000_000,
    **trailers: str,
) -> Oid:
    """A commit made of objects alone, without work tree or locks; it becomes the tip if `move`."""
    tip = repository.tip()
    parents = ((tip,) if tip else ()) if parents is None else parents
    tree, objects = repository.tree(base or (parents[0] if parents else None)).apply(edits)
    who = Person("hermes", "hermes@test", time)
    named = {name.replace("_", "-"): value for name, value in trailers.items()}
    commit = render_commit(tree.oid, parents, who, who, Message(kind, "a change", named).render())
    repository.store.write([*objects, commit])
    if move:
        point(repository, commit.oid)
        repository.refs.log(BRANCH, tip, commit.oid, who, f"{kind}: a change")  # it was made here
    return commit.oid


def point(repository: Repository, commit: Oid) -> None:
    """Make a commit the tip, whatever stood there."""
    assert repository.refs.set(BRANCH, commit, expected=repository.tip())


def curated(*texts: str, type: str = layout.CURATED_MEMORY) -> bytes:  # noqa: A002 (OKF's own word)
    """A § file of these texts, a minute apart."""
    file = CuratedFile.new(type)
    for number, text in enumerate(texts):
        file = file.add(text, f"2026-06-30T14:{number:02d}:00.000Z")
    return file.render()


def part(*texts: str, session: str = "s1", writer: str = "w", kind: str = "turn", first: int = 1) -> bytes:
    """A session part of one event for each text."""
    events = [
        Event(f"{writer}-{number}", kind, f"2026-06-30T15:{number % 60:02d}:00.000Z", {"user": text})
        for number, text in enumerate(texts, start=first)
    ]
    return EventsFile.new(session).append(events).render()


def concept(title: str, body: str = "", type: str = "Note", **meta: object) -> bytes:  # noqa: A002 (OKF's own word)
    return Concept.new(type, body, title=title, **meta).render()
