"""Whose word counts: a person's on this machine; what was pulled is a machine's word, whatever it says."""

from __future__ import annotations

import json
import os
import re
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from gitmem.cli.main import main
from gitmem.cli.render.printed import text_of
from gitmem.config import Config
from gitmem.memory.memory import Memory
from gitmem.memory.provenance import Provenance
from gitmem.memory.review import release
from gitmem.memory.upkeep.create import create
from gitmem.safety.verdict import Finding, Result, Verdict
from gitmem.state import PULLED
from gitmem.world import World

from tests.faults.trap import Trap
from tests.git.support import run_git, try_git
from tests.memory.conftest import Clock
from tests.memory.sync.test_engine import Machines

HUMAN, MACHINE = 2, 1


@pytest.fixture
def machines(tmp_path: Path, clock: Clock) -> Iterator[Machines]:
    made = Machines(tmp_path, clock, "git")
    yield made
    for bundle in made.all.values():
        bundle.repository.store.close()


def verify(bundle: Memory, name: str, text: str) -> None:
    """A person writes a note by hand and says that they looked at it."""
    path = Path(bundle.root, "decisions", f"{name}.md")
    path.parent.mkdir(exist_ok=True)
    path.write_text(
        f"---\ntype: Decision\nverified:\n- by: human:ada\n  at: '2026-06-30T14:00:00Z'\n---\n{text}\n"
    )
    bundle.take_in_edits(strict=True)


def trust(bundle: Memory, words: str) -> int:
    [hit] = bundle.search(words).hits
    by = next(one for one in bundle.log() if one.id == hit.commit)
    is_ours = by.machine == bundle.config.machine
    is_ours &= Provenance(bundle.repository).is_by_person(hit.commit, kind=by.kind, source=by.source)
    return HUMAN if is_ours else MACHINE


def test_a_pulled_human_is_a_machine(machines: Machines) -> None:
    """Fast-forward or merge, whichever parent comes first: each person counts on their own machine only."""
    a = machines.first()
    b = machines.another("b")
    verify(a, "one", "alpha is settled")
    machines.sync(a)
    machines.sync(b)  # a fast-forward
    assert (HUMAN, MACHINE) == (trust(a, "alpha"), trust(b, "alpha"))
    verify(a, "two", "beta is settled")
    verify(b, "three", "gamma is settled")
    for bundle in (a, b, a):
        machines.sync(bundle)
    assert a.tip == b.tip
    told = [(trust(a, word), trust(b, word)) for word in ("alpha", "beta", "gamma")]
    assert [(HUMAN, MACHINE), (HUMAN, MACHINE), (MACHINE, HUMAN)] == told
    c = machines.another("c")
    assert [MACHINE] * 3 == [trust(c, word) for word in ("alpha", "beta", "gamma")]


class Watch(Trap):
    """Looks at the disk before each change of it: what it sees is what a kill at that moment would leave."""

    def __init__(self, look: Callable[[], object]) -> None:
        super().__init__(0)
        self._look = look
        self._is_looking = False

    def _springs(self, name: str) -> bool:
        if not self._is_looking:
            self._is_looking = True
            self._look()
            self._is_looking = False
        return False


@pytest.mark.parametrize("has_work", [False, True])
def test_what_comes_is_noted_before_it_can_be_read(machines: Machines, has_work: bool) -> None:
    """Killed at any moment of a sync, a fast-forward or a merge: what is in the store is noted as pulled."""
    a = machines.first()
    b = machines.another("b")
    verify(a, "one", "alpha is settled")
    machines.sync(a)
    if has_work:
        verify(b, "two", "beta is settled")
    note = Path(b.state.path(PULLED))
    seen: list[tuple[bool, bool]] = []

    def look() -> None:
        can_be_read = try_git(b.root, "cat-file", "-e", a.tip).returncode == 0
        seen.append((can_be_read, f"{a.tip} " in (note.read_text() if note.exists() else "")))

    with Watch(look):
        machines.sync(b)
    assert (True, False) not in seen
    assert [(False, False), (False, True), (True, True)] == sorted(set(seen))


