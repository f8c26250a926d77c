"""Random work on three machines that sync in random order: one commit in the end, nothing lost, doubled or back."""

from __future__ import annotations

import os
import random
from collections.abc import Callable
from itertools import permutations
from pathlib import Path

import pytest
from gitmem.git.git_settings import Remote, Remotes
from gitmem.memory.curated.store import Operation
from gitmem.memory.history.log import History, LogFilter
from gitmem.memory.memory import Memory
from gitmem.memory.review import release
from gitmem.okf import layout
from gitmem.okf.concept import Concept
from gitmem.okf.validate import check_file
from gitmem.safety.verdict import Finding, Result, Verdict

from tests.git.support import fsck_clean
from tests.memory.conftest import Clock
from tests.memory.sync.test_engine import Machines, texts

_DOUBT = Result(Verdict.HOLD, (Finding("test.doubt", "test", "looks odd", (0, 1), Verdict.HOLD),))
_OFTEN = 0.1


class Ledger:
    """What was said on any machine, whatever was taken out again there, and what must not come back."""

    def __init__(self) -> None:
        self.facts: set[str] = set()
        self.taken_out: set[str] = set()
        self.retracted: set[str] = set()
        self.events: set[str] = set()


class Actor:
    """A machine that does random things."""

    def __init__(self, bundle: Memory, rng: random.Random, ledger: Ledger) -> None:
        self.bundle = bundle
        self.rng = rng
        self.ledger = ledger
        self.count = 0
        self.actions: list[Callable[[], None]] = [
            self.add,
            self.add,
            self.edit,
            self.replace,
            self.remove,
            self.event,
            self.note,
            self.revert,
            self.release,
            self.restore,
        ]

    def act(self) -> None:
        self.count += 1
        self.rng.choice(self.actions)()

    def fact(self) -> str:
        text = f"{self.bundle.config.machine} fact {self.count}"
        self.ledger.facts.add(text)
        return text

    def add(self) -> None:
        self.bundle.curated.add(self.fact())

    def edit(self) -> None:
        with open(self.bundle.repository.worktree.path(layout.MEMORY), "a", encoding="utf-8") as out:
            out.write(f"\n§\n{self.fact()}")
        self.bundle.take_in_edits(strict=True)

    def replace(self) -> None:
        if found := texts(self.bundle):
            old = self.rng.choice(found)
            self.bundle.curated.batch([Operation("replace", self.fact(), old)])
            self.ledger.taken_out.add(old)

    def remove(self) -> None:
        if found := texts(self.bundle):
            old = self.rng.choice(found)
            self.bundle.curated.remove(old)
            self.ledger.taken_out.add(old)

    def event(self) -> None:
        with self.bundle.session(f"s-{self.bundle.config.machine}-{self.rng.randrange(3)}") as session:
            text = f"{self.bundle.config.machine} event {self.count}"
            session.record_observation(text)
            self.ledger.events.add(text)

    def note(self) -> None:
        path = self.bundle.repository.worktree.path(f"notes/{self.rng.randrange(4)}.md")
        os.makedirs(os.path.dirname(path), exist_ok=True)
        body = f"{self.bundle.config.machine} note {self.count}\n"
        with open(path, "wb") as out:
            out.write(Concept.new("Note", body, tags=[str(self.rng.randrange(5))]).render())
        self.bundle.take_in_edits(strict=True)

    def revert(self) -> None:
        wanted = LogFilter(kind=("memory",), machine=(self.bundle.config.machine,))  # there may be none yet
        mine = list(self.bundle.part(History).log(wanted))
        if mine:
            chosen = self.rng.choice(mine)
            for change in self.bundle.show(chosen.id).diff:
                if change.new is not None and change.new.key.space == "§" and change.old is None:
                    self.ledger.retracted.add(change.new.text)
            before = set(texts(self.bundle))
            self.bundle.revert(chosen.id)
            self.ledger.taken_out |= before - set(texts(self.bundle))

    def release(self) -> None:
        where = {"kind": "entry", "path": layout.MEMORY}
        [held] = self.bundle.ledger.hold([(self.fact(), _DOUBT, where)], origin=self.bundle.origin())
        release(self.bundle, held, by="ada")

    def restore(self) -> None:
        if self.rng.random() < 0.5:
            return  # half as often as the others: it takes much out at once
        commits = list(self.bundle.log(limit=6))
        before = set(texts(self.bundle))
        self.bundle.restore(self.rng.choice(commits).id)
        self.ledger.taken_out |= before - set(texts(self.bundle))


def with_a_hub(machines: Machines, rng: random.Random) -> None:
    machines.sync(rng.choice(list(machines.all.values())))


def from_peer_to_peer(machines: Machines, rng: random.Random) -> None:
    one, other = rng.sample(sorted(machines.all), 2)
    machines.sync(machines.all[one], other)


def fuzz(
    root: Path, clock: Clock, rounds: int, seed: int, meet: Callable[[Machines, random.Random], None]
) -> None:
    rng = random.Random(seed)
    machines = Machines(root, clock, "git")
    machines.first("a")
    for name in ("b", "c"):
        machines.another(name)
    for name, other in permutations(machines.all, 2):
        Remotes(machines.all[name].repository).save(Remote(other, machines.all[other].root, "pull-only"))
    for bundle in machines.all.values():
        object.__setattr__(bundle.config, "memory_char_limit", 10_000_000)
        object.__setattr__(bundle.config, "auto_snapshot", False)
    ledger = Ledger()
    actors = [Actor(bundle, rng, ledger) for bundle in machines.all.values()]
    for _ in range(rounds):
        rng.choice(actors).act()
        if rng.random() < _OFTEN:
            meet(machines, rng)
    for _ in range(40):
        if len({bundle.tip for bundle in machines.all.values()}) == 1:
            break
        meet(machines, rng)
    check(machines, ledger)
    tips = [bundle.tip for bundle in machines.all.values()]
    for _ in range(3):
        meet(machines, rng)
    assert tips == [bundle.tip for bundle in machines.all.values()]  # a later sync of all makes no commit


def check(machines: Machines, ledger: Ledger) -> None:
    assert 1 == len({bundle.tip for bundle in machines.all.values()})
    final = machines.all["a"]
    present = texts(final)
    assert len(present) == len(set(present))
    assert set() == ledger.facts - ledger.taken_out - ledger.retracted - set(present)
    back = {text for text in ledger.retracted if text in present}
    assert set() == back - released_again(final, back)
    told = "\n".join(
        (final.read(path) or b"").decode() for path, _ in final.tree().files() if path.startswith("sessions/")
    )
    lines = told.splitlines()
    for text in ledger.events:
        assert 1 == sum(line.endswith(text) for line in lines), text
    for path, entry in final.tree().files():
        assert [] == list(check_file(path, final.tree().read_entry(entry)))
    for bundle in machines.all.values():
        fsck_clean(bundle.repository)
        bundle.repository.store.close()


def released_again(bundle: Memory, texts_back: set[str]) -> set[str]:
    """Those that a person let in again, or whose retraction a later revert took back."""
    from gitmem.memory.retraction import is_retracted
    from gitmem.okf.entries import section_key

    return {text for text in texts_back if not is_retracted(bundle.tree(), section_key(text))}


@pytest.mark.parametrize(("meet", "rounds"), [(with_a_hub, 100), (from_peer_to_peer, 150)])
def test_random_work_on_three_machines(tmp_path: Path, meet: Callable[..., None], rounds: int) -> None:
    """Steps of every kind: adds, edits, replaces, removes, reverts, releases, restores."""
    fuzz(tmp_path, Clock(), rounds, 1, meet)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("meet", [with_a_hub, from_peer_to_peer])
def test_long_random_work_on_three_machines(tmp_path: Path, meet: Callable[..., None], seed: int) -> None:
    """Five thousand steps in all."""
    fuzz(tmp_path, Clock(), 500, 100 + seed, meet)