def test_a_forged_name_of_this_machine_is_a_machine(
    machines: Machines, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A commit that says it was made here by hand, and was not, is not believed; nor is one by `git pull`."""
    monkeypatch.setenv(
        "PATH", f"{os.path.dirname(sys.executable)}{os.pathsep}{os.environ['PATH']}"
    )  # for the hooks
    a = machines.first()
    b = machines.another("b")
    forge = (
        "-c",
        "core.hooksPath=/dev/null",
        "commit",
        "-q",
        "--amend",
        "-m",
        "edit: x\n\nKind: edit\nMachine: b",
    )
    verify(a, "one", "alpha is settled")
    run_git(a.root, *forge)
    machines.sync(a)
    machines.sync(b)
    assert MACHINE == trust(b, "alpha")
    verify(a, "two", "beta is settled")
    run_git(a.root, *forge)
    machines.sync(a)
    run_git(b.root, "pull", "-q", "--ff-only", "origin", "main")  # its hook notes what came
    assert a.tip == b.tip
    assert MACHINE == trust(b, "beta")


def test_blame_says_whose_word_it_is(machines: Machines) -> None:
    """What a person let in counts as verified on their machine, and is told as another machine's word elsewhere."""
    a = machines.first()
    b = machines.another("b")
    finding = Finding("test.doubt", "test", "looks odd", (0, 1), Verdict.HOLD)
    where = {"kind": "entry", "path": "memories/MEMORY.md"}
    doubt = Result(Verdict.HOLD, (finding,))
    [held] = a.ledger.hold([("a doubtful note", doubt, where)], origin=a.origin())
    release(a, held, by="ada")
    machines.sync(a)
    [here] = a.blame("memories/MEMORY.md")
    assert ("human:ada", True) == (here.verified, here.verified_here)
    assert "verified by human:ada" in text_of(here)
    assert "another machine" not in text_of(here)
    machines.sync(b)
    [there] = b.blame("memories/MEMORY.md")
    assert ("human:ada", False) == (there.verified, there.verified_here)
    assert "verified by human:ada on another machine" in text_of(there)


def forged(machines: Machines) -> tuple[Memory, Memory]:
    """A commit on the hub that says it was made on b, by hand; with a b that has not seen it."""
    a = machines.first()
    b = machines.another("b")
    verify(a, "one", "alpha is settled")
    message = "edit: x\n\nKind: edit\nSession: s-7\nMachine: b\nSource: released by ada"
    run_git(a.root, "-c", "core.hooksPath=/dev/null", "commit", "-q", "--amend", "-m", message)
    machines.sync(a)
    return a, b


WAYS: dict[str, list[tuple[str, ...]]] = {
    "fast-forward": [("fetch", "-q", "origin", "main:refs/x"), ("merge", "-q", "--ff-only", "refs/x")],
    "reset": [("fetch", "-q", "origin", "main:refs/x"), ("reset", "-q", "--hard", "refs/x")],
    "rebase": [("pull", "-q", "--rebase", "origin", "main")],
    "checkout": [("fetch", "-q", "origin", "main:refs/x"), ("checkout", "-q", "-B", "main", "refs/x")],
    "cherry-pick": [("fetch", "-q", "origin", "main:refs/x"), ("cherry-pick", "refs/x")],
    "amended": [
        ("fetch", "-q", "origin", "main:refs/x"),
        ("reset", "-q", "--hard", "refs/x"),
        ("commit", "-q", "--amend", "--no-edit", "--reset-author"),
    ],
}


@pytest.mark.parametrize("way", WAYS)
def test_a_human_from_elsewhere_is_never_believed(machines: Machines, way: str) -> None:
    """Whichever way plain git brought the commit, without any hook, and whatever it says of itself."""
    _, b = forged(machines)
    for command in WAYS[way]:
        run_git(b.root, "-c", "core.hooksPath=/dev/null", *command)
    assert MACHINE == trust(b, "alpha")
    entry = b.show("HEAD").entry
    assert ("edit", "b", "elsewhere") == (entry.kind, entry.first("Machine"), entry.pulled_from)


def test_a_plain_clone_believes_nobody(machines: Machines, tmp_path: Path) -> None:
    """A bundle that `git clone` made, and that has the name which a commit claims: it is a claim all the same."""
    forged(machines)
    run_git(tmp_path, "clone", "-q", machines.hub, str(tmp_path / "plain"))
    world = World(os.environ, clock=machines.clock)
    plain, _ = create(world, str(tmp_path / "plain"), config=Config(machine="b"))
    assert MACHINE == trust(plain, "alpha")
    verify(plain, "two", "beta is settled")
    assert HUMAN == trust(plain, "beta")
    plain.repository.store.close()


def test_what_a_pulled_commit_says_is_shown_as_a_claim(
    machines: Machines, capsys: pytest.CaptureFixture[str]
) -> None:
    """In log, show, blame and trace: "ada on b, according to origin"; what was made here is shown as it is."""
    _, b = forged(machines)
    machines.sync(b)
    verify(b, "two", "beta is settled")
    shown: dict[tuple[str, str], str] = {}
    for word, path in (("alpha", "decisions/one.md"), ("beta", "decisions/two.md")):
        for command in (
            ["log", "--commits", "--path", path],
            ["blame", path],
            ["why", f"{word} is settled"],
        ):
            assert 0 == main(["-C", b.root, *command])
            shown[word, command[0]] = capsys.readouterr().out
    for name in ("log", "blame", "why"):
        assert re.search("(via|according to) origin", shown["alpha", name])
        assert "origin" not in shown["beta", name]
    assert 0 == main(["-C", b.root, "show", "HEAD~1"])
    assert "via origin" in capsys.readouterr().out
    assert 0 == main(["-C", b.root, "log", "--json"])
    told = json.loads(capsys.readouterr().out)["commits"]
    assert [None, "origin"] == [one["pulled_from"] for one in told[:2]]


def test_printed_commands_are_quoted(machines: Machines) -> None:
    """A session whose name would be a command of its own is one word in the command that takes it back."""
    a = machines.first()
    for number in range(4):  # of fewer, the commits are named
        a.curated.add(f"poison {number}", origin=a.origin(session="s; rm -rf ~"))
    assert "gitmem revert --session 's; rm -rf ~'" == a.trace("poison").command
